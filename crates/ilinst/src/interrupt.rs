//! Ctrl-C and other ends that are asked for: nothing is left of a run that writes files.

/// From here on, a signal that asks the process to end has temporary files removed, then ends it.
///
/// # Errors
/// If the system has no room for that.
#[cfg(unix)]
pub(crate) fn clean_up_when_asked_to_end() -> std::io::Result<()> {
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
        flag,
        iterator::Signals,
        low_level::emulate_default_handler,
    };

    // What has a handler does not end the process: writing past `ulimit -f` fails like any other writing.
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
pub(crate) fn clean_up_when_asked_to_end() -> std::io::Result<()> {
    /// `STATUS_CONTROL_C_EXIT`, as the system's own handler has it.
    const EXIT: i32 = 0xC000_013A_u32.cast_signed();
    let set = ctrlc::set_handler(|| {
        ::instrument::abandon();
        std::process::exit(EXIT);
    });
    set.map_err(std::io::Error::other)
}
