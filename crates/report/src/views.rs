//! The views of a profile, as lists of rows to print, draw or write. These are methods, call paths, threads, groups of methods,
//! a method's callers and callees, and lines of source. Rows are flat, so that each list is also a table.

mod edges;
mod groups;
mod lines;
mod paths;
mod site;
mod tests;
mod threads;
mod view;

pub use self::{
    edges::{EdgeRow, Relation, edges},
    groups::{GroupBy, GroupRow, groups},
    lines::{FileRow, SourceRow, UncoveredRow, files, relative, source, source_folder, uncovered},
    paths::{PathRow, hot_path, in_tree_order, paths},
    site::Site,
    tests::{TestRow, tests},
    threads::{ThreadRow, threads},
    view::{MethodRows, View, ViewOptions, Wanted, view},
};
