//! Targets that instrument, and compare the output with the input.

use std::sync::OnceLock;

use ecma335::{
    Cursor, FileOffset, Image, Metadata, MethodBody, Rid,
    schema::{MethodDef, Row as _},
};
use ildiff::{self as diff, Side, WovenOriginal};
use little_endian::{ByteOrder, LE};
use verify::{Library, Report, Scope};
use weave::{LeaveMode, Options, Tracker, Weave, output_check};

use super::Outcome;
use crate::{
    dangling,
    repository::{HOST, read},
};

/// Every finding, as `verify --compare` needs them.
const EVERY: verify::Options = verify::Options { pedantic: true, limit: usize::MAX, every: true };

/// Returns the tracker that probes call.
pub(crate) fn tracker() -> &'static Tracker {
    static TRACKER: OnceLock<Tracker> = OnceLock::new();
    TRACKER.get_or_init(|| Tracker::read(instrument::TRACKER).expect("the tracker is an assembly"))
}

/// Derives options from a variant: both leave modes, both layouts, and counters of lines in half of them.
pub(crate) fn options_of(variant: u64) -> Options {
    let leave = if variant & 1 == 0 { LeaveMode::Finally } else { LeaveMode::Return };
    Options { leave, keep_layout: variant & 2 != 0, lines: variant & 8 != 0, ..Options::default() }
}

/// Instruments an assembly, in half of the variants with the PDB beside it.
pub(super) fn assembly(bytes: &[u8], variant: u64, pdb: Option<&[u8]>) -> Result<Outcome, String> {
    weave_and_check(bytes, &options_of(variant), pdb.filter(|_| variant & 4 != 0))
}

/// Instruments the assembly of a PDB.
pub(super) fn pdb(pdb: &[u8], variant: u64, assembly: Option<&[u8]>) -> Result<Outcome, String> {
    static ORDERS: OnceLock<Vec<u8>> = OnceLock::new();
    let assembly = assembly.unwrap_or_else(|| ORDERS.get_or_init(|| read("samples/orders/bin/orders.exe")));
    weave_and_check(assembly, &options_of(variant), Some(pdb))
}

/// Reads a body and writes it again, which must not change it. Then replaces a method's body by it, and instruments the assembly.
pub(super) fn body(bytes: &[u8], variant: u64) -> Result<Outcome, String> {
    if let Ok(body) = MethodBody::parse(Cursor::new(bytes, FileOffset(0))) {
        let mut written = Vec::new();
        let start = body.write(&mut written);
        let again = MethodBody::parse(Cursor::new(&written[start..], FileOffset(0))).map_err(|error| error.to_string())?;
        let parts = |body: &MethodBody<'_>| {
            (body.il.to_vec(), body.clauses.clone(), body.local_var_sig, body.init_locals, body.max_stack)
        };
        // A tiny header has no stack size: readers assume eight, which is enough for the body.
        if parts(&again) != parts(&body) && !(again.is_tiny && body.max_stack < 8) {
            return Err(format!("{body:?} is another when it is written"));
        }
    }
    static HOST_BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    let host = HOST_BYTES.get_or_init(|| read(HOST));
    let planted = plant(host, bytes, variant >> 2).ok_or("the host has no room")?;
    weave_and_check(&planted, &options_of(variant), None)
}

/// Returns an assembly whose method has another body, at the end of the last section.
fn plant(host: &[u8], body: &[u8], method: u64) -> Option<Vec<u8>> {
    let image = Image::parse(host).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    let methods: Vec<Rid<MethodDef>> =
        metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.has_il_body()).map(|(rid, _)| rid).collect();
    let rid = *methods.get((method % methods.len() as u64) as usize)?;
    let last = image.sections().last()?;
    let mut planted = host.get(..(last.raw_offset + last.raw_size) as usize)?.to_vec();
    planted.resize(planted.len().next_multiple_of(4), 0);
    let rva = last.virtual_address.0 + planted.len() as u32 - last.raw_offset;
    planted.extend_from_slice(body);
    let mut put = |at: usize, value: u32| planted.get_mut(at..at + 4).map(|place| LE::write_u32(place, value));
    // The RVA is the first column of a method.
    debug_assert_eq!(MethodDef::TABLE.columns()[0].name, "rva");
    put(metadata.tables.offset(rid).0 as usize, rva)?;
    let size = rva - last.virtual_address.0 + body.len() as u32;
    let headers = crate::fields::u32_at(host, 0x3C) as usize;
    let sections = headers + 24 + (crate::fields::u32_at(host, headers + 20) & 0xFFFF) as usize;
    let header = sections + (image.sections().len() - 1) * 40;
    put(header + 8, size)?;
    put(header + 16, size)?;
    Some(planted)
}

/// Instruments an assembly and checks the output. It must be readable, have no new findings, and consist of the input and probes.
/// References that dangled must still dangle.
fn weave_and_check(bytes: &[u8], options: &Options, pdb: Option<&[u8]>) -> Result<Outcome, String> {
    let Ok(image) = Image::parse(bytes) else { return Ok(Outcome::Refused) };
    let Ok(metadata) = image.metadata().and_then(Metadata::parse) else { return Ok(Outcome::Refused) };
    if weave::refusal::for_file(&image, &metadata, tracker()).is_some() {
        return Ok(Outcome::Refused);
    }
    let weaving = Weave { options, pdb, tool: "fuzz", ..Weave::new(tracker()) };
    let Ok(woven) = weave::weave(&image, &metadata, &weaving) else { return Ok(Outcome::Refused) };
    let output = woven.file.to_vec();
    if woven.bodies.is_empty() {
        return if output == bytes { Ok(Outcome::LeftAlone) } else { Err("nothing was woven, and the file is another".into()) };
    }
    output_check::check(&output, &woven, (&image, &metadata)).map_err(|fault| format!("output check: {fault}"))?;
    let new_image = Image::parse(&output).map_err(|error| format!("what was woven does not read: {error}"))?;
    let new = new_image.metadata().and_then(Metadata::parse).map_err(|error| format!("what was woven does not read: {error}"))?;
    if let Some(what) = dangling::gained(&image, &metadata, &new) {
        return Err(format!("what led nowhere leads somewhere: {what}"));
    }
    let new_pdb = woven.pdb.as_deref();
    only_probes((&image, &metadata, pdb), (&new_image, &new, new_pdb))?;
    let mut report = verified(&new_image, &new);
    verify::leave_new(&mut report, (&new_image, &new), &verified(&image, &metadata), (&image, &metadata));
    match report.findings.first() {
        None => Ok(Outcome::Accepted),
        Some(finding) => Err(format!("a finding that the input has not: {finding}")),
    }
}

/// Returns the findings of `verify --types` without other assemblies.
fn verified(image: &Image<'_>, metadata: &Metadata<'_>) -> Report {
    let mut library = Library::new();
    let module = library.add(metadata.clone());
    verify::verify_types(image, &EVERY, Scope { library: &library, module })
}

/// A module with its PDB.
type Module<'m> = (&'m Image<'m>, &'m Metadata<'m>, Option<&'m [u8]>);

/// Checks that `diff --only-probes --debug-info` shows no difference. It refuses assemblies with unreadable names, which pass.
fn only_probes(old: Module<'_>, new: Module<'_>) -> Result<(), String> {
    let again = WovenOriginal::new(old.0, old.1, new.1, tracker(), old.2);
    let again = again.map_err(|error| format!("--only-probes: {error}"))?.ok_or("--only-probes: it has no mark")?;
    let image = Image::parse(&again.file).map_err(|error| error.to_string())?;
    let metadata = image.metadata().and_then(Metadata::parse).map_err(|error| error.to_string())?;
    let (Ok(mut left), Ok(mut right)) = (Side::new(&image, &metadata), Side::new(new.0, new.1)) else { return Ok(()) };
    let (old_pdb, new_pdb) = (again.pdb(&image), weave::pdb::find(new.0, new.2).ok().flatten());
    if let (Some(old_pdb), Some(new_pdb)) = (&old_pdb, &new_pdb) {
        let unreadable = |error: ecma335::Error| format!("a PDB that was woven does not read: {error}");
        left = left.with_pdb(old_pdb).map_err(unreadable)?;
        right = right.with_pdb(new_pdb).map_err(unreadable)?;
    }
    let found = diff::compare(&left, &right, &diff::Options { original: Some(again.original(old.0)), ..Default::default() });
    match found.changes.first() {
        None => Ok(()),
        Some(change) => Err(format!("--only-probes shows {change:?}")),
    }
}
