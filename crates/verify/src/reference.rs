//! Reference assemblies, which compilers read and runtimes refuse.

use ecma335::{Metadata, Table, Token, schema::CustomAttribute};

use crate::{context::Context, rule::rule, structure::NO_TOKEN, tables::methods};

pub(crate) fn is_reference_assembly(metadata: &Metadata<'_>) -> bool {
    const ATTRIBUTE: &str = "System.Runtime.CompilerServices.ReferenceAssemblyAttribute";
    let is_of_assembly = |row: &CustomAttribute| row.parent.token().and_then(Token::table) == Some(Table::Assembly);
    let rows = metadata.tables.rows::<CustomAttribute>().map(|(_, row)| row);
    rows.filter(is_of_assembly).any(|row| metadata.attribute_type_name(&row).as_deref() == Some(ATTRIBUTE))
}

/// Reports the kind of the file, instead of each method that lacks a body.
pub(crate) fn check(context: &Context<'_>) {
    let bodiless = context.model.methods.iter().filter(|row| row.rva == 0 && !methods::is_elsewhere(row)).count();
    if bodiless > 0 {
        context.report(rule!("II.22.26-33"), NO_TOKEN, format_args!("{bodiless} methods of a reference assembly"));
    } else {
        context.report(rule!("II.6-a"), NO_TOKEN, "");
    }
}
