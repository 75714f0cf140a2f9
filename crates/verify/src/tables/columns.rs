//! Checks of each cell by its column's kind: indices name rows, heap offsets are within their heaps, keys are sorted.

use ecma335::{
    Table, Token,
    schema::{Blob, ColumnKind, Guid, Str},
};

use crate::{
    context::Context,
    rule::{Rule, rule},
};

/// Columns that may be null (II.22).
const NULLABLE: &[(Table, &str)] = &[
    (Table::TypeRef, "resolution_scope"),
    (Table::TypeDef, "extends"),
    (Table::Event, "event_type"),
    (Table::ManifestResource, "implementation"),
    // Other rules check these columns, or none does: the runtime finds the import itself.
    (Table::ExportedType, "implementation"),
    (Table::MemberRef, "class"),
    (Table::ImplMap, "import_scope"),
];

/// The columns that start a run of rows. Each has its rule, and the rule for owners of the rows.
const LISTS: &[(Table, &str, &Rule, &Rule)] = &[
    (Table::TypeDef, "field_list", rule!("II.22.37-17"), rule!("II.22.15-2")),
    (Table::TypeDef, "method_list", rule!("II.22.37-21"), rule!("II.22.26-2")),
    (Table::MethodDef, "param_list", rule!("II.22-b"), rule!("II.22.33-2")),
    (Table::EventMap, "event_list", rule!("II.22-b"), rule!("II.22.13-2")),
    (Table::PropertyMap, "property_list", rule!("II.22-b"), rule!("II.22.34-2")),
];

pub(crate) fn check(context: &Context<'_>) {
    for table in Table::ALL.iter().copied().filter(|table| *table < Table::Document && context.metadata.tables.count(*table) > 0)
    {
        check_table(context, table);
    }
}

fn check_table(context: &Context<'_>, table: Table) {
    let keys: Vec<usize> =
        (table.sort_keys().iter()).filter_map(|key| table.columns().iter().position(|column| column.name == *key)).collect();
    // The CLR searches a type's interfaces and a parameter's constraints by the first key only.
    let keys = &keys[..keys.len().min(1)];
    let lists: Vec<(usize, &Rule)> = (LISTS.iter().filter(|list| list.0 == table))
        .filter_map(|list| Some((table.columns().iter().position(|column| column.name == list.1)?, list.3)))
        .collect();
    let mut previous: Option<Vec<u32>> = None;
    let mut starts = vec![0; lists.len()];
    for rid in 1..=context.metadata.tables.count(table) {
        let Some(cells) = context.metadata.tables.cells(table, rid) else { return };
        for (column, cell) in table.columns().iter().zip(&cells) {
            check_cell(context, Token::new(table, rid), table, column.name, column.kind, *cell);
        }
        for ((index, rule), start) in lists.iter().zip(&mut starts) {
            let cell = cells.get(*index).copied().unwrap_or(0);
            if cell < *start {
                context.report(rule, Token::new(table, rid), format_args!("its run starts at {cell}, before the one above"));
            }
            *start = cell;
        }
        let key: Vec<u32> = keys.iter().filter_map(|index| cells.get(*index).copied()).collect();
        if previous.is_some_and(|previous| previous > key) && !context.is_uncompressed {
            context.report(rule!("II.22-a"), Token::new(table, rid), "");
        }
        previous = Some(key);
    }
}

fn check_cell(context: &Context<'_>, token: Token, table: Table, name: &str, kind: ColumnKind, cell: u32) {
    let metadata = context.metadata;
    let bad = |rule: &'static Rule| context.report(rule, token, format_args!("{table}.{name} is {cell:#x}"));
    let is_nullable = || NULLABLE.contains(&(table, name));
    match kind {
        ColumnKind::Fixed(_) => {}
        ColumnKind::Str => match metadata.strings.string_bytes(Str(cell)) {
            Ok(bytes) if context.wants(rule!("II.24.2.3-d")) && std::str::from_utf8(bytes).is_err() => bad(rule!("II.24.2.3-d")),
            Ok(_) => {}
            Err(_) => bad(rule!("II.24.2.3-c")),
        },
        ColumnKind::Blob => {
            if metadata.blobs.blob(Blob(cell)).is_err() {
                bad(rule!("II.24.2.4-b"));
            }
        }
        ColumnKind::Guid => {
            if metadata.guids.guid(Guid(cell)).is_err() {
                bad(rule!("II.24.2.5-b"));
            }
        }
        ColumnKind::Rid(target) => {
            let list = LISTS.iter().find(|(of, column, ..)| (*of, *column) == (table, name));
            let is_well = match list {
                Some(_) => {
                    let ptr = target.pointers().filter(|ptr| metadata.tables.count(*ptr) > 0);
                    cell <= metadata.tables.count(ptr.unwrap_or(target)).saturating_add(1)
                }
                None => cell == 0 && is_nullable() || context.is_row(Token::new(target, cell)) && cell <= 0x00FF_FFFF,
            };
            if !is_well {
                bad(list.map_or(rule!("II.22-b"), |list| list.2));
            }
        }
        ColumnKind::Coded(index) => match index.decode(cell) {
            None => bad(rule!("II.22-c")),
            Some(target) if target.rid() == 0 && is_nullable() || context.is_row(target) => {}
            Some(_) => bad(if (table, name) == (Table::TypeDef, "extends") { rule!("II.22.37-11") } else { rule!("II.22-b") }),
        },
    }
}
