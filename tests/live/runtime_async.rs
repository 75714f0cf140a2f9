//! Methods that the runtime suspends itself (impl flag 0x2000), of .NET 10 and later.

use super::{ways::Way, *};

/// A hook that changed the register with the continuation ended the program, and would count a call at each resumption. Native
/// probes count calls, and see no end.
#[test]
#[ignore = "needs runtimes"]
fn only_instrumented_modules_have_calls_that_the_runtime_suspends() {
    let ways = Way::ALL.map(|way| (way, &[][..]));
    for runtime in Runtime::suspending() {
        let work = Work::new("runtime-async");
        let Some(app) = work.by_sdk_10("async") else { return };
        for (way, options) in ways.into_iter().chain([(Way::Hooks, &["--capture=args,return"][..])]) {
            println!("{way:?} {options:?} on {}", runtime.name);
            let (text, errors, code) = work.recorded_by(way, &runtime, options, &app, &[]);
            assert_eq!(code, Some(42), "{errors}");
            let counted: i64 = text.trim().parse().expect("a number");
            let profile = profile_in(&work.profiles(&runtime));
            let calls = calls(&profile);
            assert_eq!((calls["App::Count"], calls["App::Plain"], calls["App::Main"]), (counted, 120, 1));
            // Each instantiation is one call a time, though the runtime compiles methods that return tasks twice.
            let of = |method: &str| calls.iter().filter(|(name, _)| name.ends_with(method)).map(|(_, calls)| calls).sum::<i64>();
            // On .NET 11, values of these are not read, and their calls are not recorded with values.
            let is_skipped = runtime.name == ".NET 11" && !options.is_empty();
            assert!(is_skipped || (of("::Known"), of("::Now")) == (40, 40), "{way:?} on {}: {calls:?}", runtime.name);
            assert_eq!((open_calls(&profile), profile.end), (0, profile::End::Clean));
            let said = |words: &str| errors.lines().any(|line| line.contains(&app.display().to_string()) && line.contains(words));
            let of_runtime = match way {
                Way::Hooks => "11 runtime-async methods, which hooks do not follow",
                Way::Attach => "calls of 11 runtime-async methods in optimized code",
                Way::Rewrite => "runtime-async",
            };
            let is_said = way == Way::Hooks || way == Way::Attach && runtime.name == ".NET 10";
            assert_eq!(said(of_runtime), is_said, "{errors}");
            assert_eq!(said("instantiations of generic methods that runtime-async methods await"), is_skipped, "{errors}");
            assert_eq!(calls.get("App::Sum"), (way != Way::Hooks).then_some(&20));
        }
    }
}
