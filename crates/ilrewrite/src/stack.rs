//! The effect of one instruction on the stack depth (III.1.7.5).

use ecma335::{OpCode, Token, opcode::OpCodeInfo};

use crate::effects::CallEffect;

/// The ways out of a body.
#[derive(Clone, Copy, Debug)]
pub struct Exits {
    /// Whether its `ret` pops a return value.
    pub returns: bool,
    /// The offset of the epilogue that replaces each `ret` of the input. A `leave` to it must find an empty stack, as
    /// a `ret` must (III.1.7.5).
    pub epilogue: Option<u32>,
}

/// The depth after an instruction, and the largest depth during it. `effect` gives the stack effect of calling a
/// token. `returns` tells whether the body's `ret` pops a return value. A `ret` must leave the stack empty.
///
/// # Errors
/// The fault, with its offset.
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
    if info.opcode == OpCode::Ret && left > 0 {
        return Err(left_behind(offset, left));
    }
    Ok((left + pushes, depth.max(left + pushes)))
}

/// The error for a `ret` with this many values too many on the stack.
#[cold]
pub(crate) fn left_behind(offset: u32, count: i32) -> String {
    format!("IL_{offset:04x}: {count} too many on the stack when it returns")
}
