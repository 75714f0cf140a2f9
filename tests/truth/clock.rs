//! The clock that times calls, and the stopwatch where the program sets none.

use std::fs;

use tests::{Report, instrument, said, sample, scratch};

use crate::on_each;

#[test]
#[ignore = "needs .NET and Mono"]
fn a_program_without_a_clock_of_its_own_is_timed_by_the_stopwatch() {
    let folder = scratch("truth-clock");
    let woven = folder.join("woven");
    instrument(&[&sample("hello").join("hello.exe"), &"-o", &woven.join(""), &"-q"]);
    on_each(|runtime, wrong| {
        let (profile, log) = (folder.join("run.ilprof"), folder.join("log"));
        let _ = fs::remove_file(&log);
        let mut command = runtime.program(&woven.join("hello.exe"), &folder);
        command.env("ILINST_CLOCK", "program").env("ILINST_OUTPUT", &profile).env("ILINST_LOG", &log);
        let (_, errors, code) = said(&command.output().expect("the runtime starts"));
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{}", runtime.name);
        let report = Report::of(&profile).unwrap_or_else(|error| panic!("{error}"));
        if report.document["clock"] != "stopwatch" || report.document["cpuMs"].is_null() {
            wrong.push(format!("the clock is {}, the CPU time {}", report.document["clock"], report.document["cpuMs"]));
        }
        let log = fs::read_to_string(&log).expect("there is a log");
        if !log.contains("clock: stopwatch, as the AppDomain has no Converter<object, long> as Ilinst.Clock") {
            wrong.push(format!("the log does not say so: {log}"));
        }
    });
}
