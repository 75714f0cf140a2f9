//! A command of the SDK that `ilinst run` starts, and what it starts in turn by way of ilinst.
//!
//! ```text
//! ilinst run -- dotnet run ARGUMENTS            writes the folder of the session
//!   dotnet run ARGUMENTS                        builds the project, into which MSBuild imports sdk.targets
//!     FOLDER/GUID/ilinst ARGUMENTS              is ilinst, which instruments the program and runs it
//!
//! FOLDER/session.json    what the second ilinst is told
//! FOLDER/sdk.targets     set_by the environment: CustomAfterMicrosoftCommonTargets
//! FOLDER/GUID/command    the program's host or itself; arguments: as MSBuild has them
//! FOLDER/older/          the same for SDKs before .NET 9, which give the program as arguments
//! FOLDER/GUID/assembly   of tests by VSTest; instrumented: its copy
//! FOLDER/copies/N        the path of a folder that goes with the session
//! ```

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use instrument::{Failure, failure::about};
use serde::{Deserialize, Serialize};

use crate::{
    beside::make_beside,
    private::Temporary,
    sdk::{SdkCommand, built_anew},
};

const TARGETS: &str = include_str!("sdk.targets");
/// MSBuild imports the file that it names into each project.
const IMPORTED: &str = "CustomAfterMicrosoftCommonTargets";
/// The properties passed to the targets.
const TOLD: [&str; 5] = ["IlinstImport", "IlinstSession", "IlinstTool", "IlinstToolName", "IlinstRunSettings"];
const SESSION: &str = "session.json";
const STARTED: &str = "started";
const COPIES: &str = "copies";

/// The session's data for the ilinst that the SDK starts.
#[derive(Serialize, Deserialize, Debug)]
struct Told {
    /// The options that the user gave.
    options: Vec<OsString>,
    /// The folder that their paths start from.
    folder: OsString,
    is_test: bool,
    /// The process that the session ends with.
    owner: u32,
    /// The file that MSBuild would import.
    imported: Option<OsString>,
}

/// A session: its folder goes with it.
#[derive(Debug)]
pub struct Session {
    folder: Temporary,
    kind: SdkCommand,
}

/// One of the programs that the SDK starts in a session, by way of ilinst.
#[derive(Debug)]
pub struct Started {
    told: Told,
    session: PathBuf,
    place: PathBuf,
    /// The folder that the program is to run in.
    pub working_folder: PathBuf,
}

impl Session {
    /// Begins one, by the host of the SDK, with the options of `ilinst run` that hold for the program.
    ///
    /// # Errors
    /// If its folder cannot be written.
    pub fn begin(kind: SdkCommand, host: &OsStr, options: Vec<OsString>) -> instrument::Result<Self> {
        let folder = Temporary::folder()?;
        let unwritable = |error: io::Error| Failure::unwritable(about(folder.path(), &error));
        let write = || -> io::Result<()> {
            let told = Told {
                options,
                folder: env::current_dir()?.into(),
                is_test: kind.is_test(),
                owner: std::process::id(),
                imported: env::var_os(IMPORTED),
            };
            fs::write(folder.path().join(SESSION), serde_json::to_vec(&told)?)?;
            fs::create_dir(folder.path().join(COPIES))?;
            let (older, own) = (folder.path().join("older"), own_path()?);
            fs::create_dir(&older)?;
            let is_path = Path::new(host).components().count() > 1;
            let host = if is_path { std::path::absolute(host)? } else { host.into() };
            fs::write(older.join("command"), host.as_os_str().as_encoded_bytes())?;
            link(&own, &older.join(own.file_name().unwrap_or_default()))?;
            let targets = folder.path().join("sdk.targets");
            fs::write(&targets, TARGETS)?;
            // A project is compiled again when a file that it imports is newer than what was made.
            let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(946_684_800);
            fs::OpenOptions::new().write(true).open(&targets)?.set_modified(long_ago)
        };
        write().map_err(unwritable)?;
        Ok(Self { folder, kind })
    }

    /// The SDK's command, told to start programs by way of ilinst. `settings` are what tests' hosts have in their environment beside.
    ///
    /// # Errors
    /// If ilinst does not know where it is.
    pub fn command(&self, words: &[OsString], settings: &[(&str, &OsStr)]) -> instrument::Result<Command> {
        let words = if self.kind == SdkCommand::RunFile { built_anew(words) } else { words.to_vec() };
        let own = own_path().map_err(Failure::unreadable)?;
        let mut command = Command::new(words.first().map(OsString::as_os_str).unwrap_or_default());
        let inner = words.get(1..).unwrap_or_default();
        if self.kind == SdkCommand::TestAssemblies {
            // Settings come last, behind `--`.
            let has_settings = inner.iter().any(|word| word == "--");
            command.args(inner);
            if !settings.is_empty() {
                command.args((!has_settings).then_some("--")).args(settings.iter().map(in_host));
            }
            return Ok(command);
        }
        let imported = env::var_os(IMPORTED).unwrap_or_default();
        let mut settings: Vec<OsString> = settings.iter().map(in_host).collect();
        // Tests may build other projects.
        settings.push(in_host(&(IMPORTED, imported.as_os_str())));
        command
            .args(inner)
            .env("IlinstImport", imported)
            .env("IlinstSession", self.folder.path())
            .env("IlinstToolName", own.file_name().unwrap_or_default())
            .env("IlinstTool", own)
            .env("IlinstRunSettings", settings.join(OsStr::new(";")))
            .env(IMPORTED, self.folder.path().join("sdk.targets"));
        Ok(command)
    }

    /// Whether a program was started in it.
    pub fn has_started(&self) -> bool {
        let places = fs::read_dir(self.folder.path()).into_iter().flatten().flatten();
        places.map(|place| place.path().join(STARTED)).any(|path| path.exists())
    }

    /// An empty folder beside another, which goes with the session.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn copy(&self, folder: &Path) -> instrument::Result<PathBuf> {
        copy_of_session(self.folder.path(), folder, std::process::id())
    }

    /// The instrumented copies of the session.
    pub fn copies(&self) -> Vec<PathBuf> {
        let noted = fs::read_dir(self.folder.path().join(COPIES)).into_iter().flatten().flatten();
        let copy = |noted: fs::DirEntry| serde_json::from_slice::<OsString>(&fs::read(noted.path()).ok()?).ok();
        noted.filter_map(copy).map(PathBuf::from).collect()
    }
}

impl Drop for Session {
    /// Removes the instrumented copies of the session.
    fn drop(&mut self) {
        for copy in self.copies() {
            let _ = fs::remove_dir_all(copy);
        }
    }
}

/// Makes an empty folder beside another that goes with a session.
fn copy_of_session(session: &Path, folder: &Path, owner: u32) -> instrument::Result<PathBuf> {
    let copy = make_beside(folder, owner)?;
    let note = || -> io::Result<()> {
        let copies = session.join(COPIES);
        for number in 0_usize.. {
            let file = copies.join(format!("{}-{number}", std::process::id()));
            if !file.exists() {
                return fs::write(file, serde_json::to_vec(copy.as_os_str())?);
            }
        }
        Ok(())
    };
    note().map_err(|error| Failure::unwritable(about(session, &error)))?;
    Ok(copy)
}

fn own_path() -> io::Result<PathBuf> {
    Ok(dunce::simplified(&env::current_exe()?.canonicalize()?).to_owned())
}

#[cfg(unix)]
fn link(own: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(own, at)
}

/// Links need rights there.
#[cfg(not(unix))]
fn link(own: &Path, at: &Path) -> io::Result<()> {
    fs::hard_link(own, at).or_else(|_| fs::copy(own, at).map(drop))
}

/// `RunConfiguration.EnvironmentVariables.NAME=VALUE`, as VSTest takes it.
fn in_host((name, value): &(&str, &OsStr)) -> OsString {
    let mut setting = OsString::from(format!("RunConfiguration.EnvironmentVariables.{name}="));
    setting.push(value);
    setting
}

impl Started {
    /// The task of this process, if the SDK has started it in a session: the path of the executable shows this.
    ///
    /// # Errors
    /// If the session is damaged.
    pub fn find() -> Option<instrument::Result<Self>> {
        let place = Path::new(&env::args_os().next()?).parent()?.to_owned();
        let session = place.parent()?.join(SESSION);
        if !["command", "assembly"].iter().any(|file| place.join(file).is_file()) || !session.is_file() {
            return None;
        }
        let read = || -> io::Result<Self> {
            let told: Told = serde_json::from_slice(&fs::read(&session)?)?;
            let working_folder = env::current_dir()?;
            env::set_current_dir(&told.folder)?;
            fs::write(place.join(STARTED), "")?;
            let session = session.parent().map(Path::to_owned).unwrap_or_default();
            Ok(Self { told, session, place, working_folder })
        };
        Some(read().map_err(|error| Failure::unreadable(about(&session, &error))))
    }

    /// The arguments of `ilinst` that the user gave, with the program's command in the place of the SDK's.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut words = ["ilinst", "run"].map(OsString::from).to_vec();
        words.extend(self.told.options.iter().cloned());
        words.push("--".into());
        let lines = |name: &str| fs::read_to_string(self.place.join(name)).unwrap_or_default();
        let first = lines("command") + &lines("assembly");
        let first = Path::new(first.trim_end_matches(['\r', '\n']));
        let is_path = first.components().count() > 1;
        words.push(if is_path { self.working_folder.join(first).into() } else { first.into() });
        words.extend(split(lines("arguments").trim_end_matches(['\r', '\n'])).into_iter().map(OsString::from));
        words.extend(env::args_os().skip(1));
        words
    }

    /// Whether tests are run, which the SDK's own ilinst reports.
    pub fn is_test(&self) -> bool {
        self.told.is_test
    }

    /// Whether nothing is run: VSTest runs it.
    pub fn only_instruments(&self) -> bool {
        self.place.join("assembly").is_file()
    }

    /// Says where the instrumented assembly is.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn instrumented(&self, assembly: &Path) -> instrument::Result<()> {
        let path = self.place.join("instrumented");
        fs::write(&path, assembly.as_os_str().as_encoded_bytes()).map_err(|error| Failure::unwritable(about(&path, &error)))
    }

    /// An empty folder beside another, which goes with the session.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn copy(&self, folder: &Path) -> instrument::Result<PathBuf> {
        copy_of_session(&self.session, folder, self.told.owner)
    }

    /// Has a program run where it would without ilinst, and know nothing of the session.
    pub fn tell(&self, command: &mut Command) {
        command.current_dir(&self.working_folder);
        for name in TOLD {
            command.env_remove(name);
        }
        match &self.told.imported {
            Some(imported) => command.env(IMPORTED, imported),
            None => command.env_remove(IMPORTED),
        };
    }

    /// The SDK keeps how a program of one file is started: by way of a session that has ended then.
    pub fn forget_command(&self, program: &Path) {
        let artifacts = program.ancestors().skip(1).find(|folder| folder.join("build-success.cache").is_file());
        if let Some(artifacts) = artifacts.filter(|folder| folder.components().any(|part| part.as_os_str() == "runfile")) {
            let _ = fs::remove_file(artifacts.join("build-success.cache"));
        }
    }
}

/// The arguments in a text, as .NET splits it: by spaces, but for those in quotes; a backslash keeps a quote, and so is kept itself
/// before one.
fn split(text: &str) -> Vec<String> {
    let (mut arguments, mut argument, mut is_open, mut is_quoted) = (Vec::new(), String::new(), false, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                let mut count = 1;
                while letters.next_if_eq(&'\\').is_some() {
                    count += 1;
                }
                let is_before_quote = letters.peek() == Some(&'"');
                argument.extend(std::iter::repeat_n('\\', if is_before_quote { count / 2 } else { count }));
                if is_before_quote && count % 2 == 1 {
                    argument.extend(letters.next());
                }
                is_open = true;
            }
            // Two of them in quotes are one.
            '"' if is_quoted && letters.next_if_eq(&'"').is_some() => argument.push('"'),
            '"' => (is_open, is_quoted) = (true, !is_quoted),
            ' ' | '\t' if !is_quoted => {
                if std::mem::take(&mut is_open) {
                    arguments.push(std::mem::take(&mut argument));
                }
            }
            other => {
                argument.push(other);
                is_open = true;
            }
        }
    }
    arguments.extend(is_open.then_some(argument));
    arguments
}

#[cfg(test)]
mod tests {
    #[test]
    fn arguments_are_split_as_dotnet_splits_them() {
        for (text, arguments) in [
            ("", &[][..]),
            (r#"exec "/a b/app.dll"  --x"#, &["exec", "/a b/app.dll", "--x"]),
            (r#"a\b "" "c\"d" "e\\" f"#, &[r"a\b", "", "c\"d", r"e\", "f"]),
            (r#"x"y z"w "a""b""#, &["xy zw", "a\"b"]),
        ] {
            assert_eq!(super::split(text), arguments, "{text}");
        }
    }
}
