//! Two bodies of one method: as lines, or by bytes where there is no IL to be read.

use ecma335::{Cursor, FileOffset, MethodBody, Rid, Rva, Token, schema::MethodDef};

use super::{
    bodies,
    debug::{Facts, Places},
    lines::Text,
    module::Module,
    probes::Probes,
};
use crate::dis::bodies::local_types;

/// The two bodies.
pub(crate) struct Bodies<'b, 'n, 'a, 'm, 'o, 'c, 'd> {
    pub(crate) old: (&'b Module<'n, 'a, 'm>, Rid<MethodDef>, &'b MethodDef),
    pub(crate) new: (&'b Module<'o, 'c, 'd>, Rid<MethodDef>, &'b MethodDef),
    /// Whether all tokens of the old one mean the same in the new one.
    pub(crate) is_extended: bool,
}

/// What there is of a body.
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

/// Puts both bodies behind the heads of their methods; neither if their bytes say that they are the same.
pub(crate) fn body_text(
    bodies: &Bodies<'_, '_, '_, '_, '_, '_, '_>,
    probes: Option<&mut Probes<'_, '_>>,
    old_text: &mut Text,
    new_text: &mut Text,
) {
    let ((old, old_rid, old_row), (new, new_rid, new_row)) = (bodies.old, bodies.new);
    match (read(old, old_row), read(new, new_row)) {
        (Body::Il(old_body), Body::Il(new_body)) => {
            let facts = (facts(old, old_rid, &old_body), facts(new, new_rid, &new_body));
            let old_bytes = old.body_bytes(old_row.rva);
            let is_same = bodies.is_extended && old_bytes.is_some() && old_bytes == new.body_bytes(new_row.rva);
            if is_same && facts.0 == facts.1 {
                return;
            }
            match probes {
                Some(probes) => unwoven(bodies, (&old_body, &new_body), facts, probes, old_text, new_text),
                None => {
                    bodies::print(old.names, &old_body, &facts.0, old_text);
                    bodies::print(new.names, &new_body, &facts.1, new_text);
                }
            }
        }
        (Body::Bytes(what, old_bytes), Body::Bytes(_, new_bytes)) => {
            // Where the last byte of either is, nobody knows: what comes behind it is not compared.
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

/// What the PDB says of a body that is shown as it is.
fn facts(module: &Module<'_, '_, '_>, rid: Rid<MethodDef>, body: &MethodBody<'_>) -> Facts {
    let places = module.pdb.and_then(|pdb| Some((pdb, Places::of(body)?)));
    places.map(|(pdb, places)| pdb.facts(module.names, (rid, body), &places, None)).unwrap_or_default()
}

/// The old body and the new one without its probes.
fn unwoven(
    bodies: &Bodies<'_, '_, '_, '_, '_, '_, '_>,
    (old_body, new_body): (&MethodBody<'_>, &MethodBody<'_>),
    (old_facts, new_facts): (Facts, Facts),
    probes: &mut Probes<'_, '_>,
    old_text: &mut Text,
    new_text: &mut Text,
) {
    let ((old, old_rid, _), (new, new_rid, new_row)) = (bodies.old, bodies.new);
    let new_bytes = new.body_bytes(new_row.rva).unwrap_or_default();
    let Some(found) = probes.unweave(new.names.metadata, new_rid, new_body, old_body) else {
        bodies::print(old.names, old_body, &old_facts, old_text);
        bodies::print(new.names, new_body, &new_facts, new_text);
        if bodies.is_extended && old_text == new_text {
            new_text.push(1, "// the same in other bytes");
        }
        return;
    };
    let is_exact = old_rid == new_rid && probes.is_exact(new_rid, found.shape, new_bytes);
    let added = u16::from(found.shape == weave::Shape::Return);
    // What weaving does not keep is the original's, if weaving that gives what is there.
    let is_stack = is_exact || new_body.max_stack == old_body.max_stack.saturating_add(added).max(1);
    let is_init = new_body.init_locals == (old_body.init_locals || old_body.is_tiny);
    let body = MethodBody {
        is_tiny: false,
        max_stack: if is_stack { old_body.max_stack } else { new_body.max_stack },
        init_locals: if is_init { old_body.init_locals } else { new_body.init_locals },
        local_var_sig: Token::default(),
        il: &found.il,
        il_offset: FileOffset(0),
        clauses: found.clauses.clone(),
    };
    let places = Places::without_probes(new_body, &found);
    let new_facts = new.pdb.map(|pdb| pdb.facts(new.names, (new_rid, new_body), &places, Some(&old_facts)));
    let new_facts = new_facts.unwrap_or_default();
    // Nobody needs the text of what is the same to the byte, both ways.
    if is_exact && body.il == old_body.il && body.clauses == old_body.clauses && old_facts == new_facts {
        return;
    }
    bodies::print(old.names, old_body, &old_facts, old_text);
    let locals = local_types(new.names, Cursor::new(&found.locals, FileOffset(0)));
    bodies::print_with(new.names, &body, locals, &new_facts, new_text);
    if !is_exact && probes.has_audit() && old_text == new_text {
        new_text.push(1, "// woven, and not to the byte as this ilinst weaves the original");
    }
}
