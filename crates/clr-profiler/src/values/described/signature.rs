//! The names of functions with exact generic arguments, as in a debugger's call stack, and the layouts of their
//! values.

use ecma335::{
    Metadata, Table, Token,
    element::{ElementType, convention},
    schema::{GenericParam, MethodDef, Param},
    signature::{Signature, TypeSig},
};
use profile_format::ParameterMode;

use super::{
    layouts::Layouts,
    resolve::Arguments,
    types::{List, NamedType, Type},
};
use crate::{
    abi::runtime::{Context, Id},
    file::descriptions::{self, Described},
    function::{Function, Instance, Parameter, ValueLayout},
    modules::loaded::Loaded,
};

/// A method's types, with the generic arguments of a context.
struct Types {
    name: String,
    this: Option<Type>,
    parameters: Vec<(ParameterMode, Type, String)>,
    returned: Type,
}

fn types(layouts: &mut Layouts, function: &Function, context: &Context) -> Option<(std::sync::Arc<Loaded>, Types)> {
    let loaded = layouts.modules.get(function.module)?;
    let metadata = &loaded.metadata;
    let rid = Token(function.token).rid_in::<MethodDef>()?;
    let row = metadata.row(rid).ok()?;
    let Signature::Method(signature) = Signature::parse(metadata.blobs.blob(row.signature).ok()?).ok()? else { return None };
    let owner = metadata.owner(rid)?;
    let definition = || {
        let name = metadata.full_names().name_of(owner).unwrap_or_default();
        let is_value = metadata.is_value_type(owner).unwrap_or_default();
        let arguments = parameters_of(metadata, Token::new(Table::TypeDef, owner.get()));
        Type::named(NamedType { name, is_value, definition: Some((function.module, owner)), arguments })
    };
    let own = match context.class {
        0 => definition(),
        class => layouts.modules.type_of_class(class),
    };
    let of_type = match &own {
        Type::Named(named) => named.arguments.clone(),
        _ => Vec::new(),
    };
    let of_method: Vec<Type> = match context.arguments() {
        [] => parameters_of(metadata, Token(function.token)),
        classes => classes.iter().map(|class| layouts.modules.type_of_class(*class)).collect(),
    };
    let arguments = if of_method.is_empty() { String::new() } else { format!("<{}>", List(&of_method)) };
    let name = format!("{own}.{}{arguments}", metadata.name(row.name).unwrap_or_default());
    let with = Arguments { of_type, of_method };
    let rows: Vec<Param> = metadata.children::<MethodDef, Param>(rid).filter_map(|param| metadata.row(param).ok()).collect();
    let mut parameters = Vec::new();
    for (index, each) in signature.params.iter().enumerate() {
        let row = rows.iter().find(|row| usize::from(row.sequence) == index + 1);
        let name = row.and_then(|row| metadata.name(row.name).ok()).unwrap_or_default();
        let passing = passing(layouts, function.module, each, row);
        parameters.push((passing, layouts.modules.type_of(function.module, each, &with), name));
    }
    let returned = layouts.modules.type_of(function.module, &signature.return_type, &with);
    let this = (signature.convention & convention::HAS_THIS != 0).then_some(own);
    Some((loaded, Types { name, this, parameters, returned }))
}

/// The names of generic parameters, for unknown arguments.
fn parameters_of(metadata: &Metadata<'_>, owner: Token) -> Vec<Type> {
    let rows = metadata.tables.rows::<GenericParam>().map(|(_, row)| row);
    let own = rows.filter(|row| row.owner.token() == Some(owner));
    own.map(|row| Type::Unknown(metadata.name(row.name).unwrap_or_default())).collect()
}

/// The passing mode of a parameter: by C# attributes, else by the flags.
fn passing(layouts: &mut Layouts, module: Id, signature: &TypeSig, row: Option<&Param>) -> ParameterMode {
    let mut at = signature;
    let mut is_read_only = false;
    loop {
        match at {
            TypeSig::Modified { modifier, inner, .. } => {
                is_read_only |= layouts.modules.name_of(module, *modifier) == "System.Runtime.InteropServices.InAttribute";
                at = inner;
            }
            TypeSig::ByRef(_) => break,
            _ => return ParameterMode::Value,
        }
    }
    match row {
        Some(row) if row.is_out() && !row.is_in() => ParameterMode::Out,
        Some(row) if is_read_only || row.is_in() && !row.is_out() => ParameterMode::In,
        _ if is_read_only => ParameterMode::In,
        _ => ParameterMode::Ref,
    }
}

/// The target type of a by-reference type.
fn target(of: &Type) -> &Type {
    match of {
        Type::ByRef(to) => to,
        _ => of,
    }
}

/// The value types of a function's parameters and result without known layouts, with `object` for all references.
pub(crate) fn values(layouts: &mut Layouts, function: &Function, context: &Context) -> Vec<Type> {
    let Some((_, types)) = types(layouts, function, context) else { return Vec::new() };
    let all = types.parameters.iter().map(|(_, of, _)| of).chain([&types.returned]).chain(&types.this);
    let mut values: Vec<Type> = Vec::new();
    for of in all {
        let of = target(of);
        let element = of.span_element();
        let parts = [Some(of), of.nullable(), element, element.and_then(Type::nullable)];
        for of in parts.into_iter().flatten() {
            let of = of.canonical();
            if !values.contains(&of) && layouts.needs_layout(&of) {
                values.push(of);
            }
        }
    }
    values
}

/// Describes a function with the generic arguments of a context in the profile.
pub(crate) fn describe(layouts: &mut Layouts, function: &Function, context: &Context) -> Option<Instance> {
    let (loaded, types) = types(layouts, function, context)?;
    if let Some(this) = types.this.as_ref().filter(|_| context.class != 0) {
        layouts.learn(this, context.class);
    }
    let number = descriptions::next_number();
    let parameters: Vec<(ParameterMode, String, &str)> =
        types.parameters.iter().map(|(passing, of, name)| (*passing, target_text(*passing, of), name.as_str())).collect();
    descriptions::describe_signature(&Described {
        number,
        method_id: function.method_id,
        token: function.token,
        module: &loaded.path,
        method: &types.name,
        returned: &types.returned.to_string(),
        this: &types.this.as_ref().map(ToString::to_string).unwrap_or_default(),
        parameters: &parameters,
    });
    let mut instance = Instance::new(context.class, context.arguments(), number);
    instance.this = types.this.as_ref().map(|of| match layouts.value_layout(of, true) {
        ValueLayout::Reference => ValueLayout::Reference,
        value => ValueLayout::ByRef(Box::new(value)),
    });
    let parameters = types.parameters.iter();
    let parameters = parameters.map(|(passing, of, _)| Parameter { passing: *passing, layout: layouts.value_layout(of, true) });
    instance.parameters = parameters.collect();
    let is_nothing = types.returned == Type::Element(ElementType::Void);
    instance.returned = (!is_nothing).then(|| layouts.value_layout(&types.returned, true));
    Some(instance)
}

fn target_text(passing: ParameterMode, of: &Type) -> String {
    if passing == ParameterMode::Value { of.to_string() } else { target(of).to_string() }
}
