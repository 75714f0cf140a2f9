//! Aggregation: flat values become cumulative ones, paths become functions, call trees become one.
//!
//! Numbers from a damaged file may have any value: sums saturate.

use std::collections::HashMap;

use crate::model::{CallTree, Node, Notes, Profile, SampleType};

/// The callees of each node of a tree.
#[derive(Clone, Debug)]
pub struct Callees {
    /// The index in `nodes` of each node's first callee. The first entry is for nodes without a caller.
    starts: Vec<usize>,
    nodes: Vec<usize>,
}

impl Callees {
    /// Returns the callees of a node, or with `None` the nodes without a caller.
    pub fn called_by(&self, caller: Option<usize>) -> &[usize] {
        let place = caller.map_or(0, |caller| caller.saturating_add(1));
        let range = self.starts.get(place).zip(self.starts.get(place.saturating_add(1)));
        range.and_then(|(start, end)| self.nodes.get(*start..*end)).unwrap_or_default()
    }
}

impl CallTree {
    /// Returns the callees of each node, in the order of nodes.
    pub fn callees(&self) -> Callees {
        let place = |node: &Node| node.caller.filter(|caller| *caller < self.nodes.len()).map_or(0, |caller| caller + 1);
        let mut starts = vec![0; self.nodes.len() + 2];
        for node in &self.nodes {
            starts[place(node) + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let (mut next, mut nodes) = (starts.clone(), vec![0; self.nodes.len()]);
        for (index, node) in self.nodes.iter().enumerate() {
            let next = &mut next[place(node)];
            nodes[*next] = index;
            *next += 1;
        }
        Callees { starts, nodes }
    }

    /// Returns the flat values of nodes plus those of all their callees.
    fn add_callees(&self, flat: &[i64]) -> Vec<i64> {
        let mut cumulative = flat.to_vec();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let value = cumulative.get(index).copied().unwrap_or_default();
            if let Some(of_caller) = node.caller.and_then(|caller| cumulative.get_mut(caller)) {
                add(of_caller, value);
            }
        }
        cumulative
    }

    /// Walks over the nodes by depth. Calls `visit` twice for each node: with true before its callees, with false behind them.
    pub fn walk(&self, mut visit: impl FnMut(usize, bool)) {
        let callees = self.callees();
        let mut steps: Vec<Step> = callees.called_by(None).iter().copied().map(Step::Enter).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Leave(index) => visit(index, false),
                Step::Enter(index) => {
                    visit(index, true);
                    steps.push(Step::Leave(index));
                    steps.extend(callees.called_by(Some(index)).iter().copied().map(Step::Enter));
                }
            }
        }
    }

    /// Returns for each node whether no node above it is of the same group of functions. Uses one walk over the tree: looking up
    /// from each node would take the square of the depth. `on_path` has a zero for each group, before and after.
    fn outermost(&self, group_of: &[Option<usize>], on_path: &mut [usize]) -> Vec<bool> {
        let mut outermost = vec![false; self.nodes.len()];
        self.walk(|index, is_entered| {
            let group = self.nodes.get(index).and_then(|node| *group_of.get(node.function)?);
            let Some(above) = group.and_then(|group| on_path.get_mut(group)) else { return };
            if is_entered {
                outermost[index] = *above == 0;
                *above += 1;
            } else {
                *above -= 1;
            }
        });
        outermost
    }
}

/// A step of a walk over a tree.
enum Step {
    Enter(usize),
    Leave(usize),
}

impl Profile {
    /// Returns the flat value of each node; empty if the type was not measured.
    pub fn flat<'t>(&self, tree: &'t CallTree, sample_type: SampleType) -> &'t [i64] {
        let place = self.sample_types.iter().position(|measured| *measured == sample_type);
        place.and_then(|place| tree.values.get(place)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the cumulative value of each node; empty if the type was not measured.
    pub fn cumulative(&self, tree: &CallTree, sample_type: SampleType) -> Vec<i64> {
        tree.add_callees(self.flat(tree, sample_type))
    }

    /// Returns the flat value of each function, summed over its paths.
    pub fn flat_by_function(&self, sample_type: SampleType) -> Vec<i64> {
        let mut sums = vec![0; self.functions.len()];
        for tree in &self.trees {
            for (node, value) in tree.nodes.iter().zip(self.flat(tree, sample_type)) {
                sums.get_mut(node.function).into_iter().for_each(|sum| add(sum, *value));
            }
        }
        sums
    }

    /// Returns the cumulative value of each function, summed over its paths. Recursive calls are counted once.
    pub fn cumulative_by_function(&self, sample_type: SampleType) -> Vec<i64> {
        let [sums] = self.cumulatives_by_function([sample_type]);
        sums
    }

    /// Returns the cumulative values of several types.
    pub fn cumulatives_by_function<const N: usize>(&self, sample_types: [SampleType; N]) -> [Vec<i64>; N] {
        let each: Vec<Option<usize>> = (0..self.functions.len()).map(Some).collect();
        self.cumulatives_by(sample_types, &each, self.functions.len())
    }

    /// Returns the cumulative values of groups of functions: `group_of` is the group of each function, if any.
    pub fn cumulatives_by<const N: usize>(
        &self,
        sample_types: [SampleType; N],
        group_of: &[Option<usize>],
        groups: usize,
    ) -> [Vec<i64>; N] {
        let mut sums = [const { Vec::new() }; N];
        sums.iter_mut().for_each(|sums| sums.resize(groups, 0));
        let mut on_path = vec![0; groups];
        for tree in &self.trees {
            let outermost = tree.outermost(group_of, &mut on_path);
            for (sums, sample_type) in sums.iter_mut().zip(sample_types) {
                let values = self.cumulative(tree, sample_type);
                let nodes = tree.nodes.iter().zip(values).zip(&outermost);
                for ((node, value), _) in nodes.filter(|(_, is_outermost)| **is_outermost) {
                    let group = group_of.get(node.function).copied().flatten();
                    group.and_then(|group| sums.get_mut(group)).into_iter().for_each(|sum| add(sum, value));
                }
            }
        }
        sums
    }

    /// Returns the sum over all paths.
    pub fn sum(&self, sample_type: SampleType) -> i64 {
        self.trees.iter().flat_map(|tree| self.flat(tree, sample_type)).fold(0, |sum, value| sum.saturating_add(*value))
    }

    /// Returns whether times include the overhead of probes.
    pub fn is_raw(&self) -> bool {
        !self.has(SampleType::PROBES)
    }

    /// Returns whether a sample type was measured.
    pub fn has(&self, sample_type: SampleType) -> bool {
        self.sample_types.contains(&sample_type)
    }

    /// Returns the running time of its threads, without waiting time and overhead.
    pub fn running(&self) -> i64 {
        running(self.sum(SampleType::WALL), self.sum(SampleType::WAITING), self.sum(SampleType::PROBES)).max(0)
    }

    /// Returns for each function whether calls of it within it are recursion. All unnamed functions of a native library are one
    /// function here, and call one another.
    pub fn recursive(&self) -> Vec<bool> {
        self.functions.iter().map(|function| !function.is_library()).collect()
    }

    /// Merges all call trees into one: equal paths become one.
    pub fn merged_tree(&self) -> CallTree {
        let mut merged = CallTree {
            threads: self.threads(),
            lost_calls: self.lost_calls(),
            bad_tokens: self.bad_tokens(),
            values: vec![Vec::new(); self.sample_types.len()],
            ..CallTree::default()
        };
        let mut places: HashMap<Node, usize> = HashMap::new();
        for tree in &self.trees {
            // The merged node of each node of this tree.
            let mut mapped: Vec<usize> = Vec::with_capacity(tree.nodes.len());
            for (index, node) in tree.nodes.iter().enumerate() {
                let caller = node.caller.and_then(|caller| mapped.get(caller).copied());
                let (node, notes) = (Node { caller, ..*node }, tree.notes.get(index).copied().unwrap_or_default());
                let place = *places.entry(node).or_insert_with(|| {
                    merged.nodes.push(node);
                    merged.notes.push(Notes::default());
                    merged.nodes.len() - 1
                });
                merged.notes[place] = merged.notes[place].or(notes);
                mapped.push(place);
            }
            for (sums, values) in merged.values.iter_mut().zip(&tree.values) {
                sums.resize(merged.nodes.len(), 0);
                for (place, value) in mapped.iter().zip(values) {
                    sums.get_mut(*place).into_iter().for_each(|sum| add(sum, *value));
                }
            }
        }
        merged
    }
}

impl CallTree {
    /// Returns the tree with direct and indirect recursion folded into the outermost call. Callees of a folded call become
    /// callees of the outermost one. `functions` says of each function whether its recursion is folded: [`Profile::recursive`].
    #[must_use]
    pub fn folded(&self, functions: &[bool]) -> Self {
        let callees = self.callees();
        let mut folded = Self { values: vec![Vec::new(); self.values.len()], ..Self::default() };
        (folded.number, folded.threads, folded.cpu_ns) = (self.number, self.threads, self.cpu_ns);
        (folded.lost_calls, folded.bad_tokens, folded.names) = (self.lost_calls, self.bad_tokens, self.names.clone());
        // By function: the new node of its outermost call on the current path.
        let mut on_path: Vec<Option<usize>> = vec![None; functions.len()];
        let mut places: HashMap<Node, usize> = HashMap::new();
        // A node, the new node of its caller, and, behind its callees, whether it is the outermost call.
        let mut steps: Vec<(usize, Option<usize>, Option<bool>)> = Vec::new();
        steps.extend(callees.called_by(None).iter().rev().map(|index| (*index, None, None)));
        while let Some((index, caller, left)) = steps.pop() {
            let Some(node) = self.nodes.get(index).filter(|node| node.function < functions.len()) else { continue };
            if let Some(is_outermost) = left {
                if is_outermost {
                    on_path[node.function] = None;
                }
                continue;
            }
            let above = on_path[node.function].filter(|_| functions[node.function]);
            let place = above.unwrap_or_else(|| {
                *places.entry(Node { function: node.function, caller }).or_insert_with(|| {
                    folded.nodes.push(Node { function: node.function, caller });
                    folded.notes.push(Notes::default());
                    folded.values.iter_mut().for_each(|values| values.push(0));
                    folded.nodes.len() - 1
                })
            });
            on_path[node.function] = Some(place);
            folded.notes[place] = folded.notes[place].or(self.notes.get(index).copied().unwrap_or_default());
            for (sums, values) in folded.values.iter_mut().zip(&self.values) {
                add(&mut sums[place], values.get(index).copied().unwrap_or_default());
            }
            steps.push((index, caller, Some(above.is_none())));
            steps.extend(callees.called_by(Some(index)).iter().rev().map(|callee| (*callee, Some(place), None)));
        }
        folded
    }
}

/// Returns the selected paths, the paths to them, and the paths below. Callers are indexes into the list, and precede their
/// callees.
pub fn around<T>(paths: Vec<T>, caller_of: fn(&mut T) -> &mut Option<usize>, is_meant: impl Fn(&T) -> bool) -> Vec<T> {
    let mut paths = paths;
    let callers: Vec<Option<usize>> = paths.iter_mut().map(|path| *caller_of(path)).collect();
    let mut is_kept: Vec<bool> = Vec::with_capacity(paths.len());
    for (path, caller) in paths.iter().zip(&callers) {
        let is_below = caller.is_some_and(|caller| is_kept[caller]);
        is_kept.push(is_below || is_meant(path));
    }
    for (place, caller) in callers.iter().enumerate().rev() {
        let leads = is_kept[place];
        caller.iter().for_each(|caller| is_kept[*caller] |= leads);
    }
    let mut places: Vec<usize> = Vec::with_capacity(paths.len());
    let mut kept = Vec::new();
    for (mut path, is_kept) in paths.into_iter().zip(is_kept) {
        places.push(kept.len());
        let caller = caller_of(&mut path);
        *caller = caller.and_then(|caller| places.get(caller).copied());
        kept.extend(is_kept.then_some(path));
    }
    kept
}

/// Returns the running part of thread time.
pub fn running(wall: i64, waiting: i64, probes: i64) -> i64 {
    wall.saturating_sub(waiting).saturating_sub(probes)
}

/// Returns a number of ticks in percent of another.
pub fn percent(ticks: i64, of: i64) -> f64 {
    ticks as f64 * 100.0 / of.max(1) as f64
}

/// Adds a value, and saturates.
fn add(sum: &mut i64, value: i64) {
    *sum = sum.saturating_add(value);
}

#[cfg(test)]
mod tests {
    use names::MethodId;

    use super::*;
    use crate::model::Function;

    /// A node: its function, its caller, its number of calls, and its self time.
    type Line = (usize, Option<usize>, i64, i64);

    /// 1 -> { 2 -> 1, 3 }, and 3 beside it.
    const LINES: &[Line] = &[(1, None, 1, 30), (2, Some(0), 2, 20), (1, Some(1), 2, 40), (3, Some(0), 1, 10), (3, None, 5, 7)];

    fn tree(lines: &[Line]) -> CallTree {
        CallTree {
            threads: 1,
            lost_calls: 2,
            bad_tokens: 3,
            nodes: lines.iter().map(|(function, caller, ..)| Node { function: *function, caller: *caller }).collect(),
            notes: vec![Notes::default(); lines.len()],
            values: vec![lines.iter().map(|line| line.2).collect(), lines.iter().map(|line| line.3).collect()],
            ..CallTree::default()
        }
    }

    fn profile(trees: Vec<CallTree>) -> Profile {
        let function = |row| Function { method_id: MethodId::new(1, row), name: None, source: None, module: None };
        Profile {
            ticks_per_second: 1,
            sample_types: vec![SampleType::CALLS, SampleType::WALL],
            functions: (0..4).map(function).collect(),
            trees,
            ..Profile::default()
        }
    }

    #[test]
    fn callees_are_listed_in_order() {
        let callees = tree(LINES).callees();
        let lists = [None, Some(0), Some(1), Some(2), Some(4), Some(5), Some(usize::MAX)]
            .map(|caller| callees.called_by(caller).to_vec());
        assert_eq!(lists, [vec![0, 4], vec![1, 3], vec![2], vec![], vec![], vec![], vec![]]);
    }

    #[test]
    fn cumulative_is_flat_with_that_of_callees() {
        let profile = profile(vec![tree(LINES)]);
        assert_eq!(profile.flat(&profile.trees[0], SampleType::WALL), [30, 20, 40, 10, 7]);
        assert_eq!(profile.cumulative(&profile.trees[0], SampleType::WALL), [100, 60, 40, 10, 7]);
        // A callee that took longer than its caller: the sum is still the measured value.
        let racing = tree(&[(1, None, 1, -5), (2, Some(0), 1, 15)]);
        assert_eq!(profile.cumulative(&racing, SampleType::WALL), [10, 15]);
    }

    #[test]
    fn functions_are_added_up_over_trees_and_recursion_is_counted_once() {
        let profile = profile(vec![tree(LINES), tree(LINES)]);
        assert_eq!(profile.flat_by_function(SampleType::CALLS), [0, 6, 4, 12]);
        assert_eq!(profile.flat_by_function(SampleType::WALL), [0, 140, 40, 34]);
        assert_eq!(profile.cumulative_by_function(SampleType::WALL), [0, 200, 120, 34]);
    }

    #[test]
    fn what_was_not_measured_is_none() {
        let profile = profile(vec![tree(LINES)]);
        assert!(profile.flat(&profile.trees[0], SampleType::OPEN).is_empty());
        assert_eq!(profile.flat_by_function(SampleType::OPEN), [0; 4]);
        assert_eq!(profile.cumulative_by_function(SampleType::OPEN), [0; 4]);
    }

    #[test]
    fn deep_recursion_is_added_up() {
        // Function 1 calls itself and function 2, 200,000 deep.
        let levels = (0..200_000).flat_map(|level: usize| {
            let caller = (2 * level).checked_sub(2);
            [(1, caller, 1, 1), (2, Some(2 * level), 1, 1)]
        });
        let profile = profile(vec![tree(&levels.collect::<Vec<_>>())]);
        assert_eq!(profile.flat_by_function(SampleType::CALLS), [0, 200_000, 200_000, 0]);
        assert_eq!(profile.cumulative_by_function(SampleType::WALL), [0, 400_000, 200_000, 0]);
    }

    #[test]
    fn sums_stop_at_the_largest_number() {
        let profile = profile(vec![tree(&[(1, None, 1, 1), (2, Some(0), i64::MAX, i64::MAX), (2, None, 1, 1)])]);
        assert_eq!(profile.flat_by_function(SampleType::CALLS)[2], i64::MAX);
        assert_eq!(profile.cumulative_by_function(SampleType::WALL)[1..3], [i64::MAX; 2]);
    }

    #[test]
    fn recursion_is_folded_into_its_outermost_call() {
        // 1 -> 2 -> 1 -> { 2, 3 }, and 1 -> 3: callees of the inner call are those of the outermost.
        let lines = [
            (1, None, 1, 1),
            (2, Some(0), 1, 2),
            (1, Some(1), 1, 4),
            (2, Some(2), 1, 8),
            (3, Some(2), 1, 16),
            (3, Some(0), 1, 32),
        ];
        let folded = tree(&lines).folded(&[true; 4]);
        assert_eq!(folded, tree(&[(1, None, 2, 5), (2, Some(0), 2, 10), (3, Some(0), 2, 48)]));
        assert_eq!(folded.folded(&[true; 4]), folded);
        // 200,000 deep.
        let deep: Vec<Line> = (0..200_000_usize).map(|level| (1 + level % 2, level.checked_sub(1), 1, 1)).collect();
        assert_eq!(tree(&deep).folded(&[true; 4]), tree(&[(1, None, 100_000, 100_000), (2, Some(0), 100_000, 100_000)]));
    }

    #[test]
    fn equal_paths_become_one() {
        let other = tree(&[(3, None, 1, 1), (1, None, 1, 1), (2, Some(1), 1, 1), (2, Some(0), 1, 1)]);
        let merged = profile(vec![tree(LINES), other]).merged_tree();
        let expected = tree(&[
            (1, None, 2, 31),
            (2, Some(0), 3, 21),
            (1, Some(1), 2, 40),
            (3, Some(0), 1, 10),
            (3, None, 6, 8),
            (2, Some(4), 1, 1),
        ]);
        assert_eq!(merged, CallTree { threads: 2, lost_calls: 4, bad_tokens: 6, ..expected });
    }
}
