//! How often each line of the source ran: the counters of sequence points, by source file and method.

use std::{borrow::Cow, collections::HashSet};

use indexmap::{Equivalent, IndexMap};
use names::{CountedPoint, LineDocument, LineTable, TableMethod};

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

/// The first line and column of a point, then the last ones.
type Position = (u32, u32, u32, u32);

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
    pub(crate) fn position(&self) -> Position {
        (self.start_line, self.start_column, self.end_line, self.end_column)
    }

    /// Adds the count of a point at the same position. Returns whether it is at the same position.
    pub(crate) fn add_if_same(&mut self, other: &Self) -> bool {
        let is_same = self.position() == other.position();
        if is_same {
            self.count = self.count.saturating_add(other.count);
        }
        is_same
    }
}

/// The source files of a table, with the count of each counter. `None` if a counter has none, or a method has no file.
pub fn of_table(table: LineTable, count: impl Fn(u32) -> Option<u64>) -> Option<Vec<SourceFile>> {
    let document = |LineDocument { path, hash }: LineDocument| {
        let hash = hash.map(|(algorithm, bytes)| SourceHash { algorithm: algorithm.into(), bytes });
        SourceFile { path, hash, methods: Vec::new() }
    };
    let mut files: Vec<SourceFile> = table.documents.into_iter().map(document).collect();
    for TableMethod { assembly, type_name, name, document, points } in table.methods {
        let point = |CountedPoint { counter, start, end }: CountedPoint| {
            let count = count(counter)?;
            Some(Point { start_line: start.0, start_column: start.1, end_line: end.0, end_column: end.1, count })
        };
        let points = points.into_iter().map(point).collect::<Option<_>>()?;
        files.get_mut(document)?.methods.push(LineMethod { assembly, type_name, name, points });
    }
    Some(files)
}

/// Keeps the methods of assemblies that have none in the same file of a profile.
pub fn missing_in(profile: &[SourceFile], mut files: Vec<SourceFile>) -> Vec<SourceFile> {
    let known: HashSet<(&str, &str)> = profile
        .iter()
        .flat_map(|file| file.methods.iter().map(|method| (file.path.as_str(), method.assembly.as_str())))
        .collect();
    for SourceFile { path, methods, .. } in &mut files {
        methods.retain(|method| !known.contains(&(path.as_str(), method.assembly.as_str())));
    }
    files.retain(|file| !file.methods.is_empty());
    files
}

/// Adds the lines of several profiles, or of several parts of a profile.
pub fn merge(all: impl IntoIterator<Item = SourceFile>) -> Vec<SourceFile> {
    let mut sum = LineSum::default();
    all.into_iter().for_each(|file| sum.add(&file));
    sum.files()
}

/// The lines of several profiles, added up. Files are the same by their path; methods by assembly, type, name and first point;
/// points by position. What only one of them has is kept. The result does not depend on the order.
#[derive(Clone, Debug, Default)]
pub struct LineSum {
    files: IndexMap<String, FileSum>,
}

#[derive(Clone, Debug, Default)]
struct FileSum {
    hash: Option<SourceHash>,
    methods: IndexMap<MethodKey<String>, Vec<Point>>,
}

/// The names and the first point of a method, by which methods are the same.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct MethodKey<S> {
    first: Option<Position>,
    assembly: S,
    type_name: S,
    name: S,
}

impl Equivalent<MethodKey<String>> for MethodKey<&str> {
    fn equivalent(&self, key: &MethodKey<String>) -> bool {
        let MethodKey { first, assembly, type_name, name } = key;
        (self.first, self.assembly, self.type_name, self.name) == (*first, assembly.as_str(), type_name.as_str(), name.as_str())
    }
}

impl LineSum {
    /// Adds a file.
    pub fn add(&mut self, file: &SourceFile) {
        let own = match self.files.get_mut(&file.path) {
            Some(own) => own,
            None => self.files.entry(file.path.clone()).or_default(),
        };
        let order = |hash: &SourceHash| (<[u8; 16]>::from(hash.algorithm), hash.bytes.clone());
        own.hash = own.hash.take().into_iter().chain(file.hash.clone()).min_by_key(order);
        for method in &file.methods {
            let mut points: Cow<'_, [Point]> = Cow::from(&method.points);
            if !points.is_sorted_by_key(Point::position) {
                points.to_mut().sort_by_key(Point::position);
            }
            let first = points.first().map(Point::position);
            let LineMethod { assembly, type_name, name, .. } = method;
            let key = MethodKey { first, assembly: assembly.as_str(), type_name: type_name.as_str(), name: name.as_str() };
            match own.methods.get_mut(&key) {
                Some(sum) => add_points(sum, &points),
                None => {
                    let [assembly, type_name, name] = [assembly, type_name, name].map(Clone::clone);
                    let mut sum = Vec::with_capacity(points.len());
                    add_points(&mut sum, &points);
                    own.methods.insert(MethodKey { first, assembly, type_name, name }, sum);
                }
            }
        }
    }

    /// The sums: files by path, methods by their first point.
    pub fn files(&self) -> Vec<SourceFile> {
        let file = |(path, FileSum { hash, methods }): (&String, &FileSum)| {
            let mut methods: Vec<(&MethodKey<String>, &Vec<Point>)> = methods.iter().collect();
            methods.sort_by_key(|(key, _)| *key);
            let method = |(MethodKey { assembly, type_name, name, .. }, points): (&MethodKey<String>, &Vec<Point>)| {
                let [assembly, type_name, name] = [assembly, type_name, name].map(Clone::clone);
                LineMethod { assembly, type_name, name, points: points.clone() }
            };
            SourceFile { path: path.clone(), hash: hash.clone(), methods: methods.into_iter().map(method).collect() }
        };
        let mut files: Vec<SourceFile> = self.files.iter().map(file).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    }
}

/// Adds points to others, both in the order of their positions.
fn add_points(sum: &mut Vec<Point>, more: &[Point]) {
    // Profiles of the same assembly have the same points.
    if sum.len() == more.len() && sum.iter().zip(more).all(|(one, other)| one.position() == other.position()) {
        sum.iter_mut().zip(more).for_each(|(one, other)| one.count = one.count.saturating_add(other.count));
        return;
    }
    sum.extend_from_slice(more);
    sum.sort_by_key(Point::position);
    sum.dedup_by(|point, first| first.add_if_same(point));
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
