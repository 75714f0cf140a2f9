//! `cargo xtask fleet`: runs the queries of docs/fleet.md over the profiles of a fleet with DuckDB and Spark. Both must agree;
//! the measured times go into the document.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Instant, SystemTime},
};

use anyhow::{Context as _, Result, bail, ensure};
use little_endian::NumbersAt;
use serde_json::Value;

use crate::{
    common::{quiet, root, sh, target},
    toolchain::{Tier, Toolchain},
};

/// The variable that names a built `ilinst`, as for tests.
const TOOL: &str = "ILINST_BIN";
const OPTIONS: [&str; 2] = ["--profiles", "--write"];
/// The default number of profiles.
const PROFILES: usize = 1000;
/// The number of real runs that the profiles are derived from.
const RUNS: usize = 8;
const HOSTS: [&str; 4] = ["web1", "web2", "web3", "batch1"];
const DOCUMENT: &str = "docs/fleet.md";
const FIGURES: [&str; 2] = ["<!-- figures -->\n", "<!-- end of figures -->"];
/// The queries, with their names in the document.
const QUERIES: [&str; 3] = ["top methods", "regressions", "flame graph of a day"];
/// The offsets in a profile's header of the process id, the clock's ticks per second, and the time of day.
const PID_AT: usize = 16;
const TICKS_AT: usize = 32;
const TIME_AT: usize = 56;
/// 100 ns units in a day.
const DAY: u64 = 864_000_000_000;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut count, mut is_written) = (PROFILES, false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--write" => is_written = true,
            "--profiles" => count = rest.next().context("--profiles N")?.parse().context("--profiles N")?,
            _ => bail!("there is {}", OPTIONS.join(", ")),
        }
    }
    let (toolchain, spark) = (Toolchain::prepare(Tier::Full), Toolchain::spark()?);
    if env::var_os(TOOL).is_none() {
        sh(Command::new(env!("CARGO")).args(["build", "--quiet", "--release", "--package", "ilinst"]).current_dir(root()))?;
    }
    let folder = target().join("fleet");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let runs = real_runs(&folder, &toolchain)?;
    let exported = export(&folder, &runs, count)?;
    let tables = toolchain.get("ILINST_PYTHON_TABLES")?.to_owned();
    let engines = [("DuckDB", "duckdb", tables), ("Spark", "spark", spark)];
    let mut answers = Vec::new();
    for (name, engine, packages) in &engines {
        println!("{name} ...");
        let mut command = Command::new(toolchain.get("ILINST_PYTHON")?);
        command.arg(root().join("tests/export/fleet.py")).arg(engine).arg(root().join(DOCUMENT));
        let output = command.env("PYTHONPATH", packages).current_dir(&folder).output()?;
        ensure!(output.status.success(), "{name} failed:\n{}", String::from_utf8_lossy(&output.stderr));
        answers.push((*name, serde_json::from_slice::<Value>(&output.stdout).context("it prints JSON")?));
    }
    let [(_, one), (_, other)] = &answers[..] else { bail!("two engines") };
    ensure!(one["rows"] == other["rows"], "{} rows in DuckDB, and {} in Spark", one["rows"], other["rows"]);
    for (place, name) in QUERIES.iter().enumerate() {
        let rows = |answer: &Value| answer["queries"][place]["rows"].as_array().cloned().unwrap_or_default();
        ensure!(!rows(one).is_empty(), "{name}: no rows");
        agree(&rows(one), &rows(other)).with_context(|| format!("{name}: DuckDB and Spark do not agree"))?;
    }
    let figures = figures(count, &exported, &answers);
    print!("{figures}");
    if is_written {
        let path = root().join(DOCUMENT);
        let text = fs::read_to_string(&path)?;
        let (before, behind) = text.split_once(FIGURES[0]).context("the document has no place for figures")?;
        let (_, behind) = behind.split_once(FIGURES[1]).context("the place for figures has no end")?;
        fs::write(path, format!("{before}{}{figures}{}{behind}", FIGURES[0], FIGURES[1]))?;
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

fn ilinst() -> Command {
    Command::new(env::var_os(TOOL).map_or_else(|| target().join("release/ilinst"), PathBuf::from))
}

/// Returns profiles of real runs of a sample.
fn real_runs(folder: &Path, toolchain: &Toolchain) -> Result<Vec<PathBuf>> {
    let woven = folder.join("woven/");
    quiet(ilinst().arg("instrument").arg(root().join("samples/orders/bin/orders.exe")).arg("-o").arg(&woven))?;
    let run = |number: usize| {
        let path = folder.join(format!("run{number}.ilprof"));
        let mut program = Command::new(toolchain.get("ILINST_DOTNET8")?);
        program.arg(woven.join("orders.exe")).env("ILINST_OUTPUT", &path).env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
        // The sample's exit code is part of its output.
        program.output()?;
        ensure!(path.is_file(), "{} was not written", path.display());
        Ok(path)
    };
    (0..RUNS).map(run).collect()
}

/// The measurements of exporting all profiles.
struct Exported {
    seconds: f64,
    /// The sizes in bytes of the profiles, and of the table.
    bytes: [u64; 2],
}

/// Derives profiles from the runs, with different machines, releases, days and clocks, and exports them into the table. The later
/// release is a fifth slower.
fn export(folder: &Path, runs: &[PathBuf], count: usize) -> Result<Exported> {
    let mut exported = Exported { seconds: 0.0, bytes: [0; 2] };
    let runs = runs.iter().map(fs::read).collect::<Result<Vec<_>, _>>()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() * 10_000_000 + 621_355_968_000_000_000;
    // Times lie on past days, at all hours, and none on the current day.
    let today = now - now % DAY;
    for (batch, host) in HOSTS.iter().enumerate() {
        for (release, slowness) in [("1.0", 1.0), ("1.1", 1.2)] {
            let made = folder.join("made");
            fs::create_dir_all(&made)?;
            for number in
                (batch..count).step_by(HOSTS.len()).filter(|number| (number / HOSTS.len() % 2 == 1) == (release == "1.1"))
            {
                let mut bytes = runs.get(number % runs.len()).context("there are runs")?.clone();
                // Noise of up to 2 %, the same in each run.
                let noise = 1.0 + (number * 7919 % 401) as f64 / 10_000.0 - 0.02;
                let ticks = number_at(&bytes, TICKS_AT)? as f64 / (slowness * noise);
                let day = number as u64 / 8 % 7;
                let time = if day == 0 { today + number as u64 } else { today - day * DAY + number as u64 * 864_000_000 % DAY };
                put(&mut bytes, PID_AT, &(1000 + number as u32).to_le_bytes())?;
                put(&mut bytes, TICKS_AT, &(ticks as u64).to_le_bytes())?;
                put(&mut bytes, TIME_AT, &time.to_le_bytes())?;
                exported.bytes[0] += bytes.len() as u64;
                fs::write(made.join(format!("{number}.ilprof")), bytes)?;
            }
            let mut profiles: Vec<PathBuf> = fs::read_dir(&made)?.flatten().map(|entry| entry.path()).collect();
            profiles.sort();
            if !profiles.is_empty() {
                let started = Instant::now();
                let mut command = ilinst();
                command.args(["export", "--to", "parquet", "--host", host, "--release", release]).args(&profiles);
                quiet(command.arg("-o").arg(folder.join("lake/")))?;
                exported.seconds += started.elapsed().as_secs_f64();
            }
            fs::remove_dir_all(&made)?;
        }
    }
    for day in fs::read_dir(folder.join("lake"))?.flatten() {
        for file in fs::read_dir(day.path())?.flatten() {
            exported.bytes[1] += file.metadata()?.len();
        }
    }
    Ok(exported)
}

fn number_at(bytes: &[u8], at: usize) -> Result<u64> {
    bytes.u64_at(at).context("the profile is short")
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) -> Result<()> {
    bytes.get_mut(at..at + value.len()).context("the profile is short")?.copy_from_slice(value);
    Ok(())
}

/// Compares two results in any order of rows; numbers may differ in the last digits.
fn agree(one: &[Value], other: &[Value]) -> Result<()> {
    let keyed = |rows: &[Value]| -> BTreeMap<String, Value> {
        let key = |row: &Value| format!("{}{}", row["method"], row["path"]);
        rows.iter().map(|row| (key(row), row.clone())).collect()
    };
    let (one, other) = (keyed(one), keyed(other));
    ensure!(one.keys().eq(other.keys()), "{:?}\n{:?}", one.keys(), other.keys());
    for (row, found) in one.values().zip(other.values()) {
        for (column, value) in row.as_object().context("a row is an object")? {
            let same = match (value.as_f64(), found[column].as_f64()) {
                (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(other.abs()),
                _ => *value == found[column],
            };
            ensure!(same, "{column}: {row} {found}");
        }
    }
    Ok(())
}

/// Returns the figures for the document.
fn figures(count: usize, exported: &Exported, answers: &[(&str, Value)]) -> String {
    let [profiles, table] = exported.bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let rows = answers.first().and_then(|(_, answer)| answer["rows"].as_u64()).unwrap_or_default();
    let mut text = format!(
        "{count} profiles of {profiles:.0} MiB became {rows} rows of {table:.1} MiB in {:.1} s, on a machine of {cores} cores that \
         did other things too.\n\n| seconds |",
        exported.seconds
    );
    text.extend(answers.iter().map(|(name, _)| format!(" {name} |")));
    text += &format!("\n|---|{}\n", "---|".repeat(answers.len()));
    for (place, query) in QUERIES.iter().enumerate() {
        text += &format!("| {query} |");
        let seconds = |answer: &Value| answer["queries"][place]["seconds"].as_f64().unwrap_or_default();
        text.extend(answers.iter().map(|(_, answer)| format!(" {:.2} |", seconds(answer))));
        text.push('\n');
    }
    text
}
