//! Call instructions, by the bytes in front of a return address.

/// The number of bytes that the longest call takes.
pub(super) const LONGEST: usize = 7;

/// Whether the code ends with a call.
#[cfg(target_arch = "x86_64")]
pub(super) fn ends_with_call(code: &[u8; LONGEST]) -> bool {
    let behind = |length: usize| code.len().checked_sub(length).and_then(|start| code.get(start..)).unwrap_or_default();
    // `call rel32`
    behind(5).first() == Some(&0xE8)
        // `call r/m64`
        || (2..=LONGEST).any(|length| match behind(length) {
            [0xFF, modrm, rest @ ..] => modrm >> 3 & 7 == 2 && operand(*modrm, rest.first().copied()) == length - 2,
            _ => false,
        })
}

/// The number of bytes behind a ModRM byte that belong to its operand.
#[cfg(target_arch = "x86_64")]
fn operand(modrm: u8, sib: Option<u8>) -> usize {
    let (mode, register) = (modrm >> 6, modrm & 7);
    let has_sib = mode != 3 && register == 4;
    let displacement = match mode {
        0 if register == 5 || has_sib && sib.is_some_and(|sib| sib & 7 == 5) => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    usize::from(has_sib) + displacement
}

/// Whether the code ends with a call: `bl`, `blr`.
#[cfg(target_arch = "aarch64")]
pub(super) fn ends_with_call(code: &[u8; LONGEST]) -> bool {
    let [.., a, b, c, d] = *code;
    let instruction = u32::from_le_bytes([a, b, c, d]);
    instruction & 0xFC00_0000 == 0x9400_0000 || instruction & 0xFFFF_FC1F == 0xD63F_0000
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_from_other_code() {
        let calls: [&[u8]; 9] = [
            &[0x90, 0x90, 0xE8, 1, 2, 3, 4],
            // `call rax`, `call [rax]`, `call [rip+n]`, `call [rax+n]`, `call [rax+n32]`
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xFF, 0xD0],
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xFF, 0x10],
            &[0x90, 0xFF, 0x15, 1, 2, 3, 4],
            &[0x90, 0x90, 0x90, 0x90, 0xFF, 0x50, 8],
            &[0x90, 0xFF, 0x90, 1, 2, 3, 4],
            // `call [rsp]`, `call [rsp+n]`, `call [rax*8+n32]`
            &[0x90, 0x90, 0x90, 0x90, 0xFF, 0x14, 0x24],
            &[0x90, 0x90, 0x90, 0xFF, 0x54, 0x24, 8],
            &[0xFF, 0x14, 0xC5, 1, 2, 3, 4],
        ];
        for call in calls {
            assert!(ends_with_call(call.try_into().expect("7 bytes")), "{call:X?}");
        }
        let others: [&[u8]; 5] = [
            // `int3`, `ret`, `jmp rax`, `push [rax]`, a call with too few bytes
            &[0x90, 0xE8, 1, 2, 3, 4, 0xCC],
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0x5D, 0xC3],
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xFF, 0xE0],
            &[0x90, 0x90, 0x90, 0x90, 0x90, 0xFF, 0x30],
            &[0x90, 0x90, 0x90, 0xFF, 0x15, 1, 2],
        ];
        for other in others {
            assert!(!ends_with_call(other.try_into().expect("7 bytes")), "{other:X?}");
        }
    }
}
