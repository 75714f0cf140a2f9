//! Instruments the original of an instrumented module again. Comparing the two shows only changes that instrumenting
//! did not make.

use std::borrow::Cow;

use ecma335::{Image, Metadata};
use names::Mark;
use weave::{ReweaveError, Rewoven, Tracker};

/// An original after instrumenting it again.
#[derive(Debug)]
pub struct WovenOriginal {
    /// The module.
    pub file: Vec<u8>,
    /// The PDB, if there is one that is not embedded.
    pub pdb: Option<Vec<u8>>,
    is_its_original: bool,
}

/// A description of an original before instrumenting.
#[derive(Clone, Copy, Debug)]
pub struct Original<'o> {
    /// The image.
    pub image: &'o Image<'o>,
    /// Whether the other module was instrumented from this image.
    pub is_its_original: bool,
}

impl WovenOriginal {
    /// Instruments an original with the options in an instrumented module's mark. `pdb` is the original's. None if
    /// the other module is not instrumented.
    ///
    /// # Errors
    /// If the original cannot be instrumented with those options.
    pub fn new(
        image: &Image<'_>,
        metadata: &Metadata<'_>,
        woven: &Metadata<'_>,
        tracker: &Tracker,
        pdb: Option<&[u8]>,
    ) -> Result<Option<Self>, ReweaveError> {
        let Some(mark) = Mark::read(woven) else { return Ok(None) };
        let Rewoven { woven, is_its_original } = weave::reweave(image, metadata, &mark, &tracker.as_in(woven), pdb)?;
        Ok(Some(Self { file: woven.file.to_vec(), pdb: woven.pdb, is_its_original }))
    }

    /// Whether an original can only be instrumented as this module was with its PDB: lines are counted.
    pub fn needs_pdb(woven: &Metadata<'_>) -> bool {
        Mark::read(woven).is_some_and(|mark| mark.lines.is_some())
    }

    /// The description of the original before instrumenting.
    pub fn original<'o>(&self, image: &'o Image<'o>) -> Original<'o> {
        Original { image, is_its_original: self.is_its_original }
    }

    /// The bytes of the PDB, if it has one.
    pub fn pdb<'p>(&'p self, image: &'p Image<'_>) -> Option<Cow<'p, [u8]>> {
        weave::pdb::find(image, self.pdb.as_deref()).ok().flatten()
    }
}
