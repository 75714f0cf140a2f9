//! Lines in colours.

use ildiff::LineTag;

const BOLD: &str = "\x1b[1m";
const RED: &str = "\x1b[31m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";
const DIRECTIVE: &str = "\x1b[35m";
const LABEL: &str = "\x1b[36m";
const COMMENT: &str = "\x1b[2m";
const YELLOW: &str = "\x1b[33m";
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

/// The characters of bars in a report: blocks from an eighth of a cell to a whole one.
const BLOCKS: std::ops::RangeInclusive<char> = '\u{2588}'..='\u{258f}';

/// A line of a profile's report: warnings and headings as such, bars by how long they are, remarks behind names faint.
pub(crate) fn colour_report(line: &str) -> String {
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    let whole = |colour: &str| format!("{colour}{text}{RESET}{end}");
    let heading =
        ["method", "async method", "call tree", "thread", "group", "assembly", "called by", "calls", "source file", "source"];
    let is_heading = text.rsplit_once("  ").is_some_and(|(_, last)| heading.contains(&last));
    match text {
        text if ["warning", "ATTENTION", "  ilinst run"].iter().any(|start| text.starts_with(start)) => return whole(YELLOW),
        text if text.starts_with("note:") => return whole(COMMENT),
        _ if is_heading => return whole(BOLD),
        _ => {}
    }
    if let Some((count, source)) = counted_line(text) {
        let colour = match count.trim() {
            "0" => RED,
            count if count.ends_with('~') => YELLOW,
            _ => GREEN,
        };
        return format!("{colour}{count}{RESET}{source}{end}");
    }
    let Some(start) = text.find(|c| BLOCKS.contains(&c)) else { return line.to_owned() };
    let (before, bar) = text.split_at(start);
    let (bar, behind) = bar.split_at(bar.find(|c| !BLOCKS.contains(&c)).unwrap_or(bar.len()));
    let colour = match bar.chars().count() {
        0..2 => GREEN,
        2..5 => YELLOW,
        _ => RED,
    };
    format!("{before}{colour}{bar}{RESET}{behind}{end}")
}

/// Divides a line of source behind its count: `        12~    41 | return;`.
fn counted_line(text: &str) -> Option<(&str, &str)> {
    let (numbers, _) = text.split_once(" |")?;
    let (count, line) = numbers.trim_start().split_once([' ', '~'])?;
    let are_numbers = [count, line.trim_start()].iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    text.split_at_checked(11).filter(|_| are_numbers)
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
    fn reports_are_coloured_and_stay_what_they_are() {
        let bar = "  1.5 ███▌       Shop.Load\n";
        assert_eq!(colour_report(bar), format!("  1.5 {YELLOW}███▌{RESET}       Shop.Load\n"));
        assert_eq!(colour_report("     calls    self ms  method\n"), format!("{BOLD}     calls    self ms  method{RESET}\n"));
        for (count, colour) in [("         0 ", RED), ("        12~", YELLOW), ("        12 ", GREEN)] {
            let source = "    41 |     return x | y;";
            assert_eq!(colour_report(&format!("{count}{source}\n")), format!("{colour}{count}{RESET}{source}\n"));
        }
        assert_eq!(colour_report("note: x\n"), format!("{COMMENT}note: x{RESET}\n"));
        for plain in ["         1  Shop.calls\n", "               3 | // comment\n", "     120       99   80.9  a|b\n", "\n", ""]
        {
            assert_eq!(colour_report(plain), plain);
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
