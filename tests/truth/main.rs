//! The profile tells the truth: programs that keep their own record, by clocks of their own or by known work, and what the
//! report says of them. Times are compared by shares, or by bounds so wide that only a lie passes them.

mod asynchronous;
mod counts;
mod distributions;
mod iterators;
mod moments;
mod program;
mod shares;

use tests::Runtime;

/// How often times are compared: what other processes take of the processors is in a program's times or in the report's.
const TRIES: usize = 3;

/// Does the same on each runtime, and says everything that is wrong.
fn on_each(check: impl Fn(&Runtime, &mut Vec<String>)) {
    on(&Runtime::all(), 1, check);
}

/// The same of times: what is wrong once has to be so each time.
fn in_time_on_each(check: impl Fn(&Runtime, &mut Vec<String>)) {
    on(&Runtime::all(), TRIES, check);
}

fn on(runtimes: &[Runtime], tries: usize, check: impl Fn(&Runtime, &mut Vec<String>)) {
    let mut all = Vec::new();
    for runtime in runtimes {
        let mut wrong = Vec::new();
        for _ in 0..tries {
            wrong.clear();
            check(runtime, &mut wrong);
            if wrong.is_empty() {
                break;
            }
        }
        all.extend(wrong.iter().map(|wrong| format!("{}: {wrong}", runtime.name)));
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
