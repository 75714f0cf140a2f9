//! Answers to questions about types, and how far one may lead.

use std::cell::Cell;

/// Whether something holds; none where only an assembly that is not at hand tells, and it is assumed to.
pub(crate) type Verdict = Option<bool>;

/// Whether all hold.
pub(crate) fn all(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let mut so_far = Some(true);
    for verdict in verdicts {
        match verdict {
            Some(false) => return Some(false),
            None => so_far = None,
            Some(true) => {}
        }
    }
    so_far
}

/// How far a question may still lead: types can be made to lead on and on. What is left is assumed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'s> {
    depth: u32,
    steps: &'s Cell<u32>,
}

impl<'s> Limit<'s> {
    pub(crate) fn new(depth: u32, steps: &'s Cell<u32>) -> Self {
        Self { depth, steps }
    }

    /// One level and one step further.
    pub(crate) fn deeper(self) -> Option<Self> {
        let depth = self.depth.checked_sub(1)?;
        self.step()?;
        Some(Self { depth, ..self })
    }

    /// One step further.
    pub(crate) fn step(self) -> Option<()> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        Some(())
    }
}
