//! Call trees: what was called along which path, how often and for how long.

use indexmap::IndexMap;

/// What one thread did. Callers stand before their callees.
#[derive(Clone, Default, Debug)]
pub struct CallTree {
    /// The nodes; the first is the root, with method id 0.
    pub nodes: Vec<Node>,
    /// The nodes whose last call had not ended when the file was written, innermost first.
    pub open: Vec<usize>,
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
    /// Ticks spent in it and its callees, with the call that is open.
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

    /// Whether a node's method is also somewhere above it.
    fn is_recursive(&self, index: usize) -> bool {
        let Some(node) = self.nodes.get(index) else { return false };
        let mut above = node.caller;
        while let Some(caller) = above.and_then(|caller| self.nodes.get(caller)) {
            if caller.method_id == node.method_id {
                return true;
            }
            above = caller.caller;
        }
        false
    }
}

/// Adds all trees up, method by method, in the order they were first called.
pub fn by_method(trees: &[CallTree]) -> IndexMap<u64, MethodTotals> {
    let mut totals: IndexMap<u64, MethodTotals> = IndexMap::new();
    for tree in trees {
        let own = tree.self_ticks();
        for (index, (node, self_ticks)) in tree.nodes.iter().zip(own).enumerate() {
            if node.method_id == 0 {
                continue;
            }
            let is_recursive = tree.is_recursive(index);
            let total = totals.entry(node.method_id).or_default();
            total.calls += node.calls;
            total.leaves += node.leaves;
            total.open += u64::from(tree.open.contains(&index));
            total.self_ticks += self_ticks;
            total.total_ticks += if is_recursive { 0 } else { node.total };
        }
    }
    totals
}

/// One tree of several: paths that are the same become one. Node 0 is the root.
pub fn merge(trees: &[CallTree]) -> CallTree {
    let root = Node { method_id: 0, caller: None, calls: 0, leaves: 0, total: 0 };
    let mut merged = CallTree { nodes: vec![root], open: Vec::new() };
    let mut places: IndexMap<(usize, u64), usize> = IndexMap::new();
    for tree in trees {
        let mut mapped = vec![0; tree.nodes.len()];
        for (index, node) in tree.nodes.iter().enumerate() {
            if node.method_id == 0 {
                continue;
            }
            let caller = node.caller.and_then(|caller| mapped.get(caller).copied()).unwrap_or(0);
            let place = *places.entry((caller, node.method_id)).or_insert_with(|| {
                merged.nodes.push(Node { caller: Some(caller), calls: 0, leaves: 0, total: 0, ..*node });
                merged.nodes.len() - 1
            });
            mapped[index] = place;
            let into = &mut merged.nodes[place];
            into.calls += node.calls;
            into.leaves += node.leaves;
            into.total += node.total;
            if tree.open.contains(&index) && !merged.open.contains(&place) {
                merged.open.push(place);
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(method_id: u64, caller: Option<usize>, calls: u64, total: u64) -> Node {
        Node { method_id, caller, calls, leaves: calls, total }
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
        CallTree { nodes, open: Vec::new() }
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
    fn equal_paths_become_one() {
        let merged = merge(&[tree(), tree()]);
        assert_eq!(merged.nodes.len(), 5);
        assert_eq!(merged.nodes[3], node(1, Some(2), 4, 80));
    }
}
