//! Iterators: how often they were asked for an item, and the time inside of them alone.

use tests::{References, Runtime};

use super::{hold, on};
use crate::program::Program;

/// Work beside their own, as asking and answering, in milliseconds a call.
const BESIDE_MS: f64 = 0.5;
/// And once: the JIT's, and what starts a timer.
const ONCE_MS: f64 = 40.0;

#[test]
#[ignore = "needs .NET"]
fn items_are_counted_and_the_time_inside_is_their_own() {
    // Mono's library has no async iterators.
    let Some(program) = Program::make(References::Core, "real_time/programs/Iterators", "real-iterators", &[]) else { return };
    let runtimes: Vec<Runtime> = Runtime::all().into_iter().filter(|runtime| !runtime.is_mono()).collect();
    on(&runtimes, |runtime, wrong| {
        let run = program.woven(runtime, &[], &[]);
        let report = run.report();
        for (name, record) in &run.record {
            let &[calls, microseconds] = &record[..] else { panic!("{name}: {record:?}") };
            let method = format!("Iterators::{name}");
            let (asked, inside) = (report.calls(&method) as f64, report.sum(&method, "totalMs"));
            hold(&[(&format!("calls of {name}"), calls, asked, 0.0)], wrong);
            let within = BESIDE_MS * calls + ONCE_MS;
            hold(&[(&format!("milliseconds in {name}"), microseconds / 1e3, inside, within)], wrong);
        }
        // Awaited time is in no step, but in the time until each item is there.
        let awaited = 2.0 * 4.0 * 15.0;
        let found = report.sum("Iterators::Later", "awaitingMs");
        hold(&[("awaiting in Later", awaited, found, awaited * 0.9)], wrong);
    });
}
