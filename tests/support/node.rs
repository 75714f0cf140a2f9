//! .NET 10 for browsers, run by Node or by a page: without threads, and with files in memory only.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::{require, skip, webcil::to_webcil};

/// Starts the program of its folder with the arguments, and copies files out of its memory at the end: LINGER_MS after the program's.
/// The clock has steps of CLOCK_STEP_MS. With CLOCK_TICK_MS, it tells how often it was read, whatever the machine does.
const START: &str = r#"import { dotnet } from "./dotnet.js";
import fs from "node:fs";
for (const name of Object.keys(process.env).filter(name => name.startsWith("ILINST_"))) {
    dotnet.withEnvironmentVariable(name, process.env[name]);
}
if (process.env.CLOCK_STEP_MS) {
    const step = Number(process.env.CLOCK_STEP_MS), now = performance.now.bind(performance);
    performance.now = () => Math.floor(now() / step) * step;
}
if (process.env.CLOCK_TICK_MS) {
    const tick = Number(process.env.CLOCK_TICK_MS);
    let time = 0;
    performance.now = () => time += tick;
}
const { runMain, Module } = await dotnet.create();
process.on("exit", () => {
    for (const file of Module.FS.readdir("/").filter(name => /\.(ilprof|tsv|log)$/.test(name))) {
        fs.writeFileSync(file, Module.FS.readFile("/" + file));
    }
});
let code = 1;
try {
    code = await runMain(undefined, process.argv.slice(2));
    await new Promise(done => setTimeout(done, Number(process.env.LINGER_MS ?? 0)));
} catch (error) {
    code = error.status ?? code;
    console.error(String(error.message).split("\n")[0]);
}
process.exit(code);
"#;

/// The same for a page, whose address has the variables behind `?`. `lines` are the program's output; `read(ending)` is the last file
/// with that ending, in base 64. `code` is set 1.2 s after the program's end, when the last profile is written.
const PAGE: &str = r#"<!doctype html>
<title>A program</title>
<script type="module">
import { dotnet } from "./dotnet.js";
const lines = window.lines = [];
console.log = (...words) => lines.push(words.join(" "));
for (const [name, value] of new URLSearchParams(location.search)) {
    dotnet.withEnvironmentVariable(name, value);
}
addEventListener("unhandledrejection", event => window.code = String(event.reason.message ?? event.reason));
const { runMain, Module } = await dotnet.create();
window.read = ending => {
    const name = Module.FS.readdir("/").filter(name => name.endsWith(ending)).pop();
    const bytes = name ? Module.FS.readFile("/" + name) : [];
    return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
};
const code = await runMain();
setTimeout(() => window.code = code, 1200);
</script>
"#;

/// The same by Blazor's script, as docs/reference/profile.md says. Each line appears 1.2 s late, when the profile with the calls
/// before it is written.
const BLAZOR_PAGE: &str = r#"<!doctype html>
<base href="/">
<title>A program</title>
<script>
const lines = [];
console.log = (...words) => setTimeout(() => lines.push(words.join(" ")), 1200);
</script>
<script src="_framework/blazor.webassembly.js" autostart="false"></script>
<script>
  Blazor.start({ configureRuntime: dotnet => dotnet.withEnvironmentVariable("ILINST_OUTPUT", "/app.ilprof") });
  function profile() {
    const bytes = Blazor.runtime.Module.FS.readFile("/app.ilprof");
    return btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join(""));
  }
</script>
"#;

/// Returns a fetched part of the corpus, if it was fetched.
pub fn fetched(name: &str) -> Option<PathBuf> {
    let folder = require("ILINST_CORPUS")?.join(name);
    if !folder.is_dir() {
        skip(&format!("{name} is not in {}: `cargo xtask corpus` fetches it, with `--all` for the full tier", folder.display()));
        return None;
    }
    Some(folder)
}

/// Links that .NET into a program's folder, and writes its configuration. Returns `None` if it was not fetched.
pub fn put_browser_net(folder: &Path, program: &str) -> Option<()> {
    let framework = fetched("blazor-net10")?.join("package/release/wwwroot/_framework");
    let is_assembly = |name: &String| name.ends_with(".dll") || name.ends_with(".wasm");
    let assemblies: Vec<String> = names(folder).into_iter().filter(is_assembly).collect();
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
    fs::write(folder.join("page.html"), PAGE).expect("it can be written");
    fs::write(folder.join("blazor.html"), BLAZOR_PAGE).expect("it can be written");
    symlink(".", folder.join("_framework")).expect("a link can be made");
    Some(())
}

/// Packs the assemblies of a program's folder as Webcil, before [`put_browser_net`]. Returns `None` if that .NET was not fetched.
pub fn pack_as_webcil(folder: &Path) -> Option<()> {
    let framework = fetched("blazor-net10")?.join("package/release/wwwroot/_framework");
    let is_like = |name: &&String| name.starts_with("System.") && name.ends_with(".wasm");
    let like = names(&framework).iter().find(is_like).map(|name| fs::read(framework.join(name)).expect("it is there"))?;
    for name in names(folder).iter().filter(|name| name.ends_with(".dll")) {
        let path = folder.join(name);
        let packed = to_webcil(&fs::read(&path).expect("it is there"), &like);
        fs::write(path.with_extension("wasm"), packed).expect("it can be written");
        fs::remove_file(path).expect("it can be removed");
    }
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
