//! The locals that a probe needs, and the signature of all locals of a body.

use ecma335::{
    Cursor, FileOffset, Metadata, Token,
    element::{ElementType, convention},
    schema::{StandAloneSig, TypeDefOrRef},
    signature::outline::{LocalsShape, walk_signature, walk_type_spec},
};

use crate::{
    code::Code,
    error::RewriteError,
    method::Method,
    prepared::PreparedProbe,
    probe::{Argument, OwnCalls, Returned, Shape},
};

/// The largest number of locals in a body (II.23.2.6).
const MAX_LOCALS: u32 = 0xFFFE;

/// The numbers of the locals that a probe needs.
pub(crate) struct Locals<'t> {
    /// The number of the first new local, which is the number of the body's own.
    pub(crate) first: u16,
    /// Whether there is a new one.
    pub(crate) has_new: bool,
    /// The offset of the first added type in the new signature.
    pub(crate) first_new_type: usize,
    /// Keeps the enter call's return value.
    pub(crate) enter_result: Option<u16>,
    /// Keeps the method's return value.
    pub(crate) returned: Option<u16>,
    /// The type of the method's return value, if a local keeps it.
    pub(crate) returned_type: &'t [u8],
    /// Whether a call of the probe takes the method's return value.
    pub(crate) is_returned_passed: bool,
    /// Holds an exception on its way to a handler, or a stand-in for the value of a method that returns none.
    pub(crate) object: Option<u16>,
    /// Keep the return values of the calls before sites. One for each site probe: no two calls with the same probe overlap.
    pub(crate) sites: Vec<Option<u16>>,
    /// Keeps the return value of the first of the method's additional calls.
    pub(crate) kept: Option<u16>,
    /// The first of the locals of those calls.
    pub(crate) own: u16,
}

impl<'t> Locals<'t> {
    /// Plans the locals of a method, and writes the signature of all its locals.
    ///
    /// # Errors
    /// If a signature breaks the format, or the body uses a local that it does not declare.
    pub(crate) fn plan(
        metadata: &Metadata<'_>,
        code: &Code,
        method: &Method<'t, '_>,
        prepared: &PreparedProbe<'_>,
        (shape, return_type): (Shape, Option<&'t [u8]>),
        local_sig: &mut Vec<u8>,
    ) -> Result<Self, RewriteError> {
        let probe = &prepared.calls;
        let is_changed = probe.leave.is_some_and(|leave| leave.call.passes(Argument::ReturnAddress));
        let is_taken = is_changed || probe.leave.is_some_and(|leave| leave.call.passes(Argument::ReturnValue));
        let is_returned_passed = method.returned != Returned::Nothing && is_taken;
        let is_handed_out = method.own.is_some_and(OwnCalls::pass_returned);
        let returned = return_type.filter(|_| shape == Shape::Finally || is_returned_passed || is_handed_out);
        let takes_exception = probe.catch.is_some_and(|catch| catch.call.passes(Argument::Exception));
        let needs_object = is_changed && !is_returned_passed || !code.clauses.is_empty() && takes_exception;
        let object = needs_object.then_some(&[ElementType::Object as u8][..]);
        // A fault in the method's return type would recur in the signature of its locals.
        if let Some(wrong) = returned.and_then(|ty| mistaken_kind(metadata, ty)) {
            return Err(RewriteError::BadSignature(format!(
                "{wrong} is a value type, and it says a class, or the other way round"
            )));
        }
        let is_used = |number: usize| code.sites.iter().any(|at| at.site.probe == number);
        let of_sites = prepared.site_results.iter().enumerate().map(|(number, ty)| ty.filter(|_| is_used(number)));
        let kept = method.own.map(|_| OwnCalls::KEPT);
        let own = method.own.map(|own| own.locals.iter().map(Vec::as_slice)).into_iter().flatten();
        let more = [prepared.enter_result, returned, object].into_iter().chain(of_sites.clone()).chain([kept]).flatten();
        let more = more.chain(own.clone());
        let (first, first_new_type) = extend_locals(metadata, method.body.local_var_sig, more, local_sig)?;
        for ty in returned.into_iter().chain(own.clone()) {
            let ty = Cursor::new(ty, method.signature.offset());
            refuse_lost_types(metadata, |mut visit| walk_type_spec(ty, &mut visit))?;
        }
        // The runtime rejects such a body. It must not become valid through the probe's locals.
        if let Some(last) = code.locals_used.checked_sub(1).filter(|last| *last >= u32::from(first)) {
            return Err(RewriteError::BadLocal(last));
        }
        let mut next = first;
        let mut local = |ty: Option<&[u8]>| {
            ty.map(|_| {
                next += 1;
                next - 1
            })
        };
        // In the order of their types in the signature.
        let (enter_result, returned_type) = (local(prepared.enter_result), returned.unwrap_or_default());
        let (returned, object) = (local(returned), local(object));
        let sites = if code.sites.is_empty() { Vec::new() } else { of_sites.map(&mut local).collect() };
        let kept = local(kept);
        let own_first = next;
        let has_new = next > first || own.clone().next().is_some();
        Ok(Self {
            first,
            has_new,
            first_new_type,
            enter_result,
            returned,
            returned_type,
            is_returned_passed,
            object,
            sites,
            kept,
            own: own_first,
        })
    }
}

/// Writes a signature of a body's locals with `more` types at its end. Returns the number of the first new local, and
/// the offset of its type.
fn extend_locals<'s>(
    metadata: &Metadata<'_>,
    locals: Token,
    more: impl Iterator<Item = &'s [u8]> + Clone,
    signature: &mut Vec<u8>,
) -> Result<(u16, usize), RewriteError> {
    let bad = |error: ecma335::Error| RewriteError::BadSignature(error.to_string());
    let (count, types) = match locals.rid_in::<StandAloneSig>() {
        Some(rid) => {
            let blob = metadata.row(rid).and_then(|row| metadata.blobs.blob(row.signature)).map_err(bad)?;
            let LocalsShape { count, types } = LocalsShape::read(blob.rest(), blob.offset()).map_err(bad)?;
            if types.end != blob.rest().len() {
                return Err(RewriteError::BadSignature("its locals' has bytes behind the last type".into()));
            }
            refuse_lost_types(metadata, |mut visit| walk_signature(blob, &mut visit))?;
            (count, blob.rest().get(types).unwrap_or_default())
        }
        None if locals == Token::default() => (0, &[][..]),
        None => return Err(RewriteError::BadSignature("the body's locals are no StandAloneSig".into())),
    };
    let total = count.saturating_add(more.clone().count() as u32);
    if total > MAX_LOCALS {
        return Err(RewriteError::TooManyLocals);
    }
    signature.clear();
    signature.push(convention::LOCAL);
    ecma335::cursor::put_compressed_u32(signature, total);
    signature.extend_from_slice(types);
    let behind = signature.len();
    more.for_each(|each| signature.extend_from_slice(each));
    Ok((count as u16, behind))
}

/// Refuses a signature that names a type without a row.
fn refuse_lost_types(
    metadata: &Metadata<'_>,
    walk: impl FnOnce(&mut dyn FnMut(TypeDefOrRef)) -> ecma335::Result<()>,
) -> Result<(), RewriteError> {
    let mut lost = None;
    let mut find = |ty: TypeDefOrRef| {
        let token = ty.token().filter(|token| (1..=metadata.tables.counts()[usize::from(token.kind())]).contains(&token.rid()));
        if token.is_none() {
            lost = Some(ty);
        }
    };
    walk(&mut find).map_err(|error| RewriteError::BadSignature(error.to_string()))?;
    match lost {
        Some(ty) => Err(RewriteError::BadSignature(format!("the type {:#x} in it is not there", ty.0))),
        None => Ok(()),
    }
}

/// The TypeDef at the core of a type, below arrays, pointers and references, if its encoding contradicts its
/// definition. The encoding is `CLASS` for a value type, or `VALUETYPE` for a class (II.23.2.12).
fn mistaken_kind(metadata: &Metadata<'_>, ty: &[u8]) -> Option<Token> {
    use ElementType::{ByRef, Class, GenericInst, Ptr, SzArray, ValueType};
    let is_around = |byte: &u8| [ByRef, GenericInst, Ptr, SzArray].iter().any(|element| *byte == *element as u8);
    let start = ty.iter().position(|byte| !is_around(byte))?;
    let (element, rest) = ty.get(start..)?.split_first()?;
    if ![Class as u8, ValueType as u8].contains(element) {
        return None;
    }
    let named = TypeDefOrRef(Cursor::new(rest, FileOffset(0)).compressed_u32().ok()?).token()?;
    let is_value = metadata.is_value_type(named.rid_in()?)?;
    (is_value != (*element == ValueType as u8)).then_some(named)
}
