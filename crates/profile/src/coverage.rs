//! The lines of a source file that ran: a summary of the counts of its sequence points.
//!
//! A line has code if a sequence point includes it. The points that begin on the line decide about it. If none does, the points
//! around it decide, as for the later lines of a long call: those of the innermost one's method. So a lambda within a statement has
//! its own lines, and the statement has the others. The count of a line is the greatest of its points' counts.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde::Serialize;

use crate::lines::{LineMethod, Point, SourceFile};

/// The last line that a PDB can express; the next number marks hidden points.
const LAST_LINE: u32 = 0xFE_EFED;
/// The largest number of lines that a point continues on: a bound for damaged files.
const MAX_CONTINUED: u32 = 10_000;
/// The number of points around a line that are looked at, the innermost first: a bound for damaged files.
const MAX_AROUND: usize = 64;

/// A line of source with code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u32,
    /// How often it ran.
    pub count: u64,
    /// Whether a part of it never ran, though another part did.
    pub is_partial: bool,
    /// Its method: an index into [`FileCoverage::methods`].
    pub method: usize,
}

impl Line {
    /// Whether it ran.
    pub fn is_covered(&self) -> bool {
        self.count > 0
    }
}

/// The number of lines with code, and of those that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Lines with code.
    pub lines: u64,
    /// Lines that ran.
    pub covered: u64,
}

impl Totals {
    /// Counts lines.
    pub fn count<'l>(lines: impl IntoIterator<Item = &'l Line>) -> Self {
        lines.into_iter().fold(Self::default(), |sum, line| sum.and(Self { lines: 1, covered: u64::from(line.is_covered()) }))
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { lines: self.lines + other.lines, covered: self.covered + other.covered }
    }

    /// The lines that ran, in percent; 100 without lines. It is rounded down to a tenth: 100 means all.
    pub fn percent(self) -> f64 {
        self.share(1000) as f64 / 10.0
    }

    /// The lines that ran, as so many parts of `whole`, rounded down.
    pub fn share(self, whole: u64) -> u64 {
        self.covered.saturating_mul(whole).checked_div(self.lines).unwrap_or(whole)
    }
}

impl Serialize for Totals {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Columns {
            lines: u64,
            covered: u64,
            percent: f64,
        }
        Columns { lines: self.lines, covered: self.covered, percent: self.percent() }.serialize(serializer)
    }
}

/// A source file with its lines and methods.
#[derive(Clone, Debug)]
pub struct FileCoverage<'p> {
    /// The file.
    pub file: &'p SourceFile,
    /// Its lines with code, in order.
    pub lines: Vec<Line>,
    /// Its methods, by their first line.
    pub methods: Vec<MethodCoverage<'p>>,
}

/// A method of the source, with its lambdas and its state machine.
#[derive(Clone, Debug)]
pub struct MethodCoverage<'p> {
    /// The assembly, by its simple name.
    pub assembly: &'p str,
    /// The type.
    pub type_name: &'p str,
    /// The method.
    pub name: &'p str,
    /// How often its first point ran; at least 1 if any of its code ran.
    pub entries: u64,
    /// Its lines with code, in order, without those of lambdas within it; `method` is its own index.
    pub lines: Vec<Line>,
}

impl MethodCoverage<'_> {
    /// `Shop.Order.Load`
    pub fn full_name(&self) -> String {
        if self.type_name.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.type_name, self.name) }
    }

    /// Its first line.
    pub fn first_line(&self) -> u32 {
        self.lines.first().map_or(0, |line| line.number)
    }
}

impl<'p> FileCoverage<'p> {
    /// Summarizes a file.
    pub fn new(file: &'p SourceFile) -> Self {
        let groups = groups(&file.methods);
        let all = groups.iter().enumerate().flat_map(|(index, group)| group.points.iter().map(move |point| (*point, index)));
        let lines = lines(all.collect());
        let method = |(index, group): (usize, &Group<'p>)| {
            let begins: HashSet<u32> = group.points.iter().map(|point| point.start_line).collect();
            let is_own = |line: &Line| {
                let in_file = lines.binary_search_by_key(&line.number, |line| line.number).ok();
                begins.contains(&line.number) || in_file.and_then(|at| lines.get(at)).is_some_and(|line| line.method == index)
            };
            let mut lines = lines_of(index, &group.points);
            lines.retain(is_own);
            let ran = u64::from(lines.iter().any(Line::is_covered));
            let first = group.points.iter().min_by_key(|point| (point.start_line, point.start_column));
            let LineMethod { assembly, type_name, name, .. } = group.method;
            MethodCoverage { assembly, type_name, name, entries: first.map_or(0, |first| first.count).max(ran), lines }
        };
        let methods = groups.iter().enumerate().map(method).collect();
        Self { file, lines, methods }
    }

    /// The numbers of its lines.
    pub fn totals(&self) -> Totals {
        Totals::count(&self.lines)
    }
}

/// The numbers of lines of several files.
pub fn totals(files: &[SourceFile]) -> Totals {
    files.iter().fold(Totals::default(), |sum, file| sum.and(FileCoverage::new(file).totals()))
}

/// The longest folder with all these paths, with its last separator; empty if there is none.
pub fn common_folder<'p>(paths: impl IntoIterator<Item = &'p str>) -> &'p str {
    let folder = |path: &'p str| path.rfind(['/', '\\']).map_or("", |last| &path[..=last]);
    let mut paths = paths.into_iter();
    let first = folder(paths.next().unwrap_or_default());
    paths.fold(first, |common, path| {
        let end = common.char_indices().zip(path.chars()).find(|((_, one), other)| one != other).map(|((at, _), _)| at);
        // A path that ends first has the folder in it up to its own end.
        folder(&common[..end.unwrap_or(common.len()).min(path.len())])
    })
}

/// The parts of a method of the source.
struct Group<'p> {
    method: &'p LineMethod,
    last_line: u32,
    points: Vec<Point>,
}

/// Puts what the compiler made of a method beside it: methods of the same name whose lines overlap. Lines of overloads do not.
fn groups(methods: &[LineMethod]) -> Vec<Group<'_>> {
    let first_line = |method: &LineMethod| method.points.iter().map(|point| point.start_line).min();
    let mut sorted: Vec<(u32, &LineMethod)> = methods.iter().filter_map(|method| Some((first_line(method)?, method))).collect();
    sorted.sort_by_key(|(first, _)| *first);
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut last_of: IndexMap<(&str, &str, &str), usize> = IndexMap::new();
    for (first, method) in sorted {
        let last_line = method.points.iter().map(|point| point.end_line).max().unwrap_or(first);
        let key = (method.assembly.as_str(), method.type_name.as_str(), method.name.as_str());
        let known = last_of.get(&key).and_then(|index| groups.get_mut(*index)).filter(|group| first <= group.last_line);
        match known {
            Some(group) => {
                group.last_line = group.last_line.max(last_line);
                group.points.extend_from_slice(&method.points);
            }
            None => {
                last_of.insert(key, groups.len());
                groups.push(Group { method, last_line, points: method.points.clone() });
            }
        }
    }
    groups
}

fn lines_of(method: usize, points: &[Point]) -> Vec<Line> {
    lines(points.iter().map(|point| (*point, method)).collect())
}

/// The lines of points, each with its method.
fn lines(mut points: Vec<(Point, usize)>) -> Vec<Line> {
    points.retain(|(point, _)| (1..=LAST_LINE).contains(&point.start_line));
    points.sort_by_key(|(point, _)| point.position());
    // Each constructor has the initializers of fields.
    points.dedup_by(|(point, _), (first, _)| first.add_if_same(point));
    let mut lines: Vec<Line> = Vec::new();
    // The last lines of points that have begun, outer ones first.
    let mut open: Vec<(u32, Line)> = Vec::new();
    let mut next = 0;
    for here in points.chunk_by(|(one, _), (other, _)| one.start_line == other.start_line) {
        let Some((first, method)) = here.first() else { continue };
        continue_to(first.start_line, next, &mut open, &mut lines);
        let is_partial = here.iter().any(|(point, _)| point.count == 0) && here.iter().any(|(point, _)| point.count > 0);
        for (point, method) in here {
            let line = Line { number: point.start_line, count: point.count, is_partial: false, method: *method };
            let end = point.end_line.min(point.start_line.saturating_add(MAX_CONTINUED)).min(LAST_LINE);
            open.push((end, line));
        }
        // A lambda on the line is behind the code of its method.
        let count = here.iter().map(|(point, _)| point.count).max().unwrap_or_default();
        lines.push(Line { number: first.start_line, count, is_partial, method: *method });
        next = first.start_line + 1;
    }
    continue_to(LAST_LINE + 1, next, &mut open, &mut lines);
    lines
}

/// Adds the lines from `next` to before `line` that open points continue on.
fn continue_to(line: u32, next: u32, open: &mut Vec<(u32, Line)>, lines: &mut Vec<Line>) {
    for number in next..line {
        while open.last().is_some_and(|(end, _)| *end < number) {
            open.pop();
        }
        let Some(&(_, innermost)) = open.last() else { return };
        // A switch expression is a point of its own that runs if no case applies.
        let around = open.iter().rev().take(MAX_AROUND);
        let of_method = around.filter(|(end, line)| *end >= number && line.method == innermost.method);
        let count = of_method.map(|(_, line)| line.count).max().unwrap_or(innermost.count);
        lines.push(Line { number, count, ..innermost });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(lines: (u32, u32), start_column: u32, count: u64) -> Point {
        Point { start_line: lines.0, start_column, end_line: lines.1, end_column: 80, count }
    }

    fn method(name: &str, points: &[Point]) -> LineMethod {
        LineMethod { assembly: "shop".into(), type_name: "Shop.Order".into(), name: name.into(), points: points.to_vec() }
    }

    fn file(methods: Vec<LineMethod>) -> SourceFile {
        SourceFile { path: "/shop/Order.cs".into(), hash: None, methods }
    }

    /// Number, count, and whether a part of the line did not run.
    fn counts(lines: &[Line]) -> Vec<(u32, u64, bool)> {
        lines.iter().map(|line| (line.number, line.count, line.is_partial)).collect()
    }

    #[test]
    fn a_point_covers_its_lines_and_the_greatest_count_is_shown() {
        let file = file(vec![method("Load", &[point((3, 5), 1, 2), point((7, 7), 1, 0), point((7, 7), 20, 9)])]);
        let coverage = FileCoverage::new(&file);
        assert_eq!(counts(&coverage.lines), [(3, 2, false), (4, 2, false), (5, 2, false), (7, 9, true)]);
        assert_eq!(coverage.totals(), Totals { lines: 4, covered: 4 });
    }

    #[test]
    fn the_inner_point_of_a_switch_expression_does_not_decide() {
        let file = file(vec![method("Load", &[point((3, 7), 9, 5), point((3, 7), 16, 0), point((5, 5), 20, 2)])]);
        assert_eq!(
            counts(&FileCoverage::new(&file).lines),
            [(3, 5, true), (4, 5, false), (5, 2, false), (6, 5, false), (7, 5, false)]
        );
    }

    #[test]
    fn a_lambda_has_its_own_lines_within_a_statement() {
        let load = method("Load", &[point((10, 14), 9, 1)]);
        let lambda = method("Load [lambda at Order.cs:11]", &[point((11, 11), 30, 0), point((12, 12), 30, 0)]);
        let file = file(vec![load, lambda]);
        let coverage = FileCoverage::new(&file);
        let all = [(10, 1, false), (11, 0, false), (12, 0, false), (13, 1, false), (14, 1, false)];
        assert_eq!(counts(&coverage.lines), all);
        assert_eq!(coverage.lines.iter().map(|line| line.method).collect::<Vec<_>>(), [0, 1, 1, 0, 0]);
        assert_eq!(coverage.methods.iter().map(|method| method.entries).collect::<Vec<_>>(), [1, 0]);
        let lines = |method: &MethodCoverage<'_>| method.lines.iter().map(|line| line.number).collect::<Vec<_>>();
        assert_eq!(coverage.methods.iter().map(lines).collect::<Vec<_>>(), [vec![10, 13, 14], vec![11, 12]]);
    }

    #[test]
    fn initializers_are_in_each_constructor_and_one_line() {
        let constructor = |line, count| method(".ctor", &[point((3, 3), 9, count), point((line, line), 9, count)]);
        let file = file(vec![constructor(5, 4), constructor(9, 0)]);
        assert_eq!(counts(&FileCoverage::new(&file).lines), [(3, 4, false), (5, 4, false), (9, 0, false)]);
    }

    #[test]
    fn overloads_are_apart_and_state_machines_are_with_their_method() {
        let load = |first, last, count| method("Load", &[point((first, first), 9, count), point((last, last), 9, count)]);
        let file = file(vec![load(3, 9, 1), load(5, 6, 7), load(12, 14, 0)]);
        let coverage = FileCoverage::new(&file);
        let methods: Vec<(u32, usize, u64)> =
            coverage.methods.iter().map(|method| (method.first_line(), method.lines.len(), method.entries)).collect();
        assert_eq!(methods, [(3, 4, 1), (12, 2, 0)]);
    }

    #[test]
    fn damaged_points_are_bounded() {
        let file = file(vec![method("Load", &[point((u32::MAX, 1), 1, 1), point((1, u32::MAX), 1, 1), point((0, 7), 0, 1)])]);
        let coverage = FileCoverage::new(&file);
        assert_eq!(coverage.lines.len(), MAX_CONTINUED as usize + 1);
        assert_eq!(FileCoverage::new(&SourceFile { methods: Vec::new(), ..file.clone() }).totals().percent(), 100.0);
    }

    #[test]
    fn percentages_are_rounded_down() {
        assert_eq!(Totals { lines: 10_000, covered: 9_999 }.percent(), 99.9);
        assert_eq!(Totals { lines: 3, covered: 2 }.share(10_000), 6_666);
    }

    #[test]
    fn folders_are_common_to_all() {
        for (paths, expected) in [
            (&["/a/b/c.cs"][..], "/a/b/"),
            (&["/a/b/c.cs", "/a/b/d/e.cs"], "/a/b/"),
            (&["/a/bc/c.cs", "/a/bd/e.cs"], "/a/"),
            (&["/a/b", "/a/b/c.cs"], "/a/"),
            (&["C:\\a\\b.cs", "C:\\a\\c\\d.cs"], "C:\\a\\"),
            (&["C:\\a.cs", "D:\\a.cs"], ""),
            (&["/größe/a.cs", "/großes/a.cs"], "/"),
            (&["a.cs"], ""),
            (&[], ""),
        ] {
            assert_eq!(common_folder(paths.iter().copied()), expected, "{paths:?}");
        }
    }
}
