//! Finds the differences that a compiler would notice. Programs that use the old module may not build with the new
//! one, or may behave differently.

use std::collections::{BTreeMap, BTreeSet};

use ecma335::{
    Result, Rid, Token,
    schema::{self, Field, GenericParam, GenericParamConstraint, InterfaceImpl, MethodDef, Param, TypeDef},
    signature::Signature,
};

use super::{Ignore, Side, model::Kind};
use disasm::{generics, names::Names, quote, values};

/// The effect of a difference on users of the module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// A use of the old module no longer works, or has another meaning.
    Breaking,
    /// The new module allows more uses.
    Additive,
}

impl Effect {
    /// The effect's name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Additive => "additive",
        }
    }
}

/// A difference that a compiler would notice.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ApiChange {
    /// The effect on users.
    pub effect: Effect,
    /// The kind of item: a type, a method or a field.
    pub kind: Kind,
    /// The item's name.
    pub name: String,
    /// A description of the difference.
    pub what: String,
}

/// Compares the public surfaces of both modules. Breaking changes come first.
///
/// # Errors
/// If the public surface of one cannot be read.
pub fn compare(old: &Side<'_, '_>, new: &Side<'_, '_>, ignored: &[Ignore]) -> Result<Vec<ApiChange>> {
    old.ignore(ignored);
    new.ignore(ignored);
    let (old, new) = (items(&old.names)?, items(&new.names)?);
    let mut changes = Vec::new();
    for (key, old_item) in &old {
        let Some(new_item) = new.get(key) else {
            // The removal of a type implies that of its members.
            if old_item.owner.as_ref().is_none_or(|owner| new.contains_key(owner)) {
                changes.push(old_item.change(Effect::Breaking, "removed".into()));
            }
            continue;
        };
        old_item.changes(new_item, &mut changes);
    }
    for item in new.iter().filter(|(key, _)| !old.contains_key(*key)).map(|(_, item)| item) {
        let owner = item.owner.as_ref().and_then(|owner| old.get(owner));
        if item.owner.is_some() && owner.is_none() {
            continue;
        }
        let must_be_implemented = owner.is_some() && item.facts.contains("abstract");
        let (effect, what) = match must_be_implemented {
            true => (Effect::Breaking, "added, and who derives has to implement it"),
            false => (Effect::Additive, "added"),
        };
        changes.push(item.change(effect, what.into()));
    }
    changes.sort();
    Ok(changes)
}

/// A type, a method or a field that is visible outside of the assembly.
struct Item {
    kind: Kind,
    name: String,
    /// The key of the enclosing type.
    owner: Option<String>,
    is_public: bool,
    facts: BTreeSet<&'static str>,
    /// The field's type, the return type, or the base type.
    of: String,
    implements: BTreeSet<String>,
    /// The name and other properties of each parameter, in order, including generic ones.
    params: Vec<(String, String)>,
    value: String,
}

/// The effects of gaining and of losing a property.
const FACTS: [(&str, Effect, Effect); 7] = [
    ("static", Effect::Breaking, Effect::Breaking),
    ("abstract", Effect::Breaking, Effect::Additive),
    ("sealed", Effect::Breaking, Effect::Additive),
    ("virtual", Effect::Additive, Effect::Breaking),
    ("readonly", Effect::Breaking, Effect::Additive),
    ("const", Effect::Breaking, Effect::Breaking),
    ("interface", Effect::Breaking, Effect::Breaking),
];

impl Item {
    fn change(&self, effect: Effect, what: String) -> ApiChange {
        ApiChange { effect, kind: self.kind, name: self.name.clone(), what }
    }

    fn changes(&self, new: &Self, changes: &mut Vec<ApiChange>) {
        let mut add = |effect, what| changes.push(self.change(effect, what));
        match (self.is_public, new.is_public) {
            (true, false) => add(Effect::Breaking, "protected, was public".into()),
            (false, true) => add(Effect::Additive, "public, was protected".into()),
            _ => {}
        }
        for (fact, gained, lost) in FACTS {
            match (self.facts.contains(fact), new.facts.contains(fact)) {
                (false, true) => add(gained, format!("{fact} now")),
                (true, false) => add(lost, format!("no longer {fact}")),
                _ => {}
            }
        }
        if self.of != new.of {
            let word = match self.kind {
                Kind::Type => "extends",
                Kind::Method => "returns",
                _ => "of type",
            };
            add(Effect::Breaking, format!("{word} {}, was {}", new.of, self.of));
        }
        for gone in self.implements.difference(&new.implements) {
            add(Effect::Breaking, format!("no longer implements {gone}"));
        }
        for more in new.implements.difference(&self.implements) {
            let effect = if new.facts.contains("interface") { Effect::Breaking } else { Effect::Additive };
            add(effect, format!("implements {more}"));
        }
        for ((old_name, old), (new_name, new)) in self.params.iter().zip(&new.params) {
            if old_name != new_name {
                add(Effect::Breaking, format!("parameter {new_name}, was {old_name}"));
            }
            if old != new {
                let effect = if old.is_empty() && new.starts_with('=') { Effect::Additive } else { Effect::Breaking };
                add(effect, format!("parameter {new_name}: {}, was {}", or_nothing(new), or_nothing(old)));
            }
        }
        if self.value != new.value {
            add(Effect::Breaking, format!("{}, was {}", or_nothing(&new.value), or_nothing(&self.value)));
        }
    }
}

fn or_nothing(text: &str) -> &str {
    if text.is_empty() { "nothing" } else { text.trim_start_matches("= ") }
}

/// All visible items, by their keys.
fn items(names: &Names<'_, '_>) -> Result<BTreeMap<String, Item>> {
    let metadata = names.metadata;
    let mut items = BTreeMap::new();
    for (rid, _) in metadata.tables.rows::<TypeDef>() {
        let mut is_public = true;
        let is_visible = names.around(rid).into_iter().chain([rid]).all(|each| {
            let flags = metadata.row(each).map_or(0, |row: TypeDef| row.flags) & VISIBILITY;
            is_public &= flags == PUBLIC || flags == NESTED_PUBLIC;
            [PUBLIC, NESTED_PUBLIC, NESTED_FAMILY, NESTED_FAMILY_OR_ASSEMBLY].contains(&flags)
        });
        if !is_visible || names.is_module_type(rid) {
            continue;
        }
        let key = names.type_ref(Token::from(rid))?;
        items.insert(key.clone(), type_item(names, rid, &key, is_public)?);
        for method in metadata.children::<_, MethodDef>(rid) {
            items.extend(method_item(names, method, &key)?);
        }
        for field in metadata.children::<_, Field>(rid) {
            items.extend(field_item(names, field, &key)?);
        }
    }
    Ok(items)
}

/// The mask for the flags of types (II.23.1.15) and members (II.23.1.5, II.23.1.10).
const VISIBILITY: u32 = 7;
const PUBLIC: u32 = 1;
const NESTED_PUBLIC: u32 = 2;
const NESTED_FAMILY: u32 = 4;
const NESTED_FAMILY_OR_ASSEMBLY: u32 = 7;
const INTERFACE: u32 = 0x20;
const ABSTRACT: u32 = 0x80;
const SEALED: u32 = 0x100;
const ACCESS: u16 = 7;
const FAMILY: u16 = 4;
const FAMILY_OR_ASSEMBLY: u16 = 5;
const PUBLIC_MEMBER: u16 = 6;
const STATIC: u16 = 0x10;
const FINAL: u16 = 0x20;
const VIRTUAL: u16 = 0x40;
const ABSTRACT_METHOD: u16 = 0x400;
const INIT_ONLY: u16 = 0x20;
const LITERAL: u16 = 0x40;

fn facts(all: &[(&'static str, bool)]) -> BTreeSet<&'static str> {
    all.iter().filter(|(_, holds)| *holds).map(|(fact, _)| *fact).collect()
}

fn type_item(names: &Names<'_, '_>, rid: Rid<TypeDef>, key: &str, is_public: bool) -> Result<Item> {
    let row = names.metadata.row(rid)?;
    let has = |flag: u32| row.flags & flag != 0;
    let extends = row.extends.token().filter(|token| token.rid() != 0);
    let interfaces = names.by_parent.interfaces.children::<InterfaceImpl>(rid.get());
    let interfaces = interfaces.filter_map(|rid| names.metadata.row(rid).ok()?.interface.token());
    let is_static = has(ABSTRACT) && has(SEALED);
    Ok(Item {
        kind: Kind::Type,
        name: key.to_owned(),
        owner: None,
        is_public,
        facts: facts(&[
            ("static", is_static),
            ("interface", has(INTERFACE)),
            ("abstract", has(ABSTRACT) && !is_static && !has(INTERFACE)),
            ("sealed", has(SEALED) && !is_static),
        ]),
        of: extends.map_or(Ok("nothing".into()), |token| names.type_ref(token))?,
        implements: interfaces.map(|token| names.type_ref(token)).collect::<Result<_>>()?,
        params: generic_params(names, Token::from(rid)),
        value: String::new(),
    })
}

/// The properties of generic parameters. Their names do not matter.
fn generic_params(names: &Names<'_, '_>, owner: Token) -> Vec<(String, String)> {
    let params = names.by_parent.generics.children::<GenericParam>(owner.0).enumerate();
    let text = |(number, rid): (usize, Rid<GenericParam>)| {
        let flags = names.metadata.row(rid).map_or(0, |row| row.flags);
        let constraints = names.by_parent.constraints.children::<GenericParamConstraint>(rid.get());
        let mut constraints: Vec<String> =
            constraints.filter_map(|rid| names.type_ref(names.metadata.row(rid).ok()?.constraint.token()?).ok()).collect();
        constraints.sort();
        (format!("!{number}"), format!("{}{}", generics::words(flags), constraints.join(", ")))
    };
    params.map(text).collect()
}

fn is_seen(flags: u16) -> bool {
    [FAMILY, FAMILY_OR_ASSEMBLY, PUBLIC_MEMBER].contains(&(flags & ACCESS))
}

fn method_item(names: &Names<'_, '_>, rid: Rid<MethodDef>, owner: &str) -> Result<Option<(String, Item)>> {
    let row = names.metadata.row(rid)?;
    if !is_seen(row.flags) {
        return Ok(None);
    }
    let (name, signature) = names.method_signature(Token::from(rid))?;
    let shown = format!("{owner}::{}{}", quote::method(&name), signature.display_params(names));
    let has = |flag: u16| row.flags & flag != 0;
    let rows: BTreeMap<u16, (Rid<Param>, Param)> = (names.metadata.children::<_, Param>(rid))
        .filter_map(|rid| names.metadata.row(rid).ok().map(|row| (row.sequence, (rid, row))))
        .collect();
    let mut params = generic_params(names, Token::from(rid));
    for number in 1..=signature.params.len() {
        let param = u16::try_from(number).ok().and_then(|number| rows.get(&number));
        let Some((rid, row)) = param else { continue };
        let constant = names.by_parent.constants.first(names.metadata, Token::from(*rid).0);
        let constant = constant.and_then(|row| values::constant(names, &row).ok());
        let optional = row.flags & 0x10 != 0;
        let words = match constant {
            Some(value) => format!("= {value}"),
            None if optional => "= default".into(),
            None if row.flags & 3 != 0 => ["", "in", "out", "in out"][usize::from(row.flags & 3)].to_owned(),
            None => String::new(),
        };
        params.push((names.metadata.name(row.name)?, words));
    }
    let is_operator = name.starts_with("op_");
    let item = Item {
        kind: Kind::Method,
        name: shown.clone(),
        owner: Some(owner.to_owned()),
        is_public: row.flags & ACCESS == PUBLIC_MEMBER,
        facts: facts(&[("static", has(STATIC)), ("abstract", has(ABSTRACT_METHOD)), ("virtual", has(VIRTUAL) && !has(FINAL))]),
        of: names.type_text(&signature.return_type),
        implements: BTreeSet::new(),
        params,
        value: String::new(),
    };
    // Conversions may differ only in their return type.
    let generic_params = signature.generic_params;
    let key = if is_operator { format!("{shown} {}", item.of) } else { format!("{shown} {generic_params}") };
    Ok(Some((key, item)))
}

fn field_item(names: &Names<'_, '_>, rid: Rid<Field>, owner: &str) -> Result<Option<(String, Item)>> {
    let row = names.metadata.row(rid)?;
    if !is_seen(row.flags) {
        return Ok(None);
    }
    let Signature::Field(signature) = Signature::parse(names.metadata.blobs.blob(row.signature)?)? else { return Ok(None) };
    let name = format!("{owner}::{}", quote::name(&names.metadata.name(row.name)?));
    let has = |flag: u16| row.flags & flag != 0;
    let constant = names.by_parent.constants.first::<schema::Constant>(names.metadata, Token::from(rid).0);
    let item = Item {
        kind: Kind::Field,
        name: name.clone(),
        owner: Some(owner.to_owned()),
        is_public: row.flags & ACCESS == PUBLIC_MEMBER,
        facts: facts(&[("static", has(STATIC)), ("readonly", has(INIT_ONLY)), ("const", has(LITERAL))]),
        of: names.type_text(&signature),
        implements: BTreeSet::new(),
        params: Vec::new(),
        value: constant.map(|row| values::constant(names, &row)).transpose()?.unwrap_or_default(),
    };
    Ok(Some((name, item)))
}
