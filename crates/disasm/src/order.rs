//! Orders the heads of types so that Mono's ilasm defines one type after the other.
//!
//! It defines a type on first use: first its parent, then the type, then its interfaces. It fails if that leads back
//! to the type. If one type is defined amid the interfaces of another, the InterfaceImpl rows lose the order that
//! II.22.23 requires.

use std::collections::{BTreeSet, HashSet};

use ecma335::{
    Rid, Table, Token,
    schema::{GenericParam, GenericParamConstraint, InterfaceImpl, TypeDef, TypeSpec},
    signature::TypeSig,
};

use super::{names::Names, value_types::TypeKinds};

/// The maximum length of followed chains of parents. Real ones are short.
const MAX_DEPTH: usize = 200;
/// The maximum number of passes. Each finds the types that the heads of the preceding pass add; a few suffice.
const MAX_PASSES: usize = 8;

/// The types that must come first.
#[derive(Default)]
pub(crate) struct Order {
    /// The types whose heads must be read before all others, in this order.
    pub(crate) early: Vec<Rid<TypeDef>>,
    /// Those among them whose parents and interfaces refer back to them.
    pub(crate) circular: BTreeSet<u32>,
}

/// The types of this module that a type's head mentions, by number. Each list is indexed by the type's number less
/// one.
struct Heads {
    parents: Vec<Vec<u32>>,
    interfaces: Vec<Vec<u32>>,
    constraints: Vec<Vec<u32>>,
    outers: Vec<u32>,
}

impl Order {
    /// Finds the order. `printed` are the types in the order of their printing.
    pub(crate) fn new(names: &Names<'_, '_>, printed: &[u32]) -> Self {
        let mut heads = Heads::new(names);
        let mut circular = heads.break_circles();
        let mut early: BTreeSet<u32> = circular.iter().copied().chain(com(names)).collect();
        for _ in 0..MAX_PASSES {
            let order = heads.sorted(&early);
            early = order.iter().copied().collect();
            let mut pass = Pass::new(&heads);
            for rid in order.iter().chain(printed) {
                pass.define(*rid, 0);
            }
            let Pass { mut late, circular: mut led_back, .. } = pass;
            if late.is_subset(&early) && led_back.is_empty() {
                break;
            }
            heads.forget(&led_back);
            early.extend(&led_back);
            early.append(&mut late);
            circular.append(&mut led_back);
        }
        Self { early: heads.sorted(&early).into_iter().map(Rid::new).collect(), circular }
    }
}

/// Whether a type is a COM interface, whose order of methods matters.
pub(crate) fn is_com_interface(row: &TypeDef) -> bool {
    row.is_import() && row.is_interface()
}

/// The COM interfaces. The assembler numbers methods on first mention. It keeps their order only if they are defined
/// before all code that calls them.
fn com(names: &Names<'_, '_>) -> impl Iterator<Item = u32> {
    names.metadata.tables.rows::<TypeDef>().filter(|(_, row)| is_com_interface(row)).map(|(rid, _)| rid.get())
}

/// Simulates the assembler's definition of types.
struct Pass<'h> {
    heads: &'h Heads,
    defined: HashSet<u32>,
    /// Types whose parents are currently being defined.
    in_transit: HashSet<u32>,
    /// Types defined amid another's interfaces.
    late: BTreeSet<u32>,
    /// Types whose parents' heads refer back to them.
    circular: BTreeSet<u32>,
}

impl<'h> Pass<'h> {
    fn new(heads: &'h Heads) -> Self {
        let (defined, in_transit, late, circular) = Default::default();
        Self { heads, defined, in_transit, late, circular }
    }

    fn define(&mut self, rid: u32, depth: usize) {
        if rid == 0 || depth > MAX_DEPTH || self.defined.contains(&rid) {
            return;
        }
        if !self.in_transit.insert(rid) {
            self.circular.insert(rid);
            return;
        }
        for parent in entries(&self.heads.parents, rid) {
            self.define(*parent, depth + 1);
        }
        self.in_transit.remove(&rid);
        self.define(self.heads.outer(rid), depth + 1);
        self.defined.insert(rid);
        for interface in entries(&self.heads.interfaces, rid) {
            if !self.defined.contains(interface) {
                self.late.insert(*interface);
                self.define(*interface, depth + 1);
            }
        }
        for constraint in entries(&self.heads.constraints, rid) {
            self.define(*constraint, depth + 1);
        }
    }
}

impl Heads {
    fn new(names: &Names<'_, '_>) -> Self {
        let metadata = names.metadata;
        let outers = metadata.enclosing_types().iter().map(|outer| outer.get()).collect();
        let mut heads = Self { parents: Vec::new(), interfaces: Vec::new(), constraints: Vec::new(), outers };
        for (rid, row) in metadata.tables.rows::<TypeDef>() {
            heads.parents.push(mentions(names, row.extends.token()));
            let interfaces = names.by_parent.interfaces.children::<InterfaceImpl>(rid.get());
            let interfaces = interfaces.filter_map(|rid| metadata.row(rid).ok());
            // A type's own name among its interfaces is harmless, because it is already defined by then.
            let interfaces = interfaces.flat_map(|row| mentions(names, row.interface.token())).filter(|each| *each != rid.get());
            heads.interfaces.push(interfaces.collect());
            let params = names.by_parent.generics.children::<GenericParam>(Token::new(Table::TypeDef, rid.get()).0);
            let constraints =
                params.flat_map(|param| names.by_parent.constraints.children::<GenericParamConstraint>(param.get()));
            let constraints = constraints.filter_map(|rid| metadata.row(rid).ok());
            heads.constraints.push(constraints.flat_map(|row| mentions(names, row.constraint.token())).collect());
        }
        heads
    }

    fn outer(&self, rid: u32) -> u32 {
        self.outers.get((rid as usize).wrapping_sub(1)).copied().unwrap_or(0)
    }

    /// The types to define before a type, as far as possible.
    fn before(&self, rid: u32) -> impl Iterator<Item = u32> + '_ {
        let mentioned = entries(&self.parents, rid).iter().chain(entries(&self.interfaces, rid)).copied();
        mentioned.chain(Some(self.outer(rid)).filter(|outer| *outer != 0))
    }

    /// Drops the mentions of types whose heads refer back to them, and returns these types.
    fn break_circles(&mut self) -> BTreeSet<u32> {
        let circles = self.circles();
        let circle = |rid: u32| circles.get((rid as usize).wrapping_sub(1)).copied().unwrap_or(0);
        let mut circular = BTreeSet::new();
        for rid in 1..=self.parents.len() as u32 {
            let mentioned = entries(&self.parents, rid).iter().chain(entries(&self.interfaces, rid));
            if mentioned.into_iter().any(|each| circle(*each) == circle(rid)) {
                circular.insert(rid);
            }
        }
        self.forget(&circular);
        circular
    }

    /// Drops the mentions of these types.
    fn forget(&mut self, types: &BTreeSet<u32>) {
        for rid in types {
            for list in [&mut self.parents, &mut self.interfaces] {
                list.get_mut(*rid as usize - 1).into_iter().for_each(Vec::clear);
            }
        }
    }

    /// A number for each type, equal for types on a common cycle.
    fn circles(&self) -> Vec<u32> {
        let count = self.parents.len() as u32;
        let finished = postorder(1..=count, |rid| self.before(rid).collect());
        let mut backwards = vec![Vec::new(); count as usize];
        for rid in 1..=count {
            for before in self.before(rid) {
                if let Some(list) = backwards.get_mut(before as usize - 1) {
                    list.push(rid);
                }
            }
        }
        let mut circles = vec![0; count as usize];
        for root in finished.into_iter().rev() {
            let mut open = vec![root];
            while let Some(rid) = open.pop() {
                if let Some(circle @ 0) = circles.get_mut(rid as usize - 1) {
                    *circle = root;
                    open.extend_from_slice(entries(&backwards, rid));
                }
            }
        }
        circles
    }

    /// Types and their prerequisites, each after its own. Types with constraints come late. The assembler defines the
    /// types in the constraints amid them, and other types may need those.
    fn sorted(&self, types: &BTreeSet<u32>) -> Vec<u32> {
        let (plain, constrained): (Vec<u32>, Vec<u32>) =
            types.iter().partition(|rid| entries(&self.constraints, **rid).is_empty());
        postorder(plain.into_iter().chain(constrained), |rid| self.before(rid).collect())
    }
}

/// Each number after those it leads to, except on cycles.
fn postorder(starts: impl Iterator<Item = u32>, next: impl Fn(u32) -> Vec<u32>) -> Vec<u32> {
    let (mut seen, mut order) = (HashSet::new(), Vec::new());
    for start in starts {
        let mut open = if seen.insert(start) { vec![(start, next(start))] } else { Vec::new() };
        while let Some((rid, rest)) = open.last_mut() {
            match rest.pop() {
                Some(inner) if seen.insert(inner) => open.push((inner, next(inner))),
                Some(_) => {}
                None => {
                    order.push(*rid);
                    open.pop();
                }
            }
        }
    }
    order
}

/// The types of this module that a parent or interface mentions, including its type arguments.
fn mentions(names: &Names<'_, '_>, token: Option<Token>) -> Vec<u32> {
    let token = token.unwrap_or_default();
    let mut kinds = TypeKinds::default();
    match token.rid_in::<TypeSpec>() {
        Some(spec) => {
            let signature = names.metadata.row(spec).and_then(|row| TypeSig::parse(names.metadata.blobs.blob(row.signature)?));
            signature.iter().for_each(|signature| kinds.visit(signature));
        }
        None => drop(kinds.classes.insert(token)),
    }
    let tokens = kinds.values.iter().chain(&kinds.classes);
    let count = names.metadata.tables.count(Table::TypeDef);
    tokens.filter_map(|token| token.rid_in::<TypeDef>()).map(Rid::get).filter(|rid| (1..=count).contains(rid)).collect()
}

fn entries(lists: &[Vec<u32>], rid: u32) -> &[u32] {
    (rid as usize).checked_sub(1).and_then(|index| lists.get(index)).map_or(&[], Vec::as_slice)
}
