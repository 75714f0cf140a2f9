//! The tracker as `cargo xtask tracker` compiled it from the C# beside this file.

/// `Ilinst.Tracker.dll`, which refers to `mscorlib`, so that every runtime loads it.
pub const ASSEMBLY: &[u8] = include_bytes!("bin/Ilinst.Tracker.dll");

/// `Ilinst.Coverage.dll`, the hooks of the preset `coverage`, for every runtime too.
pub const COVERAGE: &[u8] = include_bytes!("coverage/bin/Ilinst.Coverage.dll");

/// `Ilinst.Activity.dll`, those of the preset `activity`, for .NET 8 and later.
pub const ACTIVITY: &[u8] = include_bytes!("activity/bin/Ilinst.Activity.dll");

/// The key pair that [`ASSEMBLY`] is signed with (II.6.2.1.3). It says who, not that nobody else could have: anyone may have it.
pub const KEY: &[u8] = include_bytes!("ilinst.snk");
