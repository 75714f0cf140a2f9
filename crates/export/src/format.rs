//! The formats by name and by file extension.

/// An export format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Folded stacks: a line for each call path, for flame graph tools.
    Folded,
    /// speedscope's own format.
    Speedscope,
    /// pprof: a gzipped protocol buffer.
    Pprof,
    /// Chrome's trace events, which Perfetto reads too.
    Trace,
    /// The whole profile as JSON; `docs/profile.schema.json` describes it.
    Json,
    /// A row for each call path of each thread.
    Csv,
    /// The rows of [`Csv`](Format::Csv) as Parquet, for data lakes.
    Parquet,
    /// Lines by count, as Cobertura's XML.
    Cobertura,
    /// Lines by count, as lcov's tracefile.
    Lcov,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Folded,
        Self::Speedscope,
        Self::Pprof,
        Self::Trace,
        Self::Json,
        Self::Csv,
        Self::Parquet,
        Self::Cobertura,
        Self::Lcov,
    ];

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Folded => "folded",
            Self::Speedscope => "speedscope",
            Self::Pprof => "pprof",
            Self::Trace => "trace",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Cobertura => "cobertura",
            Self::Lcov => "lcov",
        }
    }

    /// Returns the file name extensions of the format; the first is the default.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Folded => &["folded", "collapsed"],
            Self::Speedscope => &["speedscope.json"],
            Self::Pprof => &["pb.gz", "pprof"],
            Self::Trace => &["trace.json", "perfetto.json"],
            Self::Json => &["json"],
            Self::Csv => &["csv"],
            Self::Parquet => &["parquet"],
            Self::Cobertura => &["cobertura.xml", "xml"],
            Self::Lcov => &["info", "lcov"],
        }
    }

    /// Returns whether the format is text.
    pub fn is_text(self) -> bool {
        !matches!(self, Self::Pprof | Self::Parquet)
    }

    /// Returns whether the format has lines of source, and no calls.
    pub fn has_lines(self) -> bool {
        matches!(self, Self::Cobertura | Self::Lcov)
    }

    /// Returns whether the format writes each path from its outermost call.
    pub fn has_whole_paths(self) -> bool {
        matches!(self, Self::Folded | Self::Pprof | Self::Csv | Self::Parquet)
    }

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns the format that a file name's extension stands for. The longest matching extension wins.
    pub fn of_file(name: &str) -> Option<Self> {
        let endings =
            Self::ALL.into_iter().flat_map(|format| format.extensions().iter().map(move |ending| (ending.len(), format)));
        let lower = name.to_lowercase();
        let ends = |(length, format): &(usize, Self)| {
            format.extensions().iter().any(|ending| ending.len() == *length && lower.ends_with(&format!(".{ending}")))
        };
        endings.filter(ends).max_by_key(|(length, _)| *length).map(|(_, format)| format)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_tell_formats() {
        for (name, format) in [
            ("a.folded", Some(Format::Folded)),
            ("a.json", Some(Format::Json)),
            ("a.speedscope.json", Some(Format::Speedscope)),
            ("A.Trace.JSON", Some(Format::Trace)),
            ("a.pb.gz", Some(Format::Pprof)),
            ("coverage.xml", Some(Format::Cobertura)),
            ("lcov.info", Some(Format::Lcov)),
            ("a.gz", None),
            ("json", None),
            ("", None),
        ] {
            assert_eq!(Format::of_file(name), format, "{name}");
        }
        assert!(Format::ALL.iter().all(|format| Format::named(format.name()) == Some(*format)));
    }
}
