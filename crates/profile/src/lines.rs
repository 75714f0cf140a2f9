//! How often each line of the source ran: the counters of sequence points, by source file and method.

use std::cmp::Ordering;

/// The lines of one source file, with how often each sequence point ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path, as the PDB states it.
    pub path: String,
    /// The hash of its contents, as the PDB states it. `None` if the PDB has none.
    pub hash: Option<SourceHash>,
    /// The methods with sequence points in the file, by their first line.
    pub methods: Vec<LineMethod>,
}

/// The hash of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceHash {
    /// The algorithm.
    pub algorithm: HashAlgorithm,
    /// The hash itself.
    pub bytes: Vec<u8>,
}

/// The algorithm of a source file's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashAlgorithm {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
    /// Another one: its GUID, in the order of bytes in a PDB.
    Other([u8; 16]),
}

impl HashAlgorithm {
    const SHA1: [u8; 16] = [0xEC, 0x16, 0x18, 0xFF, 0x5E, 0xAA, 0x10, 0x4D, 0x87, 0xF7, 0x6F, 0x49, 0x63, 0x83, 0x34, 0x60];
    const SHA256: [u8; 16] = [0x0F, 0xD0, 0x29, 0x88, 0xB8, 0x11, 0x13, 0x42, 0x87, 0x8B, 0x77, 0x0E, 0x85, 0x97, 0xAC, 0x16];
}

impl From<[u8; 16]> for HashAlgorithm {
    fn from(guid: [u8; 16]) -> Self {
        match guid {
            Self::SHA1 => Self::Sha1,
            Self::SHA256 => Self::Sha256,
            other => Self::Other(other),
        }
    }
}

impl From<HashAlgorithm> for [u8; 16] {
    fn from(algorithm: HashAlgorithm) -> Self {
        match algorithm {
            HashAlgorithm::Sha1 => HashAlgorithm::SHA1,
            HashAlgorithm::Sha256 => HashAlgorithm::SHA256,
            HashAlgorithm::Other(guid) => guid,
        }
    }
}

/// A method of a source file. What the compiler made of a method (state machine, lambda) is a method of its own here, with the
/// name of the user's method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMethod {
    /// The assembly, by its simple name.
    pub assembly: String,
    /// The type, as reports show it.
    pub type_name: String,
    /// The method, as reports show it.
    pub name: String,
    /// The sequence points in the file, by their position.
    pub points: Vec<Point>,
}

impl LineMethod {
    /// The order of methods in a file; equal for what is the same method in several profiles.
    fn order(&self, other: &Self) -> Ordering {
        let key = |method: &Self| method.points.first().map(Point::position);
        let names = |method: &Self| (method.assembly.clone(), method.type_name.clone(), method.name.clone());
        key(self).cmp(&key(other)).then_with(|| names(self).cmp(&names(other)))
    }
}

/// A sequence point, with how often it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its first line, from 1.
    pub start_line: u32,
    /// Its first column, from 1.
    pub start_column: u32,
    /// Its last line.
    pub end_line: u32,
    /// The column behind its end.
    pub end_column: u32,
    /// How often it ran.
    pub count: u64,
}

impl Point {
    fn position(&self) -> (u32, u32, u32, u32) {
        (self.start_line, self.start_column, self.end_line, self.end_column)
    }
}

/// Adds the lines of several profiles, or of several parts of a profile. Files are the same by their path; methods by assembly,
/// type, name and first point; points by position. What only one of them has is kept. The result does not depend on the order.
pub fn merge(all: impl IntoIterator<Item = SourceFile>) -> Vec<SourceFile> {
    let mut all: Vec<SourceFile> = all.into_iter().collect();
    let hash = |file: &SourceFile| file.hash.as_ref().map(|hash| (<[u8; 16]>::from(hash.algorithm), hash.bytes.clone()));
    // Files without a hash come last: the first of several with the same path states the hash.
    all.sort_by_cached_key(|file| (file.path.clone(), hash(file).is_none(), hash(file)));
    let mut files: Vec<SourceFile> = Vec::new();
    for file in all {
        match files.last_mut().filter(|last| last.path == file.path) {
            Some(last) => last.methods.extend(file.methods),
            None => files.push(file),
        }
    }
    for file in &mut files {
        file.methods.iter_mut().for_each(|method| method.points.sort_by_key(Point::position));
        file.methods.sort_by(LineMethod::order);
        file.methods.dedup_by(|method, first| {
            let is_same = method.order(first) == Ordering::Equal;
            if is_same {
                first.points.append(&mut method.points);
            }
            is_same
        });
        for method in &mut file.methods {
            method.points.sort_by_key(Point::position);
            method.points.dedup_by(|point, first| {
                let is_same = point.position() == first.position();
                if is_same {
                    first.count = first.count.saturating_add(point.count);
                }
                is_same
            });
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(start_line: u32, count: u64) -> Point {
        Point { start_line, start_column: 9, end_line: start_line, end_column: 20, count }
    }

    fn file(path: &str, name: &str, points: &[Point]) -> SourceFile {
        let method =
            LineMethod { assembly: "app".into(), type_name: "Program".into(), name: name.into(), points: points.to_vec() };
        SourceFile { path: path.into(), hash: None, methods: vec![method] }
    }

    #[test]
    fn counts_of_a_point_are_added() {
        let mut hashed = file("a.cs", "Main", &[point(3, 1), point(4, 0)]);
        hashed.hash = Some(SourceHash { algorithm: HashAlgorithm::Sha1, bytes: vec![1] });
        let other = file("a.cs", "Main", &[point(5, 7), point(3, 2)]);
        let merged = merge([other.clone(), hashed.clone()]);
        assert_eq!(merged, merge([hashed.clone(), other]), "the order has no effect");
        assert_eq!(merged.len(), 1);
        assert_eq!(merged[0].hash, hashed.hash);
        assert_eq!(merged[0].methods[0].points, [point(3, 3), point(4, 0), point(5, 7)]);
    }

    #[test]
    fn methods_are_the_same_by_their_names_and_first_point() {
        let all = [
            file("b.cs", "Run", &[point(9, 1)]),
            file("a.cs", "Run", &[point(9, 1)]),
            file("a.cs", "Run", &[point(2, 1)]),
            file("a.cs", "Main", &[point(9, 1)]),
            file("a.cs", "Run", &[point(9, u64::MAX)]),
        ];
        let merged = merge(all);
        let paths: Vec<&str> = merged.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.cs", "b.cs"]);
        let methods: Vec<(&str, Point)> =
            merged[0].methods.iter().map(|method| (method.name.as_str(), method.points[0])).collect();
        assert_eq!(methods, [("Run", point(2, 1)), ("Main", point(9, 1)), ("Run", point(9, u64::MAX))]);
    }

    #[test]
    fn algorithms_have_guids() {
        for algorithm in [HashAlgorithm::Sha1, HashAlgorithm::Sha256, HashAlgorithm::Other([7; 16])] {
            assert_eq!(HashAlgorithm::from(<[u8; 16]>::from(algorithm)), algorithm);
        }
    }
}
