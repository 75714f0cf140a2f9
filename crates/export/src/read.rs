//! Reads call paths from other formats as a profile, for `view`.

use std::collections::HashMap;

use names::MethodId;
use profile::{
    CallTree, Profile, SampleType,
    model::{Function, Node, Notes, Source},
};

use crate::{Measure, parquet_file};

/// Reads folded stacks; `measure` is the measure of their numbers.
///
/// # Errors
/// If a line is no folded stack; the text states its number.
pub fn read_folded(text: &str, measure: Measure) -> Result<Profile, String> {
    let mut paths = Paths::default();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let (stack, value) = line.trim_end().rsplit_once(' ').unwrap_or_default();
        let value: f64 = value.parse().map_err(|_| format!("line {} does not end with a number", index + 1))?;
        let path: Vec<usize> = stack.split(';').map(|frame| paths.function(&unescaped(frame))).collect();
        paths.add(path.into_iter(), &[(measure, value as i64)]);
    }
    Ok(paths.profile())
}

/// Reads rows of Parquet: a column `path`, a list of names, and any of `calls`, `self_ns`, `waiting_ns`, `cpu_ns`,
/// `exceptions`, `bytes` and `samples`. Takes at most 256 bytes of memory for each byte of the file, and some MiB beside.
///
/// # Errors
/// If the file is no Parquet, lacks these columns, or has more paths than a file of its size can have.
pub fn read_parquet(file: &[u8]) -> Result<Profile, String> {
    let mut bounded = Bounded { paths: Paths::default(), room: BESIDE.saturating_add(PER_BYTE.saturating_mul(file.len())) };
    parquet_file::read(file, &mut bounded)?;
    Ok(bounded.paths.profile())
}

/// Memory that the paths may take: bytes for each byte of the file, and bytes beside.
const PER_BYTE: usize = 200;
const BESIDE: usize = 8 << 20;
/// Memory of a name beside its text, and of a node, in bytes.
const NAME: usize = 400;
const NODE: usize = 300;

/// Paths within a limit of memory.
struct Bounded {
    paths: Paths,
    room: usize,
}

impl Bounded {
    fn fits(&self, size: usize) -> Result<usize, String> {
        self.room.checked_sub(size).ok_or_else(|| "it has more paths than a file of its size can have".into())
    }

    fn take(&mut self, size: usize) -> Result<(), String> {
        self.room = self.fits(size)?;
        Ok(())
    }
}

impl parquet_file::Rows for Bounded {
    fn name(&mut self, name: &[u8]) -> Result<usize, String> {
        let known = self.paths.functions.len();
        let function = self.paths.function(&String::from_utf8_lossy(name));
        if self.paths.functions.len() > known {
            self.take(NAME.saturating_add(name.len().saturating_mul(4)))?;
        }
        Ok(function)
    }

    fn row(&mut self, path: &[usize], values: &[(Measure, i64)]) -> Result<(), String> {
        self.fits(NODE * path.len())?;
        let known = self.paths.nodes.len();
        self.paths.add(path.iter().copied(), values);
        self.take(NODE * (self.paths.nodes.len() - known))
    }
}

/// Returns a name with its escapes, such as `\u{3b}`, replaced by their characters.
fn unescaped(frame: &str) -> String {
    let mut text = String::with_capacity(frame.len());
    let mut rest = frame;
    while let Some(at) = rest.find("\\u{") {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let end = escape.find('}');
        let code = end.and_then(|end| u32::from_str_radix(escape.get(3..end)?, 16).ok()).and_then(char::from_u32);
        let length = match (code, end) {
            (Some(character), Some(end)) => {
                text.push(character);
                end + 1
            }
            _ => {
                text.push('\\');
                1
            }
        };
        rest = escape.get(length..).unwrap_or_default();
    }
    text + rest
}

/// Call paths under construction.
#[derive(Default)]
struct Paths {
    functions: Vec<Function>,
    by_name: HashMap<String, usize>,
    nodes: Vec<Node>,
    places: HashMap<Node, usize>,
    /// Values by measure and node.
    values: [Vec<i64>; Measure::ALL.len()],
}

impl Paths {
    /// Adds the measured values of a path of functions.
    fn add(&mut self, path: impl Iterator<Item = usize>, values: &[(Measure, i64)]) {
        let mut caller = None;
        for function in path {
            let node = Node { function, caller };
            caller = Some(*self.places.entry(node).or_insert_with(|| {
                self.nodes.push(node);
                self.nodes.len() - 1
            }));
        }
        let Some(place) = caller else { return };
        for (list, measure) in self.values.iter_mut().zip(Measure::ALL) {
            list.resize(self.nodes.len(), 0);
            let of_measure = values.iter().filter(|(one, _)| *one == measure);
            if let Some(sum) = list.get_mut(place) {
                *sum = of_measure.fold(*sum, |sum, (_, value)| sum.saturating_add(*value));
            }
        }
    }

    fn function(&mut self, name: &str) -> usize {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let (type_name, method) = split(name);
        let source = Source { type_name: type_name.to_owned(), method: method.to_owned(), ..Source::default() };
        // The format has no method ids; any unique one will do.
        let method_id = MethodId::new(0, self.functions.len() as u32 + 1);
        self.functions.push(Function { method_id, name: None, source: Some(source), module: None });
        self.by_name.insert(name.to_owned(), self.functions.len() - 1);
        self.functions.len() - 1
    }

    fn profile(self) -> Profile {
        use SampleType as S;
        let [calls, own, waiting, cpu, exceptions, samples, bytes] = self.values;
        let has_bytes = bytes.iter().any(|bytes| *bytes != 0);
        let mut sample_types = vec![S::CALLS, S::WALL, S::WAITING, S::CPU, S::EXCEPTIONS, S::SAMPLES];
        sample_types.extend(has_bytes.then_some(S::ALLOCATED));
        let wall: Vec<i64> = own.iter().zip(&waiting).map(|(own, waiting)| own.saturating_add(*waiting)).collect();
        let duration = wall.iter().fold(0_i64, |sum, value| sum.saturating_add(*value));
        let tree = CallTree {
            number: 1,
            threads: 1,
            notes: vec![Notes::default(); self.nodes.len()],
            nodes: self.nodes,
            values: [calls, wall, waiting, cpu, exceptions, samples].into_iter().chain(has_bytes.then_some(bytes)).collect(),
            ..CallTree::default()
        };
        Profile {
            duration,
            last_seen: duration,
            sample_types,
            functions: self.functions,
            trees: vec![tree],
            ..Profile::default()
        }
    }
}

/// Splits a name into type and method: at its last dot outside brackets and before the suffix that tells overloads apart.
fn split(name: &str) -> (&str, &str) {
    let (mut depth, mut dot) = (0_u32, None);
    for (at, character) in name.char_indices() {
        match character {
            '(' | ' ' if depth == 0 => break,
            '<' | '[' => depth += 1,
            '>' | ']' => depth = depth.saturating_sub(1),
            '.' if depth == 0 && at > 0 => dot = Some(at),
            _ => {}
        }
    }
    dot.map_or(("", name), |dot| (name.get(..dot).unwrap_or_default(), name.get(dot + 1..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_were_written() {
        for name in ["A.B.C(int)", "A<B.C>.D", "A..ctor", "thread 7", "A.Main [lambda at X.cs:4]", "A.Load<T.U>(X.Y)", ".x"] {
            let mut paths = Paths::default();
            let function = paths.function(name);
            paths.add([function].into_iter(), &[(Measure::Calls, 1)]);
            let profile = paths.profile();
            assert_eq!(profile.display_names(), [name]);
        }
    }

    #[test]
    fn folded_stacks_are_read() {
        let profile = read_folded("A.B;C\\u{3b}D 5\nA.B 7\n\nA.B;C\\u{3b}D 1\n", Measure::SelfTime).expect("it is one");
        assert_eq!(profile.display_names(), ["A.B", "C;D"]);
        assert_eq!(profile.flat_by_function(SampleType::WALL), [7, 6]);
        assert_eq!(profile.cumulative_by_function(SampleType::WALL), [13, 6]);
        assert_eq!(read_folded("A 1\nB x", Measure::Calls).expect_err("none"), "line 2 does not end with a number");
        assert_eq!((unescaped("a\\u{zz}b"), unescaped("\\u{")), ("a\\u{zz}b".into(), "\\u{".into()));
    }
}
