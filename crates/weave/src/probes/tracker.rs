//! The tracker: the methods that woven code calls, as probes.

use std::sync::Arc;

use ecma335::{
    Error, Metadata, Rid, Token,
    schema::{AssemblyRef, GenericParam, MethodDef, TypeRef},
};
use ilrewrite::{Argument, AssemblyName, Call, Counter, MethodName, Probe, SiteProbe, TokenProvider, TokenRequest, TypeName};
use names::{MARK_TYPE, TRACKER_NAMESPACE, first_embedded};

use super::span_types;

/// The type whose methods the probes call.
pub(crate) const PROBE_TYPE: &str = "ProfileInfoTracker";
/// The type with the methods that receive captured values.
const CAPTURE_TYPE: &str = "Capture";
/// `native int (int64)`
const WHEN_ENTERING: (&str, &[u8]) = ("WhenEntering", &[0x00, 0x01, 0x18, 0x0A]);
/// `void (native int)`
const WHEN_LEAVING: (&str, &[u8]) = ("WhenLeaving", &[0x00, 0x01, 0x01, 0x18]);
/// `void (native int)`
const WHEN_HANDLING: (&str, &[u8]) = ("WhenHandling", &[0x00, 0x01, 0x01, 0x18]);
/// `void (native int)`
const WHEN_CATCHING: (&str, &[u8]) = ("WhenCatching", &[0x00, 0x01, 0x01, 0x18]);
/// `native int (int64)`
const WHEN_STEPPING: (&str, &[u8]) = ("WhenStepping", &[0x00, 0x01, 0x18, 0x0A]);
/// `native int (int64)`
const WHEN_STARTING: (&str, &[u8]) = ("WhenStarting", &[0x00, 0x01, 0x18, 0x0A]);
/// `void (native int)`
const WHEN_SUSPENDING: (&str, &[u8]) = ("WhenSuspending", &[0x00, 0x01, 0x01, 0x18]);
/// `void (native int)`
const WHEN_CALLING_AWAITED: (&str, &[u8]) = ("WhenCallingAwaited", &[0x00, 0x01, 0x01, 0x18]);
/// `void (native int)`
const WHEN_CONTINUING: (&str, &[u8]) = ("WhenContinuing", &[0x00, 0x01, 0x01, 0x18]);
/// `void (native int)`
const WHEN_AWAITING: (&str, &[u8]) = ("WhenAwaiting", &[0x00, 0x01, 0x01, 0x18]);
/// `void (native int)`
const WHEN_COMPLETING: (&str, &[u8]) = ("WhenCompleting", &[0x00, 0x01, 0x01, 0x18]);
/// `void (native int)`
const WHEN_FAULTING: (&str, &[u8]) = ("WhenFaulting", &[0x00, 0x01, 0x01, 0x18]);
/// `native int (int64, int32)`
const WHEN_COUNTING: (&str, &[u8]) = ("WhenCounting", &[0x00, 0x02, 0x18, 0x0A, 0x08]);
/// `void (native int, int32)`
const WHEN_PASSING: (&str, &[u8]) = ("WhenPassing", &[0x00, 0x02, 0x01, 0x18, 0x08]);
/// `native int (int64, int64)`: [`WHEN_ENTERING`] with [`NativeProbes::take_bytes`].
const ENTERING_WITH_BYTES: &[u8] = &[0x00, 0x02, 0x18, 0x0A, 0x0A];
/// `void (native int, int64)`: the other probes with [`NativeProbes::take_bytes`].
const LEAVING_WITH_BYTES: &[u8] = &[0x00, 0x02, 0x01, 0x18, 0x0A];
/// `void (int64)`: [`NativeProbes::count`].
const COUNTING_CALLS: &[u8] = &[0x00, 0x01, 0x01, 0x0A];
/// `int64 ()` of `System.GC`.
const ALLOCATED_BYTES: (&str, &[u8]) = ("GetAllocatedBytesForCurrentThread", &[0x00, 0x00, 0x0A]);
/// The assembly of `System.GC` in .NET Core and later, which any reference to it finds whatever its version.
const CORE_LIBRARY: (&str, [u8; 8]) = ("System.Private.CoreLib", [0x7C, 0xEC, 0x85, 0xD7, 0xBE, 0xA7, 0x79, 0x8E]);
/// `instance void (int64, string, string)`
const MARK_CONSTRUCTOR: (&str, &[u8]) = (".ctor", &[0x20, 0x03, 0x01, 0x0A, 0x0E, 0x0E]);

/// A provider of tokens for a module to weave.
pub trait ModuleTokens: TokenProvider<Error = Error> {
    /// Adds a custom attribute to the module, with a constructor and a value (II.23.3).
    ///
    /// # Errors
    /// Those of [`TokenProvider`].
    fn mark(&mut self, constructor: Token, value: &[u8]) -> Result<(), Error>;
}

/// A probe for methods. Its number is the index in [`Tracker::probes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MethodProbe {
    /// For most methods.
    Method,
    /// For a step of an async method.
    Step,
    /// For a runtime-async method.
    RuntimeAsync,
    /// No probe: only places are counted.
    None,
}

impl MethodProbe {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 4] = [Self::Method, Self::Step, Self::RuntimeAsync, Self::None];
}

/// A probe for calls. Its number is the index in [`Probe::sites`], of any of the tracker's probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallProbe {
    /// Around a call, as if the called method were woven.
    Around,
    /// Before a builder call that suspends, in the steps of async methods.
    Await,
    /// Before the result is set, in the steps of async methods.
    Complete,
    /// Before the exception is set, in the steps of async methods.
    Fault,
    /// Around a call that suspends the method, in runtime-async methods.
    Suspend,
}

impl CallProbe {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 5] = [Self::Around, Self::Await, Self::Complete, Self::Fault, Self::Suspend];
}

/// A tracker assembly. Woven code refers to it by name, or has it embedded.
#[derive(Clone, Debug)]
pub struct Tracker {
    name: AssemblyName,
    bytes: Arc<[u8]>,
    /// The simple names of the assemblies that the tracker refers to.
    references: Vec<String>,
    /// The row of the tracker's first method with type parameters.
    first_generic_method: Option<u32>,
    /// The native functions to call in place of the tracker.
    native: Option<NativeProbes>,
    /// Whether the program's library has the methods of spans that captured values need.
    has_spans: bool,
}

/// The addresses of native functions in place of the tracker's. They are called like managed code, so a garbage collection
/// waits for them. They do only work that is safe under this condition.
#[derive(Clone, Copy, Debug)]
pub struct NativeProbes {
    /// `native int (int64)`: called as a method begins. Its result is passed to the other functions.
    pub enter: u64,
    /// `void (native int)`: called as the method ends.
    pub leave: u64,
    /// `void (native int)`: called as the method handles an exception. The methods it called have ended.
    pub handle: u64,
    /// `void (int64)`: called in place of the others as a runtime-async method begins. The runtime suspends such a method, and
    /// calls no probe then.
    pub count: u64,
    /// Whether each but `count` takes an `int64` more: the bytes that the thread has allocated so far. Woven code asks .NET for
    /// them, as native functions that are called like managed code must not.
    pub take_bytes: bool,
}

impl Tracker {
    /// Reads the name from the tracker's own metadata.
    ///
    /// # Errors
    /// If the bytes are not an assembly.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let (_, metadata) = ecma335::open(bytes)?;
        let references = metadata.tables.rows::<AssemblyRef>().map(|(_, row)| metadata.name(row.name));
        let references = references.collect::<Result<_, _>>()?;
        let owners = metadata.tables.rows::<GenericParam>().filter_map(|(_, row)| row.owner.token()?.rid_in::<MethodDef>());
        let first_generic_method = owners.map(Rid::get).min();
        let (name, bytes) = (AssemblyName::own(&metadata)?, bytes.into());
        Ok(Self { name, bytes, references, first_generic_method, native: None, has_spans: true })
    }

    /// Values of spans are not passed: the program's library was trimmed, and lacks the methods for that.
    #[must_use]
    pub fn without_spans(self) -> Self {
        Self { has_spans: false, ..self }
    }

    /// The tracker as a woven module was given it: without spans if none are passed there.
    #[must_use]
    pub fn as_in(&self, woven: &Metadata<'_>) -> Self {
        Self { has_spans: span_types::are_passed(woven), ..self.clone() }
    }

    pub(crate) fn has_spans(&self) -> bool {
        self.has_spans
    }

    /// Sets native functions to call in place of the tracker. Woven code then needs no assembly.
    #[must_use]
    pub fn replaced_by(self, native: NativeProbes) -> Self {
        Self { native: Some(native), ..self }
    }

    /// Whether native functions replace the tracker.
    pub(crate) fn is_native(&self) -> bool {
        self.native.is_some()
    }

    /// The method whose result is the second value of the probes, if they take bytes.
    pub(crate) fn counted_bytes(&self) -> Option<TokenRequest> {
        self.native.filter(|native| native.take_bytes)?;
        let ((assembly, key), (name, signature)) = (CORE_LIBRARY, ALLOCATED_BYTES);
        let assembly = AssemblyName { name: assembly.into(), version: [0; 4], public_key_token: key.into() };
        let class = TypeName { assembly, namespace: "System".into(), name: "GC".into() };
        let method = MethodName { class, name: name.into(), signature: signature.into(), types: Vec::new() };
        Some(TokenRequest::MemberRef(method.into()))
    }

    /// The simple name of the tracker.
    pub fn name(&self) -> &str {
        &self.name.name
    }

    /// Whether the tracker refers to the assembly of a simple name.
    pub(crate) fn refers_to(&self, name: &str) -> bool {
        self.references.iter().any(|reference| reference == name)
    }

    pub(crate) fn first_generic_method(&self) -> Option<u32> {
        self.first_generic_method
    }

    /// The bytes of the assembly.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a module is woven already: it has probes or the mark. A module that refers to the tracker for another
    /// purpose, such as pausing it, is not woven.
    pub fn is_in(&self, metadata: &Metadata<'_>) -> bool {
        let is = |name, text: &str| metadata.strings.string_bytes(name) == Ok(text.as_bytes());
        let is_this =
            |row: &TypeRef| is(row.namespace, TRACKER_NAMESPACE) && [PROBE_TYPE, MARK_TYPE].iter().any(|name| is(row.name, name));
        let of_this = |rid| metadata.assembly_of(rid).is_some_and(|assembly| assembly == self.name.name);
        first_embedded(metadata).is_some() || metadata.tables.rows::<TypeRef>().any(|(rid, row)| is_this(&row) && of_this(rid))
    }

    /// The probes for methods, by the numbers of [`MethodProbe`]. Their first value is the method's id.
    pub(crate) fn probes(&self) -> [Probe; MethodProbe::ALL.len()] {
        if let Some(native) = &self.native {
            return MethodProbe::ALL.map(|probe| match probe {
                MethodProbe::Method | MethodProbe::Step => self.native_probe(native),
                MethodProbe::RuntimeAsync => self.native_counter(native),
                MethodProbe::None => Probe::NONE,
            });
        }
        let call = |(name, signature), argument| Call {
            method: self.method(PROBE_TYPE, name, signature).into(),
            arguments: vec![argument],
            exception: None,
            address: None,
        };
        let with_token = |name| call(name, Argument::EnterResult);
        let before = |name| SiteProbe { before: with_token(name), ahead: None, behind: None };
        let site = |probe| match probe {
            CallProbe::Around => SiteProbe {
                before: call(WHEN_ENTERING, Argument::SiteConstant),
                ahead: None,
                behind: Some(call(WHEN_LEAVING, Argument::SiteResult)),
            },
            CallProbe::Await => before(WHEN_AWAITING),
            CallProbe::Complete => before(WHEN_COMPLETING),
            CallProbe::Fault => before(WHEN_FAULTING),
            CallProbe::Suspend => SiteProbe {
                before: with_token(WHEN_SUSPENDING),
                ahead: Some(with_token(WHEN_CALLING_AWAITED)),
                behind: Some(with_token(WHEN_CONTINUING)),
            },
        };
        let probe = |enter| Probe {
            enter: Some(call(enter, Argument::Value(0))),
            leave: Some(with_token(WHEN_LEAVING)),
            handle: Some(with_token(WHEN_HANDLING)),
            catch: Some(with_token(WHEN_CATCHING)),
            sites: CallProbe::ALL.map(site).into(),
        };
        MethodProbe::ALL.map(|of| match of {
            MethodProbe::Method => probe(WHEN_ENTERING),
            MethodProbe::Step => probe(WHEN_STEPPING),
            MethodProbe::RuntimeAsync => probe(WHEN_STARTING),
            MethodProbe::None => Probe::NONE,
        })
    }

    fn native_probe(&self, native: &NativeProbes) -> Probe {
        let call = |(name, signature), with_bytes, argument, address| {
            let (signature, bytes) = if native.take_bytes { (with_bytes, Some(Argument::Value(1))) } else { (signature, None) };
            let method = self.method(PROBE_TYPE, name, signature).into();
            let arguments = std::iter::once(argument).chain(bytes).collect();
            Call { method, arguments, exception: None, address: Some(address) }
        };
        let enter = |argument| call(WHEN_ENTERING, ENTERING_WITH_BYTES, argument, native.enter);
        let leave = |argument| call(WHEN_LEAVING, LEAVING_WITH_BYTES, argument, native.leave);
        let handle = || Some(call(WHEN_HANDLING, LEAVING_WITH_BYTES, Argument::EnterResult, native.handle));
        // An attachment follows no async calls: only the first kind of site has a probe.
        let around = SiteProbe { before: enter(Argument::SiteConstant), ahead: None, behind: Some(leave(Argument::SiteResult)) };
        Probe {
            enter: Some(enter(Argument::Value(0))),
            leave: Some(leave(Argument::EnterResult)),
            handle: handle(),
            catch: handle(),
            sites: vec![around],
        }
    }

    /// Counts the calls of a method. Calls in its body have the same probes as in any other method.
    fn native_counter(&self, native: &NativeProbes) -> Probe {
        let method = self.method(PROBE_TYPE, WHEN_ENTERING.0, COUNTING_CALLS).into();
        let count = Call { method, arguments: vec![Argument::Value(0)], exception: None, address: Some(native.count) };
        Probe { enter: Some(count), leave: None, handle: None, catch: None, ..self.native_probe(native) }
    }

    /// Adds the rows that all woven code needs. Returns the mark's constructor, unless there is to be no mark.
    ///
    /// # Errors
    /// If a table or heap is full.
    pub(crate) fn add_to(&self, tokens: &mut impl ModuleTokens) -> Result<Option<Token>, Error> {
        if self.is_native() {
            return Ok(None);
        }
        // The order is the same for any woven code: the types come first. The methods of probes are added at their first
        // use.
        for name in [PROBE_TYPE, MARK_TYPE] {
            tokens.named_type(&self.class(name))?;
        }
        let (name, signature) = MARK_CONSTRUCTOR;
        tokens.settle(&TokenRequest::MemberRef(self.method(MARK_TYPE, name, signature).into())).map(Some)
    }

    /// The code that counts lines, with the address of their counters in a field.
    pub(crate) fn line_counter(&self, address: Token) -> Counter {
        let (name, signature) = WHEN_PASSING;
        Counter { address, method: self.method(PROBE_TYPE, name, signature).into() }
    }

    /// The method that returns that address.
    pub(crate) fn open_lines(&self) -> MethodName {
        let (name, signature) = WHEN_COUNTING;
        self.method(PROBE_TYPE, name, signature)
    }

    /// A method that receives captured values.
    pub(crate) fn capture_method(&self, name: &str, signature: &[u8]) -> MethodName {
        self.method(CAPTURE_TYPE, name, signature)
    }

    fn class(&self, name: &str) -> TypeName {
        TypeName { assembly: self.name.clone(), namespace: TRACKER_NAMESPACE.into(), name: name.into() }
    }

    fn method(&self, class: &str, name: &str, signature: &[u8]) -> MethodName {
        MethodName { class: self.class(class), name: name.into(), signature: signature.into(), types: Vec::new() }
    }
}

/// Whether a method of the tracker is one that woven methods call: the first of a probe, or the one that counts lines.
pub(crate) fn is_enter_method(name: &[u8]) -> bool {
    [WHEN_ENTERING, WHEN_STEPPING, WHEN_STARTING, WHEN_PASSING].iter().any(|(enter, _)| enter.as_bytes() == name)
}
