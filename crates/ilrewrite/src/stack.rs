//! What one instruction does to the depth of the stack (III.1.7.5).

use ecma335::{OpCode, Token, opcode::OpCodeInfo};

use crate::effects::CallEffect;

/// The depth behind an instruction, and the most it reached on the way. `effect` says what calling a token does; `returns`
/// whether the body's `ret` takes a value along.
///
/// # Errors
/// What is wrong, and at which offset.
#[inline]
pub(crate) fn step_over(
    info: &OpCodeInfo,
    offset: u32,
    token: impl FnOnce() -> Token,
    depth: i32,
    effect: impl FnOnce(u32, Token) -> Option<CallEffect>,
    returns: bool,
) -> Result<(i32, i32), String> {
    let (pops, pushes) = if info.pops >= 0 && info.pushes >= 0 {
        (i32::from(info.pops), i32::from(info.pushes))
    } else if info.opcode == OpCode::Ret {
        (i32::from(returns), 0)
    } else {
        let token = token();
        let Some(effect) = effect(offset, token) else {
            return Err(format!("IL_{offset:04x}: {} of {token}, which cannot be called", info.name));
        };
        let params = effect.params as i32;
        match info.opcode {
            OpCode::Newobj => (params, 1),
            OpCode::Calli => (params + i32::from(effect.has_this) + 1, i32::from(effect.returns)),
            _ => (params + i32::from(effect.has_this), i32::from(effect.returns)),
        }
    };
    let left = depth - pops;
    if left < 0 {
        return Err(format!("IL_{offset:04x}: {} takes {pops} off a stack of {depth}", info.name));
    }
    Ok((left + pushes, depth.max(left + pushes)))
}
