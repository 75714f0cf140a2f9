//! What a difference is made of, and who is told of it.

use std::io;

use super::lines::{Hunk, Side, Text, diff};

/// What something is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Method,
    Type,
    Field,
    Property,
    Event,
    Export,
    Reference,
    Attribute,
    Resource,
    Document,
    Header,
}

impl Kind {
    /// All, in the order they are shown in.
    pub(crate) const ALL: [Self; 11] = [
        Self::Method,
        Self::Type,
        Self::Field,
        Self::Property,
        Self::Event,
        Self::Export,
        Self::Reference,
        Self::Attribute,
        Self::Resource,
        Self::Document,
        Self::Header,
    ];

    /// Its word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::Type => "type",
            Self::Field => "field",
            Self::Property => "property",
            Self::Event => "event",
            Self::Export => "export",
            Self::Reference => "reference",
            Self::Attribute => "attribute",
            Self::Resource => "resource",
            Self::Document => "document",
            Self::Header => "header",
        }
    }
}

/// What became of something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// It is in the second alone.
    Added,
    /// It is in the first alone.
    Removed,
    /// It is in both and differs.
    Changed(Vec<Hunk>),
}

/// One thing that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its full name.
    pub(crate) name: String,
    /// What became of it.
    pub(crate) how: How,
}

impl Change {
    /// What differs between two texts of one thing, if anything does.
    pub(crate) fn between(kind: Kind, name: &str, old: &Text, new: &Text) -> Option<Self> {
        let hunks = diff(old, new);
        (!hunks.is_empty()).then(|| Self { kind, name: name.to_owned(), how: How::Changed(hunks) })
    }

    /// The word for what became of it.
    pub(crate) fn word(&self) -> &'static str {
        match self.how {
            How::Added => "added",
            How::Removed => "removed",
            How::Changed(_) => "changed",
        }
    }

    /// The places that changed.
    pub(crate) fn hunks(&self) -> &[Hunk] {
        match &self.how {
            How::Changed(hunks) => hunks,
            _ => &[],
        }
    }

    /// How many lines are new, and how many are gone.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks().iter().flat_map(|hunk| &hunk.lines);
        let count = |wanted: Side| lines().filter(|(side, _)| *side == wanted).count();
        (count(Side::New), count(Side::Old))
    }
}

/// How many things of a kind differ.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Count {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) changed: usize,
}

impl Count {
    /// Counts a change.
    pub(crate) fn add(&mut self, change: &Change) {
        match change.how {
            How::Added => self.added += 1,
            How::Removed => self.removed += 1,
            How::Changed(_) => self.changed += 1,
        }
    }

    /// Whether there is none.
    pub(crate) fn is_zero(self) -> bool {
        self.added + self.removed + self.changed == 0
    }
}

/// All there is to be said at the end.
#[derive(Clone, Default, Debug)]
pub(crate) struct Totals {
    /// By kind, in the order of [`Kind::ALL`].
    pub(crate) counts: [Count; Kind::ALL.len()],
    /// Lines that are new.
    pub(crate) new_lines: usize,
    /// Lines that are gone.
    pub(crate) old_lines: usize,
    /// Methods that are in both.
    pub(crate) compared: usize,
}

impl Totals {
    /// Counts a change.
    pub(crate) fn add(&mut self, change: &Change) {
        if let Some(count) = self.counts.get_mut(change.kind as usize) {
            count.add(change);
        }
        let (new, old) = change.counts();
        self.new_lines += new;
        self.old_lines += old;
    }

    /// Whether nothing differs.
    pub(crate) fn is_same(&self) -> bool {
        self.counts.iter().all(|count| count.is_zero())
    }

    /// `2 methods changed, 1 type added`; nothing if nothing differs.
    pub(crate) fn words(&self) -> String {
        let mut words = Vec::new();
        for (kind, count) in Kind::ALL.iter().zip(&self.counts) {
            for (number, what) in [(count.changed, "changed"), (count.added, "added"), (count.removed, "removed")] {
                if number > 0 {
                    words.push(format!("{} {what}", crate::text::count(number, kind.name())));
                }
            }
        }
        words.join(", ")
    }
}

/// Who is told: first of the methods that changed, one by one, then of all else, kind by kind.
pub(crate) trait Report {
    /// Told of one thing.
    fn change(&mut self, change: &Change) -> io::Result<()>;

    /// Told that this was all.
    fn finish(&mut self, totals: &Totals) -> io::Result<()>;
}
