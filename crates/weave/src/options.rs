//! What decides the bytes of a woven module, beside its original and the tool's version: the mark records it, in words,
//! so that the module can be woven again.

use std::{fmt, str::FromStr};

use ilrewrite::LeaveMode;

use crate::{
    pattern::{Pattern, PatternError},
    plan::Selection,
};

/// The options that change bytes. In words, as a command line has them: `--leave=finally --include=Shop.* --keep-layout`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How the leave probe is reached.
    pub leave: LeaveMode,
    /// Which methods.
    pub selection: Selection,
    /// Whether the input's layout is to be kept though the image could be laid out anew.
    pub keep_layout: bool,
}

/// The defaults.
pub(crate) static DEFAULT: Options =
    Options { leave: LeaveMode::Finally, selection: Selection { include: Vec::new(), exclude: Vec::new() }, keep_layout: false };

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--leave={}", self.leave.word())?;
        for (name, patterns) in [("include", &self.selection.include), ("exclude", &self.selection.exclude)] {
            patterns.iter().try_for_each(|pattern| write!(f, " --{name}={}", escaped(pattern.as_str())))?;
        }
        f.write_str(if self.keep_layout { " --keep-layout" } else { "" })
    }
}

/// Words that are no options.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// An option that there is not.
    #[error("'{0}' is no option that weaving knows")]
    Unknown(String),
    /// A pattern that is none.
    #[error(transparent)]
    Pattern(#[from] PatternError),
}

impl FromStr for Options {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        let mut options = Self::default();
        let unknown = |word: &str| OptionsError::Unknown(format!("--{word}"));
        let words = text.strip_prefix(START).ok_or_else(|| OptionsError::Unknown(text.to_owned()))?;
        for word in words.split(SEPARATOR) {
            let pattern = |text: &str| unescaped(text).parse::<Pattern>();
            match word.split_once('=').unwrap_or((word, "")) {
                ("leave", mode) => options.leave = LeaveMode::of_word(mode).ok_or_else(|| unknown(word))?,
                ("include", text) => options.selection.include.push(pattern(text)?),
                ("exclude", text) => options.selection.exclude.push(pattern(text)?),
                ("keep-layout", "") => options.keep_layout = true,
                _ => return Err(unknown(word)),
            }
        }
        Ok(options)
    }
}

/// What an option begins with, and what stands between two.
const START: &str = "--";
const SEPARATOR: &str = " --";

/// A pattern in which no option seems to begin: what looks like a separator gets a backslash, and one more if it has some.
fn escaped(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(space) = rest.find(' ') {
        let (before, behind) = rest.split_at(space + 1);
        out.push_str(before);
        if behind.trim_start_matches('\\').starts_with(START) {
            out.push('\\');
        }
        rest = behind;
    }
    out + rest
}

/// The pattern again.
fn unescaped(text: &str) -> String {
    let mut pieces = text.split(' ');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |out, piece| {
        let plain = piece.strip_prefix('\\').filter(|rest| rest.trim_start_matches('\\').starts_with(START));
        out + " " + plain.unwrap_or(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_the_options_again() {
        for words in [
            "--leave=finally",
            "--leave=return --include=Shop.* --include=re:^A b$ --exclude=*::get_* --keep-layout",
            "--leave=finally --keep-layout",
        ] {
            assert_eq!(words.parse::<Options>().unwrap().to_string(), words);
        }
        assert_eq!(Options::default().to_string(), DEFAULT.to_string());
    }

    #[test]
    fn a_pattern_may_look_like_an_option() {
        for pattern in ["re:a --leave=return", r"re:a \--exclude=b \\--c", "re:a - -- b", "re: --"] {
            let selection = Selection { include: vec![pattern.parse().unwrap()], exclude: Vec::new() };
            let options = Options { selection, ..Options::default() };
            let again: Options = options.to_string().parse().unwrap();
            assert_eq!(again.to_string(), options.to_string());
            assert!(again.selection.exclude.is_empty() && again.leave == LeaveMode::Finally);
            assert_eq!(again.selection.include.iter().map(Pattern::as_str).collect::<Vec<_>>(), [pattern]);
        }
    }

    #[test]
    fn other_words_are_refused() {
        for words in ["", "leave", "--leave=later", "--leave=finally --probe=mine", "--include=re:("] {
            assert!(words.parse::<Options>().is_err(), "{words}");
        }
    }
}
