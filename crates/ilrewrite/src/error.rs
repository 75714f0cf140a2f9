//! The reasons to skip a body. Each has a stable code for scripts.

use ecma335::Token;

/// The reason why a body cannot be rewritten safely.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RewriteError {
    /// The RVA points to no body, or the body's header breaks the format.
    #[error("its body cannot be read: {0}")]
    BadBody(String),
    /// Its IL cannot be decoded.
    #[error("its IL cannot be decoded: {0}")]
    Undecodable(String),
    /// A branch or clause points to this offset, where no instruction starts.
    #[error("a branch or clause leads to IL_{0:04x}, which is no instruction")]
    BadTarget(u32),
    /// A token names a row or string that the module does not have.
    #[error("it refers to {0}, which is not there")]
    BadToken(Token),
    /// `ret` inside a protected block or handler.
    #[error("it has a ret inside a protected block")]
    RetInProtectedBlock,
    /// `tail.` in a place where no leave call can precede the call.
    #[error("it has a tail. call that no ret follows, or that is jumped into")]
    TailNotBeforeRet,
    /// A tail call in a method that the runtime suspends. A probe before a `ret` would not record its end.
    #[error("the runtime suspends it, and it has a tail. call or a jmp")]
    TailOfSuspended,
    /// A prefix before an instruction that no prefix applies to, where a probe's call would separate the two.
    #[error("it has a prefix before a ret, a jmp or the start of a handler")]
    BadPrefix,
    /// The method's signature or that of its locals breaks the format.
    #[error("a signature cannot be read: {0}")]
    BadSignature(String),
    /// The body uses a local with this number, which it does not declare. A local of the probe would get that number.
    #[error("it uses local {0}, which it has not got")]
    BadLocal(u32),
    /// The body uses an argument with this number, which the method does not have.
    #[error("it uses argument {0}, which it has not got")]
    BadArgument(u32),
    /// Control can run off the end of the body, even if only in unreachable code. Code added after it would hide that
    /// fault.
    #[error("its last instruction leads beyond its end")]
    NoEnd,
    /// The stack gets deeper than `MaxStack` in the header. The slots added for the probe would hide that fault.
    #[error("its stack gets {depth} deep, and its header says {max_stack}")]
    BadMaxStack {
        /// The depth reached.
        depth: u16,
        /// `MaxStack` in the header.
        max_stack: u16,
    },
    /// No number is left for the probe's locals.
    #[error("it has no local variable numbers left")]
    TooManyLocals,
    /// The rewritten body did not pass its check. Most likely, the original body does not pass it either.
    #[error("the instrumented body did not pass its check: {0}")]
    CheckFailed(String),
}

impl RewriteError {
    /// The stable code for scripts.
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
