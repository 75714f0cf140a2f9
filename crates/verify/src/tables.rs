//! The rules of the metadata tables (II.22), with one file for each group of tables.

mod columns;
mod events;
mod fields;
mod generics;
mod layout;
mod manifest;
pub(crate) mod methods;
mod references;
mod type_defs;
mod values;

use crate::context::Context;

pub(crate) fn check(context: &Context<'_>) {
    columns::check(context);
    manifest::check(context);
    type_defs::check(context);
    layout::check(context);
    generics::check(context);
    fields::check(context);
    methods::check(context);
    events::check(context);
    references::check(context);
    values::check(context);
}
