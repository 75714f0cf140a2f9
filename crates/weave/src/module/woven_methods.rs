//! Finds the methods of a woven module that are woven.

use ecma335::{
    Image, Metadata, MethodBody, Rid, Rva, Table, Token,
    metadata::join,
    opcode::Operand,
    schema::{MemberRef, MethodDef},
};
use names::{Mark, TRACKER_NAMESPACE, first_embedded};

use crate::{
    probes::{
        hook_method::HookMethod,
        hooks::Hooks,
        tracker::{PROBE_TYPE, is_enter_method},
    },
    select::options::Options,
};

/// Whether each method of a woven module is woven, by row number minus one. A woven method's body calls the tracker, or a
/// hook from the mark.
pub fn woven_methods(image: &Image<'_>, metadata: &Metadata<'_>) -> Vec<bool> {
    let options = Mark::read(metadata).and_then(|mark| mark.options.parse::<Options>().ok());
    let hooks: Vec<&HookMethod> =
        options.iter().flat_map(|options| options.all_hooks().flat_map(Hooks::methods)).map(|(_, hook)| hook).collect();
    let is_probe = |row: &MemberRef| {
        let class = row.class.token().and_then(Token::rid_in).and_then(|class| metadata.type_ref_name(class).ok());
        let (name, class) = (metadata.strings.string_bytes(row.name).unwrap_or_default(), class.unwrap_or_default());
        let is_hook = |hook: &&HookMethod| {
            let method = &hook.method;
            method.name.as_bytes() == name && class == join(&method.class.namespace, &method.class.name)
        };
        is_enter_method(name) && class == join(TRACKER_NAMESPACE, PROBE_TYPE) || hooks.iter().any(is_hook)
    };
    let probes = metadata.tables.rows::<MemberRef>().filter(|(_, row)| is_probe(row));
    let mut probes: Vec<Token> = probes.map(|(rid, _)| Token::new(Table::MemberRef, rid.get())).collect();
    // Embedded methods come after all methods that can be woven.
    let own = first_embedded(metadata).map_or(u32::MAX, Rid::get);
    let embedded = metadata.tables.rows::<MethodDef>().skip((own as usize).saturating_sub(1));
    let embedded = embedded.filter(|(_, row)| metadata.strings.string_bytes(row.name).is_ok_and(is_enter_method));
    probes.extend(embedded.map(|(rid, _)| Token::new(Table::MethodDef, rid.get())));
    let calls_probe = |row: &MethodDef| {
        let body = row.has_il_body().then(|| MethodBody::parse(image.cursor_at(Rva(row.rva))?));
        let Some(Ok(body)) = body else { return false };
        let mut instructions = body.instructions().map_while(Result::ok);
        instructions.any(|instruction| instruction.info.operand == Operand::Method && probes.contains(&instruction.token()))
    };
    metadata.tables.rows::<MethodDef>().map(|(rid, row)| rid.get() < own && calls_probe(&row)).collect()
}
