//! pprof: a gzipped protocol buffer. Messages may be written in pieces, whose lists are then one after the other: so a
//! profile's samples, of which each has its path, needn't be in memory together.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use flate2::{Compression, write::GzEncoder};
use prost::Message as _;

use self::message::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use crate::{
    Error, Export, Measure,
    measure::nanoseconds,
    walk::{Step, Walk},
};

/// How many bytes of samples are gathered before they are written.
const PIECE: usize = 1 << 16;
/// The first of the program's 100 ns units since the year 1 that is of 1970.
const UNIX_EPOCH: i64 = 621_355_968_000_000_000;

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let profile = export.profile;
    let measures = Measure::of_profile(profile);
    let mut strings = Strings::new();
    let mut head = Profile {
        time_nanos: i64::try_from(profile.start_time).unwrap_or(UNIX_EPOCH).saturating_sub(UNIX_EPOCH).saturating_mul(100).max(0),
        duration_nanos: nanoseconds(profile, profile.duration),
        ..Profile::default()
    };
    for measure in &measures {
        let unit = if measure.is_time() { "nanoseconds" } else { "count" };
        head.sample_type.push(ValueType { r#type: strings.of(measure.name()), unit: strings.of(unit) });
    }
    let shown = if measures.contains(&Measure::SelfTime) { Measure::SelfTime } else { Measure::Calls };
    head.default_sample_type = strings.of(shown.name());
    for comment in [&profile.program, &profile.runtime, &profile.path].into_iter().filter(|text| !text.is_empty()) {
        head.comment.push(strings.of(comment));
    }
    for (index, module) in profile.modules.iter().enumerate() {
        head.mapping.push(Mapping {
            id: index as u64 + 1,
            filename: strings.of(if module.path.is_empty() { &module.name } else { &module.path }),
            build_id: strings.of(&hex(&module.mvid)),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            ..Mapping::default()
        });
    }
    for (index, (name, function)) in profile.display_names().iter().zip(&profile.functions).enumerate() {
        let id = index as u64 + 1;
        let line = function.line().map_or(0, i64::from);
        head.function.push(Function {
            id,
            name: strings.of(name),
            system_name: strings.of(function.raw_name().as_deref().unwrap_or(name)),
            filename: strings.of(function.file().unwrap_or_default()),
            start_line: line,
        });
        head.location.push(Location {
            id,
            mapping_id: function.module.map_or(0, |module| module as u64 + 1),
            // pprof tells locations apart by their addresses; there are none here, but rows are as good.
            address: u64::from(function.method_id.token()),
            line: vec![Line { function_id: id, line }],
        });
    }
    let mut out = GzEncoder::new(out, Compression::default());
    let thread_key = strings.of("thread");
    let mut piece = Vec::with_capacity(2 * PIECE);
    for tree in &profile.trees {
        let label = [Label { key: thread_key, str: strings.of(&tree.thread_names()) }];
        let values: Vec<Vec<i64>> = measures.iter().map(|measure| measure.of(profile, tree)).collect();
        // The path, its end last.
        let mut path: Vec<u64> = Vec::new();
        for step in Walk::over(tree) {
            let Step::Enter(node) = step else {
                path.pop();
                continue;
            };
            path.push(tree.nodes.get(node).map_or(0, |node| node.function as u64 + 1));
            let value: Vec<i64> = values.iter().map(|values| values.get(node).copied().unwrap_or_default()).collect();
            if value.iter().any(|value| *value != 0) {
                let location_id = path.iter().rev().copied().collect();
                let sample = Sample { location_id, value, label: label.to_vec() };
                Profile { sample: vec![sample], ..Profile::default() }.encode(&mut piece).map_err(io::Error::other)?;
            }
            if piece.len() > PIECE {
                out.write_all(&piece)?;
                piece.clear();
            }
        }
    }
    head.string_table = strings.list;
    head.encode(&mut piece).map_err(io::Error::other)?;
    out.write_all(&piece)?;
    out.finish()?;
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Strings by number; the first is empty.
struct Strings {
    list: Vec<String>,
    numbers: HashMap<String, i64>,
}

impl Strings {
    fn new() -> Self {
        Self { list: vec![String::new()], numbers: HashMap::from([(String::new(), 0)]) }
    }

    fn of(&mut self, text: &str) -> i64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// The messages of pprof's `profile.proto`, those fields that are written.
mod message {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Profile {
        #[prost(message, repeated, tag = "1")]
        pub(super) sample_type: Vec<ValueType>,
        #[prost(message, repeated, tag = "2")]
        pub(super) sample: Vec<Sample>,
        #[prost(message, repeated, tag = "3")]
        pub(super) mapping: Vec<Mapping>,
        #[prost(message, repeated, tag = "4")]
        pub(super) location: Vec<Location>,
        #[prost(message, repeated, tag = "5")]
        pub(super) function: Vec<Function>,
        #[prost(string, repeated, tag = "6")]
        pub(super) string_table: Vec<String>,
        #[prost(int64, tag = "9")]
        pub(super) time_nanos: i64,
        #[prost(int64, tag = "10")]
        pub(super) duration_nanos: i64,
        #[prost(int64, repeated, tag = "13")]
        pub(super) comment: Vec<i64>,
        #[prost(int64, tag = "14")]
        pub(super) default_sample_type: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct ValueType {
        #[prost(int64, tag = "1")]
        pub(super) r#type: i64,
        #[prost(int64, tag = "2")]
        pub(super) unit: i64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Sample {
        /// From the innermost out.
        #[prost(uint64, repeated, tag = "1")]
        pub(super) location_id: Vec<u64>,
        #[prost(int64, repeated, tag = "2")]
        pub(super) value: Vec<i64>,
        #[prost(message, repeated, tag = "3")]
        pub(super) label: Vec<Label>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct Label {
        #[prost(int64, tag = "1")]
        pub(super) key: i64,
        #[prost(int64, tag = "2")]
        pub(super) str: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct Mapping {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(uint64, tag = "2")]
        pub(super) memory_start: u64,
        #[prost(uint64, tag = "3")]
        pub(super) memory_limit: u64,
        #[prost(int64, tag = "5")]
        pub(super) filename: i64,
        #[prost(int64, tag = "6")]
        pub(super) build_id: i64,
        #[prost(bool, tag = "7")]
        pub(super) has_functions: bool,
        #[prost(bool, tag = "8")]
        pub(super) has_filenames: bool,
        #[prost(bool, tag = "9")]
        pub(super) has_line_numbers: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Location {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(uint64, tag = "2")]
        pub(super) mapping_id: u64,
        #[prost(uint64, tag = "3")]
        pub(super) address: u64,
        #[prost(message, repeated, tag = "4")]
        pub(super) line: Vec<Line>,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct Line {
        #[prost(uint64, tag = "1")]
        pub(super) function_id: u64,
        #[prost(int64, tag = "2")]
        pub(super) line: i64,
    }

    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub(super) struct Function {
        #[prost(uint64, tag = "1")]
        pub(super) id: u64,
        #[prost(int64, tag = "2")]
        pub(super) name: i64,
        #[prost(int64, tag = "3")]
        pub(super) system_name: i64,
        #[prost(int64, tag = "4")]
        pub(super) filename: i64,
        #[prost(int64, tag = "5")]
        pub(super) start_line: i64,
    }
}
