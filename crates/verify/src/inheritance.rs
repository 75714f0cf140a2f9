//! What a runtime asks of a class when it loads it, of what it extends and implements (II.10.3, II.12.2): each method that
//! has to have a body has one, and nothing is overridden that may not be. What only an assembly that is not at hand tells
//! is taken to be right.

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

/// More questions than this are not asked: what is left is taken to be right.
const MAX_STEPS: usize = 20_000_000;
/// What all classes inherit, where the assembly that has it is not at hand.
const OF_OBJECT: [&[u8]; 4] = [b"Equals", b"Finalize", b"GetHashCode", b"ToString"];

pub(crate) fn check(context: &Context<'_>) {
    let types = Types::new(Some(context.own));
    let mut steps = MAX_STEPS;
    for (row, rid) in context.model.types.iter().zip(1..) {
        let def = Def { module: context.own.module, rid };
        check_parents(context, &types, def);
        let kind = context.model.kind(rid);
        // What is made elsewhere (COM, Windows Runtime) is implemented elsewhere.
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

/// II.22.37 rule 11, II.22.23: what another module has to extend and implement; that of this one is looked at by row.
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

/// A class, with what it extends.
struct Class<'t, 'l> {
    types: &'t Types<'l>,
    def: Def,
    /// The class and its base classes, as far as they are known, in the parameters of the class.
    chain: Vec<TypeId>,
    /// What the last of them has that is not known: all, what [`OF_OBJECT`] says, or nothing.
    beyond: Beyond,
}

/// What is inherited from a base class that is not at hand.
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

    /// II.10.3.3, II.15.4.2.2: what is overridden is not final, and not for more than what overrides it.
    fn check_overrides(&self, context: &Context<'_>) {
        let [own, _, ..] = &self.chain[..] else { return };
        for slot in slots::of(self.types, *own).methods.iter().filter(|slot| !slot.row.is_new_slot()) {
            let Some((module, access, is_final)) = self.overridden(slot) else { continue };
            let token = Token::new(Table::MethodDef, slot.rid);
            context.require(!is_final, rule!("II.15.4.2.2-a"), token);
            let kept = if module == self.def.module { audience(access) } else { audience(access) & !OF_ASSEMBLY };
            context.require(kept & !audience(slot.row.access()) == 0, rule!("II.10.3.3-a"), token);
        }
    }

    /// The closest method of a base class that one overrides: its module, its access, and whether it is final.
    fn overridden(&self, slot: &Slot) -> Option<(usize, u16, bool)> {
        for base in self.bases() {
            let Type::Named(Named::Known(of, _), _) = self.types.get(base) else { return None };
            let slots = slots::of(self.types, base);
            // Some may be it, where not all types are known.
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

    /// II.10.1.4: a class that is not abstract overrides each abstract method of those it extends.
    fn check_abstract(&self, context: &Context<'_>) {
        let types = self.types;
        for (number, base) in self.chain.iter().enumerate().skip(1) {
            let derived = self.chain.get(..number).unwrap_or_default();
            let slots = slots::of(types, *base);
            let is_overridden = |slot: &Slot| {
                derived.iter().map(|id| slots::of(types, *id)).any(|of| {
                    let mut matching = of.matching(types, slot);
                    // A MethodImpl may name a class that has it from its base class.
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

    /// II.12.2: a class has a method for each one of its interfaces that has no body there.
    fn check_interfaces(&self, context: &Context<'_>, steps: &mut usize) {
        let types = self.types;
        let parents = hierarchy::parents(types, self.def);
        // What a class has from one that is not abstract, that has methods for.
        let is_abstract = |id: TypeId| match types.get(id) {
            Type::Named(Named::Known(of, _), _) => context.own.library.row(of).is_some_and(|row| row.is_abstract()),
            _ => false,
        };
        let from_base = self.bases().next().filter(|base| is_abstract(*base));
        if *steps == 0 || self.beyond == Beyond::Anything || parents.interfaces().next().is_none() && from_base.is_none() {
            return;
        }
        let mut wanted = Vec::new();
        let mut seen = HashSet::default();
        for parent in parents.interfaces().chain(from_base) {
            wanted.extend(hierarchy::interfaces(types, parent).into_iter().filter(|id| seen.insert(*id)));
        }
        *steps = steps.saturating_sub(wanted.len());
        for interface in &wanted {
            let slots = slots::of(types, *interface);
            let mut missing = slots.methods.iter().filter(|slot| {
                *steps = steps.saturating_sub(self.chain.len() + wanted.len());
                *steps > 0 && slot.row.is_abstract() && !self.implements(*interface, slot, &wanted)
            });
            if let Some(slot) = missing.next() {
                self.report(context, rule!("II.12.2-a"), *interface, slot);
            }
        }
    }

    /// Whether a method may stand for one of an interface: by its name, by a MethodImpl, or by one of another interface.
    fn implements(&self, interface: TypeId, wanted: &Slot, interfaces: &[TypeId]) -> bool {
        let types = self.types;
        let of_class = self.chain.iter().map(|id| slots::of(types, *id));
        let in_class = of_class.map(|slots| {
            slots.matching(types, wanted).any(|(slot, _)| slot.row.is_public()) || slots.overrides(types, &[interface], wanted)
        });
        let of_interfaces = interfaces.iter().map(|id| slots::of(types, *id).overrides(types, &[interface], wanted));
        self.beyond == Beyond::Object && OF_OBJECT.contains(&&*wanted.name) || in_class.chain(of_interfaces).any(|is_it| is_it)
    }

    fn report(&self, context: &Context<'_>, rule: &'static Rule, of: TypeId, slot: &Slot) {
        let name = String::from_utf8_lossy(&slot.name);
        context.report(rule, type_token(self.def.rid), format_args!("{}::{name}", self.types.name(of)));
    }
}

/// Who may use what assemblies keep to themselves.
const OF_ASSEMBLY: u8 = 2;

/// Who may use a method of some accessibility, as bits.
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
