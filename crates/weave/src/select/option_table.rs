//! The table of options that choose methods and probes: one row an option. It is held against the command line, `ilinst.toml`,
//! the mark and the MSBuild targets, by their code or by tests.

use ilrewrite::LeaveMode;

/// An option of instrumentation.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// The name on the command line and in `ilinst.toml`, without dashes.
    pub name: &'static str,
    /// The values that it takes, and the default.
    pub value: OptionValue,
    /// The name of the value in the help.
    pub value_name: &'static str,
    /// Where the option may stand.
    pub scope: Scope,
    /// Whether the mark records it, as it decides bytes.
    pub in_mark: bool,
    /// The MSBuild property or item. Empty for an option of rules.
    pub property: &'static str,
    /// The heading in the help.
    pub heading: &'static str,
    /// The help, in one sentence.
    pub help: &'static str,
    /// The help with more paragraphs.
    pub long_help: Option<&'static str>,
}

/// The values of an option, and its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionValue {
    /// `true` or `false`. The default is `false`.
    Flag,
    /// A number.
    Number(u32),
    /// One value. Without a default, the option may be absent.
    One(Option<&'static str>),
    /// Any number of values. The default is none.
    Many,
}

/// Where an option may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// On the command line, at the top of `ilinst.toml`, and in a rule.
    Everywhere,
    /// On the command line, and at the top of `ilinst.toml`.
    All,
    /// In a rule only.
    Rule,
}

impl OptionRow {
    /// Whether a rule may have the option.
    pub const fn may_stand_in_rule(&self) -> bool {
        !matches!(self.scope, Scope::All)
    }
}

/// The row of an option, by its name.
pub fn option_row(name: &str) -> Option<&'static OptionRow> {
    OPTIONS.iter().find(|row| row.name == name)
}

macro_rules! option_rows {
    ($(
        $(#[$meta:meta])*
        $row:ident = $name:literal, $value:expr, $value_name:literal, $scope:ident, $mark:literal, $property:literal, $heading:expr;
        $help:literal $(, $more:literal)?;
    )*) => {
        $(
            $(#[$meta])*
            pub const $row: OptionRow = OptionRow {
                name: $name,
                value: $value,
                value_name: $value_name,
                scope: Scope::$scope,
                in_mark: $mark,
                property: $property,
                heading: $heading,
                help: $help,
                long_help: option_rows!(@long $help $(, $more)?),
            };
        )*

        /// All options, in the order of their documentation.
        pub static OPTIONS: &[OptionRow] = &[$($row),*];
    };
    (@long $help:literal) => { None };
    (@long $help:literal, $more:literal) => { Some(concat!($help, "\n\n", $more)) };
}

/// The size in bytes of IL up to which a body is short, by default.
pub const DEFAULT_MIN_IL: u32 = 48;

const METHODS: &str = "Methods";
const RECORDING: &str = "Recording";
const HOOKS: &str = "Your own hooks";
const FILES: &str = "Instrumented files";

use OptionValue::{Flag, Many, Number, One};

// name, values and default, name of the value, where it may stand, whether the mark has it, MSBuild property, heading; help.
option_rows! {
    /// `--include`
    INCLUDE = "include", Many, "PATTERN", Everywhere, true, "IlinstInclude", METHODS;
    "Instrument only methods that match (repeatable), as 'Shop.*' or 'Shop.Order::Load'; see `ilinst help patterns`";
    /// `--exclude`
    EXCLUDE = "exclude", Many, "PATTERN", Everywhere, true, "IlinstExclude", METHODS;
    "Skip methods that match (repeatable); wins over --include";
    /// `--only-hot`: rules of an earlier profile.
    ONLY_HOT = "only-hot", One(None), "PROFILE", All, false, "IlinstOnlyHot", METHODS;
    "Instrument only methods that took at least 1 % of the slowest method's time in an earlier profile";
    /// `--except-noise`: rules of an earlier profile.
    EXCEPT_NOISE = "except-noise", One(None), "PROFILE", All, false, "IlinstExceptNoise", METHODS;
    "Skip methods that in an earlier profile were mostly measuring overhead, or mostly only counted";
    /// `weave = false` of a rule.
    WEAVE = "weave", Flag, "BOOL", Rule, true, "", "";
    "Whether the methods are instrumented";
    /// `--all`
    ALL = "all", Flag, "BOOL", Everywhere, true, "IlinstAll", METHODS;
    "Also instrument methods that are skipped by default: trivial accessors, short methods and compiler-generated members";
    /// `--min-il`
    MIN_IL = "min-il", Number(DEFAULT_MIN_IL), "N", Everywhere, true, "IlinstMinIL", METHODS;
    "Skip methods with at most N bytes of IL that contain no loop and call only skipped methods; 0 disables this [default: 48]";
    /// `--calls`
    CALLS = "calls", Many, "PATTERN", All, true, "IlinstCalls", RECORDING;
    "Also time calls to these methods of assemblies that are not instrumented (repeatable)",
    "Blocking calls to the base library, such as Join, Wait, lock and socket reads, are timed unless you specify `none`.";
    /// `--enter`
    ENTER = "enter", One(None), "HOOK", Everywhere, true, "IlinstEnter", HOOKS;
    "Call your own method at the start of each method, instead of the tracker (the runtime library)",
    "Write the hook as FILE!Namespace.Type::Method. It must be public and static. Its parameter names choose the values that \
     it receives.";
    /// `--leave`: a mode or a hook.
    LEAVE = "leave", One(Some(LeaveMode::Finally.word())), "MODE|HOOK", Everywhere, true, "IlinstLeave", RECORDING;
    "Record the end of a call in a `finally` block (the default) or before each `return`; or call your own method there",
    "`return` makes smaller code. If an exception ends a call, its end is then recorded later: where the exception is handled.";
    /// `--handle`
    HANDLE = "handle", One(None), "HOOK", Everywhere, true, "IlinstHandle", HOOKS;
    "Call this method of yours when an exception is caught";
    /// `--preset`: hooks, which the mark has by their own names.
    PRESET = "preset", One(None), "PRESET", Everywhere, false, "IlinstPreset", HOOKS;
    "Use prepared hooks: `activity` (OpenTelemetry spans), `coverage` (call counts), `classic=FILE`, or `tracker` (no hooks)",
    "`activity` needs .NET 8 and System.Diagnostics.ActivitySource. `classic` calls WhenEnteringMethod and WhenLeavingMethod of the type ProfileInfoTracker in FILE.";
    /// `--capture`
    CAPTURE = "capture", One(Some("none")), "WHAT", Everywhere, true, "IlinstCapture", RECORDING;
    "Record each call with its time (calls), arguments (args), result (return), instance (this) or exception (exception)",
    "Separate words by commas. `report --calls` shows the calls. `tostring` records objects and structs as text, and calls \
     their ToString in your program. With `none`, no single calls are recorded.";
    /// `--lines`
    LINES = "lines", Flag, "BOOL", All, true, "IlinstLines", RECORDING;
    "Also count how often each statement runs, for coverage by lines; needs a portable PDB, embedded or beside the assembly",
    "Methods that are too short for a probe are counted too. Code with the attribute ExcludeFromCodeCoverage is left out.";
    /// `--lines-only`
    LINES_ONLY = "lines-only", Flag, "BOOL", All, true, "IlinstLinesOnly", RECORDING;
    "As --lines, and insert no probes: calls are neither counted nor timed";
    /// `--allocations`
    ALLOCATIONS = "allocations", Flag, "BOOL", Everywhere, true, "IlinstAllocations", RECORDING;
    "Also count the bytes that methods allocate, exactly; each call is timed, and probes take longer",
    "Bytes are counted if a module that is loaded at the first recorded call was instrumented with this option. \
     ILINST_ALLOCATIONS=0 in the program's environment switches it off, and 1 on.";
    /// `--all-assemblies`
    ALL_ASSEMBLIES = "all-assemblies", Flag, "BOOL", All, false, "IlinstAllAssemblies", METHODS;
    "Also instrument the framework's assemblies; to add only one, use --include '[System.Xml]*' instead";
    /// `--snk`
    SNK = "snk", Many, "FILE", All, false, "IlinstKey", FILES;
    "Sign assemblies again with this strong name key pair, a file that `sn -k` wrote (repeatable)";
    /// `--keep-layout`
    KEEP_LAYOUT = "keep-layout", Flag, "BOOL", All, true, "IlinstKeepLayout", FILES;
    "Keep the layout of the PE file and append a section, instead of writing a new layout";
    /// `--embed`
    EMBED = "embed", Flag, "BOOL", All, true, "IlinstEmbed", FILES;
    "Put the tracker (the runtime library) into each instrumented assembly, instead of a file beside the assembly";
    /// `--names`
    NAMES = "names", Flag, "BOOL", All, true, "IlinstNames", FILES;
    "Store the names of instrumented methods in each assembly, for programs that are trimmed or compiled to native code";
    /// `--strict`
    STRICT = "strict", Flag, "BOOL", All, false, "IlinstStrict", FILES;
    "Exit with 4 if a method could not be instrumented, or a pattern matches nothing";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::options::Options;

    #[test]
    fn defaults_are_those_of_the_options() {
        let options = Options::default();
        assert_eq!(MIN_IL.value, Number(options.min_il));
        assert_eq!(LEAVE.value, One(Some(options.leave.word())));
        assert!(matches!(CAPTURE.value, One(Some(word)) if word == options.capture.to_string()));
        let flags = [(ALL, options.all), (KEEP_LAYOUT, options.keep_layout), (EMBED, options.embed), (NAMES, options.names)];
        let flags = flags.into_iter().chain([(LINES, options.lines), (LINES_ONLY, options.lines_only)]);
        let flags = flags.chain([(ALLOCATIONS, options.allocations)]);
        assert!(flags.into_iter().all(|(row, default)| row.value == Flag && !default));
        assert!(MIN_IL.help.contains(&format!("[default: {DEFAULT_MIN_IL}]")));
    }
}
