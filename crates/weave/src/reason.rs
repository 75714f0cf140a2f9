//! Why a method was left alone. Each reason has a code that scripts can rely on.

use ilrewrite::RewriteError;

use crate::rules::Source;

/// Why a method ships as it was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// No IL: abstract, `extern`, or made by the runtime.
    #[error("it has no IL body")]
    NoBody,
    /// Native code in an image of both.
    #[error("its body is native code")]
    NativeCode,
    /// Its assembly is one to compile against: its bodies never run.
    #[error("its assembly is one to compile against, and never runs")]
    ReferenceAssembly,
    /// It runs while a C++/CLI image is being loaded.
    #[error("it runs while the image is being loaded, when no other assembly can be")]
    ImageStart,
    /// No `--include` names it.
    #[error("no --include names it")]
    NotIncluded,
    /// An `--exclude` names it, or a rule.
    #[error("{} names it", match _0 { Source::Rule(place, _) => format!("rule {}", place + 1), _ => "an --exclude".into() })]
    Excluded(Source),
    /// Code says so of itself.
    #[error("it has the attribute NoInstrument, or its type or assembly has")]
    Marked,
    /// The tracker itself calls it.
    #[error("the tracker itself calls it")]
    TrackerCallee,
    /// Hooks are in its assembly: woven, they would call themselves for ever.
    #[error("hooks are in its assembly")]
    Hook,
    /// The compiler made it, of nothing that a person wrote.
    #[error("the compiler made it, without a body of the user's (--all weaves it)")]
    Generated,
    /// Hooks are called where what was written is called, not where a state machine goes on.
    #[error("it is a step of a state machine: hooks are in the method that was written")]
    Step,
    /// The runtime suspends it, and native probes do not follow it.
    #[error("the runtime suspends it (runtime-async), and attach does not follow that: use run or instrument")]
    RuntimeAsync,
    /// It reads or writes a field, and no more.
    #[error("it is an accessor that only reads or writes (--all weaves it)")]
    Accessor,
    /// It is short, has no loop and calls nothing, or only what is skipped too.
    #[error(
        "{size} bytes of IL without a loop{}, limit {limit}: a probe takes longer (--min-il 0 weaves it)",
        if *forwards { ", which only calls methods that are skipped" } else { " or a call" }
    )]
    Short {
        /// How many bytes of IL it has.
        size: u32,
        /// How many it has to have more than.
        limit: u32,
        /// Whether it calls what is skipped.
        forwards: bool,
    },
    /// Many methods have the same large body, which weaving would make many of.
    #[error("it shares its body with others, and there are too many to give each its own")]
    SharedBody,
    /// Its body cannot be rewritten for certain.
    #[error(transparent)]
    Body(#[from] RewriteError),
}

impl Reason {
    /// A word for scripts; it never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoBody => "no-body",
            Self::NativeCode => "native-code",
            Self::ReferenceAssembly => "reference-assembly",
            Self::ImageStart => "image-start",
            Self::NotIncluded => "not-included",
            Self::Excluded(_) => "excluded",
            Self::Marked => "no-instrument",
            Self::TrackerCallee => "tracker-callee",
            Self::Hook => "hook",
            Self::Generated => "generated",
            Self::Step => "step",
            Self::RuntimeAsync => "runtime-async",
            Self::Accessor => "accessor",
            Self::Short { .. } => "short",
            Self::SharedBody => "shared-body",
            Self::Body(error) => error.code(),
        }
    }

    /// Whether the user asked for it or nothing could be measured anyway; the others are findings.
    pub fn is_expected(&self) -> bool {
        !matches!(self, Self::SharedBody | Self::Body(_))
    }
}
