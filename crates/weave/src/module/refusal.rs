//! Decides which files are refused as a whole.

use std::fmt;

use ecma335::{
    Error, ErrorKind, Image, Metadata, Table, Token,
    error::Place,
    image::Precompiled,
    schema::{GenericParam, TypeDef},
};
use names::Mark;

use crate::probes::tracker::Tracker;

/// The reason for refusing a file as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The file refers to the tracker.
    AlreadyWoven,
    /// The file has the mark of a woven file, and no other trace of weaving.
    DamagedMark,
    /// The file is the tracker.
    IsTracker,
    /// The file defines `System.Object`. The tracker needs that type, so the file cannot depend on the tracker.
    IsCoreLibrary,
    /// The file is a module without a manifest, and the tracker is to be embedded. The assembly's other modules would not
    /// find it.
    NoManifest,
    /// The tracker refers to the file's assembly, and is to be embedded in it.
    TrackerNeeds,
    /// The tracker is to be embedded, and its type parameters would have to be numbered among the file's own.
    TypeParameters,
    /// The file has native code from NGen or another precompiler that cannot be removed.
    Precompiled,
    /// A dangling reference would point to metadata that weaving adds. Only weaving detects this: see [`Refusal::from_error`].
    Dangling(Place),
    /// The instrumented file would pass this limit of the format. Only weaving detects this: see [`Refusal::from_error`].
    Limit(&'static str),
}

impl Refusal {
    /// The refusal that an error of weaving stands for, if it does.
    pub fn from_error(error: &Error) -> Option<Self> {
        match error.kind() {
            ErrorKind::Dangling(place) => Some(Self::Dangling(*place)),
            ErrorKind::Limit(limit) => Some(Self::Limit(limit)),
            _ => None,
        }
    }

    /// The stable identifier of the refusal, for scripts.
    pub fn code(self) -> &'static str {
        match self {
            Self::AlreadyWoven => "already-woven",
            Self::DamagedMark => "damaged-mark",
            Self::IsTracker => "is-tracker",
            Self::IsCoreLibrary => "is-core-library",
            Self::NoManifest => "no-manifest",
            Self::TrackerNeeds => "tracker-needs",
            Self::TypeParameters => "type-parameters",
            Self::Precompiled => "precompiled",
            Self::Dangling(_) => "dangling-reference",
            Self::Limit(_) => "limit",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyWoven => "it is instrumented already; instrument the original",
            Self::DamagedMark => {
                "it has the mark of an instrumented assembly, but does not refer to the tracker: it was damaged or changed \
                 afterwards; instrument the original"
            }
            Self::IsTracker => "it is the tracker itself",
            Self::IsCoreLibrary => {
                "it is the core library (it defines System.Object), which the tracker needs and which cannot need the tracker"
            }
            Self::Dangling(place) => {
                return write!(f, "{place} leads to what it has not got, and rows that instrumentation adds would be taken for that");
            }
            Self::Limit(limit) => {
                return write!(f, "instrumented, it would pass a limit ({limit}): instrument fewer of its methods (--include, --exclude)");
            }
            Self::NoManifest => "it is a module of an assembly of several, and --embed puts the tracker into whole assemblies",
            Self::TrackerNeeds => "the tracker refers to it, so --embed cannot put the tracker into it: instrument it without --embed",
            Self::TypeParameters => {
                "it has more types than methods before a generic type, so --embed has no place for the tracker's type parameters: \
                 instrument it without --embed"
            }
            Self::Precompiled => "it holds precompiled code of an unknown kind, which would run in place of the instrumented IL",
        })
    }
}

/// The reason for refusing a file as a whole, if there is one.
pub fn for_file(image: &Image<'_>, metadata: &Metadata<'_>, tracker: &Tracker) -> Option<Refusal> {
    if tracker.is_in(metadata) {
        return Some(Refusal::AlreadyWoven);
    }
    if metadata.assembly().and_then(|assembly| metadata.name(assembly.name).ok()).is_some_and(|name| name == tracker.name()) {
        return Some(Refusal::IsTracker);
    }
    if Mark::is_in(metadata) {
        return Some(Refusal::DamagedMark);
    }
    if defines_object(metadata) {
        return Some(Refusal::IsCoreLibrary);
    }
    (image.precompiled() == Some(Precompiled::Other)).then_some(Refusal::Precompiled)
}

/// The reason for not embedding the tracker in a file, if there is one.
pub fn for_embedding(metadata: &Metadata<'_>, tracker: &Tracker) -> Option<Refusal> {
    let Some(assembly) = metadata.assembly() else { return Some(Refusal::NoManifest) };
    let name = metadata.name(assembly.name).ok()?;
    if tracker.refers_to(&name) {
        return Some(Refusal::TrackerNeeds);
    }
    // GenericParam rows are sorted by owner. The tracker's methods come after the assembly's own.
    let first = metadata.tables.count(Table::MethodDef).checked_add(tracker.first_generic_method()?)?;
    let is_behind =
        |row: &GenericParam| row.owner.token().and_then(Token::rid_in::<TypeDef>).is_some_and(|rid| rid.get() > first);
    metadata.tables.rows::<GenericParam>().any(|(_, row)| is_behind(&row)).then_some(Refusal::TypeParameters)
}

fn defines_object(metadata: &Metadata<'_>) -> bool {
    metadata.tables.rows::<TypeDef>().any(|(_, row)| {
        row.extends.rid() == 0
            && metadata.strings.string_bytes(row.name) == Ok(b"Object")
            && metadata.strings.string_bytes(row.namespace) == Ok(b"System")
    })
}
