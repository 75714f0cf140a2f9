//! Inserts a probe's calls. The enter call goes before the first instruction, the leave call to every way out. The
//! handle and catch calls go to the start of handlers, and those of sites around their call instructions.

use ecma335::{OpCode, body::ClauseKind, opcode::Flow};

use crate::{
    code::{Code, Instruction, Label, LabelClause, Operand, SiteAt},
    error::RewriteError,
    layout::stloc,
    probe::{LeaveMode, Shape, SiteProbe},
};

/// The instructions to insert at each kind of place. An empty list inserts nothing.
#[derive(Default, Debug)]
pub(crate) struct Insertion {
    pub(crate) enter: Vec<Instruction>,
    pub(crate) leave: Vec<Instruction>,
    /// The leave call before a `ret` with a return value, which stays on the stack. Empty if that is the same as
    /// `leave`.
    pub(crate) leave_with_value: Vec<Instruction>,
    /// Before the `ret` after a try block, with an empty stack.
    pub(crate) behind: Vec<Instruction>,
    pub(crate) handle: Vec<Instruction>,
    pub(crate) catch: Vec<Instruction>,
    /// In a filter around a body in a try block. The exception stays on the stack.
    pub(crate) pass: Vec<Instruction>,
    /// By index in [`Code::sites`]: before and after the call.
    pub(crate) sites: Vec<[Vec<Instruction>; 2]>,
    /// The places that are counted: the index of an instruction in the input, and the code before it.
    pub(crate) counters: Vec<(usize, [Instruction; 3])>,
    /// The local for the return value where the method ends, if the IL returns one.
    pub(crate) return_local: Option<u16>,
    /// Loads it behind the try block.
    pub(crate) load_returned: Vec<Instruction>,
}

impl Insertion {
    /// Takes everything out. The buffers keep their capacity.
    pub(crate) fn clear(&mut self) {
        let Self { enter, leave, leave_with_value, behind, handle, catch, pass, sites, counters, return_local, load_returned } =
            self;
        [enter, leave, leave_with_value, behind, handle, catch, pass, load_returned].into_iter().for_each(Vec::clear);
        sites.clear();
        counters.clear();
        *return_local = None;
    }
}

/// Buffers reused from one body to the next.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    instructions: Vec<Instruction>,
    moved: Vec<u32>,
    additions: Vec<Addition>,
}

/// Instructions inserted before another one. Branches to that instruction now lead to them.
#[derive(Clone, Copy, Debug)]
struct Addition {
    /// The index of that instruction.
    before: usize,
    what: Addend,
}

/// The kinds of inserted instructions, in the order of their places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Addend {
    /// After the preceding call. No branch leads here.
    BehindCall(usize),
    Handle,
    Catch,
    Counter(usize),
    BeforeCall(usize),
}

/// The shape for a body, given the requested mode.
pub(crate) fn shape(code: &Code, mode: LeaveMode) -> Shape {
    let needs_return = |instruction: &Instruction| matches!(instruction.opcode(), OpCode::Tail | OpCode::Jmp);
    if mode == LeaveMode::Return || code.instructions.iter().any(needs_return) { Shape::Return } else { Shape::Finally }
}

/// Inserts the instructions into a body.
///
/// # Errors
/// If the body has a `ret` or a `tail.` in a forbidden place.
pub(crate) fn insert(code: &mut Code, what: &Insertion, shape: Shape, scratch: &mut Scratch) -> Result<(), RewriteError> {
    refuse_protected_rets(code)?;
    let Scratch { instructions, moved, additions } = scratch;
    additions.clear();
    note_handlers(code, what, additions);
    note_sites(code, additions);
    let counters = what.counters.iter().enumerate();
    additions.extend(counters.map(|(number, (before, _))| Addition { before: *before, what: Addend::Counter(number) }));
    if !additions.is_empty() {
        additions.sort_unstable_by_key(|addition| (addition.before, addition.what));
        additions.dedup_by_key(|addition| (addition.before, addition.what));
        add(code, what, additions, instructions, moved);
    }
    instructions.clear();
    moved.clear();
    instructions.extend_from_slice(&what.enter);
    match shape {
        Shape::Finally => protect(code, what, instructions, moved),
        Shape::Return | Shape::Counted => precede_exits(code, what, instructions, moved)?,
    }
    Ok(())
}

/// Adds a call at the start of each handler. The preceding block still ends before it.
fn note_handlers(code: &Code, what: &Insertion, additions: &mut Vec<Addition>) {
    for clause in &code.clauses {
        let is_catch = matches!(clause.kind, ClauseKind::Catch(_) | ClauseKind::Filter(_));
        let (call, addend) = if is_catch { (&what.catch, Addend::Catch) } else { (&what.handle, Addend::Handle) };
        if !call.is_empty() {
            additions.push(Addition { before: code.target(clause.handler.0), what: addend });
        }
    }
}

/// Adds a site's calls around the call instruction and its prefixes.
fn note_sites(code: &Code, additions: &mut Vec<Addition>) {
    for (number, SiteAt { call, ahead, .. }) in code.sites.iter().enumerate() {
        let first = ahead.unwrap_or(*call);
        additions.push(Addition { before: first - prefixes(&code.instructions, first), what: Addend::BeforeCall(number) });
        additions.push(Addition { before: call + 1, what: Addend::BehindCall(number) });
    }
}

/// The number of prefixes of an instruction.
fn prefixes(instructions: &[Instruction], index: usize) -> usize {
    let before = instructions.get(..index).unwrap_or_default();
    before.iter().rev().take_while(|instruction| instruction.info.flow == Flow::Prefix).count()
}

/// Keeps the sites that can have a probe, and notes those whose call consumes the return value of another call. These
/// sites are dropped:
/// - Tail calls, because no instruction runs after them.
/// - Calls with a branch target between their prefixes and the call instruction.
/// - Constructors of delegates, which verifiers recognise by the preceding instruction (III.4.21).
/// - Calls at the end of a block that control falls out of. The fault would then be another instruction's.
pub(crate) fn keep_possible_sites<C>(code: &mut Code, probes: &[SiteProbe<C>]) {
    let mut sites = std::mem::take(&mut code.sites);
    let blocks = code.clauses.iter().flat_map(|clause| [clause.protected.1, clause.handler.0, clause.handler.1]);
    let ends: Vec<usize> = blocks.map(|end| code.target(end)).collect();
    let is_possible = |call: usize| {
        let (before, prefixes) = code.instructions[..call].split_at(call - prefixes(&code.instructions, call));
        let makes_delegate = matches!(before.last().map(Instruction::opcode), Some(OpCode::Ldftn | OpCode::Ldvirtftn));
        let is_tail_call = prefixes.iter().any(|prefix| prefix.opcode() == OpCode::Tail);
        let is_between = |target: &u32| (before.len() + 1..=call).contains(&(*target as usize));
        !makes_delegate
            && !is_tail_call
            && !ends.contains(&(call + 1))
            && (prefixes.is_empty() || !code.targets().iter().any(is_between))
    };
    sites.retain(|at| is_possible(at.call));
    let has_ahead = |at: &SiteAt| probes.get(at.site.probe).is_some_and(|probe| probe.ahead.is_some());
    if sites.iter().any(has_ahead) {
        let targets = code.targets();
        for at in sites.iter_mut().filter(|at| has_ahead(at)) {
            at.ahead = call_before(&code.instructions, at.call).filter(|first| {
                let is_between = |target: &u32| (first + 1..=at.call).contains(&(*target as usize));
                !targets.iter().any(is_between)
            });
        }
    }
    code.sites = sites;
}

/// The call whose return value another call consumes, if they are adjacent. .NET's JIT compiler also ignores a call
/// between them that takes that value and a constant, such as `ConfigureAwait`. A value type is passed to it by its
/// address.
fn call_before(instructions: &[Instruction], call: usize) -> Option<usize> {
    use OpCode::{Call, Callvirt, LdcI40, LdcI41, Ldloca, LdlocaS, Stloc, Stloc0, Stloc1, Stloc2, Stloc3, StlocS};
    let opcode = |back: usize| call.checked_sub(back).and_then(|index| instructions.get(index)).map(Instruction::opcode);
    let is_call = |back: usize| matches!(opcode(back), Some(Call | Callvirt));
    let is_constant = matches!(opcode(2), Some(LdcI40 | LdcI41));
    let is_address = matches!(opcode(3), Some(Ldloca | LdlocaS));
    let is_kept = matches!(opcode(4), Some(Stloc | StlocS | Stloc0 | Stloc1 | Stloc2 | Stloc3));
    let back = match is_call(1) && is_constant {
        true if is_call(3) => 3,
        true if is_address && is_kept && is_call(5) => 5,
        _ => 1,
    };
    is_call(back).then_some(call - back)
}

/// Inserts the additions. Branches to the instruction after an addition lead to the addition, unless that stands
/// after a call.
fn add(code: &mut Code, what: &Insertion, additions: &[Addition], out: &mut Vec<Instruction>, moved: &mut Vec<u32>) {
    out.clear();
    moved.clear();
    let (mut copied, mut led_to) = (0, None);
    let mut copy = |until: usize, led_to: Option<usize>, out: &mut Vec<Instruction>| {
        let same = code.instructions.get(copied..until).unwrap_or_default();
        if !same.is_empty() {
            moved.push(led_to.unwrap_or(out.len()) as u32);
            moved.extend(out.len() as u32 + 1..(out.len() + same.len()) as u32);
            out.extend_from_slice(same);
            copied = until;
        }
        !same.is_empty()
    };
    for Addition { before, what: addend } in additions {
        if copy(*before, led_to, out) {
            led_to = None;
        }
        let (instructions, origin) = match addend {
            Addend::BehindCall(site) => (&what.sites[*site][1][..], before - 1),
            Addend::Handle => (&what.handle[..], *before),
            Addend::Catch => (&what.catch[..], *before),
            Addend::Counter(number) => (&what.counters[*number].1[..], *before),
            Addend::BeforeCall(site) => (&what.sites[*site][0][..], *before),
        };
        if !matches!(addend, Addend::BehindCall(_)) {
            led_to = led_to.or(Some(out.len()));
        }
        extend_as(out, instructions, code.instructions[origin].origin);
    }
    copy(code.instructions.len(), led_to, out);
    moved.push(out.len() as u32);
    code.replace(out, moved);
}

/// Inserts instructions as a part of the input's statement at `origin`, so that a debugger does not stop at them.
fn extend_as<'i>(out: &mut Vec<Instruction>, instructions: impl IntoIterator<Item = &'i Instruction>, origin: u32) {
    out.extend(instructions.into_iter().map(|added| Instruction { origin, ..*added }));
}

/// Puts the body into a try block. Each `ret` stores its value and leaves to one epilogue after the finally handler.
/// A filter for exceptions rejects each one. It runs before any handler further out, so the program's behaviour stays
/// the same.
fn protect(code: &mut Code, what: &Insertion, out: &mut Vec<Instruction>, moved: &mut Vec<u32>) {
    let protected_start = out.len();
    // Bound to the epilogue once its position is known.
    let epilogue = code.new_label(0);
    let mut returns = false;
    // Most instructions stay unchanged, and are copied in runs.
    let mut rest = &code.instructions[..];
    loop {
        let run = rest.iter().position(|instruction| instruction.opcode() == OpCode::Ret);
        let (same, behind) = rest.split_at(run.unwrap_or(rest.len()));
        let start = out.len() as u32;
        moved.extend(start..start + same.len() as u32);
        out.extend_from_slice(same);
        let [instruction, behind @ ..] = behind else { break };
        rest = behind;
        moved.push(out.len() as u32);
        returns = true;
        extend_as(out, &what.return_local.map(stloc), instruction.origin);
        extend_as(out, &[Instruction::new(OpCode::LeaveS, Operand::Label(epilogue))], instruction.origin);
    }
    let protected_end = out.len();
    moved.push(protected_end as u32);
    let plain = |opcode| Instruction::new(opcode, Operand::Value(0));
    if !what.pass.is_empty() {
        out.extend_from_slice(&what.pass);
        out.extend([OpCode::Pop, OpCode::LdcI40, OpCode::Endfilter].map(plain));
    }
    let never_reached = out.len();
    if !what.pass.is_empty() {
        out.push(plain(OpCode::Rethrow));
    }
    let handler_start = out.len();
    out.extend_from_slice(&what.leave);
    out.push(plain(OpCode::Endfinally));
    let handler_end = out.len();
    // A method that never returns needs no epilogue.
    if returns {
        out.extend_from_slice(&what.behind);
        out.extend_from_slice(&what.load_returned);
        out.push(plain(OpCode::Ret));
    }
    code.replace(out, moved);
    code.bind(epilogue, handler_end);
    let [start, filter, handler, end] =
        [protected_start, protected_end, never_reached, handler_start].map(|place| code.new_label(place));
    if !what.pass.is_empty() {
        let kind = ClauseKind::Filter(0);
        code.clauses.push(LabelClause { kind, filter: Some(filter), protected: (start, filter), handler: (handler, end) });
    }
    // The outermost clause comes last (II.19).
    code.clauses.push(LabelClause { kind: ClauseKind::Finally, filter: None, protected: (start, end), handler: (end, epilogue) });
}

/// Puts the leave call before each `ret`, `jmp` and tail call. Branches to those lead to the leave call.
fn precede_exits(
    code: &mut Code,
    what: &Insertion,
    out: &mut Vec<Instruction>,
    moved: &mut Vec<u32>,
) -> Result<(), RewriteError> {
    let leave = &what.leave[..];
    let before_ret = if what.leave_with_value.is_empty() { leave } else { &what.leave_with_value };
    let instructions = &code.instructions;
    let has_tail_calls = !leave.is_empty() && instructions.iter().any(|instruction| instruction.opcode() == OpCode::Tail);
    let targets = if has_tail_calls { code.targets() } else { Vec::new() };
    let is_target = |index: usize| targets.binary_search(&(index as u32)).is_ok();
    let mut index = 0;
    while let Some(instruction) = instructions.get(index) {
        moved.push(out.len() as u32);
        match instruction.opcode() {
            OpCode::Ret => extend_as(out, before_ret, instruction.origin),
            OpCode::Jmp => extend_as(out, leave, instruction.origin),
            _ => {}
        }
        let tail_call = if has_tail_calls { tail_call_end(instructions, index, is_target)? } else { None };
        let Some(ret) = tail_call else {
            out.push(*instruction);
            index += 1;
            continue;
        };
        // The leave call precedes the prefixes. The `ret` after the tail call gets none, because it would run too
        // late.
        extend_as(out, leave, instruction.origin);
        out.push(*instruction);
        for inner in &instructions[index + 1..ret] {
            moved.push(out.len() as u32);
            out.push(*inner);
        }
        out.push(instructions[ret]);
        // A branch to that `ret` bypasses the leave call before the tail call, so it gets a leave call of its own.
        moved.push(out.len() as u32);
        if is_target(ret) {
            extend_as(out, before_ret, instructions[ret].origin);
            out.push(instructions[ret]);
        }
        index = ret + 1;
    }
    moved.push(out.len() as u32);
    code.replace(out, moved);
    Ok(())
}

/// The index of the `ret` after a tail call, if one with its prefixes starts at this instruction.
fn tail_call_end(
    instructions: &[Instruction],
    start: usize,
    is_target: impl Fn(usize) -> bool,
) -> Result<Option<usize>, RewriteError> {
    /// More than the number of prefixes: none may occur twice (III.2).
    const MAX_PREFIXES: usize = 8;
    let is_prefix = |instruction: &&Instruction| instruction.info.flow == Flow::Prefix;
    let prefixes = instructions[start..].iter().take(MAX_PREFIXES).take_while(is_prefix);
    let count = prefixes.clone().count();
    if !prefixes.clone().any(|prefix| prefix.opcode() == OpCode::Tail) {
        return Ok(None);
    }
    let ret = start + count + 1;
    let is_ret = instructions.get(ret).is_some_and(|instruction| instruction.opcode() == OpCode::Ret);
    if !is_ret || (start + 1..ret).any(is_target) {
        return Err(RewriteError::TailNotBeforeRet);
    }
    Ok(Some(ret))
}

/// Refuses a `ret` inside a protected block. That is invalid IL, and moving it would hide the fault.
fn refuse_protected_rets(code: &Code) -> Result<(), RewriteError> {
    if code.clauses.is_empty() {
        return Ok(());
    }
    let place = |(start, end): (Label, Label)| (code.target(start), code.target(end));
    let blocks = code.clauses.iter().flat_map(|clause| {
        let filter = clause.filter.map(|filter| (filter, clause.handler.0));
        [clause.protected, clause.handler].into_iter().chain(filter).map(place)
    });
    let mut blocks: Vec<(usize, usize)> = blocks.collect();
    blocks.sort_unstable();
    let (mut blocks, mut furthest_end) = (blocks.into_iter().peekable(), 0);
    for (index, instruction) in code.instructions.iter().enumerate() {
        while let Some((_, end)) = blocks.next_if(|(start, _)| *start <= index) {
            furthest_end = furthest_end.max(end);
        }
        if instruction.opcode() == OpCode::Ret && index < furthest_end {
            return Err(RewriteError::RetInProtectedBlock);
        }
    }
    Ok(())
}
