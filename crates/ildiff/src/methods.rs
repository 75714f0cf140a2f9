//! Compares two bodies of one method as lines, or as bytes if the IL cannot be read.

use ecma335::{MethodBody, Rid, Rva, schema::MethodDef};

use weave::output_check::has_same_locals;

use super::{
    bodies,
    debug::{Facts, Places},
    lines::Text,
    module::Module,
};

pub(crate) struct Bodies<'b, 'n, 'a, 'm, 'o, 'c, 'd> {
    pub(crate) old: (&'b Module<'n, 'a, 'm>, Rid<MethodDef>, &'b MethodDef),
    pub(crate) new: (&'b Module<'o, 'c, 'd>, Rid<MethodDef>, &'b MethodDef),
    /// Whether all tokens of the old body have the same meaning in the new one.
    pub(crate) is_extended: bool,
    /// Whether equal meanings also require equal bytes.
    pub(crate) is_exact: bool,
}

/// The readable content of a body.
enum Body<'a> {
    None,
    Il(MethodBody<'a>),
    /// Native code, or IL whose header breaks the format.
    Bytes(&'static str, &'a [u8]),
}

fn read<'a>(module: &Module<'_, 'a, '_>, row: &MethodDef) -> Body<'a> {
    if row.rva == 0 {
        return Body::None;
    }
    if !row.has_il_body() {
        return Body::Bytes("native code: compared by bytes, as far as is known what is its", module.bytes_at(row.rva));
    }
    match module.names.image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse) {
        Ok(body) => Body::Il(body),
        Err(_) => Body::Bytes("the body cannot be read: compared by bytes", module.bytes_at(row.rva)),
    }
}

/// Appends both bodies to the heads of their methods. Appends neither if their bytes prove them equal.
pub(crate) fn body_text(bodies: &Bodies<'_, '_, '_, '_, '_, '_, '_>, old_text: &mut Text, new_text: &mut Text) {
    let ((old, old_rid, old_row), (new, new_rid, new_row)) = (bodies.old, bodies.new);
    match (read(old, old_row), read(new, new_row)) {
        (Body::Il(old_body), Body::Il(new_body)) => {
            let facts = (facts(old, old_rid, &old_body), facts(new, new_rid, &new_body));
            let old_bytes = old.body_bytes(old_row.rva);
            let is_same = bodies.is_extended
                && old_bytes.is_some()
                && old_bytes == new.body_bytes(new_row.rva)
                && has_same_locals(new.names.metadata, old.names.metadata, old_body.local_var_sig);
            if is_same && facts.0 == facts.1 {
                return;
            }
            bodies::print(old.names, &old_body, &facts.0, old_text);
            bodies::print(new.names, &new_body, &facts.1, new_text);
            if bodies.is_exact && bodies.is_extended && !is_same && old_text == new_text {
                new_text.push(1, "// the same IL, but not the same bytes as this ilinst writes for the original");
            }
        }
        (Body::Bytes(what, old_bytes), Body::Bytes(_, new_bytes)) => {
            // The end of either body is unknown, so only the common length is compared.
            let common = old_bytes.len().min(new_bytes.len());
            let (old_bytes, new_bytes) = (old_bytes.get(..common), new_bytes.get(..common));
            if old_bytes != new_bytes {
                print(old, &Body::Bytes(what, old_bytes.unwrap_or_default()), old_text);
                print(new, &Body::Bytes(what, new_bytes.unwrap_or_default()), new_text);
            }
        }
        (old_body, new_body) => {
            print(old, &old_body, old_text);
            print(new, &new_body, new_text);
        }
    }
}

/// Appends the body of a method on only one side to its head.
pub(crate) fn alone(module: &Module<'_, '_, '_>, rid: Rid<MethodDef>, row: &MethodDef, text: &mut Text) {
    match read(module, row) {
        Body::Il(body) => bodies::print(module.names, &body, &facts(module, rid, &body), text),
        body => print(module, &body, text),
    }
}

fn print(module: &Module<'_, '_, '_>, body: &Body<'_>, text: &mut Text) {
    match body {
        Body::None => {}
        Body::Il(body) => bodies::print(module.names, body, &Facts::default(), text),
        Body::Bytes(what, bytes) => {
            text.push(1, format!("// {what}"));
            bodies::print_bytes(bytes, text);
        }
    }
}

/// The PDB's facts on a body.
fn facts(module: &Module<'_, '_, '_>, rid: Rid<MethodDef>, body: &MethodBody<'_>) -> Facts {
    let places = module.pdb.and_then(|pdb| Some((pdb, Places::new(body)?)));
    places.map(|(pdb, places)| pdb.facts(module.names, (rid, body), &places)).unwrap_or_default()
}
