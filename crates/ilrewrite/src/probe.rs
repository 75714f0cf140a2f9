//! A probe, as data: the methods to call, the places in a body where they are called, and their arguments.

use std::sync::Arc;

use ecma335::{
    Error, ErrorKind, Token,
    element::{ElementType, convention},
};

use crate::{
    name::{MethodName, TypeName},
    token::TokenRequest,
};

/// The calls inserted into a method.
#[derive(Clone, Debug)]
pub struct Probe<C = Call> {
    /// Called before the first instruction. A local keeps its return value.
    pub enter: Option<C>,
    /// Called where the method ends.
    pub leave: Option<C>,
    /// Called at the start of each finally and fault handler.
    pub handle: Option<C>,
    /// Called at the start of each catch handler, including the handler of a filter. A filter itself gets no call: it
    /// runs before the stack is unwound.
    pub catch: Option<C>,
    /// The probes available for calls in the body. Each method chooses its calls and their probes by
    /// [`Method::sites`](crate::Method::sites).
    pub sites: Vec<SiteProbe<C>>,
}

/// The probe of a call instruction in the body. The values on the stack stay there.
#[derive(Clone, Debug)]
pub struct SiteProbe<C = Call> {
    /// Called before the call instruction and its prefixes. A local keeps its return value.
    pub before: C,
    /// Replaces `before` if the call consumes the return value of a call directly before it. It stands before that
    /// other call, so a JIT compiler still recognises the pair. It returns nothing.
    pub ahead: Option<C>,
    /// Called after the call instruction. It is not called if that throws.
    pub behind: Option<C>,
}

/// The choice of a probe for one call instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The index in [`Probe::sites`].
    pub probe: usize,
    /// The `int64` passed as [`Argument::SiteConstant`].
    pub constant: u64,
}

/// One call of a probe.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method to call.
    pub method: Arc<MethodName>,
    /// The arguments, in the order of the parameters.
    pub arguments: Vec<Argument>,
    /// The required class of an exception argument. Null is passed for exceptions of other classes.
    pub exception: Option<Arc<TypeName>>,
    /// The address of the code, if no assembly holds it. The call is then a `calli` to this address, and the method's
    /// name is not used.
    pub address: Option<u64>,
}

/// An argument of a probe's call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// A value supplied by the rewritten method: an index into [`Method::values`](crate::Method::values).
    Value(usize),
    /// The return value of the enter call.
    EnterResult,
    /// The return value of the method: unchanged for a generic probe method, otherwise boxed as an object.
    ReturnValue,
    /// The address of the return value, so that the call can change it. Only generic probe methods take it.
    ReturnAddress,
    /// The exception caught by a catch handler, as an object.
    Exception,
    /// The constant of a [`Site`].
    SiteConstant,
    /// The return value of the call before the site.
    SiteResult,
}

/// A value that the rewritten method supplies to its probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'v> {
    /// An `int64`.
    Int64(u64),
    /// A `string`.
    String(&'v str),
    /// The default value of a type that one element byte encodes (II.23.2.12): zero for numbers, null for all others.
    Default(ElementType),
    /// The runtime handle for a token.
    Handle(Token),
    /// The return value of a static method without parameters.
    Result(&'v TokenRequest),
    /// An argument of the method.
    Argument(&'v Load),
    /// Arguments as an array of objects. Null stands for those that cannot be boxed.
    Arguments {
        /// `System.Object`.
        object: &'v TypeToken,
        /// One entry for each argument.
        loads: &'v [Option<Load>],
    },
}

/// Additional calls for one method, next to those of its probe. They pass its values one by one, unboxed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OwnCalls {
    /// After the enter call. The first one returns an `int64`, which a local keeps.
    pub enter: Vec<OwnCall>,
    /// Before the leave call in a finally block, where the outcome of the method is unknown.
    pub end: Vec<OwnCall>,
    /// Before the leave call where a tail call or `jmp` ends the method.
    pub replace: Vec<OwnCall>,
    /// Where the method returns. If the body is in a try block, this is after that block.
    pub ret: Vec<OwnCall>,
    /// At the start of each catch handler.
    pub catch: Vec<OwnCall>,
    /// In a filter around a body in a try block. The filter rejects every exception. It runs when no handler within
    /// the body takes the exception.
    pub pass: Vec<OwnCall>,
    /// The types of the locals for [`OwnArgument::Stored`] (II.23.2.12).
    pub locals: Vec<Vec<u8>>,
}

/// One such call. Only the first enter call returns a value, and calls that are arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnCall {
    /// The method to call, or its generic instance.
    pub method: TokenRequest,
    /// Its arguments. The first one is `this` of an instance method.
    pub arguments: Vec<OwnArgument>,
}

/// An argument of an [`OwnCall`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OwnArgument {
    /// An `int32`.
    Int32(u32),
    /// An `int64`.
    Int64(u64),
    /// An argument of the method, unchanged. Number 0 is `this`, if there is one.
    Argument(u16),
    /// An argument that is an address, passed as a number of eight bytes.
    Address(u16),
    /// The return value of the first enter call.
    Kept,
    /// The return value of the method, unchanged. Only for [`OwnCalls::ret`].
    ReturnValue,
    /// The return value of the method, if it is an address, as a number of eight bytes.
    ReturnAddress,
    /// The exception passed to the handler, as the first argument. Only for [`OwnCalls::catch`] and
    /// [`OwnCalls::pass`].
    Exception,
    /// The location of an argument of the method.
    ArgumentLocation(u16),
    /// The location of the return value of the method. Only for [`OwnCalls::ret`].
    ReturnLocation,
    /// The return value of another call.
    Result(Box<OwnCall>),
    /// The location of the return value of another call, in a local: an index into [`OwnCalls::locals`].
    Stored(u16, Box<OwnCall>),
}

/// The way to load an argument of the method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Load {
    /// The argument's number. Number 0 is `this`, if there is one.
    pub number: u16,
    /// The value type of the argument, if it is boxed.
    pub boxed: Option<TypeToken>,
    /// Whether the argument is a reference to a value of that type.
    pub is_address: bool,
    /// The required class. Null is passed for an object of another class.
    pub cast: Option<TypeToken>,
}

/// A type named by an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeToken {
    /// A row of the module.
    Known(Token),
    /// A type requested from the [`TokenProvider`](crate::TokenProvider).
    Asked(TokenRequest),
}

/// The kind of the method's return value, for probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returned<'v> {
    /// No value, or one that can be neither boxed nor a type argument. Null is passed.
    Nothing,
    /// An object reference.
    Reference,
    /// A value of this type, boxed for calls that take an object.
    Value(&'v TypeToken),
}

macro_rules! leave_modes {
    ($($(#[$meta:meta])* $mode:ident = $word:literal,)*) => {
        /// The place of the leave call.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum LeaveMode { $($(#[$meta])* $mode,)* }

        impl LeaveMode {
            /// All modes.
            pub const ALL: &[Self] = &[$(Self::$mode,)*];

            /// The mode's word on a command line.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$mode => $word,)* }
            }

            /// The mode for a word of the command line.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|mode| mode.word() == word)
            }
        }
    };
}
leave_modes! {
    /// The body becomes a try block, and its finally block makes the call. It is made however the method ends.
    #[default]
    Finally = "finally",
    /// The call stands before each `ret`. It is not made if the method throws. The call at the start of the
    /// exception's handler records this.
    Return = "return",
}

/// The shape of a rewritten body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// See [`LeaveMode::Finally`].
    Finally,
    /// See [`LeaveMode::Return`]. Methods with `tail.` or `jmp` always get this shape, because no try block may
    /// contain those.
    Return,
    /// No call of a probe: the body only counts places.
    Counted,
}

impl Probe {
    /// Checks the calls against the signatures of their methods. Each parameter needs an argument available at that
    /// place. A call may return a value only if a local keeps it.
    ///
    /// # Errors
    /// If a call does not fit its signature, or a signature cannot be read.
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

    /// The type of the enter call's return value. None if there is no enter call or it returns nothing.
    pub(crate) fn enter_result(&self) -> Result<Option<&[u8]>, Error> {
        self.enter.as_ref().map_or(Ok(None), Call::result_type)
    }

    /// The largest number of stack slots that a site's call adds, at least 1. 0 without sites.
    pub(crate) fn site_depth(&self) -> usize {
        let calls = self.sites.iter().flat_map(|site| std::iter::once(&site.before).chain(&site.ahead).chain(&site.behind));
        calls.map(|call| call.depth().max(1)).max().unwrap_or(0)
    }
}

impl<C> Probe<C> {
    /// A probe without calls, for methods that only count places.
    pub const NONE: Self = Self { enter: None, leave: None, handle: None, catch: None, sites: Vec::new() };

    /// Whether nothing is called.
    pub(crate) fn is_none(&self) -> bool {
        let Self { enter, leave, handle, catch, sites } = self;
        [enter, leave, handle, catch].into_iter().all(Option::is_none) && sites.is_empty()
    }

    /// The probe with each call replaced.
    pub(crate) fn map<'p, D>(&'p self, replace: &mut impl FnMut(&'p C) -> D) -> Probe<D> {
        Probe {
            enter: self.enter.as_ref().map(&mut *replace),
            leave: self.leave.as_ref().map(&mut *replace),
            handle: self.handle.as_ref().map(&mut *replace),
            catch: self.catch.as_ref().map(&mut *replace),
            sites: self.sites.iter().map(|site| site.map(replace)).collect(),
        }
    }
}

impl<C> SiteProbe<C> {
    fn map<'p, D>(&'p self, replace: &mut impl FnMut(&'p C) -> D) -> SiteProbe<D> {
        SiteProbe {
            before: replace(&self.before),
            ahead: self.ahead.as_ref().map(&mut *replace),
            behind: self.behind.as_ref().map(&mut *replace),
        }
    }
}

impl OwnCalls {
    /// The type of the local that keeps the first call's return value.
    pub(crate) const KEPT: &[u8] = &[ElementType::I8 as u8];

    /// Whether a call takes the method's return value.
    pub(crate) fn pass_returned(&self) -> bool {
        self.ret.iter().any(OwnCall::passes_returned)
    }

    /// The largest number of stack slots of one call, at least 1.
    pub(crate) fn depth(&self) -> usize {
        let calls = [&self.enter, &self.end, &self.replace, &self.ret, &self.catch, &self.pass].into_iter().flatten();
        calls.map(OwnCall::depth).max().unwrap_or(1)
    }
}

impl OwnCall {
    fn passes_returned(&self) -> bool {
        self.arguments.iter().any(|argument| match argument {
            OwnArgument::ReturnValue | OwnArgument::ReturnAddress | OwnArgument::ReturnLocation => true,
            OwnArgument::Result(call) | OwnArgument::Stored(_, call) => call.passes_returned(),
            _ => false,
        })
    }

    /// The largest number of stack slots of its arguments and of its return value, at least 1.
    fn depth(&self) -> usize {
        let depth = |argument: &OwnArgument| match argument {
            OwnArgument::Result(call) | OwnArgument::Stored(_, call) => call.depth(),
            _ => 1,
        };
        self.arguments.iter().enumerate().map(|(below, argument)| below + depth(argument)).max().unwrap_or(1)
    }
}

impl Call {
    /// Checks the arguments against the signature. A return value is allowed only if `is_kept`.
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

    /// The number of stack slots of the arguments, and of the code address if there is one.
    pub(crate) fn depth(&self) -> usize {
        self.arguments.len() + usize::from(self.address.is_some())
    }

    /// The request for the instruction's token: a MemberRef, or a StandAloneSig for a call by address.
    pub(crate) fn request(&self) -> TokenRequest {
        match self.address {
            None => TokenRequest::MemberRef(self.method.clone()),
            Some(_) => TokenRequest::MethodSig(self.method.signature.clone()),
        }
    }

    pub(crate) fn passes(&self, argument: Argument) -> bool {
        self.arguments.contains(&argument)
    }

    /// Whether the method is generic. Its type parameter is the type of the rewritten method's return value.
    pub(crate) fn is_generic(&self) -> bool {
        self.method.signature.first().is_some_and(|first| first & convention::GENERIC != 0)
    }

    /// The return type (II.23.2.12). None if the method returns nothing.
    ///
    /// # Errors
    /// If its signature cannot be read.
    pub fn result_type(&self) -> Result<Option<&[u8]>, Error> {
        let shape = self.method.shape()?;
        Ok(if shape.returns_value { self.method.signature.get(shape.return_type) } else { None })
    }
}
