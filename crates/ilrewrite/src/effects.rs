//! The number of values a call pops and pushes, from its signature.

use std::sync::atomic::{AtomicU32, Ordering};

use ecma335::{
    FileOffset, Metadata, Rid, Table, Token,
    schema::{MemberRef, MethodDef, MethodSpec, StandAloneSig},
    signature::outline::MethodShape,
};

/// The effect of a call on the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallEffect {
    /// The number of parameters in the signature.
    pub params: u32,
    /// Whether the call also takes a `this`.
    pub has_this: bool,
    /// Whether the call returns a value.
    pub returns: bool,
}

impl CallEffect {
    /// Reads a method's signature (II.23.2.1 to II.23.2.3). None if the blob is no such signature.
    pub fn from_signature(blob: &[u8], base: FileOffset) -> Option<Self> {
        let shape = MethodShape::read(blob, base).ok()?;
        Some(Self { params: shape.params, has_this: shape.has_this, returns: shape.returns_value })
    }

    fn to_word(self) -> u32 {
        let flag = |is: bool, bit: u32| if is { bit } else { 0 };
        KNOWN | flag(self.returns, RETURNS) | flag(self.has_this, HAS_THIS) | self.params & PARAMS
    }
}

/// The effects of all methods that a module can call, each computed once.
#[derive(Debug)]
pub struct Effects<'a, 'm> {
    metadata: &'m Metadata<'a>,
    known: [Vec<AtomicU32>; 4],
}

const TABLES: [Table; 4] = [Table::MethodDef, Table::MemberRef, Table::MethodSpec, Table::StandAloneSig];
const KNOWN: u32 = 1 << 31;
const RETURNS: u32 = 1 << 30;
const HAS_THIS: u32 = 1 << 29;
const PARAMS: u32 = HAS_THIS - 1;

impl<'a, 'm> Effects<'a, 'm> {
    /// An empty cache.
    pub fn new(metadata: &'m Metadata<'a>) -> Self {
        let unknown = |table| (0..metadata.tables.count(table)).map(|_| AtomicU32::new(0)).collect();
        Self { metadata, known: TABLES.map(unknown) }
    }

    /// The effect of calling a token. None if the token names nothing callable.
    #[inline]
    pub fn effect(&self, token: Token) -> Option<CallEffect> {
        let table = TABLES.iter().position(|table| *table as u8 == token.kind())?;
        let slot = self.known[table].get((token.rid() as usize).checked_sub(1)?)?;
        let mut word = slot.load(Ordering::Relaxed);
        if word == 0 {
            let effect = self.find(token)?;
            word = effect.to_word();
            slot.store(word, Ordering::Relaxed);
        }
        Some(CallEffect { params: word & PARAMS, has_this: word & HAS_THIS != 0, returns: word & RETURNS != 0 })
    }

    fn find(&self, token: Token) -> Option<CallEffect> {
        let signature = match token.table()? {
            Table::MethodDef => self.metadata.row(Rid::<MethodDef>::new(token.rid())).ok()?.signature,
            Table::MemberRef => self.metadata.row(Rid::<MemberRef>::new(token.rid())).ok()?.signature,
            Table::StandAloneSig => self.metadata.row(Rid::<StandAloneSig>::new(token.rid())).ok()?.signature,
            _ => return self.effect(self.metadata.row(Rid::<MethodSpec>::new(token.rid())).ok()?.method.token()?),
        };
        let blob = self.metadata.blobs.blob(signature).ok()?;
        CallEffect::from_signature(blob.rest(), blob.offset())
    }
}
