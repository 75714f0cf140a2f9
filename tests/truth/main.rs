//! The profile tells the truth: programs that keep their own record, and what the report says of them. Times are by a clock
//! that the program itself advances (`programs/VirtualClock.cs`), and so the same to the nanosecond, however busy the machine.
//! `real_time` has what only real clocks show.

mod asynchronous;
mod clock;
mod counts;
mod distributions;
mod exceptions;
mod phases;
mod program;
#[cfg(feature = "full")]
mod real_time;
mod rewritten;
mod short;
mod split;
mod waits;

use tests::Runtime;

/// Does the same on each runtime, and says everything that is wrong.
fn on_each(check: impl Fn(&Runtime, &mut Vec<String>)) {
    on(&Runtime::all(), check);
}

fn on(runtimes: &[Runtime], check: impl Fn(&Runtime, &mut Vec<String>)) {
    let mut all = Vec::new();
    for runtime in runtimes {
        let mut wrong = Vec::new();
        check(runtime, &mut wrong);
        all.extend(wrong.iter().map(|wrong| format!("{}: {wrong}", runtime.name)));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Holds a number against the truth: counts, or times in nanoseconds.
fn hold(what: &str, truth: f64, found: f64, wrong: &mut Vec<String>) {
    if found != truth {
        wrong.push(format!("{what}: {truth} in truth, the report says {found}"));
    }
}

/// Of milliseconds, as reports have them.
fn nanoseconds(milliseconds: f64) -> f64 {
    (milliseconds * 1e6).round()
}
