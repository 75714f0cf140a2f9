//! What is put into a method: the enter probe before its first instruction, the leave probe on every way out, and the
//! handle probe where each of its handlers begins.

use ecma335::{OpCode, Token, body::ClauseKind};

use crate::{
    code::{Code, Instruction, Label, LabelClause, Operand},
    layout::{ldloc, stloc},
    reason::Reason,
};

/// How the leave probe is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LeaveMode {
    /// The body goes into a try block and the probe into its finally: it runs however the method ends.
    #[default]
    Finally,
    /// The probe stands before each `ret`. An exception passes it by; the handle probe of who handles that says so.
    Return,
}

impl LeaveMode {
    /// The word for it on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Finally => "finally",
            Self::Return => "return",
        }
    }

    /// The mode that a word stands for.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Finally, Self::Return].into_iter().find(|mode| mode.word() == word)
    }
}

/// The shape that a method was woven in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// See [`LeaveMode::Finally`].
    Finally,
    /// See [`LeaveMode::Return`]; also what `tail.` and `jmp` need, which no try block may hold.
    Return,
}

/// The numbers that a method's probes are made of.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// What the enter probe passes: which method this is.
    pub method_id: u64,
    /// `native int ProfileInfoTracker.WhenEntering(int64)`.
    pub when_entering: Token,
    /// `void ProfileInfoTracker.WhenLeaving(native int)`.
    pub when_leaving: Token,
    /// `void ProfileInfoTracker.WhenHandling(native int)`.
    pub when_handling: Token,
    /// The local that holds what the enter probe gave.
    pub token_local: u16,
    /// The local that holds the return value on the way out, if the IL returns one.
    pub return_local: Option<u16>,
}

/// Room that is used again from one body to the next.
#[derive(Default, Debug)]
pub struct Scratch {
    instructions: Vec<Instruction>,
    moved: Vec<u32>,
    handlers: Vec<usize>,
}

/// The shape that fits a body and the mode asked for.
pub fn shape(code: &Code, mode: LeaveMode) -> Shape {
    let needs_return = |instruction: &Instruction| matches!(instruction.opcode(), OpCode::Tail | OpCode::Jmp);
    if mode == LeaveMode::Return || code.instructions.iter().any(needs_return) { Shape::Return } else { Shape::Finally }
}

/// Weaves the probes into a body.
///
/// # Errors
/// If the body has a `ret` or a `tail.` where none can be.
pub fn weave(code: &mut Code, probe: &Probe, shape: Shape, scratch: &mut Scratch) -> Result<(), Reason> {
    refuse_protected_rets(code)?;
    let Scratch { instructions, moved, handlers } = scratch;
    if !code.clauses.is_empty() {
        handlers.clear();
        handlers.extend(code.clauses.iter().map(|clause| code.target(clause.handler.0)));
        handlers.sort_unstable();
        weave_handlers(code, probe, handlers, instructions, moved);
    }
    instructions.clear();
    moved.clear();
    instructions.push(Instruction::new(OpCode::LdcI8, Operand::Value(probe.method_id)));
    instructions.push(call(probe.when_entering));
    instructions.push(stloc(probe.token_local));
    match shape {
        Shape::Finally => weave_finally(code, probe, instructions, moved),
        Shape::Return => weave_return(code, probe, instructions, moved)?,
    }
    Ok(())
}

/// The handle probe where each handler begins; the block before it ends there as it did. A filter has none: it runs while
/// the frames that the exception will pass are still there.
fn weave_handlers(code: &mut Code, probe: &Probe, starts: &[usize], out: &mut Vec<Instruction>, moved: &mut Vec<u32>) {
    out.clear();
    moved.clear();
    for (index, instruction) in code.instructions.iter().enumerate() {
        moved.push(out.len() as u32);
        if starts.binary_search(&index).is_ok() {
            out.extend([ldloc(probe.token_local), call(probe.when_handling)]);
        }
        out.push(*instruction);
    }
    moved.push(out.len() as u32);
    code.replace(out, moved);
}

/// The body in a try block; each `ret` stores its value and leaves to one epilogue behind the finally handler.
fn weave_finally(code: &mut Code, probe: &Probe, out: &mut Vec<Instruction>, moved: &mut Vec<u32>) {
    let protected_start = out.len();
    // Bound to the epilogue once its place is known.
    let epilogue = code.new_label(0);
    let mut returns = false;
    for instruction in &code.instructions {
        moved.push(out.len() as u32);
        if instruction.opcode() != OpCode::Ret {
            out.push(*instruction);
            continue;
        }
        returns = true;
        let first = out.len();
        out.extend(probe.return_local.map(stloc));
        out.push(Instruction::new(OpCode::LeaveS, Operand::Label(epilogue)));
        out[first..].iter_mut().for_each(|added| added.origin = instruction.origin);
    }
    let handler_start = out.len();
    moved.push(handler_start as u32);
    out.extend([ldloc(probe.token_local), call(probe.when_leaving), Instruction::new(OpCode::Endfinally, Operand::Value(0))]);
    let handler_end = out.len();
    // A method that never returns has no epilogue.
    if returns {
        out.extend(probe.return_local.map(ldloc));
        out.push(Instruction::new(OpCode::Ret, Operand::Value(0)));
    }
    code.replace(out, moved);
    code.bind(epilogue, handler_end);
    let start = code.new_label(protected_start);
    let end = code.new_label(handler_start);
    // The outermost clause comes last (II.19).
    code.clauses.push(LabelClause { kind: ClauseKind::Finally, filter: None, protected: (start, end), handler: (end, epilogue) });
}

/// The leave probe before each `ret`, `jmp` and tail call; whatever led there leads to the probe now.
fn weave_return(code: &mut Code, probe: &Probe, out: &mut Vec<Instruction>, moved: &mut Vec<u32>) -> Result<(), Reason> {
    let leave = [ldloc(probe.token_local), call(probe.when_leaving)];
    let instructions = &code.instructions;
    let mut index = 0;
    while let Some(instruction) = instructions.get(index) {
        moved.push(out.len() as u32);
        if matches!(instruction.opcode(), OpCode::Ret | OpCode::Jmp) {
            out.extend(leave);
        }
        let Some(ret) = tail_call_end(code, index)? else {
            out.push(*instruction);
            index += 1;
            continue;
        };
        // The probe comes before the prefixes, and the `ret` behind the call has none: by then it would be late.
        out.extend(leave);
        out.push(*instruction);
        for inner in &instructions[index + 1..ret] {
            moved.push(out.len() as u32);
            out.push(*inner);
        }
        out.push(instructions[ret]);
        // Who jumps to that `ret` has not passed the probe before the call, and gets one of his own.
        moved.push(out.len() as u32);
        if code.is_target(ret) {
            out.extend(leave);
            out.push(instructions[ret]);
        }
        index = ret + 1;
    }
    moved.push(out.len() as u32);
    code.replace(out, moved);
    Ok(())
}

/// If a tail call with its prefixes starts at this instruction: the index of the `ret` behind it.
fn tail_call_end(code: &Code, start: usize) -> Result<Option<usize>, Reason> {
    let is_prefix = |instruction: &&Instruction| instruction.info.flow == ecma335::opcode::Flow::Prefix;
    let prefixes = code.instructions[start..].iter().take_while(is_prefix);
    let count = prefixes.clone().count();
    if !prefixes.clone().any(|prefix| prefix.opcode() == OpCode::Tail) {
        return Ok(None);
    }
    let ret = start + count + 1;
    let is_ret = code.instructions.get(ret).is_some_and(|instruction| instruction.opcode() == OpCode::Ret);
    if !is_ret || (start + 1..ret).any(|inside| code.is_target(inside)) {
        return Err(Reason::TailNotBeforeRet);
    }
    Ok(Some(ret))
}

/// A `ret` inside a protected block is no valid IL; moving it would make it look so.
fn refuse_protected_rets(code: &Code) -> Result<(), Reason> {
    if code.clauses.is_empty() {
        return Ok(());
    }
    let inside = |(start, end): (Label, Label), index: usize| (code.target(start)..code.target(end)).contains(&index);
    for (index, instruction) in code.instructions.iter().enumerate() {
        if instruction.opcode() == OpCode::Ret
            && code.clauses.iter().any(|clause| inside(clause.protected, index) || inside(clause.handler, index))
        {
            return Err(Reason::RetInProtectedBlock);
        }
    }
    Ok(())
}

fn call(method: Token) -> Instruction {
    Instruction::new(OpCode::Call, Operand::Value(method.0.into()))
}
