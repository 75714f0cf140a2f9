//! The companions of a single assembly: other files that it needs.

use std::path::{Path, PathBuf};

use ecma335::{FileKind, Image, Metadata};

use crate::{
    originals::is_woven,
    references::{files_of, references_beside},
};

/// Returns the other files of an assembly (II.22.19), and their destinations.
pub(crate) fn modules(input: &Path, output: &Path, metadata: &Metadata<'_>) -> Vec<(PathBuf, PathBuf)> {
    let names = metadata.tables.rows::<ecma335::schema::File>().filter_map(|(_, row)| metadata.name(row.name).ok());
    let plain = names.filter(|name| Path::new(name).file_name().is_some_and(|plain| plain == name.as_str()));
    plain.map(|name| (input.with_file_name(&name), output.with_file_name(&name))).filter(|(from, _)| from.is_file()).collect()
}

/// Returns the settings files of an assembly, and their destinations. These are its runtime configuration, its `deps.json`, and
/// its configuration file.
pub(crate) fn settings(input: &Path, output: &Path) -> Vec<(PathBuf, PathBuf)> {
    settings_of(input).into_iter().zip(settings_of(output)).filter(|(from, _)| from.is_file()).collect()
}

/// Returns whether an assembly is a program: it has an entry point (II.25.3.3) or a runtime configuration. Otherwise it is a
/// library.
pub(crate) fn is_program(input: &Path, image: &Image<'_>) -> bool {
    image.cli_header().entry_point != 0 || runtime_configuration(input).is_file()
}

/// Returns the assemblies beside an assembly that it refers to, their companions, and the destinations. Omits files that are
/// already instrumented at their destination.
pub(crate) fn references(input: &Path, output: &Path, metadata: &Metadata<'_>) -> Vec<(PathBuf, PathBuf)> {
    let (Some(from), Some(to)) = (input.parent(), output.parent()) else { return Vec::new() };
    let assemblies = references_beside(input, metadata);
    let files = files_of(&assemblies, input);
    let place = |path: PathBuf| Some((path.clone(), to.join(path.strip_prefix(from).ok()?)));
    let woven = |path: &Path| is_woven(path) || FileKind::assemblies(&path.with_extension("")).iter().any(|path| is_woven(path));
    assemblies.into_iter().chain(files).filter_map(place).filter(|(_, to)| !to.is_file() || !woven(to)).collect()
}

/// Returns the path of an assembly's debug information in Mono's own format.
pub(crate) fn mdb_path(assembly: &Path) -> PathBuf {
    let mut path = assembly.as_os_str().to_owned();
    path.push(".mdb");
    path.into()
}

fn settings_of(program: &Path) -> [PathBuf; 3] {
    let mut config = program.as_os_str().to_owned();
    config.push(".config");
    [runtime_configuration(program), program.with_extension("deps.json"), config.into()]
}

fn runtime_configuration(program: &Path) -> PathBuf {
    program.with_extension("runtimeconfig.json")
}
