//! Checks of a class against its base types and interfaces, as a runtime makes them at load time (II.10.3, II.12.2). Each
//! method that needs a body has one, and overrides are permitted. Facts that only an absent assembly tells are assumed to
//! be right.

use ecma335::{Table, Token, flags::method_attributes as accessibility};
use foldhash::HashSet;

use crate::{
    context::Context,
    model::{TypeKind, type_token},
    rule::{Rule, rule},
    types::{
        hierarchy,
        library::Def,
        resolve,
        slots::{self, Slot},
        store::{Named, Type, TypeId, Types},
    },
};

/// The limit on questions per assembly. Beyond it, all is assumed to be right.
const MAX_STEPS: usize = 20_000_000;
/// The virtual methods that every class inherits, for use when the assembly of `Object` is absent.
const OF_OBJECT: [&[u8]; 4] = [b"Equals", b"Finalize", b"GetHashCode", b"ToString"];

pub(crate) fn check(context: &Context<'_>) {
    let types = Types::new(Some(context.own));
    let mut steps = MAX_STEPS;
    for (row, rid) in context.model.types.iter().zip(1..) {
        let def = Def { module: context.own.module, rid };
        check_parents(context, &types, def);
        let kind = context.model.kind(rid);
        // COM and Windows Runtime classes are implemented elsewhere.
        if !matches!(kind, TypeKind::Class | TypeKind::Value) || row.is_import() || row.is_windows_runtime() {
            continue;
        }
        let class = Class::new(&types, def);
        class.check_overrides(context);
        if !row.is_abstract() {
            class.check_abstract(context);
            class.check_interfaces(context, &mut steps);
        }
    }
}

/// II.22.37 rule 11, II.22.23: the base types and interfaces of another module. Those of this module are checked by row.
fn check_parents(context: &Context<'_>, types: &Types<'_>, def: Def) {
    let token = type_token(def.rid);
    let parents = hierarchy::parents(types, def);
    let library = context.own.library;
    let report = |rule: &'static Rule, id: TypeId| context.report(rule, token, types.name(id));
    if let Some(base) = parents.base() {
        let is_well = match types.get(base) {
            Type::Named(Named::Known(of, kind), _) if of.module != def.module => {
                let is_sealed = library.row(of).is_some_and(|row| row.is_sealed());
                matches!(kind, TypeKind::Class | TypeKind::Delegate) && !is_sealed
            }
            Type::Named(..) | Type::Unknown => true,
            _ => false,
        };
        if !is_well {
            report(rule!("II.22.37-11"), base);
        }
    }
    let mut seen = HashSet::default();
    for interface in parents.interfaces() {
        if interface != TypeId::UNKNOWN && !seen.insert(interface) {
            report(rule!("II.22.23-4"), interface);
        }
        if let Type::Named(Named::Known(of, kind), _) = types.get(interface)
            && of.module != def.module
            && kind != TypeKind::Interface
        {
            report(rule!("II.22.23-3c"), interface);
        }
    }
}

/// A class with its base classes.
struct Class<'t, 'l> {
    types: &'t Types<'l>,
    def: Def,
    /// The class and its known base classes, in the class's generic parameters.
    chain: Vec<TypeId>,
    /// The inherited methods that the chain's unknown rest may have: any, those of [`OF_OBJECT`], or none.
    beyond: Beyond,
}

/// The members inherited from an absent base class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beyond {
    Anything,
    Object,
    Nothing,
}

impl<'t, 'l> Class<'t, 'l> {
    fn new(types: &'t Types<'l>, def: Def) -> Self {
        let own = resolve::typical_instantiation(types, def.rid);
        let mut chain: Vec<TypeId> = std::iter::successors(Some(own), |id| hierarchy::base(types, *id)).take(256).collect();
        let beyond = match chain.last().map(|last| types.get(*last)) {
            Some(Type::Named(Named::Known(of, _), _)) if hierarchy::is_rooted(types, of) => Beyond::Nothing,
            Some(Type::Named(Named::Missing(name), _)) => {
                chain.pop();
                let is_plain = matches!(&*name, "System.Object" | "System.ValueType");
                if is_plain { Beyond::Object } else { Beyond::Anything }
            }
            _ => Beyond::Anything,
        };
        Self { types, def, chain, beyond }
    }

    fn bases(&self) -> impl Iterator<Item = TypeId> {
        self.chain.iter().skip(1).copied()
    }

    /// II.10.3.3, II.15.4.2.2: an overridden method is not final, and its access is not wider than the override's.
    fn check_overrides(&self, context: &Context<'_>) {
        let [own, _, ..] = &self.chain[..] else { return };
        for slot in slots::slots_of(self.types, *own).methods.iter().filter(|slot| !slot.row.is_new_slot()) {
            let Some((module, access, is_final)) = self.overridden(slot) else { continue };
            let token = Token::new(Table::MethodDef, slot.rid);
            context.require(!is_final, rule!("II.15.4.2.2-a"), token);
            let kept = if module == self.def.module { audience(access) } else { audience(access) & !OF_ASSEMBLY };
            context.require(kept & !audience(slot.row.access()) == 0, rule!("II.10.3.3-a"), token);
        }
    }

    /// The closest base class method that a method overrides: its module, its access, and whether it is final.
    fn overridden(&self, slot: &Slot) -> Option<(usize, u16, bool)> {
        for base in self.bases() {
            let Type::Named(Named::Known(of, _), _) = self.types.get(base) else { return None };
            let slots = slots::slots_of(self.types, base);
            // Several methods may match if some types are unknown.
            let Some((found, verdict)) = slots.matching(self.types, slot).next() else { continue };
            let access = found.row.access();
            let is_own = of.module == self.def.module;
            let is_hidden = match access {
                accessibility::PRIVATE_SCOPE | accessibility::PRIVATE => true,
                accessibility::ASSEMBLY | accessibility::FAM_AND_ASSEM => !is_own,
                _ => false,
            };
            return (verdict == Some(true) && !is_hidden).then(|| (of.module, access, found.row.is_final()));
        }
        None
    }

    /// II.10.1.4: a class that is not abstract overrides each abstract method of its base classes.
    fn check_abstract(&self, context: &Context<'_>) {
        let types = self.types;
        for (number, base) in self.chain.iter().enumerate().skip(1) {
            let derived = self.chain.get(..number).unwrap_or_default();
            let slots = slots::slots_of(types, *base);
            let is_overridden = |slot: &Slot| {
                derived.iter().map(|id| slots::slots_of(types, *id)).any(|of| {
                    let mut matching = of.matching(types, slot);
                    // A MethodImpl may name a class that inherits the method.
                    let owners = self.chain.get(..=number).unwrap_or_default();
                    matching.any(|(found, _)| !found.row.is_new_slot()) || of.overrides(types, owners, slot)
                })
            };
            let mut missing = slots.methods.iter().filter(|slot| slot.row.is_abstract()).filter(|slot| !is_overridden(slot));
            if let Some(slot) = missing.next() {
                self.report(context, rule!("II.10.1.4-a"), *base, slot);
            }
        }
    }

    /// II.12.2: a class has a method for each interface method without a body.
    fn check_interfaces(&self, context: &Context<'_>, steps: &mut usize) {
        let types = self.types;
        let parents = hierarchy::parents(types, self.def);
        // A base class that is not abstract implements its own interfaces.
        let is_abstract = |id: TypeId| match types.get(id) {
            Type::Named(Named::Known(of, _), _) => context.own.library.row(of).is_some_and(|row| row.is_abstract()),
            _ => false,
        };
        let from_base = self.bases().next().filter(|base| is_abstract(*base));
        if *steps == 0 || self.beyond == Beyond::Anything || parents.interfaces().next().is_none() && from_base.is_none() {
            return;
        }
        // A default body may come from any of them.
        let all = self.chain.first().map_or_else(Vec::new, |own| hierarchy::interfaces(types, *own));
        let mut wanted = Vec::new();
        let mut seen = HashSet::default();
        for parent in parents.interfaces().chain(from_base) {
            wanted.extend(hierarchy::interfaces(types, parent).into_iter().filter(|id| seen.insert(*id)));
        }
        *steps = steps.saturating_sub(wanted.len());
        for interface in &wanted {
            let slots = slots::slots_of(types, *interface);
            let mut missing = slots.methods.iter().chain(&slots.statics).filter(|slot| {
                *steps = steps.saturating_sub(self.chain.len() + all.len());
                // A final one makes a method of another interface abstract again.
                *steps > 0 && slot.row.is_abstract() && !slot.row.is_final() && !self.implements(*interface, slot, &all)
            });
            if let Some(slot) = missing.next() {
                self.report(context, rule!("II.12.2-a"), *interface, slot);
            }
        }
    }

    /// Whether a method may implement one of an interface: by name, by a MethodImpl, or through another interface's
    /// MethodImpl.
    fn implements(&self, interface: TypeId, wanted: &Slot, interfaces: &[TypeId]) -> bool {
        let types = self.types;
        let of_class = self.chain.iter().map(|id| slots::slots_of(types, *id));
        let in_class = of_class.map(|slots| {
            // A static method implements another by a MethodImpl alone.
            let by_name = !wanted.row.is_static() && slots.matching(types, wanted).any(|(slot, _)| slot.row.is_public());
            by_name || slots.overrides(types, &[interface], wanted)
        });
        let of_interfaces = interfaces.iter().map(|id| slots::slots_of(types, *id).overrides(types, &[interface], wanted));
        self.beyond == Beyond::Object && OF_OBJECT.contains(&&*wanted.name) || in_class.chain(of_interfaces).any(|is_it| is_it)
    }

    fn report(&self, context: &Context<'_>, rule: &'static Rule, of: TypeId, slot: &Slot) {
        let name = String::from_utf8_lossy(&slot.name);
        context.report(rule, type_token(self.def.rid), format_args!("{}::{name}", self.types.name(of)));
    }
}

/// The bit for users in the same assembly.
const OF_ASSEMBLY: u8 = 2;

/// The users that may access a method of some accessibility, as bits.
fn audience(access: u16) -> u8 {
    match access {
        accessibility::FAM_AND_ASSEM => 1,
        accessibility::ASSEMBLY => 1 | OF_ASSEMBLY,
        accessibility::FAMILY => 1 | 4,
        accessibility::FAM_OR_ASSEM => 1 | OF_ASSEMBLY | 4,
        accessibility::PUBLIC => 1 | OF_ASSEMBLY | 4 | 8,
        _ => 0,
    }
}
