//! The file: a page whose policy lets it run its own script, use its own style, and reach nothing.

use std::io::{self, Write};

use base64ct::{Base64, Encoding as _};
use identity::Visible;
use profile::{Profile, compare::Comparison};
use sha2::{Digest as _, Sha256};

use crate::data::Data;

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/style.css");
/// The script, in the order in which its parts need each other.
const SCRIPT: &str = concat!(
    "'use strict';\n",
    include_str!("../assets/format.js"),
    include_str!("../assets/model.js"),
    include_str!("../assets/list.js"),
    include_str!("../assets/flame.js"),
    include_str!("../assets/table.js"),
    include_str!("../assets/tree.js"),
    include_str!("../assets/callers.js"),
    include_str!("../assets/phases.js"),
    include_str!("../assets/compare.js"),
    include_str!("../assets/app.js"),
);

/// Which functions a page is about.
#[expect(missing_debug_implementations, reason = "it is a function")]
pub struct Filter<'a> {
    /// How it was asked for.
    pub text: String,
    /// Whether each function of a profile is meant.
    pub is_meant: &'a dyn Fn(&Profile) -> Vec<bool>,
}

/// A page, ready to be written.
#[derive(Debug)]
pub struct Page {
    data: Data,
}

impl Page {
    /// A profile, and its phases by their names.
    pub fn report(profile: &Profile, phases: &[(String, Profile)]) -> Self {
        Self { data: Data::of(profile, phases, None) }
    }

    /// The same of some functions: in lists they alone, in graphs and trees the paths that lead to them, and those below.
    pub fn filtered(profile: &Profile, phases: &[(String, Profile)], filter: &Filter<'_>) -> Self {
        Self { data: Data::of(profile, phases, Some(filter)) }
    }

    /// Two sides of runs, and what they are called.
    pub fn compare(comparison: &Comparison, names: [&str; 2], base: &[Profile], new: &[Profile]) -> Self {
        Self { data: Data::compared(comparison, names, base, new) }
    }

    /// Writes the file.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        // Whatever a name has, it cannot end the element that it is in.
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

/// A script or a style without indentation, and without lines that are comments.
fn compact(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_comment = |line: &str| {
        let is_block = line.starts_with("/*") && (line.ends_with("*/") || !line.contains("*/"));
        is_block || ["//", "* ", "*/"].iter().any(|start| line.starts_with(start))
    };
    lines.filter(|line| !is_comment(line)).flat_map(|line| [line, "\n"]).collect()
}

/// What a Content-Security-Policy knows a text by.
fn hash(text: &str) -> String {
    format!("sha256-{}", Base64::encode_string(&Sha256::digest(text)))
}

/// Text that is nothing but text in HTML.
fn escape(text: &str) -> String {
    let text = Visible(text).to_string();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
