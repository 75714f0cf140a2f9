//! A program that runs.

use std::{
    io,
    process::{Child, Command, ExitStatus},
};

use crate::signals::Signals;

/// A program that was started with our own input and output, and gets the signals that we get.
pub struct Running<'s> {
    child: Child,
    signals: &'s Signals,
}

impl<'s> Running<'s> {
    /// Starts a command.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &mut Command, signals: &'s Signals) -> io::Result<Self> {
        let child = signals.start(command)?;
        Ok(Self { child, signals })
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        if status.is_some() {
            self.signals.ended();
        }
        Ok(status)
    }

    /// Waits for its end; signals that come from then on are dropped until [`Signals::release`].
    ///
    /// # Errors
    /// If the system does not say how it ended.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        self.signals.ended();
        status
    }
}

/// The exit code that says what a program's own does: of one that a signal ended, 128 and the signal's number, as shells have
/// it.
pub fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let by_signal = None;
    status.code().or(by_signal).unwrap_or(1)
}
