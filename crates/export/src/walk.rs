//! Trees in the order of calls.

use profile::{CallTree, aggregate::Callees};

/// A step of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Enters a node, from its caller.
    Enter(usize),
    /// Leaves the current node.
    Leave(usize),
}

/// A depth-first walk over a tree: a node is entered, then its callees, then it is left.
pub(crate) struct Walk {
    callees: Callees,
    steps: Vec<Step>,
}

impl Walk {
    pub(crate) fn over(tree: &CallTree) -> Self {
        let callees = tree.callees();
        let steps = callees.called_by(None).iter().rev().map(|root| Step::Enter(*root)).collect();
        Self { callees, steps }
    }
}

impl Iterator for Walk {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.steps.pop()?;
        if let Step::Enter(node) = step {
            self.steps.push(Step::Leave(node));
            self.steps.extend(self.callees.called_by(Some(node)).iter().rev().map(|callee| Step::Enter(*callee)));
        }
        Some(step)
    }
}

/// Returns the values of nodes, including the values of all their callees.
pub(crate) fn cumulative(tree: &CallTree, own: &[i64]) -> Vec<i64> {
    let mut sums = own.to_vec();
    for (index, node) in tree.nodes.iter().enumerate().rev() {
        let value = sums.get(index).copied().unwrap_or_default();
        if let Some(sum) = node.caller.and_then(|caller| sums.get_mut(caller)) {
            *sum = sum.saturating_add(value);
        }
    }
    sums
}
