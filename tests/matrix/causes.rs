//! The matrix as data: what ends a process, and what is on disk then.

/// The end in the profile on Mono, .NET 8, .NET Core 3.1, and .NET 8 on Windows; none where a cause is not to be had.
pub(crate) type Ends = [Option<End>; 4];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The tracker was told of the end.
    Clean,
    Unhandled,
    /// Nobody was told.
    CutOff,
    /// Nobody is told there: the profile is of the last time that it was written.
    Running,
}

impl End {
    /// As `ilinst report --json` has it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Clean => "ended cleanly",
            Self::Unhandled => "ended by an unhandled exception",
            Self::CutOff => "was cut off",
            Self::Running => "still running",
        }
    }
}

/// The cause of a process's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// It does so itself.
    Itself,
    /// The signal comes as soon as it is ready.
    Signal(&'static str),
    /// It is started in a folder that cannot be written to.
    ReadOnly,
    /// There is no room for its profile.
    FullDisk,
    /// It may have so little memory.
    LittleMemory,
}

pub(crate) struct Cause {
    /// As the document has it.
    pub(crate) name: &'static str,
    /// The argument of `Ending.cs`.
    pub(crate) way: &'static str,
    pub(crate) how: How,
    pub(crate) ends: Ends,
    /// Whether its record is of the moment: calls go on until the end.
    pub(crate) goes_on: bool,
}

const CLEAN: Option<End> = Some(End::Clean);
const UNHANDLED: Option<End> = Some(End::Unhandled);
const CUT_OFF: Option<End> = Some(End::CutOff);

const fn cause(name: &'static str, way: &'static str, how: How, ends: Ends) -> Cause {
    Cause { name, way, how, ends, goes_on: false }
}

const fn going_on(name: &'static str, way: &'static str, how: How, ends: Ends) -> Cause {
    Cause { name, way, how, ends, goes_on: true }
}

pub(crate) const CAUSES: &[Cause] = &[
    cause("return from Main", "return", How::Itself, [CLEAN; 4]),
    cause("Environment.Exit", "exit", How::Itself, [CLEAN; 4]),
    cause("Environment.Exit of another thread", "exit-of-a-thread", How::Itself, [CLEAN; 4]),
    cause("return, and work in a ProcessExit handler", "handler", How::Itself, [CLEAN; 4]),
    going_on("return while another thread works", "background", How::Itself, [CLEAN; 4]),
    cause("return, and finalizers at shutdown", "finalizers", How::Itself, [CLEAN; 4]),
    cause("unhandled exception", "unhandled", How::Itself, [UNHANDLED; 4]),
    cause("unhandled exception of another thread", "unhandled-of-a-thread", How::Itself, [UNHANDLED; 4]),
    cause("FailFast", "failfast", How::Itself, [CUT_OFF; 4]),
    // Wine never gets a .NET that is unwoven through one.
    cause("stack overflow", "overflow", How::Itself, [UNHANDLED, CUT_OFF, CUT_OFF, None]),
    cause("abort()", "abort", How::Itself, [CUT_OFF; 4]),
    cause("OutOfMemoryException", "memory", How::LittleMemory, [UNHANDLED; 4]),
    cause("SIGTERM", "wait", How::Signal("TERM"), [CUT_OFF, CLEAN, CLEAN, None]),
    cause("SIGINT", "wait", How::Signal("INT"), [CUT_OFF, CUT_OFF, CUT_OFF, None]),
    cause("SIGHUP", "wait", How::Signal("HUP"), [CUT_OFF, CUT_OFF, CUT_OFF, None]),
    cause("SIGKILL", "wait", How::Signal("KILL"), [CUT_OFF, CUT_OFF, CUT_OFF, None]),
    going_on("SIGKILL while a thread works", "busy", How::Signal("KILL"), [CUT_OFF, CUT_OFF, CUT_OFF, None]),
    cause("Ctrl-C", "wait", How::Signal("INT"), [None, None, None, CUT_OFF]),
    cause("TerminateProcess", "terminate", How::Itself, [None, None, None, CUT_OFF]),
    cause("Thread.Abort of a worker, then return", "thread-abort", How::Itself, [CLEAN, None, None, None]),
    cause("an AppDomain unloaded, then return", "domain", How::Itself, [CLEAN, None, None, None]),
    cause("two load contexts unloaded, then return", "context", How::Itself, [None, CLEAN, CLEAN, CLEAN]),
    cause("a folder that cannot be written to", "return", How::ReadOnly, [CLEAN; 4]),
    cause("a full disk", "return", How::FullDisk, [CLEAN; 4]),
];

/// The host of .NET, which .NET it is, how the host ends, and the end that the profile knows.
pub(crate) const HOSTED: &[(&str, &str, &str, End)] = &[
    ("Python", ".NET 8", "return", End::CutOff),
    ("Python", ".NET 8", "exit", End::CutOff),
    ("Python", "Mono", "return", End::Clean),
    ("Python", "Mono", "exit", End::CutOff),
    ("Node", ".NET 8", "return", End::CutOff),
    ("Node", ".NET 8", "exit", End::CutOff),
    ("Node itself", ".NET 10 for browsers", "return", End::Running),
    ("Node itself", ".NET 10 for browsers", "throw", End::Running),
    ("Node itself", ".NET 10 for browsers", "exit", End::Clean),
];
