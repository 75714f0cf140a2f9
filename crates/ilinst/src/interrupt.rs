//! Ctrl-C and other ends that are asked for: nothing is left of a run that writes files.

use std::{io, sync::Once};

/// From here on, a signal that asks the process to end has temporary files removed, then ends it.
///
/// # Errors
/// If the system has no room for that.
pub(crate) fn clean_up_when_asked_to_end() -> io::Result<()> {
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| result = watch());
    result
}

#[cfg(unix)]
fn watch() -> io::Result<()> {
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
        flag,
        iterator::Signals,
        low_level::emulate_default_handler,
    };

    // A signal with a handler does not end the process: a write beyond `ulimit -f` fails like any other write.
    flag::register(SIGXFSZ, std::sync::Arc::default())?;
    let asking = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !launch::is_ignored(*signal));
    let mut signals = Signals::new(asking)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            ::instrument::abandon();
            // The shell sees which signal it was.
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// The same for Ctrl-C, Ctrl-Break and the closing of the window.
#[cfg(windows)]
fn watch() -> io::Result<()> {
    /// `STATUS_CONTROL_C_EXIT`, as the system's own handler has it.
    const EXIT: i32 = 0xC000_013A_u32.cast_signed();
    let set = ctrlc::set_handler(|| {
        ::instrument::abandon();
        std::process::exit(EXIT);
    });
    match set {
        // A command that runs a program has its own handler, which does the same after the program's end.
        Err(ctrlc::Error::MultipleHandlers) => Ok(()),
        set => set.map_err(io::Error::other),
    }
}
