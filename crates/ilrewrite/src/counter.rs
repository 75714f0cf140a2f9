//! The counters of places in a body: which they are, and the code that counts one.

use std::sync::Arc;

use ecma335::{OpCode, Token, opcode::Flow};

use crate::{
    batch::Requests,
    code::{Code, Instruction, Operand},
    layout::ldc_i4,
    name::MethodName,
    token::TokenRequest,
};

/// The code that counts a place: a call with the address of a module's counters, and the number of one.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The static field that holds the address, a `native int`.
    pub address: Token,
    /// `void (native int, int32)`
    pub method: Arc<MethodName>,
}

/// A place in a body that is counted, such as a sequence point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountedPlace {
    /// The IL offset of an instruction. Branches to that instruction are counted too.
    pub offset: u32,
    /// The number of its counter.
    pub counter: u32,
}

/// A counter with the number of its request, which is the same in each batch of a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreparedCounter {
    address: Token,
    request: u32,
}

impl PreparedCounter {
    pub(crate) fn new(counter: &Counter, requests: &mut Requests) -> Self {
        let request = requests.ask(&TokenRequest::MemberRef(counter.method.clone()));
        Self { address: counter.address, request }
    }

    /// The instructions that count one place.
    pub(crate) fn count(self, counter: u32) -> [Instruction; 3] {
        [
            Instruction::new(OpCode::Ldsfld, Operand::Value(self.address.0.into())),
            ldc_i4(counter),
            Instruction::new(OpCode::Call, Operand::Request(self.request)),
        ]
    }
}

/// The places of a body that can be counted, each as the index of an instruction and the number of its counter. These are left
/// out:
/// - Offsets where no instruction begins.
/// - Instructions behind a prefix, from which no other may part them.
/// - A `ret` behind a tail call, and the constructor of a delegate behind its `ldftn`: verifiers know them by their neighbours.
pub(crate) fn possible_places(code: &Code, places: &[CountedPlace]) -> Vec<(usize, u32)> {
    let instructions = &code.instructions[..];
    let is_possible = |index: usize| {
        let mut before = instructions[..index].iter().rev();
        let Some(last) = before.next() else { return true };
        let is_bound = last.info.flow == Flow::Prefix || matches!(last.opcode(), OpCode::Ldftn | OpCode::Ldvirtftn);
        let mut prefixes = before.take_while(|instruction| instruction.info.flow == Flow::Prefix);
        !is_bound && !prefixes.any(|prefix| prefix.opcode() == OpCode::Tail)
    };
    let found = places.iter().filter_map(|place| {
        let index = instructions.binary_search_by_key(&place.offset, |instruction| instruction.origin).ok()?;
        Some((index, place.counter))
    });
    found.filter(|(index, _)| is_possible(*index)).collect()
}
