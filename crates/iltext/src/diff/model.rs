//! What a difference is made of, and who is told of it.

use std::io;

use super::lines::{Hunk, LineTag, Text, diff};

/// What something is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A method: its head and its body.
    Method,
    /// A type: its head, without its members.
    Type,
    /// A field.
    Field,
    /// A property.
    Property,
    /// An event.
    Event,
    /// A type or file of the assembly that is elsewhere.
    Export,
    /// A reference to an assembly, module, type or member.
    Reference,
    /// An attribute of assembly or module.
    Attribute,
    /// A manifest resource.
    Resource,
    /// A source document of the PDB.
    Document,
    /// What headers say, of file, assembly or PDB.
    Header,
}

impl Kind {
    /// All, in the order they are shown in.
    pub const ALL: [Self; 11] = [
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
    pub fn name(self) -> &'static str {
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
pub enum Status {
    /// It is in the second alone.
    Added,
    /// It is in the first alone.
    Removed,
    /// It is in both and differs.
    Changed(Vec<Hunk>),
}

/// One thing that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// What it is.
    pub kind: Kind,
    /// Its full name.
    pub name: String,
    /// What became of it.
    pub status: Status,
}

impl Change {
    /// What differs between two texts of one thing, if anything does.
    pub(crate) fn between(kind: Kind, name: &str, old: &Text, new: &Text) -> Option<Self> {
        let hunks = diff(old, new);
        (!hunks.is_empty()).then(|| Self { kind, name: name.to_owned(), status: Status::Changed(hunks) })
    }

    /// The word for what became of it.
    pub fn word(&self) -> &'static str {
        match self.status {
            Status::Added => "added",
            Status::Removed => "removed",
            Status::Changed(_) => "changed",
        }
    }

    /// The places that changed.
    pub fn hunks(&self) -> &[Hunk] {
        match &self.status {
            Status::Changed(hunks) => hunks,
            _ => &[],
        }
    }

    /// How many lines are new, and how many are removed.
    pub fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks().iter().flat_map(|hunk| &hunk.lines);
        let count = |wanted: LineTag| lines().filter(|(tag, _)| *tag == wanted).count();
        (count(LineTag::Added), count(LineTag::Removed))
    }
}

/// How many things of a kind differ.
#[derive(Clone, Copy, Default, Debug)]
pub struct Count {
    /// In the second alone.
    pub added: usize,
    /// In the first alone.
    pub removed: usize,
    /// In both, and different.
    pub changed: usize,
}

impl Count {
    /// Counts a change.
    pub(crate) fn add(&mut self, change: &Change) {
        match change.status {
            Status::Added => self.added += 1,
            Status::Removed => self.removed += 1,
            Status::Changed(_) => self.changed += 1,
        }
    }

    /// Whether there is none.
    pub fn is_zero(self) -> bool {
        self.added + self.removed + self.changed == 0
    }
}

/// All there is to be said at the end.
#[derive(Clone, Default, Debug)]
pub struct Totals {
    /// By kind, in the order of [`Kind::ALL`].
    pub counts: [Count; Kind::ALL.len()],
    /// Lines that are new.
    pub new_lines: usize,
    /// Lines that are removed.
    pub old_lines: usize,
    /// Methods that are in both.
    pub compared: usize,
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
    pub fn is_same(&self) -> bool {
        self.counts.iter().all(|count| count.is_zero())
    }

    /// `2 methods changed, 1 type added`; nothing if nothing differs.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        for (kind, count) in Kind::ALL.iter().zip(&self.counts) {
            for (number, what) in [(count.changed, "changed"), (count.added, "added"), (count.removed, "removed")] {
                if number > 0 {
                    words.push(format!("{} {what}", crate::words::count(number, kind.name())));
                }
            }
        }
        words.join(", ")
    }
}

/// All that differs between two modules.
#[derive(Clone, Default, Debug)]
pub struct Diff {
    /// First the methods that changed, then all else, kind by kind.
    pub changes: Vec<Change>,
    /// How much that is.
    pub totals: Totals,
}

impl Diff {
    /// Shows it to a printer.
    ///
    /// # Errors
    /// If the printer cannot write.
    pub fn visit(&self, visitor: &mut dyn Visitor) -> io::Result<()> {
        self.changes.iter().try_for_each(|change| visitor.change(change))?;
        visitor.finish(&self.totals)
    }
}

/// Is shown one change after the other, in the order of [`Diff::changes`].
pub trait Visitor {
    /// Shown one change.
    ///
    /// # Errors
    /// If it cannot be written.
    fn change(&mut self, change: &Change) -> io::Result<()>;

    /// Shown the totals, behind all changes.
    ///
    /// # Errors
    /// If they cannot be written.
    fn finish(&mut self, totals: &Totals) -> io::Result<()>;
}
