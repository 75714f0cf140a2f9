//! Programs in native code: in a single file, which is a native host with assemblies behind it, and of native AOT.

use std::fmt;

use little_endian::NumbersAt;

/// The signature that the host looks for in itself. The offset of the bundle stands before it, or 0. It is the SHA-256 of
/// `.net core bundle`, as .NET has it.
pub(crate) const SIGNATURE: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9, 0xe6, 0xef,
    0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// The search ends at this many bytes: the host comes first and is far smaller, while gigabytes may follow it.
const HOST: usize = 256 << 20;

/// A program in native code that holds no assembly as a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NativeProgram {
    /// A bundle: its host has its assemblies, and its runtime.
    SingleFile,
    /// Compiled by native AOT.
    Aot,
}

impl fmt::Display for NativeProgram {
    /// The kind of program, a semicolon, and the advice.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SingleFile => {
                "a program in a single file (a bundle): it runs the assemblies in it, not those beside it; record it with ilinst run \
                 --live, publish it without PublishSingleFile, or instrument its assemblies before they are published (dotnet publish \
                 -p:Ilinst=true, with the package Ilinst.MSBuild)"
            }
            Self::Aot => {
                "a program compiled to native code (native AOT), which has no IL and no profiling API; publish it without PublishAot, \
                 or instrument its assemblies before they are compiled (dotnet publish -p:Ilinst=true, with the package \
                 Ilinst.MSBuild)"
            }
        })
    }
}

/// Native AOT names so what its debuggers look for, and the section of its code (ELF and Mach-O, PE): backwards here, so that they
/// are not in `ilinst` itself.
const AOT_HEADER: &[u8] = b"redaeHgubeDemitnuRteNtoD";
const AOT_SECTIONS: [&[u8]; 2] = [b"edocdeganam__", b"deganam."];

impl NativeProgram {
    /// Returns the kind of a file.
    pub fn find(file: &[u8]) -> Option<Self> {
        // Text has no zeros.
        if !file[..file.len().min(64)].contains(&0) {
            return None;
        }
        let has = |backwards: &[u8]| {
            let host = &file[..file.len().min(HOST)];
            host.windows(backwards.len()).any(|window| window.iter().rev().eq(backwards))
        };
        let is_aot = || AOT_SECTIONS.iter().any(|section| has(section)) && has(AOT_HEADER);
        if is_bundle(file) { Some(Self::SingleFile) } else { is_aot().then_some(Self::Aot) }
    }
}

/// Whether a file is a native host with a bundle in it. Whatever else knows the signature, as `ilinst` itself, has no offset before it.
fn is_bundle(file: &[u8]) -> bool {
    header_offset(file).is_some()
}

/// Where the bundle's header is.
pub(crate) fn header_offset(file: &[u8]) -> Option<usize> {
    let host = file.get(..file.len().min(HOST))?;
    let at = host.windows(SIGNATURE.len()).position(|window| window == SIGNATURE)?;
    let offset = host.u64_at(at.checked_sub(size_of::<u64>())?)?;
    usize::try_from(offset).ok().filter(|offset| (1..file.len()).contains(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_code_is_known_by_its_section_and_header() {
        let name = |backwards: &[u8]| backwards.iter().rev().copied().collect::<Vec<u8>>();
        let file = |names: &[&[u8]]| [&[0x7f, b'E', b'L', b'F', 0][..], &names.concat()].concat();
        let (header, section) = (name(AOT_HEADER), name(AOT_SECTIONS[0]));
        assert_eq!(NativeProgram::find(&file(&[&header, &section])), Some(NativeProgram::Aot));
        assert_eq!(NativeProgram::find(&file(&[&header])), None, "a runtime has that");
        assert_eq!(NativeProgram::find(&file(&[AOT_HEADER, AOT_SECTIONS[0]])), None, "ilinst has these");
    }

    #[test]
    fn a_host_says_whether_it_has_a_bundle() {
        let host = |offset: u64| [b"\x7fELF".as_slice(), &offset.to_le_bytes(), &SIGNATURE, b"rest"].concat();
        assert!(is_bundle(&host(44)) && !is_bundle(&host(0)) && !is_bundle(b"MZ") && !is_bundle(&SIGNATURE));
        assert!(!is_bundle(&host(48)) && !is_bundle(&host(u64::MAX)), "it lies behind the end");
    }
}
