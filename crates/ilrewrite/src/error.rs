//! Why a body is left as it is. Each reason has a code that scripts can rely on.

use ecma335::Token;

/// Why a body cannot be rewritten for certain.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RewriteError {
    /// Its RVA leads to no body, or the body's header breaks the format.
    #[error("its body cannot be read: {0}")]
    BadBody(String),
    /// Its IL cannot be decoded.
    #[error("its IL cannot be decoded: {0}")]
    Undecodable(String),
    /// A branch or clause leads to this offset, which is no instruction.
    #[error("a branch or clause leads to IL_{0:04x}, which is no instruction")]
    BadTarget(u32),
    /// A token names a row or string that the module has not got.
    #[error("it refers to {0}, which is not there")]
    BadToken(Token),
    /// `ret` inside a protected block or handler.
    #[error("it has a ret inside a protected block")]
    RetInProtectedBlock,
    /// `tail.` in a place where no leave probe can be put before the call.
    #[error("it has a tail. call that no ret follows, or that is jumped into")]
    TailNotBeforeRet,
    /// A tail call in a method that the runtime suspends: where it ends, no probe before a `ret` would tell.
    #[error("the runtime suspends it, and it has a tail. call or a jmp")]
    TailOfSuspended,
    /// A prefix where a probe would come between it and the instruction behind it, which it is not for.
    #[error("it has a prefix before a ret, a jmp or the start of a handler")]
    BadPrefix,
    /// Its signature or that of its locals breaks the format.
    #[error("a signature cannot be read: {0}")]
    BadSignature(String),
    /// It uses a local with this number, which it has not got; the probe's would take its place.
    #[error("it uses local {0}, which it has not got")]
    BadLocal(u32),
    /// It uses an argument with this number, which it has not got.
    #[error("it uses argument {0}, which it has not got")]
    BadArgument(u32),
    /// Control can run off its end, be it in code that nothing leads to: more code behind it would catch that.
    #[error("its last instruction leads beyond its end")]
    NoEnd,
    /// Its stack gets deeper than its header says; what the probe needs would make up for that.
    #[error("its stack gets {depth} deep, and its header says {max_stack}")]
    BadMaxStack {
        /// How deep it gets.
        depth: u16,
        /// What the header says.
        max_stack: u16,
    },
    /// No number left for the probe's locals.
    #[error("it has no local variable numbers left")]
    TooManyLocals,
    /// The rewritten body did not pass its check; so most likely the body itself does not.
    #[error("the woven body did not pass its check: {0}")]
    CheckFailed(String),
}

impl RewriteError {
    /// A word for scripts; it never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadBody(_) => "bad-body",
            Self::Undecodable(_) => "undecodable",
            Self::BadTarget(_) => "bad-target",
            Self::BadToken(_) => "bad-token",
            Self::RetInProtectedBlock => "ret-in-protected-block",
            Self::TailNotBeforeRet => "tail-not-before-ret",
            Self::TailOfSuspended => "tail-of-suspended",
            Self::BadPrefix => "bad-prefix",
            Self::BadSignature(_) => "bad-signature",
            Self::BadLocal(_) => "bad-local",
            Self::BadArgument(_) => "bad-argument",
            Self::NoEnd => "no-end",
            Self::BadMaxStack { .. } => "bad-max-stack",
            Self::TooManyLocals => "too-many-locals",
            Self::CheckFailed(_) => "check-failed",
        }
    }
}
