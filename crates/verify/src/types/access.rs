//! Whether code may use what it names: visibility of types, accessibility of members (I.8.5.3).
//!
//! Types of local variables and types that are caught are not asked for, since no runtime does: neither Mono nor CoreCLR.

use ecma335::{
    OpCode, Table, Token,
    flags::{method_attributes as accessibility, type_attributes},
    schema::CustomAttribute,
};

use crate::{
    body::{Step, eval_stack::Machine},
    model::TypeKind,
    rule::rule,
    types::{
        library::Def,
        store::{Named, Type, TypeId, Types},
    },
};

/// Types are nested no deeper than this.
const MAX_NESTING: usize = 64;
/// More attributes of an assembly than this are not looked at.
const MAX_ATTRIBUTES: usize = 4096;

const FRIENDS: &str = "System.Runtime.CompilerServices.InternalsVisibleToAttribute";
const IGNORED: &str = "System.Runtime.CompilerServices.IgnoresAccessChecksToAttribute";

/// A type or member that is not for everyone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Need {
    /// What declares it.
    pub(crate) def: Def,
    pub(crate) access: u16,
    /// Whether it is used on an object.
    pub(crate) is_instance: bool,
}

/// What an assembly is known by.
struct Identity {
    name: String,
    /// Its public key in hexadecimal; empty if it has none.
    key: String,
}

impl Identity {
    /// Whether an attribute names it: keys differ only where both have one.
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

/// Whether an instruction may use what it names.
pub(crate) fn check(machine: &mut Machine<'_, '_, '_>, step: &Step, needs: &[Need]) {
    if needs.is_empty() {
        return;
    }
    let token = Token(step.operand);
    let receiver = receiver(machine, step.info.opcode, token);
    let types = machine.types();
    if needs.iter().any(|need| types.may_use(machine.user, *need, receiver) == Some(false)) {
        let context = machine.context;
        machine.doubt(rule!("I.8.5.3.2-a"), || context.full_name(token));
    }
}

/// The type of the object that a member is used on.
fn receiver(machine: &Machine<'_, '_, '_>, opcode: OpCode, token: Token) -> Option<TypeId> {
    let below = match opcode {
        OpCode::Ldfld | OpCode::Ldflda => 0,
        OpCode::Stfld => 1,
        // A new object is of the very class: that of a base class is not of the family.
        OpCode::Newobj => return Some(machine.callees.call(token)?.owner.ty),
        OpCode::Call | OpCode::Callvirt if machine.constrained.is_none() => machine.callees.call(token)?.params.len(),
        _ => return None,
    };
    let index = machine.stack.len().checked_sub(below + 1)?;
    Some(machine.stack.get(index)?.ty)
}

impl Types<'_> {
    /// Adds what is not for everyone in the module under check.
    pub(crate) fn need(&self, need: Need, found: &mut Vec<Need>) {
        let is_open = match need.access {
            accessibility::PUBLIC => true,
            accessibility::ASSEMBLY | accessibility::FAM_OR_ASSEM => self.is_friend(need.def.module),
            _ => false,
        };
        if !is_open && !found.contains(&need) {
            found.push(need);
        }
    }

    /// Adds the types that one is made of, with those around them (I.8.5.3.1).
    pub(crate) fn needs_of(&self, id: TypeId, found: &mut Vec<Need>) {
        match self.get(id) {
            Type::Named(Named::Known(def, _), arguments) => {
                self.needs_of_def(def, found);
                arguments.iter().for_each(|argument| self.needs_of(*argument, found));
            }
            Type::Array(inner, _) | Type::ByRef(inner) | Type::In(inner) | Type::Boxed(inner) => self.needs_of(inner, found),
            _ => {}
        }
    }

    fn needs_of_def(&self, mut def: Def, found: &mut Vec<Need>) {
        let Some(library) = self.scope.map(|scope| scope.library) else { return };
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
            self.need(Need { def: outer.unwrap_or(def), access, is_instance: false }, found);
            let Some(outer) = outer else { return };
            def = outer;
        }
    }

    /// Whether a type of the module under check may use something; none if only an assembly that is not there tells.
    fn may_use(&self, user: u32, need: Need, receiver: Option<TypeId>) -> Option<bool> {
        let scope = self.scope?;
        let mut user = Def { module: scope.module, rid: user };
        let is_friend = || Some(self.is_friend(need.def.module));
        match need.access {
            accessibility::PRIVATE_SCOPE => return Some(need.def.module == scope.module),
            accessibility::ASSEMBLY => return is_friend(),
            accessibility::FAM_AND_ASSEM if is_friend() == Some(false) => return Some(false),
            accessibility::FAM_OR_ASSEM if is_friend() == Some(true) => return Some(true),
            _ => {}
        }
        let mut verdict = Some(false);
        // A nested type may use what those around it may.
        for _ in 0..MAX_NESTING {
            let may = match need.access {
                accessibility::PRIVATE => Some(user == need.def),
                _ => self.is_family(user, need, receiver),
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

    /// I.8.5.3.2: a class uses what its base classes declare, on objects that are of it.
    fn is_family(&self, user: Def, need: Need, receiver: Option<TypeId>) -> Option<bool> {
        if self.scope?.library.kind(need.def) == Some(TypeKind::Interface) {
            return Some(self.implements(user.rid, need.def));
        }
        let derives = self.derives(user, need.def);
        if derives != Some(true) {
            return derives;
        }
        match receiver.filter(|_| need.is_instance).map(|ty| self.get(ty)) {
            Some(Type::ByRef(ty) | Type::ReadOnly(ty) | Type::In(ty) | Type::Boxed(ty) | Type::Uninitialized(ty)) => {
                match self.get(ty) {
                    Type::Named(Named::Known(of, _), _) => self.derives(of, user),
                    _ => Some(true),
                }
            }
            Some(Type::Named(Named::Known(of, _), _)) => self.derives(of, user),
            _ => Some(true),
        }
    }

    /// Whether a type of the module under check is an interface, or implements it: that has members for those too.
    fn implements(&self, user: u32, interface: Def) -> bool {
        if let Some(known) = self.implemented.borrow().get(&(user, interface)) {
            return *known;
        }
        let Some(scope) = self.scope else { return false };
        let def = Def { module: scope.module, rid: user };
        let is_it = |id: &TypeId| matches!(self.get(*id), Type::Named(Named::Known(def, _), _) if def == interface);
        let parents = self.parents(def);
        let mut of = parents.interfaces.iter().chain(&parents.base);
        let implements = def == interface || of.any(|id| self.interfaces(*id).iter().any(is_it));
        self.implemented.borrow_mut().insert((user, interface), implements);
        implements
    }

    /// Whether a class is another, or extends it.
    fn derives(&self, from: Def, to: Def) -> Option<bool> {
        let library = self.scope?.library;
        let bases = self.bases_of(from);
        // Frameworks may be mixed: another copy of an assembly has it too.
        let is_copy = |base: &Def| base.module != to.module && library.full_name(*base) == library.full_name(to);
        if bases.contains(&to) || bases.iter().any(is_copy) {
            return Some(true);
        }
        let root = bases.last().and_then(|last| library.row(*last));
        // A base class that is not there might extend it.
        root.is_some_and(|row| row.extends.token().is_none_or(|token| token.rid() == 0)).then_some(false)
    }

    /// Whether the module under check may use what is for another's assembly alone.
    fn is_friend(&self, module: usize) -> bool {
        if let Some(known) = self.friends.borrow().get(&module) {
            return *known;
        }
        let is_friend = self.find_friend(module).unwrap_or(true);
        self.friends.borrow_mut().insert(module, is_friend);
        is_friend
    }

    fn find_friend(&self, module: usize) -> Option<bool> {
        let scope = self.scope?;
        let (user, module) = (scope.library.manifest(scope.module), scope.library.manifest(module));
        if user == module {
            return Some(true);
        }
        // Of a module whose assembly is not there, nothing tells.
        let (own, other) = (self.identity(user)?, self.identity(module)?);
        let is_named = |module: usize, attribute: &str, wanted: &Identity| {
            self.names_in(module, attribute).iter().any(|name| wanted.is_named_by(name))
        };
        let is_same = own.name.eq_ignore_ascii_case(&other.name);
        Some(is_same || is_named(module, FRIENDS, &own) || is_named(user, IGNORED, &other))
    }

    fn identity(&self, module: usize) -> Option<Identity> {
        let metadata = self.scope?.library.metadata(module)?;
        let row = metadata.assembly()?;
        let key = metadata.blob(row.public_key).unwrap_or_default();
        let name = metadata.name(row.name).ok()?;
        Some(Identity { name, key: key.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    /// The assemblies that attributes of a module's assembly name, as they name them: `Name, PublicKey=0024...`.
    fn names_in(&self, module: usize, attribute: &str) -> Vec<String> {
        let Some(metadata) = self.scope.and_then(|scope| scope.library.metadata(module)) else { return Vec::new() };
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
}
