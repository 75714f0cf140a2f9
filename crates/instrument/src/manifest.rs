//! The manifest beside each output: lets anyone audit a run.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use ecma335::{
    Metadata, Rid, Table, Token,
    heap::format_guid,
    schema::{MethodDef, TypeDef},
};
use identity::MethodId;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use weave::{Note, Reason, Shape};

use crate::tracker::{TOOL, TRACKER, TRACKER_FILE};

/// What a manifest says beside what the metadata says.
pub(crate) struct Manifest<'a> {
    /// The options in words.
    pub(crate) options: &'a str,
    /// The input.
    pub(crate) input: FileIdentity,
    /// What the method ids begin with.
    pub(crate) module_key: u64,
    /// The woven module's version identifier.
    pub(crate) mvid: [u8; 16],
    /// What the user should know.
    pub(crate) notes: &'a [Note],
    /// By MethodDef row number less one.
    pub(crate) methods: &'a [Result<Shape, Reason>],
}

/// How much text is put together before it is written.
const PIECE: usize = 64 << 10;

/// A file by name, size and hash.
pub(crate) struct FileIdentity {
    /// Its name, without a folder.
    pub(crate) name: String,
    /// In bytes.
    pub(crate) size: u64,
    /// In hex.
    pub(crate) sha256: String,
}

impl FileIdentity {
    /// Of a file in parts.
    pub(crate) fn of<'b>(name: String, parts: impl Iterator<Item = &'b [u8]>) -> Self {
        let mut hash = Sha256::new();
        let mut size = 0;
        for part in parts {
            hash.update(part);
            size += part.len() as u64;
        }
        Self { name, size, sha256: hex::encode(hash.finalize()) }
    }

    fn to_json(&self) -> Value {
        json!({ "file": self.name, "size": self.size, "sha256": self.sha256 })
    }
}

impl Manifest<'_> {
    /// Writes it. The output's identity comes last, and is not asked for before the rest is written.
    pub(crate) fn write(
        &self,
        metadata: &Metadata<'_>,
        output: impl FnOnce() -> FileIdentity,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let tracker = FileIdentity::of(TRACKER_FILE.into(), std::iter::once(TRACKER));
        let header = json!({
            "tool": TOOL,
            "options": self.options,
            "input": self.input.to_json(),
            "tracker": tracker.to_json(),
            "assembly": metadata.display_name(),
            "inputMvid": format_guid(&metadata.mvid().map_err(io::Error::other)?),
            "outputMvid": format_guid(&self.mvid),
            "moduleKey": format!("{:010x}", self.module_key),
            "notes": self.notes.iter().map(|note| json!({ "code": note.code(), "text": note.to_string() })).collect::<Vec<_>>(),
        });
        let header = serde_json::to_string_pretty(&header)?;
        out.write_all(header.trim_end_matches("\n}").as_bytes())?;
        out.write_all(b",\n  \"types\": [")?;
        self.write_types(metadata, out)?;
        writeln!(out, "\n  ],\n  \"output\": {}\n}}", output().to_json())?;
        Ok(())
    }

    /// A line for each method, under its type: tens of thousands of them, so the text is put together by hand.
    fn write_types(&self, metadata: &Metadata<'_>, out: &mut impl Write) -> io::Result<()> {
        let mut text = Vec::with_capacity(2 * PIECE);
        let mut separator = &b""[..];
        for (index, type_name) in metadata.type_names().map_err(io::Error::other)?.iter().enumerate() {
            let methods = metadata.children(Rid::<TypeDef>::new(index as u32 + 1)).collect::<Vec<Rid<MethodDef>>>();
            if methods.is_empty() {
                continue;
            }
            put(&mut text, &[separator, b"\n    { \"type\": "]);
            put_quoted(&mut text, type_name);
            put(&mut text, &[b", \"methods\": ["]);
            separator = b",";
            let mut comma = &b""[..];
            for method in methods {
                let row = metadata.row(method).map_err(io::Error::other)?;
                let name = metadata.strings.string(row.name).map_err(io::Error::other)?;
                let Some(outcome) = (method.get() as usize).checked_sub(1).and_then(|index| self.methods.get(index)) else {
                    continue;
                };
                put(&mut text, &[comma]);
                comma = b",";
                self.put_method(&mut text, method.get(), type_name, &name, outcome);
            }
            put(&mut text, &[b"\n    ] }"]);
            if text.len() >= PIECE {
                out.write_all(&text)?;
                text.clear();
            }
        }
        out.write_all(&text)?;
        Ok(())
    }

    fn put_method(&self, out: &mut Vec<u8>, rid: u32, type_name: &str, name: &str, outcome: &Result<Shape, Reason>) {
        put(out, &[b"\n      {\"token\":\"0x"]);
        put_hex(out, Token::new(Table::MethodDef, rid).0.to_be_bytes());
        put(out, &[b"\",\"id\":\""]);
        put_hex(out, MethodId::new(self.module_key, rid).0.to_be_bytes());
        put(out, &[b"\",\"name\":"]);
        put_quoted(out, name);
        if let Some(source) = identity::source_name(type_name, name) {
            put(out, &[b",\"source\":"]);
            put_quoted(out, &source.to_string());
        }
        match outcome {
            Ok(Shape::Finally) => put(out, &[b",\"woven\":\"finally\"}"]),
            Ok(Shape::Return) => put(out, &[b",\"woven\":\"return\"}"]),
            Err(reason) => {
                put(out, &[b",\"leftAlone\":\"", reason.code().as_bytes(), b"\""]);
                if !reason.is_expected() {
                    put(out, &[b",\"detail\":"]);
                    put_quoted(out, &reason.to_string());
                }
                put(out, &[b"}"]);
            }
        }
    }
}

fn put(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
}

fn put_hex<const N: usize>(out: &mut Vec<u8>, number: [u8; N]) {
    let start = out.len();
    out.resize(start + 2 * N, 0);
    // There is room for just that many digits.
    let _ = hex::encode_to_slice(number, &mut out[start..]);
}

/// A JSON string.
fn put_quoted(out: &mut Vec<u8>, text: &str) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        put(out, &[b"\"", text.as_bytes(), b"\""]);
    } else {
        out.extend_from_slice(Value::from(text).to_string().as_bytes());
    }
}

/// Where the manifest of an output is.
pub(crate) fn manifest_path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".ilinst.json");
    path.into()
}
