//! The tree: types in types, members in their types, and under each method what the compiler made of its parts.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
};

use ecma335::{
    Error, Rid, Table, Token,
    schema::{Event, EventMap, MethodDef, MethodSemantics, Property, PropertyMap, TypeDef},
    signature::Signature,
};

use super::{Opts, decisions::Decisions, module::Module, owners::Owners};
use crate::rows;

/// Types nested deeper than this are shown beside the others.
const MAX_DEPTH: usize = 64;

/// A line with the lines below it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Node {
    /// The line itself.
    pub(super) line: String,
    /// What it is sorted by.
    pub(super) name: String,
    /// What it is sorted by, the largest first.
    pub(super) size: u64,
    /// What belongs to it.
    pub(super) children: Vec<Node>,
}

/// Prints nodes as a tree.
pub(super) fn print(nodes: &[Node], prefix: &str, out: &mut impl Write) -> io::Result<()> {
    for (index, node) in nodes.iter().enumerate() {
        let (branch, trunk) = if index + 1 == nodes.len() { ("└─", "  ") } else { ("├─", "│ ") };
        writeln!(out, "{prefix}{branch} {}", node.line)?;
        print(&node.children, &format!("{prefix}{trunk} "), out)?;
    }
    Ok(())
}

/// A property or event.
pub(super) struct Feature {
    pub(super) token: Token,
    pub(super) name: String,
    /// `instance string Name`
    pub(super) signature: String,
    pub(super) accessors: Vec<Rid<MethodDef>>,
}

/// What belongs to what in a module.
pub(super) struct Shape {
    pub(super) enclosing: Vec<Rid<TypeDef>>,
    pub(super) owners: Owners,
    /// Properties and events by their type.
    pub(super) features: BTreeMap<Rid<TypeDef>, Vec<Feature>>,
    /// The property or event that a method is an accessor of.
    pub(super) accessor_of: BTreeMap<Rid<MethodDef>, Token>,
}

impl Shape {
    /// Reads it.
    ///
    /// # Errors
    /// If the name of a property or event cannot be read.
    pub(super) fn new(module: &Module<'_, '_>) -> Result<Self, Error> {
        let metadata = module.metadata;
        let mut accessors: BTreeMap<Token, Vec<Rid<MethodDef>>> = BTreeMap::new();
        let mut accessor_of = BTreeMap::new();
        for (_, row) in metadata.tables.rows::<MethodSemantics>() {
            let Some(association) = row.association.token() else { continue };
            accessors.entry(association).or_default().push(row.method);
            accessor_of.entry(row.method).or_insert(association);
        }
        let mut features: BTreeMap<Rid<TypeDef>, Vec<Feature>> = BTreeMap::new();
        let mut add = |owner, token, name: String, signature: String| {
            let accessors = accessors.remove(&token).unwrap_or_default();
            features.entry(owner).or_default().push(Feature { token, name, signature, accessors });
        };
        for (rid, map) in rows::owners(metadata, |row: &PropertyMap| row.property_list.get()) {
            let row: Property = metadata.row(rid)?;
            let name = metadata.name(row.name)?;
            let signature = property_text(module, &row, &name)?;
            add(metadata.row(map)?.parent, Token::new(Table::Property, rid.get()), name, signature);
        }
        for (rid, map) in rows::owners(metadata, |row: &EventMap| row.event_list.get()) {
            let row: Event = metadata.row(rid)?;
            let name = metadata.name(row.name)?;
            let kind = row.event_type.token().map(|token| super::type_text(module, token)).unwrap_or_default();
            add(metadata.row(map)?.parent, Token::new(Table::Event, rid.get()), name.clone(), format!("{kind} {name}"));
        }
        // An accessor of what no type lists is a method like any other.
        accessor_of.retain(|_, feature| !accessors.contains_key(feature));
        Ok(Self { enclosing: metadata.enclosing_types(), owners: Owners::find(module), features, accessor_of })
    }
}

/// `instance string Name`, `instance string Item(int32)`
fn property_text(module: &Module<'_, '_>, row: &Property, name: &str) -> Result<String, Error> {
    let Ok(Signature::Property(signature)) = Signature::parse(module.metadata.blobs.blob(row.signature)?) else {
        return Ok(name.to_owned());
    };
    let instance = if signature.has_this { "instance " } else { "" };
    let params: Vec<String> = signature.params.iter().map(|param| param.display(module).to_string()).collect();
    let params = if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
    Ok(format!("{instance}{} {name}{params}", signature.property_type.display(module)))
}

/// Puts the tree together.
pub(super) struct Tree<'t, 'a, 'm> {
    pub(super) opts: &'t Opts,
    pub(super) module: &'t Module<'a, 'm>,
    pub(super) decisions: &'t Decisions,
    shape: &'t Shape,
    /// Types in types, but for those that belong to methods.
    nested: BTreeMap<Rid<TypeDef>, Vec<Rid<TypeDef>>>,
    /// What belongs to methods.
    machines: BTreeMap<Rid<MethodDef>, Vec<Rid<TypeDef>>>,
    parts: BTreeMap<Rid<MethodDef>, Vec<Rid<MethodDef>>>,
    seen: BTreeSet<Rid<TypeDef>>,
}

impl<'t, 'a, 'm> Tree<'t, 'a, 'm> {
    pub(super) fn new(opts: &'t Opts, module: &'t Module<'a, 'm>, decisions: &'t Decisions, shape: &'t Shape) -> Self {
        let mut nested: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let owners = &shape.owners;
        for (rid, outer) in (1..).map(Rid::<TypeDef>::new).zip(&shape.enclosing) {
            if !outer.is_none() && !owners.types.contains_key(&rid) {
                nested.entry(*outer).or_default().push(rid);
            }
        }
        let seen = BTreeSet::new();
        Self { opts, module, decisions, shape, nested, machines: turned(&owners.types), parts: turned(&owners.methods), seen }
    }

    /// All types; those that the way from the outermost does not lead to are shown beside the others.
    pub(super) fn nodes(&mut self) -> Vec<Node> {
        let mut nodes = Vec::new();
        let all = || (1..).map(Rid::<TypeDef>::new).zip(&self.shape.enclosing);
        let roots = all().filter(|(rid, outer)| outer.is_none() && !self.shape.owners.types.contains_key(rid));
        let order: Vec<Rid<TypeDef>> = roots.chain(all()).map(|(rid, _)| rid).collect();
        for rid in order {
            nodes.extend(self.type_node(rid, 0));
        }
        self.opts.sort.apply(&mut nodes, |node| (&node.name, node.size));
        nodes
    }

    fn type_node(&mut self, rid: Rid<TypeDef>, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH || !self.seen.insert(rid) {
            return None;
        }
        let name = self.module.type_name_of(rid).to_owned();
        let mut children = self.members(rid, depth);
        for inner in self.nested.get(&rid).cloned().unwrap_or_default() {
            children.extend(self.type_node(inner, depth + 1));
        }
        self.opts.sort.apply(&mut children, |node| (&node.name, node.size));
        let size = children.iter().map(|child| child.size).sum();
        let sizes = if self.opts.il_size { format!("  {size} bytes of IL") } else { String::new() };
        Some(Node { line: format!("{name}  {}{sizes}", Token::new(Table::TypeDef, rid.get())), name, size, children })
    }

    /// Methods; properties and events where the first of their accessors would be.
    fn members(&mut self, rid: Rid<TypeDef>, depth: usize) -> Vec<Node> {
        let shape = self.shape;
        let features = shape.features.get(&rid).map(Vec::as_slice).unwrap_or_default();
        let mut shown = BTreeSet::new();
        let mut nodes = Vec::new();
        for method in self.module.metadata.methods_of(rid).unwrap_or_default() {
            if shape.owners.methods.contains_key(&method) {
                continue;
            }
            let feature = shape.accessor_of.get(&method).and_then(|of| features.iter().find(|feature| feature.token == *of));
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
        let sizes = if self.opts.il_size { format!("{size:>6}  ") } else { String::new() };
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
        self.method_node_line(rid, children, |_, method| method.signature())
    }

    fn method_node_line(
        &self,
        rid: Rid<MethodDef>,
        children: Vec<Node>,
        text: impl Fn(&Module<'a, 'm>, &super::module::Method) -> String,
    ) -> Node {
        let method = self.module.method(rid);
        let line = self.module.method_line(rid, self.decisions, self.opts.il_size, |method| text(self.module, method));
        let own = u64::from(method.and_then(|method| method.il_size).unwrap_or(0));
        let size = own + children.iter().map(|child| child.size).sum::<u64>();
        Node { line, name: method.map(|method| method.name.clone()).unwrap_or_default(), size, children }
    }
}

/// What belongs to each owner.
fn turned<C: Copy + Ord, O: Copy + Ord>(owners: &BTreeMap<C, O>) -> BTreeMap<O, Vec<C>> {
    let mut turned: BTreeMap<O, Vec<C>> = BTreeMap::new();
    owners.iter().for_each(|(child, owner)| turned.entry(*owner).or_default().push(*child));
    turned
}
