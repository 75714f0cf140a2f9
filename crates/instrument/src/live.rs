//! What a launcher and the CLR profiler know of each other: how the profiler is named, and what it is told by its environment.

pub use weave::Captured;

/// The profiler's class, as the runtime is told it.
pub const CLASS: u128 = 0x7D1B7A3C_9E2F_4C1D_8B65_494C494E5354;
/// The name of its library, without what platforms put before and behind.
pub const LIBRARY: &str = "ilinst_clr_profiler";

/// Which methods: `weave`'s options in words.
pub const OPTIONS: &str = "ILINST_LIVE_OPTIONS";
/// Whether assemblies of the framework are recorded, too: 1.
pub const ALL_ASSEMBLIES: &str = "ILINST_LIVE_ALL_ASSEMBLIES";
/// Where the tracker is, if methods are to be woven when they are loaded.
pub const TRACKER: &str = "ILINST_LIVE_TRACKER";
/// The folder in which the profiler says how it began: in a file named by the process's number.
pub const STATUS: &str = "ILINST_LIVE_STATUS";
/// The launcher's version, which has to be the profiler's.
pub const VERSION: &str = "ILINST_LIVE_VERSION";

/// Where profiles go, as for the tracker.
pub const OUTPUT: &str = "ILINST_OUTPUT";
/// How long methods stay woven of a program that is attached to, in milliseconds.
pub const DURATION: &str = "ILINST_LIVE_DURATION";
/// The file in that folder whose being there says that they are to be put back now.
pub const STOP: &str = "stop";

/// The socket by which a profiler that stays is asked again: this and the process's number, in the folder for temporary files
/// (Windows: a pipe).
pub const DOOR: &str = "ilinst-attach-";

/// What [`STATUS`] begins with when methods are woven that ran already; behind it is how many.
pub const WOVEN: &str = "woven";
/// When they are what they were, and the runtime has let the profiler go; behind it are words on what it did not compile anew.
pub const DETACHED: &str = "detached";
/// When it does not let go; behind it is why.
pub const STAYS: &str = "stays: ";
/// When methods are woven as their modules are loaded; behind it is a line for each module that runs as it is, and why.
pub const REWRITING: &str = "rewriting";
/// What [`STATUS`] begins with where the profiler could not begin.
pub const FAILED: &str = "error: ";

/// What is kept of each call: words with commas between them, of [`Captured`].
pub const CAPTURE: &str = "ILINST_LIVE_CAPTURE";
