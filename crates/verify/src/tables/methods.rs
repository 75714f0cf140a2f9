//! MethodDef, Param, MethodImpl and ImplMap (II.22.26, II.22.33, II.22.27, II.22.22).

use std::collections::BTreeSet;

use ecma335::{
    Rva, Table, Token,
    element::{ElementType, convention},
    flags::{method_attributes, method_impl_attributes, param_attributes, pinvoke_attributes},
    schema::{ImplMap, MethodDef, MethodImpl},
    signature::{MethodSig, Signature, TypeSig},
};

use crate::{
    context::Context,
    model::{TypeKind, at},
    rule::rule,
    signatures, structure,
    tables::{generics, type_defs},
    types::method_type,
};

pub(crate) fn check(context: &Context<'_>) {
    let model = context.model;
    let suppressing = type_defs::suppressing(context);
    for ((row, owner), rid) in model.methods.iter().zip(&model.method_owners).zip(1..) {
        let token = Token::new(Table::MethodDef, rid);
        context.require(*owner != 0, rule!("II.22.26-2"), token);
        context.require(!context.name(row.name).is_empty(), rule!("II.22.26-14"), token);
        check_flags(context, token, row);
        check_implementation(context, token, row);
        check_owner(context, token, row, *owner);
        check_security(context, token, row, &suppressing);
        match signatures::parse(context, row.signature) {
            Ok(Signature::Method(signature)) => {
                if let Err(error) = signatures::check_method(context, token, &signature) {
                    context.report(rule!("II.22.26-17"), token, error);
                }
                check_convention(context, token, row, &signature);
                check_special(context, token, row, *owner, &signature);
            }
            Ok(_) => context.report(rule!("II.22.26-17"), token, "it is of another kind"),
            Err(error) => context.report(rule!("II.22.26-17"), token, error),
        }
    }
    check_duplicates(context);
    check_params(context);
    check_overrides(context);
    check_imports(context);
}

/// Rules 3, 6 to 9, 23 and 24.
fn check_flags(context: &Context<'_>, token: Token, row: &MethodDef) {
    if row.impl_flags & !method_impl_attributes::ALL != 0 {
        context.report(rule!("II.22.26-3"), token, format_args!("{:#x}", row.impl_flags));
    } else if row.impl_flags & !method_impl_attributes::STANDARD != 0 {
        context.report(rule!("II.22.26-3/clr"), token, format_args!("{:#x}", row.impl_flags));
    }
    context.require(row.access() <= method_attributes::PUBLIC, rule!("II.22.26-6"), token);
    context.require(!(row.is_static() && row.is_final()), rule!("II.22.26-7a"), token);
    context.require(!(row.is_static() && row.is_new_slot()), rule!("II.22.26-7c"), token);
    context.require(!(row.is_abstract() && row.is_pinvoke_impl()), rule!("II.22.26-7e"), token);
    let is_special = row.is_special_name() || row.is_rt_special_name();
    context.require(!row.is_private_scope() || !is_special, rule!("II.22.26-7f"), token);
    context.require(!row.is_abstract() || row.is_virtual(), rule!("II.22.26-8"), token);
    context.require(!row.is_rt_special_name() || row.is_special_name(), rule!("II.22.26-9"), token);
    let needs_virtual = row.is_final() || row.is_new_slot() || row.is_strict();
    context.require(!needs_virtual || row.is_virtual(), rule!("II.22.26-23"), token);
    context.require(!(row.is_pinvoke_impl() && row.is_virtual()), rule!("II.22.26-24"), token);
}

/// Whether a method without IL needs none.
pub(crate) fn is_elsewhere(row: &MethodDef) -> bool {
    row.is_abstract() || row.is_pinvoke_impl() || row.is_runtime() || row.is_internal_call() || row.is_forward_ref()
}

/// Rules 33 to 35: IL body, runtime-provided or native.
fn check_implementation(context: &Context<'_>, token: Token, row: &MethodDef) {
    if row.rva == 0 {
        // Roslyn leaves uncalled local functions without bodies.
        let rule = if row.is_static() { rule!("II.22.26-33/clr") } else { rule!("II.22.26-33") };
        context.require(is_elsewhere(row), rule, token);
        let is_imported = context.model.imports.contains_key(&token);
        context.require(!row.is_pinvoke_impl() || is_imported, rule!("II.22.26-35"), token);
        return;
    }
    context.require(!row.is_abstract(), rule!("II.22.26-34a"), token);
    context.require(!row.is_optil(), rule!("II.22.26-34b"), token);
    if !structure::is_in_section(context, Rva(row.rva)) {
        context.report(rule!("II.22.26-34c"), token, format_args!("{:#x}", row.rva));
    }
    // Mixed-mode images have native bodies that managed callers reach through PInvoke (IJW).
    context.require(!row.is_pinvoke_impl() || !context.image.is_il_only(), rule!("II.22.26-35"), token);
}

/// Rules 7b, 7d, 15, 19 and 20: the kind of the method's owner.
fn check_owner(context: &Context<'_>, token: Token, row: &MethodDef, owner: u32) {
    let kind = context.model.kind(owner);
    // In an interface, the two make a method of another interface abstract again.
    let is_of_interface = kind == TypeKind::Interface;
    context.require(is_of_interface || !(row.is_final() && row.is_abstract()), rule!("II.22.26-7d"), token);
    let is_static_virtual = row.is_static() && row.is_virtual();
    context.require(!is_static_virtual || is_of_interface, rule!("II.22.26-7b"), token);
    context.require(!is_of_interface || context.name(row.name) != b".ctor", rule!("II.22.26-15"), token);
    if kind == TypeKind::Module && owner != 0 {
        context.require(row.is_static(), rule!("II.22.26-19a"), token);
        context.require(!(row.is_abstract() || row.is_virtual()), rule!("II.22.26-19b"), token);
        context.require(row.is_private_scope() || row.is_private() || row.is_public(), rule!("II.22.26-19d"), token);
    }
    context.require(!kind.is_value() || !row.is_synchronized(), rule!("II.22.26-20"), token);
}

/// Rules 10 and 12; rule 11 is II.22.11-5.
fn check_security(context: &Context<'_>, token: Token, row: &MethodDef, suppressing: &BTreeSet<Token>) {
    let has_security = row.has_security();
    let is_suppressing = suppressing.contains(&token);
    let is_secured = is_suppressing || context.model.security.contains_key(&token);
    context.require(!has_security || is_secured, rule!("II.22.26-10"), token);
    context.require(has_security || !is_suppressing, rule!("II.22.26-12"), token);
}

/// Rules 27 to 32.
fn check_convention(context: &Context<'_>, token: Token, row: &MethodDef, signature: &MethodSig) {
    let has = |bit: u8| signature.convention & bit != 0;
    let is_managed = matches!(signature.convention & convention::MASK, convention::DEFAULT | convention::VARARG);
    context.require(is_managed, rule!("II.22.26-27"), token);
    if !row.is_static() {
        context.require(has(convention::HAS_THIS), rule!("II.22.26-29"), token);
    } else {
        context.require(!has(convention::HAS_THIS), rule!("II.22.26-30"), token);
    }
    context.require(!has(convention::EXPLICIT_THIS) || has(convention::HAS_THIS), rule!("II.22.26-31"), token);
    context.require(!has(convention::EXPLICIT_THIS), rule!("II.22.26-32"), token);
}

/// Rules 5 and 36 to 39: constructors and initializers.
fn check_special(context: &Context<'_>, token: Token, row: &MethodDef, owner: u32, signature: &MethodSig) {
    let name = context.name(row.name);
    let returns_nothing = signature.return_type == TypeSig::Element(ElementType::Void);
    let is_special = matches!(name, b".ctor" | b".cctor");
    let is_gap = name.starts_with(b"_VtblGap");
    context.require(!row.is_rt_special_name() || is_special || is_gap, rule!("II.22.26-36"), token);
    context.require(row.is_rt_special_name() || !is_special, rule!("II.22.26-37"), token);
    if name == b".ctor" {
        context.require(signature.generic_params == 0, rule!("II.22.26-5"), token);
        context.require(returns_nothing, rule!("II.22.26-38a"), token);
        context.require(!row.is_static(), rule!("II.22.26-38b"), token);
        context.require(!(row.is_abstract() || row.is_virtual()), rule!("II.22.26-38c"), token);
        context.require(context.model.kind(owner) != TypeKind::Module, rule!("II.22.26-38e"), token);
    }
    if name == b".cctor" {
        let is_plain = returns_nothing && signature.params.is_empty() && signature.generic_params == 0;
        context.require(is_plain && row.is_static(), rule!("II.22.26-39"), token);
        context.require(!(row.is_virtual() || row.is_abstract()), rule!("II.22.26-39e"), token);
    }
}

/// Rules 21 and 40.
fn check_duplicates(context: &Context<'_>) {
    let model = context.model;
    let rows = || model.methods.iter().zip(&model.method_owners).zip(1..).map(|((row, owner), rid)| (row, *owner, rid));
    let token = |rid: u32| Token::new(Table::MethodDef, rid);
    if !context.is_uncompressed {
        let compared = rows().filter(|(row, ..)| !row.is_private_scope());
        let keys = compared.map(|(row, owner, rid)| (token(rid), (owner, context.name(row.name), context.blob(row.signature))));
        context.require_unique(rule!("II.22.26-21"), keys);
    }
    let initializers = rows().filter(|(row, ..)| context.name(row.name) == b".cctor");
    context.require_unique(rule!("II.22.26-40"), initializers.map(|(_, owner, rid)| (token(rid), owner)));
}

/// II.22.33.
fn check_params(context: &Context<'_>) {
    let model = context.model;
    let count = |owner: u32| generics::method_signature(context, Token::new(Table::MethodDef, owner)).map(|of| of.params.len());
    let mut previous = (0, None, None);
    for ((row, owner), rid) in model.params.iter().zip(&model.param_owners).zip(1..) {
        let token = Token::new(Table::Param, rid);
        context.require(*owner != 0, rule!("II.22.33-2"), token);
        context.require(row.flags & !param_attributes::ALL == 0, rule!("II.22.33-3"), token);
        let has_constant = model.constants.contains_key(&token);
        context.require(!row.has_default() || has_constant, rule!("II.22.33-6"), token);
        context.require(row.has_default() || !has_constant, rule!("II.22.33-7"), token);
        let has_marshal = model.marshals.contains_key(&token);
        context.require(row.has_field_marshal() == has_marshal, rule!("II.22.33-8"), token);
        if previous.0 != *owner {
            previous = (*owner, None, count(*owner));
        }
        if previous.2.is_some_and(|count| usize::from(row.sequence) > count) {
            context.report(rule!("II.22.33-4"), token, row.sequence);
        }
        context.require(previous.1.is_none_or(|before| before < row.sequence), rule!("II.22.33-5"), token);
        previous.1 = Some(row.sequence);
    }
}

/// II.22.27.
fn check_overrides(context: &Context<'_>) {
    let model = context.model;
    let definition = |token: Option<Token>| {
        let token = token.filter(|token| token.table() == Some(Table::MethodDef))?;
        Some((at(&model.methods, token.rid())?, at(&model.method_owners, token.rid())?))
    };
    for (token, row) in context.rows::<MethodImpl>() {
        let (body, declaration) = (row.body.token(), row.declaration.token());
        if let Some((method, _)) = definition(declaration) {
            context.require(method.is_virtual(), rule!("II.22.27-4"), token);
            context.require(!method.is_final(), rule!("II.22.27-10"), token);
        }
        if let Some((method, owner)) = definition(body) {
            context.require(method.is_virtual() || method.is_static(), rule!("II.22.27-7"), token);
            context.require(method.rva != 0, rule!("II.22.27-8"), token);
            context.require(is_own_or_inherited(context, row.class.get(), owner), rule!("II.22.27-6"), token);
        }
        let signature = |of: Option<Token>| generics::method_signature(context, of?);
        if let (Some(one), Some(other)) = (signature(body), signature(declaration)) {
            let shape = |of: &MethodSig| {
                let has_this = of.convention & convention::HAS_THIS != 0;
                (of.params.len(), of.generic_params, has_this, method_type::is_void(&of.return_type))
            };
            context.require(shape(&one) == shape(&other), rule!("II.22.27-12"), token);
        }
    }
    let keys = context.rows::<MethodImpl>().map(|(token, row)| (token, (row.class.get(), row.declaration)));
    context.require_unique(rule!("II.22.27-13"), keys);
}

/// Whether `owner` is the class or one of its bases. If a base is in another assembly, this is assumed.
fn is_own_or_inherited(context: &Context<'_>, mut class: u32, owner: u32) -> bool {
    for _ in 0..=context.model.types.len() {
        if class == owner {
            return true;
        }
        let base = at(&context.model.types, class).and_then(|row| row.extends.token());
        match base.and_then(|base| context.model.definition(context.metadata, base)) {
            Some(rid) => class = rid.get(),
            None => return false,
        }
    }
    false
}

/// II.22.22.
fn check_imports(context: &Context<'_>) {
    for (token, row) in context.rows::<ImplMap>() {
        if row.flags & !pinvoke_attributes::ALL != 0 {
            context.report(rule!("II.22.22-2"), token, format_args!("{:#x}", row.flags));
        }
        // No convention means the platform's default, as C++ emits it.
        context.require(row.call_conv() <= pinvoke_attributes::CALL_CONV_FASTCALL, rule!("II.22.22-2a"), token);
        context.require(!context.name(row.import_name).is_empty(), rule!("II.22.22-5"), token);
        let Some(forwarded) = row.member_forwarded.token() else { continue };
        context.require(forwarded.table() == Some(Table::MethodDef), rule!("II.22.22-3"), token);
        if let Some(method) = at(&context.model.methods, forwarded.rid()) {
            context.require(method.is_pinvoke_impl() && method.is_static(), rule!("II.22.22-7"), token);
        }
    }
    let keys = context.rows::<ImplMap>().map(|(token, row)| (token, row.member_forwarded));
    context.require_unique(rule!("II.22.22-a"), keys);
}
