//! `--capture`: the values to record of each call.

use std::{fmt, str::FromStr};

/// The values to record of each call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Captured {
    /// `calls`: the call itself, its time and its types. All other words imply it. `none` records nothing.
    pub calls: bool,
    /// `this`: the object that the method is called on.
    pub this: bool,
    /// `args`: the arguments. By-reference ones are recorded again at the end.
    pub arguments: bool,
    /// `return`: the return value.
    pub returned: bool,
    /// `exception`: exceptions that the method's handlers catch, and those that leave the method if its body is in a try
    /// block.
    pub exception: bool,
    /// `tostring`: the text of an object or struct from its `ToString`, in place of its fields. The call runs the program's
    /// code.
    pub texts: bool,
}

impl Captured {
    /// Records nothing.
    pub const NONE: Self = Self { calls: false, this: false, arguments: false, returned: false, exception: false, texts: false };
    /// The words, in the order in which help explains them.
    pub const WORDS: [&str; 7] = ["calls", "args", "return", "this", "exception", "tostring", "none"];

    fn words(&self) -> [bool; 6] {
        [self.calls, self.arguments, self.returned, self.this, self.exception, self.texts]
    }
}

impl FromStr for Captured {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, String> {
        if words == "none" {
            return Ok(Self::NONE);
        }
        let mut captured = Self { calls: true, ..Self::NONE };
        for word in words.split(',') {
            match word {
                "calls" => {}
                "args" => captured.arguments = true,
                "return" => captured.returned = true,
                "this" => captured.this = true,
                "exception" => captured.exception = true,
                "tostring" => captured.texts = true,
                _ => return Err(format!("'{word}' is none of {}", Self::WORDS.join(", "))),
            }
        }
        Ok(captured)
    }
}

impl fmt::Display for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.calls {
            return f.write_str("none");
        }
        let words = Self::WORDS.iter().zip(self.words()).filter(|(_, is_kept)| *is_kept);
        f.write_str(&words.map(|(word, _)| *word).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_it_again() {
        for words in ["none", "calls", "calls,args,return", "calls,args,return,this,exception", "calls,this,tostring"] {
            assert_eq!(words.parse::<Captured>().unwrap().to_string(), words);
        }
        assert_eq!("this,args".parse::<Captured>().unwrap().to_string(), "calls,args,this");
        assert!(
            "values".parse::<Captured>().is_err() && "".parse::<Captured>().is_err() && "args,none".parse::<Captured>().is_err()
        );
    }
}
