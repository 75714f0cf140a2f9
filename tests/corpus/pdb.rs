//! An instrumented assembly's PDB describes each instruction as the original PDB does.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    path::Path,
};

use ecma335::{
    Cursor, FileOffset, Image, Metadata, MethodBody, Rid, Rva, Token,
    body::Instruction,
    debug::{DebugEntry, kind},
    pdb::{SequencePoint, SequencePoints, custom_debug_information as kinds},
    schema::{CustomDebugInformation, LocalScope, MethodDebugInformation, MethodDef},
};
use weave::Woven;

use crate::lines;

/// Returns the PDB beside a file.
pub(crate) fn beside(file: &Path) -> Option<Vec<u8>> {
    fs::read(file.with_extension("pdb")).ok()
}

/// Compares the PDBs, if there are two. Returns the number of methods with sequence points.
pub(crate) fn compare(
    file: &Path,
    woven: &Woven<'_>,
    image: &Image<'_>,
    metadata: &Metadata<'_>,
) -> Result<Option<usize>, String> {
    let output = woven.file.to_vec();
    let new_image = Image::parse(&output).map_err(|error| error.to_string())?;
    let new_bytes = woven.pdb.clone().or_else(|| embedded(&new_image));
    let old_bytes = if woven.pdb.is_some() { beside(file) } else { embedded(image) };
    let (Some(old_bytes), Some(new_bytes)) = (old_bytes, new_bytes) else { return Ok(None) };
    let (old, new) = (parse(&old_bytes)?, parse(&new_bytes)?);
    let new_metadata = new_image.metadata().and_then(Metadata::parse).map_err(|error| error.to_string())?;
    let is_woven: BTreeSet<u32> = woven.bodies.iter().map(|(rid, _)| rid.get()).collect();
    let mut followed = 0;
    for (rid, row) in metadata.tables.rows::<MethodDef>() {
        if row.rva == 0 {
            continue;
        }
        let row: MethodDebugInformation = old.row(Rid::new(rid.get())).map_err(|error| error.to_string())?;
        let points = |pdb: &Metadata<'_>| {
            let row: MethodDebugInformation = pdb.row(Rid::new(rid.get()))?;
            SequencePoints::parse(pdb.blobs.blob(row.sequence_points)?, row.document).map(|points| points.points)
        };
        let (before, after) =
            (points(&old).map_err(|error| error.to_string())?, points(&new).map_err(|error| error.to_string())?);
        if !is_woven.contains(&rid.get()) {
            if before != after {
                return Err(format!("{rid:?} was left alone, and its points moved"));
            }
            continue;
        }
        let starts = |image: &Image<'_>, metadata: &Metadata<'_>| instructions(image, metadata, rid);
        let (Some(old_starts), Some(new_starts)) = (starts(image, metadata), starts(&new_image, &new_metadata)) else { continue };
        compare_points(&before, &after, &old_starts, &new_starts).map_err(|error| format!("{rid:?}: {error}; {row:?}"))?;
        followed += usize::from(!before.is_empty());
    }
    compare_scopes(&old, &new, (image, metadata), (&new_image, &new_metadata))?;
    lines::compare(woven, |rid, offset| {
        let row: MethodDebugInformation = new.row(Rid::new(rid.get())).ok()?;
        let points = SequencePoints::parse(new.blobs.blob(row.sequence_points).ok()?, row.document).ok()?.points;
        // The probe of a handler comes before the counter of its first line.
        points.iter().rfind(|point| point.offset <= offset)?.span
    })?;
    compare_custom(&old, &new, (image, metadata), (&new_image, &new_metadata))?;
    Ok(Some(followed))
}

/// Returns whether a file has a portable PDB that goes with it.
pub(crate) fn is_there(file: &Path, image: &Image<'_>) -> bool {
    weave::pdb::find(image, beside(file).as_deref()).is_ok_and(|pdb| pdb.is_some())
}

fn embedded(image: &Image<'_>) -> Option<Vec<u8>> {
    let entries = DebugEntry::read_all(image).ok()?;
    let entry = entries.iter().find(|entry| entry.kind == kind::EMBEDDED_PORTABLE_PDB)?;
    let mut pdb = Vec::new();
    flate2::read::DeflateDecoder::new(&entry.data[8..]).read_to_end(&mut pdb).ok()?;
    Some(pdb)
}

fn parse(bytes: &[u8]) -> Result<Metadata<'_>, String> {
    Metadata::parse(Cursor::new(bytes, FileOffset(0))).map_err(|error| error.to_string())
}

/// Returns the offset and opcode of each instruction, and the end of the code. The first instruction of a handler is marked as
/// such, since it may be a probe.
fn instructions(image: &Image<'_>, metadata: &Metadata<'_>, rid: Rid<MethodDef>) -> Option<BTreeMap<u32, String>> {
    let body = MethodBody::parse(image.cursor_at(Rva(metadata.row(rid).ok()?.rva)).ok()?).ok()?;
    let handlers: BTreeSet<u32> = body.clauses.iter().map(|clause| clause.handler_offset).collect();
    let mut starts: BTreeMap<u32, String> = BTreeMap::new();
    let all: Vec<Instruction<'_>> = body.instructions().collect::<Result<_, _>>().ok()?;
    let field = lines::field(metadata);
    let mut rest = &all[..];
    while let Some(first) = rest.first() {
        // Counters of lines are taken for the instruction behind them.
        while lines::counter(rest, field).is_some() {
            rest = &rest[3..];
        }
        let Some((instruction, behind)) = rest.split_first() else { break };
        let is_handler = handlers.contains(&first.offset);
        let name = if is_handler { "the start of a handler".into() } else { format!("{:?}", instruction.opcode()) };
        starts.insert(first.offset, name);
        rest = behind;
    }
    starts.insert(body.il.len() as u32, "end".into());
    Some(starts)
}

/// Checks that every source place is still named, at an instruction and in order, and that a debugger makes no additional stop.
fn compare_points(
    before: &[SequencePoint],
    after: &[SequencePoint],
    old_starts: &BTreeMap<u32, String>,
    new_starts: &BTreeMap<u32, String>,
) -> Result<(), String> {
    if before.is_empty() != after.is_empty() {
        return Err("points came or went".into());
    }
    if !after.is_sorted_by(|one, next| one.offset < next.offset) {
        return Err("points are out of order".into());
    }
    if let Some(point) = after.iter().find(|point| !new_starts.contains_key(&point.offset)) {
        return Err(format!("IL_{:04x} is no instruction", point.offset));
    }
    // Of two points at one instruction, only the second counts.
    let named: BTreeSet<u32> = before
        .iter()
        .filter(|point| point.span.is_some())
        .filter_map(|point| old_starts.range(point.offset..).next().map(|(start, _)| *start))
        .collect();
    let (stops, more_stops) = (stops_at_one_place(before, old_starts), stops_at_one_place(after, new_starts));
    if more_stops > stops {
        return Err(format!("at {more_stops} places, not {stops}, a debugger stops once more"));
    }
    let places =
        |points: &[SequencePoint]| points.iter().filter_map(|point| point.span).map(|span| (span.start, span.end)).collect();
    let (old_places, new_places): (BTreeSet<_>, BTreeSet<_>) = (places(before), places(after));
    let lost = old_places.difference(&new_places).count();
    let doubled = before.iter().filter(|point| point.span.is_some()).count() - named.len();
    if lost > doubled || !new_places.is_subset(&old_places) {
        return Err(format!("{lost} places of the source were lost, or others came"));
    }
    Ok(())
}

/// Returns how many times control runs from a point to another one of the same place, where a debugger stops again.
fn stops_at_one_place(points: &[SequencePoint], starts: &BTreeMap<u32, String>) -> usize {
    let runs_on = |offset: u32| {
        let before = starts.range(..offset).next_back();
        before.is_some_and(|(_, opcode)| !["Ret", "Br", "BrS", "Leave", "LeaveS", "Throw", "Rethrow"].contains(&&**opcode))
    };
    let seen: Vec<&SequencePoint> = points.iter().filter(|point| point.span.is_some()).collect();
    seen.windows(2).filter(|pair| pair[0].span == pair[1].span && runs_on(pair[1].offset)).count()
}

/// Checks that scopes begin with the same instructions, end at others, and have the same nesting.
fn compare_scopes(
    old: &Metadata<'_>,
    new: &Metadata<'_>,
    input: (&Image<'_>, &Metadata<'_>),
    output: (&Image<'_>, &Metadata<'_>),
) -> Result<(), String> {
    let rows = |pdb: &Metadata<'_>| pdb.tables.rows::<LocalScope>().map(|(_, row)| row).collect::<Vec<_>>();
    let (old, new) = (rows(old), rows(new));
    if old.len() != new.len() {
        return Err("the number of scopes changed".into());
    }
    let mut starts = (Rid::NONE, None);
    for (index, (before, after)) in old.iter().zip(&new).enumerate() {
        if (LocalScope { start_offset: 0, length: 0, ..*before }) != (LocalScope { start_offset: 0, length: 0, ..*after }) {
            return Err("a scope belongs to something else".into());
        }
        if starts.0 != after.method {
            let both = instructions(input.0, input.1, after.method).zip(instructions(output.0, output.1, after.method));
            starts = (after.method, both);
        }
        let Some((old_starts, starts)) = &starts.1 else { continue };
        // A short branch may have become long. A blocking call begins with its probe. An end also does, or it leads to the
        // epilogue.
        let opcode =
            |starts: &BTreeMap<u32, String>, offset: u32| starts.get(&offset).map(|name| name.trim_end_matches('S').to_owned());
        let began = opcode(old_starts, before.start_offset);
        let leaves = ["Ret", "Tail", "Jmp"].map(Some).contains(&began.as_deref());
        let mut begins = starts.range(after.start_offset..).map(|(_, name)| name.as_str());
        // The probe: the id, the call, and a local for the token. The blocking call follows.
        let is_probe = [begins.next(), begins.next()] == [Some("LdcI8"), Some("Call")]
            && begins.next().is_some_and(|name| name.starts_with("Stloc"))
            && ["Call", "Callvirt"].map(Some).contains(&began.as_deref())
            && begins.next() == began.as_deref();
        if began != opcode(starts, after.start_offset) && !leaves && !is_probe {
            return Err(format!("a scope of {:?} begins elsewhere: {before:?} became {after:?}", after.method));
        }
        let end = after.start_offset + after.length;
        if !starts.contains_key(&after.start_offset) || !starts.contains_key(&end) {
            return Err(format!("a scope of {:?} is not of whole instructions: {after:?}", after.method));
        }
        let Some(previous) = index.checked_sub(1).map(|index| (old[index], new[index])) else { continue };
        let contains = |outer: &LocalScope, inner: &LocalScope| {
            outer.method == inner.method
                && outer.start_offset <= inner.start_offset
                && inner.start_offset + inner.length <= outer.start_offset + outer.length
        };
        if contains(&previous.0, before) && !contains(&previous.1, after) {
            return Err(format!("a scope of {:?} left the one it was in", after.method));
        }
    }
    Ok(())
}

/// Checks that an async method resumes at the same instruction.
fn compare_custom(
    old: &Metadata<'_>,
    new: &Metadata<'_>,
    input: (&Image<'_>, &Metadata<'_>),
    output: (&Image<'_>, &Metadata<'_>),
) -> Result<(), String> {
    for (rid, row) in old.tables.rows::<CustomDebugInformation>() {
        let text = |error: ecma335::Error| error.to_string();
        let after = new.row(rid).map_err(text)?;
        if after.parent != row.parent || after.kind != row.kind {
            return Err("custom debug information belongs to something else".into());
        }
        let (old_value, new_value) = (old.blob(row.value).map_err(text)?, new.blob(after.value).map_err(text)?);
        let is_stepping = old.guids.guid(row.kind).map_err(text)? == Some(kinds::ASYNC_METHOD_STEPPING);
        let Some(method) = row.parent.token().and_then(Token::rid_in::<MethodDef>).filter(|_| is_stepping) else {
            continue;
        };
        let opcodes = |(image, metadata): (&Image<'_>, &Metadata<'_>), value: &[u8]| -> Option<Vec<String>> {
            let starts = instructions(image, metadata, method)?;
            let mut cursor = Cursor::new(value, FileOffset(0));
            cursor.u32().ok()?;
            let mut opcodes = Vec::new();
            while !cursor.is_empty() {
                for offset in [cursor.u32().ok()?, cursor.u32().ok()?] {
                    opcodes.push(starts.get(&offset).cloned().unwrap_or_else(|| format!("no instruction at IL_{offset:04x}")));
                }
                cursor.compressed_u32().ok()?;
            }
            Some(opcodes)
        };
        let (before, after) = (opcodes(input, old_value), opcodes(output, new_value));
        if before != after {
            return Err(format!("{method:?} goes on elsewhere: {before:?} became {after:?}"));
        }
    }
    Ok(())
}
