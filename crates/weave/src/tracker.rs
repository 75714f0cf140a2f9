//! The tracker's names: what woven code calls, and the mark a woven module carries.

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
/// The type that values are handed to.
const CAPTURE_TYPE: &str = "Capture";
/// The attribute on the module that says: this one is woven.
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

/// Who gives the tokens of a module that is to be woven.
pub trait ModuleTokens: TokenProvider<Error = Error> {
    /// Gives the module an attribute, by its constructor and its value (II.23.3).
    ///
    /// # Errors
    /// As those of tokens.
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

/// The places of what methods get: see [`Tracker::probes`].
pub(crate) struct Probes;

impl Probes {
    /// Most methods.
    pub(crate) const METHOD: usize = 0;
    /// A step of an async method.
    pub(crate) const STEP: usize = 1;
    /// A method that the runtime suspends.
    pub(crate) const RUNTIME_ASYNC: usize = 2;
    /// The first of those that are no tracker's: hooks.
    pub(crate) const OF_HOOKS: usize = 3;
}

/// The places of what calls get.
pub(crate) struct SiteProbes;

impl SiteProbes {
    /// Around a call, as if the method called were woven.
    pub(crate) const AROUND: usize = 0;
    /// Before what has a step go on later, in async methods' steps.
    pub(crate) const AWAIT: usize = 1;
    /// Before the result is set.
    pub(crate) const COMPLETE: usize = 2;
    /// Before the exception is set.
    pub(crate) const FAULT: usize = 3;
    /// Around what suspends a method, in those that the runtime suspends.
    pub(crate) const SUSPEND: usize = 1;
}

/// A tracker assembly: woven code refers to it by its name, or has it in itself.
#[derive(Clone, Debug)]
pub struct Tracker {
    name: AssemblyName,
    bytes: Arc<[u8]>,
    /// The simple names of the assemblies that it refers to.
    references: Vec<String>,
    /// The row of its first method with type parameters.
    first_generic_method: Option<u32>,
    /// What is called in its place.
    native: Option<NativeProbes>,
}

/// Native functions that do what the tracker does, by their addresses: they are called as managed code is, and keep to what
/// that may do while a garbage collection waits for it.
#[derive(Clone, Copy, Debug)]
pub struct NativeProbes {
    /// `native int (int64)`: a method begins; what it returns, the others are passed.
    pub enter: u64,
    /// `void (native int)`: it ends.
    pub leave: u64,
    /// `void (native int)`: what it called has ended, as it handles an exception.
    pub handle: u64,
}

impl Tracker {
    /// Reads the name from the tracker's own metadata.
    ///
    /// # Errors
    /// If the bytes are no assembly.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let image = Image::parse(bytes)?;
        let metadata = Metadata::parse(image.metadata()?)?;
        let references = metadata.tables.rows::<AssemblyRef>().map(|(_, row)| metadata.name(row.name));
        let references = references.collect::<Result<_, _>>()?;
        let owners = metadata.tables.rows::<GenericParam>().filter_map(|(_, row)| row.owner.token()?.rid_in::<MethodDef>());
        let first_generic_method = owners.map(Rid::get).min();
        Ok(Self { name: AssemblyName::of(&metadata)?, bytes: bytes.into(), references, first_generic_method, native: None })
    }

    /// Native functions in its place: then woven code needs no assembly.
    #[must_use]
    pub fn replaced_by(self, native: NativeProbes) -> Self {
        Self { native: Some(native), ..self }
    }

    /// Whether native functions are in its place.
    pub(crate) fn is_native(&self) -> bool {
        self.native.is_some()
    }

    /// Its simple name.
    pub fn name(&self) -> &str {
        &self.name.name
    }

    /// Whether it refers to the assembly of a simple name.
    pub(crate) fn refers_to(&self, name: &str) -> bool {
        self.references.iter().any(|reference| reference == name)
    }

    pub(crate) fn first_generic_method(&self) -> Option<u32> {
        self.first_generic_method
    }

    /// The assembly itself.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a module has probes or the mark: then it is woven already. One that refers to the tracker for anything else, as
    /// to pause it, is not.
    pub fn is_in(&self, metadata: &Metadata<'_>) -> bool {
        let is = |name, text: &str| metadata.strings.string_bytes(name) == Ok(text.as_bytes());
        let is_this =
            |row: &TypeRef| is(row.namespace, NAMESPACE) && [PROBE_TYPE, MARK_TYPE].iter().any(|name| is(row.name, name));
        let of_this = |rid| metadata.assembly_of(rid).is_some_and(|assembly| assembly == self.name.name);
        first_embedded(metadata).is_some() || metadata.tables.rows::<TypeRef>().any(|(rid, row)| is_this(&row) && of_this(rid))
    }

    /// What it has put into methods, whose first value is their id.
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

    /// Adds the rows that all woven code needs; gives what constructs the mark, unless there is to be none.
    ///
    /// # Errors
    /// If a table or heap is full.
    pub(crate) fn add_to(&self, tokens: &mut impl ModuleTokens) -> Result<Option<Token>, Error> {
        if self.is_native() {
            return Ok(None);
        }
        // In an order of their own, whatever is woven: the types first. What probes call comes when it is first called.
        for name in [PROBE_TYPE, MARK_TYPE] {
            tokens.named_type(&self.class(name))?;
        }
        let (name, signature) = MARK_CONSTRUCTOR;
        tokens.settle(&TokenRequest::MemberRef(self.method(MARK_TYPE, name, signature).into())).map(Some)
    }

    /// A method that values are handed to.
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

/// The first method of the tracker that a woven module has in it; all behind are the tracker's too.
pub fn first_embedded(metadata: &Metadata<'_>) -> Option<Rid<MethodDef>> {
    embed::first_method(metadata)
}

/// What the mark on a woven module says.
#[derive(Clone, Debug)]
pub struct Mark<'s> {
    /// The module's key, which its method ids begin with.
    pub module_key: u64,
    /// The tool and its version.
    pub tool: &'s str,
    /// The options it was woven with.
    pub options: &'s str,
    /// What it says of the names of methods: see [`WovenNames`](crate::WovenNames). None in a loaded module, whose rows stay.
    pub names: Option<&'s [u8]>,
}

impl<'s> Mark<'s> {
    /// The mark that a woven module carries.
    pub fn read(metadata: &Metadata<'s>) -> Option<Self> {
        Self::parse(metadata.blob(Self::rows(metadata).next()?.value).ok()?)
    }

    /// Whether a module has one at all, which may be damaged.
    pub(crate) fn is_in(metadata: &Metadata<'s>) -> bool {
        Self::rows(metadata).next().is_some()
    }

    /// All marks of a module: one that several were merged into may have one of each.
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

/// Which methods of a woven module are woven, by row number less one: those whose bodies call the tracker, or a hook that the
/// mark names.
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
    // What is embedded comes behind all that can be woven.
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
