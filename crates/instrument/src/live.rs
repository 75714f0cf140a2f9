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

/// What [`STATUS`] begins with where the profiler could not begin.
pub const FAILED: &str = "error: ";

/// What is kept of each call: words with commas between them, of [`Captured`].
pub const CAPTURE: &str = "ILINST_LIVE_CAPTURE";
