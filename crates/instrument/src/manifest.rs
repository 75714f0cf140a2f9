//! The manifest beside each output, by which anyone can audit a run. `docs/manifest-format.md` describes its format.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use ecma335::{
    Metadata, Rid,
    heap::format_guid,
    metadata::join,
    schema::{MethodDef, TypeDef},
};
use serde_json::{Value, json};
use weave::{CallTarget, Note, Reason, Shape};

use crate::{
    file_identity::FileIdentity,
    tracker::{TOOL, TrackerFile},
};

/// The contents of a manifest beside those from metadata.
pub(crate) struct Manifest<'a> {
    /// The options, as text.
    pub(crate) options: &'a str,
    /// The identity of the input.
    pub(crate) input: FileIdentity,
    /// The tracker of the output.
    pub(crate) tracker: &'a TrackerFile,
    /// Whether the tracker is embedded in the output.
    pub(crate) is_embedded: bool,
    /// The first part of the method ids.
    pub(crate) module_key: u64,
    /// The MVID of the instrumented module.
    pub(crate) mvid: [u8; 16],
    /// Notes for the user.
    pub(crate) notes: &'a [Note],
    /// By MethodDef row number less one.
    pub(crate) methods: &'a [Result<Shape, Reason>],
    /// The targets of instrumented call sites.
    pub(crate) calls: &'a [CallTarget],
}

/// The version of the format; another number means that readers must change.
const SCHEMA: u32 = 3;
/// The size of the text buffer in bytes.
const PIECE: usize = 64 << 10;

impl Manifest<'_> {
    /// Writes the manifest. The output's identity comes last, and is computed after the rest is written.
    pub(crate) fn write(
        &self,
        metadata: &Metadata<'_>,
        output: impl FnOnce() -> FileIdentity,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let decisions = self.decisions();
        let mut tracker = self.tracker.identity.to_json();
        if self.is_embedded {
            tracker["embedded"] = true.into();
        }
        let header = json!({
            "schema": SCHEMA,
            "tool": TOOL,
            "options": self.options,
            "input": self.input.to_json(),
            "tracker": tracker,
            "assembly": metadata.display_name(),
            "inputMvid": format_guid(&metadata.mvid().map_err(io::Error::other)?),
            "outputMvid": format_guid(&self.mvid),
            "moduleKey": format!("{:010x}", self.module_key),
            "notes": self.notes.iter().map(|note| json!({ "code": note.code(), "text": note.to_string() })).collect::<Vec<_>>(),
            "decisions": decisions,
        });
        let header = serde_json::to_string_pretty(&header)?;
        let mut text = header.trim_end_matches("\n}").as_bytes().to_vec();
        put_types(&mut text, metadata).map_err(io::Error::other)?;
        self.put_methods(&mut text, metadata, &decisions, out)?;
        self.put_calls(&mut text, metadata).map_err(io::Error::other)?;
        out.write_all(&text)?;
        writeln!(out, ",\n  \"output\": {}\n}}", output().to_json())
    }

    /// Writes a line for each method of another assembly whose calls have probes.
    fn put_calls(&self, text: &mut Vec<u8>, metadata: &Metadata<'_>) -> ecma335::Result<()> {
        put(text, &[b",\n  \"calls\": ["]);
        for (index, target) in self.calls.iter().enumerate() {
            put(text, &[if index == 0 { b"\n[" } else { b",\n[" }]);
            put_number(text, target.member_ref.get());
            put(text, &[b","]);
            put_quoted(text, &target.name(metadata)?);
            put(text, &[if target.id.waits() { b",true]" } else { b",false]" }]);
        }
        put(text, &[b"\n  ]"]);
        Ok(())
    }

    /// Returns the codes of the methods' results, each once.
    fn decisions(&self) -> Vec<&'static str> {
        let mut decisions = Vec::new();
        for decision in self.methods.iter().map(decision) {
            if !decisions.contains(&decision) {
                decisions.push(decision);
            }
        }
        decisions
    }

    /// Writes a line for each method. There are tens of thousands, so the text is formatted by hand and written in pieces.
    fn put_methods(
        &self,
        text: &mut Vec<u8>,
        metadata: &Metadata<'_>,
        decisions: &[&'static str],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let owners = metadata.owners::<TypeDef, MethodDef>();
        put(text, &[b",\n  \"methods\": ["]);
        for ((rid, row), outcome) in metadata.tables.rows::<MethodDef>().zip(self.methods) {
            let name = metadata.strings.string(row.name).map_err(io::Error::other)?;
            let owner = owners.owner_of(rid).unwrap_or(Rid::NONE);
            put(text, &[if rid.get() == 1 { b"\n[" } else { b",\n[" }]);
            put_number(text, owner.get());
            put(text, &[b","]);
            put_quoted(text, &name);
            put(text, &[b","]);
            put_number(text, decisions.iter().position(|code| *code == decision(outcome)).unwrap_or_default() as u32);
            let detail = outcome.as_ref().err().filter(|reason| !reason.is_expected());
            let source = may_be_made(&name).then(|| source(metadata, owner, &name)).flatten();
            if let Some(source) = &source {
                put(text, &[b","]);
                put_quoted(text, source);
            }
            if let Some(detail) = detail {
                put(text, &[if source.is_some() { b"," } else { b",null," }]);
                put_quoted(text, &detail.to_string());
            }
            put(text, &[b"]"]);
            if text.len() >= PIECE {
                out.write_all(text)?;
                text.clear();
            }
        }
        put(text, &[b"\n  ]"]);
        Ok(())
    }
}

/// Returns the code of a method's result: the shape of its probes, or the reason why it was skipped.
fn decision(outcome: &Result<Shape, Reason>) -> &'static str {
    match outcome {
        Ok(Shape::Finally) => "finally",
        Ok(Shape::Return) => "return",
        Ok(Shape::Counted) => "lines",
        Err(reason) => reason.code(),
    }
}

/// Writes a line for each type: its own name, and the row of its enclosing type. Full names would grow with the depth of nesting.
fn put_types(text: &mut Vec<u8>, metadata: &Metadata<'_>) -> ecma335::Result<()> {
    let enclosing = metadata.enclosing_types();
    put(text, &[b",\n  \"types\": ["]);
    for (index, (_, row)) in metadata.tables.rows::<TypeDef>().enumerate() {
        put(text, &[if index == 0 { b"\n[" } else { b",\n[" }]);
        put_quoted(text, &join(&metadata.strings.string(row.namespace)?, &metadata.strings.string(row.name)?));
        if let Some(outer) = enclosing.get(index).filter(|outer| **outer != Rid::NONE) {
            put(text, &[b","]);
            put_number(text, outer.get());
        }
        put(text, &[b"]"]);
    }
    put(text, &[b"\n  ]"]);
    Ok(())
}

/// Returns whether a method of this name may be compiler-generated from another: a cheap test before its type's name is read.
fn may_be_made(name: &str) -> bool {
    name.starts_with('<') || name.starts_with("MoveNext")
}

/// Returns the name in the source of a compiler-generated method, without its type.
fn source(metadata: &Metadata<'_>, owner: Rid<TypeDef>, name: &str) -> Option<String> {
    let type_name = metadata.strings.string(metadata.row(owner).ok()?.name).ok()?;
    names::source_name(&type_name, name).map(|source| source.member())
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

fn put_number(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes a JSON string.
fn put_quoted(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        put(out, &[b"\"", text.as_bytes(), b"\""]);
    } else {
        out.extend_from_slice(Value::from(text).to_string().as_bytes());
    }
}

/// The suffix of a manifest's file name, after the name of the instrumented file.
pub const MANIFEST_SUFFIX: &str = ".ilinst.json";

/// Returns the path of an output's manifest: `app.dll.ilinst.json` (docs/manifest-format.md).
pub fn manifest_path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(MANIFEST_SUFFIX);
    path.into()
}
