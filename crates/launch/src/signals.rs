//! Signal handling: signals end this process while no program runs, and are passed to the program while one does.

use std::{
    io,
    process::{Child, Command},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI32, Ordering::Relaxed},
    },
};

/// The receiver of signals.
#[derive(Clone, Debug)]
enum For {
    /// This process: it removes unfinished files first.
    Us,
    /// The program, by its process id.
    Program(u32),
    /// This process, which polls for a signal.
    Asking(Noted),
    /// Nobody: the program has ended, and the report must not be interrupted.
    Nobody,
}

/// The last signal that was not taken yet.
#[derive(Clone, Debug, Default)]
pub struct Noted(Arc<AtomicI32>);

impl Noted {
    /// Takes the signal.
    pub fn take(&self) -> Option<i32> {
        Some(self.0.swap(0, Relaxed)).filter(|signal| *signal != 0)
    }
}

/// The signals of this process, taken over.
pub struct Signals {
    whom: Arc<Mutex<For>>,
    watched: system::Watched,
}

impl Signals {
    /// Takes over the signals. From here on, a signal to end the process removes unfinished files and then ends it.
    /// While a program runs, the program receives it. Call this before starting threads, since other threads would
    /// receive the signals.
    ///
    /// # Errors
    /// If the system lacks the resources.
    pub fn take_over() -> io::Result<Self> {
        let whom = Arc::new(Mutex::new(For::Us));
        let seen = Arc::clone(&whom);
        let watched = system::watch(move |signal, is_from_terminal| match &*lock(&seen) {
            For::Us => {
                instrument::abandon();
                system::end_by(signal);
            }
            // The terminal sends its signals to all its processes, so the program has received this one.
            For::Program(process) if !is_from_terminal => system::send(*process, signal),
            For::Asking(noted) => noted.0.store(signal, Relaxed),
            For::Program(_) | For::Nobody => {}
        })?;
        Ok(Self { whom, watched })
    }

    pub(crate) fn start(&self, command: &mut Command) -> io::Result<Child> {
        // The handler waits for the lock, so no signal is lost in between.
        let mut whom = lock(&self.whom);
        let (child, came) = self.watched.let_through(|| command.spawn());
        let child = child?;
        *whom = For::Program(child.id());
        came.into_iter().for_each(|signal| system::send(child.id(), signal));
        Ok(child)
    }

    pub(crate) fn ended(&self) {
        *lock(&self.whom) = For::Nobody;
    }

    /// Notes signals from here on, instead of ending the process.
    pub fn note(&self) -> Noted {
        let noted = Noted::default();
        *lock(&self.whom) = For::Asking(noted.clone());
        noted
    }

    /// Ends this process as the noted signal would have.
    pub fn end_by(&self, signal: i32) {
        system::end_by(signal);
    }

    /// Signals from here on end this process again.
    pub fn release(&self) {
        *lock(&self.whom) = For::Us;
    }
}

fn lock(whom: &Mutex<For>) -> MutexGuard<'_, For> {
    whom.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
pub use system::is_ignored;

#[cfg(unix)]
mod system {
    use std::io;
    #[cfg(target_os = "linux")]
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ},
        flag,
        low_level::emulate_default_handler,
    };

    const PASSED_ON: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

    /// Whether the parent set this signal to be ignored, as `nohup` does.
    pub fn is_ignored(signal: i32) -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
        ignored.is_some_and(|ignored| ignored >> (signal - 1) & 1 == 1)
    }

    /// The handle of the watched signals.
    pub(super) struct Watched {
        #[cfg(target_os = "linux")]
        set: nix::sys::signal::SigSet,
        #[cfg(target_os = "linux")]
        came: Vec<(i32, Arc<AtomicBool>)>,
    }

    fn in_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        // A signal with a handler does not end the process: a write beyond `ulimit -f` fails like any other write.
        flag::register(SIGXFSZ, std::sync::Arc::default())?;
        std::thread::Builder::new().name("signals".into()).spawn(work).map(drop)
    }

    /// The signals are blocked and read from a descriptor, which reports the sender.
    #[cfg(target_os = "linux")]
    pub(super) fn watch(on_signal: impl Fn(i32, bool) + Send + 'static) -> io::Result<Watched> {
        use nix::sys::{
            signal::{SigSet, Signal},
            signalfd::{SfdFlags, SignalFd},
        };
        let mut set = SigSet::empty();
        let mut came = Vec::new();
        for number in PASSED_ON.into_iter().filter(|signal| !is_ignored(*signal)) {
            set.add(Signal::try_from(number)?);
            let has_come = Arc::new(AtomicBool::new(false));
            flag::register(number, Arc::clone(&has_come))?;
            came.push((number, has_come));
        }
        set.thread_block()?;
        let file = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC)?;
        in_thread(move || {
            while let Ok(sent) = file.read_signal() {
                if let Some(sent) = sent {
                    // Positive: sent by the kernel.
                    on_signal(sent.ssi_signo.cast_signed(), sent.ssi_code > 0);
                }
            }
        })?;
        Ok(Watched { set, came })
    }

    impl Watched {
        /// Calls a function with no signal blocked, as a child inherits the mask. Returns the signals that arrived
        /// meanwhile.
        #[cfg(target_os = "linux")]
        pub(super) fn let_through<T>(&self, act: impl FnOnce() -> T) -> (T, Vec<i32>) {
            let _ = self.set.thread_unblock();
            let done = act();
            let _ = self.set.thread_block();
            let came = self.came.iter().filter(|(_, has_come)| has_come.swap(false, Ordering::Relaxed));
            (done, came.map(|(signal, _)| *signal).collect())
        }

        #[cfg(not(target_os = "linux"))]
        pub(super) fn let_through<T>(&self, act: impl FnOnce() -> T) -> (T, Vec<i32>) {
            (act(), Vec::new())
        }
    }

    /// The sender is unknown here. Signals with terminal keys count as sent by the terminal to all its processes.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn watch(on_signal: impl Fn(i32, bool) + Send + 'static) -> io::Result<Watched> {
        let asking = PASSED_ON.into_iter().filter(|signal| !is_ignored(*signal));
        let mut signals = signal_hook::iterator::Signals::new(asking)?;
        in_thread(move || {
            for signal in signals.forever() {
                on_signal(signal, matches!(signal, SIGINT | SIGQUIT));
            }
        })?;
        Ok(Watched {})
    }

    /// The shell sees which signal it was.
    pub(super) fn end_by(signal: i32) {
        #[cfg(target_os = "linux")]
        let _ = nix::sys::signal::SigSet::all().thread_unblock();
        let _ = emulate_default_handler(signal);
    }

    #[cfg(target_os = "linux")]
    pub(super) fn send(process: u32, signal: i32) {
        use nix::{sys::signal, unistd::Pid};
        if let Ok(signal) = signal::Signal::try_from(signal) {
            let _ = signal::kill(Pid::from_raw(process.cast_signed()), signal);
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn send(process: u32, signal: i32) {
        let _ = std::process::Command::new("kill").args([format!("-{signal}"), process.to_string()]).status();
    }
}

#[cfg(windows)]
mod system {
    use std::io;

    /// `STATUS_CONTROL_C_EXIT`, as the system's own handler has it.
    const EXIT: i32 = 0xC000_013A_u32.cast_signed();

    /// The handle of the watched signals.
    pub(super) struct Watched;

    /// A console sends Ctrl-C, Ctrl-Break and its closing to all its processes.
    pub(super) fn watch(on_signal: impl Fn(i32, bool) + Send + 'static) -> io::Result<Watched> {
        ctrlc::set_handler(move || on_signal(EXIT, true)).map_err(io::Error::other)?;
        Ok(Watched)
    }

    impl Watched {
        pub(super) fn let_through<T>(&self, act: impl FnOnce() -> T) -> (T, Vec<i32>) {
            (act(), Vec::new())
        }
    }

    pub(super) fn end_by(code: i32) {
        std::process::exit(code);
    }

    pub(super) fn send(_process: u32, _signal: i32) {}
}
