//! What a launcher and the CLR profiler know of each other: how the profiler is named, and what it is told by its environment.

/// The profiler's class, as the runtime is told it.
pub const CLASS: u128 = 0x7D1B7A3C_9E2F_4C1D_8B65_494C494E5354;
/// The name of its library, without what platforms put before and behind.
pub const LIBRARY: &str = "ilinst_clr_profiler";

/// Which methods: `weave`'s options in words.
pub const OPTIONS: &str = "ILINST_LIVE_OPTIONS";
/// Whether assemblies of the framework are recorded, too: 1.
pub const ALL_ASSEMBLIES: &str = "ILINST_LIVE_ALL_ASSEMBLIES";
/// Where the tracker is, if methods are to be woven when they are loaded.
pub const TRACKER: &str = "ILINST_LIVE_TRACKER";
/// The folder in which the profiler says how it began: in a file named by the process's number.
pub const STATUS: &str = "ILINST_LIVE_STATUS";
/// The launcher's version, which has to be the profiler's.
pub const VERSION: &str = "ILINST_LIVE_VERSION";

/// What [`STATUS`] begins with where the profiler could not begin.
pub const FAILED: &str = "error: ";

/// What is kept of each call: words with commas between them, of [`Captured`].
pub const CAPTURE: &str = "ILINST_LIVE_CAPTURE";

/// What is kept of each call, beside that there was one, when, and of which types.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Captured {
    /// `this`: the object that it is called on.
    pub this: bool,
    /// `args`: its arguments, and by-reference ones when it ends.
    pub arguments: bool,
    /// `return`: what it returns.
    pub returned: bool,
}

impl Captured {
    /// The words, in the order in which they are explained: `calls` is in all.
    pub const WORDS: [&str; 4] = ["calls", "args", "return", "this"];
}

impl std::str::FromStr for Captured {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, String> {
        let mut captured = Self::default();
        for word in words.split(',') {
            match word {
                "calls" => {}
                "args" => captured.arguments = true,
                "return" => captured.returned = true,
                "this" => captured.this = true,
                _ => return Err(format!("'{word}' is none of {}", Self::WORDS.join(", "))),
            }
        }
        Ok(captured)
    }
}

impl std::fmt::Display for Captured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [calls, args, returned, this] = Self::WORDS;
        f.write_str(calls)?;
        for (word, is_kept) in [(args, self.arguments), (returned, self.returned), (this, self.this)] {
            if is_kept {
                write!(f, ",{word}")?;
            }
        }
        Ok(())
    }
}
