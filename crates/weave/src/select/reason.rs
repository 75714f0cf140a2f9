//! The reasons for skipping a method. Each has a code that scripts can rely on.

use ilrewrite::RewriteError;

use super::options::DecidedBy;

/// The reason that a method keeps its original body.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason {
    /// The method has no IL: it is abstract, `extern`, or implemented by the runtime.
    #[error("it has no IL body")]
    NoBody,
    /// The body is native code in a mixed-mode image.
    #[error("its body is native code")]
    NativeCode,
    /// The assembly is a reference assembly: its bodies never run.
    #[error("its assembly is one to compile against, and never runs")]
    ReferenceAssembly,
    /// The method runs while a C++/CLI image is being loaded.
    #[error("it runs while the image is being loaded, when no other assembly can be")]
    ImageStart,
    /// No `--include` names the method.
    #[error("no --include names it")]
    NotIncluded,
    /// An `--exclude` or a rule names the method.
    #[error("{} names it", match _0 { DecidedBy::Rule(place, _) => format!("rule {}", place + 1), _ => "an --exclude".into() })]
    Excluded(DecidedBy),
    /// The method, its type or its assembly has the attribute `NoInstrument`.
    #[error("it has the attribute NoInstrument, or its type or assembly has")]
    Marked,
    /// The tracker calls the method.
    #[error("the tracker itself calls it")]
    TrackerCallee,
    /// The assembly contains hooks. Woven, a hook would call itself in an endless recursion.
    #[error("hooks are in its assembly")]
    Hook,
    /// The method is compiler-generated, with no counterpart in the source.
    #[error("compiler-generated, with no counterpart in the source (--all instruments it)")]
    Generated,
    /// The method is a step of a state machine. Hooks are called in the kickoff method instead.
    #[error("it is a step of a state machine: hooks are in the method that was written")]
    Step,
    /// The method only reads or writes a field.
    #[error("an accessor that only reads or writes a field (--all instruments it)")]
    Accessor,
    /// The method is short, has no loop, and calls nothing, or only skipped methods.
    #[error(
        "{size} bytes of IL without a loop{}, limit {limit}: a probe takes longer (--min-il 0 instruments it)",
        if *forwards { ", which only calls methods that are skipped" } else { " or a call" }
    )]
    Short {
        /// The size of the body in bytes of IL.
        size: u32,
        /// The size in bytes of IL up to which bodies are skipped.
        limit: u32,
        /// Whether the method calls skipped methods.
        forwards: bool,
    },
    /// Only lines are counted, and the method has none: the PDB has no sequence points of it, or the attribute
    /// `ExcludeFromCodeCoverage` leaves it out.
    #[error("no lines are counted in it: the PDB has none, or it is excluded from code coverage (--lines-only)")]
    NoLines,
    /// Many methods share the same large body. Weaving would make a copy for each.
    #[error("it shares its body with others, and there are too many to give each its own")]
    SharedBody,
    /// The body cannot be rewritten for certain.
    #[error(transparent)]
    Body(#[from] RewriteError),
}

impl Reason {
    /// The stable code of the reason, for scripts.
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
            Self::Accessor => "accessor",
            Self::Short { .. } => "short",
            Self::NoLines => "no-lines",
            Self::SharedBody => "shared-body",
            Self::Body(error) => error.code(),
        }
    }

    /// Whether the reason is the user's choice or nothing could be measured. The other reasons are findings.
    pub fn is_expected(&self) -> bool {
        !matches!(self, Self::SharedBody | Self::Body(_))
    }
}
