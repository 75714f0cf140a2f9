//! Replaces labels by offsets. Only this file decides the offsets of instructions.

use ecma335::{
    OpCode,
    body::{Clause, ClauseKind},
    opcode::Operand as OperandKind,
};
use little_endian::PutNumbers;

use crate::{
    code::{Code, Instruction, Label, Operand},
    token::Fixup,
};

/// Laid-out code: the IL, its clauses, and the offset of each instruction.
#[derive(Default, Debug)]
pub struct Layout {
    /// The IL.
    pub il: Vec<u8>,
    /// The clauses, with offsets.
    pub clauses: Vec<Clause>,
    /// The offset of each instruction, and of the end of the code.
    pub offsets: Vec<u32>,
    /// The missing tokens, with their IL offsets.
    pub fixups: Vec<Fixup>,
}

impl Layout {
    /// Lays code out, and replaces the previous layout. A branch takes the long form only if the short form cannot
    /// reach its target. Lengthening one branch may put another target out of reach, so this repeats until no branch
    /// grows. `input` is the original IL of the code.
    pub fn lay_out(&mut self, code: &mut Code, input: &[u8]) {
        shorten_branches(code);
        loop {
            self.place(code);
            if !self.grow_branches(code) {
                break;
            }
        }
        self.emit(code, input);
        self.clauses.clear();
        for clause in &code.clauses {
            let range = |(start, end): (Label, Label)| (self.offset(code, start), self.offset(code, end));
            let (try_offset, try_end) = range(clause.protected);
            let (handler_offset, handler_end) = range(clause.handler);
            self.clauses.push(Clause {
                kind: match clause.filter {
                    Some(filter) => ClauseKind::Filter(self.offset(code, filter)),
                    None => clause.kind,
                },
                try_offset,
                try_length: try_end - try_offset,
                handler_offset,
                handler_length: handler_end - handler_offset,
            });
        }
    }

    fn place(&mut self, code: &Code) {
        self.offsets.clear();
        let mut offset = 0;
        self.offsets.extend(code.instructions.iter().map(|instruction| {
            let start = offset;
            offset += size(instruction);
            start
        }));
        self.offsets.push(offset);
    }

    fn grow_branches(&self, code: &mut Code) -> bool {
        // In so short a body, every short branch reaches its target.
        if self.offsets.last().is_none_or(|end| *end <= i8::MAX as u32) {
            return false;
        }
        let mut grown = false;
        for index in 0..code.instructions.len() {
            let instruction = code.instructions[index];
            let Operand::Label(label) = instruction.operand else { continue };
            if instruction.info.operand == OperandKind::BranchS && i8::try_from(self.distance(code, index, label)).is_err() {
                code.instructions[index].info = instruction.opcode().long_form().info();
                grown = true;
            }
        }
        grown
    }

    fn emit(&mut self, code: &Code, input: &[u8]) {
        self.fixups.clear();
        let mut il = std::mem::take(&mut self.il);
        il.clear();
        il.reserve(self.offsets.last().map_or(0, |end| *end as usize));
        // Adjacent instructions without labels are copied in one piece.
        let mut run = 0..0;
        for (index, instruction) in code.instructions.iter().enumerate() {
            if let Operand::Input = instruction.operand {
                let origin = instruction.origin as usize;
                if run.end != origin {
                    il.extend_from_slice(&input[run]);
                    run = origin..origin;
                }
                run.end += usize::from(instruction.info.size + instruction.info.operand_size);
                continue;
            }
            il.extend_from_slice(&input[std::mem::take(&mut run)]);
            instruction.opcode().put(&mut il);
            let operand_size = usize::from(instruction.info.operand_size);
            match instruction.operand {
                Operand::Input => {}
                Operand::Value(value) => il.extend_from_slice(&value.to_le_bytes()[..operand_size]),
                Operand::Request(request) => {
                    self.fixups.push(Fixup { at: il.len() as u32, request });
                    il.put_u32(Fixup::UNSETTLED.0);
                }
                Operand::Label(label) if operand_size == 1 => il.push(self.distance(code, index, label) as u8),
                Operand::Label(label) => il.put_i32(self.distance(code, index, label)),
                Operand::Switch { start, count } => {
                    il.put_u32(count);
                    for label in &code.switch_labels[start as usize..(start + count) as usize] {
                        il.put_i32(self.distance(code, index, *label));
                    }
                }
            }
        }
        il.extend_from_slice(&input[run]);
        self.il = il;
    }

    fn offset(&self, code: &Code, label: Label) -> u32 {
        self.offsets[code.target(label)]
    }

    /// The distance of a target from the end of an instruction, in bytes.
    #[inline]
    fn distance(&self, code: &Code, instruction: usize, label: Label) -> i32 {
        self.offset(code, label) as i32 - self.offsets[instruction + 1] as i32
    }
}

/// Makes the branches of the input short at first, except those whose distance in the input already needs the long
/// form.
fn shorten_branches(code: &mut Code) {
    const FAR: u32 = 256;
    for index in 0..code.instructions.len() {
        let Instruction { info, operand, origin } = code.instructions[index];
        if let (OperandKind::Branch, Operand::Label(label)) = (info.operand, operand) {
            let target = code.instructions.get(code.target(label)).map_or(Instruction::NO_ORIGIN, |target| target.origin);
            if target == Instruction::NO_ORIGIN || target.abs_diff(origin) < FAR {
                code.instructions[index].info = info.opcode.short_form().info();
            }
        }
    }
}

/// The size of an instruction in its current form, in bytes.
#[inline]
fn size(instruction: &Instruction) -> u32 {
    let targets = match instruction.operand {
        Operand::Switch { count, .. } => 4 * count,
        _ => 0,
    };
    u32::from(instruction.info.size + instruction.info.operand_size) + targets
}

/// The shortest instruction that loads a local.
pub fn ldloc(local: u16) -> Instruction {
    shortest(local, [OpCode::Ldloc0, OpCode::Ldloc1, OpCode::Ldloc2, OpCode::Ldloc3], OpCode::LdlocS, OpCode::Ldloc)
}

/// The shortest instruction that stores to a local.
pub fn stloc(local: u16) -> Instruction {
    shortest(local, [OpCode::Stloc0, OpCode::Stloc1, OpCode::Stloc2, OpCode::Stloc3], OpCode::StlocS, OpCode::Stloc)
}

/// The shortest instruction that loads an argument.
pub fn ldarg(argument: u16) -> Instruction {
    shortest(argument, [OpCode::Ldarg0, OpCode::Ldarg1, OpCode::Ldarg2, OpCode::Ldarg3], OpCode::LdargS, OpCode::Ldarg)
}

/// The shortest instruction that loads an argument's address.
pub fn ldarga(argument: u16) -> Instruction {
    shortest(argument, [], OpCode::LdargaS, OpCode::Ldarga)
}

/// The shortest instruction that loads a local's address.
pub fn ldloca(local: u16) -> Instruction {
    shortest(local, [], OpCode::LdlocaS, OpCode::Ldloca)
}

/// A short instruction that loads a number from 0 up.
pub fn ldc_i4(number: u32) -> Instruction {
    match u16::try_from(number) {
        Ok(small @ ..=0x7F) => {
            let tiny = [OpCode::LdcI40, OpCode::LdcI41, OpCode::LdcI42, OpCode::LdcI43];
            shortest(small, tiny, OpCode::LdcI4S, OpCode::LdcI4)
        }
        _ => Instruction::new(OpCode::LdcI4, Operand::Value(number.into())),
    }
}

/// The shortest form of an instruction that can encode a number.
fn shortest<const N: usize>(number: u16, tiny: [OpCode; N], short: OpCode, long: OpCode) -> Instruction {
    match tiny.get(usize::from(number)) {
        Some(opcode) => Instruction::new(*opcode, Operand::Value(0)),
        None if number <= 0xFF => Instruction::new(short, Operand::Value(number.into())),
        None => Instruction::new(long, Operand::Value(number.into())),
    }
}
