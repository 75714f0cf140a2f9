//! Single-file programs: a native host with assemblies behind it.

/// What the host looks for in itself: the offset of the bundle stands before it, 0 if there is none. It is the SHA-256 of
/// `.net core bundle`, as .NET has it.
pub(crate) const SIGNATURE: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef,
    0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// The search ends here: the host comes first and is far smaller, and a file may have gigabytes behind it.
const HOST: usize = 256 << 20;

/// What to say of one.
pub const SINGLE_FILE: &str = "a program in a single file (a bundle): it runs what is in it, not what lies beside it; publish it without \
     PublishSingleFile, or weave what goes into it before it is published";

/// Whether a file is a native host with a bundle in it. Whatever else knows the signature, as `ilinst` itself, has no offset before it.
pub fn is_bundle(file: &[u8]) -> bool {
    header_offset(file).is_some()
}

/// Where the bundle's header is.
pub(crate) fn header_offset(file: &[u8]) -> Option<usize> {
    let host = file.get(..file.len().min(HOST))?;
    let at = host.windows(SIGNATURE.len()).position(|window| window == SIGNATURE)?;
    let offset = u64::from_le_bytes(*host.get(..at)?.last_chunk()?);
    usize::try_from(offset).ok().filter(|offset| (1..file.len()).contains(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_says_whether_it_has_a_bundle() {
        let host = |offset: u64| [b"\x7fELF".as_slice(), &offset.to_le_bytes(), &SIGNATURE, b"rest"].concat();
        assert!(is_bundle(&host(44)) && !is_bundle(&host(0)) && !is_bundle(b"MZ") && !is_bundle(&SIGNATURE));
        assert!(!is_bundle(&host(48)) && !is_bundle(&host(u64::MAX)), "it lies behind the end");
    }
}
