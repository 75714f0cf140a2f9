//! What is compared with a woven module, so that only what weaving did not do is seen: its original, woven again.

use std::borrow::Cow;

use ecma335::{Image, Metadata};
use weave::{ReweaveError, Rewoven, Tracker, tracker::Mark};

/// An original as it is when it is woven.
#[derive(Debug)]
pub struct WovenOriginal {
    /// The module.
    pub file: Vec<u8>,
    /// Its PDB, if it has one that is not within.
    pub pdb: Option<Vec<u8>>,
    is_its_original: bool,
}

/// What an original was before it was woven.
#[derive(Clone, Copy, Debug)]
pub struct Original<'o> {
    /// The image.
    pub image: &'o Image<'o>,
    /// Whether it is of this one that the other module was woven.
    pub is_its_original: bool,
}

impl WovenOriginal {
    /// Weaves an original as a woven module's mark says; `pdb` is the original's. None if the other module is not woven.
    ///
    /// # Errors
    /// If the original cannot be woven as the mark says.
    pub fn new(
        image: &Image<'_>,
        metadata: &Metadata<'_>,
        woven: &Metadata<'_>,
        tracker: &Tracker,
        pdb: Option<&[u8]>,
    ) -> Result<Option<Self>, ReweaveError> {
        let Some(mark) = Mark::read(woven) else { return Ok(None) };
        let Rewoven { woven, is_its_original } = weave::reweave(image, metadata, &mark, tracker, pdb)?;
        Ok(Some(Self { file: woven.file.to_vec(), pdb: woven.pdb, is_its_original }))
    }

    /// What it was before.
    pub fn original<'o>(&self, image: &'o Image<'o>) -> Original<'o> {
        Original { image, is_its_original: self.is_its_original }
    }

    /// The bytes of its PDB, if it has one.
    pub fn pdb<'p>(&'p self, image: &'p Image<'_>) -> Option<Cow<'p, [u8]>> {
        weave::pdb::find(image, self.pdb.as_deref()).ok().flatten()
    }
}
