//! A probe is data: which methods are called where in a body, and what they are passed.

use std::sync::Arc;

use ecma335::{Error, ErrorKind};

use crate::name::MethodName;

/// What is put into methods.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Before the first instruction. What it returns is kept in a local.
    pub enter: Call,
    /// On the way out.
    pub leave: Option<Call>,
    /// Where each exception handler begins. A filter has none: it runs while the frames that the exception will pass are
    /// still there.
    pub handle: Option<Call>,
    /// How `leave` is reached.
    pub leave_mode: LeaveMode,
}

/// A call that a probe consists of.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub method: Arc<MethodName>,
    /// What it is passed, in the order of its parameters.
    pub arguments: Vec<Argument>,
}

/// A value that a probe passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A constant of the method that is rewritten, by its place in [`Method::constants`](crate::Method::constants).
    Constant(usize),
    /// What the enter call returned.
    EnterResult,
}

/// A constant that a method has for its probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constant<'c> {
    /// An `int64`.
    Int64(u64),
    /// A `string`.
    String(&'c str),
}

/// How the leave call is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LeaveMode {
    /// The body goes into a try block and the call into its finally: it runs however the method ends.
    #[default]
    Finally,
    /// The call stands before each `ret`. An exception passes it by; the handle call of who handles that says so.
    Return,
}

impl LeaveMode {
    /// The word for it on a command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Finally => "finally",
            Self::Return => "return",
        }
    }

    /// The mode that a word stands for.
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Finally, Self::Return].into_iter().find(|mode| mode.word() == word)
    }
}

/// The shape that a body was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// See [`LeaveMode::Finally`].
    Finally,
    /// See [`LeaveMode::Return`]; also what `tail.` and `jmp` need, which no try block may hold.
    Return,
}

impl Probe {
    /// Whether its calls fit the signatures: as many arguments as parameters, all of them there to be passed, and nothing
    /// returned that nobody takes.
    ///
    /// # Errors
    /// What does not fit, or which signature cannot be read.
    pub fn validate(&self) -> Result<(), Error> {
        let unfit = |what| Err(Error::new(ErrorKind::Unsupported(what)));
        for (is_enter, call) in self.calls().map(|call| (std::ptr::eq(call, &raw const self.enter), call)) {
            let shape = call.method.shape()?;
            if shape.has_this || shape.params as usize != call.arguments.len() {
                return unfit("a probe's method with other parameters than it is passed");
            }
            if shape.returns_value && !is_enter {
                return unfit("a probe's method that returns what nobody takes");
            }
            if call.arguments.contains(&Argument::EnterResult) && (is_enter || self.result_type()?.is_none()) {
                return unfit("a probe's method that is passed what nobody returned");
            }
        }
        Ok(())
    }

    /// Its calls. Their places here are those of their requests: see [`Batch`](crate::Batch).
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        std::iter::once(&self.enter).chain(&self.leave).chain(&self.handle)
    }

    /// The type of what the enter call returns (II.23.2.12); none if it returns nothing.
    ///
    /// # Errors
    /// If its signature cannot be read.
    pub fn result_type(&self) -> Result<Option<&[u8]>, Error> {
        let signature = &self.enter.method.signature;
        let shape = self.enter.method.shape()?;
        Ok(if shape.returns_value { signature.get(shape.return_type) } else { None })
    }
}
