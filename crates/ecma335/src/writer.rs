//! Writes an image. An IL-only image gets a new layout; any other keeps the input's layout and gets an additional
//! section (II.25).

mod append;
mod block;
mod coverage;
mod headers;
mod relayout;

pub use self::coverage::Obstacle;
use self::{append::Appended, block::Block, coverage::Coverage, headers::limit};
use crate::{
    builder::MetadataBuilder,
    debug::DebugEntry,
    error::Result,
    image::{CliHeader, Directory, DirectoryKind, Image},
    metadata::Metadata,
    output::OutputFile,
    segments::Segments,
    token::Rva,
};

/// The alignment of sections in a new layout, in memory and in the file, in bytes.
pub const ALIGNMENT: (u32, u32) = (relayout::SECTION_ALIGNMENT, relayout::FILE_ALIGNMENT);

/// The layout of the output.
#[derive(Debug)]
enum Layout<'a> {
    /// A new layout. The known parts cover the whole image.
    Relayout(Coverage<'a>),
    /// The input's layout, with an additional section at the end.
    Append(Obstacle),
}

/// The parts after the new bodies, in this order. A part that holds the address of another comes after it.
#[derive(Clone, Copy)]
enum Segment {
    /// The bodies that were not instrumented.
    Bodies,
    FieldData,
    Resources,
    StrongName,
    Metadata,
    DebugDirectory,
    Imports,
}

impl Segment {
    const ORDER: [Self; 7] =
        [Self::Bodies, Self::FieldData, Self::Resources, Self::StrongName, Self::Metadata, Self::DebugDirectory, Self::Imports];
}

/// Writes an image with new metadata and new bodies. The caller decides the content and the fields of the headers.
#[derive(Debug)]
pub struct ImageWriter<'a, 'i> {
    image: &'i Image<'a>,
    layout: Layout<'a>,
    cli: CliHeader,
    machine: u16,
    cleared: Vec<DirectoryKind>,
    debug: Vec<DebugEntry<'a>>,
    signature_size: usize,
}

impl<'a, 'i> ImageWriter<'a, 'i> {
    /// Starts with the input's headers. An IL-only image gets a new layout, unless `keep_layout` is set.
    pub fn new(image: &'i Image<'a>, metadata: &Metadata<'a>, keep_layout: bool) -> Self {
        debug_assert!(image.is_file(), "a loaded image is not written");
        let coverage = if keep_layout { Err(Obstacle::Requested) } else { Coverage::list(image, metadata) };
        let layout = coverage.map_or_else(Layout::Append, Layout::Relayout);
        let (cli, machine) = (*image.cli_header(), image.machine());
        let signature_size = image.bytes_at(cli.strong_name).len();
        Self { image, layout, cli, machine, cleared: Vec::new(), debug: Vec::new(), signature_size }
    }

    /// The reason why the image keeps its layout. None if it gets a new one.
    pub fn obstacle(&self) -> Option<Obstacle> {
        match self.layout {
            Layout::Relayout(_) => None,
            Layout::Append(obstacle) => Some(obstacle),
        }
    }

    /// The CLI header of the output, for changes.
    pub fn cli_header_mut(&mut self) -> &mut CliHeader {
        &mut self.cli
    }

    /// Sets the processor in the COFF header.
    pub fn set_machine(&mut self, machine: u16) {
        self.machine = machine;
    }

    /// Leaves a directory of the optional header empty.
    pub fn clear_directory(&mut self, kind: DirectoryKind) {
        self.cleared.push(kind);
    }

    /// Sets the entries of the debug directory. By default it has none.
    pub fn set_debug(&mut self, entries: Vec<DebugEntry<'a>>) {
        self.debug = entries;
    }

    /// Sets the size to reserve for the strong name signature. By default it is the input's.
    pub fn set_signature_size(&mut self, size: usize) {
        self.signature_size = size;
    }
}

impl<'a> ImageWriter<'a, '_> {
    /// The RVA of the first new body.
    ///
    /// # Errors
    /// If no address is left for it.
    pub fn code_rva(&self) -> Result<Rva> {
        match &self.layout {
            Layout::Relayout(coverage) => Ok(coverage.code_place(self.image).0),
            Layout::Append(_) => Appended::section_rva(self.image),
        }
    }

    /// The file offset of the first new body.
    ///
    /// # Errors
    /// If the headers break the format.
    pub fn code_offset(&self) -> Result<usize> {
        match &self.layout {
            Layout::Relayout(coverage) => Ok(coverage.code_place(self.image).1),
            Layout::Append(_) => Ok(Appended::new(self.image)?.section_offset),
        }
    }

    /// The whole file. `code` holds the new bodies.
    ///
    /// # Errors
    /// If the headers break the format, or the output exceeds a limit of it.
    pub fn finish(self, code: Segments<'a>, mut builder: MetadataBuilder<'a, '_>) -> Result<OutputFile<'a>> {
        let mut block = Block { start: self.code_rva()?, offset: self.code_offset()?, segments: code };
        let Self { image, layout, mut cli, machine, cleared, debug: mut entries, signature_size } = self;
        let (mut signature, mut debug, mut imports) = (None, Directory::default(), None);
        for segment in Segment::ORDER {
            match (segment, &layout) {
                (Segment::Bodies, Layout::Relayout(coverage)) => coverage.move_bodies(image, &mut block, &mut builder)?,
                (Segment::Bodies, Layout::Append(_)) => Appended::keep_dangling(image, &mut builder),
                (Segment::FieldData, Layout::Relayout(coverage)) => coverage.move_field_data(image, &mut block, &mut builder)?,
                (Segment::Resources, Layout::Relayout(_)) => {
                    cli.resources = block.place(image.bytes_at(image.cli_header().resources), 8)?;
                }
                (Segment::StrongName, _) if signature_size > 0 => {
                    block.segments.pad_to(8);
                    signature = Some(block.file_end()..block.file_end() + signature_size);
                    cli.strong_name = block.place(vec![0; signature_size], 8)?;
                }
                (Segment::Metadata, _) => {
                    let root = builder.finish()?;
                    block.segments.pad_to(4);
                    cli.metadata = Directory { rva: block.end()?, size: limit(root.len())? };
                    block.segments.append(root);
                }
                (Segment::DebugDirectory, _) => debug = block.place_debug(std::mem::take(&mut entries))?,
                (Segment::Imports, Layout::Relayout(coverage)) => imports = coverage.place_imports(image, &mut block)?,
                // These stay in place, or do not exist.
                (Segment::FieldData | Segment::Resources | Segment::StrongName | Segment::Imports, _) => {}
            }
        }
        // Checks the end, so that every part of the block has an address.
        block.end()?;
        let mut parts = match &layout {
            Layout::Relayout(coverage) => coverage.lay_out(image, &cli, block, debug, imports)?,
            Layout::Append(_) => Appended::new(image)?.lay_out(image, &cli, block, debug)?,
        };
        parts.headers.set_machine(machine);
        // The Authenticode signature covers the old bytes, so it is no longer valid.
        for kind in cleared.iter().chain([&DirectoryKind::Certificate]) {
            parts.headers.set_directory(*kind, Directory::default());
        }
        Ok(OutputFile { signature, ..parts.assemble(image)? })
    }
}
