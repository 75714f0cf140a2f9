//! Roslyn's number of a method, which is in the names of its lambdas, local functions and closures. Overloads share a name, and
//! differ in their numbers.

use std::collections::HashSet;

use ecma335::{
    Budget, Image, Metadata, MethodBody, Rid, Rva, Token,
    opcode::Operand,
    schema::{MemberRef, MethodDef, MethodSpec, TypeDef},
};

use crate::compiler_generated::class_of;

/// The number in the names of a member and of its type: 3 for `<Total>b__3_0`, and for any member of `<>c__DisplayClass3_0`. `None`
/// if neither has one.
pub fn method_number(type_name: &str, member: &str) -> Option<u32> {
    let of_member = || {
        let (_, suffix) = member.strip_prefix('<')?.rsplit_once('>')?;
        let of_local = || suffix.strip_prefix("g__")?.split_once('|');
        suffix.strip_prefix("b__").or_else(|| Some(of_local()?.1))?.split_once('_')
    };
    let of_type = || type_name.rsplit('/').next()?.strip_prefix("<>c__DisplayClass")?.split_once('_');
    of_member().or_else(of_type)?.0.parse().ok()
}

/// The numbers of the lambdas, local functions and closures that a body mentions.
pub fn numbers_in(image: &Image<'_>, metadata: &Metadata<'_>, method: Rid<MethodDef>, budget: &Budget) -> HashSet<u32> {
    let number = |token: Token| {
        let class = metadata.row(class_of(metadata, token)?).and_then(|row: TypeDef| metadata.name(row.name)).ok()?;
        method_number(&class, &member_name(metadata, token).unwrap_or_default())
    };
    mentioned(image, metadata, method, budget).into_iter().filter_map(number).collect()
}

/// The types and members that a body mentions.
pub(crate) fn mentioned(image: &Image<'_>, metadata: &Metadata<'_>, method: Rid<MethodDef>, budget: &Budget) -> Vec<Token> {
    let row = metadata.row(method).ok().filter(|row: &MethodDef| row.has_il_body() && !budget.is_overdrawn());
    let Some(Ok(body)) = row.map(|row| image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse)) else { return Vec::new() };
    budget.spend(body.il.len() as u64);
    let instructions = body.instructions().map_while(Result::ok);
    let named = instructions.filter(|one| matches!(one.info.operand, Operand::Method | Operand::Field | Operand::Type));
    named.map(|instruction| instruction.token()).collect()
}

fn member_name(metadata: &Metadata<'_>, token: Token) -> Option<String> {
    if let Some(spec) = token.rid_in::<MethodSpec>() {
        return member_name(metadata, metadata.row(spec).ok()?.method.token()?);
    }
    let name = match (token.rid_in::<MethodDef>(), token.rid_in::<MemberRef>()) {
        (Some(method), _) => metadata.row(method).ok()?.name,
        (_, Some(member)) => metadata.row(member).ok()?.name,
        _ => return None,
    };
    metadata.name(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_names() {
        for (type_name, member, expected) in [
            ("Shop.Order/<>c", "<Total>b__3_0", Some(3)),
            ("Shop.Order", "<Total>b__12_1", Some(12)),
            ("Shop.Order/<>c__DisplayClass4_0", "<Total>b__1", Some(4)),
            ("Shop.Order/<>c__DisplayClass4_0`1", ".ctor", Some(4)),
            ("<>c__DisplayClass4_0", "", Some(4)),
            ("Shop.Order/<>c__DisplayClass4_1", "<Run>g__Local|2", Some(4)),
            ("Shop.Order", "<Run>g__Local|0_0", Some(0)),
            ("Program", "<<Main>$>g__Local|0_5", Some(0)),
            ("Shop.Order/<>c", "<Total>b__0", None),
            ("Shop.Order/<>c__DisplayClass1", "<Total>b__0", None),
            ("Shop.Order", "<Run>m__0", None),
            ("Shop.Order", "Total", None),
        ] {
            assert_eq!(method_number(type_name, member), expected, "{type_name}::{member}");
        }
    }
}
