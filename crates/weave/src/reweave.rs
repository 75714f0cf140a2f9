//! Weaving again: what a woven module has to be, if it is its original and the probes and nothing else.

use ecma335::{Error, Image, Metadata};

use crate::{
    module::{Weave, Woven, WovenBodies, module_key},
    options::{Options, OptionsError},
    plan::{self, Refusal},
    tracker::{Mark, Tracker},
};

/// An original, woven again.
#[derive(Debug)]
pub struct Rewoven<'a> {
    /// What became of it.
    pub woven: Woven<'a>,
    /// Whether the mark has the original's own key. If not, the module was woven of another; the method ids here have the
    /// mark's key all the same, so that what differs is the code.
    pub is_its_original: bool,
}

/// Why an original cannot be woven again.
#[derive(Debug, thiserror::Error)]
pub enum ReweaveError {
    /// The mark has options of another version, or none.
    #[error("its mark cannot be followed: {0}")]
    Options(#[from] OptionsError),
    /// Nobody could have woven it.
    #[error("the original cannot be woven: {0}")]
    Refused(Refusal),
    /// The file as a whole cannot be written.
    #[error("the original cannot be woven: {0}")]
    Unwritable(#[from] Error),
}

/// Weaves an original as the mark of a woven module says that it was woven: by the same options, under the same tool's name.
/// The PDB that is to follow is the original's, if it is at hand.
///
/// # Errors
/// If no such module can be.
pub fn reweave<'a>(
    image: &Image<'a>,
    metadata: &Metadata<'a>,
    mark: &Mark<'_>,
    tracker: &Tracker,
    pdb: Option<&[u8]>,
) -> Result<Rewoven<'a>, ReweaveError> {
    let options = mark.options.parse::<Options>()?;
    if let Some(refusal) = plan::refusal(image, metadata, tracker) {
        return Err(ReweaveError::Refused(refusal));
    }
    let weaving = Weave { options: &options, tool: mark.tool, pdb, ..Weave::new(tracker) };
    let woven = WovenBodies::with_key(image, metadata, &weaving, mark.module_key)?.finish()?;
    Ok(Rewoven { woven, is_its_original: mark.module_key == module_key(metadata)? })
}
