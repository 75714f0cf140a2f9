//! The tree: nested types, members in their types, and compiler-generated items under the methods they come from.

use std::collections::{BTreeMap, BTreeSet};

use ecma335::{
    Rid, Table, Token,
    schema::{MethodDef, TypeDef},
};

use super::{
    decisions::Decisions,
    module::{Method, Module},
    options::Sort,
    outline::Node,
    structure::{Feature, Structure},
};

/// Types nested deeper than this are shown at the top level.
const MAX_DEPTH: usize = 64;

pub(crate) struct Tree<'t, 'a, 'm> {
    sort: Sort,
    /// Whether to show the sizes of IL, in bytes.
    il_size: bool,
    module: &'t Module<'a, 'm>,
    decisions: &'t Decisions,
    structure: &'t Structure,
    /// Nested types, except those that belong to methods.
    nested: BTreeMap<Rid<TypeDef>, Vec<Rid<TypeDef>>>,
    /// The types that belong to methods.
    machines: BTreeMap<Rid<MethodDef>, Vec<Rid<TypeDef>>>,
    parts: BTreeMap<Rid<MethodDef>, Vec<Rid<MethodDef>>>,
    seen: BTreeSet<Rid<TypeDef>>,
}

impl<'t, 'a, 'm> Tree<'t, 'a, 'm> {
    /// Prepares the tree of types with their methods. Shows the sizes of IL if `il_size`.
    pub(crate) fn new(
        (sort, il_size): (Sort, bool),
        module: &'t Module<'a, 'm>,
        decisions: &'t Decisions,
        structure: &'t Structure,
    ) -> Self {
        let mut nested: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let owners = &structure.owners;
        for (rid, outer) in (1..).map(Rid::<TypeDef>::new).zip(&structure.enclosing) {
            if !outer.is_none() && !owners.types.contains_key(&rid) {
                nested.entry(*outer).or_default().push(rid);
            }
        }
        let seen = BTreeSet::new();
        let (machines, parts) = (turned(&owners.types), turned(&owners.methods));
        Self { sort, il_size, module, decisions, structure, nested, machines, parts, seen }
    }

    /// All types. Those that the outermost types do not lead to are shown at the top level.
    pub(crate) fn nodes(&mut self) -> Vec<Node> {
        let mut nodes = Vec::new();
        let all = || (1..).map(Rid::<TypeDef>::new).zip(&self.structure.enclosing);
        let roots = all().filter(|(rid, outer)| outer.is_none() && !self.structure.owners.types.contains_key(rid));
        let order: Vec<Rid<TypeDef>> = roots.chain(all()).map(|(rid, _)| rid).collect();
        for rid in order {
            nodes.extend(self.type_node(rid, 0));
        }
        self.sort.apply(&mut nodes, |node| (&node.name, node.size));
        nodes
    }

    fn type_node(&mut self, rid: Rid<TypeDef>, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH || !self.seen.insert(rid) {
            return None;
        }
        let name = self.module.type_name_of(rid);
        let mut children = self.members(rid, depth);
        for inner in self.nested.get(&rid).cloned().unwrap_or_default() {
            children.extend(self.type_node(inner, depth + 1));
        }
        self.sort.apply(&mut children, |node| (&node.name, node.size));
        let size = children.iter().map(|child| child.size).sum();
        let sizes = if self.il_size { format!("  {size} bytes of IL") } else { String::new() };
        Some(Node { line: format!("{name}  {}{sizes}", Token::new(Table::TypeDef, rid.get())), name, size, children })
    }

    /// The methods of a type. Properties and events stand at the position of their first accessor.
    fn members(&mut self, rid: Rid<TypeDef>, depth: usize) -> Vec<Node> {
        let structure = self.structure;
        let features = structure.features.get(&rid).map(Vec::as_slice).unwrap_or_default();
        let mut shown = BTreeSet::new();
        let mut nodes = Vec::new();
        for method in self.module.metadata.children::<_, MethodDef>(rid) {
            if structure.owners.methods.contains_key(&method) {
                continue;
            }
            let feature = structure.accessor_of.get(&method).and_then(|of| features.iter().find(|feature| feature.token == *of));
            match feature {
                Some(feature) if shown.insert(feature.token) => nodes.push(self.feature_node(feature, depth)),
                Some(_) => {}
                None => nodes.push(self.method_node(method, depth)),
            }
        }
        for feature in features.iter().filter(|feature| !shown.contains(&feature.token)) {
            nodes.push(self.feature_node(feature, depth));
        }
        nodes
    }

    fn feature_node(&mut self, feature: &Feature, depth: usize) -> Node {
        let children: Vec<Node> = feature.accessors.iter().map(|accessor| self.method_node(*accessor, depth)).collect();
        let size: u64 = children.iter().map(|child| child.size).sum();
        let word = if feature.token.table() == Some(Table::Event) { "event" } else { "property" };
        let sizes = if self.il_size { format!("{size:>6}  ") } else { String::new() };
        let line = format!("{}  {word:<12}  {sizes}{}", feature.token, feature.signature);
        Node { line, name: feature.name.clone(), size, children }
    }

    fn method_node(&mut self, rid: Rid<MethodDef>, depth: usize) -> Node {
        let mut children = Vec::new();
        for part in self.parts.get(&rid).cloned().unwrap_or_default() {
            children.push(self.method_node_line(part, Vec::new(), Module::full_signature));
        }
        for machine in self.machines.get(&rid).cloned().unwrap_or_default() {
            children.extend(self.type_node(machine, depth + 1));
        }
        self.method_node_line(rid, children, Module::signature)
    }

    fn method_node_line(
        &self,
        rid: Rid<MethodDef>,
        children: Vec<Node>,
        text: impl Fn(&Module<'a, 'm>, &Method<'_>) -> String,
    ) -> Node {
        let method = self.module.method(rid);
        let line = self.module.method_line(rid, self.decisions, self.il_size, |method| text(self.module, method));
        let own = u64::from(method.and_then(|method| method.il_size).unwrap_or(0));
        let size = own + children.iter().map(|child| child.size).sum::<u64>();
        Node { line, name: method.map(|method| method.name.to_string()).unwrap_or_default(), size, children }
    }
}

/// The items of each owner.
fn turned<C: Copy + Ord, O: Copy + Ord>(owners: &BTreeMap<C, O>) -> BTreeMap<O, Vec<C>> {
    let mut turned: BTreeMap<O, Vec<C>> = BTreeMap::new();
    owners.iter().for_each(|(child, owner)| turned.entry(*owner).or_default().push(*child));
    turned
}
