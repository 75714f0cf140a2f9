//! The tracker's names: the methods that woven code calls, and the mark of a woven module.

use std::sync::Arc;

use ecma335::{
    Cursor, Error, FileOffset, Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    metadata::join,
    opcode::Operand,
    schema::{
        AssemblyRef, CustomAttribute, CustomAttributeType, GenericParam, HasCustomAttribute, MemberRef, MethodDef, TypeRef,
    },
};
use ilrewrite::{Argument, AssemblyName, Call, MethodName, Probe, SiteProbe, TokenProvider, TokenRequest, TypeName};

use crate::{
    embed::{self, Tokens},
    hook::HookMethod,
    hooks::Hooks,
    options::Options,
};

/// The namespace of the tracker's types.
const NAMESPACE: &str = "Ilinst";
/// The type whose methods the probes call.
const PROBE_TYPE: &str = "ProfileInfoTracker";
/// The type with the methods that receive captured values.
const CAPTURE_TYPE: &str = "Capture";
/// The attribute that marks a module as woven.
const MARK_TYPE: &str = "WovenAttribute";
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
/// `instance void (int64, string, string)`
const MARK_CONSTRUCTOR: (&str, &[u8]) = (".ctor", &[0x20, 0x03, 0x01, 0x0A, 0x0E, 0x0E]);

/// One named argument: the property `Names`, an array of bytes.
const NAMES_PROPERTY: [u8; 11] = *b"\x01\x00\x54\x1D\x05\x05Names";

/// A provider of tokens for a module to weave.
pub trait ModuleTokens: TokenProvider<Error = Error> {
    /// Adds a custom attribute to the module, with a constructor and a value (II.23.3).
    ///
    /// # Errors
    /// Those of [`TokenProvider`].
    fn mark(&mut self, constructor: Token, value: &[u8]) -> Result<(), Error>;
}

impl ModuleTokens for Tokens<'_, '_> {
    fn mark(&mut self, constructor: Token, value: &[u8]) -> Result<(), Error> {
        let attribute = CustomAttribute {
            parent: HasCustomAttribute::new(Token::new(Table::Module, 1)).unwrap_or_default(),
            constructor: CustomAttributeType::new(constructor).unwrap_or_default(),
            value: self.builder.blob(value)?,
        };
        self.builder.insert(&attribute)
    }
}

/// The indices of the probes of methods: see [`Tracker::probes`].
pub(crate) struct Probes;

impl Probes {
    /// The probe of most methods.
    pub(crate) const METHOD: usize = 0;
    /// The probe of a step of an async method.
    pub(crate) const STEP: usize = 1;
    /// The probe of a runtime-async method.
    pub(crate) const RUNTIME_ASYNC: usize = 2;
    /// The first index of the hooks' probes, which are not the tracker's.
    pub(crate) const OF_HOOKS: usize = 3;
}

/// The indices of the probes of calls.
pub(crate) struct SiteProbes;

impl SiteProbes {
    /// Around a call, as if the called method were woven.
    pub(crate) const AROUND: usize = 0;
    /// Before a builder call that suspends, in the steps of async methods.
    pub(crate) const AWAIT: usize = 1;
    /// Before the result is set.
    pub(crate) const COMPLETE: usize = 2;
    /// Before the exception is set.
    pub(crate) const FAULT: usize = 3;
    /// Around a call that suspends the method, in runtime-async methods.
    pub(crate) const SUSPEND: usize = 1;
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
}

impl Tracker {
    /// Reads the name from the tracker's own metadata.
    ///
    /// # Errors
    /// If the bytes are not an assembly.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let image = Image::parse(bytes)?;
        let metadata = Metadata::parse(image.metadata()?)?;
        let references = metadata.tables.rows::<AssemblyRef>().map(|(_, row)| metadata.name(row.name));
        let references = references.collect::<Result<_, _>>()?;
        let owners = metadata.tables.rows::<GenericParam>().filter_map(|(_, row)| row.owner.token()?.rid_in::<MethodDef>());
        let first_generic_method = owners.map(Rid::get).min();
        Ok(Self { name: AssemblyName::of(&metadata)?, bytes: bytes.into(), references, first_generic_method, native: None })
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
            |row: &TypeRef| is(row.namespace, NAMESPACE) && [PROBE_TYPE, MARK_TYPE].iter().any(|name| is(row.name, name));
        let of_this = |rid| metadata.assembly_of(rid).is_some_and(|assembly| assembly == self.name.name);
        first_embedded(metadata).is_some() || metadata.tables.rows::<TypeRef>().any(|(rid, row)| is_this(&row) && of_this(rid))
    }

    /// The probes for methods, by the indices in `Probes`. Their first value is the method's id.
    pub fn probes(&self) -> [Probe; 3] {
        if let Some(native) = &self.native {
            return std::array::from_fn(|_| self.native_probe(native));
        }
        let call = |(name, signature), argument| Call {
            method: self.method(PROBE_TYPE, name, signature).into(),
            arguments: vec![argument],
            exception: None,
            address: None,
        };
        let with_token = |name| call(name, Argument::EnterResult);
        let around = SiteProbe {
            before: call(WHEN_ENTERING, Argument::SiteConstant),
            ahead: None,
            behind: Some(call(WHEN_LEAVING, Argument::SiteResult)),
        };
        let method = Probe {
            enter: Some(call(WHEN_ENTERING, Argument::Value(0))),
            leave: Some(with_token(WHEN_LEAVING)),
            handle: Some(with_token(WHEN_HANDLING)),
            catch: Some(with_token(WHEN_CATCHING)),
            sites: vec![around],
        };
        let mut step = Probe { enter: Some(call(WHEN_STEPPING, Argument::Value(0))), ..method.clone() };
        // In the order of `SiteProbes`.
        step.sites.extend([WHEN_AWAITING, WHEN_COMPLETING, WHEN_FAULTING].map(|name| SiteProbe {
            before: with_token(name),
            ahead: None,
            behind: None,
        }));
        let mut runtime_async = Probe { enter: Some(call(WHEN_STARTING, Argument::Value(0))), ..method.clone() };
        let suspend = SiteProbe {
            before: with_token(WHEN_SUSPENDING),
            ahead: Some(with_token(WHEN_CALLING_AWAITED)),
            behind: Some(with_token(WHEN_CONTINUING)),
        };
        runtime_async.sites.push(suspend);
        [method, step, runtime_async]
    }

    fn native_probe(&self, native: &NativeProbes) -> Probe {
        let call = |(name, signature), argument, address| {
            let method = self.method(PROBE_TYPE, name, signature).into();
            Some(Call { method, arguments: vec![argument], exception: None, address: Some(address) })
        };
        let handle = call(WHEN_HANDLING, Argument::EnterResult, native.handle);
        Probe {
            enter: call(WHEN_ENTERING, Argument::Value(0), native.enter),
            leave: call(WHEN_LEAVING, Argument::EnterResult, native.leave),
            catch: handle.clone(),
            handle,
            sites: Vec::new(),
        }
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

    /// A method that receives captured values.
    pub(crate) fn capture_method(&self, name: &str, signature: &[u8]) -> MethodName {
        self.method(CAPTURE_TYPE, name, signature)
    }

    fn class(&self, name: &str) -> TypeName {
        TypeName { assembly: self.name.clone(), namespace: NAMESPACE.into(), name: name.into() }
    }

    fn method(&self, class: &str, name: &str, signature: &[u8]) -> MethodName {
        MethodName { class: self.class(class), name: name.into(), signature: signature.into(), types: Vec::new() }
    }
}

/// The first method of the embedded tracker in a woven module. All later methods are the tracker's too.
pub fn first_embedded(metadata: &Metadata<'_>) -> Option<Rid<MethodDef>> {
    embed::first_method(metadata)
}

/// The contents of a woven module's mark.
#[derive(Clone, Debug)]
pub struct Mark<'s> {
    /// The module key, which is the first part of its method ids.
    pub module_key: u64,
    /// The name and version of the tool.
    pub tool: &'s str,
    /// The options of weaving.
    pub options: &'s str,
    /// The names of methods: see [`WovenNames`](crate::WovenNames). `None` in a loaded module, whose rows do not change.
    pub names: Option<&'s [u8]>,
}

impl<'s> Mark<'s> {
    /// The mark of a woven module.
    pub fn read(metadata: &Metadata<'s>) -> Option<Self> {
        Self::parse(metadata.blob(Self::rows(metadata).next()?.value).ok()?)
    }

    /// Whether a module has a mark, even a damaged one.
    pub(crate) fn is_in(metadata: &Metadata<'s>) -> bool {
        Self::rows(metadata).next().is_some()
    }

    /// All marks of a module. A module merged from several may have a mark from each.
    pub fn read_all<'m>(metadata: &'m Metadata<'s>) -> impl Iterator<Item = Self> + use<'s, 'm> {
        Self::rows(metadata).filter_map(|row| Self::parse(metadata.blob(row.value).ok()?))
    }

    fn rows<'m>(metadata: &'m Metadata<'s>) -> impl Iterator<Item = CustomAttribute> + use<'s, 'm> {
        let is_mark = |row: &CustomAttribute| {
            let name = || metadata.attribute_type_name(row);
            let is_mark = |name: String| [NAMESPACE, embed::NAMESPACE].iter().any(|namespace| name == join(namespace, MARK_TYPE));
            row.parent.token() == Some(Token(1)) && name().is_some_and(is_mark)
        };
        metadata.tables.rows::<CustomAttribute>().map(|(_, row)| row).filter(is_mark)
    }

    fn parse(blob: &'s [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(blob, FileOffset(0));
        cursor.bytes(2).ok()?;
        let module_key = cursor.u64().ok()?;
        let mut text = || {
            let length = cursor.compressed_u32().ok()?;
            std::str::from_utf8(cursor.bytes(length as usize).ok()?).ok()
        };
        let (tool, options) = (text()?, text()?);
        let names = cursor.rest().strip_prefix(&NAMES_PROPERTY).and_then(|names| names.get(size_of::<u32>()..));
        let mark = Self { module_key, tool, options, names };
        (mark.to_blob() == blob).then_some(mark)
    }

    /// The value of the attribute (II.23.3).
    pub(crate) fn to_blob(&self) -> Vec<u8> {
        let mut blob = vec![1, 0];
        blob.extend_from_slice(&self.module_key.to_le_bytes());
        for text in [self.tool, self.options] {
            ecma335::cursor::put_compressed_u32(&mut blob, text.len() as u32);
            blob.extend_from_slice(text.as_bytes());
        }
        match self.names {
            None => blob.extend_from_slice(&[0, 0]),
            Some(names) => {
                blob.extend_from_slice(&NAMES_PROPERTY);
                blob.extend_from_slice(&(names.len() as u32).to_le_bytes());
                blob.extend_from_slice(names);
            }
        }
        blob
    }
}

/// Whether each method of a woven module is woven, by row number minus one. A woven method's body calls the tracker, or a
/// hook from the mark.
pub fn woven_methods(image: &Image<'_>, metadata: &Metadata<'_>) -> Vec<bool> {
    let is_enter = |name: &[u8]| [WHEN_ENTERING, WHEN_STEPPING, WHEN_STARTING].iter().any(|(enter, _)| enter.as_bytes() == name);
    let options = Mark::read(metadata).and_then(|mark| mark.options.parse::<Options>().ok());
    let hooks: Vec<&HookMethod> =
        options.iter().flat_map(|options| options.all_hooks().flat_map(Hooks::methods)).map(|(_, hook)| hook).collect();
    let is_probe = |row: &MemberRef| {
        let class = row.class.token().and_then(Token::rid_in).and_then(|class| metadata.type_ref_name(class).ok());
        let (name, class) = (metadata.strings.string_bytes(row.name).unwrap_or_default(), class.unwrap_or_default());
        let is_hook = |hook: &&HookMethod| {
            let method = &hook.method;
            method.name.as_bytes() == name && class == join(&method.class.namespace, &method.class.name)
        };
        is_enter(name) && class == join(NAMESPACE, PROBE_TYPE) || hooks.iter().any(is_hook)
    };
    let probes = metadata.tables.rows::<MemberRef>().filter(|(_, row)| is_probe(row));
    let mut probes: Vec<Token> = probes.map(|(rid, _)| Token::new(Table::MemberRef, rid.get())).collect();
    // Embedded methods come after all methods that can be woven.
    let own = first_embedded(metadata).map_or(u32::MAX, Rid::get);
    let embedded = metadata.tables.rows::<MethodDef>().skip((own as usize).saturating_sub(1));
    let embedded = embedded.filter(|(_, row)| metadata.strings.string_bytes(row.name).is_ok_and(is_enter));
    probes.extend(embedded.map(|(rid, _)| Token::new(Table::MethodDef, rid.get())));
    let calls_probe = |row: &MethodDef| {
        let body = row.has_il_body().then(|| MethodBody::parse(image.cursor_at(Rva(row.rva))?));
        let Some(Ok(body)) = body else { return false };
        let mut instructions = body.instructions().map_while(Result::ok);
        instructions.any(|instruction| instruction.info.operand == Operand::Method && probes.contains(&instruction.token()))
    };
    metadata.tables.rows::<MethodDef>().map(|(rid, row)| rid.get() < own && calls_probe(&row)).collect()
}
