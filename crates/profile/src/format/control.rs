//! The control page: commands to the program that is writing the profile.

use super::layout::CONTROL_AT;

/// The offset of `begun`: behind the name of a mark.
const BEGUN: usize = 16 + 4 + Control::MAX_NAME;

/// The state of the control page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Control {
    /// The number of the last command given.
    pub sequence: u32,
    /// The number of the last command that the program has completed.
    pub acknowledged: u32,
    /// Whether recording is paused.
    pub is_paused: bool,
    /// The number of the last command that the program has begun.
    pub begun: u32,
}

/// A command to the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Pause recording.
    Pause = 1,
    /// Resume recording.
    Resume = 2,
    /// Discard the recording so far: reports omit it.
    Reset = 3,
    /// Begin a phase of this name.
    Mark = 4,
}

impl Control {
    /// The file offset of the last command's number, which is written last.
    pub const SEQUENCE_AT: u64 = CONTROL_AT as u64;
    /// The file offset of the command.
    pub const COMMAND_AT: u64 = Self::SEQUENCE_AT + 4;
    /// The file offset of a mark's name: a u32 count of bytes, then UTF-8.
    pub const NAME_AT: u64 = Self::SEQUENCE_AT + 16;
    /// The longest name of a mark, in bytes.
    pub const MAX_NAME: usize = 240;

    /// The size of the control page's used part, in bytes.
    pub const SIZE: usize = BEGUN + 4;

    /// Reads the control page from a file of version 2. Returns `None` if the file is too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.get(CONTROL_AT..)?.first_chunk().map(Self::of_page)
    }

    /// Reads the control page from the bytes at [`SEQUENCE_AT`](Self::SEQUENCE_AT).
    pub fn of_page(bytes: &[u8; Self::SIZE]) -> Self {
        let (fields, _) = bytes.as_chunks();
        let field = |at: usize| fields.get(at / 4).map_or(0, |field| u32::from_le_bytes(*field));
        Self { sequence: field(0), acknowledged: field(8), is_paused: field(12) == 1, begun: field(BEGUN) }
    }
}
