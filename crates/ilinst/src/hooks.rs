//! `--enter`, `--leave`, `--handle` and `--preset`: methods that are called in place of the tracker's.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use ::instrument::HookAssembly;
use clap::Args;
use weave::{
    Hooks, LeaveMode,
    option_table::{ENTER, HANDLE, LEAVE, PRESET},
};

use crate::failure::Failure;

/// The hooks of methods; a rule has them too.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct HookArgs {
    #[arg(long, help_heading = ENTER.heading, value_name = ENTER.value_name, help = ENTER.help, long_help = ENTER.long_help, conflicts_with = PRESET.name)]
    pub(crate) enter: Option<HookName>,

    #[arg(long, help_heading = LEAVE.heading, value_name = LEAVE.value_name, help = LEAVE.help, long_help = LEAVE.long_help)]
    pub(crate) leave: Vec<LeaveWord>,

    #[arg(long, help_heading = HANDLE.heading, value_name = HANDLE.value_name, help = HANDLE.help, conflicts_with = PRESET.name)]
    pub(crate) handle: Option<HookName>,

    #[arg(long, help_heading = PRESET.heading, value_name = PRESET.value_name, help = PRESET.help, long_help = PRESET.long_help)]
    pub(crate) preset: Option<Preset>,
}

/// A hook by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HookName(Box<Named>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Named {
    file: PathBuf,
    class: String,
    method: String,
}

/// A word of `--leave`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum LeaveWord {
    Mode(LeaveMode),
    Hook(HookName),
}

/// A word of `--preset`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Preset {
    Tracker,
    Classic(PathBuf),
    BuiltIn(&'static BuiltIn),
}

/// Hooks that come with the tool.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct BuiltIn {
    name: &'static str,
    file: &'static str,
    assembly: &'static [u8],
    class: &'static str,
    /// By place.
    methods: [Option<&'static str>; 3],
}

const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "activity",
        file: "Ilinst.Activity.dll",
        assembly: tracker_runtime::ACTIVITY,
        class: "Ilinst.ActivityHooks",
        methods: [Some("Enter"), Some("Leave"), None],
    },
    BuiltIn {
        name: "coverage",
        file: "Ilinst.Coverage.dll",
        assembly: tracker_runtime::COVERAGE,
        class: "Ilinst.Coverage",
        methods: [Some("Hit"), None, None],
    },
];

/// The type and methods of the classic preset.
const CLASSIC: (&str, [&str; 2]) = ("ProfileInfoTracker", ["WhenEnteringMethod", "WhenLeavingMethod"]);

impl FromStr for HookName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('!').and_then(|(file, member)| Some((file, member.rsplit_once("::")?)));
        match parts {
            Some((file, (class, method))) if ![file, class, method].contains(&"") => {
                Ok(Self(Named { file: file.into(), class: class.into(), method: method.into() }.into()))
            }
            _ => Err(format!("'{text}' is no hook; write FILE!Namespace.Type::Method")),
        }
    }
}

impl fmt::Display for HookName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Named { file, class, method } = &*self.0;
        write!(f, "{}!{class}::{method}", file.display())
    }
}

impl FromStr for LeaveWord {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match LeaveMode::from_word(text) {
            Some(mode) => Ok(Self::Mode(mode)),
            None if text.contains('!') => text.parse().map(Self::Hook),
            None => {
                let modes = LeaveMode::ALL.iter().map(|mode| mode.word()).collect::<Vec<_>>().join(" nor ");
                Err(format!("'{text}' is neither {modes}, nor a hook: FILE!Namespace.Type::Method"))
            }
        }
    }
}

impl fmt::Display for LeaveWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(mode) => f.write_str(mode.word()),
            Self::Hook(hook) => hook.fmt(f),
        }
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=').unwrap_or((text, "")) {
            ("tracker", "") => Ok(Self::Tracker),
            ("classic", file) if !file.is_empty() => Ok(Self::Classic(file.into())),
            (name, value) => BUILT_IN
                .iter()
                .find(|preset| preset.name == name && value.is_empty())
                .map(Self::BuiltIn)
                .ok_or_else(|| format!("there is no preset '{text}'; write activity, coverage, classic=FILE or tracker")),
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tracker => f.write_str("tracker"),
            Self::Classic(file) => write!(f, "classic={}", file.display()),
            Self::BuiltIn(preset) => f.write_str(preset.name),
        }
    }
}

impl HookArgs {
    /// The mode that is said last.
    pub(crate) fn mode(&self) -> Option<LeaveMode> {
        let mode = |word: &LeaveWord| if let LeaveWord::Mode(mode) = word { Some(*mode) } else { None };
        self.leave.iter().rev().find_map(mode)
    }

    fn leave_hook(&self) -> Option<&HookName> {
        let hook = |word: &'_ LeaveWord| matches!(word, LeaveWord::Hook(_));
        self.leave
            .iter()
            .rev()
            .find(|word| hook(word))
            .and_then(|word| if let LeaveWord::Hook(hook) = word { Some(hook) } else { None })
    }

    /// Whether anything of hooks is said.
    pub(crate) fn has_hooks(&self) -> bool {
        self.enter.is_some() || self.leave_hook().is_some() || self.handle.is_some() || self.preset.is_some()
    }

    /// Leaves what is said of hooks out.
    pub(crate) fn clear_hooks(&mut self) {
        (self.enter, self.handle, self.preset) = (None, None, None);
        self.leave.retain(|word| matches!(word, LeaveWord::Mode(_)));
    }

    /// Leaves the mode out.
    pub(crate) fn clear_mode(&mut self) {
        self.leave.retain(|word| matches!(word, LeaveWord::Hook(_)));
    }

    /// Files are meant from this folder.
    pub(crate) fn in_folder(&mut self, folder: &Path) {
        let leave = self.leave.iter_mut().filter_map(|word| if let LeaveWord::Hook(hook) = word { Some(hook) } else { None });
        let files = self.enter.iter_mut().chain(&mut self.handle).chain(leave).map(|hook| &mut hook.0.file);
        let preset =
            self.preset.iter_mut().filter_map(|preset| if let Preset::Classic(file) = preset { Some(file) } else { None });
        files.chain(preset).for_each(|file| *file = folder.join(&*file));
    }

    /// The hooks, if they are said; the assemblies that they are in are added to those known.
    ///
    /// # Errors
    /// If a file is no assembly, or has no such method that can be a hook.
    pub(crate) fn resolve(&self, known: &mut Vec<HookAssembly>) -> anyhow::Result<Option<Hooks>> {
        if !self.has_hooks() {
            return Ok(None);
        }
        let names = match &self.preset {
            Some(_) if self.leave_hook().is_some() => {
                return Err(Failure::usage(
                    "--preset already sets the hook for the end of a method: leave out --preset, or the hook of --leave",
                )
                .into());
            }
            Some(Preset::Tracker) => return Ok(Some(Hooks::TRACKER)),
            Some(Preset::Classic(file)) => classic(file, known)?,
            Some(Preset::BuiltIn(preset)) => preset.names(known)?,
            None => [self.enter.clone(), self.leave_hook().cloned(), self.handle.clone()],
        };
        let mut methods = [None, None, None];
        for (name, method) in names.into_iter().zip(&mut methods) {
            let Some(HookName(named)) = name else { continue };
            let Named { file, class, method: name } = *named;
            *method = Some(open(&file, known)?.method(&class, &name)?);
        }
        Ok(Some(Hooks::new(methods).map_err(Failure::usage)?))
    }
}

impl BuiltIn {
    fn names(&self, known: &mut Vec<HookAssembly>) -> anyhow::Result<[Option<HookName>; 3]> {
        let file = PathBuf::from(self.file);
        if !known.iter().any(|assembly| assembly.is(&file)) {
            known.push(HookAssembly::new(&file, self.assembly.into())?);
        }
        let named = |method: &str| Named { file: file.clone(), class: self.class.into(), method: method.into() };
        Ok(self.methods.map(|method| method.map(|method| HookName(named(method).into()))))
    }
}

fn classic(file: &Path, known: &mut Vec<HookAssembly>) -> anyhow::Result<[Option<HookName>; 3]> {
    let (class, methods) = CLASSIC;
    let none = || Failure::usage(format_args!("--preset: {} has no type {class}", file.display()));
    let class = open(file, known)?.type_named(class)?.ok_or_else(none)?;
    let [enter, leave] =
        methods.map(|method| Some(HookName(Named { file: file.to_owned(), class: class.clone(), method: method.into() }.into())));
    Ok([enter, leave, None])
}

fn open<'k>(file: &Path, known: &'k mut Vec<HookAssembly>) -> anyhow::Result<&'k HookAssembly> {
    let place = known.iter().position(|assembly| assembly.is(file));
    let place = match place {
        Some(place) => place,
        None => {
            known.push(HookAssembly::open(file)?);
            known.len() - 1
        }
    };
    Ok(&known[place])
}
