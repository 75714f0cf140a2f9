//! What a profile says, as lists of rows for whoever prints, draws or writes them: call paths, threads, groups of methods,
//! a method's callers and callees. The table of methods is in [`report`](crate::report). Each row is flat, so that a list
//! is a table too.

mod edges;
mod groups;
mod paths;
mod threads;

pub use self::{
    edges::{EdgeRow, Relation},
    groups::{GroupBy, GroupRow},
    paths::PathRow,
    threads::ThreadRow,
};
