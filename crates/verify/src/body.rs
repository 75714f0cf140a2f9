//! Checks of method bodies (II.25.4): headers, exception clauses and instructions, then control flow and the evaluation
//! stack.

mod boxing;
mod code;
mod control_flow;
mod dataflow;
mod delegates;
mod eval_stack;
mod instantiations;
mod instructions;
mod method;
mod object_model;
mod read_only;
mod regions;
mod stack_value;
mod this_init;
mod token_use;
mod tokens;

use std::{collections::BTreeMap, ops::Range};

use ecma335::{
    MethodBody, Rva, Table, Token,
    body::{Clause, ClauseKind},
    schema::MethodDef,
    signature::Signature,
};
use rayon::iter::{ParallelBridge, ParallelIterator};

use crate::{
    body::{code::Code, dataflow::Dataflow, method::Method, tokens::TokenResolver},
    context::Context,
    report::Report,
    rule::rule,
    types::{absent, store::GenericContext},
};

/// The number of methods that a thread checks at a time.
const CHUNK: usize = 128;

pub(crate) fn check(context: &Context<'_>) {
    let assembly = context.assembly();
    let count = assembly.model.methods.len();
    // A thread keeps its resolved tokens for all of its chunks.
    let new_worker = || (Context::new(assembly), TokenResolver::new(assembly));
    let reports: BTreeMap<usize, Report> = (0..count)
        .step_by(CHUNK)
        .par_bridge()
        .map_init(new_worker, |(context, tokens), start| {
            if start == 0 {
                instantiations::check_declarations(tokens, context);
            }
            check_range(context, tokens, start..count.min(start + CHUNK));
            (start, context.take_report())
        })
        .collect();
    // In the order of the methods, regardless of the threads.
    reports.into_values().for_each(|report| context.absorb(report));
}

/// Checks a range of methods, by their row numbers minus one.
fn check_range(context: &Context<'_>, tokens: &TokenResolver<'_>, range: Range<usize>) {
    let mut code = Code::default();
    let mut dataflow = Dataflow::new(context, tokens);
    let rids = range.start as u32 + 1..;
    for (row, rid) in context.model.methods.get(range).unwrap_or_default().iter().zip(rids) {
        if row.has_il_body() {
            context.count_body();
            check_body(context, tokens, (Token::new(Table::MethodDef, rid), row), &mut code, &mut dataflow);
        }
    }
}

/// II.22.38: the types of local variables and of caught exceptions are there.
fn require_present(tokens: &TokenResolver<'_>, context: &Context<'_>, token: Token, body: &MethodBody<'_>) {
    let Some(scope) = context.scope else { return };
    let of_locals = || match tokens.signature(body.local_var_sig)? {
        Signature::Locals(types) => types.iter().find_map(|each| absent::in_type(scope, each)),
        _ => None,
    };
    let caught = |clause: &Clause| match clause.kind {
        ClauseKind::Catch(class) => absent::in_token(scope, class),
        _ => None,
    };
    if let Some(absent) = of_locals().or_else(|| body.clauses.iter().find_map(caught)) {
        context.report(rule!("II.22.38-a"), token, context.full_name(absent));
    }
}

fn check_body<'c>(
    context: &Context<'_>,
    tokens: &TokenResolver<'_>,
    (token, row): (Token, &MethodDef),
    code: &mut Code,
    dataflow: &mut Dataflow<'c>,
) {
    let body = match context.image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse) {
        Ok(body) => body,
        Err(error) => return context.report(rule!("II.25.4-a"), token, error),
    };
    context.require(body.is_tiny || row.rva % 4 == 0, rule!("II.25.4-b"), token);
    let locals = tokens.locals(body.local_var_sig);
    if locals.is_none() {
        context.report(rule!("II.25.4.4-a"), token, body.local_var_sig);
    }
    if let Err((offset, error)) = code.read(&body) {
        return context.report_at(rule!("III.1.2-a"), token, offset, error);
    }
    require_present(tokens, context, token, &body);
    let is_sound = control_flow::check_clauses(context, token, &body, code);
    let method = locals.and_then(|locals| Method::new(tokens, (token, row), (&body, code), locals));
    let Some(method) = method.filter(|_| is_sound) else { return };
    context.require(body.init_locals || method.locals.is_empty(), rule!("III.1.8.1.1-a"), token);
    control_flow::check(context, token, &body, code);
    if context.scope.is_some() {
        let within = GenericContext { owner: method.owner, method: token };
        tokens.types.within.set(Some(within));
        let variables = method.args.iter().chain(&method.returned).chain(method.locals.iter());
        instantiations::check_variables(tokens, context, within, variables);
    }
    dataflow.run(&method, code);
    context.count_assumed(dataflow.assumed());
}
