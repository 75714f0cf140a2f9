//! Checks whether an assembly is valid: the rules of ECMA-335 that can be decided from the file alone, as runtimes apply
//! them.
//!
//! ```text
//! Image, Metadata -> Model (owners, kinds) -> checks -> Report
//! ```
//!
//! Types of values are checked if a [`Library`] resolves the references ([`verify_types`]).
//!
//! The rules are a table ([`RULES`]). Checks refer to rules by number, and an unknown number does not compile. Where
//! compilers and runtimes have moved beyond the standard, their common practice is valid. The standard's text is then a
//! pedantic [`Level::Warning`]. Any bytes are accepted as input, and none cause a panic.

mod assembly;
mod body;
mod compare;
mod context;
mod declarations;
mod inheritance;
mod model;
mod names;
mod reference;
mod report;
mod rule;
mod signatures;
mod structure;
mod tables;
mod types;

use ecma335::{Image, Metadata};

use crate::{assembly::Assembly, context::Context, model::Model};

pub use compare::{abridge, leave_new};
pub use report::{Finding, Options, Report};
pub use rule::{Level, RULES, Rule};
pub use types::library::{Library, Scope, Version};

/// Checks an assembly. Damage leads to findings, not to an error.
pub fn verify(image: &Image<'_>, metadata: &Metadata<'_>, options: &Options) -> Report {
    check(image, metadata, options, None)
}

/// Checks an assembly, including the types of values in its code. `scope` gives the assembly's number in the library.
pub fn verify_types(image: &Image<'_>, options: &Options, scope: Scope<'_>) -> Report {
    match scope.library.metadata(scope.module) {
        Some(metadata) => check(image, metadata, options, Some(scope)),
        None => Report::default(),
    }
}

/// Checks an assembly whose references are resolved, without proving that its code is type-safe.
pub fn verify_references(image: &Image<'_>, options: &Options, scope: Scope<'_>) -> Report {
    let mut report = verify_types(image, options, scope);
    report.findings.retain(|finding| options.pedantic || finding.rule.level == Level::Error);
    report
}

fn check(image: &Image<'_>, metadata: &Metadata<'_>, options: &Options, scope: Option<Scope<'_>>) -> Report {
    let model = Model::new(metadata);
    let mut alone = Library::new();
    let module = alone.add(metadata.clone());
    let own = scope.unwrap_or(Scope { library: &alone, module });
    let assembly = Assembly::new(image, metadata, &model, options, (scope, own));
    if reference::is_reference_assembly(metadata) {
        let context = Context::new(&assembly);
        reference::check(&context);
        return context.take_report();
    }
    let report_of = |check: fn(&Context<'_>)| {
        let context = Context::new(&assembly);
        check(&context);
        context.take_report()
    };
    let rest = || rayon::join(|| report_of(check_types), || report_of(body::check));
    let (tables, (inheritance, bodies)) = rayon::join(|| report_of(check_tables), rest);
    let context = Context::new(&assembly);
    [tables, inheritance, bodies].into_iter().for_each(|report| context.absorb(report));
    context.take_report()
}

fn check_types(context: &Context<'_>) {
    inheritance::check(context);
    declarations::check(context);
}

fn check_tables(context: &Context<'_>) {
    structure::check(context);
    tables::check(context);
}
