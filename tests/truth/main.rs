//! The profile tells the truth: programs that keep their own record, by clocks of their own or by known work, and what the
//! report says of them. Times are compared by shares, or by bounds so wide that only a lie passes them.

mod asynchronous;
mod counts;
mod moments;
mod program;
mod shares;

use tests::Runtime;

/// Does the same on each runtime, and says everything that is wrong.
fn on_each(check: impl Fn(&Runtime, &mut Vec<String>)) {
    let mut wrong = Vec::new();
    for runtime in Runtime::all() {
        let before = wrong.len();
        check(&runtime, &mut wrong);
        wrong.iter_mut().skip(before).for_each(|wrong| *wrong = format!("{}: {wrong}", runtime.name));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
