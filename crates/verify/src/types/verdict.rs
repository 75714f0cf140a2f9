//! Answers to questions about types, and limits on the search for them.

use std::cell::Cell;

/// Whether something holds. `None` if only an absent assembly tells; it is then assumed to hold.
pub(crate) type Verdict = Option<bool>;

/// Whether all verdicts hold.
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

/// The remaining depth and steps of a question, since types can form endless chains. Beyond the limit, the answer is
/// assumed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'s> {
    depth: u32,
    steps: &'s Cell<u32>,
}

impl<'s> Limit<'s> {
    pub(crate) fn new(depth: u32, steps: &'s Cell<u32>) -> Self {
        Self { depth, steps }
    }

    /// One level and one step less.
    pub(crate) fn deeper(self) -> Option<Self> {
        let depth = self.depth.checked_sub(1)?;
        self.step()?;
        Some(Self { depth, ..self })
    }

    /// One step less.
    pub(crate) fn step(self) -> Option<()> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        Some(())
    }
}
