//! Assembles a module: weaves its methods, then writes their rows, locals, code, PDB and headers.

use std::{borrow::Cow, ops::Range, sync::Arc};

use ecma335::{
    Additions, Error, ErrorKind, Image, ImageWriter, Metadata, MetadataBuilder, MethodBody, OutputFile, Rid, Rva, Segments,
    Token,
    image::Precompiled,
    schema::{File, MethodDef},
    tables::RowCounts,
};
use ilrewrite::Shape;
use names::{Mark, WovenNames, module_key};
use sha2::{Digest as _, Sha256};

use super::{
    lines::LineCounters,
    merge::{FollowedPdb, Merged, WovenMethods, weave_methods},
    plan::Plan,
    weaving::Weave,
};
use crate::{
    output::{
        dangling,
        embed::{Embedded, Tokens},
        headers::adapt_headers,
        lines_type::{LinesRefs, LinesType, NewLines},
        local_sigs::{self, LocalSigs},
        note::{LinesTrouble, Note},
        pdb::{DebugInfo, DebugOutput, MethodDebug, NewPdb, Pdb, PdbBuilder},
        strong_name,
        woven::Woven,
    },
    probes::{call_sites::CallTarget, description, tracker::ModuleTokens as _},
    select::{
        method_options::{MethodOptions, OptionsByMethod},
        reason::Reason,
    },
};

/// The decision for one method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The shape to weave, or the reason for skipping the method.
    pub outcome: Result<Shape, Reason>,
    /// The options of the method, unless it is not selected.
    pub options: MethodOptions,
}

/// Weaves the methods that the options select.
///
/// # Errors
/// If the file as a whole cannot be written, or must not be (see [`Refusal::from_error`](crate::Refusal::from_error)). A method
/// that cannot be woven is no error.
pub fn weave<'a>(image: &Image<'a>, metadata: &Metadata<'a>, weaving: &Weave<'_>) -> Result<Woven<'a>, Error> {
    WovenBodies::new(image, metadata, weaving)?.finish()
}

/// Woven bodies before they are put into a module. The parallel work is done, and one thread does the rest.
pub struct WovenBodies<'a, 'm> {
    image: &'m Image<'a>,
    metadata: &'m Metadata<'a>,
    weaving: &'m Weave<'m>,
    module_key: u64,
    /// The options as the mark states them.
    words: String,
    options_by_method: OptionsByMethod,
    calls: Vec<CallTarget>,
    /// The methods whose ids the tracker's probes pass. Indexed by MethodDef row number minus one.
    has_id: Vec<bool>,
    merged: Merged<'a, Tokens<'a, 'm>>,
    debug: DebugInfo<'a, 'm>,
    /// The PDB to update.
    pdb: Option<Cow<'m, [u8]>>,
    /// The counters of lines, if some are counted.
    lines: Option<CountedLines>,
    /// Why no lines are counted that are to be.
    lines_trouble: Option<LinesTrouble>,
}

/// The counters of a module's lines.
struct CountedLines {
    ty: LinesType,
    count: u32,
    /// The places of the counters, for the mark.
    table: Vec<u8>,
}

impl<'a, 'm> WovenBodies<'a, 'm> {
    /// Weaves the bodies of the methods that the options select.
    ///
    /// # Errors
    /// If names cannot be read, or a table is full.
    pub fn new(image: &'m Image<'a>, metadata: &'m Metadata<'a>, weaving: &'m Weave<'m>) -> Result<Self, Error> {
        Self::with_mark(image, metadata, weaving, module_key(metadata)?, weaving.options.to_string())
    }

    /// Weaves the bodies as [`WovenBodies::new`] does, with a key and words for the mark. The key may be another module's, and
    /// an older tool may have written the words.
    pub(crate) fn with_mark(
        image: &'m Image<'a>,
        metadata: &'m Metadata<'a>,
        weaving: &'m Weave<'m>,
        module_key: u64,
        words: String,
    ) -> Result<Self, Error> {
        let plan = Plan::with_pdb(image, metadata, weaving.options, weaving.pdb)?;
        let embedded =
            weaving.options.embed.then(|| Embedded::read(weaving.tracker.bytes(), metadata).map(Arc::new)).transpose()?;
        let tokens =
            || Tokens { builder: MetadataBuilder::new(metadata), embedded: embedded.clone(), local_sigs: LocalSigs::default() };
        if plan.selected() == 0 {
            return Ok(Self {
                image,
                metadata,
                weaving,
                module_key,
                words,
                merged: Merged::new(tokens(), plan.outcomes()),
                options_by_method: plan.options_by_method,
                calls: Vec::new(),
                has_id: Vec::new(),
                debug: DebugInfo::default(),
                pdb: None,
                lines: None,
                lines_trouble: None,
            });
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
        let size = pdb.as_ref().map_or(0, |pdb| pdb.len());
        let ty = LinesType::behind(metadata, embedded.as_deref());
        let followed = old_pdb.as_ref().map(|pdb| {
            let counters = plan.counts_lines.then(|| LineCounters::new(pdb, size, &plan));
            let lines = counters.map(|counters| (counters, weaving.tracker.line_counter(ty.field())));
            FollowedPdb { pdb, size, lines }
        });
        let WovenMethods { merged, calls, pdb_is_overdrawn } =
            weave_methods(image, metadata, weaving, module_key, &plan, followed.as_ref(), begin)?;
        let counters = followed.as_ref().and_then(|followed| Some((followed.pdb, &followed.lines.as_ref()?.0)));
        let lines = counters.filter(|_| !merged.counted.is_empty()).zip(pdb.as_deref()).map(|((parsed, counters), bytes)| {
            let table = counters.table((image, metadata), (parsed, bytes), &merged.counted)?.write();
            Ok(CountedLines { ty, count: counters.count(), table })
        });
        let lines = lines.transpose()?;
        let lines_trouble = match (weaving.options.counts_lines(), &old_pdb) {
            (false, _) => None,
            (true, None) => Some(LinesTrouble::NoPdb),
            (true, Some(_)) => (!plan.counts_lines).then_some(LinesTrouble::NoPlace),
        };
        let pdb = if pdb_is_overdrawn { debug.give_up("many of its methods share large records") } else { pdb };
        let has_probes = |rid: &Rid<MethodDef>| merged.methods.get(rid.get() as usize - 1) != Some(&Ok(Shape::Counted));
        let probed = merged.bodies.iter().map(|(rid, _)| *rid).filter(has_probes);
        let has_id = plan.methods_with_ids(probed, weaving.options);
        let options_by_method = plan.options_by_method;
        Ok(Self {
            image,
            metadata,
            weaving,
            module_key,
            words,
            options_by_method,
            calls,
            has_id,
            merged,
            debug,
            pdb,
            lines,
            lines_trouble,
        })
    }

    /// The decision for each method, for callers that write no file. Indexed by MethodDef row number minus one.
    pub fn into_decisions(self) -> Vec<Decision> {
        let Self { merged, options_by_method, .. } = self;
        let decision = |(number, outcome)| Decision { outcome, options: options_by_method.get(Rid::new(number)) };
        (1..).zip(merged.methods).map(decision).collect()
    }

    /// Builds the module. Each step takes the result of the one before it.
    ///
    /// # Errors
    /// If the file cannot be written, or must not be: see [`Refusal::from_error`](crate::Refusal::from_error).
    pub fn finish(self) -> Result<Woven<'a>, Error> {
        if self.merged.bodies.is_empty() {
            let mut woven = unchanged(self.image, self.metadata, self.module_key, self.merged.methods)?;
            woven.notes.extend(self.lines_trouble.map(Note::NoLines));
            return Ok(woven);
        }
        let Marked { merged, module, calls, debug, pdb, lines } = self.mark()?;
        let writer = ImageWriter::new(module.image, module.metadata, module.weaving.options.keep_layout);
        let locals_settled = merged.settle_locals(module.image, module.metadata, &writer)?;
        let placed = locals_settled.place_bodies(&writer, lines)?;
        let complete = placed.complete(&module)?;
        let described = complete.update_pdb(&module, debug, pdb);
        described.write(&module, writer, calls)
    }

    /// Adds the mark to the module.
    fn mark(self) -> Result<Marked<'a, 'm>, Error> {
        let Self { image, metadata, weaving, module_key, words, calls, has_id, options_by_method, lines_trouble, .. } = self;
        let Self { mut merged, debug, pdb, lines, .. } = self;
        if let Some(constructor) = weaving.tracker.add_to(&mut merged.tokens)? {
            let names = (has_id.contains(&true) || !calls.is_empty()).then(|| {
                let named = calls.iter().map(|call| Ok((call.member_ref, call.names(metadata)?)));
                let named = named.collect::<Result<Vec<_>, Error>>()?;
                WovenNames::write(metadata, &has_id, &named, weaving.options.names, image.bytes().len())
            });
            let names = names.transpose()?;
            let captured = merged.bodies.iter().map(|(rid, _)| *rid).filter(|rid| options_by_method.get(*rid).capture.0.calls);
            let descriptions = description::of_methods(image, metadata, captured)?;
            let mark = Mark {
                module_key,
                tool: weaving.tool,
                options: &words,
                names: names.as_deref(),
                descriptions: descriptions.as_deref(),
                lines: lines.as_ref().map(|lines| &lines.table[..]),
            };
            merged.tokens.mark(constructor, &mark.to_blob())?;
        }
        let lines = lines.map(|CountedLines { ty, count, .. }| {
            let refs = LinesRefs::ask(&mut merged.tokens, metadata, weaving.tracker)?;
            Ok(NewLines { ty, refs, module_key, count })
        });
        let lines = lines.transpose()?;
        let module = Module { image, metadata, weaving, module_key, words, lines_trouble };
        Ok(Marked { merged, module, calls, debug, pdb, lines })
    }
}

/// The module, and all that was asked for it.
struct Module<'a, 'm> {
    image: &'m Image<'a>,
    metadata: &'m Metadata<'a>,
    weaving: &'m Weave<'m>,
    module_key: u64,
    /// The options as the mark states them.
    words: String,
    /// See [`WovenBodies::lines_trouble`].
    lines_trouble: Option<LinesTrouble>,
}

/// Woven bodies with the mark. All tokens are there, but for signatures of locals.
struct Marked<'a, 'm> {
    merged: Merged<'a, Tokens<'a, 'm>>,
    module: Module<'a, 'm>,
    calls: Vec<CallTarget>,
    debug: DebugInfo<'a, 'm>,
    pdb: Option<Cow<'m, [u8]>>,
    lines: Option<NewLines>,
}

/// A module in which no method was woven.
fn unchanged<'a>(
    image: &Image<'a>,
    metadata: &Metadata<'_>,
    module_key: u64,
    methods: Vec<Result<Shape, Reason>>,
) -> Result<Woven<'a>, Error> {
    let is_component = image.precompiled() == Some(Precompiled::Component);
    Ok(Woven {
        file: OutputFile::unchanged(image.bytes()).into_segments(),
        bodies: Vec::new(),
        methods,
        calls: Vec::new(),
        additions: Additions::default(),
        module_key,
        mvid: metadata.mvid()?,
        pdb: None,
        notes: is_component.then_some(Note::CompositeCodeKept).into_iter().collect(),
    })
}

/// The records of a woven method for the PDB, and its new signature of locals.
type PdbRecords = Vec<(Result<MethodDebug, Error>, Option<Token>)>;

/// Merged bodies, with the rows of their locals' signatures.
struct LocalsSettled<'a, 'm> {
    builder: MetadataBuilder<'a, 'm>,
    embedded: Option<Arc<Embedded<'m>>>,
    code: Segments<'a>,
    bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    records: PdbRecords,
    methods: Vec<Result<Shape, Reason>>,
}

/// Methods with the RVAs of their bodies. Every row is there.
struct BodiesPlaced<'a, 'm> {
    builder: MetadataBuilder<'a, 'm>,
    code: Segments<'a>,
    bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    records: PdbRecords,
    methods: Vec<Result<Shape, Reason>>,
}

/// Metadata that do not change any more, and break no reference of the input.
struct Complete<'a, 'm> {
    placed: BodiesPlaced<'a, 'm>,
    mvid: [u8; 16],
}

/// A module with its PDB. Only the headers are missing.
struct Described<'a, 'm> {
    builder: MetadataBuilder<'a, 'm>,
    code: Segments<'a>,
    bodies: Vec<(Rid<MethodDef>, Range<usize>)>,
    methods: Vec<Result<Shape, Reason>>,
    mvid: [u8; 16],
    debug: DebugOutput<'a>,
}

impl<'a, 'm> Merged<'a, Tokens<'a, 'm>> {
    /// Gives the signatures of locals rows. All other tokens are there.
    fn settle_locals(
        self,
        image: &Image<'a>,
        metadata: &Metadata<'a>,
        writer: &ImageWriter<'_, '_>,
    ) -> Result<LocalsSettled<'a, 'm>, Error> {
        let Self { tokens: Tokens { mut builder, embedded, local_sigs }, mut code, bodies, body_sigs, records, methods, .. } =
            self;
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
        let records = records.into_iter().map(|(records, local_sig)| (records, local_sig.map(settled))).collect();
        Ok(LocalsSettled { builder, embedded, code, bodies, records, methods })
    }
}

impl<'a, 'm> LocalsSettled<'a, 'm> {
    /// Gives the bodies addresses, and adds the types that are the tracker's.
    fn place_bodies(self, writer: &ImageWriter<'_, '_>, lines: Option<NewLines>) -> Result<BodiesPlaced<'a, 'm>, Error> {
        let Self { mut builder, embedded, mut code, bodies, records, methods } = self;
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
        if let Some(lines) = lines {
            code.push(lines.add_to(&mut builder, rva(code.len())?)?);
        }
        Ok(BodiesPlaced { builder, code, bodies, records, methods })
    }
}

impl<'a, 'm> BodiesPlaced<'a, 'm> {
    /// Gives the module its MVID.
    fn complete(mut self, module: &Module<'a, 'm>) -> Result<Complete<'a, 'm>, Error> {
        let Module { image, metadata, weaving, module_key, words, .. } = module;
        dangling::refuse(image, metadata, &self.methods, &self.builder.growth())?;
        // A composite image lists the MVIDs of its components. The runtime ends a program that loads a component with
        // another MVID.
        let mvid = match image.precompiled() {
            Some(Precompiled::Component) => metadata.mvid()?,
            _ => woven_mvid(*module_key, weaving.tool, words),
        };
        self.builder.set_mvid(mvid);
        Ok(Complete { placed: self, mvid })
    }
}

impl<'a, 'm> Complete<'a, 'm> {
    fn update_pdb(self, module: &Module<'a, 'm>, mut debug: DebugInfo<'a, 'm>, pdb: Option<Cow<'m, [u8]>>) -> Described<'a, 'm> {
        let Self { placed: BodiesPlaced { builder, code, bodies, records, methods }, mvid } = self;
        let new_pdb = update_pdb(&mut debug, pdb.as_deref(), records, (module.metadata.tables.counts(), builder.counts()));
        // The PDB may be as large as the file.
        drop(pdb);
        let debug = debug.finish(new_pdb, module.weaving.pdb_name);
        Described { builder, code, bodies, methods, mvid, debug }
    }
}

impl<'a, 'm> Described<'a, 'm> {
    fn write(self, module: &Module<'a, 'm>, writer: ImageWriter<'a, 'm>, calls: Vec<CallTarget>) -> Result<Woven<'a>, Error> {
        let Self { builder, code, mut bodies, methods, mvid, debug: (entries, pdb, trouble) } = self;
        let Module { image, metadata, weaving, module_key, .. } = module;
        let (mut writer, mut notes) = adapt_headers(image, writer);
        writer.set_debug(entries);
        notes.extend(trouble.map(Note::PdbRemoved));
        notes.extend(module.lines_trouble.map(Note::NoLines));
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
        let file = file.into_segments();
        Ok(Woven { file, bodies, methods, calls, additions, module_key: *module_key, mvid, pdb, notes })
    }
}

/// The new PDB, if the old one can be updated. It states the row counts of the woven assembly in place of the input's.
fn update_pdb(
    debug: &mut DebugInfo<'_, '_>,
    pdb: Option<&[u8]>,
    records: PdbRecords,
    (before, after): (&RowCounts, RowCounts),
) -> Option<NewPdb> {
    let old_pdb = debug.check(pdb.map(Pdb::parse));
    let is_embedded = debug.is_embedded();
    let new_pdb = old_pdb.as_ref().map(|pdb| {
        let mut new = PdbBuilder::new(pdb);
        let records = records.into_iter().map(|(records, local_sig)| Ok((records?, local_sig)));
        new.put_all(records.collect::<Result<_, Error>>()?)?;
        new.finish(before, after, is_embedded)
    });
    debug.check(new_pdb)
}

/// The MVID of the woven module. It differs from the original's: with the same one, Mono would run the code that it
/// compiled ahead of time for the original.
fn woven_mvid(module_key: u64, tool: &str, options: &str) -> [u8; 16] {
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
