//! Targets that only read.

use std::fmt::Debug;

use disasm::{
    self as dis, Disassembler,
    list::{self, Listing, Methods, Sort},
};
use ecma335::{
    Cursor, FileOffset, Image, Metadata, MethodBody, Rid, Rva, Table,
    debug::{CodeView, DebugEntry},
    image::DirectoryKind,
    schema::{CustomAttribute, Event, EventMap, Field, MethodDef, Param, Property, PropertyMap, TypeDef, TypeRef},
    signature::{
        Signature, TypeSig,
        outline::{LocalsShape, MethodShape},
    },
};
use export::{Export, Format, Measure, Origin};
use names::{Manifest, MethodId};
use profile::{
    Profile,
    calls::Calls,
    compare::{CompareOptions, Comparison},
    merge::Merge,
};
use report::{
    TextOptions,
    calls::{CallText, Condition},
    views::{GroupBy, ViewOptions, Wanted},
};
use verify::{Library, Scope};

use super::{Outcome, weaving::tracker};

/// Returns `Accepted` if bytes were read, otherwise `Refused`.
fn outcome<T, E>(read: &Result<T, E>) -> Outcome {
    if read.is_ok() { Outcome::Accepted } else { Outcome::Refused }
}

pub(super) fn image(bytes: &[u8]) -> Result<Outcome, String> {
    let _ = ecma335::open_loaded(bytes);
    let Ok(image) = Image::parse(bytes) else { return Ok(Outcome::Refused) };
    for kind in [DirectoryKind::Import, DirectoryKind::Resource, DirectoryKind::Debug, DirectoryKind::BaseRelocation] {
        let directory = image.directory(kind);
        if image.bytes_at(directory).len() > directory.size as usize {
            return Err(format!("{kind:?} is longer than it says"));
        }
        let _ = image.cursor_at(directory.rva);
    }
    for entry in DebugEntry::read_all(&image).into_iter().flatten() {
        CodeView::parse(&entry.data);
    }
    image.precompiled();
    let _ = weave::pdb::find(&image, None);
    Ok(outcome(&image.metadata()))
}

pub(super) fn request(bytes: &[u8]) -> Result<Outcome, String> {
    let Ok(lines) = live::read_request(bytes) else { return Ok(Outcome::Refused) };
    if !bytes.starts_with(&live::request(&lines)) {
        return Err("it is read as another request".into());
    }
    let Ok(text) = String::from_utf8(lines) else { return Ok(Outcome::Refused) };
    let options = text.lines().find_map(|line| line.strip_prefix(live::OPTIONS)?.strip_prefix('='));
    Ok(options.map_or(Outcome::LeftAlone, |words| outcome(&words.parse::<weave::Options>())))
}

pub(super) fn metadata(bytes: &[u8]) -> Result<Outcome, String> {
    let Ok(image) = Image::parse(bytes) else { return Ok(Outcome::Refused) };
    let Ok(metadata) = image.metadata().and_then(Metadata::parse) else { return Ok(Outcome::Refused) };
    for table in Table::ALL {
        let count = metadata.tables.count(*table);
        if (1..=count).any(|rid| metadata.tables.cells(*table, rid).is_none())
            || metadata.tables.cells(*table, count + 1).is_some()
        {
            return Err(format!("{table} has not {count} rows"));
        }
    }
    for rid in 1..=metadata.tables.count(Table::TypeRef) {
        let _ = metadata.type_ref_name(Rid::<TypeRef>::new(rid));
    }
    for (rid, row) in metadata.tables.rows::<MethodDef>() {
        let _ = metadata.name(row.name);
        let _ = metadata.blobs.blob(row.signature).map(Signature::parse);
        let body = image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse);
        body.iter().flat_map(MethodBody::instructions).map_while(Result::ok).count();
        metadata.children::<MethodDef, Param>(rid).count();
    }
    metadata.owners::<TypeDef, MethodDef>();
    metadata.owners::<TypeDef, Field>();
    metadata.owners::<EventMap, Event>();
    metadata.owners::<PropertyMap, Property>();
    for (_, row) in metadata.tables.rows::<CustomAttribute>() {
        metadata.attribute_type_name(&row);
    }
    let _ = (
        metadata.mvid(),
        metadata.display_name(),
        names::Mark::read(&metadata).and_then(|mark| names::WovenNames::read(mark.names?).ok()),
    );
    Ok(Outcome::Accepted)
}

fn cursor(bytes: &[u8]) -> Cursor<'_> {
    Cursor::new(bytes, FileOffset(0))
}

/// Checks that a value is unchanged after it is written and read again.
fn comes_back<T: PartialEq + Debug>(
    read: &Result<T, ecma335::Error>,
    write: impl Fn(&T, &mut Vec<u8>),
    parse: impl Fn(&[u8]) -> Result<T, ecma335::Error>,
) -> Result<(), String> {
    let Ok(value) = read else { return Ok(()) };
    let mut written = Vec::new();
    write(value, &mut written);
    let same = parse(&written).is_ok_and(|again| again == *value);
    if same { Ok(()) } else { Err(format!("{value:?} is another when it is written: {written:02x?}")) }
}

pub(super) fn signature(bytes: &[u8]) -> Result<Outcome, String> {
    let _ = MethodShape::read(bytes, FileOffset(0));
    let _ = LocalsShape::read(bytes, FileOffset(0));
    let signature = Signature::parse(cursor(bytes));
    let spec = TypeSig::parse(cursor(bytes));
    comes_back(&signature, Signature::write, |written| Signature::parse(cursor(written)))?;
    comes_back(&spec, TypeSig::write, |written| TypeSig::parse(cursor(written)))?;
    Ok(if signature.is_ok() { Outcome::Accepted } else { outcome(&spec) })
}

pub(super) fn text(bytes: &[u8]) -> Result<Outcome, String> {
    let Ok(image) = Image::parse(bytes) else { return Ok(Outcome::Refused) };
    let Ok(metadata) = image.metadata().and_then(Metadata::parse) else { return Ok(Outcome::Refused) };
    let options = list::Options {
        methods: Some(Methods { as_tree: true, weave: weave::Options::default(), pdb: None }),
        references: true,
        members: true,
        strings: true,
        attributes: true,
        sort: Sort::Name,
    };
    let mut out = std::io::sink();
    let listing = Listing::read(&image, &metadata, &options, tracker());
    if let Ok(listing) = &listing {
        list::print(listing, true, &mut out).map_err(|error| error.to_string())?;
        let _ = list::to_json(listing).map(|json| serde_json::to_writer(&mut out, &json));
    }
    let dis = Disassembler::new(&image, &metadata);
    if let Ok(mut dis) = dis {
        dis.options = dis::Options { offsets: true, bytes: true, tokens: true, ..Default::default() };
        dis.print(&mut out).map_err(|error| error.to_string())?;
        dis.resources();
    }
    Ok(outcome(&listing))
}

pub(super) fn verify(bytes: &[u8]) -> Result<Outcome, String> {
    let Ok(image) = Image::parse(bytes) else { return Ok(Outcome::Refused) };
    let Ok(metadata) = image.metadata().and_then(Metadata::parse) else { return Ok(Outcome::Refused) };
    // A library where the assembly itself satisfies every reference.
    let mut library = Library::new();
    let names = Library::references(&metadata);
    let module = library.add(metadata);
    names.keys().for_each(|name| library.link(module, name, module));
    let options = verify::Options { pedantic: true, limit: usize::MAX, every: true };
    let report = verify::verify_types(&image, &options, Scope { library: &library, module });
    report.findings.iter().for_each(|finding| drop(finding.to_string()));
    Ok(Outcome::Accepted)
}

pub(super) fn profile(bytes: &[u8]) -> Result<Outcome, String> {
    let Ok(bytes) = &profile::unpacked(bytes) else { return Ok(Outcome::Refused) };
    let Ok(profile) = Profile::parse(bytes) else { return Ok(Outcome::Refused) };
    report::head(&profile);
    let names = profile.display_names();
    for (wanted, fold_recursion) in [
        (Wanted::Methods, false),
        (Wanted::Tree, true),
        (Wanted::Tree, false),
        (Wanted::HotPath, false),
        (Wanted::Method(vec![0, 1]), false),
        (Wanted::Threads, false),
        (Wanted::Groups(GroupBy::Type), false),
    ] {
        let options = ViewOptions { fold_recursion, by_thread: !fold_recursion, ..ViewOptions::default() };
        let (view, count) = report::views::view(&profile, &wanted, &options, &names, &|_| true);
        view.text(&profile, count, &TextOptions { bars: true, ..TextOptions::default() });
        view.csv(std::io::sink()).map_err(|error| error.to_string())?;
        serde_json::to_writer(std::io::sink(), &report::document(&profile, &view)).map_err(|error| error.to_string())?;
    }
    profile::events(bytes).into_iter().flatten().for_each(drop);
    for name in &profile.phases {
        Profile::parse_phase(bytes, name).map_err(|error| error.to_string())?;
    }
    Ok(Outcome::Accepted)
}

/// Exports the profile in each format, and reads captured calls.
pub(super) fn export(bytes: &[u8]) -> Result<Outcome, String> {
    let Ok(bytes) = &profile::unpacked(bytes) else { return Ok(Outcome::Refused) };
    let Ok(profile) = Profile::parse(bytes) else { return Ok(Outcome::Refused) };
    let phase = |name: &String| Some((name.clone(), Profile::parse_phase(bytes, name).ok()??));
    let phases: Vec<(String, Profile)> = profile.phases.iter().filter_map(phase).collect();
    let origin = Origin::new(&profile, "host");
    for (format, max_depth) in Format::ALL.into_iter().flat_map(|format| [(format, None), (format, Some(2))]) {
        let (measure, by_thread) = (Measure::Calls, max_depth.is_some());
        let export = Export { profile: &profile, bytes, phases: &phases, origin: &origin, measure, by_thread, max_depth };
        let mut out = Vec::new();
        if export.write(format, &mut out).is_ok() && format == Format::Parquet {
            export::read_parquet(&out).map_err(|error| format!("what was exported does not read: {error}"))?;
        }
    }
    if let Ok(calls) = Calls::parse(bytes) {
        let condition: Condition = "x.Length > 3".parse()?;
        for call in &calls.list {
            condition.is_met(&calls, call);
            CallText(&calls).json(&profile, call);
        }
    }
    Ok(Outcome::Accepted)
}

pub(super) fn parquet(bytes: &[u8]) -> Outcome {
    outcome(&export::read_parquet(bytes))
}

/// Asks for rows that exist, and for rows that do not.
pub(super) fn manifest(bytes: &[u8]) -> Outcome {
    let Some(manifest) = Manifest::read(bytes) else { return Outcome::Refused };
    for row in (0..100).chain([0x40_0001, 0xC0_0001, u32::MAX]) {
        manifest.symbol(MethodId::new(manifest.module_key(), row));
    }
    Outcome::Accepted
}

/// Compares two profiles with either one as the base. Merges the first with itself; the merged profile must be undamaged.
pub(super) fn comparison(bytes: &[u8], beside: Option<&[u8]>) -> Result<Outcome, String> {
    let Ok(profile) = Profile::parse(bytes) else { return Ok(Outcome::Refused) };
    let other = Profile::parse(beside.unwrap_or(bytes)).map_err(|error| error.to_string())?;
    let (one, other) = ([profile], [other]);
    for (base, new) in [(&one, &other), (&other, &one)] {
        let mut comparison = Comparison::new(base, new, &CompareOptions::default());
        report::compare::text(&comparison, usize::MAX);
        report::compare::markdown(&comparison, usize::MAX);
        serde_json::to_writer(std::io::sink(), &comparison).map_err(|error| error.to_string())?;
        let all = comparison.paths(base, new).len();
        let kept: Vec<String> = comparison.methods.iter().step_by(2).map(|method| method.name.clone()).collect();
        comparison.retain(|method| kept.contains(&method.name));
        let paths = comparison.paths(base, new);
        if paths.len() > all || paths.iter().enumerate().any(|(place, path)| path.caller >= Some(place)) {
            return Err(format!("{} paths of {all}, or a caller behind its callee", paths.len()));
        }
    }
    let mut merge = Merge::default();
    let [profile] = &one;
    merge.add(bytes, profile).map_err(|error| error.to_string())?;
    merge.add(bytes, profile).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    merge.write(&mut out).map_err(|error| error.to_string())?;
    let merged = Profile::parse(&out).map_err(|error| error.to_string())?;
    match merged.damage {
        Some(damage) => Err(format!("what was merged is damaged: {damage}")),
        None => Ok(Outcome::Accepted),
    }
}

/// Adds the tracker to a `deps.json`. The result must need no second addition.
pub(super) fn deps_json(bytes: &[u8]) -> Result<Outcome, String> {
    instrument::deps_json::names(bytes, "app.dll");
    match instrument::deps_json::add_tracker(bytes) {
        Err(_) => Ok(Outcome::Refused),
        Ok(None) => Ok(Outcome::LeftAlone),
        Ok(Some(told)) if instrument::deps_json::add_tracker(&told) == Ok(None) => Ok(Outcome::Accepted),
        Ok(Some(_)) => Err("it has to be told again".into()),
    }
}
