//! The instructions of a body, decoded once: by index and by IL offset.

use ecma335::{
    ErrorKind, MethodBody, OpCode,
    opcode::{OpCodeInfo, Operand},
};

/// An instruction, decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    pub(crate) info: &'static OpCodeInfo,
    pub(crate) offset: u32,
    /// The target of a branch, a token, a constant, or where a switch's targets start.
    pub(crate) operand: u32,
}

/// The instructions of a body.
#[derive(Default, Debug)]
pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    /// By IL offset, the end too: the number of the instruction there, from 1.
    by_offset: Vec<u32>,
    /// Counts, each with as many targets behind it.
    switches: Vec<u32>,
    /// Where no opcode of the standard stands. Runtimes mind only if a path comes there.
    bad: Vec<u32>,
    pub(crate) size: u32,
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
        let mut start = 0;
        while let Err((offset, error)) = self.read_from(body, start) {
            let ErrorKind::BadOpCode(number) = error else { return Err((offset, error.to_string())) };
            // It stands for itself alone, as a `nop` would.
            self.bad.push(offset);
            self.put(Instruction { info: OpCode::Nop.info(), offset, operand: 0 });
            start = offset + if number > 0xFF { 2 } else { 1 };
        }
        if let Some(slot) = self.by_offset.last_mut() {
            *slot = self.instructions.len() as u32 + 1;
        }
        Ok(())
    }

    /// Decodes from an offset on, up to the first instruction that cannot be.
    fn read_from(&mut self, body: &MethodBody<'_>, start: u32) -> Result<(), (u32, ErrorKind)> {
        let mut end = start;
        for decoded in body.instructions_from(start) {
            let decoded = decoded.map_err(|error| (end, error.kind().clone()))?;
            end = decoded.end();
            let operand = match decoded.info.operand {
                Operand::Branch | Operand::BranchS => decoded.branch_target().unwrap_or(u32::MAX),
                Operand::Switch => {
                    let start = self.switches.len();
                    let targets = decoded.switch_targets();
                    self.switches.push(targets.len() as u32);
                    self.switches.extend(targets);
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
        if let Some(slot) = self.by_offset.get_mut(instruction.offset as usize) {
            *slot = self.instructions.len() as u32;
        }
    }

    /// Whether argument 0 is stored to.
    pub(crate) fn overwrites_this(&self) -> bool {
        let is_store = |instruction: &Instruction| matches!(instruction.info.opcode, OpCode::StargS | OpCode::Starg);
        self.instructions.iter().any(|instruction| is_store(instruction) && instruction.operand == 0)
    }

    /// Where no opcode of the standard stands.
    pub(crate) fn bad(&self) -> &[u32] {
        &self.bad
    }

    /// The index of the instruction at an offset.
    pub(crate) fn at(&self, offset: u32) -> Option<usize> {
        let index = (*self.by_offset.get(offset as usize)? as usize).checked_sub(1)?;
        (index < self.instructions.len()).then_some(index)
    }

    /// Whether an instruction starts at an offset, or it is the end.
    pub(crate) fn is_boundary(&self, offset: u32) -> bool {
        self.by_offset.get(offset as usize).is_some_and(|index| *index > 0)
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
