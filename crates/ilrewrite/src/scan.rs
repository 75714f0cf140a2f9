//! The fast half of the check: one pass over the IL in order, sufficient for nearly every body. If it cannot decide,
//! [`check`](crate::check) walks the body's paths.
//!
//! The pass relies on III.1.7.5: the stack is empty after an unconditional branch, unless an earlier branch leads
//! there.

use ecma335::{
    MethodBody, OpCode, Token,
    body::ClauseKind,
    opcode::{Flow, Operand},
};

use crate::{
    effects::CallEffect,
    stack::{Exits, step_over},
};

/// An instruction starts at this offset.
const START: u16 = 0x8000;
/// A handler or filter starts at this offset. Control never falls into it (III.1.7.5).
const HANDLER: u16 = 0x4000;
/// The mask of the stack depth at this offset, plus one. 0 if it is not known yet.
const DEPTH: u16 = HANDLER - 1;

/// The facts known about each IL offset. It keeps its capacity from one body to the next.
#[derive(Default, Debug)]
pub(crate) struct Scan {
    places: Vec<u16>,
    /// The number of branch targets that the pass has not reached yet.
    ahead: usize,
}

impl Scan {
    /// The largest stack depth of a valid body. None if only a walk can decide.
    pub(crate) fn run(
        &mut self,
        body: &MethodBody<'_>,
        effect: &impl Fn(u32, Token) -> Option<CallEffect>,
        exits: Exits,
    ) -> Option<u16> {
        self.places.clear();
        self.places.resize(body.il.len() + 1, 0);
        self.ahead = 0;
        for clause in &body.clauses {
            let depth = i32::from(matches!(clause.kind, ClauseKind::Catch(_) | ClauseKind::Filter(_)));
            self.require(clause.handler_offset, depth, 0)?;
            *self.places.get_mut(clause.handler_offset as usize)? |= HANDLER;
            if let ClauseKind::Filter(filter) = clause.kind {
                self.require(filter, 1, 0)?;
                *self.places.get_mut(filter as usize)? |= HANDLER;
            }
        }
        let (mut depth, mut deepest, mut comes_from_above) = (0, 0, true);
        for instruction in body.instructions() {
            let instruction = instruction.ok()?;
            let place = self.places.get_mut(instruction.offset as usize)?;
            let expected = i32::from(*place & DEPTH) - 1;
            if expected >= 0 {
                if comes_from_above && (depth != expected || *place & HANDLER != 0) {
                    return None;
                }
                self.ahead -= 1;
                depth = expected;
            } else if !comes_from_above {
                depth = 0;
            }
            *place = START | (depth as u16 + 1);
            let (behind, peak) =
                step_over(instruction.info, instruction.offset, || instruction.token(), depth, effect, exits.returns).ok()?;
            depth = behind;
            deepest = deepest.max(peak);
            if depth >= i32::from(DEPTH) - 1 {
                return None;
            }
            if instruction.info.flow != Flow::Next {
                match instruction.info.operand {
                    Operand::Branch | Operand::BranchS => {
                        let is_leave = matches!(instruction.opcode(), OpCode::Leave | OpCode::LeaveS);
                        let target = instruction.branch_target()?;
                        if is_leave && depth != 0 && exits.epilogue == Some(target) {
                            return None;
                        }
                        let depth = if is_leave { 0 } else { depth };
                        self.require(target, depth, instruction.offset)?;
                    }
                    Operand::Switch => {
                        instruction
                            .switch_targets()
                            .try_for_each(|target| self.require(target, depth, instruction.offset).ok_or(()))
                            .ok()?;
                    }
                    _ => {}
                }
            }
            comes_from_above = instruction.falls_through();
        }
        let is_settled = self.ahead == 0 && !comes_from_above;
        is_settled.then_some(deepest as u16)
    }

    /// Whether an instruction starts at an offset, or the code ends there.
    pub(crate) fn is_place(&self, offset: u32) -> bool {
        let place = self.places.get(offset as usize);
        place.is_some_and(|place| place & START != 0) || offset as usize + 1 == self.places.len()
    }

    /// Requires this depth at `target`, reached from an instruction at `from`.
    #[inline]
    fn require(&mut self, target: u32, depth: i32, from: u32) -> Option<()> {
        let known = depth as u16 + 1;
        let place = self.places.get_mut(target as usize)?;
        if *place == 0 && target > from {
            *place = known;
            self.ahead += 1;
            return Some(());
        }
        (*place & DEPTH == known).then_some(())
    }
}
