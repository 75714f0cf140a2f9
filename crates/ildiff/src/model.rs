//! The model of a difference, and the visitor that receives it.

use std::io;

use super::lines::{Hunk, LineTag, Text, diff};

/// The kind of an item.
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
    /// An exported type, or a file of the assembly.
    Export,
    /// A reference to an assembly, module, type or member.
    Reference,
    /// An attribute of assembly or module.
    Attribute,
    /// A manifest resource.
    Resource,
    /// A source document of the PDB.
    Document,
    /// Header fields of file, assembly or PDB.
    Header,
}

impl Kind {
    /// All kinds, in display order.
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

    /// The kind's name.
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

/// The status of an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Status {
    /// The item is on both sides and differs.
    Changed,
    /// The new side has another name for the item. It may differ, too.
    Renamed,
    /// The new side has the item in another type or namespace. It may have another name and differ, too.
    Moved,
    /// The new side has another signature for the item. It may differ, too.
    Resigned,
    /// The item is only on the new side.
    Added,
    /// The item is only on the old side.
    Removed,
}

impl Status {
    /// All statuses, in counting order.
    pub const ALL: [Self; 6] = [Self::Changed, Self::Renamed, Self::Moved, Self::Resigned, Self::Added, Self::Removed];

    /// The status's name.
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

/// A difference of one item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The item's kind.
    pub kind: Kind,
    /// The item's full name: the old one if it has one.
    pub name: String,
    /// The full name on the new side, if it differs.
    pub new_name: Option<String>,
    /// The item's status.
    pub status: Status,
    /// The differing lines: all lines if only one side has the item. Some kinds only have a name.
    pub hunks: Vec<Hunk>,
}

impl Change {
    /// A change of an item on only one side, with just a name.
    pub(crate) fn alone(kind: Kind, name: String, status: Status) -> Self {
        Self { kind, name, new_name: None, status, hunks: Vec::new() }
    }

    /// A change of an item on only one side, with all its lines.
    pub(crate) fn whole(kind: Kind, name: &str, status: Status, text: &Text) -> Self {
        let empty = Text::default();
        let hunks = if status == Status::Added { diff(&empty, text) } else { diff(text, &empty) };
        Self { hunks, ..Self::alone(kind, name.to_owned(), status) }
    }

    /// The difference of an item's two texts. None if they are equal.
    pub(crate) fn between(kind: Kind, name: &str, old: &Text, new: &Text) -> Option<Self> {
        let hunks = diff(old, new);
        (!hunks.is_empty()).then(|| Self { hunks, ..Self::alone(kind, name.to_owned(), Status::Changed) })
    }

    /// The numbers of added and of removed lines.
    pub fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let count = |wanted: LineTag| lines().filter(|(tag, _)| *tag == wanted).count();
        (count(LineTag::Added), count(LineTag::Removed))
    }
}

/// The number of changes by status, in the order of [`Status::ALL`].
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count([usize; Status::ALL.len()]);

impl Count {
    pub(crate) fn add(&mut self, status: Status) {
        if let Some(count) = self.0.get_mut(status as usize) {
            *count += 1;
        }
    }

    /// The number of changes with a status.
    pub fn with_status(self, status: Status) -> usize {
        self.0.get(status as usize).copied().unwrap_or_default()
    }

    /// Each status that occurs, with its number of changes.
    pub fn each(self) -> impl Iterator<Item = (Status, usize)> {
        Status::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// Whether all numbers are zero.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

/// Numbers of changes and lines.
#[derive(Clone, Default, Debug)]
pub struct Sum {
    /// By kind, in the order of [`Kind::ALL`].
    pub counts: [Count; Kind::ALL.len()],
    /// The number of added lines.
    pub new_lines: usize,
    /// The number of removed lines.
    pub old_lines: usize,
}

impl Sum {
    pub(crate) fn add(&mut self, change: &Change) {
        if let Some(count) = self.counts.get_mut(change.kind as usize) {
            count.add(change.status);
        }
        let (new, old) = change.counts();
        self.new_lines += new;
        self.old_lines += old;
    }

    /// Whether there are no differences.
    pub fn is_zero(&self) -> bool {
        self.counts.iter().all(|count| count.is_zero())
    }

    /// `2 methods changed, 1 type added`. Empty if there are no differences.
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

/// The totals of a comparison.
#[derive(Clone, Default, Debug)]
pub struct Totals {
    /// The sum over all items.
    pub all: Sum,
    /// The sum for each type that differs, including its members, in display order.
    pub types: Vec<(String, Sum)>,
    /// The number of methods on both sides.
    pub compared: usize,
    /// Whether either side has a type or method that the options name.
    pub has_named: bool,
}

impl Totals {
    /// Whether there are no differences.
    pub fn is_same(&self) -> bool {
        self.all.is_zero()
    }
}

/// All differences between two modules.
#[derive(Clone, Default, Debug)]
pub struct Diff {
    /// Type by type, then the items outside of types, kind by kind.
    pub changes: Vec<Change>,
    /// The totals of the changes.
    pub totals: Totals,
}

/// Receives the totals, then each change, in the order of [`Diff::changes`].
pub trait Visitor {
    /// Receives the totals before the changes.
    ///
    /// # Errors
    /// If writing fails.
    fn begin(&mut self, _totals: &Totals) -> io::Result<()> {
        Ok(())
    }

    /// Receives the type of the following changes, as its index in [`Totals::types`]. None for items outside of
    /// types.
    ///
    /// # Errors
    /// If writing fails.
    fn type_begins(&mut self, _place: Option<usize>) -> io::Result<()> {
        Ok(())
    }

    /// Receives one change.
    ///
    /// # Errors
    /// If writing fails.
    fn change(&mut self, change: &Change) -> io::Result<()>;

    /// Called after the last change.
    ///
    /// # Errors
    /// If writing the end fails.
    fn finish(&mut self, _totals: &Totals) -> io::Result<()> {
        Ok(())
    }
}
