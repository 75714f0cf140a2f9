//! The expressions of `--fail-if`: asked of each method, or of the program.
//!
//! ```text
//! or         := and ("or" and)*
//! and        := not ("and" not)*
//! not        := "not" not | "(" or ")" | "slower" | "faster" | "new" | "gone" | "method" "~" text | column op number
//! column     := ["program."] name        op := ">" | ">=" | "<" | "<=" | "=" | "!="
//! number     := ["+" | "-"] digits ["." digits] ["%" | "ns" | "us" | "ms" | "s" | "B" | "KiB" | "MiB"]
//! ```

use std::{fmt, str::FromStr};

use names::Visible;
use profile::compare::{Change, Comparison, MethodChange, Metric, MetricUnit, Verdict, numbers_of_program, unit_of_program};
use serde::Serialize;

use crate::method_pattern::MethodPattern;

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    text: String,
    root: Node,
    /// It is asked of the program, once.
    is_of_program: bool,
}

#[derive(Clone, Debug)]
enum Node {
    Or(Vec<Node>),
    And(Vec<Node>),
    Not(Box<Node>),
    Is(Verdict),
    Named(Box<MethodPattern>),
    Compares { column: Column, op: Op, number: Number },
}

#[derive(Clone, Copy, Debug)]
enum Column {
    OfMethod(Metric),
    OfProgram(&'static str),
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Op {
    More,
    AtLeast,
    Less,
    AtMost,
    Equal,
    Unequal,
}

/// The limit of a comparison: in milliseconds, a count, or percent.
#[derive(Clone, Copy, Debug)]
struct Number {
    value: f64,
    is_change: bool,
    is_percent: bool,
}

/// An expression and the item for which it is true.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Finding {
    expression: String,
    /// None: the program.
    method: Option<String>,
    /// The columns that were asked, with what they say.
    values: Vec<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.method.as_deref().unwrap_or("the program");
        write!(f, "--fail-if '{}': {}: {}", self.expression, Visible(of), self.values.join(", "))
    }
}

impl Gate {
    /// The items for which it is true.
    pub(super) fn findings(&self, comparison: &Comparison) -> Vec<Finding> {
        let methods = comparison.methods.iter().map(Some).filter(|_| !self.is_of_program);
        let program = self.is_of_program.then_some(None);
        let asked = methods.chain(program).filter(|method| self.root.is_true(*method, comparison));
        asked.map(|method| self.finding(method, comparison)).collect()
    }

    /// The metrics of methods that it uses.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        self.root.columns(&mut |column| match column {
            Column::OfMethod(metric) => metrics.push(metric),
            Column::OfProgram(_) => {}
        });
        metrics
    }

    fn finding(&self, method: Option<&MethodChange>, comparison: &Comparison) -> Finding {
        let mut values = Vec::new();
        self.root.columns(&mut |column| {
            if let Some(change) = column.change(method, comparison) {
                let (unit, digits) = match column.unit() {
                    MetricUnit::Milliseconds => (" ms", 3),
                    MetricUnit::Count => ("", 0),
                    MetricUnit::Bytes => (" B", 0),
                };
                let percent = change.change_percent.map(|percent| format!(", {percent:+.1} %")).unwrap_or_default();
                let text = format!("{} {:.digits$} -> {:.digits$}{unit}{percent}", column.name(), change.base, change.new);
                values.extend((!values.contains(&text)).then_some(text));
            }
        });
        if let Some(method) = method.filter(|_| values.is_empty()) {
            values.push(method.verdict.word().to_owned());
        }
        Finding { expression: self.text.clone(), method: method.map(|method| method.name.clone()), values }
    }
}

impl Node {
    fn is_true(&self, method: Option<&MethodChange>, comparison: &Comparison) -> bool {
        match self {
            Self::Or(parts) => parts.iter().any(|part| part.is_true(method, comparison)),
            Self::And(parts) => parts.iter().all(|part| part.is_true(method, comparison)),
            Self::Not(part) => !part.is_true(method, comparison),
            Self::Is(verdict) => method.is_some_and(|method| method.verdict == *verdict),
            Self::Named(pattern) => method.is_some_and(|method| {
                let raw = method.raw_name.as_deref().and_then(|name| name.split_once("::"));
                pattern.is_match(&method.name, raw, &method.assembly)
            }),
            Self::Compares { column, op, number } => {
                // Of what is on one side alone, nothing is a change.
                let is_on_both = method.is_none_or(|method| !matches!(method.verdict, Verdict::New | Verdict::Gone));
                let change = column.change(method, comparison).filter(|_| is_on_both || !number.is_change);
                change.is_some_and(|change| number.holds(*op, change))
            }
        }
    }

    fn columns(&self, visit: &mut impl FnMut(Column)) {
        match self {
            Self::Or(parts) | Self::And(parts) => parts.iter().for_each(|part| part.columns(visit)),
            Self::Not(part) => part.columns(visit),
            Self::Compares { column, .. } => visit(*column),
            Self::Is(_) | Self::Named(_) => {}
        }
    }
}

impl Column {
    fn change<'c>(self, method: Option<&'c MethodChange>, comparison: &'c Comparison) -> Option<&'c Change> {
        match self {
            Self::OfMethod(metric) => method?.metric(metric),
            Self::OfProgram(name) => comparison.program.get(name),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::OfMethod(metric) => metric.name(),
            Self::OfProgram(name) => name,
        }
    }

    fn unit(self) -> MetricUnit {
        match self {
            Self::OfMethod(metric) => metric.unit(),
            Self::OfProgram(name) => unit_of_program(name),
        }
    }
}

impl Number {
    fn holds(self, op: Op, change: &Change) -> bool {
        let value = match (self.is_change, self.is_percent) {
            (true, true) => change.change_percent.unwrap_or(if change.change > 0.0 { f64::INFINITY } else { 0.0 }),
            (true, false) => change.change,
            (false, _) => change.new,
        };
        // A difference within noise is no change, whatever the medians are.
        let value = if self.is_change && !change.counts { 0.0 } else { value };
        match op {
            Op::More => value > self.value,
            Op::AtLeast => value >= self.value,
            Op::Less => value < self.value,
            Op::AtMost => value <= self.value,
            Op::Equal => value == self.value,
            Op::Unequal => value != self.value,
        }
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parser = Parser { text, at: 0, of_method: None, of_program: None };
        let root = parser.or()?;
        parser.skip_blanks();
        if parser.at < text.len() {
            return Err(parser.expected("'and', 'or' or the end"));
        }
        if let (Some(_), Some(at)) = (parser.of_method, parser.of_program) {
            parser.at = at;
            return Err(parser.error("columns of the program and columns of methods need separate --fail-if options"));
        }
        Ok(Self { text: text.to_owned(), root, is_of_program: parser.of_program.is_some() })
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// Where something of either was first asked.
    of_method: Option<usize>,
    of_program: Option<usize>,
}

impl<'t> Parser<'t> {
    fn or(&mut self) -> Result<Node, String> {
        let mut parts = vec![self.and()?];
        while self.takes_word("or") {
            parts.push(self.and()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::Or(parts) })
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut parts = vec![self.not()?];
        while self.takes_word("and") {
            parts.push(self.not()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Node::And(parts) })
    }

    fn not(&mut self) -> Result<Node, String> {
        /// Deeper than anybody writes; expressions may come from elsewhere.
        const MAX_LENGTH: usize = 2000;
        if self.text.len() > MAX_LENGTH {
            return Err(format!("it has more than {MAX_LENGTH} bytes"));
        }
        if self.takes_word("not") {
            return Ok(Node::Not(Box::new(self.not()?)));
        }
        if self.takes("(") {
            let inner = self.or()?;
            return if self.takes(")") { Ok(inner) } else { Err(self.expected("a )")) };
        }
        self.skip_blanks();
        let start = self.at;
        let verdicts = [Verdict::Slower, Verdict::Faster, Verdict::New, Verdict::Gone];
        let word = self.word();
        if let Some(verdict) = verdicts.iter().find(|verdict| verdict.word() == word) {
            self.of_method.get_or_insert(start);
            return Ok(Node::Is(*verdict));
        }
        if word == "method" {
            self.of_method.get_or_insert(start);
            return self.pattern();
        }
        let column = match word.strip_prefix("program.") {
            Some(name) => {
                self.of_program.get_or_insert(start);
                numbers_of_program().find(|known| *known == name).map(Column::OfProgram)
            }
            None => {
                self.of_method.get_or_insert(start);
                word.parse().ok().map(Column::OfMethod)
            }
        };
        let Some(column) = column else {
            self.at = start;
            let metrics: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
            let known = format!(
                "a column ({}; program.{})",
                metrics.join(", "),
                numbers_of_program().collect::<Vec<_>>().join(", program.")
            );
            return Err(self.expected(&format!("{known}, 'method', 'slower', 'faster', 'new', 'gone' or 'not'")));
        };
        let ops =
            [(">=", Op::AtLeast), (">", Op::More), ("<=", Op::AtMost), ("<", Op::Less), ("!=", Op::Unequal), ("=", Op::Equal)];
        let Some((_, op)) = ops.into_iter().find(|(sign, _)| self.takes(sign)) else {
            return Err(self.expected("one of > >= < <= = !="));
        };
        let number = self.number(column)?;
        Ok(Node::Compares { column, op, number })
    }

    fn pattern(&mut self) -> Result<Node, String> {
        if !self.takes("~") {
            return Err(self.expected("~ and a pattern"));
        }
        self.skip_blanks();
        let (start, rest) = (self.at, self.rest());
        let text = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => {
                let inner = rest.get(1..).unwrap_or_default();
                let Some(end) = inner.find(quote) else { return Err(self.error("the quote has no end")) };
                self.at += end + 2;
                inner.get(..end).unwrap_or_default()
            }
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(rest.len());
                self.at += end;
                rest.get(..end).unwrap_or_default()
            }
        };
        text.parse().map(|pattern| Node::Named(Box::new(pattern))).map_err(|error| {
            self.at = start;
            self.error(&format!("{error}"))
        })
    }

    fn number(&mut self, column: Column) -> Result<Number, String> {
        self.skip_blanks();
        let start = self.at;
        let rest = self.rest();
        let is_change = rest.starts_with(['+', '-']);
        let digits = rest.trim_start_matches(['+', '-']);
        let sign = rest.len() - digits.len();
        let length = digits.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(digits.len());
        let number = digits
            .get(..length)
            .filter(|_| sign <= 1)
            .and_then(|digits| digits.parse::<f64>().ok())
            .filter(|number| number.is_finite());
        let Some(number) = number else { return Err(self.expected("a number, such as +10%, 5ms or 100")) };
        self.at += sign + length;
        let unit_at = self.at;
        let unit = if self.takes("%") { "%" } else { self.word() };
        let (of_time, of_bytes) = (column.unit() == MetricUnit::Milliseconds, column.unit() == MetricUnit::Bytes);
        let (factor, is_percent) = match unit {
            "%" if is_change => (1.0, true),
            "%" => {
                self.at = start;
                return Err(self.error("a percentage needs a sign: +10% is an increase, -10% a decrease"));
            }
            "ns" if of_time => (1e-6, false),
            "us" if of_time => (1e-3, false),
            "ms" if of_time => (1.0, false),
            "s" if of_time => (1e3, false),
            "B" if of_bytes => (1.0, false),
            "KiB" if of_bytes => (1024.0, false),
            "MiB" if of_bytes => (1_048_576.0, false),
            "" if !of_time || number == 0.0 => (1.0, false),
            _ => {
                self.at = unit_at;
                let units = match column.unit() {
                    MetricUnit::Milliseconds => "%, ns, us, ms or s",
                    MetricUnit::Count => "% or nothing",
                    MetricUnit::Bytes => "%, B, KiB, MiB or nothing",
                };
                return Err(self.expected(&format!("a unit: {units}")));
            }
        };
        let value = number * factor * if rest.starts_with('-') { -1.0 } else { 1.0 };
        Ok(Number { value, is_change, is_percent })
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// A word, of letters, digits, dots and hyphens; empty if there is none.
    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let word = rest
            .get(..rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '-')).unwrap_or(rest.len()))
            .unwrap_or_default();
        self.at += word.len();
        word
    }

    fn takes_word(&mut self, expected: &str) -> bool {
        self.skip_blanks();
        let before = self.at;
        let is_it = self.word() == expected;
        if !is_it {
            self.at = before;
        }
        is_it
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.skip_blanks();
        let is_it = self.rest().starts_with(sign);
        self.at += if is_it { sign.len() } else { 0 };
        is_it
    }

    fn expected(&mut self, what: &str) -> String {
        self.skip_blanks();
        self.error(&format!("expected {what}"))
    }

    fn error(&self, message: &str) -> String {
        let column = self.text.get(..self.at).map_or(0, |before| before.chars().count()) + 1;
        format!("column {column}: {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_where_and_what() {
        for (text, expected) in [
            ("", "column 1: expected a column (self, total,"),
            ("selfish > 1ms", "column 1: expected a column (self, total,"),
            ("self", "column 5: expected one of > >= < <= = !="),
            ("self > ", "column 8: expected a number, such as +10%, 5ms or 100"),
            ("self >> 1ms", "column 7: expected a number"),
            ("self > 10%", "column 8: a percentage needs a sign: +10%"),
            ("self > 10", "column 10: expected a unit: %, ns, us, ms or s"),
            ("calls > +10ms", "column 12: expected a unit: % or nothing"),
            ("self > +10% calls > 1", "column 13: expected 'and', 'or' or the end"),
            ("(self > +10%", "column 13: expected a )"),
            ("method", "column 7: expected ~ and a pattern"),
            ("method ~ 'Shop", "column 10: the quote has no end"),
            ("method ~ re:(", "column 10: 're:(' is no regular expression"),
            ("self > ++10%", "column 8: expected a number"),
            ("program.self > +1%", "column 1: expected a column"),
            ("self > +1% or program.cpu > 1s", "column 15: columns of the program and columns of methods need"),
        ] {
            let error = text.parse::<Gate>().expect_err(text);
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let deep = "(".repeat(3000);
        assert_eq!(deep.parse::<Gate>().expect_err("it is too long"), "it has more than 2000 bytes");
    }

    #[test]
    fn what_can_be_said() {
        for text in [
            "self > +10%",
            "self>+10%",
            "total >= +5ms and calls = +0",
            "method ~ 'Shop.*' and p95 > 20ms",
            "new and self > 1ms or not (slower or faster) and max <= 1.5s",
            "program.running > +5% or program.cpu > 2s",
            "method ~ Load and (gone)",
            "exceptions > 0",
            "average < -10us",
            "self != 0",
        ] {
            assert!(text.parse::<Gate>().is_ok(), "{text}: {:?}", text.parse::<Gate>());
        }
    }
}
