//! Weaves the bodies of a module that a runtime has loaded, with tokens of the runtime's metadata.

use std::ops::Range;

use ecma335::{Error, Image, Metadata, MetadataBuilder, Rid, schema::MethodDef};
use ilrewrite::Shape;
use names::{Mark, module_key};

use super::{
    merge::{Merged, WovenMethods, weave_methods},
    plan::Plan,
    weaving::Weave,
};
use crate::{
    output::{dangling, embed::Tokens, local_sigs::LocalSigs},
    probes::{call_sites::CallTarget, description, tracker::ModuleTokens},
    select::reason::Reason,
};

/// The woven bodies of a loaded module.
#[derive(Debug)]
pub struct LoadedBodies {
    code: Vec<u8>,
    bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    /// The shape of each woven method, or the reason for skipping it. Indexed by MethodDef row number minus one.
    pub methods: Vec<Result<Shape, Reason>>,
    /// The methods of other assemblies whose calls have probes.
    pub calls: Vec<CallTarget>,
}

impl LoadedBodies {
    /// Each woven method with its body: header, code and clauses (II.25.4). A body's address has to be a multiple of 4.
    pub fn iter(&self) -> impl Iterator<Item = (Rid<MethodDef>, &[u8])> {
        self.bodies.iter().filter_map(|(rid, range)| Some((*rid, self.code.get(range.clone())?)))
    }
}

/// Weaves the selected methods of a loaded module, just as [`weave`](crate::weave) does for a file. `begin` returns the provider of
/// tokens. It is called again if methods share more data than the budget allows. `None` if no method is selected.
///
/// # Errors
/// If names cannot be read, a file of the module must not be woven (see [`Refusal::from_error`](crate::Refusal::from_error)), or a token
/// cannot be had.
pub fn weave_loaded<'a, P: ModuleTokens + Send>(
    image: &Image<'a>,
    metadata: &Metadata<'a>,
    weaving: &Weave<'_>,
    begin: impl Fn() -> Result<P, Error>,
) -> Result<Option<LoadedBodies>, Error> {
    let plan = Plan::with_pdb(image, metadata, weaving.options, weaving.pdb)?;
    if plan.selected() == 0 {
        return Ok(None);
    }
    let module_key = module_key(metadata)?;
    let methods = metadata.tables.rows::<MethodDef>().map(|(rid, _)| rid);
    let captured = methods.filter(|rid| plan.options_by_method.get(*rid).capture.0.calls);
    let descriptions = description::of_methods(image, metadata, captured)?;
    let (options, descriptions) = (weaving.options.to_string(), descriptions.as_deref());
    let mark = Mark { module_key, tool: weaving.tool, options: &options, names: None, descriptions, lines: None }.to_blob();
    // A trial as a file comes first: a module that must not be written as a file must not be woven in a runtime either.
    let tokens = || {
        let (builder, local_sigs) = (MetadataBuilder::new(metadata), LocalSigs::default());
        with_mark(Tokens { builder, embedded: None, local_sigs }, weaving, &mark)
    };
    let Merged { tokens, methods, .. } = weave_methods(image, metadata, weaving, module_key, &plan, None, tokens)?.merged;
    let Tokens { mut builder, local_sigs, .. } = tokens;
    local_sigs.settle(&mut builder, metadata, Vec::new())?;
    dangling::refuse(image, metadata, &methods, &builder.growth())?;
    let begin = || with_mark(begin()?, weaving, &mark);
    let WovenMethods { merged, calls, .. } = weave_methods(image, metadata, weaving, module_key, &plan, None, begin)?;
    let Merged { code, bodies, methods, .. } = merged;
    Ok(Some(LoadedBodies { code: code.iter().flatten().copied().collect(), bodies, methods, calls }))
}

/// Adds the rows that all woven code needs, and the mark.
fn with_mark<P: ModuleTokens>(mut tokens: P, weaving: &Weave<'_>, mark: &[u8]) -> Result<P, Error> {
    if let Some(constructor) = weaving.tracker.add_to(&mut tokens)? {
        tokens.mark(constructor, mark)?;
    }
    Ok(tokens)
}
