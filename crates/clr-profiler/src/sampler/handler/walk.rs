//! Stack walks by frame pointers. They run inside the signal handler: no allocation, no lock, no thread-local state.

use crate::sampler::prologue::TOP_WORDS;

/// The registers of an interrupted thread.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sampler) struct Registers {
    pub(in crate::sampler) pc: usize,
    pub(in crate::sampler) sp: usize,
    pub(in crate::sampler) fp: usize,
}

/// The memory of the interrupted thread's stack.
pub(in crate::sampler) trait Stack {
    /// The two words at an address, if they can be read. Behind the stack may be other memory.
    fn pair(&self, at: usize) -> Option<(usize, usize)>;
}

/// The address ranges that hold code.
pub(in crate::sampler) trait Code {
    fn has(&self, address: usize) -> bool;
    /// Whether the address lies in code by on-stack replacement.
    fn is_replacement(&self, address: usize) -> bool;
    /// Whether the address lies in code of a method that on-stack replacement has replaced.
    fn is_replaced(&self, address: usize) -> bool;
}

/// The maximum number of frames of a sample.
pub(in crate::sampler) const MAX_FRAMES: usize = 512;
/// The number of bytes that are searched for a frame when the chain of frame pointers is broken.
const SEARCHED: usize = 8 << 10;
/// A frame that is larger, in bytes, must lead to another frame: its place may not be on the stack.
const LARGE: usize = 64 << 10;
/// The number of such searches in one walk.
const SEARCHES: usize = 2;

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sampler) enum End {
    /// At the thread's first frame, or at native code that keeps no frame pointer.
    Outermost,
    /// At an address outside of the known code, which may be new.
    UnknownCode,
    /// After [`MAX_FRAMES`] frames.
    Cut,
}

/// Walks the stack of an interrupted thread. Passes each return address to `found`, the innermost first; the interrupted
/// address itself is not passed.
pub(in crate::sampler) fn walk(registers: Registers, stack: &impl Stack, code: &impl Code, found: &mut impl FnMut(usize)) -> End {
    const WORD: usize = size_of::<usize>();
    let Registers { pc, sp, fp } = registers;
    let (mut frame, mut lowest, mut callee) = (fp, sp, pc);
    let (mut count, mut searches) = (0, 0);
    let mut end = End::Outermost;
    while count < MAX_FRAMES {
        let is_first = count == 0;
        let is_replacement = code.is_replacement(callee);
        // If the innermost method has no frame, the first one is that of its caller.
        let above = if is_first && !is_replacement { above_replacement(sp, stack, code) } else { None };
        // A replacement's return address leads into the method that it replaces. On .NET 11 it is the replacement's first address. The
        // frame of the replaced method lies above.
        let caller_in = |at: usize, (next, address): (usize, usize)| {
            let may_be_replaced = is_replacement || above.is_some() || is_first && code.is_replaced(address);
            match may_be_replaced.then(|| replaced(at + 2 * WORD, next, stack, code)).flatten() {
                Some((at, caller)) => Some((at, next, caller, above)),
                None => code.has(address).then_some((at, next, address, None)),
            }
        };
        let is_frame = frame >= lowest && frame.is_multiple_of(WORD);
        let read = if is_frame { stack.pair(frame) } else { None };
        let read = read.filter(|(next, _)| frame - lowest <= LARGE || leads_on(frame, *next, stack, code));
        let caller = read.and_then(|pair| caller_in(frame, pair)).or_else(|| {
            if read.is_some_and(|(next, address)| next > frame && address > 0xFFFF) {
                end = End::UnknownCode;
            }
            // Native code without frame pointers uses the register for other values.
            searches += 1;
            let (at, next, address) = if searches > SEARCHES { None } else { search(lowest, stack, code) }?;
            caller_in(at, (next, address))
        });
        let Some((at, next, address, above)) = caller else { return end };
        above.into_iter().for_each(&mut *found);
        (lowest, callee) = (at + 2 * WORD, address);
        count += 1;
        found(callee);
        frame = next;
        if next == 0 {
            return End::Outermost;
        }
    }
    End::Cut
}

/// The first pair of a frame pointer and a return address from `from` on whose own caller has such a pair, too.
fn search(from: usize, stack: &impl Stack, code: &impl Code) -> Option<(usize, usize, usize)> {
    let end = from.saturating_add(SEARCHED);
    let mut at = from.next_multiple_of(8);
    while at.saturating_add(16) <= end {
        let (next, address) = stack.pair(at)?;
        if code.has(address) && leads_on(at, next, stack, code) {
            return Some((at, next, address));
        }
        at += 8;
    }
    None
}

/// Whether a frame's saved frame pointer leads to another frame, above it.
fn leads_on(frame: usize, next: usize, stack: &impl Stack, code: &impl Code) -> bool {
    next > frame && next.is_multiple_of(8) && stack.pair(next).is_some_and(|(_, outer)| code.has(outer))
}

/// The return address into code by on-stack replacement, if the innermost words of the stack have one.
fn above_replacement(sp: usize, stack: &impl Stack, code: &impl Code) -> Option<usize> {
    let pairs = (0..TOP_WORDS / 2).map_while(|index| stack.pair(sp.checked_add(16 * index)?));
    pairs.flat_map(|(one, other)| [one, other]).find(|address| code.is_replacement(address.wrapping_sub(1)))
}

/// The frame of a replaced method: it has saved the same frame pointer as the replacement. Returns its place and its return address.
fn replaced(from: usize, saved: usize, stack: &impl Stack, code: &impl Code) -> Option<(usize, usize)> {
    let end = from.saturating_add(SEARCHED).min(saved);
    let mut at = from;
    while at.saturating_add(16) <= end {
        let (next, address) = stack.pair(at)?;
        if next == saved && code.has(address) {
            return Some((at, address));
        }
        at += 8;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: usize = 0x7000_0000;
    const CODE: usize = 0x10_0000;

    struct Words(Vec<usize>);

    impl Stack for Words {
        fn pair(&self, at: usize) -> Option<(usize, usize)> {
            let index = at.checked_sub(BASE)? / 8;
            Some((*self.0.get(index)?, *self.0.get(index + 1)?))
        }
    }

    /// Code from `CODE` on. The first 16 bytes are a replacement, of a method at 96.
    struct Ranges;

    impl Code for Ranges {
        fn has(&self, address: usize) -> bool {
            (CODE..CODE + 0x1000).contains(&address)
        }

        fn is_replacement(&self, address: usize) -> bool {
            (CODE..CODE + 16).contains(&address)
        }

        fn is_replaced(&self, address: usize) -> bool {
            (CODE + 96..CODE + 112).contains(&address)
        }
    }

    fn at(index: usize) -> usize {
        BASE + 8 * index
    }

    fn walked(words: &[usize], pc: usize, fp: usize) -> (Vec<usize>, End) {
        let mut found = Vec::new();
        let registers = Registers { pc, sp: BASE, fp };
        let end = walk(registers, &Words(words.to_vec()), &Ranges, &mut |address| found.push(address - CODE));
        (found, end)
    }

    #[test]
    fn a_chain_is_followed_to_its_end() {
        let words = [0, at(4), CODE + 100, 7, 0, CODE + 200, 9];
        assert_eq!(walked(&words, CODE + 50, at(1)), (vec![100, 200], End::Outermost));
    }

    #[test]
    fn a_register_that_is_no_frame_pointer_is_replaced_by_a_search() {
        let words = [3, CODE + 77, at(5), CODE + 100, 7, at(7), CODE + 200, 0, CODE + 300, 1];
        for register in [42, 0, usize::MAX & !7, at(0) - 8] {
            assert_eq!(walked(&words, CODE + 50, register), (vec![100, 200, 300], End::Outermost), "{register:x}");
        }
    }

    #[test]
    fn what_is_far_above_must_lead_on() {
        // The register leads to an object with a function pointer, beyond the stack.
        let mut words = vec![0; LARGE / 8 + 100];
        words[..9].copy_from_slice(&[3, CODE + 77, at(5), CODE + 100, 7, at(7), CODE + 200, 0, CODE + 300]);
        let far = LARGE / 8 + 50;
        words[far..far + 2].copy_from_slice(&[7, CODE + 900]);
        assert_eq!(walked(&words, CODE + 50, at(far)), (vec![100, 200, 300], End::Outermost));
        // A large frame of a method.
        words[far..far + 4].copy_from_slice(&[at(far + 2), CODE + 900, 0, CODE + 950]);
        assert_eq!(walked(&words, CODE + 50, at(far)), (vec![900, 950], End::Outermost));
    }

    #[test]
    fn new_code_is_reported() {
        assert_eq!(walked(&[at(2), 0x5555_0000, 0, CODE, 0], CODE + 50, at(0)).1, End::UnknownCode);
    }

    #[test]
    fn the_caller_of_a_replaced_method_is_found() {
        // The replacement's frame returns into the method that it replaces; that method's frame has the same saved pointer.
        let words = [at(6), CODE + 100, 1, 2, at(6), CODE + 200, 0, CODE + 300, 1];
        assert_eq!(walked(&words, CODE + 4, at(0)), (vec![200, 300], End::Outermost));
        // The same, below a method without a frame.
        assert_eq!(walked(&words, CODE + 50, at(0)), (vec![200, 300], End::Outermost));
    }

    #[test]
    fn a_replacement_needs_no_return_address() {
        for word in [7, CODE, CODE + 250] {
            let words = [at(6), word, 1, 2, at(6), CODE + 200, 0, CODE + 300, 1];
            assert_eq!(walked(&words, CODE + 4, at(0)), (vec![200, 300], End::Outermost));
            // Below a function without a frame, which the replacement calls.
            let words = [3, CODE + 9, at(8), word, 1, 2, at(8), CODE + 200, 0, CODE + 300, 1];
            assert_eq!(walked(&words, CODE + 50, at(2)), (vec![9, 200, 300], End::Outermost));
        }
    }

    #[test]
    fn a_call_of_the_replaced_method_itself_stays() {
        let words = [at(2), CODE + 30, at(6), CODE + 100, 1, 2, 0, CODE + 300, 1];
        assert_eq!(walked(&words, CODE + 50, at(0)), (vec![30, 100, 300], End::Outermost));
    }

    #[test]
    fn cycles_and_long_chains_end() {
        assert_eq!(walked(&[at(0), CODE + 1, at(0), CODE + 1, 0], CODE + 50, at(0)).1, End::Outermost);
        let words: Vec<usize> = (0..2000).flat_map(|index| [at(2 * index + 2), CODE + 1]).collect();
        let (found, end) = walked(&words, CODE + 50, at(0));
        assert_eq!((found.len(), end), (MAX_FRAMES, End::Cut));
    }
}
