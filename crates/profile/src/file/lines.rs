//! Counters of sequence points, each chunk with the table of their places in the source.

use std::io::{self, Write};

use names::{CountedPoint, LineDocument, LineTable, TableMethod};
use profile_format::{ChunkKind, chunk, header::BLOCK, lines as layout};

use super::{
    chunks::{Chunk, write_chunk},
    cursor::{put_u32, u64_at},
    header::is_packed,
    packing::{END, pack},
};
use crate::{
    error::Error,
    lines::{LineMethod, Point, SourceFile, SourceHash, of_table},
};

/// Returns the source files of a chunk. A chunk that its program has not filled yet has none.
pub(super) fn lines(chunk: &Chunk<'_>) -> Result<Vec<SourceFile>, Error> {
    if chunk.used()? <= chunk::HEADER {
        return Ok(Vec::new());
    }
    let mut reader = chunk.reader_at(layout::COUNTERS_AT);
    let (count, table_size) = (reader.u32()? as usize, reader.u32()? as usize);
    let mut content = chunk.reader_at(chunk::HEADER);
    let counters = content.take(count.saturating_mul(layout::COUNTER))?;
    let offset = content.offset();
    let damaged = |what| Error::Damaged { what, offset };
    let table = LineTable::read(content.take(table_size)?).map_err(|_| damaged("a table of lines that cannot be read"))?;
    let count_of = |counter: u32| {
        let is_there = (counter as usize) < count;
        is_there.then(|| u64_at(counters, counter as usize * layout::COUNTER))
    };
    of_table(table, count_of).ok_or_else(|| damaged("a line whose counter or file is not there"))
}

/// Returns the bytes that add source files to a profile, and the place in its file where they belong: at its end. `None` for a
/// profile that is cut off.
///
/// # Errors
/// If the header is missing, or states an unknown version.
pub fn added_lines(profile: &[u8], files: &[SourceFile]) -> Result<Option<(usize, Vec<u8>)>, Error> {
    let mut chunk = Vec::new();
    // Memory takes all.
    let _ = write_lines(&mut chunk, files);
    if !is_packed(profile)? {
        return Ok(profile.len().is_multiple_of(BLOCK).then_some((profile.len(), chunk)));
    }
    Ok(profile.strip_suffix(&END).map(|packed| (packed.len(), pack(&chunk))))
}

/// Writes the source files of a merged profile, if there are any.
pub(crate) fn write_lines(out: &mut impl Write, files: &[SourceFile]) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let mut counters: Vec<u8> = Vec::new();
    let mut methods = Vec::new();
    for (document, file) in files.iter().enumerate() {
        for LineMethod { assembly, type_name, name, points } in &file.methods {
            let point = |point: &Point| {
                let Point { start_line, start_column, end_line, end_column, count } = *point;
                let counter = (counters.len() / layout::COUNTER) as u32;
                counters.extend(count.to_le_bytes());
                CountedPoint { counter, start: (start_line, start_column), end: (end_line, end_column) }
            };
            // A damaged profile may have places that no table can hold.
            let points = points.iter().map(point).filter(CountedPoint::is_within_limits).collect();
            let [assembly, type_name, name] = [assembly, type_name, name].map(Clone::clone);
            methods.push(TableMethod { assembly, type_name, name, document, points });
        }
    }
    let hash = |hash: &SourceHash| (hash.algorithm.into(), hash.bytes.clone());
    let document = |file: &SourceFile| LineDocument { path: file.path.clone(), hash: file.hash.as_ref().map(hash) };
    let table = LineTable { documents: files.iter().map(document).collect(), methods }.write();
    let mut chunk = vec![0; chunk::HEADER];
    put_u32(&mut chunk, layout::COUNTERS_AT, (counters.len() / layout::COUNTER) as u32);
    put_u32(&mut chunk, layout::TABLE_SIZE_AT, table.len() as u32);
    chunk.extend(counters);
    chunk.extend(table);
    write_chunk(out, ChunkKind::Lines, chunk)
}

#[cfg(test)]
mod tests {
    use profile_format::{HeaderFlags, header::FLAGS_AT};

    use super::*;
    use crate::{
        file::{cursor::u32_at, packing::unpacked},
        lines::HashAlgorithm,
        merge::Merge,
        model::Profile,
    };

    const OFFSET: usize = 0x1_0000;

    fn files() -> Vec<SourceFile> {
        let point = |start_line, count| Point { start_line, start_column: 1, end_line: start_line, end_column: 9, count };
        let method = |name: &str, points: &[Point]| LineMethod {
            assembly: "app".into(),
            type_name: "Program".into(),
            name: name.into(),
            points: points.to_vec(),
        };
        let hash = SourceHash { algorithm: HashAlgorithm::Sha256, bytes: vec![7; 32] };
        vec![
            SourceFile {
                path: "a.cs".into(),
                hash: Some(hash),
                methods: vec![method("Main", &[point(3, 1), point(4, u64::MAX)]), method("Run", &[point(9, 0)])],
            },
            SourceFile { path: "b.cs".into(), hash: None, methods: vec![method("Run", &[point(1, 5)])] },
        ]
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        write_lines(&mut bytes, &files()).expect("memory has room");
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<SourceFile>, Error> {
        lines(&Chunk { kind: Some(ChunkKind::Lines), offset: OFFSET, bytes })
    }

    #[test]
    fn files_are_read_as_they_were_written() {
        assert_eq!(read(&written()), Ok(files()));
        let mut nothing = Vec::new();
        write_lines(&mut nothing, &[]).expect("memory has room");
        assert!(nothing.is_empty());
    }

    /// Lines are added to a file, packed or not, and to one that is cut off they are not.
    #[test]
    fn lines_are_added_at_the_end_of_a_file() {
        let mut plain = Vec::new();
        Merge::default().write(&mut plain).expect("memory has room");
        let (header, chunks) = plain.split_at(BLOCK);
        let mut packed = header.to_vec();
        let flags = u32_at(header, FLAGS_AT) | HeaderFlags::PACKED.bits();
        put_u32(&mut packed, FLAGS_AT, flags);
        packed.extend(pack(chunks));
        for profile in [plain.clone(), packed] {
            let (end, bytes) = added_lines(&profile, &files()).expect("it is a profile").expect("it is whole");
            let all = [&profile[..end], &bytes].concat();
            let read = Profile::parse(&unpacked(&all).expect("it is a profile")).expect("it is a profile");
            assert_eq!((read.lines, read.damage), (files(), None));
        }
        assert_eq!(added_lines(&plain[..plain.len() - 1], &files()), Ok(None));
        assert!(added_lines(&[], &files()).is_err());
    }

    /// The program may be killed before it fills a chunk.
    #[test]
    fn a_chunk_that_is_not_filled_has_no_files() {
        let mut bytes = written();
        crate::file::cursor::put_u64(&mut bytes, chunk::USED_AT, chunk::HEADER as u64);
        assert_eq!(read(&bytes), Ok(Vec::new()));
    }

    #[test]
    fn damage_is_an_error_with_its_offset() {
        let offset_of = |bytes: &[u8]| match read(bytes) {
            Err(Error::Damaged { offset, .. }) => offset,
            other => panic!("{other:?}"),
        };
        let mut few = written();
        put_u32(&mut few, layout::COUNTERS_AT, 3);
        assert!(offset_of(&few) > OFFSET, "the table begins elsewhere");
        let mut many = written();
        put_u32(&mut many, layout::COUNTERS_AT, u32::MAX);
        assert_eq!(offset_of(&many), OFFSET + chunk::HEADER);
        let mut large = written();
        put_u32(&mut large, layout::TABLE_SIZE_AT, u32::MAX);
        assert_eq!(offset_of(&large), OFFSET + chunk::HEADER + 4 * layout::COUNTER);
        let bytes = written();
        for length in chunk::HEADER..bytes.len().min(400) {
            let _ = read(&bytes[..length]);
        }
    }
}
