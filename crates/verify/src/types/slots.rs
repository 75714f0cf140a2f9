//! Virtual methods and their overrides: by name and type (II.10.3), or by a MethodImpl (II.22.27).

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use ecma335::{
    Rid, Table, Token,
    schema::{MemberRef, MethodDef, TypeDef},
    signature::Signature,
};
use foldhash::HashMap;

use crate::types::{
    assign,
    library::Def,
    members,
    method_type::MethodType,
    resolve,
    store::{Arguments, Named, Type, TypeId, Types},
    verdict::Verdict,
};

/// The limit of methods of one type and name that are examined.
const MAX_OVERLOADS: usize = 1024;

#[derive(Default)]
struct Cache(RefCell<HashMap<TypeId, Rc<Slots>>>);

/// The virtual methods of a type, and the methods that its MethodImpls override.
#[derive(Default, Debug)]
pub(crate) struct Slots {
    /// Sorted by row.
    pub(crate) methods: Vec<Slot>,
    /// The static abstract methods of an interface.
    pub(crate) statics: Vec<Slot>,
    overrides: Vec<Override>,
    by_name: HashMap<Rc<[u8]>, Vec<usize>>,
    overrides_by_name: HashMap<Rc<[u8]>, Vec<usize>>,
}

/// A virtual method, in the generic parameters of the requested type.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) name: Rc<[u8]>,
    pub(crate) rid: u32,
    pub(crate) row: MethodDef,
    of: Rc<(Def, Rc<[TypeId]>)>,
    ty: OnceCell<Option<MethodType>>,
}

/// The method that a MethodImpl overrides.
#[derive(Debug)]
struct Override {
    owner: TypeId,
    ty: MethodType,
}

/// The virtual methods of an instantiation.
pub(crate) fn slots_of(types: &Types<'_>, id: TypeId) -> Rc<Slots> {
    let cache = types.cache::<Cache>();
    if let Some(known) = cache.0.borrow().get(&id) {
        return known.clone();
    }
    let found = Rc::new(find(types, id).unwrap_or_default());
    cache.0.borrow_mut().insert(id, found.clone());
    found
}

fn find(types: &Types<'_>, id: TypeId) -> Option<Slots> {
    let Type::Named(Named::Known(def, _), arguments) = types.get(id) else { return None };
    let library = types.scope?.library;
    let metadata = library.metadata(def.module)?;
    let of = Rc::new((def, arguments.clone()));
    let mut slots = Slots::default();
    for rid in metadata.children::<_, MethodDef>(Rid::<TypeDef>::new(def.rid)) {
        let Ok(row) = metadata.row(rid) else { continue };
        if !row.is_virtual() {
            continue;
        }
        let name: Rc<[u8]> = metadata.strings.string_bytes(row.name).unwrap_or_default().into();
        if row.is_static() {
            if row.is_abstract() {
                slots.statics.push(Slot { name, rid: rid.get(), row, of: of.clone(), ty: OnceCell::new() });
            }
            continue;
        }
        slots.by_name.entry(name.clone()).or_default().push(slots.methods.len());
        slots.methods.push(Slot { name, rid: rid.get(), row, of: of.clone(), ty: OnceCell::new() });
    }
    for token in library.overrides(def).iter().filter_map(|index| index.token()) {
        if let Some((name, found)) = find_override(types, def, token, &arguments) {
            slots.overrides_by_name.entry(name).or_default().push(slots.overrides.len());
            slots.overrides.push(found);
        }
    }
    Some(slots)
}

/// The name and type of the method that a MethodImpl of a type names.
fn find_override(types: &Types<'_>, of: Def, token: Token, of_type: &[TypeId]) -> Option<(Rc<[u8]>, Override)> {
    let metadata = types.scope?.library.metadata(of.module)?;
    let (class, name, signature) = match token.table()? {
        Table::MethodDef => {
            let rid = Rid::<MethodDef>::new(token.rid());
            let row = metadata.row(rid).ok()?;
            let owner = metadata.owner::<TypeDef, MethodDef>(rid)?;
            (Token::new(Table::TypeDef, owner.get()), row.name, row.signature)
        }
        _ => {
            let row = metadata.row(token.rid_in::<MemberRef>()?).ok()?;
            (row.class.token()?, row.name, row.signature)
        }
    };
    let owner = resolve::of_token(types, of.module, class, Arguments { of_type, of_method: &[] });
    let Some(Signature::Method(signature)) = members::signature(types, of, signature) else { return None };
    let arguments = if let Type::Named(_, arguments) = types.get(owner) { arguments } else { Rc::default() };
    let ty = MethodType::new(types, of.module, &signature, &arguments);
    Some((metadata.strings.string_bytes(name).ok()?.into(), Override { owner, ty }))
}

impl Slot {
    /// The parameter types and return type. `None` if the signature cannot be read.
    fn ty(&self, types: &Types<'_>) -> Option<&MethodType> {
        let (def, arguments) = &*self.of;
        let find = || match members::signature(types, *def, self.row.signature)? {
            Signature::Method(signature) => Some(MethodType::new(types, def.module, &signature, arguments)),
            _ => None,
        };
        self.ty.get_or_init(find).as_ref()
    }

    fn is_same(&self, types: &Types<'_>, other: &MethodType) -> Verdict {
        self.ty(types)?.is_same(types, other)
    }
}

impl Slots {
    /// The methods of a name and type, each with the certainty of the match.
    pub(crate) fn matching<'s>(&'s self, types: &Types<'_>, wanted: &Slot) -> impl Iterator<Item = (&'s Slot, Verdict)> {
        let numbers = self.by_name.get(&wanted.name).map_or(&[][..], Vec::as_slice);
        let methods = numbers.iter().take(MAX_OVERLOADS).filter_map(|number| self.methods.get(*number));
        methods
            .map(move |slot| (slot, wanted.ty(types).and_then(|ty| slot.is_same(types, ty))))
            .filter(|(_, verdict)| *verdict != Some(false))
    }

    /// Whether a MethodImpl may name a method of one of these types.
    pub(crate) fn overrides(&self, types: &Types<'_>, owners: &[TypeId], wanted: &Slot) -> bool {
        let numbers = self.overrides_by_name.get(&wanted.name).map_or(&[][..], Vec::as_slice);
        let is_it = |found: &Override| {
            let is_of = |owner: &TypeId| assign::is_same(types, found.owner, *owner) != Some(false);
            owners.iter().any(is_of) && wanted.is_same(types, &found.ty) != Some(false)
        };
        numbers.len() > MAX_OVERLOADS || numbers.iter().filter_map(|number| self.overrides.get(*number)).any(is_it)
    }
}
