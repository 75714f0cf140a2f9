//! The whole profile as JSON: `docs/profile.schema.json` describes it. Paths are columns of numbers, not objects: a reader can
//! load a million paths as columns, but not as objects.

use std::io::Write;

use profile::{CallTree, Profile, SampleType, model::Function};
use serde::Serialize;

use crate::{
    Error, Export,
    measure::{in_nanoseconds, nanoseconds},
    rows::started_text,
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'p> {
    /// The version of this format.
    version: u32,
    exporter: &'static str,
    program: &'p str,
    path: &'p str,
    runtime: &'p str,
    process: u32,
    started: String,
    end: String,
    mode: &'static str,
    clock: &'static str,
    duration_ns: i64,
    paused_ns: i64,
    cpu_ns: Option<i64>,
    probe_cost_ns: Cost,
    events: u64,
    limits: Vec<String>,
    damage: Option<String>,
    modules: Vec<Module<'p>>,
    functions: Vec<Described<'p>>,
    values: Vec<ValueType>,
    threads: Vec<Thread<'p>>,
    phases: Vec<Phase<'p>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    inside: f64,
    outside: f64,
    clock_read: f64,
}

#[derive(Serialize)]
struct Module<'p> {
    assembly: &'p str,
    name: &'p str,
    mvid: String,
    path: &'p str,
    tool: &'p str,
}

/// A function.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Described<'p> {
    name: String,
    raw_name: Option<String>,
    parameters: Option<&'p str>,
    token: String,
    module: Option<usize>,
    file: Option<&'p str>,
    line: Option<u32>,
    waits: bool,
    exception_type: Option<&'p str>,
    calls: Option<Calls>,
}

/// The durations of single calls.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Calls {
    first_ns: i64,
    min_ns: i64,
    p50_ns: Option<i64>,
    p95_ns: Option<i64>,
    p99_ns: Option<i64>,
    max_ns: i64,
}

#[derive(Serialize)]
struct ValueType {
    name: &'static str,
    unit: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thread<'p> {
    number: u64,
    name: String,
    threads: u64,
    cpu_ns: Option<i64>,
    lost_calls: u64,
    #[serde(flatten)]
    paths: Paths<'p>,
}

#[derive(Serialize)]
struct Phase<'p> {
    name: &'p str,
    values: Vec<ValueType>,
    threads: Vec<Paths<'p>>,
}

/// The call paths of a thread.
struct Paths<'p> {
    profile: &'p Profile,
    tree: &'p CallTree,
}

impl Serialize for Paths<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Columns<F, C> {
            function: F,
            caller: C,
            values: Vec<Vec<i64>>,
        }
        let nodes = self.tree.nodes.iter();
        let values = |sample_type: &SampleType| in_nanoseconds(self.profile, self.tree, *sample_type);
        let columns = Columns {
            function: nodes.clone().map(|node| node.function).collect::<Vec<usize>>(),
            caller: nodes.map(|node| node.caller).collect::<Vec<Option<usize>>>(),
            values: self.profile.sample_types.iter().map(values).collect(),
        };
        columns.serialize(serializer)
    }
}

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let profile = export.profile;
    let in_ns = |ticks: f64| ticks * 1e9 / profile.ticks_per_second.max(1) as f64;
    let names = profile.display_names().into_iter().zip(&profile.functions).enumerate();
    let document = Document {
        version: 1,
        exporter: concat!("ilinst ", env!("CARGO_PKG_VERSION")),
        program: &profile.program,
        path: &profile.path,
        runtime: &profile.runtime,
        process: profile.pid,
        started: started_text(profile),
        end: profile.end.to_string(),
        mode: profile.mode.word(),
        clock: profile.clock.word(),
        duration_ns: nanoseconds(profile, profile.duration),
        paused_ns: nanoseconds(profile, profile.paused),
        cpu_ns: profile.cpu_ns,
        probe_cost_ns: Cost {
            inside: in_ns(profile.probe_cost.inside),
            outside: in_ns(profile.probe_cost.outside),
            clock_read: in_ns(profile.probe_cost.clock_read),
        },
        events: profile.events,
        limits: report::limits(profile),
        damage: profile.damage.as_ref().map(ToString::to_string),
        modules: profile.modules.iter().map(Module::new).collect(),
        functions: names.map(|(index, (name, function))| described(profile, index, name, function)).collect(),
        values: value_types(profile),
        threads: profile.trees.iter().map(|tree| thread(profile, tree)).collect(),
        phases: export
            .phases
            .iter()
            .map(|(name, phase)| Phase {
                name,
                values: value_types(phase),
                threads: phase.trees.iter().map(|tree| Paths { profile: phase, tree }).collect(),
            })
            .collect(),
    };
    Ok(serde_json::to_writer(out, &document)?)
}

fn value_types(profile: &Profile) -> Vec<ValueType> {
    let unit = |sample_type: &SampleType| match sample_type.unit {
        profile::model::Unit::Count => "count",
        profile::model::Unit::Bytes => "bytes",
        profile::model::Unit::Ticks | profile::model::Unit::Nanoseconds => "nanoseconds",
    };
    profile.sample_types.iter().map(|sample_type| ValueType { name: sample_type.name, unit: unit(sample_type) }).collect()
}

impl<'p> Module<'p> {
    fn new(module: &'p profile::model::Module) -> Self {
        Self {
            assembly: &module.assembly,
            name: &module.name,
            mvid: hex::encode(module.mvid),
            path: &module.path,
            tool: &module.tool,
        }
    }
}

fn described<'p>(profile: &'p Profile, index: usize, name: String, function: &'p Function) -> Described<'p> {
    let statistics = profile.statistics.get(index).and_then(Option::as_deref);
    Described {
        name,
        raw_name: function.raw_name(),
        parameters: function.parameters(),
        token: function.token(),
        module: function.module,
        file: function.file(),
        line: function.line(),
        waits: function.method_id.waits(),
        exception_type: profile.exception_types.get(index).and_then(Option::as_deref),
        calls: statistics.map(|all| {
            let percentile = |percent| all.percentile(percent, profile.histogram_shift).map(|ticks| nanoseconds(profile, ticks));
            Calls {
                first_ns: nanoseconds(profile, all.first),
                min_ns: nanoseconds(profile, all.min),
                p50_ns: percentile(50),
                p95_ns: percentile(95),
                p99_ns: percentile(99),
                max_ns: nanoseconds(profile, all.max),
            }
        }),
    }
}

fn thread<'p>(profile: &'p Profile, tree: &'p CallTree) -> Thread<'p> {
    Thread {
        number: tree.number,
        name: tree.thread_names(),
        threads: tree.threads,
        cpu_ns: tree.cpu_ns,
        lost_calls: tree.lost_calls,
        paths: Paths { profile, tree },
    }
}
