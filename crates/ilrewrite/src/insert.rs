//! Where a probe's calls go: the enter call before the first instruction, the leave call on every way out, the handle and
//! catch calls where handlers begin, and those of sites around the calls that have them.

use ecma335::{OpCode, body::ClauseKind, opcode::Flow};

use crate::{
    code::{Code, Instruction, Label, LabelClause, Operand, SiteAt},
    error::RewriteError,
    layout::{ldloc, stloc},
    probe::{LeaveMode, Shape, SiteProbe},
};

/// The instructions that are put in; none where nothing is to be.
#[derive(Default, Debug)]
pub(crate) struct Insertion {
    pub(crate) enter: Vec<Instruction>,
    pub(crate) leave: Vec<Instruction>,
    /// The same before a `ret`, whose value is on the stack and stays there; nothing, if it is no other.
    pub(crate) leave_with_value: Vec<Instruction>,
    /// Before the `ret` behind a try block, with nothing on the stack.
    pub(crate) behind: Vec<Instruction>,
    pub(crate) handle: Vec<Instruction>,
    pub(crate) catch: Vec<Instruction>,
    /// In a filter around a body in a try block; the exception is on the stack and stays there.
    pub(crate) pass: Vec<Instruction>,
    /// By the number of [`Code::sites`]: before and behind the call.
    pub(crate) sites: Vec<[Vec<Instruction>; 2]>,
    /// The local that holds the return value on the way out, if the IL returns one.
    pub(crate) return_local: Option<u16>,
}

/// Room that is used again from one body to the next.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    instructions: Vec<Instruction>,
    moved: Vec<u32>,
    additions: Vec<Addition>,
}

/// Instructions that go before another one, which keeps what led to it: whatever led there leads to them.
#[derive(Clone, Copy, Debug)]
struct Addition {
    /// The index of that one.
    before: usize,
    what: Addend,
}

/// What goes there, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Addend {
    /// What stands behind the call before it. Nothing leads here but that call.
    BehindCall(usize),
    Handle,
    Catch,
    BeforeCall(usize),
}

/// The shape that fits a body and the mode asked for.
pub(crate) fn shape(code: &Code, mode: LeaveMode) -> Shape {
    let needs_return = |instruction: &Instruction| matches!(instruction.opcode(), OpCode::Tail | OpCode::Jmp);
    if mode == LeaveMode::Return || code.instructions.iter().any(needs_return) { Shape::Return } else { Shape::Finally }
}

/// Puts the instructions into a body.
///
/// # Errors
/// If the body has a `ret` or a `tail.` where none can be.
pub(crate) fn insert(code: &mut Code, what: &Insertion, shape: Shape, scratch: &mut Scratch) -> Result<(), RewriteError> {
    refuse_protected_rets(code)?;
    let Scratch { instructions, moved, additions } = scratch;
    additions.clear();
    note_handlers(code, what, additions);
    note_sites(code, additions);
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
        Shape::Return => precede_exits(code, what, instructions, moved)?,
    }
    Ok(())
}

/// Each handler begins with a call; the block before it ends there as it did.
fn note_handlers(code: &Code, what: &Insertion, additions: &mut Vec<Addition>) {
    for clause in &code.clauses {
        let is_catch = matches!(clause.kind, ClauseKind::Catch(_) | ClauseKind::Filter(_));
        let (call, addend) = if is_catch { (&what.catch, Addend::Catch) } else { (&what.handle, Addend::Handle) };
        if !call.is_empty() {
            additions.push(Addition { before: code.target(clause.handler.0), what: addend });
        }
    }
}

/// A site's calls stand around the call and its prefixes.
fn note_sites(code: &Code, additions: &mut Vec<Addition>) {
    for (number, SiteAt { call, ahead, .. }) in code.sites.iter().enumerate() {
        let first = ahead.unwrap_or(*call);
        additions.push(Addition { before: first - prefixes(&code.instructions, first), what: Addend::BeforeCall(number) });
        additions.push(Addition { before: call + 1, what: Addend::BehindCall(number) });
    }
}

/// How many prefixes an instruction has.
fn prefixes(instructions: &[Instruction], index: usize) -> usize {
    let before = instructions.get(..index).unwrap_or_default();
    before.iter().rev().take_while(|instruction| instruction.info.flow == Flow::Prefix).count()
}

/// Keeps those sites that a probe may stand at: no tail call, as nothing runs behind it; no call that something leads to
/// behind its prefixes; not the making of a delegate, which verifiers know by the instruction before it (III.4.21); and none
/// that control runs out of a block behind, which would be another instruction's fault then. Notes which of them take what
/// another call returned.
pub(crate) fn keep_possible_sites(code: &mut Code, probes: &[SiteProbe]) {
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

/// The call that returns what another one takes, if nothing else is between: or what .NET's JIT compiler takes for nothing, the
/// call of a method that is passed that and a constant, as `ConfigureAwait` is, of a value type by its address.
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

/// Puts them in. What led to the instruction behind an addition leads to the addition, unless that stands behind a call.
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
            Addend::BehindCall(site) => (&what.sites[*site][1], before - 1),
            Addend::Handle => (&what.handle, *before),
            Addend::Catch => (&what.catch, *before),
            Addend::BeforeCall(site) => (&what.sites[*site][0], *before),
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

/// Puts instructions in as a part of the statement that has one of the input: who steps through that does not stop at them.
fn extend_as<'i>(out: &mut Vec<Instruction>, instructions: impl IntoIterator<Item = &'i Instruction>, origin: u32) {
    out.extend(instructions.into_iter().map(|added| Instruction { origin, ..*added }));
}

/// The body in a try block; each `ret` stores its value and leaves to one epilogue behind the finally handler. A filter that
/// sees exceptions takes none: it runs before any handler of theirs, so the program sees nothing of it.
fn protect(code: &mut Code, what: &Insertion, out: &mut Vec<Instruction>, moved: &mut Vec<u32>) {
    let protected_start = out.len();
    // Bound to the epilogue once its place is known.
    let epilogue = code.new_label(0);
    let mut returns = false;
    // Most instructions stay as they are, and are copied in runs.
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
    // A method that never returns has no epilogue.
    if returns {
        out.extend_from_slice(&what.behind);
        out.extend(what.return_local.map(ldloc));
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

/// The leave call before each `ret`, `jmp` and tail call; whatever led there leads to the leave call now.
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
        // The leave call comes before the prefixes, and the `ret` behind the call has none: by then it would be late.
        extend_as(out, leave, instruction.origin);
        out.push(*instruction);
        for inner in &instructions[index + 1..ret] {
            moved.push(out.len() as u32);
            out.push(*inner);
        }
        out.push(instructions[ret]);
        // Who jumps to that `ret` has not passed the leave call before the tail call, and gets one of his own.
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

/// If a tail call with its prefixes starts at this instruction: the index of the `ret` behind it.
fn tail_call_end(
    instructions: &[Instruction],
    start: usize,
    is_target: impl Fn(usize) -> bool,
) -> Result<Option<usize>, RewriteError> {
    /// More than there are, and none can come twice (III.2).
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

/// A `ret` inside a protected block is no valid IL; moving it would make it look so.
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
