//! Refuses a file with dangling references that would point to added metadata. Every skipped method, and every other file,
//! could be affected. Woven bodies have no such tokens: see `RewriteError::BadToken`.

use ecma335::{
    Error, ErrorKind, Image, Metadata, MethodBody, Rid, Rva, Table, Token, dangling::Growth, error::Place,
    flags::vtable_fixup_flags, schema::MethodDef,
};
use ilrewrite::Shape;
use little_endian::{ByteOrder, LE};
use rayon::prelude::*;

use crate::select::reason::Reason;

/// The number of bodies that a thread checks at a time.
const CHUNK: usize = 256;

/// Checks that no reference would gain a meaning.
///
/// # Errors
/// The place of the first such reference.
pub(crate) fn refuse(
    image: &Image<'_>,
    metadata: &Metadata<'_>,
    methods: &[Result<Shape, Reason>],
    growth: &Growth<'_, '_>,
) -> Result<(), Error> {
    growth.check_tables()?;
    if image.cli_header().entry_point_token().is_some_and(|token| growth.revives(token)) {
        return Err(Error::new(ErrorKind::Dangling(Place::EntryPoint)));
    }
    check_vtable_fixups(image, growth)?;
    let left_alone = (1..).zip(methods).filter(|(_, method)| method.is_err()).map(|(number, _)| Rid::<MethodDef>::new(number));
    let with_rows = left_alone.filter_map(|rid| Some((rid, metadata.row(rid).ok().filter(MethodDef::has_il_body)?)));
    let mut bodies: Vec<(u32, Token)> = with_rows.map(|(rid, row)| (row.rva, Token::new(Table::MethodDef, rid.get()))).collect();
    bodies.sort_unstable();
    bodies.dedup_by_key(|(rva, _)| *rva);
    let check = |chunk: &[(u32, Token)]| {
        chunk.iter().find_map(|(rva, method)| {
            // The headers are rewritten.
            if *rva < image.size_of_headers() {
                return Some(Error::new(ErrorKind::Dangling(Place::Body(*method))));
            }
            // A runtime cannot read such a body either.
            let body = image.cursor_at(Rva(*rva)).and_then(MethodBody::parse).ok()?;
            growth.check_body(*method, &body).err()
        })
    };
    let found = if bodies.len() <= CHUNK { check(&bodies) } else { bodies.par_chunks(CHUNK).find_map_first(check) };
    found.map_or(Ok(()), Err)
}

/// The slots that native code calls through hold tokens (II.25.3.3.3).
fn check_vtable_fixups(image: &Image<'_>, growth: &Growth<'_, '_>) -> Result<(), Error> {
    for fixup in image.bytes_at(image.cli_header().vtable_fixups).chunks_exact(8) {
        let (slots, count, kind) = (LE::read_u32(fixup), LE::read_u16(&fixup[4..]), LE::read_u16(&fixup[6..]));
        let size = if kind & vtable_fixup_flags::SLOTS_64BIT != 0 { 8 } else { 4 };
        let Ok(slots) = image.cursor_at(Rva(slots)) else { continue };
        for slot in slots.rest().chunks_exact(size).take(count.into()) {
            if growth.revives(Token(LE::read_u32(slot))) {
                return Err(Error::new(ErrorKind::Dangling(Place::VTableFixup)));
            }
        }
    }
    Ok(())
}
