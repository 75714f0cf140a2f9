//! The output of `ilinst instrument` for MSBuild and editors: each warning on its own line, with its file. Errors
//! that end a run always have that form.

use std::io::Write;

use ::instrument::{FileReport, LeftAlone, Outcome, TRACKER_NOT_FOUND};
use names::Visible;

use super::summary::{LEFT_ALONE, NOTHING_TO_WEAVE, has_no_body, why_nothing};
use crate::{symbols::source_places, text::count};

/// A line a file, its notes, and its warnings: under `--strict` methods that were left alone are errors.
pub(super) fn print(files: &[FileReport], is_strict: bool, out: &mut impl Write) -> std::io::Result<()> {
    for file in files.iter().filter(|file| !matches!(file.outcome, Outcome::Copied)) {
        let input = Visible(file.input.display());
        let Outcome::Processed { methods, left_alone, notes } = &file.outcome else {
            writeln!(out, "{input}: not instrumented")?;
            continue;
        };
        writeln!(out, "{input}: {}, {} instrumented", count(methods.len(), "method"), file.woven())?;
        for note in notes {
            writeln!(out, "{input}: note {}: {}", note.code(), Visible(note))?;
        }
        for warning in &file.warnings {
            writeln!(out, "{input}: warning {TRACKER_NOT_FOUND}: {}", Visible(warning))?;
        }
        let findings: Vec<&LeftAlone> = left_alone.iter().filter(|method| !method.reason.is_expected()).collect();
        let places = if findings.is_empty() {
            Vec::new()
        } else {
            source_places(&file.output, findings.iter().map(|method| method.token))
        };
        for (index, LeftAlone { name, reason, .. }) in findings.into_iter().enumerate() {
            let place = places.get(index).and_then(Option::as_ref);
            let origin = place.map_or_else(|| input.to_string(), |(file, line)| format!("{file}({line})"));
            let category = if is_strict { "error" } else { "warning" };
            let reason = format!("{} [{}]", Visible(reason), reason.code());
            writeln!(out, "{}: {category} {LEFT_ALONE}: {}: {reason}", Visible(origin), Visible(name))?;
        }
        if file.woven() == 0 && !has_no_body(file) {
            writeln!(
                out,
                "{input}: warning {NOTHING_TO_WEAVE}: nothing to instrument, so the output is a copy of the input: {}",
                why_nothing(file)
            )?;
        }
    }
    Ok(())
}
