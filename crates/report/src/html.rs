//! A profile as one HTML file that needs no network: a flame graph, tables, the tree, callers and callees, phases, lines of
//! source.
//!
//! ```text
//! Profile -> Data (functions, trees in preorder) -> JSON in a page with our own style and script
//! ```
//!
//! The script (`assets/*.js`) sums, sorts and draws. This module provides only data that the script cannot compute.

mod compared;
mod data;
mod filter;
mod functions;
mod lines;
mod page;

pub use self::{filter::Filter, lines::Sources, page::Page};
