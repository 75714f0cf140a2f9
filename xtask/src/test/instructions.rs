//! Counts the instructions that `ilinst` executes for some files, and compares them with a baseline. Regressions show regardless
//! of the machine's load. Baseline counts hold for one compiler, kind of processor and version of valgrind.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

use crate::{
    common::{alone, quiet, root, target},
    toolchain::{Toolchain, valgrind},
};

/// The counted runs: a name, and the assembly below the SDK to instrument. Without an assembly, `ilinst` only starts.
const COUNTED: &[(&str, Option<&str>)] = &[
    ("start-up", None),
    (
        "Newtonsoft.Json.dll",
        Some("DotnetTools/dotnet-user-secrets/3.1.2-servicing.20068.1/tools/netcoreapp3.1/any/Newtonsoft.Json.dll"),
    ),
    ("FSharp.Core.dll", Some("FSharp/FSharp.Core.dll")),
    ("Microsoft.CodeAnalysis.CSharp.dll", Some("Roslyn/bincore/Microsoft.CodeAnalysis.CSharp.dll")),
];
/// The path of the baseline, from the root.
const BASELINE: &str = "xtask/instructions.json";
/// The largest increase of a count, as a part of it.
const TOLERANCE: f64 = 0.03;
/// The key of the environment for which the counts hold.
const TAKEN_WITH: &str = "taken with";

/// Counts and compares; with `BLESS` set, writes the baseline. Returns the reason if nothing was compared.
pub(super) fn check(tool: &Path, toolchain: &Toolchain) -> Result<Option<String>> {
    let valgrind = match valgrind() {
        Ok(valgrind) => valgrind,
        Err(error) => return Ok(Some(format!("instructions: {error:#}"))),
    };
    let here = environment(&valgrind)?;
    let bless = std::env::var_os("BLESS").is_some();
    let baseline: Map<String, Value> = match fs::read(root().join(BASELINE)) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(_) if bless => Map::new(),
        Err(error) => bail!("{BASELINE}: {error}"),
    };
    let there = baseline.get(TAKEN_WITH).and_then(Value::as_str).unwrap_or_default();
    if there != here && !bless {
        return Ok(Some(format!("instructions: not compared, because {BASELINE} is for {there}, and this machine has {here}")));
    }
    let mut counts = Map::from_iter([(TAKEN_WITH.to_owned(), here.into())]);
    let mut regressions = Vec::new();
    let sdk = toolchain.get("ILINST_SDK")?;
    let profiles = thread::scope(|scope| {
        let start = |(name, assembly): &'static (&str, Option<&str>)| {
            let (valgrind, assembly) = (&valgrind, assembly.map(|assembly| sdk.join(assembly)));
            scope.spawn(move || profile(valgrind, tool, name, assembly.as_deref()))
        };
        let running: Vec<_> = COUNTED.iter().map(start).collect();
        running.into_iter().map(|run| run.join().expect("no run panics")).collect::<Result<Vec<_>>>()
    })?;
    for ((name, _), profile) in COUNTED.iter().zip(profiles) {
        let (all, hashing) = totals(&fs::read_to_string(&profile)?)?;
        // Valgrind lacks the processor's SHA-256 instructions. Counted together, hashing would outweigh all other code.
        for (name, count) in [((*name).to_owned(), all - hashing), (format!("{name}, hashing"), hashing)] {
            let before = baseline.get(&name).and_then(Value::as_u64).unwrap_or(count);
            if count as f64 > before as f64 * (1.0 + TOLERANCE) {
                let (more, profile) = (count - before, profile.display());
                regressions.push(format!("{name}: {count} instructions, {more} more; callgrind_annotate {profile}"));
            }
            counts.insert(name, count.into());
        }
    }
    if bless {
        fs::write(root().join(BASELINE), serde_json::to_string_pretty(&counts)? + "\n")?;
    } else if !regressions.is_empty() {
        bail!(
            "{}\nIf the increase is intended, write the new counts: BLESS=1 cargo xtask test instructions",
            regressions.join("\n")
        );
    }
    Ok(None)
}

/// Writes callgrind's file on a run with one thread: the number of executions of each instruction.
fn profile(valgrind: &Path, tool: &Path, name: &str, assembly: Option<&Path>) -> Result<PathBuf> {
    let folder = target().join("instructions").join(name);
    // Output of an earlier run would be inspected, too.
    let output = folder.join("woven");
    let _ = fs::remove_dir_all(&output);
    fs::create_dir_all(&folder)?;
    let profile = folder.join("callgrind");
    let mut command = Command::new(valgrind);
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", profile.display())).arg(tool);
    match assembly {
        Some(assembly) => {
            command.arg("instrument").arg(alone(assembly, &folder)?).arg("-o").arg(output.join(name)).args(["--threads", "1"])
        }
        None => command.arg("--version"),
    };
    quiet(&mut command)?;
    Ok(profile)
}

/// Reads callgrind's file: returns all instructions, and those of functions that hash. A function is named once, with a number. A
/// line that begins with a position ends with a count, and the line behind `calls=` has the callee's count.
fn totals(profile: &str) -> Result<(u64, u64)> {
    let (mut all, mut hashing) = (None, 0);
    let (mut hashers, mut is_hasher, mut is_callees) = (HashSet::new(), false, false);
    for line in profile.lines() {
        if let Some(total) = line.strip_prefix("summary: ") {
            all = Some(total.trim().parse()?);
        } else if let Some(function) = line.strip_prefix("fn=").or(line.strip_prefix("cfn=")) {
            let (number, name) = function.split_once(' ').unwrap_or((function, ""));
            if name.contains("sha2::") {
                hashers.insert(number);
            }
            if line.starts_with("fn=") {
                is_hasher = hashers.contains(number);
            }
        } else if line.starts_with("calls=") {
            is_callees = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            if is_hasher && !is_callees {
                hashing += line.rsplit(' ').next().context("no count")?.parse::<u64>()?;
            }
            is_callees = false;
        }
    }
    Ok((all.context("callgrind gave no summary")?, hashing))
}

/// Describes the environment that counts depend on, beside the sources.
fn environment(valgrind: &Path) -> Result<String> {
    let said = |command: &mut Command| -> Result<String> { Ok(String::from_utf8(command.output()?.stdout)?.trim().to_owned()) };
    let rustc = said(Command::new("rustc").arg("-vV"))?;
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    // Libraries test for AVX2, and valgrind passes on the processor's features.
    let has_avx2 = fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.split_whitespace().any(|flag| flag == "avx2"));
    let vectors = if has_avx2 { "with AVX2" } else { "without AVX2" };
    let valgrind = said(Command::new(valgrind).arg("--version"))?;
    Ok(format!("{}, {host} {vectors}, {valgrind}", rustc.lines().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::totals;

    #[test]
    fn hashing_is_counted_apart() {
        let profile = "events: Ir\nfn=(1) main\n1 10\ncfn=(2) sha2::compress\ncalls=2 7\n+1 600\n+2 5\n\nfn=(2)\n7 599\n* 1\nfn=(1)\n3 4\nsummary: 619\n";
        assert_eq!(totals(profile).unwrap(), (619, 600));
    }
}
