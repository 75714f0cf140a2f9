//! Where calls stand behind exceptions, on each way that these take.

use super::{ways::Way, *};
use profile::{End, Profile};

pub(super) fn program(work: &Work) -> Option<PathBuf> {
    let app = work.folder.join("shapes.exe");
    compile(&root().join("tests/live/shapes.cs"), &app, References::Core, &[])?;
    Some(app)
}

/// How often `Mark` was called, by the names of its callers, innermost first, as the program prints them.
fn marks(profile: &Profile) -> BTreeMap<String, i64> {
    let mut marks = BTreeMap::new();
    for tree in &profile.trees {
        let name = |node: usize| {
            let name = profile.functions[tree.nodes[node].function].name.as_ref().expect("it has a name");
            // A step of an async method, or of an iterator.
            let step = name.type_name.rsplit_once('<').and_then(|(_, step)| step.split_once('>'));
            match (name.method.as_str(), step) {
                ("MoveNext", Some((written, _))) => written.to_owned(),
                (method, _) => method.to_owned(),
            }
        };
        let calls = &tree.values[0];
        for index in (0..tree.nodes.len()).filter(|index| name(*index) == "Mark") {
            let mut path = Vec::new();
            let mut caller = tree.nodes[index].caller;
            while let Some(node) = caller {
                path.push(name(node));
                caller = tree.nodes[node].caller;
            }
            *marks.entry(path.join(" < ")).or_default() += calls[index];
        }
    }
    marks
}

/// The part of a path that stack traces and profiles have in common.
fn common(way: Way, path: &str) -> String {
    const ASYNC: [&str; 3] = ["Awaits", "ThrowsLater", "ThrowsAtOnce"];
    if way == Way::Hooks {
        return path.to_owned();
    }
    // A method runs the static constructor of its type before it comes to its probe.
    let path = path.replace(".cctor < Touch", ".cctor");
    let mut names: Vec<&str> = path.split(" < ").collect();
    if way == Way::Rewrite
        && let Some(first) = names.iter().position(|name| ASYNC.contains(name))
    {
        // A step is of the call that was written, whose caller is not on the stack.
        names.truncate(first + 1);
    }
    names.join(" < ")
}

/// Holds a profile against what the program printed.
pub(super) fn check(way: Way, text: &str, profile: &Profile) {
    let in_common = |paths: &mut dyn Iterator<Item = (String, i64)>| {
        let mut marks: BTreeMap<String, i64> = BTreeMap::new();
        paths.for_each(|(path, count)| *marks.entry(common(way, &path)).or_default() += count);
        marks
    };
    let printed = text.lines().map(|line| line.split_once(' ').expect("a number and a path"));
    let expected = in_common(&mut printed.map(|(count, path)| (path.to_owned(), count.parse::<i64>().expect("a number"))));
    assert!(expected.len() > 250, "{} paths", expected.len());
    let found = in_common(&mut marks(profile).into_iter());
    let different: Vec<String> = expected
        .keys()
        .chain(found.keys())
        .filter(|path| expected.get(*path) != found.get(*path))
        .map(|path| format!("{path}: {:?}, and recorded {:?}", expected.get(path), found.get(path)))
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert_eq!((open_calls(profile), profile.end), (0, End::Clean));
    assert!(calls(profile)["Shapes::Mark"] > 1000);
}

/// The program's own record is made of the runtime's stack traces.
#[test]
#[ignore = "needs runtimes"]
fn calls_stand_where_stack_traces_have_them() {
    for runtime in runtimes() {
        let ways = Way::ALL.map(|way| (way, &[][..]));
        for (way, options) in ways.into_iter().chain([(Way::Hooks, &["--capture=args,return"][..])]) {
            println!("{way:?} {options:?} on {}", runtime.name);
            let work = Work::new("shapes");
            let Some(app) = program(&work) else { return };
            let (text, errors, code) = work.recorded_by(way, &runtime, options, &app, &[]);
            assert_eq!(code, Some(42), "{errors}");
            check(way, &text, &profile_in(&work.profiles(&runtime)));
        }
    }
}

/// An exception ends a program if nothing handles it, whatever was thrown before, and whoever throws when it ends by itself.
#[test]
#[ignore = "needs runtimes"]
fn only_an_unhandled_exception_is_said_to_end_a_program() {
    const PROGRAMS: [(&str, End, i32); 9] = [
        ("filter", End::Clean, 42),
        ("finally", End::Clean, 42),
        ("handler", End::Clean, 42),
        ("type", End::Clean, 42),
        ("others", End::Clean, 42),
        ("killed", End::Unknown, 128 + 9),
        ("unhandled", End::UnhandledException, 128 + 6),
        ("unhandled by reflection", End::UnhandledException, 128 + 6),
        ("unhandled elsewhere", End::UnhandledException, 128 + 6),
    ];
    let mut runtimes: Vec<_> = runtimes().collect();
    for way in Way::ALL {
        let work = Work::new("shapes-ends");
        let Some(app) = program(&work) else { return };
        // Each program has another runtime in each way.
        runtimes.rotate_left(1);
        for (runtime, (program, end, code)) in tests::in_turn(&runtimes, &PROGRAMS) {
            let ended = work.recorded_by(way, runtime, &[], &app, &[program]);
            assert_eq!(ended.2, Some(code), "{program}, {way:?} on {}: {}", runtime.name, ended.1);
            let profile = profile_in(&work.profiles(runtime));
            // A profiler that attaches gets no events of exceptions, and none when one ends the program.
            let is_told = way != Way::Attach || end != End::UnhandledException;
            let end = if is_told { end } else { End::Unknown };
            assert_eq!(profile.end, end, "{program}, {way:?} on {}", runtime.name);
            assert_eq!((profile.lost_calls(), profile.bad_tokens()), (0, 0), "{program}, {way:?} on {}", runtime.name);
        }
    }
}
