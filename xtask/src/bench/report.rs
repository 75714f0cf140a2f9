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

Made by `cargo xtask bench --large --write docs/bench.md`. Whole processes, which take turns round by round; medians, and in
brackets the least and the most. CPU is user and system time of all threads, peak is the resident set's.

- **floor**: maps the input, copies it, writes the copy: the least that a program can do that rewrites files.
- **ilinst**: `ilinst instrument INPUT -o OUTPUT`, with all it does beside: PDB, manifest, hashes, tracker, the check of what
  was written. Its default is the leave probe in a finally block, and to leave alone what is short or made by the compiler.
- **Cecil**: `xtask/cecil/CecilWeave.cs`, which puts the same calls at the same places as ilinst with `--all --calls none`
  and takes embedded and portable PDBs along; `finally` is the equal of that, `return` of that with `--leave return`. It has no
  calls around those of an async method's builder, which ilinst has by whatever options; in PDBs it leaves the probes'
  instructions to the point before, which ilinst hides. It neither checks what it wrote nor writes anything beside, but takes
  the files of a folder side by side too. The first host is its default; the best is what is fastest on that file. (Nothing in
  reach compiles Cecil for .NET ahead of time.)

Mono's mscorlib is not among the files: it defines System.Object, so no probe can call out of it. ReadyToRun code does not
follow to the output; the floor writes it all the same. Of the folder, files that are no assemblies are copied by all. What
Cecil cannot weave in it is copied; `ilinst` has `--all-assemblies` there, so that it weaves the framework's too, as Cecil does,
and not what is the user's alone; it leaves reference assemblies and core libraries as they are.
";

fn table(text: &mut String, measured: &Measured) {
    let input = &measured.input;
    *text += &format!("\n## {}, {:.1} MiB\n\n", input.name(), input.bytes as f64 / MIB);
    text.push_str("| program | rounds | wall ms | x floor | CPU ms | peak MiB | output MiB | methods woven |\n");
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
