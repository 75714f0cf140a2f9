//! Corrects the headers of a woven file.

use ecma335::{
    Image, ImageWriter,
    flags::cli_flags,
    image::{Directory, DirectoryKind},
    writer::Obstacle,
};

use super::note::Note;

/// The masks of ReadyToRun images for other systems than Windows: such an image has its COFF machine type XORed with one.
const OS_MASKS: [u16; 5] = [0x7B79, 0x4644, 0xADC4, 0x1993, 0x1992];
/// x86, x64, ARM Thumb-2, ARM64, LoongArch64, RISC-V 64.
const MACHINES: [u16; 6] = [0x014C, 0x8664, 0x01C4, 0xAA64, 0x6264, 0x5064];

/// Corrects the headers for the woven file, and notes the parts that were removed.
pub(crate) fn adapt_headers<'a, 'i>(image: &Image<'a>, mut writer: ImageWriter<'a, 'i>) -> (ImageWriter<'a, 'i>, Vec<Note>) {
    let mut notes = Vec::new();
    notes.extend(writer.obstacle().filter(|why| *why != Obstacle::Requested).map(Note::LayoutKept));
    let cli = writer.cli_header_mut();
    if image.precompiled().is_some() {
        notes.push(Note::ReadyToRunRemoved);
        cli.managed_native_header = Directory::default();
        cli.flags = cli.flags & !cli_flags::IL_LIBRARY | cli_flags::IL_ONLY;
    }
    if notes.contains(&Note::ReadyToRunRemoved) {
        // An IL-only image may not have these directories, or only native code used them.
        for kind in [DirectoryKind::Export, DirectoryKind::Exception, DirectoryKind::BaseRelocation, DirectoryKind::Tls] {
            writer.clear_directory(kind);
        }
        let machine = OS_MASKS.iter().map(|mask| image.machine() ^ mask).find(|machine| MACHINES.contains(machine));
        if let Some(machine) = machine.filter(|_| !MACHINES.contains(&image.machine())) {
            writer.set_machine(machine);
        }
    }
    if image.directory(DirectoryKind::Certificate).size != 0 {
        notes.push(Note::CertificateRemoved);
    }
    (writer, notes)
}
