//! A listing for scripts: types with their methods, or methods alone.

use ecma335::{Error, Rid, Table, Token, schema::MethodDef};
use serde_json::{Value, json};

use super::{Opts, decisions::Decisions, module::Module, tree::Shape};
use ecma335::heap::format_guid;

/// What every listing says of the file.
pub(super) fn header(module: &Module<'_, '_>, decisions: Option<&Decisions>) -> Result<Value, Error> {
    let mut header = json!({ "assembly": module.metadata.display_name(), "mvid": format_guid(&module.metadata.mvid()?) });
    if let (Some(decisions), Some(header)) = (decisions, header.as_object_mut()) {
        let mark = decisions.mark.as_ref().map(|(tool, options)| json!({ "tool": tool, "options": options }));
        header.insert("refusal".into(), json!(decisions.refusal));
        header.insert("woven".into(), json!(mark));
    }
    Ok(header)
}

/// All methods, each with its type.
pub(super) fn methods(module: &Module<'_, '_>, decisions: &Decisions, shape: &Shape, order: &[Rid<MethodDef>]) -> Value {
    order.iter().map(|rid| method(module, decisions, shape, *rid, true)).collect()
}

/// All types with their methods, properties and events.
pub(super) fn types(opts: &Opts, module: &Module<'_, '_>, decisions: &Decisions, shape: &Shape) -> Result<Value, Error> {
    let mut types: Vec<(String, u64, Value)> = Vec::new();
    for ((number, name), enclosing) in (1..).zip(&module.types).zip(&shape.enclosing) {
        let rid = Rid::new(number);
        let methods = module.metadata.methods_of(rid)?;
        let methods = opts.order(module, &methods);
        let size = |rid: &Rid<MethodDef>| u64::from(module.method(*rid).and_then(|method| method.il_size).unwrap_or(0));
        let total = methods.iter().map(size).sum();
        let features = shape.features.get(&rid).map(Vec::as_slice).unwrap_or_default();
        let of_kind = |table| -> Value {
            let features = features.iter().filter(|feature| feature.token.table() == Some(table));
            features
                .map(
                    |feature| json!({ "token": feature.token.to_string(), "name": feature.name, "signature": feature.signature }),
                )
                .collect()
        };
        let value = json!({
            "token": Token::new(Table::TypeDef, number).to_string(),
            "name": name,
            "enclosing": (!enclosing.is_none()).then(|| Token::new(Table::TypeDef, enclosing.get()).to_string()),
            "owner": shape.owners.types.get(&rid).map(|owner| method_token(*owner)),
            "properties": of_kind(Table::Property),
            "events": of_kind(Table::Event),
            "methods": methods.iter().map(|rid| method(module, decisions, shape, *rid, false)).collect::<Value>(),
        });
        types.push((name.clone(), total, value));
    }
    opts.sort.apply(&mut types, |(name, size, _)| (name, *size));
    Ok(types.into_iter().map(|(_, _, value)| value).collect())
}

fn method_token(rid: Rid<MethodDef>) -> String {
    Token::new(Table::MethodDef, rid.get()).to_string()
}

fn method(module: &Module<'_, '_>, decisions: &Decisions, shape: &Shape, rid: Rid<MethodDef>, with_type: bool) -> Value {
    let Some(method) = module.method(rid) else { return Value::Null };
    let mut value = json!({
        "token": method_token(rid),
        "name": method.name,
        "signature": method.signature(),
        "source": method.source.as_ref().map(ToString::to_string),
        "owner": shape.owners.methods.get(&rid).map(|owner| method_token(*owner)),
        "accessorOf": shape.accessor_of.get(&rid).map(ToString::to_string),
        "ilSize": method.il_size,
        "decision": decisions.of(rid),
    });
    if let Some(value) = value.as_object_mut().filter(|_| with_type) {
        value.shift_insert(1, "type".into(), module.type_name_of(method.owner).into());
    }
    value
}
