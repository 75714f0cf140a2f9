//! The file: a header, then chunks as they were in the program's memory (docs/profile-format.md). This module turns bytes into
//! records; [`read`](crate::read) interprets them together.

mod calls;
mod chunks;
mod control;
mod cursor;
mod events;
mod header;
mod lines;
mod merged;
mod names;
mod nodes;
mod packing;
mod phases;
mod records;
mod statistics;

pub use control::Control;
pub use events::{Event, events, traced_nodes};
pub(crate) use header::{Header, MergedHeader, Timebase, set_running};
pub use lines::added_lines;
pub(crate) use lines::write_lines;
pub(crate) use merged::{MethodStatistics, PathHead, write_paths, write_statistics};
pub(crate) use names::{NameRecord, Names, write_names};
pub(crate) use nodes::{AsyncRecord, NodeChunk, RawNode, Slot, Spent, TreeHeader};
pub use packing::unpacked;
pub(crate) use phases::PhaseKind;
pub(crate) use records::Records;
