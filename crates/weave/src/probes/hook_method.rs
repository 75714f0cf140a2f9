//! A hook: a static method of the user that woven code calls. It is read once, from the file that the option names. The
//! text form that the mark records holds all that weaving needs of it.

use std::{fmt, str::FromStr, sync::Arc};

use ecma335::{
    Cursor, FileOffset, Metadata, Rid, Table, Token,
    element::{ElementType, convention},
    schema::{AssemblyRef, GenericParam, MethodDef, Param, TypeDef, TypeDefOrRef, TypeRef},
    signature::{MethodSig, Signature, TypeSig},
};
use ilrewrite::{AssemblyName, MethodName, NamedType, TypeName};

/// A method that can be a hook, with the names of its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HookMethod {
    pub(crate) method: Arc<MethodName>,
    pub(crate) parameters: Vec<String>,
}

/// The parameters that a hook may have, for messages.
pub const ACCEPTED: &str = "ulong id; string fullName; RuntimeMethodHandle; object instance; object[] arguments; \
     arg_NAME (its argument of that name: object, string or a number); with --leave, returnValue (object, or T or ref T, which is \
     the hook's own type parameter); with --handle, exception (object or Exception); with both, what --enter returns";

/// The reason that a method cannot be a hook.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The assembly has no type or method of that name.
    #[error("there is no {0} in it")]
    Missing(String),
    /// The method cannot be called.
    #[error("{0} {1}")]
    Uncallable(String, &'static str),
    /// No value is known for one of the parameters.
    #[error("{method} cannot be a hook: {what}; it may have, in any order: {ACCEPTED}")]
    Signature {
        /// The method.
        method: String,
        /// The error in the signature.
        what: String,
    },
    /// The metadata cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ecma335::Error),
    /// The text is not a hook.
    #[error("'{0}' is no hook")]
    Word(String),
}

impl HookMethod {
    /// The public static method of an assembly, by the full name of its type (`Namespace.Outer/Inner`) and its own name.
    ///
    /// # Errors
    /// If there is no such method, or several, or some assembly could not call it.
    pub fn read(metadata: &Metadata<'_>, class: &str, name: &str) -> Result<Self, HookError> {
        let full_name = format!("{class}::{name}");
        let uncallable = |why| HookError::Uncallable(full_name.clone(), why);
        let rid = find_type(metadata, class)?.ok_or_else(|| HookError::Missing(format!("type {class}")))?;
        check_type(metadata, rid)?.map_err(uncallable)?;
        let (method, row) = match methods_named(metadata, rid, name)?[..] {
            [] => return Err(HookError::Missing(format!("method {full_name}"))),
            [one] => one,
            _ => return Err(uncallable("is there several times; give one another name")),
        };
        let signature = callable_signature(metadata, &row)?.map_err(uncallable)?;
        let mut blob = Blob { metadata, bytes: vec![signature.convention], types: Vec::new() };
        blob.put(&signature).ok_or_else(|| uncallable("has a type in its signature that cannot be named elsewhere"))?;
        let Blob { bytes: signature_bytes, types, .. } = blob;
        let class = own_type(metadata, rid)?;
        let parameters = parameter_names(metadata, method, signature.params.len())?;
        let method = MethodName { class, name: name.to_owned(), signature: signature_bytes, types };
        let hook = Self { method: method.into(), parameters };
        // A hook that the mark cannot represent could not be woven again.
        match hook.to_string().parse::<Self>() {
            Ok(again) if again == hook => Ok(hook),
            _ => Err(uncallable("has a name in its signature that is none of C#")),
        }
    }

    /// `Namespace.Type::Method`.
    pub fn full_name(&self) -> String {
        format!("{}::{}", class_name(&self.method.class), self.method.name)
    }

    /// The assembly that declares the hook.
    pub fn assembly(&self) -> &AssemblyName {
        &self.method.class.assembly
    }

    pub(crate) fn signature(&self) -> ecma335::Result<MethodSig> {
        match Signature::parse(Cursor::new(&self.method.signature, FileOffset(0)))? {
            Signature::Method(signature) => Ok(signature),
            _ => Err(ecma335::Error::new(ecma335::ErrorKind::Unsupported("a hook of no method's signature"))),
        }
    }
}

/// The reason that the method of another assembly cannot be called, or what a check yields.
type Callable<T> = Result<T, &'static str>;

/// Checks that other assemblies can name a type.
fn check_type(metadata: &Metadata<'_>, rid: Rid<TypeDef>) -> ecma335::Result<Callable<()>> {
    for each in metadata.full_names().chain(rid) {
        let row: TypeDef = metadata.row(each)?;
        if !row.is_public() && !row.is_nested_public() {
            return Ok(Err("is in a type that is not public"));
        }
    }
    let token = Token::new(Table::TypeDef, rid.get());
    let is_generic = metadata.tables.rows::<GenericParam>().any(|(_, row)| row.owner.token() == Some(token));
    Ok(if is_generic { Err("is in a type with type parameters") } else { Ok(()) })
}

fn methods_named(metadata: &Metadata<'_>, class: Rid<TypeDef>, name: &str) -> ecma335::Result<Vec<(Rid<MethodDef>, MethodDef)>> {
    let mut named = Vec::new();
    for method in metadata.children::<TypeDef, MethodDef>(class) {
        let row = metadata.row(method)?;
        if metadata.strings.string_bytes(row.name)? == name.as_bytes() {
            named.push((method, row));
        }
    }
    Ok(named)
}

/// The signature of a method that other assemblies can call.
fn callable_signature(metadata: &Metadata<'_>, row: &MethodDef) -> ecma335::Result<Callable<MethodSig>> {
    if !row.is_static() || !row.is_public() {
        return Ok(Err("is no public static method"));
    }
    let Signature::Method(signature) = Signature::parse(metadata.blobs.blob(row.signature)?)? else {
        return Ok(Err("has no method's signature"));
    };
    let is_default = signature.convention & !convention::GENERIC == convention::DEFAULT;
    Ok(if is_default { Ok(signature) } else { Err("has a list of arguments of any length") })
}

/// The names of a method's parameters. A parameter without a Param row has none.
fn parameter_names(metadata: &Metadata<'_>, method: Rid<MethodDef>, count: usize) -> ecma335::Result<Vec<String>> {
    let mut names = vec![String::new(); count];
    for parameter in metadata.children::<MethodDef, Param>(method) {
        let row = metadata.row(parameter)?;
        if let Some(slot) = usize::from(row.sequence).checked_sub(1).and_then(|index| names.get_mut(index)) {
            *slot = metadata.name(row.name)?;
        }
    }
    Ok(names)
}

/// The type of this full name. A nested type may be written with `+`.
fn find_type(metadata: &Metadata<'_>, class: &str) -> ecma335::Result<Option<Rid<TypeDef>>> {
    let names = metadata.full_names();
    let class = class.replace('+', "/");
    for rid in names.types() {
        if names.name_of(rid)? == class {
            return Ok(Some(rid));
        }
    }
    Ok(None)
}

/// The name of a type in the hook's own assembly.
fn own_type(metadata: &Metadata<'_>, rid: Rid<TypeDef>) -> ecma335::Result<TypeName> {
    Ok(type_name(AssemblyName::own(metadata)?, &metadata.full_names().name_of(rid)?))
}

fn type_name(assembly: AssemblyName, full_name: &str) -> TypeName {
    let outermost = full_name.split('/').next().unwrap_or_default().len();
    let dot = full_name[..outermost].rfind('.');
    let (namespace, name) = dot.map_or(("", full_name), |dot| (&full_name[..dot], &full_name[dot + 1..]));
    TypeName { assembly, namespace: namespace.to_owned(), name: name.to_owned() }
}

fn class_name(name: &TypeName) -> String {
    ecma335::metadata::join(&name.namespace, &name.name)
}

/// A signature that refers to types by name.
struct Blob<'m> {
    metadata: &'m Metadata<'m>,
    bytes: Vec<u8>,
    types: Vec<NamedType>,
}

impl Blob<'_> {
    fn put(&mut self, signature: &MethodSig) -> Option<()> {
        if signature.convention & convention::GENERIC != 0 {
            ecma335::cursor::put_compressed_u32(&mut self.bytes, signature.generic_params);
        }
        ecma335::cursor::put_compressed_u32(&mut self.bytes, signature.params.len() as u32);
        std::iter::once(&signature.return_type).chain(&signature.params).try_for_each(|each| self.put_type(each))
    }

    fn put_type(&mut self, ty: &TypeSig) -> Option<()> {
        let element = |is_value: bool| if is_value { ElementType::ValueType } else { ElementType::Class } as u8;
        match ty {
            TypeSig::Named { is_value, token } => {
                self.bytes.push(element(*is_value));
                self.put_name(*token)
            }
            TypeSig::GenericInst { is_value, token, arguments } => {
                self.bytes.extend([ElementType::GenericInst as u8, element(*is_value)]);
                self.put_name(*token)?;
                ecma335::cursor::put_compressed_u32(&mut self.bytes, arguments.len() as u32);
                arguments.iter().try_for_each(|argument| self.put_type(argument))
            }
            TypeSig::SzArray(inner) => {
                self.bytes.push(ElementType::SzArray as u8);
                self.put_type(inner)
            }
            TypeSig::ByRef(inner) => {
                self.bytes.push(ElementType::ByRef as u8);
                self.put_type(inner)
            }
            TypeSig::Element(_) | TypeSig::MVar(_) => {
                ty.write(&mut self.bytes);
                Some(())
            }
            _ => None,
        }
    }

    fn put_name(&mut self, token: TypeDefOrRef) -> Option<()> {
        let token = token.token()?;
        let name = match (token.rid_in::<TypeDef>(), token.rid_in::<TypeRef>()) {
            (Some(rid), _) => own_type(self.metadata, rid).ok()?,
            (_, Some(rid)) => referred(self.metadata, rid)?,
            _ => return None,
        };
        self.types.push(NamedType { at: self.bytes.len() as u32, name: name.into() });
        self.bytes.push(NamedType::PLACEHOLDER);
        Some(())
    }
}

/// The name of a type in another assembly.
fn referred(metadata: &Metadata<'_>, rid: Rid<TypeRef>) -> Option<TypeName> {
    let outermost = metadata.type_ref_chain(rid).last()?.ok()?;
    let scope = outermost.resolution_scope.token()?.rid_in::<AssemblyRef>()?;
    Some(type_name(AssemblyName::referred(metadata, scope)?, &metadata.type_ref_name(rid).ok()?))
}

/// `Assembly/1.0.0.0/token!Namespace.Type::Method(names):signature`. The signature is hexadecimal, with type names in
/// braces.
impl fmt::Display for HookMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, parameters } = self;
        put_type_name(f, &method.class)?;
        write!(f, "::{}({}):", method.name, parameters.join(","))?;
        let mut types = method.types.iter().peekable();
        for (at, byte) in method.signature.iter().enumerate() {
            match types.next_if(|named| named.at as usize == at) {
                Some(NamedType { name, .. }) => {
                    f.write_str("{")?;
                    put_type_name(f, name)?;
                    f.write_str("}")?;
                }
                None => write!(f, "{byte:02x}")?,
            }
        }
        Ok(())
    }
}

fn put_type_name(f: &mut fmt::Formatter<'_>, name: &TypeName) -> fmt::Result {
    let AssemblyName { name: assembly, version: [major, minor, build, revision], public_key_token } = &name.assembly;
    write!(f, "{assembly}/{major}.{minor}.{build}.{revision}/")?;
    public_key_token.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
    write!(f, "!{}", class_name(name))
}

impl FromStr for HookMethod {
    type Err = HookError;

    fn from_str(text: &str) -> Result<Self, HookError> {
        parse(text).ok_or_else(|| HookError::Word(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<HookMethod> {
    let (named, signature) = text.split_once("):")?;
    let (named, parameters) = named.rsplit_once('(')?;
    let (class, name) = named.rsplit_once("::")?;
    let (mut bytes, mut types, mut rest) = (Vec::new(), Vec::new(), signature);
    while !rest.is_empty() {
        rest = if let Some(behind) = rest.strip_prefix('{') {
            let (name, behind) = behind.split_once('}')?;
            types.push(NamedType { at: bytes.len() as u32, name: parse_type_name(name)?.into() });
            bytes.push(NamedType::PLACEHOLDER);
            behind
        } else {
            let (byte, behind) = rest.split_at_checked(2)?;
            bytes.push(parse_byte(byte)?);
            behind
        };
    }
    let parameters: Vec<String> = parameters.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let method = MethodName { class: parse_type_name(class)?, name: name.to_owned(), signature: bytes, types };
    let hook = HookMethod { method: method.into(), parameters };
    (hook.signature().ok()?.params.len() == hook.parameters.len()).then_some(hook)
}

fn parse_byte(digits: &str) -> Option<u8> {
    u8::from_str_radix(digits, 16).ok()
}

fn parse_type_name(text: &str) -> Option<TypeName> {
    let (assembly, class) = text.split_once('!')?;
    let mut parts = assembly.rsplitn(3, '/');
    let (token, version, name) = (parts.next()?, parts.next()?, parts.next()?);
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    let version = [numbers.next()??, numbers.next()??, numbers.next()??, numbers.next()??];
    let token = (0..token.len()).step_by(2).map(|at| parse_byte(token.get(at..at + 2)?)).collect::<Option<_>>()?;
    Some(type_name(AssemblyName { name: name.to_owned(), version, public_key_token: token }, class))
}
