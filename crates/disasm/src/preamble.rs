//! The parts that Mono's ilasm must read first, because of requirements beyond the standard.
//!
//! It needs types in a special order, which [`Order`] finds. Types that refer back to themselves, as in `class Node
//! extends Base<Node>`, have no place in it. Before the `.assembly`, they name this assembly as if it were another.
//! Also, ilasm decides the kind of another assembly's type by its first mention: `valuetype List/Enumerator` makes
//! `List` a value type too.
//!
//! So these heads come before all others, and some only mention types. The bodies come later: the assembler reopens a
//! type, and ignores its second head.
//!
//! .NET's ilasm needs none of it. It would look without end for an interface that the first head spells differently.

use ecma335::{
    MAX_NESTING, Rid, Table, Token,
    schema::{self, TypeDef, TypeRef},
};

use super::{lines::Lines, names::Names, order::Order, printer::Printer};
use crate::{ilasm::Ilasm, quote};

/// Prints the heads that must come first.
pub(crate) fn print(printer: &Printer<'_, '_, '_>, lines: &mut Lines) {
    let names = printer.names;
    let Some(assembly) = names.metadata.assembly().filter(|_| names.ilasm == Ilasm::Mono) else { return };
    let name = names.metadata.name(assembly.name).unwrap_or_default();
    // The library with System.Object must be named before its types.
    if name == "mscorlib" {
        return;
    }
    let order = Order::new(names, &printed(names));
    let mentions = mentions(names);
    let holder = (!mentions.is_empty()).then(|| holder(names, &order)).flatten();
    if order.early.is_empty() && holder.is_none() {
        return;
    }
    lines.comment("Mono's ilasm has to know these first.");
    if !order.circular.is_empty() {
        lines.line(format_args!(".assembly extern {}", quote::dotted(&name)));
        lines.open();
        lines.line(format_args!(".ver {}:{}:{}:{}", assembly.major, assembly.minor, assembly.build, assembly.revision));
        if let Ok(key @ [_, ..]) = names.metadata.blob(assembly.public_key) {
            lines.line(format_args!(".publickey = ({})", quote::hex(key)));
        }
        lines.close();
    }
    if let Some(holder) = holder {
        printer.full_head(holder, lines);
        lines.braces();
        printer.head_line(holder, lines);
        lines.line(format_args!("  implements {}", mentions.join(", ")));
        lines.braces();
    }
    for rid in &order.early {
        let scope = order.circular.contains(&rid.get()).then(|| format!("[{}]", quote::dotted(&name)));
        names.with_scope(scope, || head(printer, *rid, lines));
    }
    lines.blank();
}

/// Prints a type's head within the heads of its enclosing types.
fn head(printer: &Printer<'_, '_, '_>, rid: Rid<TypeDef>, lines: &mut Lines) {
    let around = printer.names.around(rid);
    for outer in &around {
        printer.head_line(*outer, lines);
        lines.open();
    }
    printer.full_head(rid, lines);
    lines.braces();
    around.iter().for_each(|_| lines.close());
}

/// The types in the order of their printing: each before its nested types.
fn printed(names: &Names<'_, '_>) -> Vec<u32> {
    let mut printed = Vec::new();
    for (index, _) in names.metadata.enclosing_types().iter().enumerate().filter(|(_, outer)| outer.is_none()) {
        let mut open = vec![(index as u32 + 1, 0)];
        while let Some((rid, depth)) = open.pop() {
            printed.push(rid);
            let inner = if depth < MAX_NESTING { names.nested(Rid::new(rid)) } else { Vec::new() };
            open.extend(inner.into_iter().rev().map(|inner| (inner.get(), depth + 1)));
        }
    }
    printed
}

/// Enclosing types whose first mention would give them the wrong kind.
fn mentions(names: &Names<'_, '_>) -> Vec<String> {
    let mut wanted = std::collections::BTreeSet::new();
    for (rid, row) in names.metadata.tables.rows::<TypeRef>() {
        let inner = Token::new(Table::TypeRef, rid.get());
        if let Some(outer) = row.resolution_scope.token().filter(|outer| outer.table() == Some(Table::TypeRef)) {
            let is_value = names.kinds.values.contains(&outer);
            let is_known = is_value || names.kinds.classes.contains(&outer);
            if is_known && is_value != names.kinds.values.contains(&inner) {
                wanted.insert(outer);
            }
        }
    }
    let text = |token: &Token| {
        let name = names.type_operand(*token).ok()?;
        // In this place, only a type argument can be a value type.
        Some(if names.kinds.values.contains(token) { format!("class [mscorlib]System.IEquatable`1<{name}>") } else { name })
    };
    wanted.iter().filter_map(text).collect()
}

/// A type whose head can be opened twice: neither nested nor generic, and without interfaces.
fn holder(names: &Names<'_, '_>, order: &Order) -> Option<Rid<TypeDef>> {
    let is_plain = |rid: Rid<TypeDef>, row: &TypeDef| {
        let token = Token::new(Table::TypeDef, rid.get());
        !names.is_module_type(rid)
            && !order.early.contains(&rid)
            && (row.is_not_public() || row.is_public())
            && row.extends.token().is_some_and(|parent| parent.table() == Some(Table::TypeRef) && parent.rid() != 0)
            && names.by_parent.generics.children::<schema::GenericParam>(token.0).next().is_none()
            && names.by_parent.interfaces.children::<schema::InterfaceImpl>(rid.get()).next().is_none()
    };
    let mut rows = names.metadata.tables.rows::<TypeDef>();
    rows.find(|(rid, row)| is_plain(*rid, row)).map(|(rid, _)| rid)
}
