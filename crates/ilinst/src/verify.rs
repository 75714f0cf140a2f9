//! `ilinst verify`: is an assembly valid? Findings as text, JSON or SARIF.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ::verify::{Finding, Level, Options, RULES, Report, Rule};
use clap::Args;
use ecma335::{Image, Metadata, Token};
use serde_json::{Value, json};

use crate::{
    failure::{self, EXIT_BAD_INPUT, EXIT_FINDINGS, Failure},
    io::Input,
    text::count,
};

/// Check assemblies against the rules of ECMA-335, as runtimes apply them.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The assemblies
    #[arg(value_name = "ASSEMBLY", required = true)]
    inputs: Vec<PathBuf>,

    /// Report too what runtimes let pass, and code that is valid and cannot be proved type-safe
    #[arg(long)]
    pedantic: bool,

    /// How many findings of one rule to report for a file; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// Print it as JSON
    #[arg(long, conflicts_with = "sarif")]
    json: bool,

    /// Print it as SARIF 2.1.0, for code scanning
    #[arg(long)]
    sarif: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst verify app.dll
  ilinst verify woven/*.dll --sarif > verify.sarif
  ilinst verify app.dll --json | jq '.files[].findings[] | select(.rule | startswith(\"III.\"))'

Rules have the standard's paragraphs and numbers: II.22.26-7a is rule 7a of Partition II, 22.26. A letter
stands where the standard has no number.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let started = Instant::now();
        let mut checked = Vec::new();
        let mut is_unreadable = false;
        for path in &self.inputs {
            match self.check(path) {
                Ok(report) => checked.push((path.as_path(), report)),
                Err(error) => {
                    is_unreadable = true;
                    let _ = writeln!(std::io::stderr(), "ilinst: {}", failure::one_line(&error));
                }
            }
        }
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if self.json || self.sarif {
            let value = if self.sarif { sarif(&checked) } else { to_json(&checked, started.elapsed()) };
            serde_json::to_writer_pretty(&mut out, &value)?;
            writeln!(out)?;
        } else {
            self.print(&mut out, &checked, started.elapsed())?;
        }
        out.flush()?;
        let has_findings = checked.iter().any(|(_, report)| !report.findings.is_empty());
        Ok(match (is_unreadable, has_findings) {
            (true, _) => EXIT_BAD_INPUT,
            (_, true) => EXIT_FINDINGS,
            _ => 0,
        })
    }

    fn check(&self, path: &Path) -> anyhow::Result<Report> {
        let bytes = Input::open(path)?;
        let in_file = |error: ecma335::Error| Failure::not_an_assembly(format_args!("{}: {error}", path.display()));
        let image = Image::parse(&bytes).map_err(in_file)?;
        let metadata = Metadata::parse(image.metadata().map_err(in_file)?).map_err(in_file)?;
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        Ok(::verify::verify(&image, &metadata, &Options { pedantic: self.pedantic, limit }))
    }

    fn print(&self, out: &mut impl Write, checked: &[(&Path, Report)], elapsed: Duration) -> std::io::Result<()> {
        for (path, report) in checked {
            for finding in &report.findings {
                if self.inputs.len() > 1 {
                    write!(out, "{}: ", path.display())?;
                }
                writeln!(out, "{finding}")?;
            }
        }
        let total = |of: fn(&Report) -> usize| checked.iter().map(|(_, report)| of(report)).sum::<usize>();
        let mut words = vec![count(checked.len(), "file"), format!("{} checked", count(total(|report| report.bodies), "body"))];
        for level in [Level::Error, Level::Warning, Level::Unverifiable] {
            let of_level = |report: &Report| report.findings.iter().filter(|finding| finding.rule.level == level).count();
            let found = checked.iter().map(|(_, report)| of_level(report)).sum::<usize>();
            match level {
                Level::Unverifiable if found > 0 => words.push(format!("{found} unverifiable")),
                Level::Error => words.push(count(found, level.name())),
                _ if found > 0 => words.push(count(found, level.name())),
                _ => {}
            }
        }
        let omitted = total(|report| report.omitted);
        if omitted > 0 {
            words.push(format!("{omitted} more of the same rules"));
        }
        writeln!(out, "{} in {} ms", words.join(", "), elapsed.as_millis())
    }
}

fn to_json(checked: &[(&Path, Report)], elapsed: Duration) -> Value {
    let file = |(path, report): &(&Path, Report)| {
        json!({
            "file": path.display().to_string(),
            "valid": report.is_valid(),
            "bodies": report.bodies,
            "assumed": report.assumed,
            "omitted": report.omitted,
            "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
        })
    };
    json!({ "files": checked.iter().map(file).collect::<Vec<_>>(), "milliseconds": elapsed.as_millis() as u64, "rules": RULES.len() })
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "level": finding.rule.level.name(),
        "rule": finding.rule.number,
        "token": token_text(finding.token),
        "member": finding.member,
        "offset": finding.offset,
        "message": finding.message(),
    })
}

fn token_text(token: Token) -> Option<String> {
    (token != Token::default()).then(|| token.to_string())
}

/// SARIF 2.1.0: the rules that were broken, and where.
fn sarif(checked: &[(&Path, Report)]) -> Value {
    let findings = || checked.iter().flat_map(|(path, report)| report.findings.iter().map(move |finding| (*path, finding)));
    let broken: Vec<&Rule> = RULES.iter().filter(|rule| findings().any(|(_, finding)| finding.rule == *rule)).collect();
    let result = |(path, finding): (&Path, &Finding)| {
        json!({
            "ruleId": finding.rule.number,
            "ruleIndex": broken.iter().position(|rule| *rule == finding.rule),
            "level": sarif_level(finding.rule.level),
            "message": { "text": finding.message() },
            "locations": [{
                "physicalLocation": { "artifactLocation": { "uri": uri(path) } },
                "logicalLocations": [{ "fullyQualifiedName": finding.member }],
            }],
            "properties": { "token": token_text(finding.token), "ilOffset": finding.offset },
        })
    };
    let rule = |rule: &&Rule| {
        json!({
            "id": rule.number,
            "shortDescription": { "text": rule.text },
            "defaultConfiguration": { "level": sarif_level(rule.level) },
        })
    };
    let driver = json!({
        "name": "ilinst",
        "version": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": broken.iter().map(rule).collect::<Vec<_>>(),
    });
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": driver }, "results": findings().map(result).collect::<Vec<_>>() }],
    })
}

fn sarif_level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Unverifiable => "note",
    }
}

/// A path as a relative or absolute URI reference.
fn uri(path: &Path) -> String {
    let text = path.display().to_string().replace('\\', "/");
    let mut uri = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
