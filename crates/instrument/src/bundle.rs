//! Single-file programs: a native host with assemblies behind it.

/// The marker of a bundle, which the native host looks for in itself: the SHA-256 of `.net core bundle`, as .NET defines it. The
/// eight bytes before it are the bundle's offset, 0 without a bundle.
const SIGNATURE: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef,
    0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// The search ends at this many bytes: the host comes first and is far smaller, while gigabytes may follow it.
const HOST: usize = 256 << 20;

/// The text of errors about single-file programs.
pub const SINGLE_FILE: &str = "a program in a single file (a bundle): it runs what is in it, not what lies beside it; publish it without \
     PublishSingleFile, or weave what goes into it before it is published";

/// Returns whether a file is a native host with a bundle in it. Other files with the marker, such as `ilinst` itself, have no
/// offset before it.
pub fn is_bundle(file: &[u8]) -> bool {
    let host = &file[..file.len().min(HOST)];
    let Some(at) = host.windows(SIGNATURE.len()).position(|window| window == SIGNATURE) else { return false };
    let offset = file[..at].last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    (1..file.len() as u64).contains(&offset)
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
