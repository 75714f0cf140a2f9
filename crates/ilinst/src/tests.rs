//! `ilinst tests`: the tests of a measured test run that reach a method, a line, or what was changed.

use std::{
    collections::{BTreeSet, HashMap},
    fmt::{self, Write as _},
    io::Write as _,
    ops::RangeInclusive,
    path::{Path, PathBuf},
    process::Command,
};

use clap::Args;
use ecma335::{Rid, schema::MethodDef};
use names::{MethodLines, Visible};
use profile::{Profile, model::Mode};
use report::views::{TestRow, tests};
use serde::Serialize;
use serde_json::json;

use crate::{
    failure::{EXIT_FINDINGS, Failure, printed},
    method_pattern::MethodPattern,
    profiles::{self, Naming},
    symbols,
    terminal::{Terminal, complain, print_json},
};

/// Find the tests that run a method, a line, or changed code
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The profile (.ilprof) of a test run; default: the newest profile in this folder or the temporary folder
    #[arg(value_name = "FILE")]
    profile: Option<PathBuf>,

    /// Show the tests that run this method
    #[arg(long, value_name = "NAME", group = "reach")]
    method: Option<MethodPattern>,

    /// Show the tests that run the method with this line
    #[arg(long, value_name = "FILE:LINE", group = "reach", value_parser = line)]
    line: Option<(String, u32)>,

    /// Show the tests that run methods changed since this revision of git
    ///
    /// Record the profile at that revision. Uncommitted changes count too. Line numbers are those of the revision. A new line
    /// counts as the line before it. New tests are not found, because the profile does not contain them.
    #[arg(long, value_name = "REVISION", group = "reach", value_parser = revision)]
    changed_since: Option<String>,

    /// Print the tests as an expression for `dotnet test --filter`
    #[arg(long, conflicts_with = "json")]
    filter_expression: bool,

    /// Also treat methods with this attribute as tests; write its name without namespace (repeatable)
    #[arg(long, value_name = "NAME")]
    test_attribute: Vec<String>,

    /// Read names from the instrumented assemblies in this folder (repeatable)
    #[arg(long, value_name = "FOLDER")]
    symbols: Vec<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ILINST_OUTPUT=$PWD/tests.ilprof dotnet test -p:Ilinst=true
  ilinst tests tests.ilprof --method Order.Total
  ilinst tests tests.ilprof --line src/Order.cs:41
  ilinst tests tests.ilprof --changed-since main --filter-expression

Record the profile with the package Ilinst.MSBuild or with `ilinst run`, in any mode except count. `runs` shows how often a \
test ran, and `calls` how often the test called the method. `total ms` shows the running time of the test with callees.

Tests are methods with Fact, Theory, Test, TestCase, TestCaseSource, TestMethod or DataTestMethod. A test runs a method \
if the test calls the method, directly or through other methods. Calls from async methods that the test awaits count too. \
Tasks that an async method starts belong to the test of this method. Work on a separate thread, or in a task that a method \
without async starts, may belong to no test. A line counts as run if its method was run.

`no test reached` names lines whose method no test ran. `no probes` names lines of methods that were not instrumented, for example \
because they are short. If no test is found, the exit code is 1.";

/// The attributes that mark tests of xunit, NUnit and MSTest.
const ATTRIBUTES: [&str; 7] = ["Fact", "Theory", "Test", "TestCase", "TestCaseSource", "TestMethod", "DataTestMethod"];

fn line(text: &str) -> Result<(String, u32), String> {
    let parts = text.rsplit_once(':').and_then(|(file, line)| Some((file.to_owned(), line.parse().ok()?)));
    parts.filter(|(file, line)| !file.is_empty() && *line > 0).ok_or_else(|| "it is not FILE:LINE, as in src/Order.cs:41".into())
}

fn revision(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('-') { Err("it is no revision of git".into()) } else { Ok(text.to_owned()) }
}

/// Lines of a source file; the file is relative to some folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Lines {
    file: String,
    lines: RangeInclusive<u32>,
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.lines.start(), self.lines.end());
        write!(f, "{}:{first}", Visible(&self.file))?;
        if first == last { Ok(()) } else { write!(f, "-{last}") }
    }
}

/// The methods of a profile's assemblies: which are tests, and where each is.
#[derive(Default)]
struct Methods {
    /// By function.
    is_test: Vec<bool>,
    places: Vec<Place>,
}

/// A method in its source.
struct Place {
    /// The method's lines; its file has `/` between folders.
    method: MethodLines,
    /// None if the profile has no call of the method.
    function: Option<usize>,
}

/// Functions that are looked for, and changed lines whose tests are not known.
struct Search {
    /// By function.
    is_wanted: Vec<bool>,
    unreached: Vec<Lines>,
    /// Lines of methods without probes.
    unprobed: Vec<Lines>,
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let path = profiles::find_and_say(self.profile.as_deref())?;
        let profile = Naming { symbols: &self.symbols, raw: false }.read(&path, None)?;
        if profile.mode == Mode::Count {
            let text = format_args!("{}: it has no call paths, since it was recorded with mode count", path.display());
            return Err(Failure::usage(text).into());
        }
        let methods = Methods::read(&profile, &path, &self.symbols, &self.test_attribute);
        if !methods.is_test.contains(&true) {
            let text = format_args!(
                "{}: no test ran, or its assembly was not found; name its folder (--symbols), or the tests' attribute (--test-attribute)",
                path.display()
            );
            return Err(Failure::usage(text).into());
        }
        let names = profile.display_names();
        let Search { is_wanted, unreached, unprobed } = self.search(&profile, &names, &methods)?;
        let rows = tests(&profile, &methods.is_test, &is_wanted, &names);
        let code = if rows.is_empty() { EXIT_FINDINGS } else { 0 };
        if self.json {
            return printed(print_json(&json!({ "tests": rows, "unreached": unreached, "unprobed": unprobed })), code);
        }
        let unreached = unreached.iter().map(|lines| format!("no test reached {lines}"));
        let notes = unreached.chain(unprobed.iter().map(|lines| format!("no probes in {lines}: instrument with --all")));
        let mut text = String::new();
        if self.filter_expression {
            notes.for_each(|note| complain(format_args!("note: {note}")));
            if rows.is_empty() {
                complain("no test reaches it: an empty filter would run all tests");
                return Ok(EXIT_FINDINGS);
            }
            text = filter(&profile, &rows) + "\n";
        } else {
            let _ = writeln!(text, "{:>10} {:>10} {:>12}  test", "runs", "calls", "total ms");
            for TestRow { test, runs, calls, running_ms, .. } in &rows {
                let _ = writeln!(text, "{runs:>10} {calls:>10} {running_ms:>12.3}  {}", Visible(test));
            }
            notes.for_each(|note| text.extend([note.as_str(), "\n"]));
        }
        let mut out = Terminal::text();
        out.write_all(text.as_bytes())?;
        out.close()?;
        Ok(code)
    }

    fn search(&self, profile: &Profile, names: &[String], methods: &Methods) -> anyhow::Result<Search> {
        let is_wanted = vec![false; profile.functions.len()];
        let mut search = Search { is_wanted, unreached: Vec::new(), unprobed: Vec::new() };
        if let Some(pattern) = &self.method {
            let functions = pattern.functions(profile, names);
            if functions.is_empty() {
                let text =
                    format_args!("--method {pattern}: no method of this name ran, or it has no probes (instrument with --all)");
                return Err(Failure::usage(text).into());
            }
            search.want(functions);
        } else if let Some((file, line)) = &self.line {
            let found = methods.at(file, *line);
            if found.is_empty() {
                let text = format_args!("--line {file}:{line}: no method of the measured assemblies has this line");
                return Err(Failure::usage(text).into());
            }
            if !found.iter().any(|place| place.method.has_probes) {
                let text = format_args!("--line {file}:{line}: its method has no probes; instrument with --all");
                return Err(Failure::usage(text).into());
            }
            search.want(found.into_iter().filter_map(|place| place.function));
        } else if let Some(revision) = &self.changed_since {
            let below = functions_below(profile, &methods.is_test);
            for Lines { file, lines } in changed_lines(&diff(revision)?) {
                let (mut unreached, mut unprobed) = (Vec::new(), Vec::new());
                for line in lines {
                    let found = methods.at(&file, line);
                    match found.iter().min_by_key(|place| place.length_at(line)) {
                        Some(place) if !place.method.has_probes => unprobed.push(line),
                        Some(place) if !place.function.is_some_and(|function| below.contains(&function)) => unreached.push(line),
                        _ => {}
                    }
                    search.want(found.into_iter().filter_map(|place| place.function));
                }
                search.unreached.extend(runs_of_lines(&file, &unreached));
                search.unprobed.extend(runs_of_lines(&file, &unprobed));
            }
        } else {
            search.is_wanted.clone_from(&methods.is_test);
        }
        Ok(search)
    }
}

impl Search {
    fn want(&mut self, functions: impl IntoIterator<Item = usize>) {
        for function in functions {
            self.is_wanted.get_mut(function).into_iter().for_each(|is_wanted| *is_wanted = true);
        }
    }
}

impl Place {
    /// The number of lines of the shortest sequence point with a line.
    fn length_at(&self, line: u32) -> Option<u32> {
        let spans = self.method.spans.iter().filter(|span| span.contains(&line));
        spans.map(|span| span.end() - span.start()).min()
    }

    /// Its first to its last line.
    fn lines(&self) -> Option<RangeInclusive<u32>> {
        let spans = || self.method.spans.iter();
        Some(*spans().map(RangeInclusive::start).min()?..=*spans().map(RangeInclusive::end).max()?)
    }
}

impl Methods {
    fn read(profile: &Profile, path: &Path, folders: &[PathBuf], more: &[String]) -> Self {
        let is_name = |name: &str| {
            let name = name.strip_suffix("Attribute").unwrap_or(name);
            ATTRIBUTES.contains(&name) || more.iter().any(|more| more.strip_suffix("Attribute").unwrap_or(more) == name)
        };
        let mut all = Self { is_test: vec![false; profile.functions.len()], places: Vec::new() };
        symbols::read_all(profile, path, folders, |symbols| {
            let tests = symbols.rows_with(is_name);
            let mut functions: HashMap<Rid<MethodDef>, usize> = HashMap::new();
            for (index, function) in profile.functions.iter().enumerate() {
                let Some(row) = symbols.row_of(function.method_id) else { continue };
                functions.insert(row, index);
                all.is_test.get_mut(index).into_iter().for_each(|is_test| *is_test = tests.contains(&row));
            }
            let place = |method: MethodLines| {
                let function = functions.get(&method.method).copied();
                Place { method: MethodLines { file: method.file.replace('\\', "/"), ..method }, function }
            };
            all.places.extend(symbols.lines_of_methods().into_iter().map(place));
        });
        all
    }

    /// The methods whose code has a line. If none has, as for a comment, the innermost method around it.
    fn at(&self, file: &str, line: u32) -> Vec<&Place> {
        let file = file.replace('\\', "/");
        let is_file = |known: &str| known == file || known.strip_suffix(&*file).is_some_and(|folder| folder.ends_with('/'));
        let of_file = || self.places.iter().filter(|place| is_file(&place.method.file));
        let found: Vec<&Place> = of_file().filter(|place| place.length_at(line).is_some()).collect();
        if !found.is_empty() {
            return found;
        }
        let around = of_file().filter_map(|place| Some((place, place.lines().filter(|lines| lines.contains(&line))?)));
        around.min_by_key(|(_, lines)| lines.end() - lines.start()).map(|(place, _)| place).into_iter().collect()
    }
}

/// The functions that were called below a test, and the tests.
fn functions_below(profile: &Profile, is_test: &[bool]) -> BTreeSet<usize> {
    let mut below = BTreeSet::new();
    for tree in &profile.trees {
        let mut is_below: Vec<bool> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let of_caller = node.caller.and_then(|caller| is_below.get(caller)) == Some(&true);
            is_below.push(of_caller || is_test.get(node.function) == Some(&true));
        }
        below.extend(tree.nodes.iter().zip(is_below).filter(|(_, is_below)| *is_below).map(|(node, _)| node.function));
    }
    below
}

/// The runs of successive lines in sorted lines of a file.
fn runs_of_lines(file: &str, lines: &[u32]) -> Vec<Lines> {
    let runs = lines.chunk_by(|one, next| one + 1 == *next);
    runs.filter_map(|run| Some(Lines { file: file.to_owned(), lines: *run.first()?..=*run.last()? })).collect()
}

/// The tests as `dotnet test --filter` takes them. Its operators are escaped.
fn filter(profile: &Profile, rows: &[TestRow<'_>]) -> String {
    let name = |row: &TestRow<'_>| {
        let name = profile.functions.get(row.function)?.name.as_ref()?;
        let mut text = String::from("FullyQualifiedName=");
        for character in format!("{}.{}", name.type_name.replace('/', "+"), name.method).chars() {
            text.extend(matches!(character, '\\' | '(' | ')' | '&' | '|' | '=' | '!' | '~').then_some('\\'));
            text.push(character);
        }
        Some(text)
    };
    rows.iter().filter_map(name).collect::<Vec<_>>().join("|")
}

/// The changes since a revision, as git prints them.
fn diff(revision: &str) -> Result<String, Failure> {
    let mut git = Command::new("git");
    git.args(["-c", "core.quotePath=false", "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-renames"]);
    git.args(["--src-prefix=a/", "--dst-prefix=b/", revision, "--"]);
    let output = git.output().map_err(|error| Failure::unreadable(format_args!("git: {error}; --changed-since needs it")))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::unreadable(format_args!("git diff {revision}: {}", text.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The changed lines of files, where they were before. A mere insertion changes the line that it follows.
fn changed_lines(diff: &str) -> Vec<Lines> {
    let (mut file, mut changed, mut lines) = (None, Vec::new(), diff.lines());
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("--- ") {
            file = name.strip_prefix("a/").map(|name| name.trim_end_matches('\t'));
        } else if let Some([old, new]) = line.strip_prefix("@@ -").and_then(hunk) {
            changed.extend(file.map(|file: &str| {
                let [first, count] = old;
                Lines { file: file.to_owned(), lines: first..=first.saturating_add(count.saturating_sub(1)) }
            }));
            // The text of a line may look like a header.
            let texts = (&mut lines).filter(|line| !line.starts_with('\\'));
            texts.take(old[1].saturating_add(new[1]) as usize).for_each(drop);
        }
    }
    changed
}

/// The first line and the number of lines before a change, and after it: of `10,2 +10,3 @@`.
fn hunk(text: &str) -> Option<[[u32; 2]; 2]> {
    let (old, rest) = text.split_once(" +")?;
    let range = |text: &str| {
        let (first, count) = text.split_once(',').unwrap_or((text, "1"));
        Some([first.parse().ok()?, count.parse().ok()?])
    };
    Some([range(old)?, range(rest.split(' ').next()?)?])
}

#[cfg(test)]
mod of_diffs {
    use super::*;

    #[test]
    fn changed_lines_are_those_before_the_change() {
        let diff = "diff --git a/src/A.cs b/src/A.cs\n--- a/src/A.cs\n+++ b/src/A.cs\n@@ -10,2 +10 @@ class\n-x\n-y\n+z\n@@ -20 \
                    +21 @@\n--- a/b\n\\ No newline at end of file\n+b\n@@ -30,0 +32,2 @@\n+c\n+d\n--- /dev/null\n+++ b/New.cs\n@@ -0,0 +1,9 @@\n";
        let lines = |lines| Lines { file: "src/A.cs".into(), lines };
        assert_eq!(changed_lines(diff), [lines(10..=11), lines(20..=20), lines(30..=30)]);
    }
}
