//! Checks whether code may use the types and members it names: visibility of types, accessibility of members (I.8.5.3).
//!
//! Types of local variables and of caught exceptions are not checked. Neither Mono nor CoreCLR checks them.

use std::{cell::RefCell, rc::Rc};

use ecma335::{
    Table, Token,
    flags::{method_attributes as accessibility, type_attributes},
    schema::CustomAttribute,
};
use foldhash::HashMap;

use crate::{
    model::TypeKind,
    types::{
        hierarchy,
        library::Def,
        store::{Named, Type, TypeId, Types},
        verdict::Verdict,
    },
};

/// The limit of nesting of types.
const MAX_NESTING: usize = 64;
/// The limit of attributes of an assembly that are read.
const MAX_ATTRIBUTES: usize = 4096;

const FRIENDS: &str = "System.Runtime.CompilerServices.InternalsVisibleToAttribute";
const IGNORED: &str = "System.Runtime.CompilerServices.IgnoresAccessChecksToAttribute";

/// A use of a type or member that is not public.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AccessRequirement {
    /// The declaring type.
    pub(crate) def: Def,
    pub(crate) access: u16,
    /// Whether the member is used on an object.
    pub(crate) is_instance: bool,
}

#[derive(Default)]
struct Cache {
    /// The requirements of a type's parts that are not public.
    of_types: RefCell<HashMap<TypeId, Rc<[AccessRequirement]>>>,
    /// The modules whose assembly is a friend, so that the module under check may use its internal members.
    friends: RefCell<HashMap<usize, bool>>,
    /// Known results of whether a type of that module implements an interface.
    implemented: RefCell<HashMap<(u32, Def), bool>>,
}

impl AccessRequirement {
    /// The requirement for a member with these flags.
    pub(crate) fn of_member(def: Def, flags: u16) -> Self {
        Self { def, access: flags & accessibility::ACCESS_MASK, is_instance: flags & accessibility::STATIC == 0 }
    }
}

/// The identity of an assembly.
struct Identity {
    name: String,
    /// The public key in hexadecimal. Empty if there is none.
    key: String,
}

impl Identity {
    /// Whether an attribute names the assembly. Keys are compared only if both have one.
    fn is_named_by(&self, text: &str) -> bool {
        let mut parts = text.split(',').map(str::trim);
        let key = |part: &str| {
            let (word, key) = part.split_once('=')?;
            word.trim().eq_ignore_ascii_case("PublicKey").then(|| key.trim().to_owned())
        };
        let is_name = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(&self.name));
        is_name && (self.key.is_empty() || parts.find_map(key).is_none_or(|key| key.eq_ignore_ascii_case(&self.key)))
    }
}

/// Adds a requirement, unless it always holds in the module under check.
pub(crate) fn require(types: &Types<'_>, need: AccessRequirement, found: &mut Vec<AccessRequirement>) {
    let is_open = match need.access {
        accessibility::PUBLIC => true,
        accessibility::ASSEMBLY | accessibility::FAM_OR_ASSEM => is_friend(types, need.def.module),
        _ => false,
    };
    if !is_open && !found.contains(&need) {
        found.push(need);
    }
}

/// Adds the requirements of a type's parts and their enclosing types (I.8.5.3.1).
pub(crate) fn require_type(types: &Types<'_>, id: TypeId, found: &mut Vec<AccessRequirement>) {
    let cache = types.cache::<Cache>();
    let known = cache.of_types.borrow().get(&id).cloned();
    let needs = known.unwrap_or_else(|| {
        let mut needs = Vec::new();
        collect(types, id, &mut needs);
        let needs: Rc<[AccessRequirement]> = needs.into();
        cache.of_types.borrow_mut().insert(id, needs.clone());
        needs
    });
    for need in needs.iter() {
        if !found.contains(need) {
            found.push(*need);
        }
    }
}

fn collect(types: &Types<'_>, id: TypeId, found: &mut Vec<AccessRequirement>) {
    match types.get(id) {
        Type::Named(Named::Known(def, _), arguments) => {
            require_definition(types, def, found);
            arguments.iter().for_each(|argument| collect(types, *argument, found));
        }
        Type::Array(inner, _) | Type::ByRef(inner) | Type::In(inner) | Type::Boxed(inner) => collect(types, inner, found),
        _ => {}
    }
}

fn require_definition(types: &Types<'_>, mut def: Def, found: &mut Vec<AccessRequirement>) {
    let Some(library) = types.scope.map(|scope| scope.library) else { return };
    for _ in 0..MAX_NESTING {
        let Some(row) = library.row(def) else { return };
        let access = match row.visibility() {
            type_attributes::NOT_PUBLIC | type_attributes::NESTED_ASSEMBLY => accessibility::ASSEMBLY,
            type_attributes::NESTED_PRIVATE => accessibility::PRIVATE,
            type_attributes::NESTED_FAMILY => accessibility::FAMILY,
            type_attributes::NESTED_FAM_AND_ASSEM => accessibility::FAM_AND_ASSEM,
            type_attributes::NESTED_FAM_OR_ASSEM => accessibility::FAM_OR_ASSEM,
            _ => accessibility::PUBLIC,
        };
        let outer = library.enclosing(def);
        require(types, AccessRequirement { def: outer.unwrap_or(def), access, is_instance: false }, found);
        let Some(outer) = outer else { return };
        def = outer;
    }
}

/// Whether a type of the module under check meets a requirement.
pub(crate) fn is_accessible(types: &Types<'_>, user: u32, need: AccessRequirement, receiver: Option<TypeId>) -> Verdict {
    let scope = types.scope?;
    let mut user = Def { module: scope.module, rid: user };
    let is_friend = || Some(is_friend(types, need.def.module));
    match need.access {
        accessibility::PRIVATE_SCOPE => return Some(need.def.module == scope.module),
        accessibility::ASSEMBLY => return is_friend(),
        accessibility::FAM_AND_ASSEM if is_friend() == Some(false) => return Some(false),
        accessibility::FAM_OR_ASSEM if is_friend() == Some(true) => return Some(true),
        _ => {}
    }
    let mut verdict = Some(false);
    // A nested type has the access of its enclosing types.
    for _ in 0..MAX_NESTING {
        let may = match need.access {
            accessibility::PRIVATE => Some(user == need.def),
            _ => is_family(types, user, need, receiver),
        };
        match may {
            Some(true) => return may,
            None => verdict = None,
            Some(false) => {}
        }
        let Some(outer) = scope.library.enclosing(user) else { break };
        user = outer;
    }
    verdict
}

/// I.8.5.3.2: a class may use family members of its base classes on objects of its own class.
fn is_family(types: &Types<'_>, user: Def, need: AccessRequirement, receiver: Option<TypeId>) -> Verdict {
    if types.scope?.library.kind(need.def) == Some(TypeKind::Interface) {
        return Some(implements(types, user.rid, need.def));
    }
    let verdict = derives(types, user, need.def);
    if verdict != Some(true) {
        return verdict;
    }
    match receiver.filter(|_| need.is_instance).map(|ty| types.get(ty)) {
        Some(Type::ByRef(ty) | Type::ReadOnly(ty) | Type::In(ty) | Type::Boxed(ty) | Type::Uninitialized(ty)) => {
            match types.get(ty) {
                Type::Named(Named::Known(of, _), _) => derives(types, of, user),
                _ => Some(true),
            }
        }
        Some(Type::Named(Named::Known(of, _), _)) => derives(types, of, user),
        _ => Some(true),
    }
}

/// Whether a type of the module under check is an interface, or implements it. Family members of an interface need that.
fn implements(types: &Types<'_>, user: u32, interface: Def) -> bool {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.implemented.borrow().get(&(user, interface)) {
        return *known;
    }
    let Some(scope) = types.scope else { return false };
    let def = Def { module: scope.module, rid: user };
    let is_it = |id: &TypeId| matches!(types.get(*id), Type::Named(Named::Known(def, _), _) if def == interface);
    let parents = hierarchy::parents(types, def);
    let mut of = parents.iter();
    let implements = def == interface || of.any(|id| hierarchy::interfaces(types, id).iter().any(is_it));
    cache.implemented.borrow_mut().insert((user, interface), implements);
    implements
}

/// Whether a class is another, or derives from it.
fn derives(types: &Types<'_>, from: Def, to: Def) -> Verdict {
    let library = types.scope?.library;
    let bases = hierarchy::base_chain(types, from);
    // Frameworks may be mixed, so another copy of the assembly counts too.
    let is_copy = |base: &Def| base.module != to.module && library.full_name(*base) == library.full_name(to);
    if bases.contains(&to) || bases.iter().any(is_copy) {
        return Some(true);
    }
    // An absent base class might derive from it.
    hierarchy::is_rooted(types, from).then_some(false)
}

/// Whether the module under check may use the internal members of another module's assembly.
fn is_friend(types: &Types<'_>, module: usize) -> bool {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.friends.borrow().get(&module) {
        return *known;
    }
    let is_friend = find_friend(types, module).unwrap_or(true);
    cache.friends.borrow_mut().insert(module, is_friend);
    is_friend
}

fn find_friend(types: &Types<'_>, module: usize) -> Verdict {
    let scope = types.scope?;
    let (user, module) = (scope.library.manifest(scope.module), scope.library.manifest(module));
    if user == module {
        return Some(true);
    }
    // Without the module's assembly, the answer is unknown.
    let (own, other) = (identity(types, user)?, identity(types, module)?);
    let is_named = |module: usize, attribute: &str, wanted: &Identity| {
        names_in(types, module, attribute).iter().any(|name| wanted.is_named_by(name))
    };
    let is_same = own.name.eq_ignore_ascii_case(&other.name);
    Some(is_same || is_named(module, FRIENDS, &own) || is_named(user, IGNORED, &other))
}

fn identity(types: &Types<'_>, module: usize) -> Option<Identity> {
    let metadata = types.scope?.library.metadata(module)?;
    let row = metadata.assembly()?;
    let key = metadata.blob(row.public_key).unwrap_or_default();
    let name = metadata.name(row.name).ok()?;
    Some(Identity { name, key: hex::encode(key) })
}

/// The assembly names in attributes of a module's assembly, as written there: `Name, PublicKey=0024...`.
fn names_in(types: &Types<'_>, module: usize, attribute: &str) -> Vec<String> {
    let Some(metadata) = types.scope.and_then(|scope| scope.library.metadata(module)) else { return Vec::new() };
    let of_assembly = |row: &CustomAttribute| row.parent.token() == Some(Token::new(Table::Assembly, 1));
    let rows = metadata.tables.rows::<CustomAttribute>().map(|(_, row)| row).filter(of_assembly).take(MAX_ATTRIBUTES);
    let named = rows.filter(|row| metadata.attribute_type_name(row).is_some_and(|name| name == attribute));
    let name = |row: CustomAttribute| {
        // A prolog of two bytes, then the string (II.23.3).
        let mut value = metadata.blobs.blob(row.value).ok()?;
        value.bytes(2).ok()?;
        let length = value.compressed_u32().ok()? as usize;
        let name = str::from_utf8(value.bytes(length).ok()?).ok()?;
        Some(name.to_owned())
    };
    named.filter_map(name).collect()
}
