//! The output of `ilinst verify`: findings as text, JSON or SARIF.

use std::{io::Write, path::Path, time::Duration};

use ::verify::{Finding, Level, RULES, Report, Rule};
use ecma335::Token;
use names::Visible;
use serde_json::{Value, json};

use crate::text::count;

/// A file, with what was found in it.
pub(super) struct Checked<'p> {
    pub(super) path: &'p Path,
    pub(super) report: Report,
    /// How many findings the original has too; none if nothing was compared.
    pub(super) known: Option<usize>,
}

/// The parts of the text output besides the findings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Whether more than one file: then each finding says where.
    pub(super) are_many: bool,
    /// Whether types were checked.
    pub(super) has_types: bool,
}

/// Findings, a line each, and what it comes to.
pub(super) fn print(out: &mut impl Write, checked: &[Checked<'_>], layout: Layout, elapsed: Duration) -> std::io::Result<()> {
    let Layout { are_many, has_types } = layout;
    for Checked { path, report, .. } in checked {
        for finding in &report.findings {
            if are_many {
                write!(out, "{}: ", Visible(path.display()))?;
            }
            writeln!(out, "{}", Visible(finding))?;
        }
    }
    let total = |of: fn(&Report) -> usize| checked.iter().map(|file| of(&file.report)).sum::<usize>();
    let is_compared = checked.iter().any(|file| file.known.is_some());
    let mut words = vec![count(checked.len(), "file"), format!("{} checked", count(total(|report| report.bodies), "body"))];
    for level in [Level::Error, Level::Warning, Level::Unverifiable] {
        let of_level = |report: &Report| report.findings.iter().filter(|finding| finding.rule.level == level).count();
        let found = checked.iter().map(|file| of_level(&file.report)).sum::<usize>();
        match level {
            Level::Unverifiable if found > 0 => words.push(format!("{found} unverifiable")),
            Level::Error if is_compared => words.push(count(found, "new error")),
            Level::Error => words.push(count(found, level.name())),
            _ if found > 0 => words.push(count(found, level.name())),
            _ => {}
        }
    }
    let omitted = total(|report| report.omitted);
    if omitted > 0 {
        words.push(format!("{omitted} more of the same rules"));
    }
    let assumed = total(|report| report.assumed);
    if has_types && assumed > 0 {
        words.push(format!("{} assumed", count(assumed, "value")));
    }
    if is_compared {
        let known = checked.iter().filter_map(|file| file.known).sum::<usize>();
        words.push(format!("{} of the original not shown", count(known, "finding")));
    }
    writeln!(out, "{} in {} ms", words.join(", "), elapsed.as_millis())
}

/// The whole outcome as JSON.
pub(super) fn to_json(checked: &[Checked<'_>], elapsed: Duration) -> Value {
    let file = |Checked { path, report, known }: &Checked<'_>| {
        let mut file = json!({
            "file": path.display().to_string(),
            "valid": report.is_valid(),
            "bodies": report.bodies,
            "assumed": report.assumed,
            "omitted": report.omitted,
            "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
        });
        if let (Some(known), Some(members)) = (known, file.as_object_mut()) {
            members.insert("known".into(), json!(known));
        }
        file
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
pub(super) fn sarif(checked: &[Checked<'_>]) -> Value {
    let findings = || checked.iter().flat_map(|file| file.report.findings.iter().map(|finding| (file.path, finding)));
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
