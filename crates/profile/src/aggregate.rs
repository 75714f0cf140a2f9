//! Call trees: what was called along which path, how often and for how long.
//!
//! Numbers from a damaged file may be anything: sums stop at the largest number.

use std::collections::HashMap;

use indexmap::IndexMap;

/// What one thread did. Callers stand before their callees.
#[derive(Clone, Default, Debug)]
pub struct CallTree {
    /// The nodes; the first is the root, with method id 0.
    pub nodes: Vec<Node>,
}

/// A method called along one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// Which method; 0 in a root.
    pub method_id: u64,
    /// Who called it: a number in the same tree.
    pub caller: Option<usize>,
    /// How often it was entered.
    pub calls: u64,
    /// How often it was left.
    pub leaves: u64,
    /// How many calls were open when the file was written: one at most, unless trees were merged.
    pub open: u64,
    /// Ticks spent in it and its callees, with the calls that are open.
    pub total: u64,
}

/// A method over all trees.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct MethodTotals {
    /// How often it was entered.
    pub calls: u64,
    /// How often it was left.
    pub leaves: u64,
    /// How many calls were open at the end.
    pub open: u64,
    /// Ticks in it alone.
    pub self_ticks: u64,
    /// Ticks in it and its callees; a call within a call of the same method is not counted twice.
    pub total_ticks: u64,
}

impl CallTree {
    /// Ticks spent in each node alone.
    pub fn self_ticks(&self) -> Vec<u64> {
        let mut own: Vec<u64> = self.nodes.iter().map(|node| node.total).collect();
        for node in &self.nodes {
            if let Some(slot) = node.caller.and_then(|caller| own.get_mut(caller)) {
                // Where threads ran on while the file was written, a callee may have more than its caller.
                *slot = slot.saturating_sub(node.total);
            }
        }
        own
    }

    /// The callees of each node.
    pub fn callees(&self) -> Vec<Vec<usize>> {
        let mut callees = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(list) = node.caller.and_then(|caller| callees.get_mut(caller)) {
                list.push(index);
            }
        }
        callees
    }

    /// For each node, whether its method is also somewhere above it. One walk over the tree: to look up from each node
    /// would take the square of the depth, and recursion goes deep.
    fn recursive(&self) -> Vec<bool> {
        let callees = self.callees();
        let mut recursive = vec![false; self.nodes.len()];
        let mut on_path: HashMap<u64, usize> = HashMap::new();
        let roots = (0..self.nodes.len()).filter(|index| self.nodes.get(*index).is_some_and(|node| node.caller.is_none()));
        let mut steps: Vec<Step> = roots.map(Step::Enter).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(index) => {
                    let (Some(node), Some(slot)) = (self.nodes.get(index), recursive.get_mut(index)) else { continue };
                    let above = on_path.entry(node.method_id).or_default();
                    *slot = *above > 0;
                    *above += 1;
                    steps.push(Step::Leave(node.method_id));
                    steps.extend(callees.get(index).into_iter().flatten().copied().map(Step::Enter));
                }
                Step::Leave(method_id) => *on_path.entry(method_id).or_default() -= 1,
            }
        }
        recursive
    }
}

/// A step of a walk over a tree.
enum Step {
    Enter(usize),
    Leave(u64),
}

/// Adds all trees up, method by method, in the order they were first called.
pub fn by_method(trees: &[CallTree]) -> IndexMap<u64, MethodTotals> {
    let mut totals: IndexMap<u64, MethodTotals> = IndexMap::new();
    for tree in trees {
        for ((node, self_ticks), is_recursive) in tree.nodes.iter().zip(tree.self_ticks()).zip(tree.recursive()) {
            if node.method_id == 0 {
                continue;
            }
            let total = totals.entry(node.method_id).or_default();
            add(&mut total.calls, node.calls);
            add(&mut total.leaves, node.leaves);
            add(&mut total.open, node.open);
            add(&mut total.self_ticks, self_ticks);
            add(&mut total.total_ticks, if is_recursive { 0 } else { node.total });
        }
    }
    totals
}

/// One tree of several: paths that are the same become one. Node 0 is the root.
pub fn merge(trees: &[CallTree]) -> CallTree {
    let empty = Node { method_id: 0, caller: None, calls: 0, leaves: 0, open: 0, total: 0 };
    let mut merged = CallTree { nodes: vec![empty] };
    let mut places: HashMap<(usize, u64), usize> = HashMap::new();
    for tree in trees {
        // Where each node of this tree went.
        let mut mapped = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            if node.method_id == 0 {
                mapped.push(0);
                continue;
            }
            let caller = node.caller.and_then(|caller| mapped.get(caller).copied()).unwrap_or(0);
            let place = *places.entry((caller, node.method_id)).or_insert_with(|| {
                merged.nodes.push(Node { method_id: node.method_id, caller: Some(caller), ..empty });
                merged.nodes.len() - 1
            });
            mapped.push(place);
            if let Some(into) = merged.nodes.get_mut(place) {
                add(&mut into.calls, node.calls);
                add(&mut into.leaves, node.leaves);
                add(&mut into.open, node.open);
                add(&mut into.total, node.total);
            }
        }
    }
    merged
}

/// Adds up, to the largest number at most.
pub(crate) fn add(sum: &mut u64, value: u64) {
    *sum = sum.saturating_add(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(method_id: u64, caller: Option<usize>, calls: u64, total: u64) -> Node {
        Node { method_id, caller, calls, leaves: calls, open: 0, total }
    }

    /// Root -> 1 -> { 2 -> 1, 3 }
    fn tree() -> CallTree {
        let nodes = vec![
            node(0, None, 0, 0),
            node(1, Some(0), 1, 100),
            node(2, Some(1), 2, 60),
            node(1, Some(2), 2, 40),
            node(3, Some(1), 1, 10),
        ];
        CallTree { nodes }
    }

    #[test]
    fn self_time_is_what_callees_do_not_take() {
        assert_eq!(tree().self_ticks(), [0, 30, 20, 40, 10]);
    }

    #[test]
    fn recursion_is_not_counted_twice() {
        let totals = by_method(&[tree(), tree()]);
        let one = totals[&1];
        assert_eq!((one.calls, one.self_ticks, one.total_ticks), (6, 140, 200));
        assert_eq!(totals.values().map(|total| total.self_ticks).sum::<u64>(), 200);
    }

    #[test]
    fn deep_recursion_is_added_up_in_no_time() {
        // Method 1 calls itself and method 2, 200,000 deep.
        let mut nodes = vec![node(0, None, 0, 0)];
        for level in 0..200_000 {
            let caller = if level == 0 { 0 } else { 2 * level - 1 };
            nodes.push(node(1, Some(caller), 1, 1_000_000 - level as u64));
            nodes.push(node(2, Some(2 * level + 1), 1, 1));
        }
        let totals = by_method(&[CallTree { nodes }]);
        assert_eq!((totals[&1].calls, totals[&1].total_ticks), (200_000, 1_000_000));
        assert_eq!((totals[&2].calls, totals[&2].total_ticks), (200_000, 200_000));
    }

    #[test]
    fn equal_paths_become_one() {
        let merged = merge(&[tree(), tree()]);
        assert_eq!(merged.nodes.len(), 5);
        assert_eq!(merged.nodes[3], node(1, Some(2), 4, 80));
    }
}
