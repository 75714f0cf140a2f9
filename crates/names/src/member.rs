//! Members as people write them: accessors, operators, nested types.

use crate::source_name::{is_closure_of_fsharp, source_name, without_file};

/// `operator +` and the like, by their names in metadata (I.10.3).
const OPERATORS: &[(&str, &str)] = &[
    ("Addition", "+"),
    ("Subtraction", "-"),
    ("Multiply", "*"),
    ("Division", "/"),
    ("Modulus", "%"),
    ("ExclusiveOr", "^"),
    ("BitwiseAnd", "&"),
    ("BitwiseOr", "|"),
    ("LeftShift", "<<"),
    ("RightShift", ">>"),
    ("UnsignedRightShift", ">>>"),
    ("Equality", "=="),
    ("Inequality", "!="),
    ("GreaterThan", ">"),
    ("LessThan", "<"),
    ("GreaterThanOrEqual", ">="),
    ("LessThanOrEqual", "<="),
    ("UnaryNegation", "-"),
    ("UnaryPlus", "+"),
    ("LogicalNot", "!"),
    ("OnesComplement", "~"),
    ("Increment", "++"),
    ("Decrement", "--"),
    ("AdditionAssignment", "+="),
    ("SubtractionAssignment", "-="),
    ("MultiplicationAssignment", "*="),
    ("DivisionAssignment", "/="),
    ("ModulusAssignment", "%="),
    ("ExclusiveOrAssignment", "^="),
    ("BitwiseAndAssignment", "&="),
    ("BitwiseOrAssignment", "|="),
    ("LeftShiftAssignment", "<<="),
    ("RightShiftAssignment", ">>="),
    ("UnsignedRightShiftAssignment", ">>>="),
    ("IncrementAssignment", "++"),
    ("DecrementAssignment", "--"),
    ("True", "true"),
    ("False", "false"),
    ("Implicit", "implicit"),
    ("Explicit", "explicit"),
];

/// A method's name as its source has it: `Name.get` for `get_Name`, `operator +` for `op_Addition`, `Main` for
/// `<Main>$`, `Main [entry]` for what waits for an async one. Of an explicit implementation, the interface stays in front.
pub fn written_member(name: &str) -> String {
    if let Some(entry) = name.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        return format!("{entry} [entry]");
    }
    let name = name.strip_prefix('<').and_then(|rest| rest.strip_suffix(">$")).unwrap_or(name);
    let (before, own) = name.rsplit_once('.').filter(|(before, _)| !before.is_empty()).unwrap_or(("", name));
    let dot = if before.is_empty() { "" } else { "." };
    if let Some(operator) = own.strip_prefix("op_") {
        let (operator, checked) = operator.strip_prefix("Checked").map_or((operator, ""), |operator| (operator, "checked "));
        let sign = OPERATORS.iter().find(|(name, _)| *name == operator);
        return sign.map_or_else(|| name.to_owned(), |(_, sign)| format!("{before}{dot}operator {checked}{sign}"));
    }
    let accessor = ["get", "set", "add", "remove", "raise"].into_iter().find_map(|kind| {
        let property = own.strip_prefix(kind)?.strip_prefix('_')?;
        (!property.is_empty()).then(|| format!("{before}{dot}{property}.{kind}"))
    });
    accessor.unwrap_or_else(|| name.to_owned())
}

/// A type's name with dots throughout, and without what a compiler nested in it or put before it: `Shop.Order.Line` for
/// `Shop.Order/Line/<>c`.
pub fn written_type(name: &str) -> String {
    let name = without_file(name);
    let own = name.split("/<").next().unwrap_or(&name);
    // F# has a closure's line behind its name.
    let own = own.rsplit_once('/').filter(|(_, last)| is_closure_of_fsharp(last)).map_or(own, |(outer, _)| outer);
    own.replace(['/', '+'], ".")
}

/// Whether a compiler made a method without a body that a person wrote: what closures and state machines have beside.
pub fn is_compiler_generated(type_name: &str, method: &str) -> bool {
    let in_made_type = type_name.contains("/<") || type_name.starts_with("<>") || type_name.starts_with("<PrivateImpl");
    (in_made_type || method.starts_with('<')) && method != "<Main>$" && source_name(type_name, method).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_as_they_were_written() {
        for (name, expected) in [
            ("get_Name", "Name.get"),
            ("set_Item", "Item.set"),
            ("add_Changed", "Changed.add"),
            ("Shop.ILoad.get_Name", "Shop.ILoad.Name.get"),
            ("op_Addition", "operator +"),
            ("op_CheckedAddition", "operator checked +"),
            ("op_AdditionAssignment", "operator +="),
            ("op_CheckedMultiplicationAssignment", "operator checked *="),
            ("op_UnsignedRightShiftAssignment", "operator >>>="),
            ("op_DecrementAssignment", "operator --"),
            ("op_Implicit", "operator implicit"),
            ("op_Unheard", "op_Unheard"),
            ("<Main>$", "Main"),
            ("<Main>", "Main [entry]"),
            (".ctor", ".ctor"),
            ("get_", "get_"),
            ("Load", "Load"),
        ] {
            assert_eq!(written_member(name), expected);
        }
        assert_eq!(written_type("Shop.Order/Line/<>c__DisplayClass1_0"), "Shop.Order.Line");
        let hash = "0123456789ABCDEF".repeat(4);
        assert_eq!(written_type(&format!("Shop.<Order>F{hash}__Line/<>c")), "Shop.Line");
        assert_eq!(written_type(&format!("<Order>F{hash}__Line`1/Part")), "Line`1.Part");
        assert_eq!(written_type("Shop.<Order>F0123__Line"), "Shop.<Order>F0123__Line");
        assert_eq!(written_type("Program/add@5-1"), "Program");
    }

    #[test]
    fn what_has_no_body_of_a_persons_is_told() {
        for (type_name, method, expected) in [
            ("Shop.Order/<>c", ".ctor", true),
            ("Shop.Order/<>c__DisplayClass1_0", ".ctor", true),
            ("Shop.Order/<Load>d__5", "SetStateMachine", true),
            ("Shop.Order/<Load>d__5", "System.Threading.Tasks.Sources.IValueTaskSource.GetStatus", true),
            ("Shop.Order/<Load>d__5", "MoveNext", false),
            ("Shop.Order/<>c", "<Total>b__3_0", false),
            ("Shop.Order", "<Run>g__Local|0_0", false),
            ("Program", "<Main>$", false),
            ("Program", "<Main>", true),
            ("<Module>", ".cctor", false),
            ("<>f__AnonymousType0`1", "get_Name", true),
            ("Shop.Order", ".ctor", false),
        ] {
            assert_eq!(is_compiler_generated(type_name, method), expected, "{type_name}::{method}");
        }
    }
}
