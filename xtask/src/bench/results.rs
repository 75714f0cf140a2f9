//! The measurements, as numbers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

use super::{
    measure::Usage,
    tools::{Leave, Tool},
};

pub(super) const MIB: f64 = 1_048_576.0;

/// The kind of an input, on which goals depend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Native code beside IL; instrumenting removes the native code.
    ReadyToRun,
    /// Native code and an embedded PDB; instrumenting keeps the PDB.
    EmbeddedPdb,
    IlOnly,
    /// IL only, generated for the bench.
    Made,
    /// A folder of assemblies.
    Folder,
}

impl Kind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::ReadyToRun => "ReadyToRun",
            Self::EmbeddedPdb => "ReadyToRun, embedded PDB",
            Self::IlOnly => "IL only",
            Self::Made => "IL only, made",
            Self::Folder => "folder",
        }
    }
}

pub(super) struct Input {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// The largest multiple of the floor's time allowed for `ilinst`.
    pub(super) max_times_floor: Option<f64>,
    /// The assemblies, as paths relative to the folder; a single file has an empty path.
    assemblies: Vec<PathBuf>,
    /// The total size of the assemblies, in bytes.
    pub(super) bytes: u64,
}

impl Input {
    pub(super) fn new(path: PathBuf, kind: Kind, max_times_floor: Option<f64>) -> Result<Self> {
        let mut assemblies = Vec::new();
        match kind {
            Kind::Folder => collect(&path, Path::new(""), &mut assemblies)?,
            _ => assemblies.push(PathBuf::new()),
        }
        let mut input = Self { path, kind, max_times_floor, assemblies, bytes: 0 };
        input.bytes = input.output_bytes(&input.path)?;
        Ok(input)
    }

    /// Returns the total size in bytes of the outputs for these assemblies.
    pub(super) fn output_bytes(&self, output: &Path) -> Result<u64> {
        let path = |name: &PathBuf| if name.as_os_str().is_empty() { output.to_owned() } else { output.join(name) };
        self.assemblies.iter().map(|name| Ok(fs::metadata(path(name))?.len())).sum()
    }

    pub(super) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match self.kind {
            Kind::Folder => format!("SDK {name}, {} assemblies", self.assemblies.len()),
            kind => format!("{name} ({})", kind.word()),
        }
    }
}

fn collect(root: &Path, folder: &Path, assemblies: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, assemblies)?;
        } else if path.extension().is_some_and(|extension| extension == "dll" || extension == "exe") {
            assemblies.push(path);
        }
    }
    Ok(())
}

/// The measurements of a tool for an input, round by round.
pub(super) struct Series {
    pub(super) tool: Tool,
    /// The number of rounds to run.
    pub(super) rounds: usize,
    pub(super) usages: Vec<Usage>,
    pub(super) output_bytes: u64,
    /// The number of instrumented methods, if the tool instruments.
    pub(super) woven: Option<u64>,
}

impl Series {
    pub(super) fn new(tool: Tool, rounds: usize) -> Self {
        Self { tool, rounds, usages: Vec::new(), output_bytes: 0, woven: None }
    }

    pub(super) fn wall_ms(&self) -> Spread {
        self.spread(|usage| usage.wall_ms)
    }

    pub(super) fn cpu_ms(&self) -> Spread {
        self.spread(|usage| usage.cpu_ms)
    }

    pub(super) fn peak_mib(&self) -> Spread {
        self.spread(|usage| usage.peak_mib)
    }

    fn spread(&self, value: impl Fn(&Usage) -> f64) -> Spread {
        Spread::new(&self.usages.iter().map(value).collect::<Vec<_>>())
    }
}

#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// Of an even number of values, the median is the upper one of the two in the middle.
    pub(super) fn new(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        Self { median: at(sorted.len() / 2), min: at(0), max: at(sorted.len().saturating_sub(1)) }
    }
}

/// The measurements of all tools for an input.
pub(super) struct Measured {
    pub(super) input: Input,
    pub(super) series: Vec<Series>,
}

impl Measured {
    pub(super) fn is_file(&self) -> bool {
        self.input.kind != Kind::Folder
    }

    pub(super) fn series_of(&self, tool: Tool) -> Option<&Series> {
        self.series.iter().find(|series| series.tool == tool)
    }

    /// Returns the Cecil program on its fastest host for this input.
    pub(super) fn best_cecil(&self, leave: Leave) -> Option<&Series> {
        let on_hosts = self.series.iter().filter(|series| matches!(series.tool, Tool::Cecil(mode, _) if mode == leave));
        on_hosts.min_by(|one, other| one.wall_ms().median.total_cmp(&other.wall_ms().median))
    }
}

/// Start-up times in milliseconds.
#[derive(Default)]
pub(super) struct Start {
    pub(super) ilinst: Vec<f64>,
    /// Of a program that does nothing.
    pub(super) nothing: Vec<f64>,
}

pub(super) struct Results {
    pub(super) inputs: Vec<Measured>,
    pub(super) start: Start,
}
