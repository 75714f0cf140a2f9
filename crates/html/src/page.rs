//! The file: a page whose policy lets it run its own script, use its own style, and reach nothing.

use std::io::{self, Write};

use base64ct::{Base64, Encoding as _};
use identity::Visible;
use profile::Profile;
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
    include_str!("../assets/app.js"),
);

/// A page, ready to be written.
#[derive(Debug)]
pub struct Page {
    data: Data,
}

impl Page {
    /// A profile, and its phases by their names.
    pub fn report(profile: &Profile, phases: &[(String, Profile)]) -> Self {
        Self { data: Data::of(profile, phases) }
    }

    /// Writes the file.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        // Whatever a name has, it cannot end the element that it is in.
        let json = serde_json::to_string(&self.data)?.replace('<', "\\u003c");
        let mut rest = PAGE;
        for (place, text) in [
            ("{script-hash}", hash(SCRIPT).as_str()),
            ("{style-hash}", hash(STYLE).as_str()),
            ("{title}", escape(&self.data.title).as_str()),
            ("{style}", STYLE),
            ("{data}", &json),
            ("{script}", SCRIPT),
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

/// What a Content-Security-Policy knows a text by.
fn hash(text: &str) -> String {
    format!("sha256-{}", Base64::encode_string(&Sha256::digest(text)))
}

/// Text that is nothing but text in HTML.
fn escape(text: &str) -> String {
    let text = Visible(text).to_string();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
