//! Changes to the bytes of a file that no compiler and no assembler makes.

use ecma335::{
    Image, ImageWriter, Metadata, MetadataBuilder, Rid, Rva, Segments, Table, Token,
    schema::{EncLog, EncMap, FieldPtr, MethodDef, MethodPtr, NestedClass, ParamPtr},
};
use little_endian::{ByteOrder, LE, NumbersAt, PutNumbers};

/// Applies a `patch` line of a recipe to a file.
pub(crate) fn patch(what: &str, words: &[&str], bytes: &mut Vec<u8>) -> Result<(), String> {
    match (what, words) {
        ("stream", [stream, name]) => rename_stream(bytes, stream, name),
        ("without", [stream]) => without(bytes, stream),
        ("share", [method, with]) => {
            let rva = method_at(bytes, with)?.rva;
            set_rva(bytes, method, rva)
        }
        ("inside", [method, outer, first]) => inside(bytes, method, outer, first),
        ("rename", [method, like]) => rename(bytes, method, like),
        ("name", [name, hex]) => rewrite(bytes, name, hex),
        ("nest-in-itself", []) => nest_in_itself(bytes),
        ("order", []) => {
            let (root, mut headers) = streams(bytes)?;
            headers.reverse();
            set_streams(bytes, root, &headers);
            Ok(())
        }
        ("component", []) => component(bytes),
        ("certify", []) => certify(bytes),
        ("pointers", []) => rewrite_metadata(bytes, |_| (), add_pointers),
        ("log", []) => rewrite_metadata(bytes, |_| (), add_log),
        ("extra", []) => rewrite_metadata(bytes, announce_extra, |_| Ok(())),
        ("append", [count]) => {
            let count: usize = count.parse().map_err(|_| "a number is needed")?;
            bytes.resize(bytes.len() + count, b'!');
            Ok(())
        }
        _ => Err("no such patch".into()),
    }
}

/// Moves changed metadata into a section of its own.
fn rewrite_metadata(
    bytes: &mut Vec<u8>,
    change: impl FnOnce(&mut Metadata<'_>),
    add: impl FnOnce(&mut MetadataBuilder<'_, '_>) -> Result<(), ecma335::Error>,
) -> Result<(), String> {
    let text = |error: ecma335::Error| error.to_string();
    let image = Image::parse(bytes).map_err(text)?;
    let mut metadata = Metadata::parse(image.metadata().map_err(text)?).map_err(text)?;
    change(&mut metadata);
    let mut builder = MetadataBuilder::new(&metadata);
    add(&mut builder).map_err(text)?;
    let writer = ImageWriter::new(&image, &metadata, true);
    let file = writer.finish(Segments::default(), builder).map_err(text)?.into_segments().to_vec();
    *bytes = file;
    Ok(())
}

/// Appends an Authenticode certificate to the image: its entry in the optional header has a file offset.
fn certify(bytes: &mut Vec<u8>) -> Result<(), String> {
    const CERTIFICATE: usize = 4;
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let start = bytes.len() as u32;
    bytes.extend_from_slice(&[24, 0, 0, 0, 0, 2, 2, 0]);
    bytes.extend_from_slice(b"a PKCS #7 blob..");
    let at = directory_at(bytes, CERTIFICATE)?;
    LE::write_u32(&mut bytes[at..], start);
    LE::write_u32(&mut bytes[at + 4..], 24);
    Ok(())
}

/// Returns the offset of a data directory in the optional header (II.25.2.3.3).
fn directory_at(bytes: &[u8], number: usize) -> Result<usize, String> {
    let optional = bytes.u32_at(0x3C).map(|at| at as usize + 24);
    let optional = optional.filter(|at| at + 112 + number * 8 + 8 <= bytes.len()).ok_or("no optional header")?;
    Ok(optional + number * 8 + if bytes[optional..].starts_with(&[0x0B, 0x02]) { 112 } else { 96 })
}

/// Marks a ReadyToRun image as a component of a composite image, which has its code. The flag follows signature and version.
fn component(bytes: &mut [u8]) -> Result<(), String> {
    const COMPONENT: u8 = 0x20;
    let image = Image::parse(bytes).map_err(|error| error.to_string())?;
    let header = image.offset_of(image.cli_header().managed_native_header.rva).map_err(|error| error.to_string())?.0 as usize;
    if bytes.get(header..header + 4) != Some(b"RTR\0") {
        return Err("it is no ReadyToRun image".into());
    }
    bytes[header + 8] |= COMPONENT;
    Ok(())
}

/// Adds a pointer table row for each member, as edit-and-continue does.
fn add_pointers(builder: &mut MetadataBuilder<'_, '_>) -> Result<(), ecma335::Error> {
    let counts = builder.counts();
    for rid in 1..=counts[Table::Field as usize] {
        builder.add(&FieldPtr { field: Rid::new(rid) })?;
    }
    for rid in 1..=counts[Table::MethodDef as usize] {
        builder.add(&MethodPtr { method: Rid::new(rid) })?;
    }
    for rid in 1..=counts[Table::Param as usize] {
        builder.add(&ParamPtr { param: Rid::new(rid) })?;
    }
    Ok(())
}

/// Adds the rows by which edit-and-continue records its changes.
fn add_log(builder: &mut MetadataBuilder<'_, '_>) -> Result<(), ecma335::Error> {
    let token = Token::new(Table::MethodDef, 1).0;
    builder.add(&EncLog { token, function: 0 })?;
    builder.add(&EncMap { token })?;
    Ok(())
}

/// Adds four bytes behind the row counts, which a flag announces.
fn announce_extra(metadata: &mut Metadata<'_>) {
    metadata.tables.extra = Some(0x1234_5678);
    metadata.tables.heap_sizes |= 0x40;
}

/// A method, with its name and the offset of its row in the file.
struct Found {
    rva: u32,
    row: usize,
    wide_strings: bool,
}

fn method_at(bytes: &[u8], name: &str) -> Result<Found, String> {
    let text = |error: ecma335::Error| error.to_string();
    let image = Image::parse(bytes).map_err(text)?;
    let metadata = Metadata::parse(image.metadata().map_err(text)?).map_err(text)?;
    let has_name = |row: &MethodDef| metadata.name(row.name).is_ok_and(|found| found == name);
    let mut rows = metadata.tables.rows::<MethodDef>();
    let (rid, row): (Rid<MethodDef>, MethodDef) = rows.find(|(_, row)| has_name(row)).ok_or(format!("no method {name}"))?;
    let wide_strings = metadata.strings.bytes.len() > 0xFFFF;
    Ok(Found { rva: row.rva, row: metadata.tables.offset(rid).0 as usize, wide_strings })
}

/// Sets a method's RVA, the first cell of its MethodDef row (II.22.26).
fn set_rva(bytes: &mut [u8], method: &str, rva: u32) -> Result<(), String> {
    let row = method_at(bytes, method)?.row;
    LE::write_u32(&mut bytes[row..], rva);
    Ok(())
}

/// Moves a method's RVA into the body of another method, to the first byte with a value.
fn inside(bytes: &mut [u8], method: &str, outer: &str, first: &str) -> Result<(), String> {
    let first = u8::from_str_radix(first, 16).map_err(|_| "a hexadecimal byte is needed")?;
    let rva = method_at(bytes, outer)?.rva;
    let image = Image::parse(bytes).map_err(|error| error.to_string())?;
    let offset = image.offset_of(Rva(rva)).map_err(|error| error.to_string())?.0 as usize;
    // The byte of the header is excluded.
    let place = bytes[offset + 1..].iter().position(|byte| *byte == first).ok_or("no such byte")? as u32 + 1;
    set_rva(bytes, method, rva + place)
}

/// Gives a method the name of another. The name follows the RVA and two flags of two bytes each.
fn rename(bytes: &mut [u8], method: &str, like: &str) -> Result<(), String> {
    let (method, like) = (method_at(bytes, method)?, method_at(bytes, like)?);
    let name = like.row + 8..like.row + if like.wide_strings { 12 } else { 10 };
    bytes.copy_within(name, method.row + 8);
    Ok(())
}

/// Replaces a name by other bytes of the same number.
fn rewrite(bytes: &mut [u8], name: &str, hex: &str) -> Result<(), String> {
    let digits = hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16));
    let new: Vec<u8> = digits.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let old = format!("{name}\0").into_bytes();
    let at = bytes.windows(old.len()).position(|window| window == old).ok_or(format!("no name {name}"))?;
    bytes[at..at + name.len()].copy_from_slice(&new);
    Ok(())
}

/// Nests a type in itself. A NestedClass row (II.22.32) has two row numbers; the first becomes the second.
fn nest_in_itself(bytes: &mut [u8]) -> Result<(), String> {
    let text = |error: ecma335::Error| error.to_string();
    let image = Image::parse(bytes).map_err(text)?;
    let metadata = Metadata::parse(image.metadata().map_err(text)?).map_err(text)?;
    let row = metadata.tables.offset(Rid::<NestedClass>::new(1)).0 as usize;
    bytes.copy_within(row..row + 2, row + 2);
    Ok(())
}

/// The header of a stream: offset, size and name.
type Header = (u32, u32, Vec<u8>);

/// Returns the offset of the metadata in the file, and the headers of its streams.
fn streams(bytes: &[u8]) -> Result<(usize, Vec<Header>), String> {
    let text = |error: ecma335::Error| error.to_string();
    let image = Image::parse(bytes).map_err(text)?;
    let metadata = Metadata::parse(image.metadata().map_err(text)?).map_err(text)?;
    let root = metadata.root.offset().0;
    let streams = metadata.streams.iter();
    let headers = streams.map(|stream| (stream.offset.0 as u32 - root as u32, stream.bytes.len() as u32, stream.name.to_vec()));
    Ok((root as usize, headers.collect()))
}

/// Rewrites the headers of streams (II.24.2.1), which follow the version's text, two bytes of flags and their count.
fn set_streams(bytes: &mut [u8], root: usize, headers: &[Header]) {
    let version = LE::read_u32(&bytes[root + 12..]) as usize;
    let mut place = root + 16 + version + 2;
    let mut written = Vec::new();
    written.put_u16(headers.len() as u16);
    for (offset, size, name) in headers {
        written.put_u32(*offset);
        written.put_u32(*size);
        written.extend(name);
        written.resize(written.len() + 4 - name.len() % 4, 0);
    }
    for byte in written {
        bytes[place] = byte;
        place += 1;
    }
}

fn rename_stream(bytes: &mut [u8], stream: &str, to: &str) -> Result<(), String> {
    let (root, mut headers) = streams(bytes)?;
    let header = headers.iter_mut().find(|(_, _, name)| name == stream.as_bytes()).ok_or(format!("there is no {stream}"))?;
    header.2 = to.into();
    set_streams(bytes, root, &headers);
    Ok(())
}

fn without(bytes: &mut [u8], stream: &str) -> Result<(), String> {
    let (root, mut headers) = streams(bytes)?;
    let before = headers.len();
    headers.retain(|(_, _, name)| name != stream.as_bytes());
    if headers.len() == before {
        return Err(format!("there is no {stream}"));
    }
    set_streams(bytes, root, &headers);
    Ok(())
}
