//! `ilinst attach`: methods of a program that runs already, woven for a while.

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use ::instrument::{Input, NativeProgram};
use clap::{Arg, Args};
use launch::{Attached, ClrProfiler, DiagnosticsPort, Noted, STANDS_STILL, Signals};
use profile::counted;

use crate::{
    arguments::WeaveArgs,
    duration,
    failure::Failure,
    measuring::AttachedMeasuringArgs,
    run::{Profiles, Reporting, Temporary},
    sampling::SampleArgs,
    terminal::complain,
};

/// Profile a running .NET process for a given time, then remove the probes again
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, mut_args(as_applicable))]
pub(crate) struct Opts {
    /// The process id of a program on .NET Core 3.1 or later
    #[arg(value_name = "PID")]
    process: u32,

    /// How long to record: seconds, or a number with ms, s, m or h, up to 168h
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = time_of_attachment)]
    duration: Duration,

    #[command(flatten)]
    weave: WeaveArgs,

    #[command(flatten)]
    measuring: AttachedMeasuringArgs,

    #[command(flatten)]
    sample: SampleArgs,

    #[command(flatten)]
    reporting: Reporting,
}

const EXAMPLES: &str = "\
Examples:
  ilinst attach 4711 --include 'Shop.*' --for 30s
  ilinst attach 4711 --for 2m --tree
  ilinst attach 4711 --allocations --for 30s
  ilinst attach 4711 --sample --for 30s
  ilinst attach 4711 --sample --wall --for 10s --threads --tree

Methods of all loaded assemblies are instrumented in memory; no file changes. A call that is already running is not recorded. Ctrl-C ends \
the recording early.

Afterwards the methods are restored. The idle profiler library stays loaded, because .NET cannot unload it; you can attach again.

Each step of an async method counts as a call. Methods that the runtime suspends (runtime-async) are counted, but not timed. \
Collectible assemblies are skipped and reported.";

/// Options of instrumentation that an attachment cannot have: it changes no file, and records methods alone.
const NOT_APPLICABLE: [&str; 11] =
    ["capture", "lines", "lines-only", "enter", "handle", "preset", "snk", "keep-layout", "embed", "names", "strict"];

/// Shows an option in the help as it applies to a running program.
fn as_applicable(argument: Arg) -> Arg {
    match argument.get_long().unwrap_or_default() {
        name if NOT_APPLICABLE.contains(&name) => argument.hide(true),
        "leave" => argument
            .value_name("MODE")
            .help("Record the end of a call in a `finally` block (the default) or before each `return`"),
        "allocations" => argument.long_help(None::<&str>),
        _ => argument,
    }
}

/// How long a program has to load the profiler, or to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it has to weave what is loaded.
const UNTIL_WOVEN: Duration = Duration::from_secs(600);
/// How long a runtime may take to be rid of the profiler that was attached before.
const UNTIL_RID: Duration = Duration::from_secs(15);
/// How long a runtime may take to start.
const UNTIL_STARTED: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_millis(20);
/// How often it is seen whether the program is there still.
const LOOK: Duration = Duration::from_secs(1);

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let signals = Signals::take_over()?;
        match self.record(&signals)? {
            Ended::InOrder => Ok(0),
            // Folders that go with this have gone.
            Ended::By(signal) => {
                signals.end_by(signal);
                Ok(EXIT_BY_SIGNAL.saturating_add(signal.try_into().unwrap_or_default()))
            }
        }
    }

    fn record(&self, signals: &Signals) -> anyhow::Result<Ended> {
        let weaving = self.weave.resolve(&[])?;
        let sampling = self.sample.sampling();
        let clock = self.measuring.clock()?.or_else(|| std::env::var(live::CLOCK).ok());
        if sampling.is_some() {
            SampleArgs::refuse_options(&weaving)?;
        }
        if let Some(option) = NOT_APPLICABLE.into_iter().find(|option| weaving.is_given(&format!("--{option}"))) {
            let text = format_args!("--{option} does not apply to attach, which records calls and times of methods in memory");
            return Err(Failure::usage(text).into());
        }
        let (profiler, noted) = (ClrProfiler::find()?, signals.note());
        let came = Cell::new(None);
        let is_given_up = || {
            came.set(came.get().or(noted.take()));
            came.get().is_some()
        };
        let by_signal = || Ok(Ended::By(came.get().unwrap_or_default()));
        if let Some((host, native)) = native_program_of(self.process).filter(|(_, native)| *native == NativeProgram::Aot) {
            let text = format_args!("process {}: {} is {native}", self.process, host.display());
            return Err(Failure::not_an_assembly(text).into());
        }
        let Some(port) = DiagnosticsPort::of_process(self.process, &is_given_up)? else { return by_signal() };
        let mut options = weaving.options.weave;
        if options.all_hooks().any(|hooks| hooks.methods().next().is_some()) || options.capture.calls {
            let text = "attach records calls and times of methods: ilinst.toml or --leave names hooks or values, which are for run and instrument";
            return Err(Failure::usage(text).into());
        }
        // A project's file may be for other commands too. Samples have no bytes.
        if sampling.is_some() {
            options.count_no_bytes();
        }
        let (profiles, status) = (Profiles::prepare(self.reporting.keep())?, Temporary::folder()?);
        let mut said = vec![
            (live::OPTIONS, options.to_string()),
            (live::ALL_ASSEMBLIES, u8::from(weaving.options.all_assemblies).to_string()),
            (live::VERSION, env!("CARGO_PKG_VERSION").to_owned()),
            (live::DURATION, self.duration.as_millis().to_string()),
            (live::STATUS, status.path().display().to_string()),
            (live::SAMPLE, sampling.map(|sampling| sampling.to_string()).unwrap_or_default()),
        ];
        said.extend(clock.map(|clock| (live::CLOCK, clock)));
        said.push((live::OUTPUT, profiles.absolute()?.display().to_string()));
        let data: String = said.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        if !self.attach(&port, &profiler, data.as_bytes(), status.path(), &is_given_up)? || came.get().is_some() {
            return by_signal();
        }
        let result = match self.wait(&port, status.path(), &noted)? {
            Waited::Said(result) => result,
            Waited::Ended(signal) => return Ok(Ended::By(signal)),
        };
        signals.release();
        if !self.reporting.quiet {
            let text = if sampling.is_some() { sampled_in_words(&result) } else { in_words(&result) };
            complain(format_args!("process {}: {text}", self.process));
        }
        self.reporting.show(self.reporting.read(&profiles, self.process), &profiles, false);
        Ok(Ended::InOrder)
    }

    /// Waits for the end, and gives what the profiler said then. A signal has methods put back before their time; one ends this
    /// at once where nothing is woven yet, or it is the second. The profiler then finds nobody waiting, and puts them back itself.
    fn wait(&self, port: &DiagnosticsPort, status: &Path, noted: &Noted) -> Result<Waited, Failure> {
        let mut end = Instant::now() + UNTIL_WOVEN;
        let (mut seen, mut is_told, mut is_stopped, mut is_warned) = (Instant::now(), false, false, false);
        loop {
            let said = said_by(status, self.process)?;
            let begun = said.strip_prefix(live::WOVEN).map(|woven| {
                let mut lines = woven.lines();
                let methods = lines.next().and_then(|number| number.trim().parse().ok()).unwrap_or_default();
                (format!("{} instrumented", counted(methods, "method")), lines)
            });
            let begun = begun.or_else(|| said.starts_with(live::SAMPLING).then(|| ("samples are taken".to_owned(), "".lines())));
            if let Some((begun, skipped)) = begun {
                if !is_told {
                    end = Instant::now() + self.duration + PATIENCE;
                    if !self.reporting.quiet {
                        complain(format_args!("process {}: {begun}, for {:?}", self.process, self.duration));
                        skipped.for_each(|skipped| complain(format_args!("skipped: {skipped}")));
                    }
                }
                is_told = true;
            } else if !said.is_empty() {
                return Ok(Waited::Said(said));
            }
            if let Some(signal) = noted.take() {
                if is_stopped || !is_told {
                    return Ok(Waited::Ended(signal));
                }
                is_stopped = true;
                end = Instant::now() + PATIENCE;
                // A profiler that cannot receive the request ends by itself.
                let _ = fs::write(status.join(live::STOP), "");
            }
            if seen.elapsed() > LOOK {
                if !port.is_open() {
                    return Ok(Waited::Said("the program has ended".to_owned()));
                }
                if port.is_stopped() && !is_warned {
                    let left = end.saturating_duration_since(Instant::now()).as_secs();
                    complain(format_args!(
                        "process {0} is stopped, as by a debugger or SIGSTOP: waiting {left} s at most until it runs again \
                         (kill -CONT {0}); Ctrl-C gives up",
                        self.process
                    ));
                    is_warned = true;
                }
                seen = Instant::now();
            }
            if Instant::now() > end {
                let what = if is_told { "has not restored its methods in time" } else { "does not instrument its methods" };
                let text =
                    format_args!("process {} {what}: {STANDS_STILL}; its methods are restored when it continues", self.process);
                return Err(Failure::not_recorded(text));
            }
            thread::sleep(INTERVAL);
        }
    }

    /// Has the program load the profiler: whether it has, before that was given up.
    fn attach(
        &self,
        port: &DiagnosticsPort,
        profiler: &ClrProfiler,
        data: &[u8],
        status: &Path,
        is_given_up: &dyn Fn() -> bool,
    ) -> Result<bool, Failure> {
        let since = Instant::now();
        loop {
            let attached = port.attach_profiler(live::CLASS, profiler.library(), data, PATIENCE, is_given_up)?;
            let Some(Attached::Refused(code)) = attached else { return Ok(attached.is_some()) };
            // The profiler's own word says more.
            said_by(status, self.process)?;
            let has_one = Attached::Refused(code) == Attached::HAS_ONE;
            if has_one && port.ask_again(data, status, is_given_up) {
                return Ok(true);
            }
            if is_given_up() {
                return Ok(false);
            }
            let is_starting = Attached::IS_STARTING.contains(&Attached::Refused(code));
            if has_one && since.elapsed() < UNTIL_RID || is_starting && since.elapsed() < UNTIL_STARTED {
                thread::sleep(INTERVAL);
                continue;
            }
            let why = match (has_one, is_starting) {
                (true, _) => ": it has a profiler already",
                (_, true) => ": it is still starting; attach again in a moment",
                _ => "",
            };
            let text = format_args!(
                "process {}: its runtime was asked to load {} (AttachProfiler), and answered 0x{code:08X}{why}",
                self.process,
                profiler.library().display()
            );
            return Err(Failure::not_recorded(text));
        }
    }
}

/// The native program that a process runs, where the system tells.
fn native_program_of(process: u32) -> Option<(PathBuf, NativeProgram)> {
    let host = PathBuf::from(format!("/proc/{process}/exe"));
    let native = NativeProgram::find(&Input::open(&host).ok()?)?;
    Some((fs::read_link(&host).unwrap_or(host), native))
}

/// How this ended.
enum Ended {
    InOrder,
    /// By a signal, before there was anything to show.
    By(i32),
}

enum Waited {
    Said(String),
    Ended(i32),
}

/// The exit code of a signal, as shells have it, less its number.
const EXIT_BY_SIGNAL: u8 = 128;

/// The last status that the profiler reported.
fn said_by(status: &Path, process: u32) -> Result<String, Failure> {
    let said = fs::read_to_string(status.join(process.to_string())).unwrap_or_default();
    match said.strip_prefix(live::FAILED) {
        Some(error) => Err(Failure::not_recorded(format_args!("process {process}: {error}"))),
        None => Ok(said),
    }
}

/// The profiler's final status, in words.
fn in_words(said: &str) -> String {
    if let Some(more) = said.strip_prefix(live::DETACHED) {
        format!("probes removed, and the profiler library unloaded{more}")
    } else if let Some(why) = said.strip_prefix(live::STAYS) {
        format!("probes removed; the idle profiler library stays loaded, as .NET cannot unload it: {why}")
    } else {
        said.to_owned()
    }
}

/// The profiler's final status after samples.
fn sampled_in_words(said: &str) -> String {
    let is_done = said.starts_with(live::DETACHED) || said.starts_with(live::STAYS);
    if is_done { "no more samples are taken".to_owned() } else { said.to_owned() }
}

/// The time that methods stay instrumented.
fn time_of_attachment(text: &str) -> Result<Duration, String> {
    let longest = live::LONGEST.as_secs() / 3600;
    duration::parse(text)?.filter(|duration| *duration <= live::LONGEST).ok_or_else(|| format!("{longest}h at most"))
}
