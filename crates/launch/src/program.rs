//! The program behind a command line: which assembly it starts, and by whom.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
};

use ecma335::{FileKind, is_named_as_assembly};
use instrument::{Failure, Input, NativeProgram, read_assembly};

/// A command line that starts an assembly.
#[derive(Clone, Debug)]
pub struct Program {
    /// The assembly, as it was named.
    pub assembly: PathBuf,
    words: Vec<Word>,
}

/// A word of the command line.
#[derive(Clone, Debug)]
enum Word {
    /// It means the same wherever the program lies.
    Fixed(OsString),
    /// It names a file of the program: as it was written, and as it lies in the program's folder.
    Own(OsString, PathBuf),
}

impl Program {
    /// Finds the assembly that a command line starts: one that it names first (`dotnet app.dll`, `mono app.exe`, or alone), the
    /// one beside the native host that it is, or the program in a folder that it is.
    ///
    /// # Errors
    /// If there is none, or it is not clear which: why, and what to write instead.
    pub fn find(command: &[OsString]) -> instrument::Result<Self> {
        let Some((first, rest)) = command.split_first() else {
            return Err(Failure::usage("what is to be run? ilinst run -- dotnet app.dll ARGUMENTS"));
        };
        let path = Path::new(first);
        let fixed = || rest.iter().cloned().map(Word::Fixed);
        if path.is_dir() {
            return Self::started(program_in(path)?, fixed());
        }
        if is_assembly(path) {
            return Self::started(path.to_owned(), fixed());
        }
        let Some(host) = file_of_command(first) else {
            return Err(Failure::unreadable(format_args!("{}: there is no such file, nor such a command", path.display())));
        };
        if let Some(assembly) = library_beside(&host) {
            let name = host.file_name().unwrap_or_default();
            let words = std::iter::once(Word::Own(first.clone(), name.into())).chain(fixed()).collect();
            return Ok(Self { assembly, words });
        }
        let Some(at) = rest.iter().position(|word| is_assembly(Path::new(word))) else {
            return Err(no_assembly(&host, first, rest));
        };
        let assembly = PathBuf::from(&rest[at]);
        let folder = folder_of(&assembly);
        let own = |word: &OsString| match Path::new(word).strip_prefix(&folder) {
            // The value of a host option such as --depsfile.
            Ok(inner) if Path::new(word).is_file() => Word::Own(word.clone(), inner.to_owned()),
            _ => Word::Fixed(word.clone()),
        };
        let name = Word::Own(rest[at].clone(), assembly.file_name().unwrap_or_default().into());
        let before = std::iter::once(Word::Fixed(first.clone())).chain(rest[..at].iter().map(own));
        let words = before.chain([name]).chain(rest[at + 1..].iter().cloned().map(Word::Fixed)).collect();
        Ok(Self { assembly, words })
    }

    /// The native program that a command line starts, if it is one that holds no assembly as a file.
    pub fn native(command: &[OsString]) -> Option<(PathBuf, NativeProgram)> {
        let host = file_of_command(command.first()?)?;
        let bytes = Input::open(&host).ok().filter(|_| library_beside(&host).is_none())?;
        NativeProgram::find(&bytes).map(|native| (host, native))
    }

    /// Whether a file is an assembly, by what it is and not by its name alone.
    pub fn is_assembly(path: &Path) -> bool {
        is_assembly(path)
    }

    /// The assembly's name in its folder, as the folder has it: Windows and macOS find a file by a name in another case.
    pub fn name(&self) -> PathBuf {
        let typed = self.assembly.file_name().unwrap_or_default();
        let found = if cfg!(any(windows, target_os = "macos")) { fs::canonicalize(&self.assembly).ok() } else { None };
        let found = found.as_deref().and_then(Path::file_name).filter(|found| found.eq_ignore_ascii_case(typed));
        found.unwrap_or(typed).into()
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> PathBuf {
        folder_of(&self.assembly)
    }

    /// The command as it is.
    pub fn at_home(&self) -> Command {
        self.command(|typed, _| typed.to_owned())
    }

    /// The command with the files of another folder in the place of the program's.
    pub fn from(&self, folder: &Path) -> Command {
        self.command(|_, inner| folder.join(inner).into())
    }

    fn command(&self, own: impl Fn(&OsStr, &Path) -> OsString) -> Command {
        let mut words = self.words.iter().map(|word| match word {
            Word::Fixed(word) => word.clone(),
            Word::Own(typed, inner) => own(typed, inner),
        });
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        command
    }

    /// An assembly alone: who is to start it follows from what lies beside.
    fn started(assembly: PathBuf, arguments: impl Iterator<Item = Word>) -> instrument::Result<Self> {
        let own = |path: &Path| Word::Own(path.into(), path.file_name().unwrap_or_default().into());
        let config = fs::read_to_string(assembly.with_extension("runtimeconfig.json")).ok();
        let is_exe = FileKind::by_name(&assembly) == Some(FileKind::Program);
        let host = assembly.with_extension(env::consts::EXE_EXTENSION);
        let mut words = match config {
            // It brings its own .NET, which only its host finds.
            Some(config) if config.contains("\"includedFrameworks\"") && host != assembly && host.is_file() => {
                let rooted = std::path::absolute(&host).unwrap_or(host);
                vec![own(&rooted)]
            }
            Some(_) if dotnet().is_some() => vec![Word::Fixed(dotnet().unwrap_or_default()), own(&assembly)],
            None if is_exe && cfg!(windows) => vec![own(&std::path::absolute(&assembly).unwrap_or_else(|_| assembly.clone()))],
            _ if is_exe && file_of_command("mono".as_ref()).is_some() => vec![Word::Fixed("mono".into()), own(&assembly)],
            config => {
                let what = match config {
                    None if !is_exe => "it has no runtimeconfig.json, so it is a library and no program",
                    Some(_) => "there is no dotnet on PATH",
                    None => "there is no mono on PATH",
                };
                let path = assembly.display();
                return Err(Failure::usage(format_args!("{path}: {what}; write how it is started: ilinst run -- HOST {path}")));
            }
        };
        words.extend(arguments);
        Ok(Self { assembly, words })
    }
}

/// The one program in a folder.
fn program_in(folder: &Path) -> instrument::Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|error| Failure::unreadable(format_args!("{}: {error}", folder.display())))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_assembly(path)).collect();
    files.sort();
    let with_config: Vec<&PathBuf> = files.iter().filter(|path| path.with_extension("runtimeconfig.json").is_file()).collect();
    let is_exe = |path: &&PathBuf| FileKind::by_name(path) == Some(FileKind::Program);
    let programs = if with_config.is_empty() { files.iter().filter(is_exe).collect() } else { with_config };
    match &programs[..] {
        [program] => Ok((*program).clone()),
        [] => Err(Failure::usage(format_args!("{}: there is no program in it", folder.display()))),
        [one, ..] => {
            let names: Vec<_> =
                programs.iter().filter_map(|path| path.file_name()).map(|name| name.display().to_string()).collect();
            let text = format_args!(
                "{}: it has more than one program, {}; name the one, as in ilinst run -- {}",
                folder.display(),
                names.join(", "),
                one.display()
            );
            Err(Failure::usage(text))
        }
    }
}

/// Why a command starts no assembly, and what to write instead.
fn no_assembly(host: &Path, first: &OsStr, rest: &[OsString]) -> Failure {
    if let Some(what) = Input::open(host).ok().and_then(|bytes| NativeProgram::find(&bytes)) {
        return Failure::not_an_assembly(format_args!("{}: it is {what}", host.display()));
    }
    let name = Path::new(first).display();
    // One that it names is missing, or is none.
    let named = rest.iter().map(Path::new).find(|word| is_named_as_assembly(word));
    if let Some(Err(failure)) = named.map(|path| read_assembly(path, &Input::open(path)?).map(drop)) {
        return failure;
    }
    let mut start = [0; 2];
    let is_script = File::open(host).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!";
    let what = if is_script { "it is a script" } else { "it names no assembly that is there" };
    Failure::usage(format_args!("{name}: {what}; write what it starts, as in ilinst run -- dotnet app.dll, or mono app.exe"))
}

/// The library of a .NET program beside its native host; a link leads to where the program is.
fn library_beside(host: &Path) -> Option<PathBuf> {
    let host = dunce::canonicalize(host).ok()?;
    let [appended, _] = FileKind::assemblies(&host);
    let is_exe = FileKind::by_name(&host) == Some(FileKind::Program);
    let replaced = is_exe.then(|| host.with_extension(FileKind::Library.extension()));
    [Some(appended), replaced].into_iter().flatten().find(|library| is_assembly(library))
}

/// The file that the system starts for a command's first word.
pub(crate) fn file_of_command(word: &OsStr) -> Option<PathBuf> {
    let is_bare = Path::new(word).components().count() == 1 && Path::new(word).file_name() == Some(word);
    let folders: Vec<PathBuf> = match env::var_os("PATH") {
        Some(path) if is_bare => env::split_paths(&path).collect(),
        _ => vec![PathBuf::new()],
    };
    // Windows looks beside itself too, and adds what it starts by name.
    let here = (is_bare && cfg!(windows)).then(PathBuf::new);
    let candidates = here.into_iter().chain(folders).flat_map(|folder| {
        let plain = folder.join(word);
        let mut with_extension = plain.clone().into_os_string();
        with_extension.push(env::consts::EXE_SUFFIX);
        [plain, with_extension.into()]
    });
    candidates.into_iter().find(|path| path.is_file())
}

/// The host of .NET.
fn dotnet() -> Option<OsString> {
    let on_path = file_of_command("dotnet".as_ref()).map(|_| OsString::from("dotnet"));
    let rooted = || Some(PathBuf::from(env::var_os("DOTNET_ROOT")?).join("dotnet").with_extension(env::consts::EXE_EXTENSION));
    on_path.or_else(|| rooted().filter(|host| host.is_file()).map(Into::into))
}

/// Whether a file is an assembly, by what it is and not by its name alone.
pub(crate) fn is_assembly(path: &Path) -> bool {
    is_named_as_assembly(path) && path.is_file() && Input::open(path).is_ok_and(|bytes| ecma335::open(&bytes).is_ok())
}

pub(crate) fn folder_of(file: &Path) -> PathBuf {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new(".")).to_owned()
}
