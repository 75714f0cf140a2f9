//! The control page: what others ask of the program that is writing the profile.

use super::layout::CONTROL_AT;

/// Where it says which command is begun: behind the name of a mark.
const BEGUN: usize = 16 + 4 + Control::MAX_NAME;

/// What the control page says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Control {
    /// The number of the last command that was given.
    pub sequence: u32,
    /// The number of the last one that the program has carried out.
    pub acknowledged: u32,
    /// Whether it records nothing at present.
    pub is_paused: bool,
    /// The number of the last one that the program has begun to carry out.
    pub begun: u32,
}

/// What can be asked of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Record nothing from now on.
    Pause = 1,
    /// Record again.
    Resume = 2,
    /// Begin anew: what was recorded before is left out of reports.
    Reset = 3,
    /// Begin a phase of this name.
    Mark = 4,
}

impl Control {
    /// Where in the file the number of the last command is; it is written last.
    pub const SEQUENCE_AT: u64 = CONTROL_AT as u64;
    /// Where the command is.
    pub const COMMAND_AT: u64 = Self::SEQUENCE_AT + 4;
    /// Where the name of a mark is: a u32 count of bytes, then UTF-8.
    pub const NAME_AT: u64 = Self::SEQUENCE_AT + 16;
    /// Names of marks have so many bytes at most.
    pub const MAX_NAME: usize = 240;

    /// How many bytes it has.
    pub const SIZE: usize = BEGUN + 4;

    /// Reads it from a file of version 2; none if it is not there.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.get(CONTROL_AT..)?.first_chunk().map(Self::of_page)
    }

    /// Reads it from the bytes at [`SEQUENCE_AT`](Self::SEQUENCE_AT).
    pub fn of_page(bytes: &[u8; Self::SIZE]) -> Self {
        let (fields, _) = bytes.as_chunks();
        let field = |at: usize| fields.get(at / 4).map_or(0, |field| u32::from_le_bytes(*field));
        Self { sequence: field(0), acknowledged: field(8), is_paused: field(12) == 1, begun: field(BEGUN) }
    }
}
