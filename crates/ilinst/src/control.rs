//! `ilinst pause`, `resume`, `reset` and `mark`: what is asked of a program while it runs, through its profile's file.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use ::instrument::{Input, failure::about};
use clap::Args;
use profile::{Control, End, Profile};
use profile_format::{Command, control, header::CONTROL_AT};
use serde_json::json;

use crate::{
    duration,
    failure::{Failure, printed},
    profiles,
    terminal::{print_json, print_line},
};

const INTERVAL: Duration = Duration::from_millis(20);

/// The profile, or the process, of a running program.
#[derive(Args, Debug)]
struct Target {
    /// The running program: its profile (.ilprof) or its process id
    #[arg(value_name = "FILE|PID")]
    target: PathBuf,

    /// Withdraw the command if the program does not answer in this time (500ms, 30s, 2m)
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time_to_answer)]
    timeout: Duration,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// A program looks ten times a second, but may get no processor for seconds on a busy machine.
fn time_to_answer(text: &str) -> Result<Duration, String> {
    duration::parse(text)?.ok_or_else(|| format!("'{text}' is too long"))
}

macro_rules! commands {
    ($($module:ident: $(#[$doc:meta])* $command:ident, $done:literal, $examples:literal;)*) => {
        $(pub(crate) mod $module {
            use super::*;

            $(#[$doc])*
            #[derive(Args, Debug)]
            #[command(after_help = concat!("Examples:\n", $examples))]
            pub(crate) struct Opts {
                #[command(flatten)]
                target: Target,
            }

            impl Opts {
                pub(crate) fn run(self) -> anyhow::Result<u8> {
                    give(&self.target, Command::$command, "", $done)
                }
            }
        })*
    };
}
commands! {
    pause:
        /// Let a running program record nothing, until `resume`.
        Pause, "paused", "  ilinst pause 4711               leave out the next part of the run\n  ilinst resume 4711";
    resume:
        /// Let a running program record again.
        Resume, "recording", "  ilinst resume 4711\n  ilinst resume app-4711.ilprof";
    reset:
        /// Begin anew: reports leave out what a running program did before.
        Reset, "reset", "  ilinst reset 4711               after the program has warmed up\n  ilinst report 4711";
}

pub(crate) mod mark {
    use super::*;

    /// Begin a phase of a running program, which `report --phase` shows; it ends with the next mark.
    #[derive(Args, Debug)]
    #[command(
        after_help = "Examples:\n  ilinst mark 4711 load           then put it under load\n  ilinst mark 4711 idle\n  ilinst report 4711 --phase load"
    )]
    pub(crate) struct Opts {
        #[command(flatten)]
        target: Target,

        /// The name of the phase
        #[arg(value_name = "NAME")]
        name: String,
    }

    impl Opts {
        pub(crate) fn run(self) -> anyhow::Result<u8> {
            if self.name.is_empty() || self.name.len() > control::MAX_NAME {
                let text = format_args!("the name of a mark has 1 to {} bytes", control::MAX_NAME);
                return Err(Failure::usage(text).into());
            }
            give(&self.target, Command::Mark, &self.name, "marked")
        }
    }
}

/// Gives a command, and waits until it is carried out.
fn give(Target { target, timeout, json }: &Target, command: Command, name: &str, done: &str) -> anyhow::Result<u8> {
    let path = profiles::find(Some(target))?;
    let profile = {
        let bytes = Input::open(&path)?;
        Profile::parse(&bytes).map_err(|error| profiles::bad(&path, error))?
    };
    let gone = |why: &str| Failure::no_answer(format_args!("{}: {why}", path.display()));
    if profile.end != End::Unknown {
        return Err(gone(&format!("process {} {}", profile.pid, profile.end)).into());
    }
    if !profiles::is_open(&path, &profile) {
        return Err(gone(&format!("process {} is gone", profile.pid)).into());
    }
    let unwritable = |error: &std::io::Error| Failure::unwritable(about(&path, error));
    let mut page = Page(OpenOptions::new().read(true).write(true).open(&path).map_err(|error| unwritable(&error))?);
    let text = match page.give(command, name, *timeout).map_err(|error| unwritable(&error))? {
        Answer::Done => None,
        Answer::TakenBack => Some("does not answer: it hangs, or runs with ILINST_WRITE=end; the command was withdrawn"),
        Answer::Begun => Some("began the command, and did not report its end in time; it may hang"),
    };
    if let Some(text) = text {
        return Err(gone(&format!("process {} {text}", profile.pid)).into());
    }
    if *json {
        let answer = json!({ "process": profile.pid, "profile": path.to_string_lossy(), "done": done });
        return printed(print_json(&answer), 0);
    }
    printed(print_line(format_args!("process {}: {done}", profile.pid)), 0)
}

/// The control page in a file.
struct Page(File);

/// The outcome of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Done,
    /// The program did not come to it, and does not any more.
    TakenBack,
    /// It came to it as it was taken back, and did not come to an end.
    Begun,
}

impl Page {
    /// Gives a command, and waits. A program that does not answer in time is told nothing later: what is not begun is taken back.
    fn give(&mut self, command: Command, name: &str, patience: Duration) -> std::io::Result<Answer> {
        // Another's command comes first.
        let Some(control) = self.wait(patience, |control| control.sequence == control.acknowledged)? else {
            return Ok(Answer::TakenBack);
        };
        let sequence = control.sequence.wrapping_add(1);
        let length = u32::try_from(name.len()).unwrap_or_default();
        self.write(control::NAME_AT, &[&length.to_le_bytes(), name.as_bytes()].concat())?;
        self.write(control::COMMAND_AT, &command.number().to_le_bytes())?;
        self.write(control::SEQUENCE_AT, &sequence.to_le_bytes())?;
        if self.wait(patience, |control| control.acknowledged == sequence)?.is_some() {
            return Ok(Answer::Done);
        }
        self.write(control::SEQUENCE_AT, &control.sequence.to_le_bytes())?;
        // The program says that it begins, and looks again; this takes the command back, and looks: one sees the other.
        thread::sleep(INTERVAL);
        let is_over = |control: &Control| control.begun != sequence || control.acknowledged == sequence;
        Ok(match self.wait(patience, is_over)? {
            Some(control) if control.acknowledged == sequence => Answer::Done,
            Some(_) => Answer::TakenBack,
            None => Answer::Begun,
        })
    }

    /// Reads the page until that is so; none, if it does not become so in time.
    fn wait(&mut self, patience: Duration, is_so: impl Fn(&Control) -> bool) -> std::io::Result<Option<Control>> {
        let start = Instant::now();
        loop {
            let control = self.read()?;
            if is_so(&control) {
                return Ok(Some(control));
            }
            if start.elapsed() >= patience {
                return Ok(None);
            }
            thread::sleep(INTERVAL);
        }
    }

    fn read(&mut self) -> std::io::Result<Control> {
        let mut page = [0; control::SIZE];
        self.0.seek(SeekFrom::Start(CONTROL_AT as u64))?;
        self.0.read_exact(&mut page)?;
        Ok(Control::from_page(&page))
    }

    /// Writes bytes at an offset in the page.
    fn write(&mut self, at: usize, bytes: &[u8]) -> std::io::Result<()> {
        self.0.seek(SeekFrom::Start((CONTROL_AT + at) as u64))?;
        self.0.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of zeros that has a control page, with a number at a place of it. Nobody carries anything out.
    fn page(name: &str, at: usize, number: u32) -> Page {
        let path = std::env::temp_dir().join(format!("ilinst-control-{}-{name}", std::process::id()));
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path).expect("a file can be made");
        file.set_len((CONTROL_AT + control::SIZE) as u64).expect("it can grow");
        std::fs::remove_file(path).expect("it was made");
        let mut page = Page(file);
        page.write(at, &number.to_le_bytes()).expect("it can be written");
        page
    }

    #[test]
    fn a_command_that_nobody_answers_is_taken_back() {
        let mut page = page("back", control::BEGUN_AT, 0);
        for _ in 0..2 {
            assert_eq!(page.give(Command::Pause, "", Duration::ZERO).expect("it is a file"), Answer::TakenBack);
            let control = page.read().expect("it is a file");
            assert_eq!(control.sequence, control.acknowledged, "nothing is left to do");
        }
    }

    #[test]
    fn a_command_that_is_begun_is_not_said_to_be_taken_back() {
        let mut page = page("begun", control::BEGUN_AT, 1);
        assert_eq!(page.give(Command::Pause, "", Duration::ZERO).expect("it is a file"), Answer::Begun);
    }
}
