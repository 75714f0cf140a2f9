//! Lines by count as lcov's tracefile, which `genhtml` and editors read.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use names::Visible;
use profile::coverage::FileCoverage;

use crate::{Error, Export};

pub(crate) fn write(export: &Export<'_>, out: &mut impl Write) -> Result<(), Error> {
    let program = &export.profile.program;
    // genhtml takes letters, digits and `_` in the name of a test.
    let test: String = program.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect();
    export.profile.lines.iter().try_for_each(|file| record(&test, &FileCoverage::new(file), out))?;
    Ok(())
}

/// Writes the record of a file.
fn record(test: &str, file: &FileCoverage<'_>, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "TN:{test}")?;
    writeln!(out, "SF:{}", Visible(&file.file.path))?;
    let mut named: BTreeMap<String, u32> = BTreeMap::new();
    for method in &file.methods {
        *named.entry(method.full_name()).or_default() += 1;
    }
    let methods: Vec<(u32, String, u64)> = file
        .methods
        .iter()
        .map(|method| {
            let (name, line) = (method.full_name(), method.first_line());
            // Names of functions are keys.
            let is_overloaded = named.get(&name).is_some_and(|count| *count > 1);
            let name = if is_overloaded { format!("{name} (line {line})") } else { name };
            (line, Visible(name).to_string(), method.entries)
        })
        .collect();
    for (line, name, _) in &methods {
        writeln!(out, "FN:{line},{name}")?;
    }
    for (_, name, entries) in &methods {
        writeln!(out, "FNDA:{entries},{name}")?;
    }
    writeln!(out, "FNF:{}", methods.len())?;
    writeln!(out, "FNH:{}", methods.iter().filter(|(_, _, entries)| *entries > 0).count())?;
    for line in &file.lines {
        writeln!(out, "DA:{},{}", line.number, line.count)?;
    }
    let totals = file.totals();
    writeln!(out, "LF:{}\nLH:{}\nend_of_record", totals.lines, totals.covered)
}
