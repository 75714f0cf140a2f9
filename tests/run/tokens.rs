//! Tokens that are of no open call are passed over, and counted.

use std::{collections::BTreeMap, fs, process::Command};

use profile::rows::SortBy;
use tests::{Runtime, instrument, profile_in, require, root, said, sample, scratch};

use crate::MODES;

/// The calls of `tokens.cs`; the call without a name is one that it enters itself.
const CALLS: &[(&str, u64)] = &[("Tokens::Main", 1), ("Tokens::Give", GIVEN), ("Tokens::GiveBoxed", 1), ("", 1)];
const GIVEN: u64 = 10 + 7 + 1 + 1;
/// Two in each call of `Give`, the root's, and the one by which `Main` is left again.
const BAD_TOKENS: u64 = 2 * GIVEN + 1 + 1;

#[test]
#[ignore = "needs .NET and Mono"]
fn a_token_that_is_none_is_passed_over() {
    let Some(mcs) = require("ILINST_MCS") else { return };
    let folder = scratch("tokens");
    let (program, tracker) = (folder.join("tokens.exe"), root().join("tracker-runtime/bin/Ilinst.Tracker.dll"));
    let compile = |arguments: &[String]| {
        let mut compiler = Command::new(&mcs);
        compiler.current_dir(&folder).args(arguments).arg(root().join("tests/run/tokens.cs"));
        let compiled = said(&compiler.output().expect("it starts"));
        assert_eq!(compiled.2, Some(0), "{compiled:?}");
    };
    compile(&["-target:library".into(), "-define:PROBES".into(), "-out:probes.dll".into(), format!("-r:{}", tracker.display())]);
    compile(&["-out:tokens.exe".into(), "-r:probes.dll".into()]);
    fs::copy(sample("hello").join("hello.runtimeconfig.json"), program.with_extension("runtimeconfig.json"))
        .expect("it can be copied");
    for mode in MODES {
        let woven = folder.join(mode).join("tokens.exe");
        instrument(&[&program, &"-o", &woven, &"--leave", &mode, &"--all", &"--calls", &"none", &"-q"]);
        fs::copy(folder.join("probes.dll"), woven.with_file_name("probes.dll")).expect("it can be copied");
        for runtime in Runtime::all() {
            println!("{} by {mode}", runtime.name);
            let work = scratch("tokens-work");
            let output = said(&runtime.program(&woven, &work).output().expect("the runtime starts"));
            assert_eq!(output, ("done\n".into(), String::new(), Some(0)));
            let profile = profile_in(&work);
            assert_eq!((profile.bad_tokens(), profile.lost_calls()), (BAD_TOKENS, 0));
            let mut calls: BTreeMap<String, u64> = BTreeMap::new();
            for row in profile.rows(SortBy::Name) {
                assert_eq!((row.calls, row.open), (row.leaves, 0), "{}", row.name);
                *calls.entry(row.raw_name.unwrap_or_default()).or_default() += row.calls;
            }
            assert_eq!(calls, CALLS.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect());
        }
    }
}
