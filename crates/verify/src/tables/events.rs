//! Event, Property, their maps, and MethodSemantics (II.22.12, II.22.13, II.22.34, II.22.35, II.22.28).

use std::collections::BTreeMap;

use ecma335::{
    Table, Token,
    element::ElementType,
    flags::{event_attributes, method_semantics_attributes as semantics, property_attributes},
    schema::{Event, EventMap, MethodSemantics, Property, PropertyMap},
    signature::{Signature, TypeSig},
};

use crate::{
    context::Context,
    model::{TypeKind, at},
    rule::rule,
    signatures::{self, Place},
    tables::generics,
};

const OF_PROPERTY: [u16; 3] = [semantics::SETTER, semantics::GETTER, semantics::OTHER];
const OF_EVENT: [u16; 4] = [semantics::OTHER, semantics::ADD_ON, semantics::REMOVE_ON, semantics::FIRE];

pub(crate) fn check(context: &Context<'_>) {
    check_maps(context);
    let parts = check_semantics(context);
    check_events(context, &parts);
    check_properties(context);
}

fn check_maps(context: &Context<'_>) {
    let rows = || context.rows::<EventMap>();
    context.require_unique(rule!("II.22.12-2"), rows().map(|(token, row)| (token, row.parent.get())));
    context.require_unique(rule!("II.22.12-3"), rows().map(|(token, row)| (token, row.event_list.get())));
    let rows = || context.rows::<PropertyMap>();
    context.require_unique(rule!("II.22.35-2"), rows().map(|(token, row)| (token, row.parent.get())));
    context.require_unique(rule!("II.22.35-3"), rows().map(|(token, row)| (token, row.property_list.get())));
}

/// II.22.28. Returns the semantics of each event's methods.
fn check_semantics(context: &Context<'_>) -> BTreeMap<Token, Vec<u16>> {
    let model = context.model;
    let mut parts: BTreeMap<Token, Vec<u16>> = BTreeMap::new();
    for (token, row) in context.rows::<MethodSemantics>() {
        if row.semantics & !semantics::ALL != 0 {
            context.report(rule!("II.22.28-2"), token, format_args!("{:#x}", row.semantics));
        }
        let Some(association) = row.association.token() else { continue };
        let is_event = association.table() == Some(Table::Event);
        let (owners, known): (_, &[u16]) =
            if is_event { (&model.event_owners, &OF_EVENT) } else { (&model.property_owners, &OF_PROPERTY) };
        context.require(known.contains(&row.semantics), rule!("II.22.28-5"), token);
        let owner = at(owners, association.rid());
        let of_method = at(&model.method_owners, row.method.get());
        context.require(owner.is_none() || of_method.is_none() || owner == of_method, rule!("II.22.28-3"), token);
        if is_event {
            parts.entry(association).or_default().push(row.semantics);
            if (row.is_add_on() || row.is_remove_on()) && context.wants(rule!("II.22.28-6")) {
                let method = Token::new(Table::MethodDef, row.method.get());
                let is_well = generics::method_signature(context, method)
                    .is_none_or(|of| of.params.len() == 1 && of.return_type == TypeSig::Element(ElementType::Void));
                context.require(is_well, rule!("II.22.28-6"), token);
            }
        }
    }
    parts
}

fn check_events(context: &Context<'_>, parts: &BTreeMap<Token, Vec<u16>>) {
    let owner = |token: Token| at(&context.model.event_owners, token.rid()).unwrap_or(0);
    for (token, row) in context.rows::<Event>() {
        context.require(owner(token) != 0, rule!("II.22.13-2"), token);
        if row.flags & !event_attributes::ALL != 0 {
            context.report(rule!("II.22.13-3"), token, format_args!("{:#x}", row.flags));
        }
        context.require(!context.name(row.name).is_empty(), rule!("II.22.13-4"), token);
        let definition = row.event_type.token().and_then(|of| context.model.definition(context.metadata, of));
        let is_class = definition
            .is_none_or(|rid| !matches!(context.model.kind(rid.get()), TypeKind::Interface | TypeKind::Value | TypeKind::Enum));
        context.require(is_class, rule!("II.22.13-8"), token);
        let count = |part: u16| parts.get(&token).map_or(0, |parts| parts.iter().filter(|each| **each == part).count());
        let has_both = count(semantics::ADD_ON) == 1 && count(semantics::REMOVE_ON) == 1;
        context.require(has_both, rule!("II.22.13-9"), token);
        context.require(count(semantics::FIRE) <= 1, rule!("II.22.13-10"), token);
    }
    if !context.is_uncompressed {
        let keys = context.rows::<Event>().map(|(token, row)| (token, (owner(token), context.name(row.name))));
        context.require_unique(rule!("II.22.13-11"), keys);
    }
}

fn check_properties(context: &Context<'_>) {
    let owner = |token: Token| at(&context.model.property_owners, token.rid()).unwrap_or(0);
    for (token, row) in context.rows::<Property>() {
        context.require(owner(token) != 0, rule!("II.22.34-2"), token);
        if row.flags & !property_attributes::ALL != 0 {
            context.report(rule!("II.22.34-3"), token, format_args!("{:#x}", row.flags));
        }
        context.require(!context.name(row.name).is_empty(), rule!("II.22.34-4"), token);
        let checked = match signatures::parse(context, row.signature) {
            Ok(Signature::Property(signature)) => {
                let types = signature.params.iter().chain([&signature.property_type]);
                types
                    .map(|each| signatures::check_type(context, token, each, Place::Param))
                    .find(Result::is_err)
                    .unwrap_or(Ok(()))
            }
            Ok(_) => Err("it is of another kind".into()),
            Err(error) => Err(error),
        };
        if let Err(error) = checked {
            context.report(rule!("II.22.34-7"), token, error);
        }
    }
    if !context.is_uncompressed {
        let keys = context.rows::<Property>();
        let keys = keys.map(|(token, row)| (token, (owner(token), context.name(row.name), context.blob(row.signature))));
        context.require_unique(rule!("II.22.34-8"), keys);
    }
}
