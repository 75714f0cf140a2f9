//! The constants of the format in C#, for the tracker.

use std::fmt::{self, Write};

use crate::{
    captured::{self, CallEnd, CallFlags, CallRecordKind, DescriptionKind, TypeShape, UnreadReason, ValueKind},
    chunks::{self, ChunkKind, NameKind, PhaseKind},
    declare::Declaration,
    first_block::{self, ClockKind, Command, HeaderFlags, RecordingMode},
    trees::{self, NodeFlags},
};

const DECLARATIONS: [Declaration; 30] = [
    first_block::header::DECLARATION,
    first_block::control::DECLARATION,
    HeaderFlags::DECLARATION,
    ClockKind::DECLARATION,
    RecordingMode::DECLARATION,
    Command::DECLARATION,
    chunks::chunk::DECLARATION,
    ChunkKind::DECLARATION,
    trees::tree::DECLARATION,
    trees::node::DECLARATION,
    NodeFlags::DECLARATION,
    trees::frame::DECLARATION,
    trees::async_record::DECLARATION,
    trees::few_calls::DECLARATION,
    trees::statistics::DECLARATION,
    chunks::names::DECLARATION,
    NameKind::DECLARATION,
    chunks::event::DECLARATION,
    chunks::counter::DECLARATION,
    chunks::lines::DECLARATION,
    chunks::phase::DECLARATION,
    PhaseKind::DECLARATION,
    captured::calls::DECLARATION,
    CallRecordKind::DECLARATION,
    CallFlags::DECLARATION,
    CallEnd::DECLARATION,
    DescriptionKind::DECLARATION,
    TypeShape::DECLARATION,
    ValueKind::DECLARATION,
    UnreadReason::DECLARATION,
];

/// Constants that only the CLR profiler writes.
const OTHERS: [(&str, &str); 2] = [("RecordingMode", "Cpu"), ("RecordingMode", "Wall")];

/// Returns the C# source of the format's constants, which is `tracker-runtime/File/Format.cs`.
pub fn csharp() -> String {
    let classes: Vec<String> = DECLARATIONS.iter().map(ToString::to_string).collect();
    format!(
        "// Generated from crates/profile-format by `cargo xtask tracker`: do not edit.\n\nnamespace Ilinst\n{{\n{}}}\n",
        classes.join("\n")
    )
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "    /// <summary>{}</summary>", summary(self.doc))?;
        writeln!(f, "    internal static partial class {}\n    {{", self.name)?;
        let written = self.constants.iter().filter(|(name, ..)| !OTHERS.contains(&(self.name, *name)));
        for (name, number, value, doc) in written {
            writeln!(f, "        /// <summary>{}</summary>", summary(doc))?;
            let number = match *number {
                "u8" => "byte",
                _ if *value > i32::MAX as u64 => "ulong",
                _ => "int",
            };
            writeln!(f, "        public const {number} {} = {value};", pascal(name))?;
        }
        f.write_str("    }\n")
    }
}

/// Returns a doc comment as XML.
fn summary(lines: &[&str]) -> String {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('`', "")
}

/// Returns a name in the form of C#: `FIRST_AT` is `FirstAt`. Names of kinds have it already.
fn pascal(name: &str) -> String {
    if name.chars().any(char::is_lowercase) {
        return name.to_owned();
    }
    let mut pascal = String::new();
    for word in name.split('_') {
        let (first, rest) = word.split_at(word.len().min(1));
        let _ = write!(pascal, "{first}{}", rest.to_lowercase());
    }
    pascal
}
