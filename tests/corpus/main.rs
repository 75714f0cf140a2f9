//! Real assemblies: those of the .NET SDK, of Mono's class libraries and GAC, and others. Each is instrumented in both modes or
//! refused for a stated reason. The output is read again, keeps all data of the input, and can be listed.

mod lines;
mod pdb;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use little_endian::NumbersAt;

use ecma335::{
    Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    attribute::{AttributeTypes, AttributeValue},
    debug::DebugEntry,
    element::ElementType,
    flags::cli_flags,
    image::{CliHeader, Directory, DirectoryKind},
    schema::{self, Blob, ColumnKind, MethodDef, StandAloneSig},
    signature::{Signature, TypeSig},
};
use tests::{assemblies, in_parallel, in_tier, library_folders, lists, require, root, scratch, tool};
use weave::{LeaveMode, Note, Options, Selection, Tracker, Weave};

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn every_assembly_is_woven_or_refused_by_name() {
    let files = corpus();
    if files.is_empty() {
        return;
    }
    let tracker = tracker();
    let folder = scratch("corpus");
    let done = in_parallel(&files, |worker, file| {
        check(file, &tracker, &folder.join(format!("{worker}.dll"))).map_err(|error| format!("{}: {error}", file.display()))
    });
    let (mut outcomes, mut failures): (BTreeMap<String, usize>, Vec<String>) = Default::default();
    for found in done {
        match found {
            Ok(found) => found.into_iter().for_each(|(outcome, count)| *outcomes.entry(outcome).or_default() += count),
            Err(error) => failures.push(error),
        }
    }
    println!("{} files", files.len());
    for (outcome, count) in outcomes {
        println!("{count:>8} {outcome}");
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Outside the full tier, every n-th file is tried.
const EVERY: usize = 16;

/// Returns the assemblies of the SDK, of Mono, and of `cargo xtask corpus`.
fn corpus() -> Vec<PathBuf> {
    let mut folders = library_folders();
    folders.extend(tool("ILINST_CORPUS"));
    in_tier(assemblies(&folders), EVERY)
}

/// Instruments one file in both modes and checks the outputs. Returns results with counts.
fn check(file: &Path, tracker: &Tracker, scratch: &Path) -> Result<Vec<(String, usize)>, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let (image, metadata) = match Image::parse(&bytes).and_then(|image| Ok((Metadata::parse(image.metadata()?)?, image))) {
        Ok((metadata, image)) => (image, metadata),
        Err(error) if matches!(error.kind(), ecma335::ErrorKind::NoCliHeader) => {
            return Ok(vec![("refused: native code".into(), 1)]);
        }
        Err(error) => return Err(error.to_string()),
    };
    if let Some(refusal) = weave::refusal::for_file(&image, &metadata, tracker) {
        return Ok(vec![(format!("refused: {}", refusal.code()), 1)]);
    }
    let mut outcomes = Vec::new();
    let mut listable = None;
    let ways = [(LeaveMode::Finally, false), (LeaveMode::Return, false), (LeaveMode::Finally, true), (LeaveMode::Return, true)];
    let has_pdb = pdb::is_there(file, &image);
    for (mode, lines) in ways.into_iter().filter(|(_, lines)| !lines || has_pdb) {
        let beside = pdb::beside(file);
        // Half of them count lines alone.
        let lines_only = lines && mode == LeaveMode::Return;
        let options = Options { leave: mode, all: true, lines: lines && !lines_only, lines_only, ..Options::default() };
        let mode = if lines { format!("{mode:?} with lines") } else { format!("{mode:?}") };
        let how = Weave { options: &options, pdb: beside.as_deref(), ..Weave::new(tracker) };
        let woven = weave::weave(&image, &metadata, &how).map_err(|error| error.to_string())?;
        let methods = woven.methods.iter().filter(|method| method.is_ok()).count();
        for reason in woven.methods.iter().filter_map(|method| method.as_ref().err()) {
            outcomes.push((format!("methods left alone by {mode}: {}", reason.code()), 1));
            if !reason.is_expected() {
                return Err(format!("a method was left alone: {reason}"));
            }
        }
        if methods == 0 {
            outcomes.push(("nothing to weave".into(), 1));
            return Ok(outcomes);
        }
        outcomes.push((format!("methods woven by {mode}"), methods));
        let kept = woven.notes.iter().find(|note| matches!(note, Note::LayoutKept(_)));
        outcomes.push((kept.map_or("files laid out anew".into(), |note| format!("files by {mode}: {note}")), 1));
        let output = woven.file.to_vec();
        compare(&image, &metadata, &output, &woven.methods).map_err(|error| format!("{mode}: {error}"))?;
        if let Some(methods) = pdb::compare(file, &woven, &image, &metadata).map_err(|error| format!("{mode}: PDB: {error}"))? {
            outcomes.push((format!("methods followed by a PDB after {mode}"), methods));
        }
        if kept.is_none() {
            compare_size(&image, &metadata, &output, &woven.bodies).map_err(|error| format!("{mode}: {error}"))?;
        }
        if *listable.get_or_insert_with(|| lists(file, file, &scratch.with_extension("il"))) {
            fs::write(scratch, &output).map_err(|error| error.to_string())?;
            if !lists(scratch, file, &scratch.with_extension("il")) {
                return Err(format!("{mode}: monodis lists the original and not the woven file"));
            }
            outcomes.push((format!("files listed by monodis after {mode}"), 1));
        }
    }
    outcomes.push(("files woven".into(), 1));
    Ok(outcomes)
}

/// Checks that the output keeps all of the input's metadata, and that every body can be read.
fn compare<S>(image: &Image<'_>, old: &Metadata<'_>, output: &[u8], methods: &[Result<S, weave::Reason>]) -> Result<(), String> {
    let text = |error: ecma335::Error| error.to_string();
    let new_image = Image::parse(output).map_err(text)?;
    let new = Metadata::parse(new_image.metadata().map_err(text)?).map_err(text)?;
    for (old, new) in [(old.strings, new.strings), (old.user_strings, new.user_strings)] {
        if !new.bytes.starts_with(old.bytes) {
            return Err("a heap does not begin with the input's".into());
        }
    }
    // The output has another MVID in the same place.
    let other_guids = |metadata: &Metadata<'_>| metadata.guids.bytes.get(16..).map(<[u8]>::to_vec);
    if other_guids(&new) != other_guids(old) || new.guids.bytes.len() != old.guids.bytes.len() {
        return Err("a GUID but the MVID differs".into());
    }
    if new.mvid() == old.mvid() {
        return Err("the MVID is the input's".into());
    }
    for table in Table::ALL.iter().copied() {
        let mut inserted = 0;
        for rid in 1..=old.tables.count(table) {
            let (mut before, mut after) = (old.tables.cells(table, rid), new.tables.cells(table, rid + inserted));
            if table == Table::MethodDef || table == Table::FieldRva {
                // The RVA of a body or of data is the only cell that may change.
                before.iter_mut().chain(&mut after).for_each(|row| row[0] = 0);
            }
            if table == Table::CustomAttribute && before != after && inserted == 0 {
                // The mark on the module. The table is sorted, so that it is among the others.
                inserted = 1;
                after = new.tables.cells(table, rid + inserted);
            }
            if table == Table::StandAloneSig {
                // Locals of instrumented bodies reuse rows that no body uses any more.
                continue;
            }
            if before != after {
                return Err(format!("{table} {rid}: {before:?} became {after:?}"));
            }
            for (cell, column) in before.into_iter().flatten().zip(table.columns()) {
                let blob = |metadata: &Metadata<'_>| metadata.blob(Blob(cell)).map(<[u8]>::to_vec).ok();
                if column.kind == ColumnKind::Blob && blob(old) != blob(&new) {
                    return Err(format!("{table} {rid}: {} is another", column.name));
                }
            }
        }
    }
    for (index, method) in methods.iter().enumerate() {
        let rid = Rid::<MethodDef>::new(index as u32 + 1);
        let (before, after) = (old.row(rid).map_err(text)?.rva, new.row(rid).map_err(text)?.rva);
        if method.is_err() {
            if (before == 0) != (after == 0) || (before != 0 && body_at(image, before) != body_at(&new_image, after)) {
                return Err(format!("method {rid:?} was left alone and its body differs"));
            }
            if locals_of(image, old, before) != locals_of(&new_image, &new, after) {
                return Err(format!("method {rid:?} was left alone and its locals differ"));
            }
            continue;
        }
        let cursor = new_image.cursor_at(Rva(after)).map_err(text)?;
        let body = MethodBody::parse(cursor).map_err(text)?;
        body.instructions().try_for_each(|instruction| instruction.map(drop)).map_err(text)?;
    }
    compare_data(image, old, &new_image, &new)
}

/// Returns the signature of a body's locals, by the body's address.
fn locals_of(image: &Image<'_>, metadata: &Metadata<'_>, rva: u32) -> Option<Vec<u8>> {
    let body = MethodBody::parse(image.cursor_at(Rva(rva)).ok()?).ok()?;
    let row = metadata.row(body.local_var_sig.rid_in::<StandAloneSig>()?).ok()?;
    metadata.blob(row.signature).map(<[u8]>::to_vec).ok()
}

/// Checks the size of a file with a new layout. It is at most the input's, minus the original bodies, plus the instrumented ones,
/// plus the growth of metadata and debug directory, plus alignment. Alignment is 512 bytes for the headers and for each of four
/// sections, 3 for a body, 16 for a field.
fn compare_size(
    image: &Image<'_>,
    old: &Metadata<'_>,
    output: &[u8],
    bodies: &[(Rid<MethodDef>, std::ops::Range<usize>)],
) -> Result<(), String> {
    let text = |error: ecma335::Error| error.to_string();
    let new = Image::parse(output).map_err(text)?;
    let mut places: Vec<(u32, usize)> = Vec::new();
    for (rid, _) in bodies {
        let rva = old.row(*rid).map_err(text)?.rva;
        places.push((rva, body_at(image, rva).map_or(0, <[u8]>::len)));
    }
    // A body shared by two methods counts once.
    places.sort_unstable();
    places.dedup();
    let before: usize = places.iter().map(|(_, size)| size).sum();
    let after: usize = bodies.iter().map(|(_, range)| range.len()).sum();
    let debug =
        |image: &Image<'_>| DebugEntry::read_all(image).iter().flatten().map(|entry| entry.data.len() + 28).sum::<usize>();
    let metadata = |image: &Image<'_>| image.cli_header().metadata.size as usize + debug(image);
    let alignment = 5 * 512 + old.tables.count(Table::MethodDef) as usize * 3 + old.tables.count(Table::FieldRva) as usize * 16;
    let limit = image.bytes().len() + after + metadata(&new) + alignment - before - metadata(image);
    if output.len() > limit {
        return Err(format!("{} bytes became {}, and {limit} were to be enough", image.bytes().len(), output.len()));
    }
    Ok(())
}

/// Returns the bytes of a body; `None` if it cannot be read.
fn body_at<'a>(image: &Image<'a>, rva: u32) -> Option<&'a [u8]> {
    let cursor = image.cursor_at(Rva(rva)).ok()?;
    cursor.rest().get(..MethodBody::measure(cursor).ok()?)
}

/// Checks that field data, resources and Win32 resources are unchanged, except for addresses in the last. The headers keep their
/// facts about the program.
fn compare_data(image: &Image<'_>, old: &Metadata<'_>, new_image: &Image<'_>, new: &Metadata<'_>) -> Result<(), String> {
    let rows = |metadata: &Metadata<'_>| metadata.tables.rows().map(|(_, row)| row).collect::<Vec<schema::FieldRva>>();
    for (before, after) in rows(old).into_iter().zip(rows(new)) {
        let size = field_size(old, before.field);
        let data = |image: &Image<'_>, rva: u32| image.bytes_at(Directory { rva: Rva(rva), size }).to_vec();
        if before.rva % 8 != after.rva % 8 || data(image, before.rva) != data(new_image, after.rva) {
            return Err(format!("the data of field {:?} changed, or its alignment", before.field));
        }
    }
    let resources = |image: &Image<'_>| image.bytes_at(image.cli_header().resources).to_vec();
    if resources(image) != resources(new_image) {
        return Err("the resources changed".into());
    }
    let win32 = |image: &Image<'_>| image.bytes_at(image.directory(DirectoryKind::Resource)).to_vec();
    // All addresses move by the same distance as the directory.
    let moved = |image: &Image<'_>| image.directory(DirectoryKind::Resource).rva.0;
    let shift = moved(new_image).wrapping_sub(moved(image));
    let (before, after) = (win32(image), win32(new_image));
    let is_same = |(before, after): (&[u8], &[u8])| {
        let word = |bytes: &[u8]| bytes.u32_at(0).unwrap_or(0);
        before == after || word(after).wrapping_sub(word(before)) == shift
    };
    if before.len() != after.len() || !before.chunks(4).zip(after.chunks(4)).all(is_same) {
        return Err("the Win32 resources changed".into());
    }
    let (flags, new_flags) = (image.cli_header().flags, new_image.cli_header().flags);
    let may_change = cli_flags::STRONG_NAME_SIGNED
        | if image.precompiled().is_some() { cli_flags::IL_ONLY | cli_flags::IL_LIBRARY } else { 0 };
    if flags & !may_change != new_flags & !may_change
        || image.cli_header().entry_point != new_image.cli_header().entry_point
        || image.cli_header().runtime_version() != new_image.cli_header().runtime_version()
        || (image.machine() != new_image.machine() && image.precompiled().is_none())
        || image.is_pe32_plus() != new_image.is_pe32_plus()
        || image.subsystem() != new_image.subsystem()
        || image.image_base() != new_image.image_base()
    {
        return Err("the headers say something else of the program".into());
    }
    if new_image.sections().iter().any(|section| section.name.starts_with(b".ilinst")) {
        compare_native(image, new_image)?;
    }
    Ok(())
}

/// Checks that with the original layout all bytes keep their place, except the CLI header, so that native code finds its data.
fn compare_native(image: &Image<'_>, new: &Image<'_>) -> Result<(), String> {
    let cli = image.cli_header_offset().0 as usize;
    for section in image.sections() {
        let range = |image: &Image<'_>| {
            let start = image.offset_of(section.virtual_address).map_or(usize::MAX, |offset| offset.0 as usize);
            image.bytes().get(start..start.saturating_add(section.raw_size as usize)).map(<[u8]>::to_vec)
        };
        let (Some(before), Some(mut after)) = (range(image), range(new)) else { continue };
        if let Some(at) = cli.checked_sub(section.raw_offset as usize).filter(|at| *at < before.len()) {
            after[at..at + CliHeader::SIZE].copy_from_slice(&before[at..at + CliHeader::SIZE]);
        }
        if before != after {
            return Err(format!("section {} changed", String::from_utf8_lossy(&section.name)));
        }
    }
    let kept = [DirectoryKind::Export, DirectoryKind::Import, DirectoryKind::Tls, DirectoryKind::BaseRelocation];
    let is_kept = |kind: &DirectoryKind| image.directory(*kind) == new.directory(*kind) || image.precompiled().is_some();
    if !kept.iter().all(is_kept)
        || image.entry_point() != new.entry_point()
        || image.cli_header().vtable_fixups != new.cli_header().vtable_fixups
    {
        return Err("native code lost something".into());
    }
    Ok(())
}

/// Returns the size of a field's data, if its type has a row that states it.
fn field_size(metadata: &Metadata<'_>, field: Rid<schema::Field>) -> u32 {
    let signature = metadata.row(field).and_then(|row| Signature::parse(metadata.blobs.blob(row.signature)?));
    let Ok(Signature::Field(TypeSig::Named { token, .. })) = signature else { return 1 };
    let Some(rid) = token.token().and_then(Token::rid_in::<schema::TypeDef>) else { return 1 };
    metadata.tables.rows::<schema::ClassLayout>().find(|(_, row)| row.parent == rid).map_or(1, |(_, row)| row.class_size)
}

#[test]
fn portable_pdbs_can_be_read() {
    for name in ["hello", "orders"] {
        let bytes = fs::read(tests::sample(name).join(format!("{name}.pdb"))).expect("it is committed");
        let pdb = Metadata::parse(ecma335::Cursor::new(&bytes, ecma335::FileOffset(0))).expect("it can be read");
        let documents: Vec<schema::Document> = pdb.tables.rows().map(|(_, row)| row).collect();
        assert!(documents.len() > 1, "{name}");
        let methods: Vec<schema::MethodDebugInformation> = pdb.tables.rows().map(|(_, row)| row).collect();
        assert!(methods.iter().any(|method| pdb.blob(method.sequence_points).is_ok_and(|points| points.len() > 10)), "{name}");
        for (_, scope) in pdb.tables.rows::<schema::LocalScope>() {
            // The method's row is in the assembly, whose row counts are in the #Pdb stream.
            assert!(scope.method.get() as usize <= methods.len() && scope.length > 0, "{name}");
        }
    }
}

/// A runtime-async method declares a task, while its IL returns the task's result.
#[test]
fn the_spill_local_of_a_runtime_async_method_is_what_its_il_returns() {
    let mut bytes = fs::read(tests::sample("shapes").join("shapes.exe")).expect("it is committed");
    let flag_at: Vec<usize> = {
        let image = Image::parse(&bytes).expect("it is an assembly");
        let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
        let rows = metadata.tables.rows::<MethodDef>();
        let asynchronous = rows.filter(|(_, row)| metadata.name(row.name).is_ok_and(|name| name.starts_with("RuntimeAsync")));
        // ImplFlags follow the RVA's four bytes.
        asynchronous.map(|(rid, _)| metadata.tables.offset(rid).0 as usize + 4).collect()
    };
    assert_eq!(flag_at.len(), 2);
    for at in flag_at {
        bytes[at + 1] |= 0x20;
    }
    let image = Image::parse(&bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let tracker = tracker();
    let options = Options { all: true, ..Options::default() };
    let how = Weave { options: &options, ..Weave::new(&tracker) };
    let woven = weave::weave(&image, &metadata, &how).expect("it can be woven");
    let file = woven.file.to_vec();
    let image = Image::parse(&file).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let mut locals = BTreeMap::new();
    for (_, row) in metadata.tables.rows::<MethodDef>() {
        let name = metadata.name(row.name).expect("it has a name");
        let body = MethodBody::parse(image.cursor_at(Rva(row.rva)).expect("it has a body")).expect("it can be read");
        let Some(rid) = body.local_var_sig.rid_in::<schema::StandAloneSig>() else { continue };
        let signature = metadata.row(rid).expect("it is there").signature;
        locals.insert(name, metadata.blob(signature).expect("it is there").to_vec());
    }
    assert_eq!(locals["RuntimeAsync"], [0x07, 2, 0x18, 0x08], "native int, int32");
    assert_eq!(locals["RuntimeAsyncNothing"], [0x07, 1, 0x18], "native int");
}

/// Looks up the enumerations of one module.
struct Enumerations<'a, 'm>(&'m Metadata<'a>);

impl AttributeTypes for Enumerations<'_, '_> {
    fn enum_of(&self, token: schema::TypeDefOrRef) -> Option<ElementType> {
        let row: schema::TypeDef = self.0.row(token.token()?.rid_in()?).ok()?;
        let field: schema::Field = self.0.row(row.field_list).ok()?;
        match Signature::parse(self.0.blobs.blob(field.signature).ok()?).ok()? {
            Signature::Field(TypeSig::Element(element)) => Some(element),
            _ => None,
        }
    }
    fn enum_named(&self, _: &str) -> Option<ElementType> {
        None
    }
    fn is_system_type(&self, token: schema::TypeDefOrRef) -> bool {
        let name = match token.token() {
            Some(token) => token.rid_in().map(|rid| self.0.type_ref_name(rid).unwrap_or_default()),
            None => None,
        };
        name.is_none_or(|name| name == "System.Type")
    }
}

/// Every signature and attribute of the corpus is read and written back to the same bytes.
#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn signatures_and_attributes_round_trip() {
    let files = corpus();
    if files.is_empty() {
        return;
    }
    let (mut signatures, mut attributes, mut unknown, mut other) = (0, 0, 0, Vec::new());
    for file in files.iter().step_by(3) {
        let bytes = fs::read(file).expect("it can be read");
        let Ok(image) = Image::parse(&bytes) else { continue };
        let Ok(metadata) = image.metadata().and_then(Metadata::parse) else { continue };
        let blobs = (metadata.tables.rows::<MethodDef>().map(|(_, row)| row.signature))
            .chain(metadata.tables.rows::<schema::MemberRef>().map(|(_, row)| row.signature))
            .chain(metadata.tables.rows::<schema::Field>().map(|(_, row)| row.signature))
            .chain(metadata.tables.rows::<schema::Property>().map(|(_, row)| row.signature))
            .chain(metadata.tables.rows::<schema::StandAloneSig>().map(|(_, row)| row.signature))
            .chain(metadata.tables.rows::<schema::MethodSpec>().map(|(_, row)| row.instantiation));
        for blob in blobs {
            let blob = metadata.blobs.blob(blob).expect("it is there");
            let signature = Signature::parse(blob).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let mut written = Vec::new();
            signature.write(&mut written);
            assert_eq!(written, blob.rest(), "{}: {signature:?}", file.display());
            signatures += 1;
        }
        for (_, row) in metadata.tables.rows::<schema::TypeSpec>() {
            let blob = metadata.blobs.blob(row.signature).expect("it is there");
            let mut written = Vec::new();
            TypeSig::parse(blob).unwrap_or_else(|error| panic!("{}: {error}", file.display())).write(&mut written);
            assert_eq!(written, blob.rest(), "{}", file.display());
        }
        for (_, row) in metadata.tables.rows::<schema::CustomAttribute>() {
            let Some(constructor) = row.constructor.token() else { continue };
            let signature = match (constructor.rid_in::<MethodDef>(), constructor.rid_in::<schema::MemberRef>()) {
                (Some(rid), _) => metadata.row(rid).expect("it is there").signature,
                (_, Some(rid)) => metadata.row(rid).expect("it is there").signature,
                _ => continue,
            };
            let Ok(Signature::Method(constructor)) = Signature::parse(metadata.blobs.blob(signature).expect("it is there"))
            else {
                continue;
            };
            let blob = metadata.blobs.blob(row.value).expect("it is there");
            // An attribute without arguments may lack a value.
            if blob.is_empty() {
                continue;
            }
            match AttributeValue::parse(blob, &constructor, &Enumerations(&metadata)) {
                Ok(value) => {
                    let mut written = Vec::new();
                    value.write(&mut written);
                    if written == blob.rest() {
                        attributes += 1;
                    } else {
                        other.push(format!("{}: {value}: {:?}", file.display(), blob.rest()));
                    }
                }
                Err(error) if matches!(error.kind(), ecma335::ErrorKind::Unsupported(_)) => unknown += 1,
                Err(error) => other.push(format!("{}: {error}", file.display())),
            }
        }
    }
    println!("{signatures} signatures, {attributes} attributes; {unknown} attributes with an enumeration of another assembly");
    assert!(other.is_empty(), "{} others, the first: {:?}", other.len(), other.first());
}

fn tracker() -> Tracker {
    Tracker::read(&fs::read(root().join("tracker-runtime/bin/Ilinst.Tracker.dll")).expect("it is committed"))
        .expect("it is an assembly")
}

#[test]
#[ignore = "needs the .NET SDK"]
fn the_output_depends_on_nothing_but_input_and_options() {
    let Some(sdk) = require("ILINST_SDK") else { return };
    let bytes = fs::read(sdk.join("Roslyn/bincore/Microsoft.CodeAnalysis.dll")).expect("it is there");
    let image = Image::parse(&bytes).expect("it is an assembly");
    let metadata = Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read");
    let tracker = tracker();
    let weave_with = |threads: usize, selection: &Selection| {
        let options = Options { selection: selection.clone(), all: true, ..Options::default() };
        let how = Weave { options: &options, ..Weave::new(&tracker) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be made");
        pool.install(|| weave::weave(&image, &metadata, &how)).expect("it can be woven").file.to_vec()
    };
    let once = weave_with(1, &Selection::default());
    for threads in [1, 2, 7] {
        assert!(weave_with(threads, &Selection::default()) == once, "{threads} threads make another file");
    }
    let nothing = Selection { include: vec!["No.Such.Type".parse().expect("a pattern")], exclude: Vec::new() };
    assert!(weave_with(2, &nothing) == bytes, "a pattern that matches nothing changes nothing");
}
