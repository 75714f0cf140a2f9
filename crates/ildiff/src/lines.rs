//! Lines that may refer to other lines, and the difference between two sequences of them.
//!
//! Labels are no part of a line's text. Lines are matched by the rest, then a branch is equal if its target lines
//! match. So moved code is equal, and a new label changes nothing else.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use ecma335::error::FILE_OFFSET;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// Stands for a label in a line's text. Names and strings contain no control characters, because those are escaped on
/// printing.
pub(crate) const LABEL: char = '\u{1}';
/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;
/// The maximum number of lines for the shortest difference. Beyond it, everything between the first and the last
/// change counts as one.
const MOST_LINES: usize = 20_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    /// The text, with a [`LABEL`] for each label.
    text: String,
    /// The depth of its block.
    indent: usize,
    /// The target lines, one for each label.
    targets: Vec<usize>,
}

/// The lines of one item.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Text(Vec<Line>);

impl Text {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a line without targets.
    pub(crate) fn push(&mut self, indent: usize, text: impl Into<String>) {
        self.0.push(Line { text: text.into(), indent, targets: Vec::new() });
    }

    /// Adds a line with targets.
    pub(crate) fn push_leading(&mut self, indent: usize, text: String, targets: Vec<usize>) {
        self.0.push(Line { text, indent, targets });
    }

    /// Adds printed lines, without the file offsets of errors, which differ between files.
    pub(crate) fn push_printed(&mut self, printed: &str) {
        for line in printed.lines().filter(|line| !line.is_empty()) {
            let text = line.trim_start();
            self.push((line.len() - text.len()) / 2, without_offsets(text));
        }
    }

    /// Replaces the numbers of places in targets by line numbers.
    pub(crate) fn resolve(&mut self, places: &BTreeMap<u32, usize>) {
        for target in self.0.iter_mut().flat_map(|line| &mut line.targets) {
            *target = u32::try_from(*target).ok().and_then(|place| places.get(&place)).copied().unwrap_or(usize::MAX);
        }
    }
}

/// A line without the file offsets in its comments about unreadable parts.
fn without_offsets(line: &str) -> Cow<'_, str> {
    let Some((before, rest)) = line.split_once(FILE_OFFSET) else { return Cow::Borrowed(line) };
    match rest.split_once(')') {
        Some((_, behind)) if before.contains("//") || before.contains("/*") => {
            Cow::Owned(format!("{before}{}", without_offsets(&format!("//{behind}")).trim_start_matches("//")))
        }
        _ => Cow::Borrowed(line),
    }
}

/// The side or sides that contain a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineTag {
    /// The line is on both sides.
    Context,
    /// The line is only on the old side.
    Removed,
    /// The line is only on the new side.
    Added,
}

impl LineTag {
    /// The sign for the line in a unified diff.
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// Nearby changes, with the lines around them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hunk {
    /// The first old line, from 1, and the number of old lines.
    pub old: (usize, usize),
    /// The first new line, from 1, and the number of new lines.
    pub new: (usize, usize),
    /// The lines.
    pub lines: Vec<(LineTag, String)>,
}

/// The difference of two texts. Empty if they have the same meaning.
pub(crate) fn diff(old: &Text, new: &Text) -> Vec<Hunk> {
    let same = |(old, new): (&Line, &Line)| old.text == new.text && old.targets == new.targets;
    if old.len() == new.len() && old.0.iter().zip(&new.0).all(same) {
        return Vec::new();
    }
    let matches = Matches::new(&old.0, &new.0);
    let rows = matches.rows(&old.0, &new.0);
    let names = matches.names(&old.0, &new.0);
    let show = |row: &Row| match *row {
        Row(LineTag::Removed, index, _) => (LineTag::Removed, show(&old.0, index, &names.0)),
        Row(tag, _, index) => (tag, show(&new.0, index, &names.1)),
    };
    hunks(&rows)
        .into_iter()
        .filter_map(|range| {
            let rows = rows.get(range)?;
            let &Row(_, old, new) = rows.first()?;
            let count = |other: LineTag| rows.iter().filter(|row| row.0 != other).count();
            Some(Hunk {
                old: (old + 1, count(LineTag::Added)),
                new: (new + 1, count(LineTag::Removed)),
                lines: rows.iter().map(show).collect(),
            })
        })
        .collect()
}

/// A line of the difference, with the numbers of old and new lines before it.
struct Row(LineTag, usize, usize);

/// The matches of old and new lines.
struct Matches {
    /// Runs of lines: whether they are equal, the old range, the new range.
    runs: Vec<(bool, std::ops::Range<usize>, std::ops::Range<usize>)>,
    /// The new line for each old line.
    new_of: Vec<Option<usize>>,
}

impl Matches {
    fn new(old: &[Line], new: &[Line]) -> Self {
        let mut ids: HashMap<&str, u32> = HashMap::new();
        let mut id = |text| {
            let next = ids.len() as u32;
            *ids.entry(text).or_insert(next)
        };
        let old_ids: Vec<u32> = old.iter().map(|line| id(line.text.as_str())).collect();
        let new_ids: Vec<u32> = new.iter().map(|line| id(line.text.as_str())).collect();
        let mut runs = Vec::new();
        if old.len() + new.len() > MOST_LINES {
            let least = old.len().min(new.len());
            let start = old_ids.iter().zip(&new_ids).take_while(|(old, new)| old == new).count();
            let backwards = old_ids.iter().rev().zip(new_ids.iter().rev());
            let end = backwards.take(least - start).take_while(|(old, new)| old == new).count();
            runs.push((true, 0..start, 0..start));
            runs.push((false, start..old.len() - end, start..new.len() - end));
            runs.push((true, old.len() - end..old.len(), new.len() - end..new.len()));
        } else {
            for op in capture_diff_slices(Algorithm::Myers, &old_ids, &new_ids) {
                let (tag, old, new) = op.as_tag_tuple();
                runs.push((tag == DiffTag::Equal, old, new));
            }
        }
        let mut new_of = vec![None; old.len()];
        for (_, old, new) in &runs {
            // In replaced runs, lines at the same distance from the start match.
            for (old, new) in old.clone().zip(new.clone()) {
                if let Some(slot) = new_of.get_mut(old) {
                    *slot = Some(new);
                }
            }
        }
        Self { runs, new_of }
    }

    fn leads_alike(&self, old: &Line, new: &Line) -> bool {
        let place = |target: usize| self.new_of.get(target).map_or(Some(usize::MAX), |place| *place);
        old.targets.len() == new.targets.len() && old.targets.iter().zip(&new.targets).all(|(old, new)| place(*old) == Some(*new))
    }

    fn rows(&self, old: &[Line], new: &[Line]) -> Vec<Row> {
        let mut rows = Vec::new();
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let (mut old_at, mut new_at) = (0, 0);
        let flush = |rows: &mut Vec<Row>, removed: &mut Vec<usize>, added: &mut Vec<usize>, at: (usize, usize)| {
            let start = (at.0 - removed.len(), at.1 - added.len());
            rows.extend(removed.drain(..).map(|index| Row(LineTag::Removed, index, start.1)));
            rows.extend(added.drain(..).map(|index| Row(LineTag::Added, at.0, index)));
        };
        for (is_equal, old_run, new_run) in &self.runs {
            if !is_equal {
                removed.extend(old_run.clone());
                added.extend(new_run.clone());
                (old_at, new_at) = (old_run.end, new_run.end);
                continue;
            }
            for (old_index, new_index) in old_run.clone().zip(new_run.clone()) {
                let alike =
                    matches!((old.get(old_index), new.get(new_index)), (Some(old), Some(new)) if self.leads_alike(old, new));
                if alike {
                    flush(&mut rows, &mut removed, &mut added, (old_at, new_at));
                    rows.push(Row(LineTag::Context, old_index, new_index));
                } else {
                    removed.push(old_index);
                    added.push(new_index);
                }
                (old_at, new_at) = (old_index + 1, new_index + 1);
            }
        }
        flush(&mut rows, &mut removed, &mut added, (old_at, new_at));
        rows
    }

    /// The labels of both sides. Matching places share a name.
    fn names(&self, old: &[Line], new: &[Line]) -> (Labels, Labels) {
        let targets = |lines: &[Line]| -> std::collections::BTreeSet<usize> {
            lines.iter().flat_map(|line| line.targets.iter().copied()).collect()
        };
        let old_names: Labels = targets(old).into_iter().zip(1..).collect();
        let known: Labels = old_names.iter().filter_map(|(place, name)| Some(((*self.new_of.get(*place)?)?, *name))).collect();
        let mut fresh = old_names.len() + 1..;
        let name = |place: usize| known.get(&place).copied().or_else(|| fresh.next()).map(|name| (place, name));
        let new_names = targets(new).into_iter().filter_map(name).collect();
        (old_names, new_names)
    }
}

/// The numbers of labels, by line.
type Labels = BTreeMap<usize, usize>;

fn show(lines: &[Line], index: usize, names: &Labels) -> String {
    let Some(line) = lines.get(index) else { return String::new() };
    let label = |place: &usize| names.get(place).map_or_else(|| "nowhere".into(), |name| format!("L{name}"));
    let mut out = "  ".repeat(line.indent);
    if names.contains_key(&index) {
        out.push_str(&label(&index));
        out.push_str(": ");
    }
    let mut targets = line.targets.iter();
    for (number, piece) in line.text.split(LABEL).enumerate() {
        if number > 0 {
            out.push_str(&targets.next().map(label).unwrap_or_default());
        }
        out.push_str(piece);
    }
    out
}

/// The ranges of rows to show.
fn hunks(rows: &[Row]) -> Vec<std::ops::Range<usize>> {
    let mut hunks: Vec<std::ops::Range<usize>> = Vec::new();
    for (index, _) in rows.iter().enumerate().filter(|(_, row)| row.0 != LineTag::Context) {
        let (start, end) = (index.saturating_sub(CONTEXT), (index + CONTEXT + 1).min(rows.len()));
        match hunks.last_mut() {
            Some(last) if last.end >= start => last.end = end,
            _ => hunks.push(start..end),
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text with a line for each word. `name>2` has the line with this number as its target.
    fn text(words: &str) -> Text {
        let mut text = Text::default();
        for word in words.split_whitespace() {
            match word.split_once('>') {
                Some((name, target)) => {
                    text.push_leading(0, format!("{name} {LABEL}"), vec![target.parse().expect("a number")]);
                }
                None => text.push(0, word),
            }
        }
        text
    }

    /// The difference, each line with its sign.
    fn shown(old: &str, new: &str) -> String {
        let lines = diff(&text(old), &text(new)).into_iter().flat_map(|hunk| hunk.lines);
        lines.map(|(tag, line)| format!("{}{line}", tag.sign()).replace(' ', "_")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn labels_are_compared_by_where_they_are() {
        for (old, new, expected) in [
            ("br>1 ret", "br>1 ret", ""),
            // Inserted code moves the label, but the branch is equal.
            ("br>1 ret", "nop br>2 ret", "+nop _br_L1 _L1:_ret"),
            // The branch has another target.
            ("br>1 nop ret", "br>2 nop ret", "-br_L1 +br_L2 _nop _L2:_ret"),
            // The target was replaced.
            ("br>1 dup ret", "br>1 pop ret", "_br_L1 -L1:_dup +L1:_pop _ret"),
            // A new branch is one line, although its target had no label before.
            ("a b c", "a br>3 b c", "_a +br_L1 _b _L1:_c"),
            ("a b", "a", "_a -b"),
            ("a", "", "-a"),
        ] {
            assert_eq!(shown(old, new), expected, "{old} / {new}");
        }
    }

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        let hunks = diff(&text("a 1 2 3 4 5 6 7 8 b"), &text("x 1 2 3 4 5 6 7 8 b y"));
        let places: Vec<_> = hunks.iter().map(|hunk| (hunk.old, hunk.new, hunk.lines.len())).collect();
        assert_eq!(places, [((1, 4), (1, 4), 5), ((8, 3), (8, 4), 4)]);
    }

    #[test]
    fn very_long_texts_are_not_searched_for_the_shortest_difference() {
        let long = |middle: &str| format!("{} {middle} {}", "a ".repeat(MOST_LINES), "b ".repeat(MOST_LINES));
        assert_eq!(diff(&text(&long("c")), &text(&long("c"))), []);
        let hunks = diff(&text(&long("c")), &text(&long("d e")));
        assert_eq!(hunks.iter().map(|hunk| (hunk.old.1, hunk.new.1)).collect::<Vec<_>>(), [(7, 8)]);
    }

    #[test]
    fn equal_lines_may_trade_places_with_what_leads_to_them() {
        assert_eq!(shown("br>3 a a ret", "br>3 a a ret"), "");
        assert_ne!(shown("a br>0 a", "a br>2 a"), "");
    }
}
