//! Checks whether a body is valid. It decodes, branches and clauses lead to instructions, and clauses nest. The stack
//! has one depth at each position and never underflows (III.1.7). Types are not checked.

use ecma335::{
    MethodBody, OpCode, Token,
    body::ClauseKind,
    nesting::Nesting,
    opcode::{Flow, OpCodeInfo, Operand},
};

use crate::{
    effects::CallEffect,
    scan::Scan,
    stack::{Exits, left_behind, step_over},
};

/// Buffers reused from one body to the next.
#[derive(Default, Debug)]
pub struct Checker {
    scan: Scan,
    instructions: Vec<Step>,
    /// By IL offset: the instruction there, plus one.
    by_offset: Vec<u32>,
    switch_targets: Vec<u32>,
    depths: Vec<i32>,
    work: Vec<u32>,
    /// The indexes of the first instructions of handlers and filters.
    handlers: Vec<u32>,
    nesting: Nesting,
}

/// The properties of an instruction that the walk needs.
#[derive(Clone, Copy, Debug)]
struct Step {
    info: &'static OpCodeInfo,
    offset: u32,
    /// The target of a branch, the token of a call, or the start of a switch's targets.
    operand: u32,
}

const UNKNOWN: i32 = -1;

impl Checker {
    /// Checks a body and returns its largest stack depth. `effect` gives the stack effect of the call of a token at
    /// an offset.
    ///
    /// # Errors
    /// The fault, with its offset.
    pub fn check(
        &mut self,
        body: &MethodBody<'_>,
        effect: &impl Fn(u32, Token) -> Option<CallEffect>,
        exits: Exits,
    ) -> Result<u16, String> {
        if let Some(depth) = self.scan.run(body, effect, exits) {
            check_clauses(body, &mut self.nesting, |offset| self.scan.is_place(offset))?;
            return Ok(depth);
        }
        self.decode(body)?;
        check_clauses(body, &mut self.nesting, |offset| self.by_offset.get(offset as usize).is_some_and(|index| *index > 0))?;
        self.depths.clear();
        self.depths.resize(self.instructions.len(), UNKNOWN);
        self.work.clear();
        self.handlers.clear();
        let mut deepest = 0;
        for clause in &body.clauses {
            // Catch handlers and filters start with the exception object on the stack (III.1.7.5).
            let depth = i32::from(matches!(clause.kind, ClauseKind::Catch(_) | ClauseKind::Filter(_)));
            self.reach(clause.handler_offset, depth, clause.handler_offset)?;
            if let ClauseKind::Filter(filter) = clause.kind {
                self.reach(filter, 1, filter)?;
            }
        }
        // At this point, the work list holds just the starts of handlers and filters.
        self.handlers.extend_from_slice(&self.work);
        self.handlers.sort_unstable();
        self.reach(0, 0, 0)?;
        while let Some(start) = self.work.pop() {
            let mut index = start as usize;
            let mut depth = self.depths[index];
            loop {
                let step = self.instructions[index];
                let token = || Token(step.operand);
                let (behind, peak) = step_over(step.info, step.offset, token, depth, effect, exits.returns)?;
                deepest = deepest.max(peak);
                depth = behind;
                if step.info.flow != Flow::Next {
                    self.follow(step, depth, exits)?;
                    if !step.info.flow.falls_through() {
                        break;
                    }
                }
                index += 1;
                if self.handlers.binary_search(&(index as u32)).is_ok() {
                    return Err(format!("IL_{:04x}: control falls into a handler", step.offset));
                }
                match self.depths.get_mut(index) {
                    Some(place) if *place == UNKNOWN => *place = depth,
                    Some(place) if *place == depth => break,
                    Some(place) => return Err(two_depths(self.instructions[index].offset, *place, depth)),
                    None => return Err(format!("IL_{:04x}: control runs off the end", step.offset)),
                }
            }
        }
        u16::try_from(deepest).map_err(|_| format!("the stack gets {deepest} deep"))
    }

    fn decode(&mut self, body: &MethodBody<'_>) -> Result<(), String> {
        self.instructions.clear();
        self.switch_targets.clear();
        self.by_offset.clear();
        self.by_offset.resize(body.il.len() + 1, 0);
        for instruction in body.instructions() {
            let instruction = instruction.map_err(|error| error.to_string())?;
            let operand = match instruction.info.operand {
                Operand::Branch | Operand::BranchS => instruction.branch_target().unwrap_or(u32::MAX),
                Operand::Switch => {
                    let start = self.switch_targets.len();
                    let targets = instruction.switch_targets();
                    self.switch_targets.push(targets.len() as u32);
                    self.switch_targets.extend(targets);
                    start as u32
                }
                _ => instruction.value() as u32,
            };
            self.instructions.push(Step { info: instruction.info, offset: instruction.offset, operand });
            self.by_offset[instruction.offset as usize] = self.instructions.len() as u32;
        }
        self.by_offset[body.il.len()] = self.instructions.len() as u32 + 1;
        Ok(())
    }

    /// Follows a branch or switch to its targets.
    fn follow(&mut self, step: Step, depth: i32, exits: Exits) -> Result<(), String> {
        match step.info.operand {
            Operand::Branch | Operand::BranchS => {
                let is_leave = matches!(step.info.opcode, OpCode::Leave | OpCode::LeaveS);
                if is_leave && depth != 0 && exits.epilogue == Some(step.operand) {
                    return Err(left_behind(step.offset, depth));
                }
                self.reach(step.operand, if is_leave { 0 } else { depth }, step.offset)
            }
            Operand::Switch => {
                let first = step.operand as usize + 1;
                let count = self.switch_targets[step.operand as usize] as usize;
                (first..first + count).try_for_each(|number| self.reach(self.switch_targets[number], depth, step.offset))
            }
            _ => Ok(()),
        }
    }

    /// Records that control reaches an offset with this depth.
    fn reach(&mut self, target: u32, depth: i32, from: u32) -> Result<(), String> {
        let index = self.by_offset.get(target as usize).copied().unwrap_or(0) as usize;
        if index == 0 || index > self.instructions.len() {
            return Err(format!("IL_{from:04x}: leads to IL_{target:04x}, which is no instruction"));
        }
        match self.depths[index - 1] {
            UNKNOWN => {
                self.depths[index - 1] = depth;
                self.work.push(index as u32 - 1);
                Ok(())
            }
            known if known == depth => Ok(()),
            known => Err(two_depths(target, known, depth)),
        }
    }
}

/// Checks that clauses lead to instructions, and that any two of their blocks are disjoint or nested. Inner clauses
/// come first.
fn check_clauses(body: &MethodBody<'_>, nesting: &mut Nesting, is_place: impl Fn(u32) -> bool) -> Result<(), String> {
    for (number, clause) in body.clauses.iter().enumerate() {
        let ranges = [clause.protected(), clause.handler()];
        if ranges.iter().any(|(start, end)| start >= end || !is_place(*start) || !is_place(*end)) {
            return Err(format!("exception clause {number}: its blocks do not lie on instructions"));
        }
    }
    match nesting.misplaced(&body.clauses).first() {
        Some(number) => Err(format!("exception clause {number} overlaps with another, or is out of order")),
        None => Ok(()),
    }
}

#[cold]
fn two_depths(offset: u32, one: i32, other: i32) -> String {
    format!("IL_{offset:04x}: the stack is {one} or {other} deep")
}
