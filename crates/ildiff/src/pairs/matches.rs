//! The pairs found so far, and lookups of equal names.

use std::collections::HashMap;

use ecma335::Rid;
use sha2::{Digest as _, Sha256};

use super::pair::{How, Pair};

/// A name's hash, and the item's number among those of that name. Hashes bound the memory, because a small file may
/// make many long names.
pub(super) type Key = ([u8; 32], usize);

/// The items of one kind, on the old and on the new side.
pub(super) type Both<T> = (Vec<T>, Vec<T>);

/// The pairs found so far.
pub(super) struct Matches<T> {
    pub(super) new_of: HashMap<Rid<T>, (Rid<T>, How, usize)>,
    pub(super) old_of: HashMap<Rid<T>, Rid<T>>,
}

impl<T> Default for Matches<T> {
    fn default() -> Self {
        Self { new_of: HashMap::new(), old_of: HashMap::new() }
    }
}

impl<T> Matches<T> {
    pub(super) fn add(&mut self, old: Rid<T>, new: Rid<T>, how: How, number: usize) {
        self.new_of.insert(old, (new, how, number));
        self.old_of.insert(new, old);
    }

    pub(super) fn old_left(&self, rids: impl Iterator<Item = Rid<T>>) -> Vec<Rid<T>> {
        rids.filter(|rid| !self.new_of.contains_key(rid)).collect()
    }

    pub(super) fn new_left(&self, rids: impl Iterator<Item = Rid<T>>) -> Vec<Rid<T>> {
        rids.filter(|rid| !self.old_of.contains_key(rid)).collect()
    }

    /// Pairs the members of two types: first the known pairs, then the rest of each side.
    pub(super) fn list(&self, old: impl Iterator<Item = Rid<T>>, new: impl Iterator<Item = Rid<T>>) -> Vec<Pair<T>> {
        let of_old = |old: Rid<T>| match self.new_of.get(&old) {
            Some((new, how, number)) => Pair { old: Some(old), new: Some(*new), how: *how, number: *number },
            None => Pair { old: Some(old), new: None, how: How::Same, number: 1 },
        };
        let added = new.filter(|new| !self.old_of.contains_key(new));
        let added = added.map(|new| Pair { old: None, new: Some(new), how: How::Same, number: 1 });
        old.map(of_old).chain(added).collect()
    }
}

/// Matches equal names. Repeated names are matched by their order.
pub(super) fn exact<T: Copy>(old: Vec<(Key, T)>, new: Vec<(Key, T)>) -> Vec<(T, T, usize)> {
    let by_name: HashMap<Key, T> = new.into_iter().collect();
    old.into_iter().filter_map(|(key, each)| Some((each, *by_name.get(&key)?, key.1))).collect()
}

/// Keys for names, with a number for repetitions.
pub(super) fn keyed<T>(named: impl Iterator<Item = (String, T)>) -> Vec<(Key, T)> {
    let mut seen: HashMap<[u8; 32], usize> = HashMap::new();
    let key = |(name, each): (String, T)| {
        let hash = Sha256::digest(name).into();
        let count = seen.entry(hash).or_default();
        *count += 1;
        ((hash, *count), each)
    };
    named.map(key).collect()
}

/// Numbers for words: equal words get equal numbers.
#[derive(Default)]
pub(super) struct Numbers(HashMap<String, usize>);

impl Numbers {
    pub(super) fn number(&mut self, word: String) -> usize {
        let next = self.0.len();
        *self.0.entry(word).or_insert(next)
    }
}
