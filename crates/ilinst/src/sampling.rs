//! `--sample`: the options of `run` and `attach` for the sampler.

use clap::{Args, value_parser};
use live::Sampling;

use crate::{failure::Failure, weaving::Weaving};

/// Whether samples are taken in place of probes, and of what.
#[derive(Args, Debug)]
pub(crate) struct SampleArgs {
    /// Sample CPU time instead of instrumenting methods (Linux; .NET Core 3.1 and later, Mono 5.4 and later)
    #[arg(help_heading = "Sampling", long)]
    sample: bool,

    /// With --sample, sample the elapsed time of all threads, to show where they wait
    #[arg(help_heading = "Sampling", long, requires = "sample")]
    wall: bool,

    /// With --sample, samples per second of CPU time; with --wall, per second of each thread [default: 250; with --wall 100]
    #[arg(help_heading = "Sampling", long, requires = "sample", value_name = "N",
          value_parser = value_parser!(u32).range(1..=i64::from(Sampling::HIGHEST)))]
    frequency: Option<u32>,
}

impl SampleArgs {
    const DEFAULT: u32 = 250;
    /// Each sample interrupts a thread, whether it runs or not.
    const DEFAULT_WALL: u32 = 100;

    /// The way to sample; `None` for probes.
    pub(crate) fn sampling(&self) -> Option<Sampling> {
        let default = if self.wall { Self::DEFAULT_WALL } else { Self::DEFAULT };
        self.sample.then(|| Sampling { wall: self.wall, frequency: self.frequency.unwrap_or(default) })
    }

    /// Refuses systems without a sampler, and options of instrumentation, which samples do without.
    pub(crate) fn refuse_options(weaving: &Weaving) -> Result<(), Failure> {
        if cfg!(not(target_os = "linux")) {
            let text = "--sample needs Linux: use --live, or dotnet-trace, which samples on all systems";
            return Err(Failure::usage(text));
        }
        match weaving.given() {
            None => Ok(()),
            Some(option) => Err(Failure::usage(format_args!(
                "--{option} does not apply to --sample, which instruments no method; select methods of the report with --filter"
            ))),
        }
    }
}
