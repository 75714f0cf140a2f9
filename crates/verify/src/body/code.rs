//! The decoded instructions of a body, by index and by IL offset.

use ecma335::{
    ErrorKind, MethodBody, OpCode,
    opcode::{Flow, OpCodeInfo, Operand},
};

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) info: &'static OpCodeInfo,
    pub(crate) offset: u32,
    /// The target of a branch, a token, a constant, or the index of a switch's targets.
    pub(crate) operand: u32,
}

/// Set if a branch or switch leads to the offset.
const TARGET: u32 = 1 << 31;
/// Set if an earlier branch or switch leads to the offset.
const FORWARD_TARGET: u32 = 1 << 30;
const NUMBER: u32 = !(TARGET | FORWARD_TARGET);

/// The instructions of a body.
#[derive(Default, Debug)]
pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    /// For each IL offset, including the end: the number of its instruction, from 1, with the bits for branches to it.
    by_offset: Vec<u32>,
    /// The targets of each switch, after their count.
    switches: Vec<u32>,
    /// The offsets of bytes that are no opcode of the standard. Runtimes reject them only on a path.
    bad: Vec<u32>,
    pub(crate) size: u32,
    /// Whether a branch or switch leads to itself or backward.
    pub(crate) branches_back: bool,
}

impl Code {
    /// Decodes a body. The error gives the offset and the reason.
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
            // An unknown opcode counts as an instruction without an operand, like `nop`.
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

    /// Marks an offset as the target of a branch.
    fn mark(&mut self, from: u32, target: u32) {
        let is_forward = from < target;
        self.branches_back |= !is_forward;
        if let Some(slot) = self.by_offset.get_mut(target as usize) {
            *slot |= if is_forward { TARGET | FORWARD_TARGET } else { TARGET };
        }
    }

    /// Decodes from an offset on, up to the first instruction that cannot be decoded.
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

    /// The offsets of bytes that are no opcode of the standard.
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

    /// The prefixes of an instruction (III.2), by its index. The last prefix comes first.
    pub(crate) fn prefixes(&self, index: usize) -> impl Iterator<Item = &Instruction> {
        let before = self.instructions.get(..index).unwrap_or_default();
        before.iter().rev().take_while(|instruction| instruction.info.flow == Flow::Prefix)
    }

    /// Whether a branch or switch leads to an offset.
    pub(crate) fn is_target(&self, offset: u32) -> bool {
        self.has(offset, TARGET)
    }

    /// Whether a branch or switch before an offset leads to it.
    pub(crate) fn is_forward_target(&self, offset: u32) -> bool {
        self.has(offset, FORWARD_TARGET)
    }

    fn has(&self, offset: u32, bit: u32) -> bool {
        self.by_offset.get(offset as usize).is_some_and(|slot| slot & bit != 0)
    }

    /// Whether an instruction starts at an offset, or the code ends there.
    pub(crate) fn is_boundary(&self, offset: u32) -> bool {
        self.by_offset.get(offset as usize).is_some_and(|slot| slot & NUMBER > 0)
    }

    /// The targets of a branch or switch.
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
