//! A probe is data: which methods are called where in a body, and what they are passed.

use std::sync::Arc;

use ecma335::{
    Error, ErrorKind, Token,
    element::{ElementType, convention},
};

use crate::{
    name::{MethodName, TypeName},
    token::TokenRequest,
};

/// What is put into methods.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Before the first instruction. What it returns is kept in a local.
    pub enter: Option<Call>,
    /// On the way out.
    pub leave: Option<Call>,
    /// Where each finally and fault handler begins.
    pub handle: Option<Call>,
    /// Where each catch handler begins, and that of each filter. A filter itself has none: it runs while the frames that the
    /// exception will pass are still there.
    pub catch: Option<Call>,
    /// What may stand at calls: which of them, at which, each method says for itself ([`Method::sites`](crate::Method::sites)).
    pub sites: Vec<SiteProbe>,
}

/// What stands at a call that a method makes. All that is on the stack there stays on it.
#[derive(Clone, Debug)]
pub struct SiteProbe {
    /// Before the call and its prefixes. What it returns is kept in a local.
    pub before: Call,
    /// Where the call takes what another has returned right before it, in place of `before`, and before that other call: a JIT
    /// compiler that knows the pair then still sees it. It returns nothing.
    pub ahead: Option<Call>,
    /// Behind the call; an exception passes it by.
    pub behind: Option<Call>,
}

/// The probe of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// Which one of [`Probe::sites`].
    pub probe: usize,
    /// The number that [`Argument::SiteConstant`] stands for there, an `int64`.
    pub constant: u64,
}

/// A call that a probe consists of.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub method: Arc<MethodName>,
    /// What it is passed, in the order of its parameters.
    pub arguments: Vec<Argument>,
    /// The class that an exception it is passed has to be of; null is passed for another.
    pub exception: Option<Arc<TypeName>>,
    /// Where its code is, if that is in no assembly: it is called by this, and its name is nobody's.
    pub address: Option<u64>,
}

/// A value that a probe passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A value of the method that is rewritten, by its place in [`Method::values`](crate::Method::values).
    Value(usize),
    /// What the enter call returned.
    EnterResult,
    /// What the method is about to return: as it is to a generic method, else as an object.
    ReturnValue,
    /// Where it is, so that it may be changed: to a generic method.
    ReturnAddress,
    /// The exception that a catch handler was given; an object.
    Exception,
    /// The number that a [`Site`] has.
    SiteConstant,
    /// What the call before the site returned.
    SiteResult,
}

/// A value that a method has for its probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'v> {
    /// An `int64`.
    Int64(u64),
    /// A `string`.
    String(&'v str),
    /// What a type of one element has by default: zero, or null for all that is no number.
    Default(ElementType),
    /// The handle of what a token names.
    Handle(Token),
    /// One of its arguments.
    Argument(&'v Load),
    /// Arguments as an array of objects; null stands for those that are none.
    Arguments {
        /// `System.Object`.
        object: &'v TypeToken,
        /// One by one.
        loads: &'v [Option<Load>],
    },
}

/// Calls that a method has of its own, around those of its probe: by them it hands out values one by one, as they are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnCalls {
    /// Behind the enter call. The first returns an `int64`, which is kept in a local.
    pub enter: Vec<OwnCall>,
    /// Before the leave call in a finally block: nothing says there how the method ends.
    pub end: Vec<OwnCall>,
    /// Before the leave call where another call takes the method's place.
    pub replace: Vec<OwnCall>,
    /// Where the method returns; of a body in a try block, behind that.
    pub ret: Vec<OwnCall>,
    /// Where a catch handler begins.
    pub catch: Vec<OwnCall>,
    /// In a filter around a body in a try block, which takes no exception: one looks for its handler, and has found none within.
    pub pass: Vec<OwnCall>,
}

/// One of these: it returns nothing, unless it is the first of all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnCall {
    /// What is called: a method, or an instance of one.
    pub method: TokenRequest,
    /// What it is passed.
    pub arguments: Vec<OwnArgument>,
}

/// What such a call is passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OwnArgument {
    /// An `int32`.
    Int32(u32),
    /// An `int64`.
    Int64(u64),
    /// A `string`.
    String(String),
    /// An argument as it is; `this` counts.
    Argument(u16),
    /// An argument that is an address, as a number of eight bytes.
    Address(u16),
    /// What the first call returned.
    Kept,
    /// What the method returns, as it is. At [`OwnCalls::ret`].
    ReturnValue,
    /// The same, if it is an address: as a number of eight bytes.
    ReturnAddress,
    /// What a handler was given, before all else that is passed. At [`OwnCalls::catch`] and [`OwnCalls::pass`].
    Exception,
}

/// How an argument is loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Load {
    /// Which one; `this` counts.
    pub number: u16,
    /// The value type that it is, if it is to become an object.
    pub boxed: Option<TypeToken>,
    /// Whether it is a reference to a value of that type.
    pub is_address: bool,
    /// What it has to be; null is passed if it is not.
    pub cast: Option<TypeToken>,
}

/// A type that an instruction names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeToken {
    /// A row that the module has.
    Known(Token),
    /// One to be asked for.
    Asked(TokenRequest),
}

/// What a method returns, as probes may have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returned<'v> {
    /// Nothing, or nothing that an object or a type argument can be: null is passed.
    Nothing,
    /// A reference to an object.
    Reference,
    /// A value, which is boxed as this type.
    Value(&'v TypeToken),
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
        let result = self.enter_result()?.is_some();
        let is_value = |argument: Argument| matches!(argument, Argument::Value(_));
        self.enter.iter().try_for_each(|enter| enter.validate(true, is_value))?;
        let known = |argument: Argument| is_value(argument) || argument == Argument::EnterResult && result;
        let at_leave = |argument| known(argument) || matches!(argument, Argument::ReturnValue | Argument::ReturnAddress);
        self.leave.iter().try_for_each(|leave| leave.validate(false, at_leave))?;
        self.handle.iter().try_for_each(|handle| handle.validate(false, known))?;
        self.catch.iter().try_for_each(|catch| catch.validate(false, |it| known(it) || it == Argument::Exception))?;
        self.sites.iter().try_for_each(|SiteProbe { before, ahead, behind }| {
            let known = |argument: Argument| known(argument) || argument == Argument::SiteConstant;
            before.validate(true, known)?;
            ahead.iter().try_for_each(|call| call.validate(false, known))?;
            let result = before.result_type()?.is_some();
            let known = |argument: Argument| known(argument) || argument == Argument::SiteResult && result;
            behind.iter().try_for_each(|call| call.validate(false, known))
        })
    }

    /// The type of what the enter call returns, if there is one, and it does.
    pub(crate) fn enter_result(&self) -> Result<Option<&[u8]>, Error> {
        self.enter.as_ref().map_or(Ok(None), Call::result_type)
    }

    /// The most that a call at a site has on top of what is on the stack.
    pub(crate) fn most_at_sites(&self) -> usize {
        let calls = self.sites.iter().flat_map(SiteProbe::calls);
        calls.map(|call| call.depth().max(1)).max().unwrap_or(0)
    }

    /// Its calls. Their places here are those of their requests: see [`Batch`](crate::Batch).
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        let sites = self.sites.iter().flat_map(SiteProbe::calls);
        self.enter.iter().chain(&self.leave).chain(&self.handle).chain(&self.catch).chain(sites)
    }
}

impl SiteProbe {
    fn calls(&self) -> impl Iterator<Item = &Call> {
        std::iter::once(&self.before).chain(&self.ahead).chain(&self.behind)
    }
}

impl OwnCalls {
    /// The type of what is kept.
    pub(crate) const KEPT: &[u8] = &[ElementType::I8 as u8];

    /// Whether they are passed what the method returns.
    pub(crate) fn pass_returned(&self) -> bool {
        let returned = |argument: &OwnArgument| matches!(argument, OwnArgument::ReturnValue | OwnArgument::ReturnAddress);
        self.ret.iter().any(|call| call.arguments.iter().any(returned))
    }

    /// The most that one of them has on the stack.
    pub(crate) fn depth(&self) -> usize {
        let calls = [&self.enter, &self.end, &self.replace, &self.ret, &self.catch, &self.pass].into_iter().flatten();
        calls.map(|call| call.arguments.len()).max().unwrap_or(0).max(1)
    }
}

impl Call {
    /// Whether it is passed what its method's signature lists, of what is known, and returns nothing unless that is kept.
    fn validate(&self, is_kept: bool, is_known: impl Fn(Argument) -> bool) -> Result<(), Error> {
        let unfit = |what| Err(Error::new(ErrorKind::Unsupported(what)));
        let shape = self.method.shape()?;
        if shape.has_this || shape.params as usize != self.arguments.len() {
            return unfit("a probe's method with other parameters than it is passed");
        }
        if shape.returns_value && !is_kept {
            return unfit("a probe's method that returns what nobody takes");
        }
        if !self.arguments.iter().all(|argument| is_known(*argument)) {
            return unfit("a probe's method that is passed what nobody returned");
        }
        if self.passes(Argument::ReturnAddress) && !self.is_generic() {
            return unfit("a probe's method that changes what is returned, and takes none of any type");
        }
        Ok(())
    }

    /// What is on the stack when it is called.
    pub(crate) fn depth(&self) -> usize {
        self.arguments.len() + usize::from(self.address.is_some())
    }

    /// What its instruction names: the method, or the signature of what is called by its address.
    pub(crate) fn request(&self) -> TokenRequest {
        match self.address {
            None => TokenRequest::MemberRef(self.method.clone()),
            Some(_) => TokenRequest::MethodSig(self.method.signature.clone()),
        }
    }

    /// Whether it is passed this.
    pub(crate) fn passes(&self, argument: Argument) -> bool {
        self.arguments.contains(&argument)
    }

    /// Whether its method has a type parameter: the type of what is returned.
    pub(crate) fn is_generic(&self) -> bool {
        self.method.signature.first().is_some_and(|first| first & convention::GENERIC != 0)
    }

    /// The type of what it returns (II.23.2.12); none if it returns nothing.
    ///
    /// # Errors
    /// If its signature cannot be read.
    pub fn result_type(&self) -> Result<Option<&[u8]>, Error> {
        let shape = self.method.shape()?;
        Ok(if shape.returns_value { self.method.signature.get(shape.return_type) } else { None })
    }
}
