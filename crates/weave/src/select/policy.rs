//! Decides which methods are skipped by default: those where a probe would take longer than the method, or would measure no
//! source code.

use ecma335::{
    MethodBody, OpCode, Token,
    opcode::{Flow, Operand},
};
use names::Origin;

use super::{method_options::BodyFilter, option_table::DEFAULT_MIN_IL, reason::Reason};

/// The reason for skipping a method because of its body, if there is one.
///
/// Hooks apply to methods of the source code, so an iterator's kickoff method has them despite its compiler-generated body.
/// [`Forwarders`](crate::select::forwarders::Forwarders) find the methods that only call skipped methods.
pub(crate) fn skip_reason(
    body_filter: BodyFilter,
    origin: Origin,
    has_hooks: bool,
    body: &MethodBody<'_>,
    forwards: bool,
) -> Option<Reason> {
    let BodyFilter::Above(limit) = body_filter else { return None };
    let size = body.il.len() as u32;
    match origin {
        Origin::Accessor if size <= DEFAULT_MIN_IL && is_trivial(body) => Some(Reason::Accessor),
        Origin::Generated => Some(Reason::Generated),
        Origin::Kickoff => (!has_hooks).then_some(Reason::Generated),
        Origin::GeneratedUnlessItCalls if !calls(body) => Some(Reason::Generated),
        _ => (forwards || size <= limit && is_bounded(body, &mut |_| false)).then_some(Reason::Short { size, limit, forwards }),
    }
}

/// Whether an accessor does nothing but read or write its value.
fn is_trivial(body: &MethodBody<'_>) -> bool {
    use OpCode::{Ldfld, Ldflda, Ldobj, Ldsfld, Ldsflda, Ldstr, Ret, Stfld, Stobj, Stsfld, Volatile};
    let moves =
        |opcode| matches!(opcode, Ldfld | Ldflda | Ldobj | Ldsfld | Ldsflda | Ldstr | Ret | Stfld | Stobj | Stsfld | Volatile);
    is_bounded(body, &mut |_| false)
        && body.instructions().map_while(Result::ok).all(|instruction| {
            let info = instruction.info;
            let is_load_or_store = info.implicit.is_some() || matches!(info.operand, Operand::VarS | Operand::Var);
            let is_constant = matches!(info.operand, Operand::I1 | Operand::I4 | Operand::I8 | Operand::R4 | Operand::R8);
            // Unoptimised code has an unconditional branch to the next instruction before its `ret`.
            moves(info.opcode) || is_load_or_store || is_constant || info.opcode == OpCode::Nop || info.flow == Flow::Branch
        })
}

/// Whether a body only makes allowed calls, has no loop, and contains no other instruction that may take long.
pub(crate) fn is_bounded(body: &MethodBody<'_>, may_call: &mut dyn FnMut(Token) -> bool) -> bool {
    use OpCode::{Cpblk, Initblk, Jmp, Ldftn, Ldvirtftn, Localloc, Newarr};
    body.instructions().all(|instruction| {
        let Ok(instruction) = instruction else { return false };
        let info = instruction.info;
        let is_unbounded = matches!(info.opcode, Cpblk | Initblk | Jmp | Ldftn | Ldvirtftn | Localloc | Newarr);
        let mut targets = instruction.branch_target().into_iter().chain(instruction.switch_targets());
        !is_unbounded
            && !targets.any(|target| target <= instruction.offset)
            && match info.operand {
                Operand::Method => may_call(instruction.token()),
                _ => info.flow != Flow::Call,
            }
    })
}

/// Whether a body calls anything, or has handlers.
fn calls(body: &MethodBody<'_>) -> bool {
    let mut instructions = body.instructions().map_while(Result::ok);
    !body.clauses.is_empty() || instructions.any(|instruction| instruction.info.operand == Operand::Method)
}
