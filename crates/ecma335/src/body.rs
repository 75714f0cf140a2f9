//! Method bodies (II.25.4): tiny and fat headers, IL, exception clauses; and decoding of instructions (III).

use little_endian::{ByteOrder, LE, NumbersAt, PutNumbers};

use crate::{
    cursor::{Cursor, pad_to},
    error::{Error, ErrorKind, Result, malformed},
    opcode::{Flow, OpCode, OpCodeInfo, Operand},
    token::{FileOffset, Token},
};

/// A method body as a view of its bytes.
#[derive(Clone, Debug)]
pub struct MethodBody<'a> {
    /// Whether it has the one-byte header.
    pub is_tiny: bool,
    /// The maximum depth of the evaluation stack; 8 in a tiny body.
    pub max_stack: u16,
    /// Whether locals are initialised to zero.
    pub init_locals: bool,
    /// The StandAloneSig of its locals; 0 for none.
    pub local_var_sig: Token,
    /// The IL.
    pub il: &'a [u8],
    /// The file offset of the IL.
    pub il_offset: FileOffset,
    /// The exception clauses, in the order of their table.
    pub clauses: Vec<Clause>,
}

/// An exception clause (II.25.4.6). Its offsets are IL offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clause {
    /// The kind of its handler.
    pub kind: ClauseKind,
    /// The start of the protected block.
    pub try_offset: u32,
    /// The length of the protected block, in bytes.
    pub try_length: u32,
    /// The start of the handler.
    pub handler_offset: u32,
    /// The length of the handler, in bytes.
    pub handler_length: u32,
}

/// The kind of a handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClauseKind {
    /// Handles exceptions of this type.
    Catch(Token),
    /// Handles exceptions that the filter at this offset accepts.
    Filter(u32),
    /// Runs whenever control leaves the block.
    Finally,
    /// Runs when an exception leaves the block.
    Fault,
}

mod header {
    pub(super) const FORMAT_MASK: u8 = 0x3;
    pub(super) const TINY: u8 = 0x2;
    pub(super) const FAT: u16 = 0x3;
    pub(super) const MORE_SECTIONS: u16 = 0x8;
    pub(super) const INIT_LOCALS: u16 = 0x10;
    /// The size of a fat header in 4-byte words, in its top four bits.
    pub(super) const FAT_SIZE: u16 = 3 << 12;
}

mod section {
    pub(super) const EH_TABLE: u8 = 0x1;
    pub(super) const KIND_MASK: u8 = 0x3F;
    pub(super) const FAT: u8 = 0x40;
    pub(super) const MORE: u8 = 0x80;
    /// The maximum number of clauses in a small section, whose size has one byte.
    pub(super) const SMALL_CLAUSES: usize = 20;
}

impl<'a> MethodBody<'a> {
    /// Reads the body at the cursor, which must be at the method's RVA.
    pub fn parse(mut cursor: Cursor<'a>) -> Result<Self> {
        Self::read(&mut cursor, Vec::new())
    }

    /// Reads the body like [`parse`](Self::parse), and reuses a vector for the clauses.
    pub fn parse_with(mut cursor: Cursor<'a>, mut room: Vec<Clause>) -> Result<Self> {
        room.clear();
        Self::read(&mut cursor, room)
    }

    /// The size of the body at the cursor, in bytes.
    pub fn measure(mut cursor: Cursor<'a>) -> Result<usize> {
        let start = cursor.position();
        Self::read(&mut cursor, Vec::new())?;
        Ok(cursor.position() - start)
    }

    /// Whether the bytes of a body start with a fat header (II.25.4.3). Such a body is aligned to 4.
    pub(crate) fn is_fat(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|first| first & header::FORMAT_MASK != header::TINY)
    }

    /// The token of the locals' signature in the header of a fat body, given the body's first bytes.
    pub fn local_var_sig_of(bytes: &[u8]) -> Option<Token> {
        Self::is_fat(bytes).then(|| bytes.u32_at(Self::LOCAL_VAR_SIG_AT).map(Token))?
    }

    fn read(cursor: &mut Cursor<'a>, mut clauses: Vec<Clause>) -> Result<Self> {
        let start = *cursor;
        let first = cursor.u8()?;
        if first & header::FORMAT_MASK == header::TINY {
            let il_offset = cursor.offset();
            let il = cursor.bytes(usize::from(first >> 2))?;
            let local_var_sig = Token::default();
            return Ok(Self { is_tiny: true, max_stack: 8, init_locals: false, local_var_sig, il, il_offset, clauses });
        }
        *cursor = start;
        let flags = cursor.u16()?;
        if flags & 0x7 != header::FAT {
            return malformed(start.offset(), "neither a tiny nor a fat method header");
        }
        let max_stack = cursor.u16()?;
        let il_size = cursor.u32()?;
        let local_var_sig = Token(cursor.u32()?);
        // The header holds its own size, in 4-byte words. Only 3 is in use, and runtimes rely on it.
        let header_size = usize::from(flags >> 12) * 4;
        if header_size < 12 {
            return malformed(start.offset(), "a fat method header of less than 12 bytes");
        }
        cursor.bytes(header_size - 12)?;
        let il_offset = cursor.offset();
        let il = cursor.bytes(il_size as usize)?;
        let mut more = flags & header::MORE_SECTIONS != 0;
        while more {
            cursor.align(4)?;
            more = read_section(cursor, &mut clauses)?;
        }
        let init_locals = flags & header::INIT_LOCALS != 0;
        Ok(Self { is_tiny: false, max_stack, init_locals, local_var_sig, il, il_offset, clauses })
    }

    /// Appends the body in its smallest form. A fat body starts at a multiple of 4 in `out`, which must itself be
    /// aligned to 4. Returns its start.
    pub fn write(&self, out: &mut Vec<u8>) -> usize {
        if self.il.len() < 64 && self.max_stack <= 8 && self.local_var_sig == Token::default() && self.clauses.is_empty() {
            out.push((self.il.len() as u8) << 2 | header::TINY);
            out.extend_from_slice(self.il);
            return out.len() - self.il.len() - 1;
        }
        self.write_fat(out)
    }

    /// Appends the body with a fat header, so that its fields can be patched. It starts at a multiple of 4, as for
    /// [`write`](Self::write).
    pub fn write_fat(&self, out: &mut Vec<u8>) -> usize {
        pad_to(out, 4);
        let start = out.len();
        let mut flags = header::FAT | header::FAT_SIZE;
        if !self.clauses.is_empty() {
            flags |= header::MORE_SECTIONS;
        }
        if self.init_locals {
            flags |= header::INIT_LOCALS;
        }
        out.put_u16(flags);
        out.put_u16(self.max_stack);
        out.put_u32(self.il.len() as u32);
        out.put_u32(self.local_var_sig.0);
        out.extend_from_slice(self.il);
        write_clauses(&self.clauses, out);
        start
    }

    /// The size of a fat header, in bytes. The IL follows it (II.25.4.3).
    pub const FAT_HEADER_SIZE: usize = 12;
    /// The offset of `MaxStack` in a fat header.
    pub const MAX_STACK_AT: usize = 2;
    /// The offset of `LocalVarSigTok` in a fat header.
    pub const LOCAL_VAR_SIG_AT: usize = 8;

    /// The instructions, in order.
    pub fn instructions(&self) -> Instructions<'a> {
        self.instructions_from(0)
    }

    /// The instructions from an offset on, which must be the start of one.
    pub fn instructions_from(&self, offset: u32) -> Instructions<'a> {
        Instructions { il: self.il, position: offset as usize, base: self.il_offset }
    }
}

/// Reads one method data section (II.25.4.5). Returns whether another follows.
fn read_section(cursor: &mut Cursor<'_>, clauses: &mut Vec<Clause>) -> Result<bool> {
    let offset = cursor.offset();
    let kind = cursor.u8()?;
    if kind & section::KIND_MASK != section::EH_TABLE {
        return malformed(offset, "a method data section that is no exception table");
    }
    let is_fat = kind & section::FAT != 0;
    let size = cursor.bytes(3)?.iter().rev().fold(0, |size, byte| size << 8 | usize::from(*byte));
    // Some compilers exclude the section's four-byte header from its size. The division hides the difference.
    let count = if is_fat { size / 24 } else { (size & 0xFF) / 12 };
    for _ in 0..count {
        let at = cursor.offset();
        let mut field = |small: u8| -> Result<u32> {
            if is_fat {
                cursor.u32()
            } else if small == 1 {
                cursor.u8().map(u32::from)
            } else {
                cursor.u16().map(u32::from)
            }
        };
        let flags = field(2)?;
        let (try_offset, try_length) = (field(2)?, field(1)?);
        let (handler_offset, handler_length) = (field(2)?, field(1)?);
        let class_or_filter = cursor.u32()?;
        let kind = match flags & 0x7 {
            0 => ClauseKind::Catch(Token(class_or_filter)),
            1 => ClauseKind::Filter(class_or_filter),
            2 => ClauseKind::Finally,
            4 => ClauseKind::Fault,
            _ => return malformed(at, "an exception clause of unknown kind"),
        };
        clauses.push(Clause { kind, try_offset, try_length, handler_offset, handler_length });
    }
    Ok(kind & section::MORE != 0)
}

fn write_clauses(clauses: &[Clause], out: &mut Vec<u8>) {
    if clauses.is_empty() {
        return;
    }
    pad_to(out, 4);
    let fits_small = |clause: &Clause| {
        clause.try_offset <= 0xFFFF
            && clause.handler_offset <= 0xFFFF
            && clause.try_length <= 0xFF
            && clause.handler_length <= 0xFF
    };
    let is_small = clauses.len() <= section::SMALL_CLAUSES && clauses.iter().all(fits_small);
    let (kind, size) = if is_small {
        (section::EH_TABLE, clauses.len() * 12 + 4)
    } else {
        (section::EH_TABLE | section::FAT, clauses.len() * 24 + 4)
    };
    out.put_u32((size as u32) << 8 | u32::from(kind));
    for clause in clauses {
        let (flags, class_or_filter) = match clause.kind {
            ClauseKind::Catch(class) => (0_u32, class.0),
            ClauseKind::Filter(offset) => (1, offset),
            ClauseKind::Finally => (2, 0),
            ClauseKind::Fault => (4, 0),
        };
        let mut field = |value: u32, small: usize| {
            out.extend_from_slice(&value.to_le_bytes()[..if is_small { small } else { 4 }]);
        };
        field(flags, 2);
        field(clause.try_offset, 2);
        field(clause.try_length, 1);
        field(clause.handler_offset, 2);
        field(clause.handler_length, 1);
        out.put_u32(class_or_filter);
    }
}

/// One instruction in the IL. Each prefix is an instruction of its own.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// The IL offset of its start.
    pub offset: u32,
    /// Its opcode, with the properties from the table.
    pub info: &'static OpCodeInfo,
    /// The bytes after the opcode.
    pub operand: &'a [u8],
}

impl Instruction<'_> {
    /// Its opcode.
    #[inline]
    pub fn opcode(&self) -> OpCode {
        self.info.opcode
    }

    /// The offset after the instruction, the base of branch distances.
    #[inline]
    pub fn end(&self) -> u32 {
        self.offset + u32::from(self.info.size) + self.operand.len() as u32
    }

    /// The operand as a number of up to eight bytes, zero-extended.
    #[inline]
    pub fn value(&self) -> u64 {
        match *self.operand {
            [] => 0,
            [a] => u64::from(a),
            [_, _, _, _] => LE::read_u32(self.operand).into(),
            _ => self.operand.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        }
    }

    /// The operand as a token.
    #[inline]
    pub fn token(&self) -> Token {
        Token(self.value() as u32)
    }

    /// The target offset of a branch. It may lie outside of the IL.
    #[inline]
    pub fn branch_target(&self) -> Option<u32> {
        match (self.info.operand, self.operand) {
            (Operand::BranchS, [distance]) => Some(self.end().wrapping_add_signed(i32::from(*distance as i8))),
            (Operand::Branch, _) => Some(self.end().wrapping_add(self.value() as u32)),
            _ => None,
        }
    }

    /// The target offsets of a switch, in order.
    pub fn switch_targets(&self) -> impl ExactSizeIterator<Item = u32> + use<'_> {
        let end = self.end();
        let distances = if self.info.operand == Operand::Switch { self.operand.get(4..).unwrap_or_default() } else { &[] };
        distances
            .chunks_exact(4)
            .map(move |bytes| end.wrapping_add(bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))))
    }

    /// Whether control can reach the following instruction.
    pub fn falls_through(&self) -> bool {
        self.info.flow.falls_through()
    }

    /// Whether the instruction is a prefix of the following one.
    pub fn is_prefix(&self) -> bool {
        self.info.flow == Flow::Prefix
    }
}

/// Decodes instructions one by one, and ends at the first error.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    il: &'a [u8],
    position: usize,
    base: FileOffset,
}

impl<'a> Instructions<'a> {
    #[inline(always)]
    fn decode(&self) -> Result<Instruction<'a>> {
        let rest = self.il.get(self.position..).unwrap_or_default();
        let info = match *rest {
            [0xFE, second, ..] => OpCode::two_byte(second),
            [first, ..] => OpCode::one_byte(first),
            [] => None,
        };
        let Some(info) = info else { return Err(self.bad_opcode(rest)) };
        let rest = rest.get(usize::from(info.size)..).unwrap_or_default();
        let mut length = usize::from(info.operand_size);
        if info.operand == Operand::Switch
            && let Some(count) = rest.u32_at(0)
        {
            length = (count as usize).saturating_mul(4).saturating_add(4);
        }
        match rest.get(..length) {
            Some(operand) => Ok(Instruction { offset: self.position as u32, info, operand }),
            None => Err(self.error(ErrorKind::Truncated)),
        }
    }

    #[cold]
    fn bad_opcode(&self, rest: &[u8]) -> Error {
        let size = if rest.first() == Some(&0xFE) { 2 } else { 1 };
        if rest.len() < size {
            return self.error(ErrorKind::Truncated);
        }
        let number = rest.iter().take(size).fold(0, |number, byte| number << 8 | u16::from(*byte));
        self.error(ErrorKind::BadOpCode(number))
    }

    #[cold]
    fn error(&self, kind: ErrorKind) -> Error {
        Error::at(FileOffset(self.base.0 + self.position as u64), kind).in_cell(format_args!("IL_{:04x}", self.position))
    }
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        if self.position >= self.il.len() {
            return None;
        }
        let instruction = self.decode();
        self.position = match &instruction {
            Ok(instruction) => instruction.end() as usize,
            Err(_) => self.il.len(),
        };
        Some(instruction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(body: &MethodBody<'_>) -> (Vec<u8>, usize) {
        let mut out = vec![0xCC];
        let start = body.write(&mut out);
        let read = MethodBody::parse(Cursor::new(&out[start..], FileOffset(0))).unwrap();
        assert_eq!((read.il, read.max_stack, read.init_locals), (body.il, body.max_stack, body.init_locals));
        assert_eq!((read.local_var_sig, &read.clauses), (body.local_var_sig, &body.clauses));
        (out, start)
    }

    fn body<'a>(il: &'a [u8], clauses: Vec<Clause>) -> MethodBody<'a> {
        MethodBody {
            is_tiny: false,
            max_stack: 8,
            init_locals: false,
            local_var_sig: Token::default(),
            il,
            il_offset: FileOffset(0),
            clauses,
        }
    }

    #[test]
    fn small_bodies_are_tiny_and_grow_fat() {
        assert_eq!(round_trip(&body(&[0x2A], vec![])).0, [0xCC, 0x06, 0x2A]);
        assert_eq!(round_trip(&body(&[0; 63], vec![])).1, 1);
        assert_eq!(round_trip(&body(&[0; 64], vec![])).1, 4);
        round_trip(&MethodBody { max_stack: 9, init_locals: true, ..body(&[0x2A], vec![]) });
    }

    #[test]
    fn clauses_are_small_until_one_does_not_fit() {
        let clause = |try_length| Clause {
            kind: ClauseKind::Catch(Token(0x0100_0001)),
            try_offset: 1,
            try_length,
            handler_offset: try_length + 1,
            handler_length: 2,
        };
        let size = |clauses| round_trip(&body(&[0; 3], clauses)).0.len();
        assert_eq!(size(vec![clause(0xFF)]), 4 + 12 + 4 + 4 + 12);
        assert_eq!(size(vec![clause(0x100)]), 4 + 12 + 4 + 4 + 24);
        assert_eq!(size(vec![clause(1); 20]), 4 + 12 + 4 + 4 + 240);
        assert_eq!(size(vec![clause(1); 21]), 4 + 12 + 4 + 4 + 504);
        for kind in [ClauseKind::Filter(7), ClauseKind::Finally, ClauseKind::Fault] {
            round_trip(&body(&[0; 3], vec![Clause { kind, ..clause(3) }]));
        }
    }

    #[test]
    fn instructions_decode_and_bad_ones_say_where() {
        // ldc.i4.s -2; switch (IL_000e, IL_0010); br.s IL_0000; ret
        let il = [0x1F, 0xFE, 0x45, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x2B, 0xEF, 0x2A];
        let decoded: Vec<_> = body(&il, vec![]).instructions().map(Result::unwrap).collect();
        assert_eq!(decoded.iter().map(|each| each.offset).collect::<Vec<_>>(), [0, 2, 15, 17]);
        assert_eq!(decoded[1].switch_targets().collect::<Vec<_>>(), [15, 17]);
        assert_eq!(decoded[2].branch_target(), Some(0));
        let bad = body(&[0x00, 0xFE, 0x70], vec![]).instructions().last().unwrap().unwrap_err();
        assert_eq!(bad.to_string(), "IL_0001: unknown opcode 0xfe70 (file offset 0x1)");
    }
}
