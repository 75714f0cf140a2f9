//! Rewritten bodies, and the tokens that they request.

use std::ops::Range;

use ecma335::{FileOffset, Token};
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use little_endian::{ByteOrder, LE};

use crate::{
    effects::CallEffect,
    probe::Shape,
    token::{Fixup, TokenProvider, TokenRequest},
};

/// Requests without duplicates, each with its effect as a call.
#[derive(Clone, Default, Debug)]
pub(crate) struct Requests(IndexMap<TokenRequest, Option<CallEffect>, RandomState>);

impl Requests {
    /// The number of a request. A new request gets the next number.
    pub(crate) fn ask(&mut self, request: &TokenRequest) -> u32 {
        if let Some(known) = self.0.get_index_of(request) {
            return known as u32;
        }
        let effect = match request {
            TokenRequest::MemberRef(method) | TokenRequest::MethodSpec(method, _) => {
                CallEffect::from_signature(&method.signature, FileOffset(0))
            }
            TokenRequest::MemberOfSpec(member) => CallEffect::from_signature(&member.signature, FileOffset(0)),
            TokenRequest::MethodSig(signature) => CallEffect::from_signature(signature, FileOffset(0)),
            _ => None,
        };
        self.0.insert_full(request.clone(), effect).0 as u32
    }

    /// The effect of a request as a call.
    pub(crate) fn effect(&self, request: u32) -> Option<CallEffect> {
        self.0.get_index(request as usize).and_then(|(_, effect)| *effect)
    }
}

/// Rewritten bodies and their token requests. A batch belongs to one [`Context`](crate::Context).
#[derive(Debug)]
pub struct Batch {
    /// The bodies, each at a multiple of 4.
    pub bodies: Vec<u8>,
    /// The missing tokens in the bodies, in order.
    pub fixups: Vec<Fixup>,
    pub(crate) requests: Requests,
    /// The number of requests of the context's probes, which come first.
    of_probes: usize,
}

/// A rewritten body in a [`Batch`].
#[derive(Clone, Debug)]
pub struct RewrittenBody {
    /// Its range of the batch's bytes.
    pub range: Range<usize>,
    /// Its range of the batch's fix-ups.
    pub fixups: Range<usize>,
    /// The request for its locals' signature. None if the method keeps its own.
    pub local_sig: Option<u32>,
    /// The shape of the rewritten body.
    pub shape: Shape,
    /// The numbers of the counters in it, in the order of the code.
    pub counters: Vec<u32>,
}

impl Batch {
    /// An empty batch with the requests of the probes.
    pub(crate) fn new(requests: Requests) -> Self {
        Self { bodies: Vec::new(), fixups: Vec::new(), of_probes: requests.0.len(), requests }
    }

    /// The number of a request. A new request gets the next number.
    pub fn ask(&mut self, request: &TokenRequest) -> u32 {
        self.requests.ask(request)
    }

    /// Writes the requested tokens into the bodies, in the order of their bytes. `settled` holds the tokens of
    /// requests that were settled before.
    ///
    /// # Errors
    /// The provider's error.
    pub fn settle<P: TokenProvider>(
        &mut self,
        body: &RewrittenBody,
        settled: &mut Vec<Option<Token>>,
        provider: &mut P,
    ) -> Result<(), P::Error> {
        settled.resize(self.requests.0.len(), None);
        for fixup in self.fixups.get(body.fixups.clone()).unwrap_or_default() {
            let request = fixup.request as usize;
            let (Some(known), Some((asked, _))) = (settled.get_mut(request), self.requests.0.get_index(request)) else {
                continue;
            };
            let token = match *known {
                Some(token) => token,
                None => *known.insert(provider.settle(asked)?),
            };
            let at = fixup.at as usize;
            LE::write_u32(&mut self.bodies[at..], token.0);
        }
        Ok(())
    }

    /// Takes the rewritten bodies out. The rest is an empty batch of the same context that keeps its buffers.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let left = self.requests.0.iter().take(self.of_probes).map(|(request, effect)| (request.clone(), *effect)).collect();
        // The copy gets the exact size, and the buffers stay warm for the next bodies.
        let taken = Self {
            bodies: self.bodies.as_slice().to_vec(),
            fixups: std::mem::take(&mut self.fixups),
            requests: std::mem::replace(&mut self.requests, Requests(left)),
            of_probes: self.of_probes,
        };
        self.bodies.clear();
        taken
    }
}
