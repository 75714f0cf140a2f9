//! One IL method body in, one out: the same, with calls put into it.
//!
//! ```text
//! MethodBody -> Code (labels) -> Probe's calls inserted -> Layout (offsets) -> check -> bytes and fix-ups -> tokens
//! ```
//!
//! What is put in is data, a [`Probe`]. What it refers to is asked for, not made: a rewritten body has a [`Fixup`] wherever
//! a token is to be, and a [`TokenProvider`] gives the tokens, in the order of the bodies: rows that a file's metadata gets
//! more, or what a running program's `IMetaDataEmit` defines. No file, no PDB and no other method is known here.

pub mod check;
pub mod code;
pub mod effects;
pub mod error;
mod insert;
pub mod layout;
mod load;
pub mod name;
pub mod probe;
pub mod rewrite;
mod scan;
pub mod stack;
pub mod token;

pub use effects::{CallEffect, Effects};
pub use error::RewriteError;
pub use name::{AssemblyName, MethodName, NamedType, TypeName};
pub use probe::{
    Argument, Call, LeaveMode, Load, OwnArgument, OwnCall, OwnCalls, Probe, Returned, Shape, Site, SiteProbe, TypeToken, Value,
};
pub use rewrite::{Batch, BodyRewriter, Context, Method, RewrittenBody, Sites};
pub use token::{Fixup, TokenProvider, TokenRequest};
