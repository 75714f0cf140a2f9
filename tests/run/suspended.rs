//! Methods that the runtime suspends, run by the only .NET at hand that does so: it comes with a large download.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use serde_json::Value;
use tests::{Report, fetched, instrument, require, said, scratch};

use crate::{bundle::Bundle, runtime_async::assemble};

/// Each call is one, with its callees below it, from start to completion.
#[test]
#[ignore = "needs a large download and Mono's ilasm"]
fn what_the_runtime_suspends_is_one_call_each() {
    let (Some(folder), Some(ilasm)) = (fetched("azure-mcp"), require("ILINST_ILASM")) else { return };
    let bundle = Bundle::read(&folder.join("package/dist/azmcp"));
    let folder = scratch("runtime-async");
    let (apart, woven) = (folder.join("apart"), folder.join("woven"));
    bundle.unpack(&apart);
    assemble(&ilasm, &apart.join("azmcp.dll"));
    instrument(&[&apart, &"-o", &woven, &"--include", &"[azmcp]*", &"-q"]);
    let run = |from: &Path, name: &str| {
        let (program, work) = (folder.join(name), folder.join(format!("{name}-work")));
        bundle.write_with(from, &program);
        fs::create_dir(&work).expect("a folder can be made");
        said(&Command::new(program).env("DOTNET_RuntimeAsync", "1").current_dir(work).output().expect("it starts"))
    };
    fs::copy(woven.join(instrument::TRACKER_FILE), apart.join(instrument::TRACKER_FILE)).expect("it can be copied");
    let unwoven = run(&apart, "unwoven-program");
    assert_eq!(unwoven, (String::new(), String::new(), Some(29)));
    assert_eq!(run(&woven, "woven-program"), unwoven);
    let work = folder.join("woven-program-work");
    let file = fs::read_dir(&work).expect("it is there").flatten().next().expect("there is a profile").path();
    let report = Report::with(&file, &["--symbols", &woven.to_string_lossy()]).expect("it is one");
    // By name: calls, ms of all of them that the program waits for, and how many failed.
    for (name, calls, awaited, faulted) in
        [("Handler", 2, 300.0, 0.0), ("Db", 5, 320.0, 0.0), ("Synchronous", 10, 0.0, 0.0), ("Failing", 1, 20.0, 1.0)]
    {
        let method = format!("RuntimeAsync::{name}");
        assert_eq!(report.calls(&method), calls, "{name}");
        let (average, run) = (report.sum(&method, "latencyMs"), report.document["milliseconds"].as_f64().unwrap_or_default());
        assert!((awaited / calls as f64 - 1.0..run).contains(&average), "{name} took {average} ms");
        assert_eq!(report.sum(&method, "faulted"), faulted, "{name}");
    }
    assert_eq!((report.calls("RuntimeAsync::Cpu"), report.lost_calls), (22, 0));
    let tree = Report::with(&file, &["--tree", "--min-percent", "0", "--symbols", &woven.to_string_lossy()]).expect("it is one");
    assert_eq!(
        callers(&tree.document),
        ["Cpu of Db 10", "Cpu of Handler 2", "Cpu of Synchronous 10", "Db of Failing 1", "Db of Handler 4"]
    );
}

/// Calls by methods that the runtime suspends, and how often.
fn callers(tree: &Value) -> Vec<String> {
    let rows = tree["tree"].as_array().expect("it has rows");
    let name = |row: &Value| row["name"].as_str().and_then(|name| name.rsplit('.').next()).unwrap_or_default().to_owned();
    let mut calls = BTreeMap::new();
    for row in rows.iter().filter(|row| row["name"] != tests::JIT) {
        let caller = row["caller"].as_u64().and_then(|caller| rows.iter().find(|row| row["id"] == caller)).map(name);
        if let Some(caller) = caller.filter(|caller| !["Main", "Wait"].contains(&caller.as_str())) {
            *calls.entry(format!("{} of {caller}", name(row))).or_default() += row["calls"].as_u64().unwrap_or_default();
        }
    }
    calls.into_iter().map(|(text, count): (String, u64)| format!("{text} {count}")).collect()
}
