//! Lists a module: its types and methods with the effect of instrumenting on each, its references, its string
//! literals and its attributes. The result is a model, or text or JSON.

mod attributes;
mod decisions;
mod json;
mod listing;
mod literals;
mod module;
mod options;
mod outline;
mod owners;
mod references;
mod structure;
mod text;
mod token_text;
mod tree;

pub use self::{
    attributes::Attribute,
    json::to_json,
    listing::Listing,
    literals::{Literal, Use},
    options::{Methods, Options, Sort},
    references::{Reference, UsedType},
    text::print,
};
