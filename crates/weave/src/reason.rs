//! Why a method was left alone. Each reason has a code that scripts can rely on.

use std::fmt;

/// Why a method ships as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No IL: abstract, `extern`, or made by the runtime.
    NoBody,
    /// Native code in an image of both.
    NativeCode,
    /// Its assembly is one to compile against: its bodies never run.
    ReferenceAssembly,
    /// It runs while a C++/CLI image is being loaded.
    ImageStart,
    /// No `--include` names it.
    NotIncluded,
    /// An `--exclude` names it.
    Excluded,
    /// The tracker itself calls it.
    TrackerCallee,
    /// Its RVA leads to no body, or the body's header breaks the format.
    BadBody(String),
    /// Its IL cannot be decoded.
    Undecodable(String),
    /// A branch or clause leads to this offset, which is no instruction.
    BadTarget(u32),
    /// `ret` inside a protected block or handler.
    RetInProtectedBlock,
    /// `tail.` in a place where no leave probe can be put before the call.
    TailNotBeforeRet,
    /// Its signature or that of its locals breaks the format.
    BadSignature(String),
    /// No number left for the probe's locals.
    TooManyLocals,
    /// The woven body did not pass its check; so most likely the body itself does not.
    CheckFailed(String),
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
            Self::Excluded => "excluded",
            Self::TrackerCallee => "tracker-callee",
            Self::BadBody(_) => "bad-body",
            Self::Undecodable(_) => "undecodable",
            Self::BadTarget(_) => "bad-target",
            Self::RetInProtectedBlock => "ret-in-protected-block",
            Self::TailNotBeforeRet => "tail-not-before-ret",
            Self::BadSignature(_) => "bad-signature",
            Self::TooManyLocals => "too-many-locals",
            Self::CheckFailed(_) => "check-failed",
        }
    }

    /// Whether the user asked for it or nothing could be measured anyway; the others are findings.
    pub fn is_expected(&self) -> bool {
        matches!(
            self,
            Self::NoBody
                | Self::NativeCode
                | Self::ReferenceAssembly
                | Self::ImageStart
                | Self::NotIncluded
                | Self::Excluded
                | Self::TrackerCallee
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBody => write!(f, "it has no IL body"),
            Self::NativeCode => write!(f, "its body is native code"),
            Self::ReferenceAssembly => write!(f, "its assembly is one to compile against, and never runs"),
            Self::ImageStart => write!(f, "it runs while the image is being loaded, when no other assembly can be"),
            Self::NotIncluded => write!(f, "no --include names it"),
            Self::Excluded => write!(f, "an --exclude names it"),
            Self::TrackerCallee => write!(f, "the tracker itself calls it"),
            Self::BadBody(error) => write!(f, "its body cannot be read: {error}"),
            Self::Undecodable(error) => write!(f, "its IL cannot be decoded: {error}"),
            Self::BadTarget(offset) => write!(f, "a branch or clause leads to IL_{offset:04x}, which is no instruction"),
            Self::RetInProtectedBlock => write!(f, "it has a ret inside a protected block"),
            Self::TailNotBeforeRet => write!(f, "it has a tail. call that no ret follows, or that is jumped into"),
            Self::BadSignature(error) => write!(f, "a signature cannot be read: {error}"),
            Self::TooManyLocals => write!(f, "it has no local variable numbers left"),
            Self::CheckFailed(what) => write!(f, "the woven body did not pass its check: {what}"),
        }
    }
}
