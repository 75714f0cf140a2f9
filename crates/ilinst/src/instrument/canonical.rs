//! The output of `ilinst instrument` for MSBuild and editors: each warning on its own line, with its file, and with the page
//! about its number. Errors that end a run always have that form.

use std::{fmt::Display, io::Write};

use ::instrument::{FileReport, LeftAlone, Outcome, TRACKER_NOT_FOUND, failure::Failure};
use names::Visible;

use super::summary::{LEFT_ALONE, NOTHING_TO_WEAVE, has_no_body, is_left_out_by_patterns, why_nothing};
use crate::{failure::page_about, symbols::source_places, text::count};

/// Prints a line for each file, its notes, and its warnings. Under `--strict`, skipped methods are errors.
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
            let warning = with_page(TRACKER_NOT_FOUND, Visible(warning));
            writeln!(out, "{input}: warning {TRACKER_NOT_FOUND}: {warning}")?;
        }
        let findings: Vec<&LeftAlone> = left_alone.iter().filter(|method| !method.reason.is_expected()).collect();
        let places = if findings.is_empty() {
            Vec::new()
        } else {
            source_places(&file.output, findings.iter().map(|method| method.token))
        };
        let category = if is_strict { "error" } else { "warning" };
        for (index, LeftAlone { name, reason, .. }) in findings.into_iter().enumerate() {
            let place = places.get(index).and_then(Option::as_ref);
            let origin = place.map_or_else(|| input.to_string(), |(file, line)| format!("{file}({line})"));
            let text = format!("{}: {} [{}]", Visible(name), Visible(reason), reason.code());
            writeln!(out, "{}: {category} {LEFT_ALONE}: {}", Visible(origin), with_page(LEFT_ALONE, text))?;
        }
        if file.woven() == 0 && !has_no_body(file) {
            let text = format!("nothing to instrument, so the output is a copy of the input: {}", why_nothing(file));
            // Patterns of a build choose among its projects.
            if is_left_out_by_patterns(file) {
                writeln!(out, "{input}: note {NOTHING_TO_WEAVE}: {text}")?;
            } else {
                writeln!(out, "{input}: warning {NOTHING_TO_WEAVE}: {}", with_page(NOTHING_TO_WEAVE, text))?;
            }
        }
    }
    Ok(())
}

/// Adds the page to the message of an error that ends a run.
pub(super) fn name_page(failure: &Failure) -> Failure {
    Failure { message: with_page(failure.code, &failure.message), ..*failure }
}

fn with_page(code: &str, text: impl Display) -> String {
    format!("{text} ({})", page_about(code))
}
