//! A module that a runtime has loaded: its bodies woven, with tokens of the metadata that the runtime has of it.

use super::*;
use crate::tracker::ModuleTokens;

/// Bodies for a loaded module's methods.
#[derive(Debug)]
pub struct LoadedBodies {
    code: Vec<u8>,
    bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    /// By MethodDef row number less one: the shape it was woven in, or why it was left alone.
    pub methods: Vec<Result<Shape, Reason>>,
}

impl LoadedBodies {
    /// Each method that was woven, with its body: header, code and clauses (II.25.4), to be put at a multiple of 4.
    pub fn iter(&self) -> impl Iterator<Item = (Rid<MethodDef>, &[u8])> {
        self.bodies.iter().filter_map(|(rid, range)| Some((*rid, self.code.get(range.clone())?)))
    }
}

/// Weaves what the options select of a module as it was loaded: the methods that [`weave`] would, in the same way. `begin` gives
/// who has the tokens; it is called again if methods share more than is woven apart. None, if nothing is selected.
///
/// # Errors
/// If names cannot be read, a file of it must not be woven (see [`Refusal::of`](crate::Refusal::of)), or a token is not given.
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
    let mark = Mark { module_key, tool: weaving.tool, options: &weaving.options.to_string(), names: None }.to_blob();
    // In a file first: what it must not be written for, no runtime is to be told either.
    let tokens = || {
        let (builder, local_sigs) = (MetadataBuilder::new(metadata), LocalSigs::default());
        with_mark(Tokens { builder, embedded: None, local_sigs }, weaving, &mark)
    };
    let Merged { tokens, methods, .. } = weave_selected(image, metadata, weaving, module_key, &plan, None, tokens)?.merged;
    let Tokens { mut builder, local_sigs, .. } = tokens;
    local_sigs.settle(&mut builder, metadata, Vec::new())?;
    dangling::refuse(image, metadata, &methods, &builder.growth())?;
    let begin = || with_mark(begin()?, weaving, &mark);
    let Merged { code, bodies, methods, .. } = weave_selected(image, metadata, weaving, module_key, &plan, None, begin)?.merged;
    Ok(Some(LoadedBodies { code: code.iter().flatten().copied().collect(), bodies, methods }))
}

/// The rows that all woven code needs, and the mark.
fn with_mark<P: ModuleTokens>(mut tokens: P, weaving: &Weave<'_>, mark: &[u8]) -> Result<P, Error> {
    if let Some(constructor) = weaving.tracker.add_to(&mut tokens)? {
        tokens.mark(constructor, mark)?;
    }
    Ok(tokens)
}
