//! Comparisons for people: as text, and as Markdown for a pull request.

use std::fmt::{self, Write};

use names::Visible;
use profile::{
    compare::{ALPHA, Change, Comparison, LEAST_SHARE, MethodChange, Metric, MetricUnit, Test, Verdict, unit_of_program},
    counted,
};

/// The verdicts, in the order in which they are shown.
const SHOWN: [(Verdict, &str); 4] =
    [(Verdict::Slower, "slower"), (Verdict::Faster, "faster"), (Verdict::New, "new"), (Verdict::Gone, "gone")];

/// Returns the changes of the program and of methods as text, with at most `limit` methods of each verdict.
pub fn text(comparison: &Comparison, limit: usize) -> String {
    let mut text = format!("{}\n", summary(comparison));
    let _ = writeln!(text, "note: {}", how(comparison));
    if let Some(note) = mixed(comparison) {
        let _ = writeln!(text, "note: {note}");
    }
    for (name, change) in &comparison.program {
        let [base, new] = [change.base, change.new].map(|value| of_program(name, value));
        // The unit of times stands once.
        let base = base.strip_suffix(" ms").unwrap_or(&base);
        let _ = writeln!(text, "{name:>8}: {base} -> {new}, {}", Percent(change));
    }
    for (verdict, title) in SHOWN {
        let methods: Vec<&MethodChange> = comparison.methods_with(verdict).collect();
        if methods.is_empty() {
            continue;
        }
        let by = comparison.by;
        let _ = writeln!(text, "\n{:>12} {:>12} {:>12} {:>8}  {title} (by {by})", "base", "new", "change", "%");
        for method in methods.iter().take(limit) {
            let Some(change) = method.metrics.get(by) else { continue };
            let [base, new, difference] = [change.base, change.new, change.change].map(|value| shown(comparison, value));
            let _ = write!(text, "{base:>12} {new:>12} {difference:>12} {:>8}  ", Percent(change).short());
            let _ = writeln!(text, "{}{}", Visible(&method.name), remarks(method, change));
        }
        if methods.len() > limit {
            let more = counted((methods.len() - limit) as u64, "method");
            let _ = writeln!(text, "{:>12} and {more} more; --limit 0 shows all", "");
        }
    }
    text
}

/// Returns the same as Markdown.
pub fn markdown(comparison: &Comparison, limit: usize) -> String {
    let mut text = format!("**{}**\n\n", summary(comparison));
    text.push_str("| | base | new | change |\n|---|---:|---:|---:|\n");
    for (name, change) in &comparison.program {
        let [base, new] = [change.base, change.new].map(|value| of_program(name, value));
        let _ = writeln!(text, "| {name} | {base} | {new} | {} |", Percent(change));
    }
    for (verdict, title) in SHOWN {
        let methods: Vec<&MethodChange> = comparison.methods_with(verdict).collect();
        if methods.is_empty() {
            continue;
        }
        let _ = write!(text, "\n<details{}>", if verdict == Verdict::Slower { " open" } else { "" });
        let _ = writeln!(text, "<summary>{} {title}</summary>\n", counted(methods.len() as u64, "method"));
        let _ =
            writeln!(text, "| method | base {0} | new {0} | change | calls | p |\n|---|---:|---:|---:|---:|---:|", comparison.by);
        for method in methods.iter().take(limit) {
            let Some(change) = method.metrics.get(comparison.by) else { continue };
            let calls = method.metric(Metric::Calls).map_or((0.0, 0.0), |calls| (calls.base, calls.new));
            let p = change.p.map(|p| format!("{p:.3}")).unwrap_or_default();
            let [base, new] = [change.base, change.new].map(|value| shown(comparison, value));
            let _ = write!(text, "| {} | {base} | {new} | {} ", Code(&method.name), Percent(change));
            let _ = writeln!(text, "| {} → {} | {p} |", calls.0, calls.1);
        }
        if methods.len() > limit {
            let _ = writeln!(text, "\nand {} more", counted((methods.len() - limit) as u64, "method"));
        }
        text.push_str("\n</details>\n");
    }
    let _ = writeln!(text, "\n{}.", how(comparison));
    if let Some(note) = mixed(comparison) {
        let _ = writeln!(text, "\n{note}.");
    }
    text
}

fn summary(comparison: &Comparison) -> String {
    let count = |verdict| comparison.methods_with(verdict).count();
    let [slower, faster, new, gone] = SHOWN.map(|(verdict, _)| count(verdict));
    let (base, runs) = (counted(comparison.base_runs as u64, "run"), counted(comparison.new_runs as u64, "run"));
    let methods = counted(slower as u64, "method");
    format!("{methods} slower, {faster} faster, {new} new, {gone} gone, {} the same: {base} against {runs}", count(Verdict::Same))
}

fn shown(comparison: &Comparison, value: f64) -> String {
    let by = Metric::ALL.iter().find(|metric| metric.name() == comparison.by);
    with_unit(value, by.map_or(MetricUnit::Milliseconds, |metric| metric.unit()), 3)
}

/// Returns a number of the whole program with its unit.
fn of_program(name: &str, value: f64) -> String {
    with_unit(value, unit_of_program(name), 1)
}

/// Returns a number with its unit. Times have so many decimals.
fn with_unit(value: f64, unit: MetricUnit, decimals: usize) -> String {
    match unit {
        MetricUnit::Milliseconds => format!("{value:.decimals$} ms"),
        MetricUnit::Count => format!("{value}"),
        MetricUnit::Bytes => format!("{value} B"),
    }
}

/// Describes the test in a sentence.
pub fn how(comparison: &Comparison) -> String {
    let (threshold, share) = (comparison.threshold_percent, LEAST_SHARE * 100.0);
    let size = format!("it is at least {threshold} % (times: also {share} % of the program's running time)");
    match comparison.test {
        Test::MannWhitney => {
            format!("a change counts if {size}, and p <= {ALPHA} by the Mann-Whitney U test, two-sided, of the runs")
        }
        Test::Ranges => format!("a change counts if {size}, and the runs of the two sides do not overlap"),
        Test::Threshold => format!("a change counts if {size}; with one run on a side, a change cannot be told from noise"),
    }
}

/// Returns a note if the runs have several modes.
pub fn mixed(comparison: &Comparison) -> Option<String> {
    let modes = &comparison.modes;
    (modes.len() > 1).then(|| {
        format!(
            "the runs were measured in different modes ({}), whose times do not compare; use one mode for both sides",
            modes.join(", ")
        )
    })
}

fn remarks(method: &MethodChange, change: &Change) -> String {
    let mut text = String::new();
    if let Some(calls) = method.metric(Metric::Calls).filter(|calls| calls.base != calls.new) {
        let _ = write!(text, "  ({} -> {} calls)", calls.base, calls.new);
    }
    if let Some(p) = change.p {
        let _ = write!(text, "  p {p:.3}");
    }
    text
}

/// The change of a number in percent, with its probability.
struct Percent<'c>(&'c Change);

impl Percent<'_> {
    fn short(&self) -> String {
        self.0.change_percent.map(|percent| format!("{percent:+.1}")).unwrap_or_default()
    }
}

impl fmt::Display for Percent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.change_percent {
            None if self.0.change == 0.0 => f.write_str("±0 %")?,
            None => f.write_str("new")?,
            Some(percent) => write!(f, "{percent:+.1} %")?,
        }
        f.write_str(if self.0.differs || self.0.change == 0.0 { "" } else { " (within noise)" })
    }
}

/// Text as code within a table cell: no part of it acts as Markdown, HTML or a mention.
struct Code<'t>(&'t str);

impl fmt::Display for Code<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = Visible(self.0).to_string();
        // A longer run of backticks than any in the text, which must not begin or end with one.
        let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest + 1);
        let gap = if text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() { " " } else { "" };
        write!(f, "{fence}{gap}{}{gap}{fence}", text.replace('|', "\\|"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markdown() {
        for (name, expected) in [
            ("Shop.Order.Load", "`Shop.Order.Load`"),
            ("a|b", "`a\\|b`"),
            ("List`1", "``List`1``"),
            ("`x``", "``` `x`` ```"),
            ("a\n| b", "`a\\u{a}\\| b`"),
            ("<img src=x> @all **b**", "`<img src=x> @all **b**`"),
        ] {
            assert_eq!(Code(name).to_string(), expected);
        }
    }
}
