//! The instructions of a body, decoded once: by index and by IL offset.

use ecma335::{
    ErrorKind, MethodBody, OpCode,
    opcode::{Flow, OpCodeInfo, Operand},
};

/// An instruction, decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) info: &'static OpCodeInfo,
    pub(crate) offset: u32,
    /// The target of a branch, a token, a constant, or where a switch's targets start.
    pub(crate) operand: u32,
}

/// A branch or switch leads to the offset.
const TARGET: u32 = 1 << 31;
/// One that stands before it does.
const FORWARD_TARGET: u32 = 1 << 30;
const NUMBER: u32 = !(TARGET | FORWARD_TARGET);

/// The instructions of a body.
#[derive(Default, Debug)]
pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    /// By IL offset, the end too: the number of the instruction there, from 1, with the bits that say whence control comes.
    by_offset: Vec<u32>,
    /// Counts, each with as many targets behind it.
    switches: Vec<u32>,
    /// Where no opcode of the standard stands. Runtimes mind only if a path comes there.
    bad: Vec<u32>,
    pub(crate) size: u32,
    /// Whether a branch or switch leads to itself or to what is before it.
    pub(crate) branches_back: bool,
}

impl Code {
    /// Decodes a body; where it cannot be, and why.
    pub(crate) fn read(&mut self, body: &MethodBody<'_>) -> Result<(), (u32, String)> {
        self.instructions.clear();
        self.switches.clear();
        self.bad.clear();
        self.by_offset.clear();
        self.by_offset.resize(body.il.len() + 1, 0);
        self.size = body.il.len() as u32;
        self.branches_back = false;
        let mut start = 0;
        while let Err((offset, error)) = self.read_from(body, start) {
            let ErrorKind::BadOpCode(number) = error else { return Err((offset, error.to_string())) };
            // It stands for itself alone, as a `nop` would.
            self.bad.push(offset);
            self.put(Instruction { info: OpCode::Nop.info(), offset, operand: 0 });
            start = offset + if number > 0xFF { 2 } else { 1 };
        }
        self.set_number(body.il.len(), self.instructions.len() as u32 + 1);
        Ok(())
    }

    fn set_number(&mut self, offset: usize, number: u32) {
        if let Some(slot) = self.by_offset.get_mut(offset) {
            *slot = *slot & !NUMBER | number;
        }
    }

    /// Notes at an offset that a branch leads there.
    fn mark(&mut self, from: u32, target: u32) {
        let is_forward = from < target;
        self.branches_back |= !is_forward;
        if let Some(slot) = self.by_offset.get_mut(target as usize) {
            *slot |= if is_forward { TARGET | FORWARD_TARGET } else { TARGET };
        }
    }

    /// Decodes from an offset on, up to the first instruction that cannot be.
    fn read_from(&mut self, body: &MethodBody<'_>, start: u32) -> Result<(), (u32, ErrorKind)> {
        let mut end = start;
        for decoded in body.instructions_from(start) {
            let decoded = decoded.map_err(|error| (end, error.kind().clone()))?;
            end = decoded.end();
            let operand = match decoded.info.operand {
                Operand::Branch | Operand::BranchS => {
                    let target = decoded.branch_target().unwrap_or(u32::MAX);
                    self.mark(decoded.offset, target);
                    target
                }
                Operand::Switch => {
                    let start = self.switches.len();
                    let targets = decoded.switch_targets();
                    self.switches.push(targets.len() as u32);
                    for target in targets {
                        self.mark(decoded.offset, target);
                        self.switches.push(target);
                    }
                    start as u32
                }
                _ => decoded.value() as u32,
            };
            self.put(Instruction { info: decoded.info, offset: decoded.offset, operand });
        }
        Ok(())
    }

    fn put(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
        self.set_number(instruction.offset as usize, self.instructions.len() as u32);
    }

    /// Whether argument 0 is stored to.
    pub(crate) fn overwrites_this(&self) -> bool {
        self.has_of_this([OpCode::StargS, OpCode::Starg])
    }

    /// Whether the address of argument 0 is taken.
    pub(crate) fn takes_address_of_this(&self) -> bool {
        self.has_of_this([OpCode::LdargaS, OpCode::Ldarga])
    }

    fn has_of_this(&self, opcodes: [OpCode; 2]) -> bool {
        let is_it = |instruction: &Instruction| instruction.operand == 0 && opcodes.contains(&instruction.info.opcode);
        self.instructions.iter().any(is_it)
    }

    /// Where no opcode of the standard stands.
    pub(crate) fn bad(&self) -> &[u32] {
        &self.bad
    }

    /// The index of the instruction at an offset.
    pub(crate) fn at(&self, offset: u32) -> Option<usize> {
        let index = (*self.by_offset.get(offset as usize)? & NUMBER).checked_sub(1)? as usize;
        (index < self.instructions.len()).then_some(index)
    }

    /// The instruction before another one, by its index.
    pub(crate) fn before(&self, index: usize) -> Option<&Instruction> {
        self.instructions.get(index.checked_sub(1)?)
    }

    /// The prefixes of an instruction (III.2), by its index, from the last one.
    pub(crate) fn prefixes(&self, index: usize) -> impl Iterator<Item = &Instruction> {
        let before = self.instructions.get(..index).unwrap_or_default();
        before.iter().rev().take_while(|instruction| instruction.info.flow == Flow::Prefix)
    }

    /// Whether a branch or switch leads to an offset.
    pub(crate) fn is_target(&self, offset: u32) -> bool {
        self.has(offset, TARGET)
    }

    /// Whether one that stands before the offset leads there.
    pub(crate) fn is_forward_target(&self, offset: u32) -> bool {
        self.has(offset, FORWARD_TARGET)
    }

    fn has(&self, offset: u32, bit: u32) -> bool {
        self.by_offset.get(offset as usize).is_some_and(|slot| slot & bit != 0)
    }

    /// Whether an instruction starts at an offset, or it is the end.
    pub(crate) fn is_boundary(&self, offset: u32) -> bool {
        self.by_offset.get(offset as usize).is_some_and(|slot| slot & NUMBER > 0)
    }

    /// Where a branch or switch leads.
    pub(crate) fn targets<'s>(&'s self, instruction: &'s Instruction) -> &'s [u32] {
        match instruction.info.operand {
            Operand::Branch | Operand::BranchS => std::slice::from_ref(&instruction.operand),
            Operand::Switch => {
                let start = instruction.operand as usize;
                let count = self.switches.get(start).copied().unwrap_or(0) as usize;
                self.switches.get(start + 1..start + 1 + count).unwrap_or_default()
            }
            _ => &[],
        }
    }
}
