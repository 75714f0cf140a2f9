//! A profile as one HTML file that asks nothing of a network: a flame graph, tables, the tree, callers and callees, phases.
//!
//! ```text
//! Profile -> Data (functions, trees in preorder) -> JSON in a page with our own style and script
//! ```
//!
//! What is added up, sorted and shown is the script's (`assets/*.js`); here is what it cannot know.

mod compared;
mod data;
mod functions;
mod page;

pub use page::{Filter, Page};
