//! Portable PDBs: metadata with tables of their own (schema.rs), and blobs for sequence points and imports.
//! `pdb_stream.rs` holds the stream that links a PDB to an image.

use crate::{
    cursor::{COMPRESSED_MAX, COMPRESSED_SIGNED, Cursor, put_compressed_i32, put_compressed_u32},
    error::{Error, ErrorKind, Result, malformed},
    metadata::Metadata,
    pdb_stream::{self, PdbId},
    schema::{AssemblyRef, Blob, Document, ImportScope, MethodDef, TypeDefOrRef},
    token::{FileOffset, Rid},
};

/// Replaces the id of a written PDB in place.
///
/// # Errors
/// If it cannot be read, or is no PDB.
pub fn set_id(pdb: &mut [u8], id: PdbId) -> Result<()> {
    let root = Cursor::new(pdb, FileOffset(0));
    let stream = Metadata::parse(root)?.streams.iter().find(|stream| stream.name == pdb_stream::NAME).map(|stream| stream.offset);
    let place = stream.and_then(|at| pdb.get_mut(at.0 as usize..)?.get_mut(..PdbId::SIZE));
    place.map(|place| place.copy_from_slice(&id.0)).ok_or_else(|| Error::new(ErrorKind::Unsupported("metadata that is no PDB")))
}

/// The source position of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequencePoint {
    /// The IL offset.
    pub offset: u32,
    /// The source file.
    pub document: Rid<Document>,
    /// The range in the source file. None for hidden points, which a debugger skips.
    pub span: Option<Span>,
}

/// A range in a source file. The end is after its last character. Lines and columns count from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The line and column of its start.
    pub start: (u32, u32),
    /// The line and column of its end.
    pub end: (u32, u32),
}

/// The sequence points of a method, and the StandAloneSig row of its locals.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SequencePoints {
    /// The row of the locals' signature; 0 for none.
    pub local_signature: u32,
    /// The points, in ascending order of their offsets.
    pub points: Vec<SequencePoint>,
}

impl SequencePoints {
    /// Reads a blob. `document` is the method's document, which the blob omits. None if the points have several
    /// documents.
    pub fn parse(mut blob: Cursor<'_>, document: Rid<Document>) -> Result<Self> {
        if blob.is_empty() {
            return Ok(Self::default());
        }
        let local_signature = blob.compressed_u32()?;
        let mut document = if document.is_none() { Rid::new(blob.compressed_u32()?) } else { document };
        let mut points: Vec<SequencePoint> = Vec::new();
        let mut last_start: Option<(u32, u32)> = None;
        while !blob.is_empty() {
            let at = blob.offset();
            let delta = blob.compressed_u32()?;
            let offset = match points.last() {
                None => delta,
                Some(_) if delta == 0 => {
                    document = Rid::new(blob.compressed_u32()?);
                    continue;
                }
                Some(last) => last.offset.saturating_add(delta),
            };
            let lines = blob.compressed_u32()?;
            let columns = if lines == 0 { blob.compressed_u32()?.cast_signed() } else { blob.compressed_i32()? };
            let span = if lines == 0 && columns == 0 {
                None
            } else {
                let start = match last_start {
                    None => (blob.compressed_u32()?, blob.compressed_u32()?),
                    Some((line, column)) => {
                        (line.wrapping_add_signed(blob.compressed_i32()?), column.wrapping_add_signed(blob.compressed_i32()?))
                    }
                };
                last_start = Some(start);
                let Some(end_line) = start.0.checked_add(lines) else { return malformed(at, "a line beyond 2^32") };
                Some(Span { start, end: (end_line, start.1.wrapping_add_signed(columns)) })
            };
            points.push(SequencePoint { offset, document, span });
        }
        Ok(Self { local_signature, points })
    }

    /// Appends the points as a blob. `document` has the same meaning as in [`parse`](Self::parse).
    ///
    /// # Errors
    /// If a number exceeds a compressed integer (II.23.2): an offset, line or column of 2^29, or a line or column
    /// 2^28 from the preceding one.
    pub fn write(&self, document: Rid<Document>, out: &mut Vec<u8>) -> Result<()> {
        put_unsigned(out, self.local_signature)?;
        self.write_points(document, out)
    }

    /// Appends the part of the blob after the locals' signature.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_points(&self, document: Rid<Document>, out: &mut Vec<u8>) -> Result<()> {
        let mut current = document;
        if document.is_none() {
            current = self.points.first().map_or(document, |point| point.document);
            put_unsigned(out, current.get())?;
        }
        let mut last_start: Option<(u32, u32)> = None;
        let mut last_offset = None;
        for point in &self.points {
            if point.document != current && point.span.is_some() {
                // Only after the first point, a record of zero can mean another document.
                if last_offset.is_none() {
                    continue;
                }
                out.push(0);
                put_unsigned(out, point.document.get())?;
                current = point.document;
            }
            put_unsigned(out, point.offset.wrapping_sub(last_offset.unwrap_or(0)))?;
            last_offset = Some(point.offset);
            let Some(Span { start, end }) = point.span else {
                out.extend_from_slice(&[0, 0]);
                continue;
            };
            let lines = end.0.wrapping_sub(start.0);
            let columns = end.1.wrapping_sub(start.1).cast_signed();
            put_unsigned(out, lines)?;
            if lines == 0 {
                put_unsigned(out, columns.cast_unsigned())?;
            } else {
                put_signed(out, columns)?;
            }
            match last_start {
                None => {
                    put_unsigned(out, start.0)?;
                    put_unsigned(out, start.1)?;
                }
                Some((line, column)) => {
                    put_signed(out, start.0.wrapping_sub(line).cast_signed())?;
                    put_signed(out, start.1.wrapping_sub(column).cast_signed())?;
                }
            }
            last_start = Some(start);
        }
        Ok(())
    }
}

fn put_unsigned(out: &mut Vec<u8>, value: u32) -> Result<()> {
    if value > COMPRESSED_MAX {
        return Err(Error::new(ErrorKind::Limit("2^29 in a sequence point")));
    }
    put_compressed_u32(out, value);
    Ok(())
}

fn put_signed(out: &mut Vec<u8>, value: i32) -> Result<()> {
    if !COMPRESSED_SIGNED.contains(&value) {
        return Err(Error::new(ErrorKind::Limit("2^28 between sequence points")));
    }
    put_compressed_i32(out, value);
    Ok(())
}

/// The maximum length of a text assembled from parts, in bytes: longer than any path.
const MAX_TEXT: usize = 1 << 16;
/// The maximum total length of imported names, per byte of the imports blob.
const MAX_TEXT_PER_BYTE: usize = 256;

/// A document's name: a separator, then the parts to join with it, each a blob of its own.
///
/// # Errors
/// If a blob lies outside of the heap or is truncated, or the name gets longer than any path.
pub fn document_name(metadata: &Metadata<'_>, document: &Document) -> Result<String> {
    let mut cursor = metadata.blobs.blob(document.name)?;
    let separator = cursor.u8()?;
    let mut name = Vec::new();
    let mut is_first = true;
    while !cursor.is_empty() {
        // Zero means no separator.
        if !is_first && separator != 0 {
            name.push(separator);
        }
        is_first = false;
        let at = cursor.offset();
        name.extend_from_slice(metadata.blob(Blob(cursor.compressed_u32()?))?);
        // Documents can share parts, and one can repeat a part, so a small file can describe a long name.
        if name.len() > MAX_TEXT {
            return malformed(at, "a document's name of more than 64 KiB");
        }
    }
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// An import of an ImportScope, from a `using` or `Imports` directive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The alias in that scope, if any.
    pub alias: Option<String>,
    /// The assembly that contains the imported names.
    pub assembly: Option<Rid<AssemblyRef>>,
    /// The imported namespace or type. None for an assembly alias.
    pub target: Option<ImportTarget>,
}

/// The target of an import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImportTarget {
    /// A namespace.
    Namespace(String),
    /// A type.
    Type(TypeDefOrRef),
    /// An XML namespace.
    Xml(String),
}

/// The imports of a scope.
///
/// # Errors
/// If the blob is truncated, has an import of unknown kind, or its names are far longer than itself.
pub fn imports(metadata: &Metadata<'_>, scope: &ImportScope) -> Result<Vec<Import>> {
    let mut cursor = metadata.blobs.blob(scope.imports)?;
    let mut imports = Vec::new();
    let mut left = MAX_TEXT + MAX_TEXT_PER_BYTE * cursor.rest().len();
    while !cursor.is_empty() {
        let at = cursor.offset();
        let kind = cursor.u8()?;
        let mut text = |cursor: &mut Cursor<'_>| -> Result<String> {
            let text = metadata.blob(Blob(cursor.compressed_u32()?))?;
            left = match left.checked_sub(text.len()) {
                Some(left) => left,
                None => return malformed(at, "imports with the same long name again and again"),
            };
            Ok(String::from_utf8_lossy(text).into_owned())
        };
        let alias = if matches!(kind, 4..=9) { Some(text(&mut cursor)?) } else { None };
        let assembly = if matches!(kind, 2 | 6 | 8) { Some(Rid::new(cursor.compressed_u32()?)) } else { None };
        let target = match kind {
            1 | 2 | 7 | 8 => Some(ImportTarget::Namespace(text(&mut cursor)?)),
            3 | 9 => Some(ImportTarget::Type(TypeDefOrRef(cursor.compressed_u32()?))),
            4 => Some(ImportTarget::Xml(text(&mut cursor)?)),
            5 | 6 => None,
            _ => return malformed(at, "an import of no known kind"),
        };
        imports.push(Import { alias, assembly, target });
    }
    Ok(imports)
}

/// Visits the blobs that imports refer to: aliases and namespaces.
pub(crate) fn names_of_imports(mut imports: Cursor<'_>, mut visit: impl FnMut(Blob)) -> Result<()> {
    while !imports.is_empty() {
        let at = imports.offset();
        let kind = imports.u8()?;
        if !(1..=9).contains(&kind) {
            return malformed(at, "an import of no known kind");
        }
        if matches!(kind, 4..=9) {
            visit(Blob(imports.compressed_u32()?));
        }
        if matches!(kind, 2 | 6 | 8) {
            imports.compressed_u32()?;
        }
        match kind {
            1 | 2 | 4 | 7 | 8 => visit(Blob(imports.compressed_u32()?)),
            3 | 9 => drop(imports.compressed_u32()?),
            _ => {}
        }
    }
    Ok(())
}

/// The suspension and resumption points of an async method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsyncStepping {
    /// The offset of the handler for otherwise unhandled exceptions.
    pub catch_handler: Option<u32>,
    /// For each await: its yield offset, its resume offset, and the method that resumes.
    pub awaits: Vec<(u32, u32, Rid<MethodDef>)>,
}

impl AsyncStepping {
    /// Reads the value of a CustomDebugInformation row.
    ///
    /// # Errors
    /// If it is truncated.
    pub fn parse(mut value: Cursor<'_>) -> Result<Self> {
        let catch_handler = value.u32()?.checked_sub(1);
        let mut awaits = Vec::new();
        while !value.is_empty() {
            awaits.push((value.u32()?, value.u32()?, Rid::new(value.compressed_u32()?)));
        }
        Ok(Self { catch_handler, awaits })
    }
}

/// The scopes of a state machine's hoisted locals: start and length, by the slot number in their names.
///
/// # Errors
/// If the value is truncated.
pub fn hoisted_local_scopes(mut value: Cursor<'_>) -> Result<Vec<(u32, u32)>> {
    let mut scopes = Vec::new();
    while !value.is_empty() {
        scopes.push((value.u32()?, value.u32()?));
    }
    Ok(scopes)
}

/// Kinds of CustomDebugInformation.
pub mod custom_debug_information {
    macro_rules! kinds {
        ($($(#[$doc:meta])* $name:ident = $a:literal $b:literal $c:literal $d:literal $text:literal)*) => {
            $($(#[$doc])* pub const $name: [u8; 16] = guid($a, $b, $c, $d);)*

            /// The description of a kind, if it is known.
            pub fn name(kind: [u8; 16]) -> Option<&'static str> {
                match kind { $($name => Some($text),)* _ => None }
            }
        };
    }
    kinds! {
        /// Pairs of u32: start and length of the scopes of a state machine's hoisted locals.
        STATE_MACHINE_HOISTED_LOCAL_SCOPES = 0x6DA9_A61E 0xF8C7 0x4874 0xBE62_68BC_5630_DF71 "hoisted local scopes"
        /// A u32: the offset of the catch handler plus one, or 0. Then for each await: its yield offset as u32, its
        /// resume offset as u32, and the resuming method as a compressed number.
        ASYNC_METHOD_STEPPING = 0x54FD_2AC5 0xE925 0x401A 0x9C2A_F94F_1710_72F8 "async stepping"
        /// A bit for each type in a local's signature: whether it is `dynamic`.
        DYNAMIC_LOCAL_VARIABLES = 0x83C5_63C4 0xB4F3 0x47D5 0xB824_BA54_4147_7EA8 "dynamic types"
        /// The names of a tuple's elements, each zero-terminated.
        TUPLE_ELEMENT_NAMES = 0xED9F_DF71 0x8879 0x4747 0x8ED3_FE5E_DE3C_E710 "tuple element names"
        /// Visual Basic's default namespace.
        DEFAULT_NAMESPACE = 0x58B2_EAB6 0x209F 0x4E4E 0xA22C_B2D0_F910_C782 "default namespace"
        /// The syntax offsets of locals, for edit and continue.
        ENC_LOCAL_SLOT_MAP = 0x755F_52A8 0x91C5 0x45BE 0xB4B8_2095_71E5_52BD "local slots for edit and continue"
        /// The syntax offsets of lambdas, for edit and continue.
        ENC_LAMBDA_MAP = 0xA643_004C 0x0240 0x496F 0xA783_30D6_4F49_79DE "lambdas for edit and continue"
        /// The syntax offsets of states, for edit and continue.
        ENC_STATE_MAP = 0x8B78_CD68 0x2EDE 0x420B 0x980B_E158_84B8_AAA3 "states for edit and continue"
        /// The source text of a document.
        EMBEDDED_SOURCE = 0x0E8A_571B 0x6926 0x466E 0xB4AD_8AB0_4611_F5FE "embedded source"
        /// The URLs to fetch documents from, as JSON.
        SOURCE_LINK = 0xCC11_0556 0xA091 0x4D38 0x9FEC_25AB_9A35_1A6A "Source Link"
        /// The documents of a type without code, as compressed row numbers.
        TYPE_DEFINITION_DOCUMENTS = 0x932E_74BC 0xDBA9 0x4478 0x8D46_0F32_A7BA_B3D3 "documents"
        /// The compiler's options: names and values, each zero-terminated.
        COMPILATION_OPTIONS = 0xB5FE_EC05 0x8CD0 0x4A83 0x96DA_4662_84BB_4BD8 "compilation options"
        /// The assemblies that the compiler referenced.
        COMPILATION_METADATA_REFERENCES = 0x7E4D_4708 0x096E 0x4C5C 0xAEDA_CB10_BA6A_740D "compilation references"
        /// Marks a primary constructor.
        PRIMARY_CONSTRUCTOR = 0x9D40_ACE1 0xC703 0x4D0E 0xBF41_7243_060A_8FB5 "primary constructor"
    }

    const fn guid(a: u32, b: u16, c: u16, d: u64) -> [u8; 16] {
        let ([a0, a1, a2, a3], [b0, b1], [c0, c1]) = (a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes());
        let [d0, d1, d2, d3, d4, d5, d6, d7] = d.to_be_bytes();
        [a0, a1, a2, a3, b0, b1, c0, c1, d0, d1, d2, d3, d4, d5, d6, d7]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::FileOffset;

    #[test]
    fn offsets_of_state_machines_are_read() {
        let cursor = |bytes: &'static [u8]| Cursor::new(bytes, FileOffset(0));
        let stepping = AsyncStepping::parse(cursor(&[8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5]));
        assert_eq!(stepping, Ok(AsyncStepping { catch_handler: Some(7), awaits: vec![(1, 2, Rid::new(5))] }));
        assert_eq!(AsyncStepping::parse(cursor(&[0; 4])), Ok(AsyncStepping { catch_handler: None, awaits: Vec::new() }));
        assert!(AsyncStepping::parse(cursor(&[0; 6])).is_err());
        assert_eq!(hoisted_local_scopes(cursor(&[3, 0, 0, 0, 4, 0, 0, 0])), Ok(vec![(3, 4)]));
        assert!(hoisted_local_scopes(cursor(&[3, 0, 0, 0, 4])).is_err());
    }

    #[test]
    fn what_a_compressed_integer_does_not_hold_is_not_cut() {
        let point = |offset, start| SequencePoint {
            offset,
            document: Rid::new(1),
            span: Some(Span { start, end: (start.0, start.1 + 1) }),
        };
        let (near, far) = ((1, 1 << 28), (1, 1 << 29));
        for (points, is_written) in [
            (vec![point(0, near)], true),
            (vec![point(0, far)], false),
            (vec![point(0, (far.1, 1))], false),
            (vec![point(0, (1, 1)), point(1, (1, 1 << 28))], true),
            (vec![point(0, (1, 0)), point(1, (1, 1 << 28))], false),
            (vec![point(0, near), point(1 << 29, near)], false),
        ] {
            let points = SequencePoints { local_signature: 0, points };
            let mut blob = Vec::new();
            let written = points.write(Rid::new(1), &mut blob);
            assert_eq!(written.is_ok(), is_written, "{points:?}");
            if is_written {
                assert_eq!(SequencePoints::parse(Cursor::new(&blob, FileOffset(0)), Rid::new(1)), Ok(points));
            }
        }
    }

    #[test]
    fn sequence_points_round_trip() {
        let span = |start, end| Some(Span { start, end });
        let point = |offset, document, span| SequencePoint { offset, document: Rid::new(document), span };
        let points = vec![
            point(0, 1, None),
            point(4, 1, span((10, 9), (10, 30))),
            point(20, 1, span((8, 5), (9, 2))),
            point(21, 2, span((200, 1), (200, 2))),
            point(300, 2, None),
            point(301, 1, span((11, 5), (11, 6))),
        ];
        let all = SequencePoints { local_signature: 0x1234, points };
        let one_document = SequencePoints { local_signature: 0, points: all.points[..3].to_vec() };
        for (points, document) in [(all, Rid::NONE), (one_document, Rid::new(1))] {
            let mut blob = Vec::new();
            points.write(document, &mut blob).unwrap();
            assert_eq!(SequencePoints::parse(Cursor::new(&blob, FileOffset(0)), document), Ok(points));
        }
    }
}
