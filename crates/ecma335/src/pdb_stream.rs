//! The #Pdb stream of a portable PDB: its id, the program's entry point, and the row counts of its assembly's tables.

use little_endian::{ByteOrder, LE, PutNumbers};

use crate::{cursor::Cursor, error::Result, schema::Table, tables::RowCounts, token::Token};

/// The name of the stream that identifies metadata as a PDB.
pub const NAME: &[u8] = b"#Pdb";

/// The id that links a PDB to its image: a GUID and a stamp. The image's CodeView entry holds both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PdbId(pub [u8; 20]);

impl PdbId {
    /// The size in the file, in bytes. It is the first part of the stream.
    pub const SIZE: usize = 20;

    /// The GUID.
    pub fn guid(&self) -> &[u8] {
        &self.0[..16]
    }

    /// The stamp: the time stamp of the CodeView entry.
    pub fn stamp(&self) -> u32 {
        LE::read_u32(&self.0[16..])
    }
}

/// The content of the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PdbStream {
    /// The PDB's id.
    pub id: PdbId,
    /// The entry point of the program; token 0 if there is none.
    pub entry_point: Token,
    /// The row counts of the assembly's tables, which affect the widths of the PDB's columns.
    pub assembly: RowCounts,
}

impl PdbStream {
    /// Reads the stream.
    ///
    /// # Errors
    /// If it is truncated.
    pub fn parse(mut cursor: Cursor<'_>) -> Result<Self> {
        let mut id = PdbId::default();
        id.0.copy_from_slice(cursor.bytes(PdbId::SIZE)?);
        let entry_point = Token(cursor.u32()?);
        let counted = cursor.u64()?;
        let mut assembly: RowCounts = [0; 64];
        for (number, count) in assembly.iter_mut().enumerate() {
            if counted >> number & 1 != 0 {
                *count = cursor.u32()?;
            }
        }
        Ok(Self { id, entry_point, assembly })
    }

    /// The bytes of the stream.
    pub fn to_bytes(&self) -> Vec<u8> {
        let counted = || Table::ALL.iter().copied().filter(|table| is_counted(*table) && self.assembly[*table as usize] > 0);
        let mut stream = self.id.0.to_vec();
        stream.put_u32(self.entry_point.0);
        let bits = counted().fold(0_u64, |bits, table| bits | 1 << (table as u8));
        stream.put_u64(bits);
        counted().for_each(|table| stream.put_u32(self.assembly[table as usize]));
        stream
    }
}

/// Whether a PDB counts the rows of a table. It omits its own tables, pointer tables and edit-and-continue tables.
fn is_counted(table: Table) -> bool {
    let is_pointers = Table::ALL.iter().any(|child| child.pointers() == Some(table));
    (table as u8) < Table::Document as u8 && !is_pointers && !matches!(table, Table::EncLog | Table::EncMap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::FileOffset;

    #[test]
    fn the_stream_round_trips_but_for_tables_that_are_not_counted() {
        let mut assembly: RowCounts = [0; 64];
        for (table, count) in [(Table::MethodDef, 7), (Table::TypeRef, 0x1_0000), (Table::FieldPtr, 3), (Table::EncMap, 1)] {
            assembly[table as usize] = count;
        }
        let stream = PdbStream { id: PdbId(*b"0123456789abcdef\x01\x02\x03\x84"), entry_point: Token(0x0600_0001), assembly };
        assert_eq!(stream.id.stamp(), 0x8403_0201);
        let bytes = stream.to_bytes();
        assert_eq!(bytes.len(), 20 + 4 + 8 + 2 * 4);
        let read = PdbStream::parse(Cursor::new(&bytes, FileOffset(0))).unwrap();
        assembly[Table::FieldPtr as usize] = 0;
        assembly[Table::EncMap as usize] = 0;
        assert_eq!(read, PdbStream { assembly, ..stream });
        for length in 0..bytes.len() {
            assert!(PdbStream::parse(Cursor::new(&bytes[..length], FileOffset(0))).is_err(), "cut to {length}");
        }
    }
}
