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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// It is in both and differs.
    Changed,
    /// It is called otherwise in the second; it may differ, too.
    Renamed,
    /// It is in another type or namespace in the second; it may be called otherwise and differ, too.
    Moved,
    /// It has another signature in the second; it may differ, too.
    Resigned,
    /// It is in the second alone.
    Added,
    /// It is in the first alone.
    Removed,
}

impl Status {
    /// All, in the order they are counted in.
    pub const ALL: [Self; 6] = [Self::Changed, Self::Renamed, Self::Moved, Self::Resigned, Self::Added, Self::Removed];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Renamed => "renamed",
            Self::Moved => "moved",
            Self::Resigned => "re-signed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

/// One thing that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// What it is.
    pub kind: Kind,
    /// Its full name, in the first if it is there.
    pub name: String,
    /// Its full name in the second, if that is another.
    pub new_name: Option<String>,
    /// What became of it.
    pub status: Status,
    /// The places that differ: all there is of what is on one side alone. Of some kinds the name is all there is.
    pub hunks: Vec<Hunk>,
}

impl Change {
    /// What is on one side alone and has a name alone.
    pub(crate) fn alone(kind: Kind, name: String, status: Status) -> Self {
        Self { kind, name, new_name: None, status, hunks: Vec::new() }
    }

    /// What is on one side alone, with all there is of it.
    pub(crate) fn whole(kind: Kind, name: &str, status: Status, text: &Text) -> Self {
        let empty = Text::default();
        let hunks = if status == Status::Added { diff(&empty, text) } else { diff(text, &empty) };
        Self { hunks, ..Self::alone(kind, name.to_owned(), status) }
    }

    /// What differs between two texts of one thing, if anything does.
    pub(crate) fn between(kind: Kind, name: &str, old: &Text, new: &Text) -> Option<Self> {
        let hunks = diff(old, new);
        (!hunks.is_empty()).then(|| Self { hunks, ..Self::alone(kind, name.to_owned(), Status::Changed) })
    }

    /// How many lines are new, and how many are removed.
    pub fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let count = |wanted: LineTag| lines().filter(|(tag, _)| *tag == wanted).count();
        (count(LineTag::Added), count(LineTag::Removed))
    }
}

/// How many things differ, by [`Status::ALL`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count([usize; Status::ALL.len()]);

impl Count {
    /// Counts a change.
    pub(crate) fn add(&mut self, status: Status) {
        if let Some(count) = self.0.get_mut(status as usize) {
            *count += 1;
        }
    }

    /// How many have a status.
    pub fn of(self, status: Status) -> usize {
        self.0.get(status as usize).copied().unwrap_or_default()
    }

    /// Each status that something has, with how many have it.
    pub fn each(self) -> impl Iterator<Item = (Status, usize)> {
        Status::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// Whether there is none.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// How much differs.
#[derive(Clone, Default, Debug)]
pub struct Sum {
    /// By kind, in the order of [`Kind::ALL`].
    pub counts: [Count; Kind::ALL.len()],
    /// Lines that are new.
    pub new_lines: usize,
    /// Lines that are removed.
    pub old_lines: usize,
}

impl Sum {
    /// Counts a change.
    pub(crate) fn add(&mut self, change: &Change) {
        if let Some(count) = self.counts.get_mut(change.kind as usize) {
            count.add(change.status);
        }
        let (new, old) = change.counts();
        self.new_lines += new;
        self.old_lines += old;
    }

    /// Whether nothing differs.
    pub fn is_zero(&self) -> bool {
        self.counts.iter().all(|count| count.is_zero())
    }

    /// `2 methods changed, 1 type added`; nothing if nothing differs.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        for (kind, count) in Kind::ALL.iter().zip(&self.counts) {
            words.extend(
                count.each().map(|(status, number)| format!("{} {}", crate::words::count(number, kind.name()), status.word())),
            );
        }
        words.join(", ")
    }
}

/// All there is to be said as a whole.
#[derive(Clone, Default, Debug)]
pub struct Totals {
    /// Of all.
    pub all: Sum,
    /// Of each type in which something differs, with its members, in the order they are shown in.
    pub types: Vec<(String, Sum)>,
    /// Methods that are in both.
    pub compared: usize,
    /// Whether either has a type or method that the options name.
    pub has_named: bool,
}

impl Totals {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.all.is_zero()
    }
}

/// All that differs between two modules.
#[derive(Clone, Default, Debug)]
pub struct Diff {
    /// Type by type, then what belongs to no type, kind by kind.
    pub changes: Vec<Change>,
    /// How much that is.
    pub totals: Totals,
}

/// Is shown the totals, then one change after the other, in the order of [`Diff::changes`].
pub trait Visitor {
    /// Shown how much there is to come.
    ///
    /// # Errors
    /// If it cannot be written.
    fn begin(&mut self, _totals: &Totals) -> io::Result<()> {
        Ok(())
    }

    /// Shown the type whose changes follow, by its place in [`Totals::types`]; none for what belongs to no type.
    ///
    /// # Errors
    /// If it cannot be written.
    fn type_begins(&mut self, _place: Option<usize>) -> io::Result<()> {
        Ok(())
    }

    /// Shown one change.
    ///
    /// # Errors
    /// If it cannot be written.
    fn change(&mut self, change: &Change) -> io::Result<()>;

    /// Told that there was nothing else.
    ///
    /// # Errors
    /// If the end cannot be written.
    fn finish(&mut self, _totals: &Totals) -> io::Result<()> {
        Ok(())
    }
}
