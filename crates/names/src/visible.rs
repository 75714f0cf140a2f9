//! Names that are safe to print. They come from files that anybody can make, so they must not control the terminal, end a line, or
//! change the direction of the text around them.

use std::fmt::{self, Display, Write};

/// A text in one line of visible characters. All others are shown as escapes, `\u{1b}`.
#[derive(Clone, Copy, Debug)]
pub struct Visible<T>(pub T);

impl<T: Display> Display for Visible<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'f, 'o>(&'f mut fmt::Formatter<'o>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, hidden)) = rest.char_indices().find(|(_, character)| is_hidden(*character)) {
            self.0.write_str(rest.get(..at).unwrap_or_default())?;
            write!(self.0, "{}", hidden.escape_unicode())?;
            rest = rest.get(at + hidden.len_utf8()..).unwrap_or_default();
        }
        self.0.write_str(rest)
    }
}

/// Whether a character is a control character (C0, DEL, C1), separates lines or paragraphs, or is one of those that change
/// the direction of text (Unicode's Bidi_Control).
pub fn is_hidden(character: char) -> bool {
    let changes_direction =
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || changes_direction || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_shown_and_words_stay() {
        for (text, expected) in [
            ("Shop.Größe::数量_ñ\u{301} \\ \"'", "Shop.Größe::数量_ñ\u{301} \\ \"'"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\r\n\tb\0", "a\\u{d}\\u{a}\\u{9}b\\u{0}"),
            ("\u{7f}\u{80}\u{9b}2J\u{9f}\u{a0}", "\\u{7f}\\u{80}\\u{9b}2J\\u{9f}\u{a0}"),
            ("\u{202e}exe\u{2066}\u{2069}\u{200f}", "\\u{202e}exe\\u{2066}\\u{2069}\\u{200f}"),
            ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
        ] {
            assert_eq!(Visible(text).to_string(), expected);
        }
    }
}
