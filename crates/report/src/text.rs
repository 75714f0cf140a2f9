//! A profile as text: a summary, and tables of functions and threads.

mod bar;
mod columns;
mod head;
mod lines;
mod lists;
mod options;
mod tree;
mod view;

pub(crate) use self::view::reason_without_times;
pub use self::{bar::size, columns::Column, head::head, options::TextOptions};
