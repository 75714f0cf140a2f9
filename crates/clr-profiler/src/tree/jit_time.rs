//! The time that a thread spends in the JIT compiler. It is no time of the method that runs: it goes to a node below that method.

use profile_format::node;

use super::{current, nodes, pauses};
use crate::{process::clock, worlds::InCallback};

/// The runtime begins to compile a method on this thread.
pub(crate) fn compilation_begins(_: InCallback) {
    let Some(tree) = current::tree() else { return };
    let compiling = &tree.memory.compiling;
    if compiling.depth.replace(compiling.depth.get() + 1) == 0 {
        compiling.since.set(clock::now());
    }
}

/// The runtime has compiled a method on this thread.
pub(crate) fn compilation_ends(_: InCallback) {
    let Some(tree) = current::tree() else { return };
    let compiling = &tree.memory.compiling;
    let depth = compiling.depth.get().saturating_sub(1);
    let is_outermost = compiling.depth.replace(depth) == 1;
    let caller = tree.current.get();
    if !is_outermost || pauses::is_on() || caller.caller.get().is_none() || !tree.memory.overflowed.borrow().is_empty() {
        return;
    }
    let since = compiling.since.get().max(caller.start.get());
    if let Some(jit) = nodes::callee(tree, caller, node::JIT_ID as u64) {
        jit.total.set(jit.total.get() + pauses::elapsed(since, clock::now()));
    }
}
