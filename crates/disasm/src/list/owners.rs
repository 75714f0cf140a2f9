//! The owners of compiler-generated methods and types: lambdas, local functions, the state machines of async methods
//! and iterators.

use std::collections::BTreeMap;

use ecma335::{
    Rid, Token,
    lists::ListOwners,
    opcode::Operand,
    schema::{Field, MemberRef, MethodDef, MethodSpec, TypeDef, TypeSpec},
    signature::{Signature, TypeSig},
};
use names::Part;

use super::module::Module;

/// The maximum nesting of generated owners.
const MAX_DEPTH: usize = 16;

/// The source methods, by the items generated from them.
#[derive(Default)]
pub(crate) struct Owners {
    /// The owners of lambdas and local functions.
    pub(crate) methods: BTreeMap<Rid<MethodDef>, Rid<MethodDef>>,
    /// The owners of state machines, which are types.
    pub(crate) types: BTreeMap<Rid<TypeDef>, Rid<MethodDef>>,
}

impl Owners {
    /// Finds owners by name. Among several overloads, the owner is the one whose code leads to the generated item.
    pub(crate) fn find(module: &Module<'_, '_>) -> Self {
        let mut written: BTreeMap<(Rid<TypeDef>, &str), Vec<Rid<MethodDef>>> = BTreeMap::new();
        let methods = || (1..).map(Rid::<MethodDef>::new).zip(&module.methods);
        for (rid, method) in methods().filter(|(_, method)| module.source(method).is_none()) {
            written.entry((method.owner, plain(&method.name))).or_default().push(rid);
        }
        let mut mentions = None;
        let mut owners = Self::default();
        for (rid, method) in methods() {
            let Some(source) = module.source(method) else { continue };
            let owner = match written.get(&(written_in(module, method.owner), source.method.as_str())).map(Vec::as_slice) {
                None | Some([]) => continue,
                Some([only]) => *only,
                Some(several) => {
                    let mentions = mentions.get_or_insert_with(|| Mentions::find(module));
                    match mentions.lead_from(module, several, rid) {
                        Some(owner) => owner,
                        None => continue,
                    }
                }
            };
            if source.parts.last() == Some(&Part::StateMachine) {
                owners.types.insert(method.owner, owner);
            } else {
                owners.methods.insert(rid, owner);
            }
        }
        owners
    }
}

/// The source type around compiler-generated types.
fn written_in(module: &Module<'_, '_>, made: Rid<TypeDef>) -> Rid<TypeDef> {
    let is_made = |rid: &Rid<TypeDef>| {
        let name = module.metadata.row(*rid).and_then(|row| module.metadata.strings.string_bytes(row.name));
        name.is_ok_and(|name| name.starts_with(b"<"))
    };
    let chain: Vec<Rid<TypeDef>> = module.types.chain(made).collect();
    let outermost_made = chain.iter().rev().skip(1).position(is_made);
    outermost_made.and_then(|at| chain.iter().rev().nth(at).copied()).unwrap_or(made)
}

/// `<Main>$` holds a program's top-level statements, and is shown as `Main`.
fn plain(name: &str) -> &str {
    name.strip_prefix('<').and_then(|rest| rest.strip_suffix(">$")).unwrap_or(name)
}

/// The first mention of each compiler-generated item in the code.
struct Mentions {
    methods: BTreeMap<Rid<MethodDef>, Rid<MethodDef>>,
    types: BTreeMap<Rid<TypeDef>, Rid<MethodDef>>,
}

impl Mentions {
    fn find(module: &Module<'_, '_>) -> Self {
        let mut mentions = Self { methods: BTreeMap::new(), types: BTreeMap::new() };
        let fields = module.metadata.owners();
        let by_name: BTreeMap<(Rid<TypeDef>, &str), Rid<MethodDef>> =
            (1..).map(Rid::new).zip(&module.methods).map(|(rid, method)| ((method.owner, &*method.name), rid)).collect();
        for (rid, body) in module.bodies() {
            let own_type = module.method(rid).map(|method| method.owner).unwrap_or_default();
            for instruction in body.instructions().map_while(Result::ok) {
                if !matches!(instruction.info.operand, Operand::Method | Operand::Field | Operand::Type | Operand::Token) {
                    continue;
                }
                let (owner, method) = target(module, &fields, &by_name, instruction.token());
                if let Some(method) = method.filter(|method| *method != rid) {
                    mentions.methods.entry(method).or_insert(rid);
                }
                if let Some(owner) = owner.filter(|owner| *owner != own_type) {
                    mentions.types.entry(owner).or_insert(rid);
                }
            }
        }
        mentions
    }

    /// Finds the one of several methods that leads to a generated one, perhaps through other generated ones.
    fn lead_from(&self, module: &Module<'_, '_>, several: &[Rid<MethodDef>], made: Rid<MethodDef>) -> Option<Rid<MethodDef>> {
        let mut at = made;
        for _ in 0..MAX_DEPTH {
            let method = module.method(at)?;
            let is_machine = module.source(method).is_some_and(|source| source.parts.last() == Some(&Part::StateMachine));
            at = *if is_machine { self.types.get(&method.owner) } else { self.methods.get(&at) }?;
            if several.contains(&at) {
                return Some(at);
            }
        }
        None
    }
}

/// The type and method of this module that a token refers to.
fn target(
    module: &Module<'_, '_>,
    fields: &ListOwners<TypeDef, Field>,
    by_name: &BTreeMap<(Rid<TypeDef>, &str), Rid<MethodDef>>,
    token: Token,
) -> (Option<Rid<TypeDef>>, Option<Rid<MethodDef>>) {
    let metadata = module.metadata;
    let token = token.rid_in::<MethodSpec>().and_then(|rid| metadata.row(rid).ok()?.method.token()).unwrap_or(token);
    if let Some(method) = token.rid_in::<MethodDef>() {
        return (module.method(method).map(|method| method.owner), Some(method));
    }
    if let Some(field) = token.rid_in::<Field>() {
        return (fields.owner_of(field), None);
    }
    let Some(row) = token.rid_in::<MemberRef>().and_then(|rid| metadata.row(rid).ok()) else {
        return (type_of(module, token), None);
    };
    let owner = row.class.token().and_then(|class| type_of(module, class));
    let blob = metadata.blobs.blob(row.signature).ok().and_then(|blob| Signature::parse(blob).ok());
    let name = matches!(blob, Some(Signature::Method(_))).then(|| metadata.name(row.name).ok()).flatten();
    let method = owner.zip(name).and_then(|(owner, name)| by_name.get(&(owner, name.as_str())).copied());
    (owner, method)
}

/// The type of this module in a TypeDef or an instantiation.
fn type_of(module: &Module<'_, '_>, token: Token) -> Option<Rid<TypeDef>> {
    let Some(spec) = token.rid_in::<TypeSpec>() else { return token.rid_in() };
    let blob = module.metadata.blobs.blob(module.metadata.row(spec).ok()?.signature).ok()?;
    match TypeSig::parse(blob).ok()? {
        TypeSig::GenericInst { token, .. } | TypeSig::Named { token, .. } => token.token()?.rid_in(),
        _ => None,
    }
}
