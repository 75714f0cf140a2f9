//! Finds the ids that probes pass in a woven file. A later tool that renumbers rows keeps the ids in the code. So they
//! still lead to a method when its row number no longer does.

use std::collections::HashMap;

use ecma335::{
    Budget, Image, Metadata, MethodBody, OpCode, Rid, Rva, Table, Token,
    opcode::Operand,
    schema::{MethodDef, MethodSpec},
};

use crate::{compiler_generated::CompilerGenerated, mark::first_embedded, method_id::MethodId};

/// The meaning of each id under a module's key: the method of the source code, or the target of a call site, by token. Ids are those
/// of methods with bytes of their own.
pub fn woven_ids(image: &Image<'_>, metadata: &Metadata<'_>, module_key: u64) -> HashMap<MethodId, Token> {
    let (generated, budget) = (CompilerGenerated::find(image, metadata), Budget::for_file(image.bytes().len()));
    let own = first_embedded(metadata).map_or(u32::MAX, Rid::get);
    let mut found = HashMap::new();
    for (rid, row) in metadata.tables.rows::<MethodDef>().filter(|(rid, row)| rid.get() < own && row.has_il_body()) {
        let body = image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse);
        let Ok(body) = body else { continue };
        budget.spend(Budget::cost(body.il.len()));
        if budget.is_overdrawn() {
            break;
        }
        let written = generated.step(rid).and_then(|step| step.kickoff).unwrap_or(rid);
        // The id of a call site, and the number of calls after it. The first of these calls is the tracker's.
        let mut site = None;
        for instruction in body.instructions().map_while(Result::ok) {
            if instruction.opcode() == OpCode::LdcI8 && MethodId(instruction.value()).module_key() == module_key {
                let id = MethodId(instruction.value());
                if id.is_call_site() {
                    site = Some((id, 0));
                } else {
                    found.insert(id.with_own_bytes(true), Token::new(Table::MethodDef, written.get()));
                }
            } else if instruction.info.operand == Operand::Method
                && let Some((id, calls)) = &mut site
            {
                *calls += 1;
                if *calls == 2 {
                    found.insert(*id, generic(metadata, instruction.token()));
                    site = None;
                }
            }
        }
    }
    found
}

/// The generic method of a MethodSpec token. Any other token is returned as it is.
fn generic(metadata: &Metadata<'_>, token: Token) -> Token {
    let spec = token.rid_in::<MethodSpec>().and_then(|rid| metadata.row(rid).ok());
    spec.and_then(|spec| spec.method.token()).unwrap_or(token)
}
