//! Weaving again: what a woven module has to be, if it is its original and the probes and nothing else.

use ecma335::{Error, Image, Metadata};

use crate::{
    module::{Weave, Woven, WovenBodies, module_key},
    options::Options,
    plan,
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

/// Weaves an original as the mark of a woven module says that it was woven: by the same options, under the same tool's name.
/// The PDB that is to follow is the original's, if it is at hand. None if no such module can be: the mark's options are not
/// this version's, or the original is refused.
///
/// # Errors
/// If the file as a whole cannot be written.
pub fn reweave<'a>(
    image: &Image<'a>,
    metadata: &Metadata<'a>,
    mark: &Mark<'_>,
    tracker: &Tracker,
    pdb: Option<&[u8]>,
) -> Result<Option<Rewoven<'a>>, Error> {
    let Ok(options) = mark.options.parse::<Options>() else { return Ok(None) };
    if plan::refusal(image, metadata, tracker).is_some() {
        return Ok(None);
    }
    let weaving = Weave { options: &options, tool: mark.tool, pdb, ..Weave::new(tracker) };
    let woven = WovenBodies::with_key(image, metadata, &weaving, mark.module_key)?.finish()?;
    Ok(Some(Rewoven { woven, is_its_original: mark.module_key == module_key(metadata)? }))
}
