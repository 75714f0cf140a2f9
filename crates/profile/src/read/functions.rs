//! The functions of a profile, found as its trees are read.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use names::MethodId;
use profile_format::node;

use crate::{
    file::Names,
    model::{Function, MethodName},
    statistics::Statistics,
};

/// The id of the JIT compiler's time.
const JIT: MethodId = MethodId(node::JIT_ID as u64);

/// Returns the name of the JIT compiler's time in trees and tables. It has no type, like a native function.
fn jit_name() -> MethodName {
    MethodName { type_name: String::new(), method: "(JIT compilation)".to_owned() }
}

/// The functions found so far.
pub(super) struct Functions<'n> {
    pub(super) list: Vec<Function>,
    by_id: HashMap<u64, usize, RandomState>,
    names: &'n Names,
    modules: HashMap<u64, usize>,
}

impl<'n> Functions<'n> {
    pub(super) fn new(names: &'n Names) -> Self {
        // The first one wins where several modules have the same key.
        let modules = names.modules.iter().enumerate().rev().map(|(index, module)| (module.key, index)).collect();
        Self { list: Vec::new(), by_id: HashMap::default(), names, modules }
    }

    /// Whether a function stands for the JIT compiler.
    pub(super) fn is_jit(&self, index: usize) -> bool {
        self.list.get(index).is_some_and(|function| function.method_id == JIT)
    }

    pub(super) fn index_of(&mut self, method_id: u64) -> usize {
        *self.by_id.entry(method_id).or_insert_with(|| {
            let id = MethodId(method_id);
            let name = if id == JIT { Some(jit_name()) } else { self.names.methods.get(&method_id).cloned() };
            let module = self.modules.get(&id.module_key()).copied();
            self.list.push(Function { method_id: id, name, source: None, module });
            self.list.len() - 1
        })
    }
}

/// Statistics by function, under construction.
pub(super) type ByFunction = Vec<Option<Box<Statistics>>>;
