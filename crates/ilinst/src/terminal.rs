//! Where all that is printed goes: standard output or a pager in front of it, and standard error. What steers a terminal
//! reaches neither, whatever is printed: only the colours of [`Paint`] are put in behind that.

use std::{
    borrow::Cow,
    env,
    fmt::{Display, Write as _},
    io::{self, IsTerminal, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

use ::instrument::failure::about;
use indicatif::{ProgressBar, ProgressStyle};
use names::{Visible, is_hidden};
use serde::Serialize;

/// How much is gathered before it is passed on.
const PIECE: usize = 1 << 16;

/// Standard output, or a pager in front of it.
pub(crate) struct Terminal {
    pager: Option<Child>,
    out: Option<Box<dyn Write>>,
    /// Puts colours into a line, if there are to be any.
    paint: Option<Paint>,
    /// None for what is no text.
    escape: Option<Escape>,
    /// Bytes held back until the rest of their line or of their kind arrives.
    pending: Vec<u8>,
}

/// Puts colours into a line.
pub(crate) type Paint = fn(&str) -> String;

/// Puts a character that nobody sees into words.
type Escape = fn(char, &mut String);

impl Terminal {
    /// Text in colours, through a pager if there is somebody to see it.
    pub(crate) fn paged(paint: Paint) -> Self {
        let pager = if Self::is_seen() { start_pager() } else { None };
        Self::new(pager, Some(in_text)).painted_with(paint)
    }

    /// Text in colours, if there is somebody to see them.
    pub(crate) fn painted(paint: Paint) -> Self {
        Self::text().painted_with(paint)
    }

    fn painted_with(self, paint: Paint) -> Self {
        self.painted_if(Self::is_seen(), paint)
    }

    fn painted_if(mut self, is_seen: bool, paint: Paint) -> Self {
        let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        self.paint = (is_seen && !is_plain).then_some(paint);
        self
    }

    /// Whether standard output is a terminal.
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub(crate) fn is_seen() -> bool {
        io::stdout().is_terminal()
    }

    /// Text.
    pub(crate) fn text() -> Self {
        Self::new(None, Some(in_text))
    }

    /// JSON, whose strings stay the same whether a character in them is escaped or not.
    pub(crate) fn json() -> Self {
        Self::new(None, Some(in_json))
    }

    /// Output of bytes that are no text, and not for a terminal.
    pub(crate) fn bytes() -> Self {
        Self::new(None, None)
    }

    /// Begins a new page: a terminal is cleared, all else gets an empty line.
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub(crate) fn clear() -> io::Result<()> {
        let mut out = io::stdout().lock();
        let page: &[u8] = if out.is_terminal() { b"\x1b[H\x1b[2J" } else { b"\n" };
        out.write_all(page).and_then(|()| out.flush()).map_err(|error| in_output(&error))
    }

    /// The same on standard error, for what goes beside the output of another program.
    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    pub(crate) fn painted_aside(paint: Paint) -> Self {
        let is_seen = is_error_seen();
        let out = Some(Box::new(io::stderr().lock()) as Box<dyn Write>);
        Self { pager: None, out, paint: None, escape: Some(in_text), pending: Vec::new() }.painted_if(is_seen, paint)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the place")]
    fn new(pager: Option<Child>, escape: Option<Escape>) -> Self {
        let out = pager.is_none().then(|| Box::new(io::stdout().lock()) as Box<dyn Write>);
        Self { pager, out, paint: None, escape, pending: Vec::new() }
    }

    /// Lets the reader finish.
    pub(crate) fn close(mut self) -> io::Result<()> {
        let last = std::mem::take(&mut self.pending);
        self.put(&last)?;
        self.flush()?;
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            pager.wait()?;
        }
        Ok(())
    }

    /// Passes text on, without what nobody sees, and in colours.
    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        let mut text = self.escape.map_or(Cow::Borrowed(text), |escape| visible(text, escape));
        if let Some(paint) = self.paint {
            text = Cow::Owned(String::from_utf8_lossy(&text).split_inclusive('\n').map(paint).collect::<String>().into_bytes());
        }
        let result = match (&mut self.out, self.pager.as_mut().and_then(|pager| pager.stdin.as_mut())) {
            (Some(out), _) => out.write_all(&text),
            (None, Some(pager)) => pager.write_all(&text),
            (None, None) => Ok(()),
        };
        result.map_err(|error| in_output(&error))
    }
}

impl Write for Terminal {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(text);
        if self.pending.len() >= PIECE {
            // Whole lines; of one without end, whole characters.
            let end = self.pending.iter().rposition(|byte| *byte == b'\n').map(|last| last + 1);
            let end = end.or_else(|| self.pending.iter().rposition(u8::is_ascii).filter(|end| *end > 0));
            let end = end.unwrap_or(self.pending.len());
            let rest = self.pending.split_off(end);
            let lines = std::mem::replace(&mut self.pending, rest);
            self.put(&lines)?;
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush).map_err(|error| in_output(&error))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Also where writing failed, as when the pager was left: the terminal is its own until it ends.
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            let _ = pager.wait();
        }
    }
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = Terminal::json();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(out.close()?)
}

/// Prints a line of text.
pub(crate) fn print_line(line: impl Display) -> anyhow::Result<()> {
    let mut out = Terminal::text();
    writeln!(out, "{line}")?;
    Ok(out.close()?)
}

/// Says something on standard error, in one line. Where nobody listens, there is nothing else to be done.
pub(crate) fn complain(text: impl Display) {
    let text = text.to_string().replace('\n', " ");
    complain_in_lines(&format!("ilinst: {}\n", Visible(text)));
}

/// Whether a person sees standard error.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub(crate) fn is_error_seen() -> bool {
    io::stderr().is_terminal()
}

/// Says something on standard error that has lines of its own.
#[expect(clippy::disallowed_methods, reason = "this is the place")]
pub(crate) fn complain_in_lines(text: &str) {
    let _ = io::stderr().write_all(&visible(text.as_bytes(), in_text));
}

/// A bar that counts so many files, drawn on standard error if that is a terminal: of many, and unless all is to be quiet.
pub(crate) fn progress_bar(files: usize, is_quiet: bool) -> ProgressBar {
    if files < 8 || is_quiet {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{bar:40} {pos}/{len} files  {elapsed}").unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(files as u64).with_style(style)
}

/// An error of standard output.
pub(crate) fn in_output(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), about(Path::new("standard output"), error))
}

/// Text whose hidden characters are escaped, but for those that lay it out.
fn visible(text: &[u8], escape: Escape) -> Cow<'_, [u8]> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.iter().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = &*text;
    while let Some(at) = rest.find(|character| is_hidden(character) && !matches!(character, '\n' | '\t')) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let mut characters = found.chars();
        characters.next().into_iter().for_each(|hidden| escape(hidden, &mut out));
        rest = characters.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out.into_bytes())
}

fn in_text(character: char, out: &mut String) {
    out.extend(character.escape_unicode());
}

/// All hidden characters are of four digits.
fn in_json(character: char, out: &mut String) {
    let _ = write!(out, "\\u{:04x}", u32::from(character));
}

/// `$PAGER`, or `less` so that it shows colours and leaves at once if all fits the screen.
fn start_pager() -> Option<Child> {
    let words = env::var("PAGER").unwrap_or_else(|_| "less -FRX".into());
    let mut words = words.split_whitespace();
    Command::new(words.next()?).args(words).stdin(Stdio::piped()).spawn().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_as_the_text_has_it() {
        let text = "é\t\u{9b}\u{202e}\u{1b}\n".as_bytes();
        assert_eq!(visible(text, in_text), "é\t\\u{9b}\\u{202e}\\u{1b}\n".as_bytes());
        assert_eq!(visible(text, in_json), "é\t\\u009b\\u202e\\u001b\n".as_bytes());
        assert_eq!(visible(b"\xff \xc2", in_text), "\u{fffd} \u{fffd}".as_bytes());
    }
}
