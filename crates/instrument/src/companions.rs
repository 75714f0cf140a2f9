//! The files that a single assembly goes with.

use std::path::{Path, PathBuf};

use ecma335::Metadata;

use crate::deps_json::lists_that_name;

/// What a single assembly is run with, and where it goes: its runtime configuration, its configuration file, the other
/// files of the assembly (II.22.19), and the lists of what may be loaded that name it, be they its own or a program's.
pub(crate) fn companions(input: &Path, output: &Path, metadata: &Metadata<'_>) -> Vec<(PathBuf, PathBuf)> {
    let own = companion_paths(input).into_iter().zip(companion_paths(output));
    let names = metadata.tables.rows::<ecma335::schema::File>().filter_map(|(_, row)| metadata.name(row.name).ok());
    let plain = names.filter(|name| Path::new(name).file_name().is_some_and(|plain| plain == name.as_str()));
    let lists = lists_that_name(input).into_iter();
    let named = plain.map(|name| input.with_file_name(name)).chain(lists).map(|from| {
        let to = output.with_file_name(from.file_name().unwrap_or_default());
        (from, to)
    });
    let mut companions: Vec<(PathBuf, PathBuf)> = own.filter(|(from, _)| from.is_file()).collect();
    let others: Vec<_> =
        named.filter(|(from, _)| from.is_file() && !companions.iter().any(|(companion, _)| companion == from)).collect();
    companions.extend(others);
    companions
}

fn companion_paths(program: &Path) -> Vec<PathBuf> {
    let mut config = program.as_os_str().to_owned();
    config.push(".config");
    vec![program.with_extension("runtimeconfig.json"), program.with_extension("deps.json"), config.into()]
}
