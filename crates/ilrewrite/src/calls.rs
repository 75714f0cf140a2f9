//! Builds the instructions of a probe's calls, and those of a method's additional calls.

use ecma335::{OpCode, element::ElementType};

use crate::{
    batch::Batch,
    code::{Code, Instruction, Operand, SiteAt},
    insert::Insertion,
    layout::{ldloc, ldloca, stloc},
    load::Operands,
    locals::Locals,
    method::Method,
    prepared::{PreparedProbe, Requested},
    probe::{Argument, OwnCalls, Probe, Returned, Shape, SiteProbe},
};

/// Builds all that is inserted into a body. The buffers of the insertion are reused.
pub(crate) fn build_calls(
    code: &Code,
    probe: &PreparedProbe<'_>,
    method: &Method<'_, '_>,
    shape: Shape,
    locals: &Locals<'_>,
    batch: &mut Batch,
    insertion: &mut Insertion,
) {
    let operands = Operands {
        values: method.values,
        enter_result: locals.enter_result,
        returned: if locals.is_returned_passed { method.returned } else { Returned::Nothing },
        return_type: locals.returned_type,
        return_local: locals.returned,
        object_local: locals.object,
        site_constant: 0,
        site_result: None,
        kept: locals.kept,
        own: locals.own,
    };
    insertion.clear();
    insertion.return_local = locals.returned;
    if let Some(local) = locals.returned {
        load_returned(local, locals.returned_type, code, &mut insertion.load_returned);
    }
    // Only handlers need their calls.
    let has_handlers = !code.clauses.is_empty();
    build_probe(&probe.calls, has_handlers, &operands, batch, insertion);
    if let Some(own) = method.own {
        add_own(own, has_handlers, shape, &operands, batch, insertion);
    }
    for at in &code.sites {
        let site_probe = probe.calls.sites.get(at.site.probe);
        let site_result = locals.sites.get(at.site.probe).copied().flatten();
        let operands = Operands { site_constant: at.site.constant, site_result, ..operands };
        insertion.sites.push(site_probe.map_or_else(Default::default, |probe| build_site(probe, at, &operands, batch)));
    }
}

/// Loads the return value behind the leave call. On x64 of Unix, no register for floating-point numbers survives a call. If a loop
/// computes the value, the JIT compilers of .NET 9 and later then keep it in memory in the whole loop, which takes 2.5 times as long. A
/// volatile read makes the local a place in memory, so that only the end of the method stores to it.
fn load_returned(local: u16, ty: &[u8], code: &Code, out: &mut Vec<Instruction>) {
    let read = match *ty {
        [ty] if ty == ElementType::R4 as u8 => Some(OpCode::LdindR4),
        [ty] if ty == ElementType::R8 as u8 => Some(OpCode::LdindR8),
        _ => None,
    };
    match read.filter(|_| code.has_loop()) {
        Some(read) => out.extend([ldloca(local), plain(OpCode::Volatile), plain(read)]),
        None => out.push(ldloc(local)),
    }
}

fn plain(opcode: OpCode) -> Instruction {
    Instruction::new(opcode, Operand::Value(0))
}

fn build_probe(
    probe: &Probe<Requested<'_>>,
    has_handlers: bool,
    operands: &Operands<'_>,
    batch: &mut Batch,
    insertion: &mut Insertion,
) {
    let Insertion { enter, leave, leave_with_value, handle, catch, .. } = insertion;
    if let Some(call) = probe.enter {
        batch.put_call(call, operands, enter);
        enter.extend(operands.enter_result.map(stloc));
    }
    if let Some(call) = probe.leave {
        batch.put_call(call, operands, leave);
    }
    if let Some(call) = probe.handle.filter(|_| has_handlers) {
        batch.put_call(call, operands, handle);
    }
    if let Some(call) = probe.catch.filter(|_| has_handlers) {
        if call.call.passes(Argument::Exception) {
            // The handler's exception stays on the stack.
            catch.push(Instruction::new(OpCode::Dup, Operand::Value(0)));
            catch.extend(operands.object_local.map(stloc));
        }
        batch.put_call(call, operands, catch);
    }
    if let Some(local) = operands.return_local.filter(|_| operands.returned != Returned::Nothing) {
        leave_with_value.push(stloc(local));
        leave_with_value.extend_from_slice(leave);
        leave_with_value.push(ldloc(local));
    }
}

/// Adds the method's additional calls around those of its probe.
fn add_own(
    own: &OwnCalls,
    has_handlers: bool,
    shape: Shape,
    operands: &Operands<'_>,
    batch: &mut Batch,
    insertion: &mut Insertion,
) {
    let Insertion { enter, leave, leave_with_value, behind, catch, pass, .. } = insertion;
    if let [first, rest @ ..] = &own.enter[..] {
        batch.put_own(std::slice::from_ref(first), operands, enter);
        enter.extend(operands.kept.map(stloc));
        batch.put_own(rest, operands, enter);
    }
    if has_handlers {
        batch.put_own(&own.catch, operands, catch);
    }
    let of_probe = std::mem::take(leave);
    if shape == Shape::Finally {
        batch.put_own(&own.end, operands, leave);
        leave.extend(of_probe);
        batch.put_own(&own.ret, operands, behind);
        batch.put_own(&own.pass, operands, pass);
    } else {
        leave_with_value.clear();
        leave_with_value.extend(operands.return_local.map(stloc));
        batch.put_own(&own.ret, operands, leave_with_value);
        leave_with_value.extend_from_slice(&of_probe);
        leave_with_value.extend(operands.return_local.map(ldloc));
        batch.put_own(&own.replace, operands, leave);
        leave.extend(of_probe);
    }
}

/// The instructions before and after a call.
fn build_site(
    probe: &SiteProbe<Requested<'_>>,
    at: &SiteAt,
    operands: &Operands<'_>,
    batch: &mut Batch,
) -> [Vec<Instruction>; 2] {
    let [mut before, mut behind] = [Vec::new(), Vec::new()];
    if let Some(ahead) = probe.ahead.filter(|_| at.ahead.is_some()) {
        batch.put_call(ahead, operands, &mut before);
    } else {
        batch.put_call(probe.before, operands, &mut before);
        before.extend(operands.site_result.map(stloc));
    }
    if let Some(call) = probe.behind {
        batch.put_call(call, operands, &mut behind);
    }
    [before, behind]
}
