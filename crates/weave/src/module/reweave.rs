//! Weaves an original again. The result shows the contents that a woven module must have if only probes were added.

use ecma335::{Error, Image, Metadata};
use names::{Mark, module_key};

use super::{
    assemble::WovenBodies,
    refusal::{self, Refusal},
    weaving::Weave,
};
use crate::{
    output::woven::Woven,
    probes::tracker::Tracker,
    select::options::{Options, OptionsError},
};

/// An original that was woven again.
#[derive(Debug)]
pub struct Rewoven<'a> {
    /// The woven module.
    pub woven: Woven<'a>,
    /// Whether the mark has the original's own key. If not, the module was woven from another original. The method ids here
    /// use the mark's key in any case, so that only the code differs.
    pub is_its_original: bool,
}

/// The reason that an original cannot be woven again.
#[derive(Debug, thiserror::Error)]
pub enum ReweaveError {
    /// The mark has the options of another version, or invalid ones.
    #[error("its mark cannot be followed: {0}")]
    Options(#[from] OptionsError),
    /// The original would have been refused.
    #[error("the original cannot be instrumented: {0}")]
    Refused(Refusal),
    /// The file as a whole cannot be written.
    #[error("the original cannot be instrumented: {0}")]
    Unwritable(#[from] Error),
}

/// Weaves an original with the options and the tool's name from the mark of a woven module. The PDB to update is the
/// original's, if it is given.
///
/// # Errors
/// If the mark cannot be followed, or the original cannot be woven.
pub fn reweave<'a>(
    image: &Image<'a>,
    metadata: &Metadata<'a>,
    mark: &Mark<'_>,
    tracker: &Tracker,
    pdb: Option<&[u8]>,
) -> Result<Rewoven<'a>, ReweaveError> {
    let options = mark.options.parse::<Options>()?;
    if let Some(refusal) = refusal::for_file(image, metadata, tracker) {
        return Err(ReweaveError::Refused(refusal));
    }
    let weaving = Weave { options: &options, tool: mark.tool, pdb, ..Weave::new(tracker) };
    let woven = WovenBodies::with_mark(image, metadata, &weaving, mark.module_key, mark.options.to_owned())?.finish()?;
    Ok(Rewoven { woven, is_its_original: mark.module_key == module_key(metadata)? })
}
