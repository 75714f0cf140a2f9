//! The shapes of members, independent of their names. They show whether two members are versions of one.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher as _},
};

use ecma335::{
    OpCode, Rid, Token,
    opcode::Operand,
    schema::{Field, MemberRef, MethodDef, MethodSpec, TypeDef, TypeRef},
};

use super::generated_names::{keeps_delegate, stem};
use disasm::names::Names;

/// The maximum nesting of generated owners.
const MAX_DEPTH: usize = 16;
/// The maximum number of a body's instructions in a shape.
const MOST_INSTRUCTIONS: usize = 4096;
/// The maximum number of instructions read from a module. A small file may have many methods that share a long body.
const ROOM: usize = 16 << 20;

/// The number of a module's instructions that may still be read.
pub(crate) struct Room(Cell<usize>);

impl Default for Room {
    fn default() -> Self {
        Self(Cell::new(ROOM))
    }
}

/// The shape of an item: sorted hashes of its parts.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Shape(Vec<u64>);

impl Shape {
    /// The number of hashes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The common part of two shapes, from 0 to 1. 0 if both are empty.
    pub(crate) fn likeness(&self, other: &Self) -> f64 {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut common = 0;
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            let order = one.cmp(two);
            common += usize::from(order.is_eq());
            if order.is_le() {
                left.next();
            }
            if order.is_ge() {
                right.next();
            }
        }
        let all = self.len() + other.len();
        if all == 0 { 0.0 } else { (2 * common) as f64 / all as f64 }
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn of_text(text: &str) -> Shape {
    Shape(vec![hash(text)])
}

/// The shape of a method: its instructions, each with the name it mentions, and each with its predecessor.
pub(crate) fn of_method(names: &Names<'_, '_>, rid: Rid<MethodDef>, room: &Room) -> Shape {
    let mut shape = instructions(names, rid, room);
    shape.sort_unstable();
    Shape(shape)
}

/// The shape of a type: the names of its members, and the shapes of its methods.
pub(crate) fn of_type(names: &Names<'_, '_>, rid: Rid<TypeDef>, room: &Room) -> Shape {
    let metadata = names.metadata;
    let fields = metadata.children::<_, Field>(rid).map(|field| hash(member(names, Token::from(field))));
    let mut shape: Vec<u64> = fields.collect();
    for method in metadata.children::<_, MethodDef>(rid) {
        shape.push(hash(member(names, Token::from(method))));
        shape.extend(instructions(names, method, room));
    }
    if let Ok(row) = metadata.row(rid) {
        shape.push(hash(row.extends.token().map(|token| type_name(names, token))));
    }
    shape.sort_unstable();
    Shape(shape)
}

fn instructions(names: &Names<'_, '_>, rid: Rid<MethodDef>, room: &Room) -> Vec<u64> {
    let row = names.metadata.row(rid);
    let Some(Ok(body)) = row.ok().and_then(|row| names.body(&row)) else { return Vec::new() };
    let mut shape = Vec::new();
    let mut last = 0;
    let most = room.0.get().min(MOST_INSTRUCTIONS);
    for instruction in body.instructions().map_while(Result::ok).take(most) {
        let token = instruction.token();
        let own = match instruction.info.operand {
            Operand::None | Operand::BranchS | Operand::Branch | Operand::Switch => hash(instruction.info.name),
            Operand::Method | Operand::Field => hash((instruction.info.name, member(names, token))),
            Operand::Type => hash((instruction.info.name, type_name(names, token))),
            Operand::Token => hash((instruction.info.name, type_name(names, token), member(names, token))),
            Operand::String => {
                hash((instruction.info.name, names.metadata.user_strings.user_string(token.rid()).unwrap_or_default()))
            }
            Operand::Sig => hash(instruction.info.name),
            _ => hash((instruction.info.name, instruction.value())),
        };
        shape.push(own);
        shape.push(hash((last, own)));
        last = own;
    }
    room.0.set(room.0.get() - shape.len() / 2);
    shape
}

/// A member's name without position-dependent parts. A property's field does not depend on the property's name.
fn member(names: &Names<'_, '_>, token: Token) -> String {
    let metadata = names.metadata;
    let token = token.rid_in::<MethodSpec>().and_then(|rid| metadata.row(rid).ok()?.method.token()).unwrap_or(token);
    let name = if let Some(rid) = token.rid_in::<MemberRef>() {
        metadata.row(rid).map(|row| row.name)
    } else if let Some(rid) = token.rid_in::<MethodDef>() {
        metadata.row(rid).map(|row| row.name)
    } else if let Some(rid) = token.rid_in::<Field>() {
        metadata.row(rid).map(|row| row.name)
    } else {
        return String::new();
    };
    without_shifts(name.and_then(|name| metadata.name(name)).unwrap_or_default().as_ref())
}

fn without_shifts(name: &str) -> String {
    if name.ends_with(">k__BackingField") {
        return "k__BackingField".into();
    }
    stem(name).unwrap_or_else(|| name.to_owned())
}

/// A type's name without position-dependent parts. For an instantiation, that of the generic type.
fn type_name(names: &Names<'_, '_>, token: Token) -> String {
    let name = if let Some(rid) = token.rid_in::<TypeRef>() {
        names.metadata.row(rid).map(|row| row.name)
    } else if let Some(rid) = names.own_type(token) {
        names.metadata.row(rid).map(|row| row.name)
    } else {
        return names.type_ref(token).unwrap_or_default();
    };
    without_shifts(name.and_then(|name| names.metadata.name(name)).unwrap_or_default().as_ref())
}

/// Whether a delegate is still at hand after an instruction. That of an instance method is kept in a local too.
fn keeps(opcode: OpCode) -> bool {
    use OpCode::{Dup, Newobj, Stloc, Stloc0, Stloc1, Stloc2, Stloc3, StlocS};
    matches!(opcode, Newobj | Dup | Stloc | StlocS | Stloc0 | Stloc1 | Stloc2 | Stloc3)
}

/// The methods that first mention compiler-generated items.
#[derive(Default)]
pub(crate) struct Mentions {
    /// The fields of a type that cache delegates of methods.
    pub(crate) caches: BTreeMap<(Rid<TypeDef>, Rid<MethodDef>), Rid<Field>>,
    methods: BTreeMap<Rid<MethodDef>, Rid<MethodDef>>,
    types: BTreeMap<Rid<TypeDef>, Rid<MethodDef>>,
}

impl Mentions {
    /// Reads all bodies. `is_generated` recognises compiler-generated items.
    pub(crate) fn find(
        names: &Names<'_, '_>,
        is_generated_type: impl Fn(Rid<TypeDef>) -> bool,
        is_generated_method: impl Fn(Rid<MethodDef>) -> bool,
    ) -> Self {
        let metadata = names.metadata;
        let fields = metadata.owners::<TypeDef, Field>();
        let by_name: HashMap<(Rid<TypeDef>, ecma335::schema::Str), Rid<MethodDef>> = (metadata.tables.rows::<MethodDef>())
            .filter(|(rid, _)| is_generated_method(*rid))
            .map(|(rid, row)| ((names.method_owner(rid), row.name), rid))
            .collect();
        let caches: HashMap<(Rid<TypeDef>, ecma335::schema::Str), Rid<Field>> = (metadata.tables.rows::<Field>())
            .filter(|(_, row)| metadata.name(row.name).is_ok_and(|name| keeps_delegate(&name)))
            .filter_map(|(rid, row)| Some(((fields.owner_of(rid)?, row.name), rid)))
            .collect();
        let kept: HashSet<Rid<Field>> = caches.values().copied().collect();
        let mut mentions = Self::default();
        let mut seen = HashSet::new();
        for (rid, row) in metadata.tables.rows::<MethodDef>().filter(|(_, row)| seen.insert(row.rva)) {
            let Some(Ok(body)) = names.body(&row) else { continue };
            let own_type = names.method_owner(rid);
            let mut delegate: Option<Rid<MethodDef>> = None;
            for instruction in body.instructions().map_while(Result::ok) {
                let opcode = instruction.opcode();
                let delegate_of = delegate;
                if !keeps(opcode) {
                    delegate = None;
                }
                if !matches!(instruction.info.operand, Operand::Method | Operand::Field | Operand::Type | Operand::Token) {
                    continue;
                }
                let token = instruction.token();
                let token = token.rid_in::<MethodSpec>().and_then(|rid| metadata.row(rid).ok()?.method.token()).unwrap_or(token);
                let (owner, method, field) = if let Some(method) = token.rid_in::<MethodDef>() {
                    (Some(names.method_owner(method)), Some(method), None)
                } else if let Some(field) = token.rid_in::<Field>() {
                    (fields.owner_of(field), None, Some(field))
                } else if let Some(row) = token.rid_in::<MemberRef>().and_then(|rid| metadata.row(rid).ok()) {
                    let owner = row.class.token().and_then(|class| names.own_type(class));
                    let key = owner.map(|owner| (owner, row.name));
                    (owner, key.and_then(|key| by_name.get(&key).copied()), key.and_then(|key| caches.get(&key).copied()))
                } else {
                    (names.own_type(token), None, None)
                };
                match (opcode, delegate_of, owner, field) {
                    (OpCode::Ldftn, ..) => delegate = method,
                    (OpCode::Stsfld | OpCode::Stfld, Some(of), Some(owner), Some(field)) if kept.contains(&field) => {
                        mentions.caches.entry((owner, of)).or_insert(field);
                    }
                    _ => {}
                }
                if let Some(method) = method.filter(|method| *method != rid && is_generated_method(*method)) {
                    mentions.methods.entry(method).or_insert(rid);
                }
                if let Some(owner) = owner.filter(|owner| *owner != own_type && is_generated_type(*owner)) {
                    mentions.types.entry(owner).or_insert(rid);
                }
            }
        }
        mentions
    }

    /// The source method that a type was generated from.
    pub(crate) fn owner_of_type(&self, names: &Names<'_, '_>, generated: Rid<TypeDef>) -> Option<Rid<MethodDef>> {
        self.written(names, *self.types.get(&generated)?)
    }

    /// The source method that a method was generated from.
    pub(crate) fn owner_of_method(&self, names: &Names<'_, '_>, generated: Rid<MethodDef>) -> Option<Rid<MethodDef>> {
        self.written(names, *self.methods.get(&generated)?)
    }

    fn written(&self, names: &Names<'_, '_>, mut at: Rid<MethodDef>) -> Option<Rid<MethodDef>> {
        for _ in 0..MAX_DEPTH {
            match self.methods.get(&at).or_else(|| self.types.get(&names.method_owner(at))) {
                Some(next) => at = *next,
                None => return Some(at),
            }
        }
        None
    }
}
