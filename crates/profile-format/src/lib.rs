//! The layout of the profile file: offsets, sizes, kinds and flags (docs/profile-format.md). The reader and both writers use
//! these numbers: `profile`, the CLR profiler, and the tracker, whose constants [`csharp()`] generates.

#[macro_use]
mod declare;

mod captured;
mod chunks;
mod csharp;
mod first_block;
mod trees;

pub use captured::{
    CallEnd, CallFlags, CallRecordKind, DescriptionKind, ParameterMode, TypeShape, UnreadReason, ValueKind, calls,
};
pub use chunks::{ChunkKind, NameKind, PhaseKind, chunk, counter, event, lines, merged, names, phase};
pub use csharp::csharp;
pub use first_block::{ClockKind, Command, HeaderFlags, RecordingMode, control, header};
pub use trees::{NodeFlags, async_record, bucket, few_calls, frame, node, statistics, tree};
