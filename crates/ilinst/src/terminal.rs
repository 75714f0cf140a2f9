//! Where the text goes: colours and a pager on a terminal, plain text else.

use std::{
    env,
    io::{self, IsTerminal, StdoutLock, Write},
    process::{Child, Command, Stdio},
};

use iltext::diff::LineTag;

/// Standard output, or a pager in front of it.
pub(crate) struct Terminal {
    pager: Option<Child>,
    out: Option<StdoutLock<'static>>,
    /// Puts colours into a line, if there are to be any.
    paint: Option<Paint>,
    /// What waits for the end of its line to be coloured.
    line: Vec<u8>,
}

/// Puts colours into a line.
type Paint = fn(&str) -> String;

impl Terminal {
    /// Starts a pager if there is somebody to see it.
    pub(crate) fn open(paint: Paint) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let pager = if is_terminal { start_pager() } else { None };
        let out = pager.is_none().then(|| io::stdout().lock());
        let is_plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { pager, out, paint: (is_terminal && !is_plain).then_some(paint), line: Vec::new() }
    }

    /// Lets the reader finish.
    pub(crate) fn close(mut self) -> io::Result<()> {
        let last = std::mem::take(&mut self.line);
        self.put(&last)?;
        if let Some(out) = &mut self.out {
            out.flush()?;
        }
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            pager.wait()?;
        }
        Ok(())
    }

    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        match (&mut self.out, self.pager.as_mut().and_then(|pager| pager.stdin.as_mut())) {
            (Some(out), _) => out.write_all(text),
            (None, Some(pager)) => pager.write_all(text),
            (None, None) => Ok(()),
        }
    }
}

impl Write for Terminal {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let Some(paint) = self.paint else {
            self.put(text)?;
            return Ok(text.len());
        };
        self.line.extend_from_slice(text);
        let end = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines: Vec<u8> = self.line.drain(..end).collect();
        let coloured: String = String::from_utf8_lossy(&lines).split_inclusive('\n').map(paint).collect();
        self.put(coloured.as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
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

/// `$PAGER`, or `less` so that it shows colours and leaves at once if all fits the screen.
fn start_pager() -> Option<Child> {
    let words = env::var("PAGER").unwrap_or_else(|_| "less -FRX".into());
    let mut words = words.split_whitespace();
    Command::new(words.next()?).args(words).stdin(Stdio::piped()).spawn().ok()
}

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const DIRECTIVE: &str = "\x1b[35m";
const LABEL: &str = "\x1b[36m";
const COMMENT: &str = "\x1b[2m";
const STRING: &str = "\x1b[32m";
const RESET: &str = "\x1b[0m";

/// A line with its first word in colour if it is a directive or a label, its strings, and its comment.
pub(crate) fn colour_il(line: &str) -> String {
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

/// A line of either report in its colour.
pub(crate) fn colour_diff(line: &str) -> String {
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    let whole = |colour: &str| format!("{colour}{text}{RESET}{end}");
    let is_method_line = |text: &str| text.starts_with(|first: char| first.is_ascii_lowercase());
    if text.starts_with("---") || text.starts_with("+++") || is_method_line(text) {
        whole(BOLD)
    } else if text.starts_with("@@") {
        whole(CYAN)
    } else if text.starts_with(LineTag::Removed.sign()) {
        whole(RED)
    } else if text.starts_with(LineTag::Added.sign()) {
        whole(GREEN)
    } else {
        line.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_coloured_and_stay_what_they_are() {
        let line = "    IL_0000:  ldstr \"a // \\\" b\"  // 72\n";
        let painted = colour_il(line);
        assert_eq!(painted, format!("    {LABEL}IL_0000:{RESET}  ldstr {STRING}\"a // \\\" b\"{RESET}  {COMMENT}// 72{RESET}\n"));
        for line in [line, "", "\n", "  // x\n", ".class A/B 'it\\'s'\n", "'", "a / b"] {
            let mut plain = colour_il(line);
            [DIRECTIVE, LABEL, COMMENT, STRING, RESET].iter().for_each(|code| plain = plain.replace(code, ""));
            assert_eq!(plain, line);
        }
    }

    #[test]
    fn lines_are_coloured_by_their_signs() {
        assert_eq!(colour_diff("+  ldc.i4.1\n"), format!("{GREEN}+  ldc.i4.1{RESET}\n"));
        assert_eq!(colour_diff("-  ret\n"), format!("{RED}-  ret{RESET}\n"));
        for plain in [" ret\n", "\n", "", " 12 +++---  A::B()\n"] {
            assert_eq!(colour_diff(plain), plain);
        }
    }
}
