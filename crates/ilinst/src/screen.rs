//! Where the text goes: colours and a pager on a terminal, plain text else.

use std::{
    env,
    io::{self, IsTerminal, StdoutLock, Write},
    process::{Child, Command, Stdio},
};

/// Standard output, or a pager in front of it.
pub(crate) struct Screen {
    pager: Option<Child>,
    out: Option<StdoutLock<'static>>,
    /// Puts colours into a line, if there are to be any.
    paint: Option<Paint>,
}

/// Puts colours into a line.
type Paint = fn(&str) -> String;

impl Screen {
    /// Starts a pager if there is somebody to see it.
    pub(crate) fn open(paint: Paint) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let pager = if is_terminal { start_pager() } else { None };
        let out = pager.is_none().then(|| io::stdout().lock());
        let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { pager, out, paint: (is_terminal && !is_plain).then_some(paint) }
    }

    /// Writes whole lines.
    pub(crate) fn write(&mut self, lines: &str) -> io::Result<()> {
        let coloured = self.paint.map(|paint| lines.split_inclusive('\n').map(paint).collect::<String>());
        let text = coloured.as_deref().unwrap_or(lines).as_bytes();
        match (&mut self.out, self.pager.as_mut().and_then(|pager| pager.stdin.as_mut())) {
            (Some(out), _) => out.write_all(text),
            (None, Some(pager)) => pager.write_all(text),
            (None, None) => Ok(()),
        }
    }

    /// Lets the reader finish.
    pub(crate) fn close(mut self) -> io::Result<()> {
        if let Some(out) = &mut self.out {
            out.flush()?;
        }
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            pager.wait()?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Also where writing failed, as when the pager was left: the terminal is its own until it ends.
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            let _ = pager.wait();
        }
    }
}

/// `$PAGER`, or `less` so that it shows colours and leaves at once if all fits the screen.
fn start_pager() -> Option<Child> {
    let words = env::var("PAGER").unwrap_or_else(|_| "less -FRX".into());
    let mut words = words.split_whitespace();
    Command::new(words.next()?).args(words).stdin(Stdio::piped()).spawn().ok()
}

const DIRECTIVE: &str = "\x1b[35m";
const LABEL: &str = "\x1b[36m";
const COMMENT: &str = "\x1b[2m";
const STRING: &str = "\x1b[32m";
const RESET: &str = "\x1b[0m";

/// A line with its first word in colour if it is a directive or a label, its strings, and its comment.
pub(crate) fn colour(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (indent, rest) = line.split_at(indent);
    let first = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, mut rest) = rest.split_at(first);
    let mut out = match word {
        "//" => return format!("{indent}{COMMENT}{word}{}{RESET}\n", rest.trim_end_matches('\n')),
        _ if word.starts_with('.') => format!("{indent}{DIRECTIVE}{word}{RESET}"),
        _ if word.starts_with("IL_") => format!("{indent}{LABEL}{word}{RESET}"),
        _ => format!("{indent}{word}"),
    };
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let (colour, length) = match found.as_bytes() {
            [b'/', b'/', ..] => (COMMENT, found.trim_end_matches('\n').len()),
            [b'/', ..] => ("", 1),
            [quote, ..] => (if *quote == b'"' { STRING } else { "" }, quoted_length(found, *quote)),
            [] => break,
        };
        let (piece, behind) = found.split_at(length);
        if colour.is_empty() {
            out.push_str(piece);
        } else {
            out.extend([colour, piece, RESET]);
        }
        rest = behind;
    }
    out + rest
}

/// How long a quoted text is, with its quotes.
fn quoted_length(text: &str, quote: u8) -> usize {
    let mut escaped = false;
    let end = text.bytes().enumerate().skip(1).find(|(_, byte)| {
        let is_end = *byte == quote && !escaped;
        escaped = *byte == b'\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_coloured_and_stay_what_they_are() {
        let line = "    IL_0000:  ldstr \"a // \\\" b\"  // 72\n";
        let painted = colour(line);
        assert_eq!(painted, format!("    {LABEL}IL_0000:{RESET}  ldstr {STRING}\"a // \\\" b\"{RESET}  {COMMENT}// 72{RESET}\n"));
        for line in [line, "", "\n", "  // x\n", ".class A/B 'it\\'s'\n", "'", "a / b"] {
            let mut plain = colour(line);
            [DIRECTIVE, LABEL, COMMENT, STRING, RESET].iter().for_each(|code| plain = plain.replace(code, ""));
            assert_eq!(plain, line);
        }
    }
}
