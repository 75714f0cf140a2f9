//! `ilinst snapshot`: a copy of a profile while its program runs on.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use ::instrument::Input;
use clap::Args;
use profile::{End, Profile};
use serde_json::json;

use crate::{
    failure::printed,
    output, profiles,
    terminal::{print_json, print_line},
};

/// Copy the profile of a running program
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The program: its profile (.ilprof) or its process id
    #[arg(value_name = "FILE|PID")]
    target: PathBuf,

    /// The file to write; default: NAME.1.ilprof, NAME.2.ilprof in the current folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst snapshot 4711                             app-4711.1.ilprof
  ilinst snapshot app-4711.ilprof -o before.ilprof";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let path = profiles::find(Some(&self.target))?;
        let profile = profiles::read(&path, None)?;
        let mut bytes = Input::open(&path)?.to_vec();
        if profile.end == End::Running {
            Profile::set_running(&mut bytes);
        }
        let output = self.output.unwrap_or_else(|| free_name(&path));
        output::write(&output, &[&path], |out| {
            #[cfg(unix)]
            if is_private(&path) {
                make_private(out.get_ref())?;
            }
            Ok(out.write_all(&bytes)?)
        })?;
        if self.json {
            let milliseconds = profile.milliseconds(profile.duration);
            let file = json!({ "output": output.to_string_lossy(), "program": profile.program, "milliseconds": milliseconds });
            return printed(print_json(&file), 0);
        }
        let line = format_args!("{}: {:.1} ms of {}", output.display(), profile.milliseconds(profile.duration), profile.program);
        printed(print_line(line), 0)
    }
}

/// Whether a profile is for its owner alone: values of the program's are in it. Then a copy is, too.
#[cfg(unix)]
fn is_private(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| std::os::unix::fs::MetadataExt::mode(&file) & 0o077 == 0)
}

/// Has a file be its owner's, unless it is a device.
#[cfg(unix)]
fn make_private(file: &std::fs::File) -> std::io::Result<()> {
    if file.metadata()?.is_file() {
        return file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
    }
    Ok(())
}

/// The first name in the current folder that is not taken.
fn free_name(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut names = (1_u32..).map(|number| PathBuf::from(format!("{stem}.{number}.ilprof")));
    names.find(|name| !name.exists()).unwrap_or_default()
}
