//! Signals go to the program, once, and its end is told as it was.

use tests::{said, waiting, with_default_signals};

use crate::{App, ended, signal};

#[test]
#[ignore = "needs .NET and Mono"]
fn signals_are_passed_on_and_the_report_comes_all_the_same() {
    for app in App::on_all("signals") {
        let runtime = &app.runtime;
        let mut by_itself = with_default_signals(&[], &app.at_home(&["wait"]));
        // .NET asks the program's handler; Mono does so where there is a terminal.
        for (name, code) in [("INT", if runtime.is_mono() { 128 + 2 } else { 5 }), ("TERM", 128 + 15)] {
            let alone = waiting(&mut by_itself);
            signal(alone.id(), name);
            let status = ended(alone).status;
            let by_signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
            assert_eq!(status.code().or(by_signal), Some(code), "{name} at home, on {}", runtime.name);
            let run = app.start(&[]);
            signal(run.id(), name);
            let (out, errors, ended_by) = said(&ended(run));
            assert_eq!(ended_by, Some(code), "{name} on {}: {out}{errors}", runtime.name);
            assert!(errors.contains("app (process "), "{name} on {}: a report: {errors}", runtime.name);
        }
        let mut run = app.start(&["-q"]);
        drop(run.stdin.take());
        let (_, errors, code) = said(&run.wait_with_output().expect("it ends"));
        assert_eq!(code, Some(6), "its input ended: {errors}");
    }
}
