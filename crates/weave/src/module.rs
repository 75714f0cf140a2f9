//! Instruments a whole module: rewrites its methods in parallel, extends its metadata and writes its image.

mod loaded;
mod selected;

use std::{borrow::Cow, ops::Range, sync::Arc};

use ecma335::{
    Additions, Container, ContainerWriter as _, Error, ErrorKind, Image, ImageWriter, Metadata, MetadataBuilder, MethodBody,
    OutputFile, Rid, Rva, Segments, Token,
    flags::cli_flags,
    image::{Directory, DirectoryKind, Precompiled},
    schema::{File, MethodDef, MethodSpec, StandAloneSig},
    writer::Obstacle,
};
use identity::MethodId;
use ilrewrite::{
    Batch, BodyRewriter, Context, Method, Probe, Returned, RewriteError, RewrittenBody, Shape, Site, Sites, TokenProvider, Value,
};
use rayon::prelude::*;
use sha1::Sha1;
use sha2::{Digest, Sha256};

pub use self::loaded::{LoadedBodies, weave_loaded};
use self::selected::{Selected, weave_selected};

use crate::{
    budget::Budget,
    calls::{CallTable, CallTarget},
    capture::Receiver,
    dangling,
    embed::{Embedded, Tokens},
    forwarders::Forwarders,
    hook_values::HookContext,
    hooks::Hooks,
    local_sigs::{self, LocalSigs},
    made::{Made, Step},
    note::Note,
    options::{self, Options},
    pdb::{DebugInfo, MethodDebug, Pdb, PdbBuilder},
    plan::{Choices, Plan},
    policy,
    reason::Reason,
    rules::Holds,
    strong_name::{self, StrongNameKey},
    tracker::{Mark, ModuleTokens as _, Probes, Tracker},
    woven_names::WovenNames,
};

/// The parameters of instrumenting a module.
#[derive(Clone)]
pub struct Weave<'t> {
    /// The tracker whose methods the probes call.
    pub tracker: &'t Tracker,
    /// The options that determine the output's bytes. The mark records them.
    pub options: &'t Options,
    /// The name and version of the tool, for the mark.
    pub tool: &'t str,
    /// The PDB of the image, if it has one.
    pub pdb: Option<&'t [u8]>,
    /// The file name of the PDB beside the woven file. `None` keeps the original name.
    pub pdb_name: Option<&'t str>,
    /// The file names and SHA-1 hashes of the assembly's other modules. They were woven before this one.
    pub modules: &'t [(String, [u8; 20])],
    /// The strong-name keys. An assembly is signed with the key that matches its public key.
    pub keys: &'t [StrongNameKey],
}

impl<'t> Weave<'t> {
    /// Default parameters.
    pub fn new(tracker: &'t Tracker) -> Self {
        Self { tracker, options: &options::DEFAULT, tool: "", pdb: None, pdb_name: None, modules: &[], keys: &[] }
    }
}

/// A woven module.
#[derive(Debug)]
pub struct Woven<'a> {
    /// The contents of the woven file.
    pub file: Segments<'a>,
    /// Each woven body: its method and its byte range in the file.
    pub bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    /// The shape of each woven method, or the reason for skipping it. Indexed by MethodDef row number minus one.
    pub methods: Vec<Result<Shape, Reason>>,
    /// The methods of other assemblies whose calls have probes.
    pub calls: Vec<CallTarget>,
    /// The metadata that was added. Empty if no method was woven.
    pub additions: Additions,
    /// The common first part of the method ids.
    pub module_key: u64,
    /// The MVID of the woven module.
    pub mvid: [u8; 16],
    /// The PDB to write beside the file. `None` if the original has no PDB that can be updated, or if the PDB is embedded.
    pub pdb: Option<Vec<u8>>,
    /// The notes to report to the user.
    pub notes: Vec<Note>,
}

impl Woven<'_> {
    /// The SHA-1 hash of the module for the File table of its assembly's manifest (II.22.19).
    pub fn sha1(&self) -> [u8; 20] {
        let mut hash = Sha1::new();
        self.file.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    }
}

/// The decision for one method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The shape to weave, or the reason for skipping the method.
    pub outcome: Result<Shape, Reason>,
    /// The properties that hold for the method, unless it is not selected.
    pub holds: Holds,
}

/// The number of methods that a thread processes at a time.
const CHUNK: usize = 256;
/// The number of methods for each thread that are merged at a time.
const PART: usize = 16 * CHUNK;
/// The masks of ReadyToRun images for other systems than Windows: such an image has its COFF machine type XORed with one.
const OS_MASKS: [u16; 5] = [0x7B79, 0x4644, 0xADC4, 0x1993, 0x1992];
/// x86, x64, ARM Thumb-2, ARM64, LoongArch64, RISC-V 64.
const MACHINES: [u16; 6] = [0x014C, 0x8664, 0x01C4, 0xAA64, 0x6264, 0x5064];

/// The methods that a thread processed in one step.
struct Chunk {
    /// The rewritten bodies, one after another, with the tokens that they need.
    batch: Batch,
    /// The debug information of each method, if there is a PDB.
    debug: Vec<Result<MethodDebug, Error>>,
    /// The outcome for each method.
    methods: Vec<(Rid<MethodDef>, Result<RewrittenBody, Reason>)>,
}

/// Weaves the methods that the options select.
///
/// # Errors
/// If the file as a whole cannot be written, or must not be (see [`Refusal::of`](crate::Refusal::of)). A method that cannot
/// be woven is no error.
pub fn weave<'a>(image: &Image<'a>, metadata: &Metadata<'a>, weaving: &Weave<'_>) -> Result<Woven<'a>, Error> {
    WovenBodies::new(image, metadata, weaving)?.finish()
}

/// Woven bodies before they are put into a module. The parallel work is done, and one thread does the rest.
pub struct WovenBodies<'a, 'm> {
    image: &'m Image<'a>,
    metadata: &'m Metadata<'a>,
    weaving: &'m Weave<'m>,
    module_key: u64,
    choices: Choices,
    calls: Vec<CallTarget>,
    /// The methods whose ids the tracker's probes pass. Indexed by MethodDef row number minus one.
    has_id: Vec<bool>,
    merged: Merged<'a, Tokens<'a, 'm>>,
    debug: DebugInfo<'a, 'm>,
    /// The PDB to update.
    pdb: Option<Cow<'m, [u8]>>,
}

impl<'a, 'm> WovenBodies<'a, 'm> {
    /// Weaves the bodies of the methods that the options select.
    ///
    /// # Errors
    /// If names cannot be read, or a table is full.
    pub fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>, weaving: &'m Weave<'m>) -> Result<Self, Error> {
        Self::with_key(image, metadata, weaving, module_key(metadata)?)
    }

    /// Weaves the bodies as [`WovenBodies::new`] does, under a module key that may be another module's.
    pub(crate) fn with_key(
        image: &'m Image<'a>,
        metadata: &'m Metadata<'a>,
        weaving: &'m Weave<'m>,
        module_key: u64,
    ) -> Result<Self, Error> {
        let plan = Plan::with_pdb(image, metadata, weaving.options, weaving.pdb)?;
        let embedded =
            weaving.options.embed.then(|| Embedded::read(weaving.tracker.bytes(), metadata).map(Arc::new)).transpose()?;
        let tokens = || {
            let (builder, local_sigs) = (MetadataBuilder::new(metadata), LocalSigs::default());
            Tokens { builder, embedded: embedded.clone(), local_sigs }
        };
        if plan.selected() == 0 {
            let merged = Merged::new(tokens(), unwoven(&plan.methods));
            let (calls, has_id, debug, pdb) = (Vec::new(), Vec::new(), DebugInfo::default(), None);
            return Ok(Self { image, metadata, weaving, module_key, choices: plan.choices, calls, has_id, merged, debug, pdb });
        }
        let begin = || {
            let mut tokens = tokens();
            weaving.tracker.add_to(&mut tokens)?;
            renew_module_hashes(&mut tokens.builder, metadata, weaving.modules)?;
            Ok(tokens)
        };
        let mut debug = DebugInfo::find(image, weaving.pdb);
        let pdb = debug.take_pdb();
        let old_pdb = debug.check(pdb.as_deref().map(Pdb::parse));
        let pdb_budget = pdb.as_ref().map_or(0, |pdb| pdb.len());
        let Selected { merged, calls, pdb_is_overdrawn } =
            weave_selected(image, metadata, weaving, module_key, &plan, old_pdb.as_ref().map(|pdb| (pdb, pdb_budget)), begin)?;
        let pdb = if pdb_is_overdrawn { debug.give_up("many of its methods share large records") } else { pdb };
        let mut has_id = vec![false; merged.methods.len()];
        let has_hooks = |rid| weaving.options.hooks_of(plan.choices.of(rid).hooks).probe().is_some();
        for rid in merged.bodies.iter().map(|(rid, _)| *rid).filter(|rid| !has_hooks(*rid)) {
            let written = plan.made.step(rid).and_then(|step| step.kickoff).unwrap_or(rid);
            has_id.get_mut(written.get().wrapping_sub(1) as usize).into_iter().for_each(|has_id| *has_id = true);
        }
        Ok(Self { image, metadata, weaving, module_key, choices: plan.choices, calls, has_id, merged, debug, pdb })
    }

    /// The decision for each method, for callers that write no file. Indexed by MethodDef row number minus one.
    pub fn into_decisions(self) -> Vec<Decision> {
        let Self { merged, choices, .. } = self;
        let decision = |(number, outcome)| Decision { outcome, holds: choices.of(Rid::new(number)) };
        (1..).zip(merged.methods).map(decision).collect()
    }

    /// Builds the module.
    ///
    /// # Errors
    /// If the file cannot be written, or must not be: see [`Refusal::of`](crate::Refusal::of).
    pub fn finish(self) -> Result<Woven<'a>, Error> {
        let Self { image, metadata, weaving, module_key, calls, has_id, merged, mut debug, pdb, .. } = self;
        let Merged { mut tokens, mut code, mut bodies, body_sigs, records, methods } = merged;
        if bodies.is_empty() {
            let file = OutputFile::unchanged(image.bytes()).into_segments();
            let (mvid, additions) = (metadata.mvid()?, Additions::default());
            let is_component = image.precompiled() == Some(Precompiled::Component);
            let notes = is_component.then_some(Note::CompositeCodeKept).into_iter().collect();
            return Ok(Woven { file, bodies, methods, calls: Vec::new(), additions, module_key, mvid, pdb: None, notes });
        }
        let options = weaving.options.to_string();
        if let Some(constructor) = weaving.tracker.add_to(&mut tokens)? {
            let names = (has_id.contains(&true) || !calls.is_empty()).then(|| {
                let room = image.bytes().len();
                WovenNames::write(metadata, &has_id, &calls, weaving.options.names, room)
            });
            let names = names.transpose()?;
            let mark = Mark { module_key, tool: weaving.tool, options: &options, names: names.as_deref() };
            tokens.mark(constructor, &mark.to_blob())?;
        }
        let Tokens { mut builder, embedded, local_sigs } = tokens;
        let writer = ImageWriter::new(image, metadata, weaving.options.keep_layout);
        let of_bodies = || bodies.iter().zip(&body_sigs).filter_map(|((rid, range), sig)| Some((*rid, range.start, (*sig)?)));
        // Native code may refer to any part of the image.
        let unused = if writer.obstacle().is_none() {
            let mut gets_another = vec![false; methods.len() + 1];
            of_bodies().for_each(|(rid, ..)| gets_another[rid.get() as usize] = true);
            local_sigs::unused(image, metadata, |rid| gets_another[rid.get() as usize])
        } else {
            Vec::new()
        };
        let rows = local_sigs.settle(&mut builder, metadata, unused)?;
        let settled = |sig: Token| rows.get(sig.rid() as usize - 1).copied().unwrap_or_default();
        let word = |sig: Token| settled(sig).0.to_le_bytes();
        code.patch_words(of_bodies().map(|(_, start, sig)| (start + MethodBody::LOCAL_VAR_SIG_AT, word(sig))));
        let code_rva = writer.code_rva()?;
        let rva = |at: usize| {
            let rva = u32::try_from(at).ok().and_then(|at| code_rva.0.checked_add(at));
            rva.map(Rva).ok_or_else(|| Error::new(ErrorKind::Limit("an image of 4 GiB")))
        };
        for (rid, range) in &bodies {
            builder.set_method_rva(*rid, rva(range.start)?);
        }
        if let Some(embedded) = embedded {
            code.push(embedded.add_to(&mut builder, rva(code.len())?)?);
        }
        dangling::refuse(image, metadata, &methods, &builder.growth())?;
        let old_pdb = debug.check(pdb.as_deref().map(Pdb::parse));
        let new_pdb = old_pdb.as_ref().map(|pdb| {
            let mut new = PdbBuilder::new(pdb);
            let records = records.into_iter().map(|(records, local_sig)| Ok((records?, local_sig.map(settled))));
            new.put_all(records.collect::<Result<_, Error>>()?).map(|()| new)
        });
        // A composite image lists the MVIDs of its components. The runtime ends a program that loads a component with
        // another MVID.
        let mvid = match image.precompiled() {
            Some(Precompiled::Component) => metadata.mvid()?,
            _ => woven_mvid(module_key, weaving.tool, &options),
        };
        builder.set_mvid(mvid);
        let is_embedded = debug.is_embedded();
        let new_pdb = debug.check(new_pdb.map(|pdb| pdb?.finish(metadata.tables.counts(), builder.counts(), is_embedded)));
        // The PDB may be as large as the file.
        drop(old_pdb);
        drop(pdb);
        let (entries, pdb, trouble) = debug.finish(new_pdb, weaving.pdb_name);
        let (mut writer, mut notes) = adapt_headers(image, writer);
        writer.set_debug(entries);
        notes.extend(trouble.map(Note::PdbRemoved));
        notes.extend(metadata.assembly().is_none().then_some(Note::ModuleHash));
        let key = strong_name::prepare(image, metadata, weaving.keys, &mut writer, &mut notes);
        let (code_offset, additions) = (writer.code_offset()?, builder.additions());
        let mut file = writer.finish(code, builder)?;
        if let Some(key) = key {
            let signature = key.sign(file.signed_content());
            file.sign(&signature);
        }
        for (_, range) in &mut bodies {
            *range = code_offset + range.start..code_offset + range.end;
        }
        Ok(Woven { file: file.into_segments(), bodies, methods, calls, additions, module_key, mvid, pdb, notes })
    }
}

/// The planned methods, each with the shape to weave or the reason for skipping it.
fn unwoven(planned: &[Result<(), Reason>]) -> Vec<Result<Shape, Reason>> {
    planned.iter().map(|method| method.clone().map(|()| Shape::Finally)).collect()
}

/// Updates the hashes of the other modules in the manifest of a multi-module assembly (II.22.19).
fn renew_module_hashes(
    builder: &mut MetadataBuilder<'_, '_>,
    metadata: &Metadata<'_>,
    modules: &[(String, [u8; 20])],
) -> Result<(), Error> {
    for (rid, row) in metadata.tables.rows::<File>() {
        let name = metadata.name(row.name)?;
        if let Some((_, hash)) = modules.iter().find(|(module, _)| *module == name) {
            let hash_value = builder.blob(hash)?;
            builder.replace(rid, &File { hash_value, ..row });
        }
    }
    Ok(())
}

/// The chunks merged so far, in the order of the methods.
struct Merged<'a, P> {
    tokens: P,
    code: Segments<'a>,
    /// The code range of each body.
    bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    /// The signature of locals in [`LocalSigs`] for each body. `None` if the body keeps its own.
    body_sigs: Vec<Option<Token>>,
    /// The debug information of each method, if there is a PDB, and its new signature of locals.
    records: Vec<(Result<MethodDebug, Error>, Option<Token>)>,
    /// The outcome for each method so far. Indexed by row number minus one.
    methods: Vec<Result<Shape, Reason>>,
}

impl<P: TokenProvider<Error = Error>> Merged<'_, P> {
    fn new(tokens: P, methods: Vec<Result<Shape, Reason>>) -> Self {
        Self { tokens, code: Segments::default(), bodies: Vec::new(), body_sigs: Vec::new(), records: Vec::new(), methods }
    }

    fn add(&mut self, Chunk { mut batch, debug, methods }: Chunk) -> Result<(), Error> {
        let (mut debug, mut settled) = (debug.into_iter(), Vec::new());
        for (rid, result) in methods {
            self.methods[rid.get() as usize - 1] = match result {
                Ok(body) => {
                    batch.settle(&body, &mut settled, &mut self.tokens)?;
                    let start = self.code.len() + body.range.start;
                    self.bodies.push((rid, start..start + body.range.len()));
                    let local_sig = body.local_sig.and_then(|request| settled.get(request as usize).copied().flatten());
                    self.body_sigs.push(local_sig);
                    self.records.extend(debug.next().map(|records| (records, local_sig)));
                    Ok(body.shape)
                }
                Err(reason) => Err(reason),
            };
        }
        batch.bodies.resize(batch.bodies.len().next_multiple_of(4), 0);
        self.code.push_copy(&batch.bodies);
        Ok(())
    }
}

/// The first part of a module's method ids: 40 bits of a hash over all data that its row numbers depend on.
///
/// # Errors
/// If the module's version identifier cannot be read.
pub fn module_key(metadata: &Metadata<'_>) -> Result<u64, Error> {
    let mut hash = Sha256::new();
    hash.update(metadata.mvid()?);
    for stream in metadata.streams.iter().filter(|stream| stream.name == b"#~" || stream.name == b"#-") {
        hash.update(stream.bytes);
    }
    Ok(hash.finalize().iter().take(5).fold(0, |key, byte| key << 8 | u64::from(*byte)))
}

/// The MVID of the woven module. It differs from the original's: with the same one, Mono would run the code that it
/// compiled ahead of time for the original.
pub(crate) fn woven_mvid(module_key: u64, tool: &str, options: &str) -> [u8; 16] {
    let hash = Sha256::new()
        .chain_update(module_key.to_le_bytes())
        .chain_update(tool)
        .chain_update([0])
        .chain_update(options)
        .finalize();
    let mut mvid = [0; 16];
    mvid.iter_mut().zip(hash).for_each(|(byte, hashed)| *byte = hashed);
    // UUID version 8, for custom schemes (RFC 9562). The version is in the top bits of the third field.
    mvid[7] = mvid[7] & 0x0F | 0x80;
    mvid[8] = mvid[8] & 0x3F | 0x80;
    mvid
}

/// The methods to weave, with the data that weaving them needs.
struct Source<'a, 'm> {
    container: &'m dyn Container<'a>,
    bodies: Context<'a, 'm>,
    /// The first part of the method ids.
    module_key: u64,
    options: &'m Options,
    /// The hooks other than the tracker's probes, in the order of their probes.
    hooks: &'m [&'m Hooks],
    hook_context: HookContext<'a, 'm>,
    /// The receiver of captured values.
    receiver: Receiver,
    /// Whether the probes are native functions. Those do not follow an async call across its steps.
    is_native: bool,
    choices: &'m Choices,
    made: &'m Made,
    forwarders: &'m Forwarders,
    calls: CallTable,
    /// The PDB to update.
    pdb: Option<&'m Pdb<'m>>,
    /// The limit on the bodies to read in total.
    budget: Budget,
    /// The limit on the PDB records to read in total.
    pdb_budget: Budget,
}

/// The state of one thread. It reuses its buffers.
struct Worker {
    rewriter: BodyRewriter,
    batch: Batch,
    debug: Vec<Result<MethodDebug, Error>>,
}

impl Worker {
    fn new(source: &Source<'_, '_>) -> Self {
        Self { rewriter: BodyRewriter::default(), batch: source.bodies.batch(), debug: Vec::new() }
    }
}

impl Source<'_, '_> {
    fn weave(&self, rid: Rid<MethodDef>, worker: &mut Worker) -> Result<RewrittenBody, Reason> {
        let metadata = self.bodies.metadata();
        let bad_body = |error: Error| RewriteError::BadBody(error.to_string());
        let row = metadata.row(rid).map_err(bad_body)?;
        let body = MethodBody::parse(self.container.cursor_at(Rva(row.rva)).map_err(bad_body)?).map_err(bad_body)?;
        let Holds { leave: (leave_mode, _), worth: (worth, _), hooks, capture: (captured, _), .. } = self.choices.of(rid);
        let hooks = Some(self.options.hooks_of(hooks)).filter(|hooks| hooks.probe().is_some());
        if let Some(reason) = policy::left_alone(worth, self.made.origin(rid), hooks.is_some(), &body, self.forwarders.has(rid)) {
            return Err(reason);
        }
        if hooks.is_some() && self.made.step(rid).is_some() {
            return Err(Reason::Step);
        }
        if self.is_native && row.is_async() {
            return Err(Reason::RuntimeAsync);
        }
        let signature = metadata.blobs.blob(row.signature).map_err(|error| RewriteError::BadSignature(error.to_string()))?;
        self.budget.spend(self.cost(&body, signature.rest().len()));
        if self.budget.is_overdrawn() {
            return Err(Reason::SharedBody);
        }
        // A step of a state machine counts as its kickoff method, the method in the source code.
        let step = self.made.step(rid);
        let is_known = |step: &&Step| !self.is_native || step.builders.is_empty();
        let written = step.filter(is_known).and_then(|step| step.kickoff).unwrap_or(rid);
        let id = MethodId::new(self.module_key, written.get());
        let (probe, told) = if row.is_async() {
            (Probes::RUNTIME_ASYNC, self.calls.suspending())
        } else {
            let builder_methods = step.map_or_else(Vec::new, |step| self.builder_methods(step));
            (if builder_methods.is_empty() { Probes::METHOD } else { Probes::STEP }, builder_methods)
        };
        // F# names its state machines differently, but their method has the same name.
        let in_machine = || step.is_some() || row.is_async() || metadata.strings.string_bytes(row.name) == Ok(b"MoveNext");
        let site = |callee: Token| {
            let of_step = || self.step_site(callee, &told);
            self.calls.site(callee, in_machine).or_else(of_step)
        };
        let method = Method {
            row: &row,
            signature,
            body: &body,
            probe,
            leave_mode,
            values: &[Value::Int64(id.0)],
            returned: Returned::Nothing,
            sites: Sites(&site),
            own: None,
        };
        let values = hooks.map(|hooks| self.hook_context.values(hooks, rid, &row, signature, leave_mode).unwrap_or_default());
        let with_hooks = hooks.zip(values.as_ref());
        let values = with_hooks.map(|(hooks, values)| values.values(hooks, rid, id)).unwrap_or_default();
        let method = match with_hooks {
            Some((hooks, of_method)) => Method {
                probe: Probes::OF_HOOKS + self.hooks.iter().position(|other| std::ptr::eq(*other, hooks)).unwrap_or(0),
                values: &values,
                returned: of_method.returned(),
                sites: Sites::NONE,
                ..method
            },
            None => method,
        };
        // A state machine has no arguments of its own. A suspended method may resume on another thread.
        let is_captured = captured.calls && hooks.is_none() && step.is_none() && !row.is_async();
        let own = is_captured.then(|| self.hook_context.capturing(&self.receiver, captured, (rid, &row), id)).flatten();
        let method = Method { own: own.as_ref(), ..method };
        let Worker { rewriter, batch, debug } = worker;
        let woven = rewriter.rewrite(&self.bodies, &method, batch)?;
        let follow = |pdb: &Pdb<'_>| pdb.follow(rid, rewriter.code(), rewriter.layout(), body.il.len() as u32, &self.pdb_budget);
        debug.extend(self.pdb.map(follow));
        Ok(woven)
    }

    /// The builder methods that a step calls to report its progress.
    fn builder_methods(&self, step: &Step) -> Vec<(Token, usize)> {
        step.builders.iter().flat_map(|builder| self.calls.builder_methods(self.bodies.metadata(), builder)).collect()
    }

    /// The probe for a call of a builder method, or of an instantiation of one.
    fn step_site(&self, callee: Token, methods: &[(Token, usize)]) -> Option<Site> {
        let instance = callee.rid_in::<MethodSpec>().filter(|_| !methods.is_empty());
        let callee = instance.and_then(|rid| self.bodies.metadata().row(rid).ok()?.method.token()).unwrap_or(callee);
        let (_, probe) = methods.iter().find(|(method, _)| *method == callee)?;
        Some(Site { probe: *probe, constant: 0 })
    }

    /// The bytes that a method reads and may share with others: its code, clauses, signature and signature of locals.
    fn cost(&self, body: &MethodBody<'_>, signature: usize) -> u64 {
        let metadata = self.bodies.metadata();
        let locals = body.local_var_sig.rid_in::<StandAloneSig>().and_then(|rid| metadata.row(rid).ok());
        let locals = locals.and_then(|row| metadata.blob(row.signature).ok()).map_or(0, <[u8]>::len);
        [body.il.len() + body.clauses.len() * 24, signature, locals].map(Budget::cost).iter().sum()
    }

    /// The selected methods whose bodies can be woven within the budget. The others get a reason in `methods`.
    fn leave_shared(&self, selected: &[Rid<MethodDef>], methods: &mut [Result<Shape, Reason>]) -> Vec<Rid<MethodDef>> {
        let cost = |rid: Rid<MethodDef>| {
            let row = self.bodies.metadata().row(rid).ok()?;
            let body = MethodBody::parse(self.container.cursor_at(Rva(row.rva)).ok()?).ok()?;
            Some(self.cost(&body, self.bodies.metadata().blob(row.signature).ok()?.len()))
        };
        let costs = selected.iter().map(|rid| cost(*rid).unwrap_or(0));
        let (kept, left): (Vec<_>, Vec<_>) =
            selected.iter().copied().zip(self.budget.affordable(costs)).partition(|(_, is_affordable)| *is_affordable);
        left.into_iter().for_each(|(rid, _)| methods[rid.get() as usize - 1] = Err(Reason::SharedBody));
        kept.into_iter().map(|(rid, _)| rid).collect()
    }
}

/// Weaves the methods part by part, and merges one part while it weaves the next. So the data beside the bodies is never in
/// memory for all methods at once.
fn weave_and_merge<P: TokenProvider<Error = Error> + Send>(
    source: &Source<'_, '_>,
    selected: &[Rid<MethodDef>],
    merged: &mut Merged<'_, P>,
) -> Result<(), Error> {
    // A few methods are not worth waking a thread pool.
    if selected.len() <= CHUNK || rayon::current_num_threads() == 1 {
        let mut worker = Worker::new(source);
        return selected.chunks(CHUNK).try_for_each(|chunk| merged.add(weave_chunk(source, &mut worker, chunk)));
    }
    let mut woven = Vec::new();
    for part in selected.chunks(PART * rayon::current_num_threads()) {
        let weave =
            || part.par_chunks(CHUNK).map_init(|| Worker::new(source), |worker, chunk| weave_chunk(source, worker, chunk));
        let before = std::mem::take(&mut woven);
        let (result, chunks) = rayon::join(|| before.into_iter().try_for_each(|chunk| merged.add(chunk)), || weave().collect());
        result?;
        woven = chunks;
    }
    woven.into_iter().try_for_each(|chunk| merged.add(chunk))
}

fn weave_chunk(source: &Source<'_, '_>, worker: &mut Worker, chunk: &[Rid<MethodDef>]) -> Chunk {
    let methods = chunk.iter().map(|rid| (*rid, source.weave(*rid, worker))).collect();
    Chunk { batch: worker.batch.take(), debug: std::mem::take(&mut worker.debug), methods }
}

/// Corrects the headers for the woven file, and notes the parts that were removed.
fn adapt_headers<'a, 'i>(image: &Image<'a>, mut writer: ImageWriter<'a, 'i>) -> (ImageWriter<'a, 'i>, Vec<Note>) {
    let mut notes = Vec::new();
    notes.extend(writer.obstacle().filter(|why| *why != Obstacle::Requested).map(Note::LayoutKept));
    let cli = writer.cli_header_mut();
    if image.precompiled().is_some() {
        notes.push(Note::ReadyToRunRemoved);
        cli.managed_native_header = Directory::default();
        cli.flags = cli.flags & !cli_flags::IL_LIBRARY | cli_flags::IL_ONLY;
    }
    if notes.contains(&Note::ReadyToRunRemoved) {
        // An IL-only image may not have these directories, or only native code used them.
        for kind in [DirectoryKind::Export, DirectoryKind::Exception, DirectoryKind::BaseRelocation, DirectoryKind::Tls] {
            writer.clear_directory(kind);
        }
        let machine = OS_MASKS.iter().map(|mask| image.machine() ^ mask).find(|machine| MACHINES.contains(machine));
        if let Some(machine) = machine.filter(|_| !MACHINES.contains(&image.machine())) {
            writer.set_machine(machine);
        }
    }
    if image.directory(DirectoryKind::Certificate).size != 0 {
        notes.push(Note::CertificateRemoved);
    }
    (writer, notes)
}
