//! pprof: a gzipped protocol buffer. A message may be written in pieces, whose lists are concatenated. So the samples of a
//! profile, each with its path, need not be in memory together.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use flate2::{Compression, write::GzEncoder};
use names::Visible;
use profile::model::Mode;
use prost::Message as _;

use self::message::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use crate::{
    Error, Export, Measure,
    measure::nanoseconds,
    walk::{Step, Walk},
};

/// Bytes of samples that are gathered before they are written.
const PIECE: usize = 1 << 16;
/// The start of 1970 in the profile's 100 ns units since the year 1.
const UNIX_EPOCH: i64 = 621_355_968_000_000_000;

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let profile = export.profile;
    let mut measures = Measure::of_profile(profile);
    if profile.mode == Mode::Cpu {
        // As pprof's own CPU profiles have it: `samples`, then `cpu`, which is all of the running time.
        measures = vec![Measure::Samples, Measure::Cpu];
    }
    let mut strings = Strings::new();
    let mut head = Profile {
        time_nanos: i64::try_from(profile.start_time).unwrap_or(UNIX_EPOCH).saturating_sub(UNIX_EPOCH).saturating_mul(100).max(0),
        duration_nanos: nanoseconds(profile, profile.duration),
        ..Profile::default()
    };
    for measure in &measures {
        let (name, unit) = measure.in_pprof();
        head.sample_type.push(ValueType { r#type: strings.index(name), unit: strings.index(unit) });
    }
    let shown = [Measure::SelfTime, Measure::Cpu].into_iter().find(|measure| measures.contains(measure));
    head.default_sample_type = strings.index(shown.unwrap_or(Measure::Calls).name());
    for comment in [&profile.program, &profile.runtime, &profile.path].into_iter().filter(|text| !text.is_empty()) {
        head.comment.push(strings.index(comment));
    }
    for (index, module) in profile.modules.iter().enumerate() {
        head.mapping.push(Mapping {
            id: index as u64 + 1,
            filename: strings.index(if module.path.is_empty() { &module.name } else { &module.path }),
            build_id: strings.index(&hex::encode(module.mvid)),
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
            name: strings.index(name),
            system_name: strings.index(function.raw_name().as_deref().unwrap_or(name)),
            filename: strings.index(function.file().unwrap_or_default()),
            start_line: line,
        });
        head.location.push(Location {
            id,
            mapping_id: function.module.map_or(0, |module| module as u64 + 1),
            // pprof tells locations apart by their addresses. There are none here, so metadata tokens take their place.
            address: u64::from(function.method_id.token()),
            line: vec![Line { function_id: id, line }],
        });
    }
    let mut out = GzEncoder::new(out, Compression::default());
    let thread_key = strings.index("thread");
    let mut piece = Vec::with_capacity(2 * PIECE);
    for tree in &profile.trees {
        let label = [Label { key: thread_key, str: strings.index(&tree.thread_names()) }];
        let values: Vec<Vec<i64>> = measures.iter().map(|measure| measure.values(profile, tree)).collect();
        // The current path, innermost call last.
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

/// Strings by index; the first is empty.
struct Strings {
    list: Vec<String>,
    numbers: HashMap<String, i64>,
}

impl Strings {
    fn new() -> Self {
        Self { list: vec![String::new()], numbers: HashMap::from([(String::new(), 0)]) }
    }

    /// Returns the index of a text. Control characters become escapes, since pprof prints names to terminals unchanged.
    fn index(&mut self, text: &str) -> i64 {
        let text = &*Visible(text).to_string();
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// The messages of pprof's `profile.proto`, with the fields that are written.
mod message {
    macro_rules! messages {
        ($($message:ident { $($(#[$doc:meta])* $field:ident: $type:ty = [$($kind:tt)*],)* })*) => {$(
            #[derive(Clone, PartialEq, prost::Message)]
            pub(super) struct $message {
                $($(#[$doc])* #[prost($($kind)*)] pub(super) $field: $type,)*
            }
        )*};
    }
    messages! {
        Profile {
            sample_type: Vec<ValueType> = [message, repeated, tag = "1"],
            sample: Vec<Sample> = [message, repeated, tag = "2"],
            mapping: Vec<Mapping> = [message, repeated, tag = "3"],
            location: Vec<Location> = [message, repeated, tag = "4"],
            function: Vec<Function> = [message, repeated, tag = "5"],
            string_table: Vec<String> = [string, repeated, tag = "6"],
            time_nanos: i64 = [int64, tag = "9"],
            duration_nanos: i64 = [int64, tag = "10"],
            comment: Vec<i64> = [int64, repeated, tag = "13"],
            default_sample_type: i64 = [int64, tag = "14"],
        }
        ValueType {
            r#type: i64 = [int64, tag = "1"],
            unit: i64 = [int64, tag = "2"],
        }
        Sample {
            /// The call path, innermost call first.
            location_id: Vec<u64> = [uint64, repeated, tag = "1"],
            value: Vec<i64> = [int64, repeated, tag = "2"],
            label: Vec<Label> = [message, repeated, tag = "3"],
        }
        Label {
            key: i64 = [int64, tag = "1"],
            str: i64 = [int64, tag = "2"],
        }
        Mapping {
            id: u64 = [uint64, tag = "1"],
            memory_start: u64 = [uint64, tag = "2"],
            memory_limit: u64 = [uint64, tag = "3"],
            filename: i64 = [int64, tag = "5"],
            build_id: i64 = [int64, tag = "6"],
            has_functions: bool = [bool, tag = "7"],
            has_filenames: bool = [bool, tag = "8"],
            has_line_numbers: bool = [bool, tag = "9"],
        }
        Location {
            id: u64 = [uint64, tag = "1"],
            mapping_id: u64 = [uint64, tag = "2"],
            address: u64 = [uint64, tag = "3"],
            line: Vec<Line> = [message, repeated, tag = "4"],
        }
        Line {
            function_id: u64 = [uint64, tag = "1"],
            line: i64 = [int64, tag = "2"],
        }
        Function {
            id: u64 = [uint64, tag = "1"],
            name: i64 = [int64, tag = "2"],
            system_name: i64 = [int64, tag = "3"],
            filename: i64 = [int64, tag = "4"],
            start_line: i64 = [int64, tag = "5"],
        }
    }
}
