//! The files that a single assembly goes with.

use std::path::{Path, PathBuf};

use ecma335::Metadata;

use crate::{
    deps_json::lists_that_name,
    framework::{files_of, references_beside},
    originals::is_woven,
};

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

/// The assemblies beside a single one that it refers to, with what goes with them, and where they go. What is woven there
/// already stays.
pub(crate) fn references(input: &Path, output: &Path, metadata: &Metadata<'_>) -> Vec<(PathBuf, PathBuf)> {
    let (Some(from), Some(to)) = (input.parent(), output.parent()) else { return Vec::new() };
    let assemblies = references_beside(input, metadata);
    let files = files_of(&assemblies, input);
    let place = |path: PathBuf| Some((path.clone(), to.join(path.strip_prefix(from).ok()?)));
    let woven = |path: &Path| is_woven(path) || is_woven(&path.with_extension("dll")) || is_woven(&path.with_extension("exe"));
    assemblies.into_iter().chain(files).filter_map(place).filter(|(_, to)| !to.is_file() || !woven(to)).collect()
}

/// Mono's own debug information of an assembly.
pub(crate) fn mdb_path(assembly: &Path) -> PathBuf {
    let mut path = assembly.as_os_str().to_owned();
    path.push(".mdb");
    path.into()
}

fn companion_paths(program: &Path) -> Vec<PathBuf> {
    let mut config = program.as_os_str().to_owned();
    config.push(".config");
    vec![program.with_extension("runtimeconfig.json"), program.with_extension("deps.json"), config.into()]
}
