//! The file: a page whose Content-Security-Policy allows its own script and style, and no network access.

use std::io::{self, Write};

use base64ct::{Base64, Encoding as _};
use names::Visible;
use profile::{Profile, compare::Comparison};
use sha2::{Digest as _, Sha256};

use super::{
    data::Data,
    filter::Filter,
    lines::{Sources, files},
};

const PAGE: &str = include_str!("../../assets/page.html");
const STYLE: &str = include_str!("../../assets/style.css");
/// The script, in the order in which its parts need each other.
const SCRIPT: &str = concat!(
    "'use strict';\n",
    include_str!("../../assets/format.js"),
    include_str!("../../assets/model.js"),
    include_str!("../../assets/list.js"),
    include_str!("../../assets/flame.js"),
    include_str!("../../assets/table.js"),
    include_str!("../../assets/tree.js"),
    include_str!("../../assets/callers.js"),
    include_str!("../../assets/phases.js"),
    include_str!("../../assets/lines.js"),
    include_str!("../../assets/compare.js"),
    include_str!("../../assets/app.js"),
);

/// A page, ready to be written.
#[derive(Debug)]
pub struct Page {
    data: Data,
}

impl Page {
    /// Creates the page of a profile and its phases with their names.
    pub fn report(profile: &Profile, phases: &[(String, Profile)]) -> Self {
        Self { data: Data::new(profile, phases, None) }
    }

    /// Creates the page of selected functions. Lists show these alone; graphs and trees show the paths to them and below them.
    pub fn filtered(profile: &Profile, phases: &[(String, Profile)], filter: &Filter<'_>) -> Self {
        Self { data: Data::new(profile, phases, Some(filter)) }
    }

    /// Adds the lines of source that the profile has counts of.
    #[must_use]
    pub fn with_lines(mut self, profile: &Profile, sources: &Sources) -> Self {
        self.data.lines = (!profile.lines.is_empty()).then(|| files(&profile.lines, sources));
        self
    }

    /// Creates the page of a comparison, with the names of both sides.
    pub fn compare(comparison: &Comparison, names: [&str; 2], base: &[Profile], new: &[Profile]) -> Self {
        Self { data: Data::compared(comparison, names, base, new) }
    }

    /// Writes the file.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        // Escaped, a name cannot end the element that contains it.
        let json = serde_json::to_string(&self.data)?.replace('<', "\\u003c");
        let (style, script) = (compact(STYLE), compact(SCRIPT));
        let mut rest = PAGE;
        for (place, text) in [
            ("{script-hash}", hash(&script).as_str()),
            ("{style-hash}", hash(&style).as_str()),
            ("{title}", escape(&self.data.title).as_str()),
            ("{style}", &style),
            ("{data}", &json),
            ("{script}", &script),
        ] {
            let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
            out.write_all(before.as_bytes())?;
            out.write_all(text.as_bytes())?;
            rest = after;
        }
        out.write_all(rest.as_bytes())?;
        out.flush()
    }
}

/// Removes indentation and comment lines from a script or style.
fn compact(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_comment = |line: &str| {
        let is_block = line.starts_with("/*") && (line.ends_with("*/") || !line.contains("*/"));
        is_block || ["//", "* ", "*/"].iter().any(|start| line.starts_with(start))
    };
    lines.filter(|line| !is_comment(line)).flat_map(|line| [line, "\n"]).collect()
}

/// Returns the hash by which a Content-Security-Policy identifies a text.
fn hash(text: &str) -> String {
    format!("sha256-{}", Base64::encode_string(&Sha256::digest(text)))
}

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    let text = Visible(text).to_string();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
