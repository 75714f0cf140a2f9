//! The report: Markdown that reads well as text.

use std::fmt::Write as _;

use super::{
    machine::Machine,
    results::{MIB, Measured, Results, Spread},
    tools::Tool,
};

pub(super) fn render(machine: &Machine, results: &Results) -> String {
    let mut text = String::from(HEAD);
    text.push_str("\n| | |\n|---|---|\n");
    for (name, value) in machine {
        text += &format!("| {name} | {value} |\n");
    }
    for measured in &results.inputs {
        table(&mut text, measured);
    }
    let (ilinst, nothing) = (Spread::new(&results.start.ilinst), Spread::new(&results.start.nothing));
    let _ = write!(
        text,
        "\n## Start-up\n\n`ilinst --version` takes {} ms, `true` {} ms ({} rounds).\n",
        spread(ilinst, 2),
        spread(nothing, 2),
        results.start.ilinst.len()
    );
    text
}

const HEAD: &str = "# Bench

Made by `cargo xtask bench --large --write docs/bench.md`. Whole processes run in turns, one round after another. The figures are
medians, with the least and the most in brackets. CPU is the user and system time of all threads; peak is the resident set.

- **floor** maps the input, copies it, and writes the copy. No program that rewrites files can do less.
- **ilinst** is `ilinst instrument INPUT -o OUTPUT`, with PDB, manifest, hashes, tracker and the check of the output. By default, the
  leave probe is in a finally block, and short and compiler-generated methods are skipped.
- **Cecil** is `xtask/cecil/CecilWeave.cs`. It inserts the same calls at the same places as ilinst with `--all --calls none`, and keeps
  embedded and portable PDBs. `finally` corresponds to that, and `return` to that with `--leave return`. ilinst also adds calls in async
  methods, around the calls of their builder, and hides the probes in the PDB. Cecil's program does neither, checks no output, and writes
  no other file. It works on several files of a folder at a time too. The first host is Cecil's default; the best is the fastest one
  for that file. (No compiler at hand compiles Cecil for .NET ahead of time.)

Mono's mscorlib is not among the files: it defines System.Object, so its probes cannot call another assembly. Output files have no
ReadyToRun code, except those of the floor. All programs copy the files of a folder that are no assemblies. The program with Cecil copies
assemblies that it cannot rewrite. ilinst has `--all-assemblies` there, so that it also instruments the framework, as Cecil does. It copies
reference assemblies and core libraries.
";

fn table(text: &mut String, measured: &Measured) {
    let input = &measured.input;
    *text += &format!("\n## {}, {:.1} MiB\n\n", input.name(), input.bytes as f64 / MIB);
    text.push_str("| program | rounds | wall ms | x floor | CPU ms | peak MiB | output MiB | methods |\n");
    text.push_str("|---|--:|--:|--:|--:|--:|--:|--:|\n");
    let floor = measured.series_of(Tool::Floor).map_or(f64::NAN, |floor| floor.wall_ms().median);
    for series in &measured.series {
        let wall = series.wall_ms();
        *text += &format!(
            "| {} | {} | {} | {:.1} | {} | {} | {:.2} | {} |\n",
            series.tool.name(),
            series.usages.len(),
            spread(wall, 1),
            wall.median / floor,
            spread(series.cpu_ms(), 1),
            spread(series.peak_mib(), 1),
            series.output_bytes as f64 / MIB,
            series.woven.map_or_else(String::new, |woven| woven.to_string()),
        );
    }
}

fn spread(Spread { median, min, max }: Spread, digits: usize) -> String {
    format!("{median:.digits$} ({min:.digits$}-{max:.digits$})")
}
