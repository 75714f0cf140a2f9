//! Rewrites one IL method body: the result is the same body with calls inserted.
//!
//! ```text
//! MethodBody -> Code (labels) -> Probe's calls inserted -> Layout (offsets) -> check -> bytes and fix-ups -> tokens
//! ```
//!
//! The calls to insert are data, a [`Probe`]. A rewritten body has a [`Fixup`] wherever a token is missing. A
//! [`TokenProvider`] supplies the tokens, in the order of the bodies. It adds rows to a file's metadata, or calls the
//! `IMetaDataEmit` of a running program. This crate knows no file, no PDB and no other method.

mod batch;
mod calls;
pub mod check;
pub mod code;
mod counter;
pub mod effects;
pub mod error;
mod insert;
pub mod layout;
mod load;
mod locals;
mod method;
pub mod name;
mod prepared;
pub mod probe;
pub mod rewrite;
mod scan;
pub mod stack;
pub mod token;

pub use batch::{Batch, RewrittenBody};
pub use counter::{CountedPlace, Counter};
pub use effects::{CallEffect, Effects};
pub use error::RewriteError;
pub use method::{Method, Sites};
pub use name::{AssemblyName, MethodName, NamedType, SpecMember, TypeName};
pub use probe::{
    Argument, Call, LeaveMode, Load, OwnArgument, OwnCall, OwnCalls, Probe, Returned, Shape, Site, SiteProbe, TypeToken, Value,
};
pub use rewrite::{BodyRewriter, Context};
pub use token::{Fixup, TokenProvider, TokenRequest};
