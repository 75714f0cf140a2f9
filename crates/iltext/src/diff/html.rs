//! The difference as one HTML file: side by side, light and dark.

use std::io::{self, Write};

use identity::Visible;

use super::{
    lines::{Hunk, LineTag},
    model::{Change, Status, Totals, Visitor},
};

/// Writes the page as the differences are found.
pub struct Html<W> {
    out: W,
}

const STYLE: &str = "\
:root{color-scheme:light dark;--add:#dafbe1;--del:#ffebe9;--line:#d0d7de;--dim:#656d76}
@media(prefers-color-scheme:dark){:root{--add:#12361f;--del:#4a1b1e;--line:#30363d;--dim:#8b949e}}
body{font:14px/1.4 system-ui,sans-serif;margin:1.5em}
summary{cursor:pointer;font-family:ui-monospace,monospace;padding:.2em 0}
table{border-collapse:collapse;table-layout:fixed;width:100%;margin:.3em 0 1em;border:1px solid var(--line)}
td{font:12px/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;padding:0 .5em;vertical-align:top}
td+td{border-left:1px solid var(--line)}
.a{background:var(--add)}.d{background:var(--del)}.h td{color:var(--dim);border-top:1px solid var(--line)}
p{margin:.1em 0;font-family:ui-monospace,monospace}.k{color:var(--dim)}
";

impl<W: Write> Html<W> {
    /// Starts the page.
    pub fn new(mut out: W, [old, new]: &[String; 2]) -> io::Result<Self> {
        let (old, new) = (escape(old), escape(new));
        write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
             <title>{old} and {new}</title>\n<style>\n{STYLE}</style>\n<h1>{old} and {new}</h1>\n"
        )?;
        Ok(Self { out })
    }

    /// A hunk's rows: what is removed beside what came for it.
    fn hunk(&mut self, hunk: &Hunk) -> io::Result<()> {
        writeln!(self.out, "<tr class=\"h\"><td>{}<td>{}", hunk.old.0, hunk.new.0)?;
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for (tag, line) in &hunk.lines {
            match tag {
                LineTag::Removed => removed.push(line.as_str()),
                LineTag::Added => added.push(line.as_str()),
                LineTag::Context => {
                    self.rows(&mut removed, &mut added)?;
                    let line = escape(line);
                    writeln!(self.out, "<tr><td>{line}<td>{line}")?;
                }
            }
        }
        self.rows(&mut removed, &mut added)
    }

    fn rows(&mut self, removed: &mut Vec<&str>, added: &mut Vec<&str>) -> io::Result<()> {
        let cell = |line: Option<&&str>, class: &str| match line {
            Some(line) => format!("<td class=\"{class}\">{}", escape(line)),
            None => "<td>".into(),
        };
        for row in 0..removed.len().max(added.len()) {
            writeln!(self.out, "<tr>{}{}", cell(removed.get(row), "d"), cell(added.get(row), "a"))?;
        }
        removed.clear();
        added.clear();
        Ok(())
    }
}

impl<W: Write> Visitor for Html<W> {
    fn change(&mut self, change: &Change) -> io::Result<()> {
        let (kind, name) = (change.kind.name(), escape(&change.name));
        match change.status {
            Status::Added => return writeln!(self.out, "<p class=\"a\">+ <span class=\"k\">{kind}</span> {name}</p>"),
            Status::Removed => return writeln!(self.out, "<p class=\"d\">- <span class=\"k\">{kind}</span> {name}</p>"),
            Status::Changed(_) => {}
        }
        let (new, old) = change.counts();
        writeln!(
            self.out,
            "<details open><summary><span class=\"k\">{kind}</span> {name} <span class=\"k\">+{new} -{old}</span></summary>"
        )?;
        writeln!(self.out, "<table>")?;
        change.hunks().iter().try_for_each(|hunk| self.hunk(hunk))?;
        writeln!(self.out, "</table></details>")
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        let words = if totals.is_same() { "Nothing differs.".into() } else { totals.words() };
        writeln!(self.out, "<p><b>{}</b></p>\n</html>", escape(&words))?;
        self.out.flush()
    }
}

/// Text that is nothing but text in HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in Visible(text).to_string().chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{lines::Text, model::Kind};

    #[test]
    fn a_page_holds_all_and_nothing_in_it_is_markup() {
        let text = |line: &str| {
            let mut text = Text::default();
            text.push(0, line);
            text
        };
        let change = Change::between(Kind::Method, "A/'<b>&'::M", &text("ldstr \"<i>\""), &text("ldstr \"</td>\""));
        let mut page = Vec::new();
        let mut html = Html::new(&mut page, &["<old>".into(), "new".into()]).expect("a vector takes it");
        html.change(&change.expect("they differ")).expect("a vector takes it");
        html.change(&Change { kind: Kind::Type, name: "<T>".into(), status: Status::Added }).expect("a vector takes it");
        html.finish(&Totals::default()).expect("a vector takes it");
        let page = String::from_utf8(page).expect("it is text");
        for wanted in [
            "<h1>&lt;old&gt; and new</h1>",
            "A/'&lt;b&gt;&amp;'::M",
            "<tr><td class=\"d\">ldstr &quot;&lt;i&gt;&quot;<td class=\"a\">ldstr &quot;&lt;/td&gt;&quot;",
            "+ <span class=\"k\">type</span> &lt;T&gt;",
        ] {
            assert!(page.contains(wanted), "{wanted}\n{page}");
        }
        assert!(!page.contains("http") && !page.contains("<script"), "{page}");
    }
}
