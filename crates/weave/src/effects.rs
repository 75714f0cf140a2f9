//! How many values a call takes off the stack and puts there, by its signature.

use std::sync::atomic::{AtomicU32, Ordering};

use ecma335::{
    Metadata, Rid, Table, Token,
    schema::{MemberRef, MethodDef, MethodSpec, StandAloneSig},
    signature::MethodShape,
};

use crate::tracker::TrackerRefs;

/// What a call does to the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// How many parameters are listed.
    pub params: u32,
    /// Whether there is a `this` beside them.
    pub has_this: bool,
    /// Whether something comes back.
    pub returns: bool,
}

/// The effects of all methods a module can call, each found once.
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

impl Effect {
    fn to_word(self) -> u32 {
        let flag = |is: bool, bit: u32| if is { bit } else { 0 };
        KNOWN | flag(self.returns, RETURNS) | flag(self.has_this, HAS_THIS) | self.params & PARAMS
    }
}

impl<'a, 'm> Effects<'a, 'm> {
    /// Knows only what calling the probes does, whose rows are not in the metadata yet.
    pub fn new(metadata: &'m Metadata<'a>, refs: &TrackerRefs) -> Self {
        let probes = [
            (refs.when_entering, Effect { params: 1, has_this: false, returns: true }),
            (refs.when_leaving, Effect { params: 1, has_this: false, returns: false }),
            (refs.when_handling, Effect { params: 1, has_this: false, returns: false }),
        ];
        let known = TABLES.map(|table| {
            let probe_rows = probes.iter().filter(|(token, _)| token.kind() == table as u8).map(|(token, _)| token.rid()).max();
            let rows = probe_rows.unwrap_or(0).max(metadata.tables.count(table));
            let mut words: Vec<AtomicU32> = (0..rows).map(|_| AtomicU32::new(0)).collect();
            for (token, effect) in probes.iter().filter(|(token, _)| token.kind() == table as u8) {
                if let Some(word) = (token.rid() as usize).checked_sub(1).and_then(|index| words.get_mut(index)) {
                    *word = AtomicU32::new(effect.to_word());
                }
            }
            words
        });
        Self { metadata, known }
    }

    /// The effect of calling what a token names; none if it names nothing that can be called.
    #[inline]
    pub fn of(&self, token: Token) -> Option<Effect> {
        let table = TABLES.iter().position(|table| *table as u8 == token.kind())?;
        let slot = self.known[table].get((token.rid() as usize).checked_sub(1)?)?;
        let mut word = slot.load(Ordering::Relaxed);
        if word == 0 {
            let effect = self.find(token)?;
            word = effect.to_word();
            slot.store(word, Ordering::Relaxed);
        }
        Some(Effect { params: word & PARAMS, has_this: word & HAS_THIS != 0, returns: word & RETURNS != 0 })
    }

    fn find(&self, token: Token) -> Option<Effect> {
        let signature = match token.table()? {
            Table::MethodDef => self.metadata.row(Rid::<MethodDef>::new(token.rid())).ok()?.signature,
            Table::MemberRef => self.metadata.row(Rid::<MemberRef>::new(token.rid())).ok()?.signature,
            Table::StandAloneSig => self.metadata.row(Rid::<StandAloneSig>::new(token.rid())).ok()?.signature,
            _ => return self.of(self.metadata.row(Rid::<MethodSpec>::new(token.rid())).ok()?.method.token()?),
        };
        let blob = self.metadata.blobs.blob(signature).ok()?;
        let shape = MethodShape::read(blob.rest(), blob.offset()).ok()?;
        Some(Effect { params: shape.params, has_this: shape.has_this, returns: shape.returns_value })
    }
}
