//! The control page: commands to the program that is writing the profile.

use profile_format::{control, header::CONTROL_AT};

use super::cursor::u32_at;

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

impl Control {
    /// Reads the control page from a file. Returns `None` if the file is too short.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.get(CONTROL_AT..)?.first_chunk().map(Self::from_page)
    }

    /// Reads the bytes of a control page.
    pub fn from_page(page: &[u8; control::SIZE]) -> Self {
        let field = |at| u32_at(page, at);
        Self {
            sequence: field(control::SEQUENCE_AT),
            acknowledged: field(control::ACKNOWLEDGED_AT),
            is_paused: field(control::PAUSED_AT) == 1,
            begun: field(control::BEGUN_AT),
        }
    }
}
