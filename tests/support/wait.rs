//! Waits for conditions, however busy the machine is.

use std::{
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// The time after which a test counts as hanging. `cargo xtask test` allows more, so that the failure names the condition.
const HANG: Duration = Duration::from_secs(10 * 60);
const INTERVAL: Duration = Duration::from_millis(5);

/// Polls until there is an answer; `what` names the condition in the failure.
pub fn until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(started.elapsed() < HANG, "{what}: not within {HANG:?}");
        thread::sleep(INTERVAL);
    }
}

/// Waits for a program's end. A hanging program is killed, and the test fails.
pub fn end_of(child: &mut Child, what: &str) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return status;
        }
        if started.elapsed() > HANG {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{what}: not through within {HANG:?}");
        }
        thread::sleep(INTERVAL);
    }
}
