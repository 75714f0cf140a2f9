//! A listing as JSON, for scripts: types with their methods, or only methods.

use ecma335::{Error, Rid, Table, Token, heap::format_guid, schema::MethodDef};
use serde_json::{Value, json};

use super::{decisions::Decisions, listing::Listing, module::Module, options::Sort, structure::Structure};

/// A listing as one JSON object.
///
/// # Errors
/// If the module's version identifier or the methods of a type cannot be read.
pub fn to_json(listing: &Listing<'_, '_>) -> Result<Value, Error> {
    let (module, sort) = (&listing.module, listing.sort);
    let mut value = header(module, listing.methods.as_ref().map(|methods| &methods.decisions))?;
    let mut put = |key: &str, part: Value| {
        if let Some(value) = value.as_object_mut() {
            value.insert(key.into(), part);
        }
    };
    if let Some(listed) = &listing.methods {
        let (decisions, structure) = (&listed.decisions, &listed.structure);
        if listed.as_tree {
            put("types", types(module, decisions, structure, sort)?);
        } else {
            put("methods", methods(module, decisions, structure, &module.sorted(&module.all_methods(), sort)));
        }
    }
    if let Some(references) = &listing.references {
        put("references", json!(references));
    }
    if let Some(strings) = &listing.strings {
        put("strings", json!(strings));
    }
    if let Some(attributes) = &listing.attributes {
        put("attributes", json!(attributes));
    }
    Ok(value)
}

/// The file's properties, which every listing includes.
fn header(module: &Module<'_, '_>, decisions: Option<&Decisions>) -> Result<Value, Error> {
    let mut header = json!({ "assembly": module.metadata.display_name(), "mvid": format_guid(&module.metadata.mvid()?) });
    if let (Some(decisions), Some(header)) = (decisions, header.as_object_mut()) {
        let mark = decisions.mark.as_ref().map(|(tool, options)| json!({ "tool": tool, "options": options }));
        header.insert("refusal".into(), json!(decisions.refusal));
        header.insert("woven".into(), json!(mark));
    }
    Ok(header)
}

/// All methods, each with its type.
fn methods(module: &Module<'_, '_>, decisions: &Decisions, structure: &Structure, order: &[Rid<MethodDef>]) -> Value {
    order.iter().map(|rid| method(module, decisions, structure, *rid, true)).collect()
}

/// All types with their methods, properties and events.
fn types(module: &Module<'_, '_>, decisions: &Decisions, structure: &Structure, sort: Sort) -> Result<Value, Error> {
    let mut types: Vec<(String, u64, Value)> = Vec::new();
    for (rid, enclosing) in module.types.types().zip(&structure.enclosing) {
        let name = module.type_name_of(rid);
        let methods: Vec<_> = module.metadata.children(rid).collect();
        let methods = module.sorted(&methods, sort);
        let size = |rid: &Rid<MethodDef>| u64::from(module.method(*rid).and_then(|method| method.il_size).unwrap_or(0));
        let total = methods.iter().map(size).sum();
        let features = structure.features.get(&rid).map(Vec::as_slice).unwrap_or_default();
        let of_kind = |table| -> Value {
            let features = features.iter().filter(|feature| feature.token.table() == Some(table));
            features
                .map(
                    |feature| json!({ "token": feature.token.to_string(), "name": feature.name, "signature": feature.signature }),
                )
                .collect()
        };
        let value = json!({
            "token": Token::new(Table::TypeDef, rid.get()).to_string(),
            "name": name,
            "enclosing": (!enclosing.is_none()).then(|| Token::new(Table::TypeDef, enclosing.get()).to_string()),
            "owner": structure.owners.types.get(&rid).map(|owner| method_token(*owner)),
            "properties": of_kind(Table::Property),
            "events": of_kind(Table::Event),
            "methods": methods.iter().map(|rid| method(module, decisions, structure, *rid, false)).collect::<Value>(),
        });
        types.push((name, total, value));
    }
    sort.apply(&mut types, |(name, size, _)| (name, *size));
    Ok(types.into_iter().map(|(_, _, value)| value).collect())
}

fn method_token(rid: Rid<MethodDef>) -> String {
    Token::new(Table::MethodDef, rid.get()).to_string()
}

fn method(module: &Module<'_, '_>, decisions: &Decisions, structure: &Structure, rid: Rid<MethodDef>, with_type: bool) -> Value {
    let Some(method) = module.method(rid) else { return Value::Null };
    let mut value = json!({
        "token": method_token(rid),
        "name": method.name,
        "signature": module.signature(method),
        "source": module.source(method).map(|source| source.to_string()),
        "owner": structure.owners.methods.get(&rid).map(|owner| method_token(*owner)),
        "accessorOf": structure.accessor_of.get(&rid).map(ToString::to_string),
        "ilSize": method.il_size,
        "decision": decisions.word(rid),
    });
    if let Some(value) = value.as_object_mut().filter(|_| with_type) {
        value.shift_insert(1, "type".into(), module.type_name_of(method.owner).into());
    }
    value
}
