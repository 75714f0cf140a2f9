//! The values that hooks get from a method: its arguments and its return value, as objects where possible.

use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
};

use ecma335::{
    Cursor, FullNames, Metadata, Rid, Table, Token,
    element::ElementType,
    schema::{AssemblyRef, CustomAttribute, Field, GenericParam, MethodDef, Param, TypeDef, TypeDefOrRef, TypeRef},
    signature::{MethodSig, Signature, TypeSig, outline::MethodShape},
};
use ilrewrite::{AssemblyName, LeaveMode, Load, Returned, TokenRequest, TypeName, TypeToken, Value, rewrite::effective_return};
use names::MethodId;

use super::{
    hooks::{HookPoint, Hooks, Wanted},
    spans::{self, SpanType},
};

/// Value types of the framework that can be boxed. No attribute of this module shows that.
const BOXABLE: &[(&str, &[&str])] = &[
    (
        "System",
        &[
            "ArraySegment`1",
            "ConsoleKey",
            "ConsoleKeyInfo",
            "DateOnly",
            "DateTime",
            "DateTimeKind",
            "DateTimeOffset",
            "DayOfWeek",
            "Decimal",
            "Guid",
            "Half",
            "Index",
            "Int128",
            "Memory`1",
            "Nullable`1",
            "Range",
            "ReadOnlyMemory`1",
            "RuntimeFieldHandle",
            "RuntimeMethodHandle",
            "RuntimeTypeHandle",
            "StringComparison",
            "TimeOnly",
            "TimeSpan",
            "UInt128",
            "ValueTuple",
            "ValueTuple`1",
            "ValueTuple`2",
            "ValueTuple`3",
            "ValueTuple`4",
            "ValueTuple`5",
            "ValueTuple`6",
            "ValueTuple`7",
            "ValueTuple`8",
        ],
    ),
    ("System.Collections.Generic", &["KeyValuePair`2"]),
    ("System.Collections.Immutable", &["ImmutableArray`1"]),
    ("System.Numerics", &["BigInteger", "Complex"]),
    ("System.Text", &["Rune"]),
    ("System.Threading", &["CancellationToken"]),
    ("System.Threading.Tasks", &["TaskStatus", "ValueTask", "ValueTask`1"]),
];
/// Types of the core library that modules refer to, the most frequent first. A module of structs alone does not refer to
/// `System.Object`.
const CORE_TYPES: [&str; 6] = ["Object", "ValueType", "Enum", "MulticastDelegate", "Attribute", "Exception"];
/// The assemblies that are the core library for a module. They are found by name in a module without a reference to a core type.
const CORE_LIBRARIES: [&str; 4] = ["mscorlib", "System.Runtime", "netstandard", "System.Private.CoreLib"];
const BY_REF_LIKE: &str = "System.Runtime.CompilerServices.IsByRefLikeAttribute";

/// The facts about a module's types that hooks need. They are found at their first use.
pub(crate) struct HookContext<'a, 'm> {
    metadata: &'m Metadata<'a>,
    names: OnceLock<FullNames<'a, 'm>>,
    types: OnceLock<Types>,
}

struct Types {
    /// The assembly from which this module references [`CORE_TYPES`].
    core: Option<AssemblyName>,
    /// The rows of value types that can be boxed.
    boxable: HashSet<Token>,
    /// The type parameters that can be ref structs, by owner and number.
    by_ref_like_parameters: HashSet<(Option<Token>, u16)>,
    /// The rows of spans, and whether they are read-only ones.
    spans: HashMap<Token, bool>,
}

/// The values that hooks get from one method.
#[derive(Default)]
pub(crate) struct MethodValues {
    full_name: String,
    object: Option<TypeToken>,
    loads: Vec<Option<Load>>,
    /// The loads of the wanted values, by their place in the list.
    named: Vec<Option<Load>>,
    returned: Option<Boxing>,
}

/// The conversion of a value to an object.
pub(crate) enum Boxing {
    Reference,
    Boxed(TypeToken),
}

impl<'a, 'm> HookContext<'a, 'm> {
    pub(crate) fn new(metadata: &'m Metadata<'a>) -> Self {
        Self { metadata, names: OnceLock::new(), types: OnceLock::new() }
    }

    pub(crate) fn metadata(&self) -> &'m Metadata<'a> {
        self.metadata
    }

    /// A method, as a context for reading its types.
    pub(crate) fn method_context(&self, method: Rid<MethodDef>) -> MethodContext<'_, 'a, 'm> {
        MethodContext { context: self, method, class: self.metadata.owner(method) }
    }

    /// The values that hooks want from a method. `None` if its signature cannot be read.
    pub(crate) fn values(
        &self,
        hooks: &Hooks,
        rid: Rid<MethodDef>,
        row: &MethodDef,
        signature: Cursor<'_>,
        leave: LeaveMode,
    ) -> Option<MethodValues> {
        let mut values = MethodValues::default();
        let Ok(Signature::Method(parsed)) = Signature::parse(signature) else { return None };
        let method = self.method_context(rid);
        for wanted in hooks.values() {
            let mut named = None;
            match wanted {
                Wanted::Id | Wanted::Handle => {}
                Wanted::FullName => values.full_name = self.full_name(&method, row)?,
                Wanted::Instance { point } => {
                    let is_constructor = self.metadata.strings.string_bytes(row.name) == Ok(b".ctor");
                    // A finally block also runs in a constructor that never called its base's.
                    let is_whole = !is_constructor || *point == HookPoint::Leave && leave == LeaveMode::Return;
                    named = if row.is_static() || !is_whole { None } else { method.this() };
                    // The address of a struct is lost while the runtime suspends its method.
                    let may_be_lost = row.is_async() && *point != HookPoint::Enter;
                    named = named.filter(|this| !(this.is_address && may_be_lost));
                }
                Wanted::Arguments => {
                    values.object = Some(self.core_type("Object")?);
                    values.loads = method.arguments(row, &parsed);
                }
                Wanted::Argument { name, element } => named = method.argument(row, &parsed, name, *element),
            }
            values.named.push(named);
        }
        let outline = MethodShape::read(signature.rest(), signature.offset()).ok()?;
        if let Some(range) = effective_return(row, &outline, signature.rest()) {
            let ty = TypeSig::parse(Cursor::new(signature.rest().get(range)?, signature.offset())).ok()?;
            values.returned = method.boxing(&ty);
        }
        Some(values)
    }

    fn full_name(&self, method: &MethodContext<'_, 'a, 'm>, row: &MethodDef) -> Option<String> {
        let names = self.names.get_or_init(|| self.metadata.full_names());
        Some(format!("{}::{}", names.of(method.class?).ok()?, self.metadata.name(row.name).ok()?))
    }

    fn types(&self) -> &Types {
        self.types.get_or_init(|| Types::find(self.metadata))
    }

    /// A type of the core library, as a reference in this module.
    fn core_type(&self, name: &str) -> Option<TypeToken> {
        let assembly = self.types().core.clone()?;
        let name = TypeName { assembly, namespace: "System".into(), name: name.into() };
        Some(TypeToken::Asked(TokenRequest::TypeRef(name.into())))
    }
}

impl Types {
    fn find(metadata: &Metadata<'_>) -> Self {
        let is = |name, text: &str| metadata.strings.string_bytes(name) == Ok(text.as_bytes());
        let mut types = Self {
            core: core_library(metadata),
            boxable: HashSet::new(),
            by_ref_like_parameters: HashSet::new(),
            spans: HashMap::new(),
        };
        for (rid, row) in metadata.tables.rows::<TypeRef>() {
            types.spans.extend(is_read_only_span(metadata, &row).map(|it_is| (Token::new(Table::TypeRef, rid.get()), it_is)));
            let namespace = BOXABLE.iter().find(|(namespace, _)| is(row.namespace, namespace));
            if namespace.is_some_and(|(_, names)| names.iter().any(|name| is(row.name, name))) {
                types.boxable.insert(Token::new(Table::TypeRef, rid.get()));
            }
        }
        let attributes = metadata.tables.rows::<CustomAttribute>().map(|(_, row)| row);
        let owners = attributes.filter(|row| row.parent.token().is_some_and(|parent| parent.kind() == Table::TypeDef as u8));
        let marked = owners.filter(|row| metadata.attribute_type_name(row).is_some_and(|name| name == BY_REF_LIKE));
        let by_ref_like: HashSet<Option<Token>> = marked.map(|row| row.parent.token()).collect();
        for (rid, _) in metadata.tables.rows::<TypeDef>() {
            let token = Token::new(Table::TypeDef, rid.get());
            if by_ref_like.contains(&Some(token)) {
                continue;
            }
            types.boxable.insert(token);
            // The type of a field of a boxable type is boxable.
            for field in metadata.children::<TypeDef, Field>(rid) {
                let blob = metadata.row(field).and_then(|row| metadata.blobs.blob(row.signature));
                if let Ok(Signature::Field(TypeSig::Named { token, .. } | TypeSig::GenericInst { token, .. })) =
                    blob.and_then(Signature::parse)
                {
                    types.boxable.extend(token.token().filter(|token| token.kind() == Table::TypeRef as u8));
                }
            }
        }
        let parameters = metadata.tables.rows::<GenericParam>().map(|(_, row)| row).filter(GenericParam::allows_by_ref_like);
        types.by_ref_like_parameters = parameters.map(|row| (row.owner.token(), row.number)).collect();
        types
    }
}

/// Whether a reference to a span's type is to a read-only one. `None` for other types.
pub(super) fn is_read_only_span(metadata: &Metadata<'_>, row: &TypeRef) -> Option<bool> {
    let is = |name, text: &str| metadata.strings.string_bytes(name) == Ok(text.as_bytes());
    let (_, is_read_only) = spans::NAMES.iter().find(|(name, _)| is(row.name, name)).filter(|_| is(row.namespace, "System"))?;
    let assembly = metadata.row(row.resolution_scope.token()?.rid_in::<AssemblyRef>()?).ok()?;
    spans::ASSEMBLIES.iter().any(|name| is(assembly.name, name)).then_some(*is_read_only)
}

/// The assembly from which a module references the types of the core library.
pub(crate) fn core_library(metadata: &Metadata<'_>) -> Option<AssemblyName> {
    let is = |name, text: &str| metadata.strings.string_bytes(name) == Ok(text.as_bytes());
    let core_type = |(_, row): (_, TypeRef)| {
        let assembly = row.resolution_scope.token().and_then(Token::rid_in::<AssemblyRef>)?;
        let rank = CORE_TYPES.iter().position(|name| is(row.name, name)).filter(|_| is(row.namespace, "System"))?;
        Some((rank, assembly))
    };
    let by_type = metadata.tables.rows::<TypeRef>().filter_map(core_type).min_by_key(|(rank, _)| *rank).map(|(_, rid)| rid);
    let mut references = metadata.tables.rows::<AssemblyRef>();
    let by_name = || references.find(|(_, row)| CORE_LIBRARIES.iter().any(|name| is(row.name, name))).map(|(rid, _)| rid);
    AssemblyName::referred(metadata, by_type.or_else(by_name)?)
}

/// The declaring type of a method.
pub(crate) struct OwnType {
    pub(crate) is_value: bool,
    /// The type as a signature, with its own type parameters as arguments.
    pub(crate) signature: TypeSig,
}

/// A method as the context for reading its signature.
pub(crate) struct MethodContext<'c, 'a, 'm> {
    context: &'c HookContext<'a, 'm>,
    method: Rid<MethodDef>,
    class: Option<Rid<TypeDef>>,
}

impl MethodContext<'_, '_, '_> {
    /// The conversion of a value of a type to an object. `None` if there is none, or none is certain.
    pub(crate) fn boxing(&self, ty: &TypeSig) -> Option<Boxing> {
        let types = self.context.types();
        let can_box = |token: TypeDefOrRef| token.token().filter(|token| types.boxable.contains(token));
        let specified = || {
            let mut blob = Vec::new();
            ty.write(&mut blob);
            Boxing::Boxed(TypeToken::Asked(TokenRequest::TypeSpec(blob)))
        };
        let parameter = |owner: Token, number: u32| {
            let key = (Some(owner), number as u16);
            (!types.by_ref_like_parameters.contains(&key)).then(specified)
        };
        match ty {
            TypeSig::Element(ElementType::String | ElementType::Object) | TypeSig::SzArray(_) | TypeSig::Array(..) => {
                Some(Boxing::Reference)
            }
            TypeSig::Named { is_value: false, .. } | TypeSig::GenericInst { is_value: false, .. } => Some(Boxing::Reference),
            TypeSig::Element(element) if element.is_primitive() => Some(Boxing::Boxed(self.context.core_type(element.class())?)),
            TypeSig::Named { token, .. } => can_box(*token).map(|token| Boxing::Boxed(TypeToken::Known(token))),
            TypeSig::GenericInst { token, .. } => can_box(*token).map(|_| specified()),
            TypeSig::Var(number) => parameter(Token::new(Table::TypeDef, self.class?.get()), *number),
            TypeSig::MVar(number) => parameter(Token::new(Table::MethodDef, self.method.get()), *number),
            TypeSig::Modified { inner, .. } => self.boxing(inner),
            TypeSig::Element(_) | TypeSig::Ptr(_) | TypeSig::ByRef(_) | TypeSig::FnPtr(_) | TypeSig::Pinned(_) => None,
        }
    }

    /// A type that is a span. `None` for other types.
    pub(super) fn span<'t>(&self, ty: &'t TypeSig) -> Option<SpanType<'t>> {
        let TypeSig::GenericInst { is_value: true, token: generic, arguments } = ty else { return None };
        let [element] = &arguments[..] else { return None };
        let types = self.context.types();
        let is_read_only = *types.spans.get(&generic.token()?)?;
        Some(SpanType { class: ty, generic: *generic, element, is_read_only })
    }

    fn load(&self, number: usize, ty: &TypeSig) -> Option<Load> {
        let boxed = match self.boxing(ty)? {
            Boxing::Reference => None,
            Boxing::Boxed(token) => Some(token),
        };
        Some(Load { number: u16::try_from(number).ok()?, boxed, is_address: false, cast: None })
    }

    /// `this` of an instance method.
    fn this(&self) -> Option<Load> {
        let (metadata, class) = (self.context.metadata, self.class?);
        let row: TypeDef = metadata.row(class).ok()?;
        let load = Load { number: 0, boxed: None, is_address: false, cast: None };
        if !is_value_type(metadata, &row) {
            return (!row.is_interface()).then_some(load);
        }
        Some(Load { is_address: true, ..self.load(0, &self.own_type()?.signature)? })
    }

    /// The method's declaring type.
    pub(crate) fn own_type(&self) -> Option<OwnType> {
        let (metadata, token) = (self.context.metadata, self.class_token()?);
        let row: TypeDef = metadata.row(self.class?).ok()?;
        let (coded, is_value) = (TypeDefOrRef::new(token)?, is_value_type(metadata, &row));
        let own = |row: &GenericParam| row.owner.token() == Some(token);
        let count = metadata.tables.rows::<GenericParam>().filter(|(_, row)| own(row)).count() as u32;
        let named = TypeSig::Named { is_value, token: coded };
        let arguments = (0..count).map(TypeSig::Var).collect();
        let signature = if count == 0 { named } else { TypeSig::GenericInst { is_value, token: coded, arguments } };
        Some(OwnType { is_value, signature })
    }

    pub(crate) fn is_of_interface(&self) -> bool {
        self.class.is_some_and(|class| self.context.metadata.row(class).is_ok_and(|row: TypeDef| row.is_interface()))
    }

    pub(crate) fn class_token(&self) -> Option<Token> {
        self.class.map(|class| Token::new(Table::TypeDef, class.get()))
    }

    pub(crate) fn method_token(&self) -> Token {
        Token::new(Table::MethodDef, self.method.get())
    }

    /// The full name of a type of the module.
    pub(crate) fn full_name_of(&self, class: Rid<TypeDef>) -> Option<String> {
        self.context.names.get_or_init(|| self.context.metadata.full_names()).of(class).ok()
    }

    fn arguments(&self, row: &MethodDef, signature: &MethodSig) -> Vec<Option<Load>> {
        let first = usize::from(!row.is_static());
        signature.params.iter().enumerate().map(|(place, ty)| self.load(first + place, ty)).collect()
    }

    /// The argument of a name. `element` is its exact type, or `object` for any value that can be boxed.
    fn argument(&self, row: &MethodDef, signature: &MethodSig, name: &str, element: ElementType) -> Option<Load> {
        let metadata = self.context.metadata;
        let mut parameters = metadata.children::<MethodDef, Param>(self.method).filter_map(|rid| metadata.row(rid).ok());
        let named = parameters.find(|row| metadata.strings.string_bytes(row.name) == Ok(name.as_bytes()))?;
        let place = usize::from(named.sequence).checked_sub(1)?;
        let ty = signature.params.get(place)?;
        let number = place + usize::from(!row.is_static());
        if element == ElementType::Object {
            return self.load(number, ty);
        }
        let plain = Load { number: u16::try_from(number).ok()?, boxed: None, is_address: false, cast: None };
        (*ty == TypeSig::Element(element)).then_some(plain)
    }
}

fn is_value_type(metadata: &Metadata<'_>, row: &TypeDef) -> bool {
    let base = row.extends.token().and_then(Token::rid_in::<TypeRef>).and_then(|rid| metadata.type_ref_name(rid).ok());
    base.is_some_and(|name| name == "System.ValueType" || name == "System.Enum")
}

impl MethodValues {
    /// The values that the calls refer to, by place.
    pub(crate) fn values<'v>(&'v self, hooks: &Hooks, rid: Rid<MethodDef>, id: MethodId) -> Vec<Value<'v>> {
        let or = |load: &'v Option<Load>, element| load.as_ref().map_or(Value::Default(element), Value::Argument);
        let value = |(wanted, named): (&Wanted, &'v Option<Load>)| match wanted {
            Wanted::Id => Value::Int64(id.0),
            Wanted::FullName => Value::String(&self.full_name),
            Wanted::Handle => Value::Handle(Token::new(Table::MethodDef, rid.get())),
            Wanted::Instance { .. } => or(named, ElementType::Object),
            Wanted::Arguments => match &self.object {
                Some(object) => Value::Arguments { object, loads: &self.loads },
                None => Value::Default(ElementType::Object),
            },
            Wanted::Argument { element, .. } => or(named, *element),
        };
        hooks.values().iter().zip(&self.named).map(value).collect()
    }

    /// The form in which hooks get the return value.
    pub(crate) fn returned(&self) -> Returned<'_> {
        match &self.returned {
            None => Returned::Nothing,
            Some(Boxing::Reference) => Returned::Reference,
            Some(Boxing::Boxed(token)) => Returned::Value(token),
        }
    }
}
