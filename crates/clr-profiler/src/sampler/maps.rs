//! The address space of the process, from `/proc/self/maps`.

use std::{fs, ops::Range, sync::Arc};

/// A mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mapping {
    pub(super) range: Range<usize>,
    pub(super) is_executable: bool,
    /// The offset in the file.
    pub(super) offset: u64,
    /// The file; empty for anonymous memory.
    pub(super) path: Arc<str>,
}

/// The mappings, by address.
#[derive(Clone, Default, Debug)]
pub(super) struct Maps(Vec<Mapping>);

impl Maps {
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/self/maps").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut maps: Vec<Mapping> = Vec::new();
        for mut mapping in text.lines().filter_map(Mapping::parse) {
            // Sections of one file share its name.
            if let Some(before) = maps.last().filter(|before| before.path == mapping.path) {
                mapping.path = Arc::clone(&before.path);
            }
            maps.push(mapping);
        }
        Self(maps)
    }

    /// The mapping that contains an address.
    pub(super) fn at(&self, address: usize) -> Option<&Mapping> {
        let after = self.0.partition_point(|mapping| mapping.range.start <= address);
        self.0.get(after.checked_sub(1)?).filter(|mapping| mapping.range.contains(&address))
    }

    /// The ranges that hold code, neighbours joined.
    pub(super) fn code(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for mapping in self.0.iter().filter(|mapping| mapping.is_executable) {
            match ranges.last_mut() {
                Some(before) if before.end == mapping.range.start => before.end = mapping.range.end,
                _ => ranges.push(mapping.range.clone()),
            }
        }
        ranges
    }
}

impl Mapping {
    /// `7f12a000-7f12c000 r-xp 00026000 fd:00 1234    /usr/lib/libc.so.6`
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
        let (start, end) = range.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let path = words.nth(2).unwrap_or_default().trim_start();
        Some(Self {
            range,
            is_executable: rights.as_bytes().get(2) == Some(&b'x'),
            offset: u64::from_str_radix(offset, 16).ok()?,
            path: path.into(),
        })
    }

    /// Whether a library's file is mapped here. Code that the runtime compiled lies in anonymous memory, or in a memory file.
    pub(super) fn is_library(&self) -> bool {
        self.path.starts_with('/') && !self.path.starts_with("/memfd:")
    }

    /// Whether it is a library of native code, by its file's name: `libc.so`, `libc.so.6`.
    pub(super) fn is_shared_object(&self) -> bool {
        let path = self.path.strip_suffix(" (deleted)").unwrap_or(&self.path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_version = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        self.is_library() && (name.ends_with(".so") || name.rsplit_once(".so.").is_some_and(|(_, version)| is_version(version)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
10000-12000 r--p 00000000 fd:00 5      /usr/lib/a b.so
12000-14000 r-xp 00002000 fd:00 5      /usr/lib/a b.so
14000-15000 rwxp 00000000 00:00 0 
20000-21000 r-xs 00001000 00:01 7      /memfd:doublemapper (deleted)
7ffffff0000-7ffffff9000 rw-p 00000000 00:00 0      [stack]
nonsense
";

    #[test]
    fn mappings_are_found_by_address() {
        let maps = Maps::parse(TEXT);
        assert_eq!(maps.code(), [0x12000..0x15000, 0x20000..0x21000]);
        let library = maps.at(0x13FFF).expect("it is there");
        assert_eq!((&*library.path, library.offset, library.is_library()), ("/usr/lib/a b.so", 0x2000, true));
        assert!(maps.at(0x14000).is_some_and(|anonymous| !anonymous.is_library()));
        assert!(maps.at(0x20800).is_some_and(|compiled| !compiled.is_library() && compiled.is_executable));
        assert!([0, 0x15000, 0x21000, usize::MAX].iter().all(|address| maps.at(*address).is_none()));
    }

    #[test]
    fn libraries_of_native_code_are_known_by_their_files_names() {
        let is_native = |path: &str| {
            let mapping = Mapping::parse(&format!("10000-12000 r-xp 00000000 fd:00 5 {path}")).expect("it is a mapping");
            mapping.is_shared_object()
        };
        let native = ["/usr/lib/libc.so.6", "/app/libx.so", "/app/libx.so (deleted)", "/my.so/libx.so.1.2"];
        assert!(native.iter().all(|path| is_native(path)));
        let others = ["/var/www/www.some.so/App.dll", "/my.solution/App.dll", "/app/Our.so.Tools.dll", "/app/host", "", "[vdso]"];
        assert!(!others.iter().any(|path| is_native(path)));
    }

    #[test]
    fn the_own_code_is_found() {
        let maps = Maps::read();
        let own = the_own_code_is_found as *const () as usize;
        assert!(maps.at(own).is_some_and(|mapping| mapping.is_executable && mapping.is_library()));
    }
}
