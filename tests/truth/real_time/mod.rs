//! By real clocks: the tsc clock, sampling, CPU time, and whether all of it comes to about what programs see themselves. Times
//! are compared by shares, or by bounds so wide that only a lie passes them. On a machine that is too busy these tests fail.

mod asynchronous;
mod browser;
mod distributions;
mod first_calls;
mod iterators;
mod rays;
mod shares;

use tests::Runtime;

/// How often times are compared: what other processes take of the processors is in a program's times or in the report's.
const TRIES: usize = 3;

/// Does the same on each runtime; what is wrong once has to be so each time.
fn on_each(check: impl Fn(&Runtime, &mut Vec<String>)) {
    on(&Runtime::all(), check);
}

fn on(runtimes: &[Runtime], check: impl Fn(&Runtime, &mut Vec<String>)) {
    crate::on(runtimes, |runtime, wrong| {
        for _ in 0..TRIES {
            wrong.clear();
            check(runtime, wrong);
            if wrong.is_empty() {
                break;
            }
        }
    });
}

/// Whether a number is another one, but for so much.
fn is_about(found: f64, truth: f64, within: f64) -> bool {
    (found - truth).abs() <= within
}

/// Holds claims: in words, the truth, what the report says, and how far off that may be.
fn hold(claims: &[(&str, f64, f64, f64)], wrong: &mut Vec<String>) {
    for (what, truth, found, within) in claims {
        if !is_about(*found, *truth, *within) {
            wrong.push(format!("{what}: {truth:.1} in truth, the report says {found:.1}"));
        }
    }
}
