//! The call trees of merged files, whose values are sums already.

use indexmap::IndexMap;

use super::functions::{ByFunction, Functions};
use crate::{
    file::Records,
    model::{CallTree, Node},
};

/// The content of a merged file's phase.
#[derive(Default)]
pub(super) struct Merged {
    pub(super) list: Vec<CallTree>,
    pub(super) statistics: ByFunction,
    pub(super) exception_types: Vec<u32>,
    /// The duration of the phase.
    pub(super) duration: i64,
}

impl Merged {
    /// Reads the trees of a phase, or of the whole run (0). `values` is the number of values of each path.
    pub(super) fn read(records: &Records<'_>, phase: u32, values: usize, functions: &mut Functions<'_>) -> Self {
        let mut merged = Self::default();
        let mut trees: IndexMap<u64, CallTree> = IndexMap::new();
        for chunk in records.paths.iter().filter(|chunk| chunk.head.phase == phase && chunk.values() == values) {
            let head = chunk.head;
            merged.duration = head.duration;
            let tree = trees.entry(head.tree).or_insert_with(|| CallTree {
                number: head.tree,
                cpu_ns: head.cpu_ns,
                threads: head.threads,
                lost_calls: head.lost_calls,
                bad_tokens: head.bad_tokens,
                values: vec![Vec::new(); values],
                ..CallTree::default()
            });
            for path in chunk.paths() {
                // A caller precedes its callee; anything else is damage.
                let caller = path.caller.filter(|caller| *caller < tree.nodes.len());
                tree.nodes.push(Node { function: functions.index_of(path.method_id), caller });
                tree.notes.push(path.notes);
                tree.values.iter_mut().zip(path.values()).for_each(|(list, value)| list.push(value));
            }
        }
        merged.list = trees.into_values().collect();
        for of_method in records.method_statistics.iter().filter(|of_method| of_method.phase == phase) {
            let function = functions.index_of(of_method.method_id);
            if merged.statistics.len() <= function {
                merged.statistics.resize(function + 1, None);
                merged.exception_types.resize(function + 1, 0);
            }
            merged.statistics[function] = of_method.statistics.clone().map(Box::new);
            merged.exception_types[function] = of_method.exception_type;
        }
        merged
    }
}
