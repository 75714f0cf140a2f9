//! A method to rewrite, and the choice of the calls in it that get a probe.

use std::fmt;

use ecma335::{Cursor, MethodBody, Token, schema::MethodDef};

use crate::{
    counter::CountedPlace,
    probe::{LeaveMode, OwnCalls, Returned, Site, Value},
};

/// A method to rewrite.
#[derive(Clone, Copy, Debug)]
pub struct Method<'a, 'b> {
    /// Its MethodDef row.
    pub row: &'b MethodDef,
    /// Its signature (II.23.2.1).
    pub signature: Cursor<'a>,
    /// Its body.
    pub body: &'b MethodBody<'a>,
    /// The index of its probe in the context.
    pub probe: usize,
    /// The place of the leave call.
    pub leave_mode: LeaveMode,
    /// The values its probe may pass.
    pub values: &'b [Value<'b>],
    /// Its return value, if probes may take that.
    pub returned: Returned<'b>,
    /// The choice of the calls in its body that get a probe.
    pub sites: Sites<'b>,
    /// Its additional calls, if any.
    pub own: Option<&'b OwnCalls>,
    /// The places that are counted. Those that cannot be counted are left out.
    pub places: &'b [CountedPlace],
}

/// Chooses the calls (`call`, `callvirt`, `newobj`) that get a probe, by the token of the callee.
#[derive(Clone, Copy)]
pub struct Sites<'b>(pub &'b dyn Fn(Token) -> Option<Site>);

impl Sites<'_> {
    /// Chooses no call.
    pub const NONE: Sites<'static> = Sites(&|_| None);
}

impl fmt::Debug for Sites<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sites")
    }
}
