//! The caller of a method that was interrupted while it had no frame: in its prologue, at its return, or because it sets up none.
//! Frame pointers alone lose that caller in 6 to 10 % of all samples.

/// The number of words from the stack pointer on that a sample keeps for this.
pub(super) const TOP_WORDS: usize = 16;
/// The number of bytes of a method's code that are read at once.
pub(super) const LONGEST: usize = 256;

/// The number of the word above the stack pointer that is the return address; `None` if the frame pointer is set up. `code` is the method's
/// code from its first byte to the interrupted instruction and a few bytes behind it.
#[cfg(target_arch = "x86_64")]
pub(super) fn return_word(code: &[u8], interrupted: usize) -> Option<usize> {
    // `ret`: the frame is gone.
    if let [0xC3, ..] | [0xC2, ..] | [0xF3, 0xC3, ..] = code.get(interrupted..)? {
        return Some(0);
    }
    in_prologue(code, interrupted)
}

/// As [`return_word`], if no instruction behind the prologue is the interrupted one.
#[cfg(target_arch = "x86_64")]
fn in_prologue(code: &[u8], interrupted: usize) -> Option<usize> {
    let (mut at, mut depth) = (0, 0);
    while at < interrupted {
        let (length, pushed) = match code.get(at..)? {
            [0x55, ..] => (1, 8),
            // The frame pointer is set from here on: `mov rbp, rsp`, `lea rbp, [rsp+n]`.
            [0x48, 0x8B, 0xEC, ..] | [0x48, 0x89, 0xE5, ..] => return None,
            [0x48, 0x8D, 0x6C, 0x24, ..] | [0x48, 0x8D, 0xAC, 0x24, ..] => return None,
            [0x50..=0x57, ..] => (1, 8),
            [0x41, 0x50..=0x57, ..] => (2, 8),
            [0x48, 0x83, 0xEC, size, ..] => (4, usize::from(*size)),
            [0x48, 0x81, 0xEC, a, b, c, d, ..] => (7, u32::from_le_bytes([*a, *b, *c, *d]) as usize),
            // `vzeroupper`
            [0xC5, 0xF8, 0x77, ..] => (3, 0),
            // `nop`, `nop dword ptr [rax]`
            [0x90, ..] => (1, 0),
            [0x0F, 0x1F, 0x00, ..] => (3, 0),
            // The end of the prologue: a method without a frame pointer.
            _ => return Some(depth / 8),
        };
        at += length;
        depth += pushed;
    }
    Some(depth / 8)
}

/// As [`return_word`], of an instruction far behind the prologue; `next` are its first bytes.
#[cfg(target_arch = "x86_64")]
pub(super) fn far_return_word(prologue: &[u8], next: [u8; 2]) -> Option<usize> {
    if matches!(next, [0xC3 | 0xC2, _] | [0xF3, 0xC3]) {
        return Some(0);
    }
    // An instruction there ends the prologue, unless this is as long as no prologue.
    in_prologue(prologue, prologue.len().saturating_sub(LONGEST_INSTRUCTION))
}

/// The longest instruction, in bytes.
#[cfg(target_arch = "x86_64")]
const LONGEST_INSTRUCTION: usize = 15;

/// On arm64 all methods of .NET keep a frame.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn return_word(_code: &[u8], _interrupted: usize) -> Option<usize> {
    None
}

/// As [`return_word`].
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn far_return_word(_prologue: &[u8], _next: [u8; 2]) -> Option<usize> {
    None
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn the_caller_is_found_at_each_instruction() {
        // push rbp; push r15; sub rsp, 24; lea rbp, [rsp+32]; xor eax, eax; add rsp, 24; pop r15; pop rbp; ret
        let framed = [
            0x55, 0x41, 0x57, 0x48, 0x83, 0xEC, 0x18, 0x48, 0x8D, 0x6C, 0x24, 0x20, 0x33, 0xC0, 0x48, 0x83, 0xC4, 0x18, 0x41,
            0x5F, 0x5D, 0xC3,
        ];
        for (interrupted, word) in [(0, Some(0)), (1, Some(1)), (3, Some(2)), (7, Some(5)), (12, None), (14, None), (21, Some(0))]
        {
            assert_eq!(return_word(&framed, interrupted), word, "at {interrupted}");
        }
        // sub rsp, 8; vzeroupper; mov eax, edi; add rsp, 8; ret
        let bare = [0x48, 0x83, 0xEC, 0x08, 0xC5, 0xF8, 0x77, 0x8B, 0xC7, 0x48, 0x83, 0xC4, 0x08, 0xC3];
        for (interrupted, word) in [(0, 0), (4, 1), (7, 1), (9, 1), (13, 0)] {
            assert_eq!(return_word(&bare, interrupted), Some(word), "at {interrupted}");
        }
    }

    #[test]
    fn cut_code_says_nothing() {
        assert_eq!(return_word(&[0x55, 0x48], 5), None);
        assert_eq!(return_word(&[0x55], 2), None);
    }
}
