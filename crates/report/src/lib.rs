//! A profile as people read it: views of it as text, CSV, JSON and HTML. The caller prints them.
//!
//! ```text
//! Profile -> View { methods, call paths, threads, groups } -> text | CSV | JSON
//!         -> HTML page
//! ```

pub mod calls;
pub mod compare;
pub mod csv;
pub mod html;
mod json;
mod limits;
mod text;
pub mod views;

pub use json::{Document, document};
pub use limits::{Losses, limits, losses, missing_names};
pub use text::{Column, TextOptions, head, size};
