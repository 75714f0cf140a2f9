//! Formats the differences as one HTML page. Each type is a closed section, which is drawn on opening.

use std::io::{self, Write};

use base64ct::{Base64, Encoding as _};
use names::Visible;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::model::{Change, Totals, Visitor};

const STYLE: &str = include_str!("html/style.css");
const SCRIPT: &str = include_str!("html/script.js");

/// Writes the page while the differences are found.
pub struct Html<W> {
    out: W,
    files: [String; 2],
    separator: &'static str,
    /// The index of the current type.
    place: Option<usize>,
}

impl<W: Write> Html<W> {
    /// Starts the page.
    pub fn new(mut out: W, files: &[String; 2]) -> io::Result<Self> {
        let [old, new] = files.each_ref().map(|name| escape(name));
        write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; style-src '{}'\">\n\
             <title>{old} and {new}</title>\n<style>{STYLE}</style>\n<body>\n\
             <noscript>This page draws what it holds by a script of its own.</noscript>\n\
             <script id=\"data\" type=\"application/json\">",
            hash(SCRIPT),
            hash(STYLE),
        )?;
        Ok(Self { out, files: files.clone(), separator: "", place: None })
    }

    /// Writes a value that cannot close its HTML element.
    fn json(&mut self, value: &Value) -> io::Result<()> {
        self.out.write_all(value.to_string().replace('<', "\\u003c").as_bytes())
    }
}

impl<W: Write> Visitor for Html<W> {
    fn begin(&mut self, totals: &Totals) -> io::Result<()> {
        let words = if totals.is_same() { "Nothing differs.".into() } else { totals.all.words() };
        let types = totals.types.iter().map(|(name, sum)| json!([shown(name), sum.words()])).collect::<Vec<_>>();
        let [old, new] = self.files.each_ref().map(|name| shown(name));
        write!(self.out, "{{\"files\":")?;
        self.json(&json!([old, new]))?;
        write!(self.out, ",\"words\":")?;
        self.json(&words.into())?;
        write!(self.out, ",\"types\":")?;
        self.json(&types.into())?;
        write!(self.out, ",\"changes\":[")
    }

    fn type_begins(&mut self, place: Option<usize>) -> io::Result<()> {
        self.place = place;
        Ok(())
    }

    fn change(&mut self, change: &Change) -> io::Result<()> {
        let hunk = |hunk: &super::lines::Hunk| {
            let lines: Vec<String> = hunk.lines.iter().map(|(tag, line)| format!("{}{}", tag.sign(), shown(line))).collect();
            json!([hunk.old.0, hunk.new.0, lines])
        };
        let (added, removed) = change.counts();
        let hunks: Vec<Value> = change.hunks.iter().map(hunk).collect();
        let new_name = change.new_name.as_ref().map(|name| shown(name));
        let value =
            json!([self.place, change.kind.name(), shown(&change.name), new_name, change.status.word(), added, removed, hunks]);
        self.out.write_all(std::mem::replace(&mut self.separator, ",\n").as_bytes())?;
        self.json(&value)
    }

    fn finish(&mut self, _: &Totals) -> io::Result<()> {
        write!(self.out, "]}}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")?;
        self.out.flush()
    }
}

/// The hash of a text for a Content-Security-Policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", Base64::encode_string(&Sha256::digest(text)))
}

/// Text with control characters escaped.
fn shown(text: &str) -> String {
    Visible(text).to_string()
}

pub(crate) fn escape(text: &str) -> String {
    shown(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        lines::Text,
        model::{Kind, Status},
    };

    #[test]
    fn a_page_holds_all_and_nothing_in_it_is_markup() {
        let text = |line: &str| {
            let mut text = Text::default();
            text.push(0, line);
            text
        };
        let change = Change::between(Kind::Method, "A/'<b>&'::M", &text("ldstr \"<i>\""), &text("ldstr \"</script>\""));
        let mut page = Vec::new();
        let mut html = Html::new(&mut page, &["<old>".into(), "new".into()]).expect("a vector takes it");
        html.begin(&Totals::default()).expect("a vector takes it");
        html.change(&change.expect("they differ")).expect("a vector takes it");
        html.change(&Change::alone(Kind::Type, "<T>".into(), Status::Added)).expect("a vector takes it");
        html.finish(&Totals::default()).expect("a vector takes it");
        let page = String::from_utf8(page).expect("it is text");
        for wanted in [
            "<title>&lt;old&gt; and new</title>",
            r#""A/'\u003cb>&'::M""#,
            r#"["-ldstr \"\u003ci>\"","+ldstr \"\u003c/script>\""]"#,
            r#"[null,"type","\u003cT>",null,"added",0,0,[]]"#,
        ] {
            assert!(page.contains(wanted), "{wanted}\n{page}");
        }
        assert!(!page.contains("http:") && page.matches("</script>").count() == 2, "{page}");
    }
}
