//! First calls apart from others.

use tests::References;

use super::{hold, on_each};
use crate::program::Program;

/// Both have the process to share: what other processes take of the time is in them.
const TIMES: f64 = 3.0;

#[test]
#[ignore = "needs .NET and Mono"]
fn the_first_call_is_told_apart() {
    let Some(program) = Program::make(References::All, "real_time/programs/Once", "real-once", &[]) else { return };
    on_each(|runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        let (first, others) = (run.says("First") / 1e6, run.says("Others") / 1e6);
        hold(
            &[
                ("the first call", first, report.sum("Once::Use", "firstMs"), first / 5.0),
                ("the median of the others", others, report.sum("Once::Use", "p50Ms"), others * (TIMES - 1.0)),
                ("calls", 2000.0, report.calls("Once::Use") as f64, 0.0),
            ],
            wrong,
        );
        // The JIT's part is in the first call alone.
        if report.sum("Once::Use", "p95Ms") > first / 2.0 {
            wrong.push(format!("the first call is among the others: p95 {}", report.sum("Once::Use", "p95Ms")));
        }
    });
}
