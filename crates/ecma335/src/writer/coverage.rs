//! Lists the parts of an IL-only image, and checks that they cover it. An image gets a new layout only if every byte
//! is accounted for. The program itself may look up a byte without references.

use std::{cmp::Reverse, collections::BTreeMap, ops::Range};

use little_endian::NumbersAt;

use crate::{
    body::MethodBody,
    element::ElementType,
    error::Result,
    image::{Directory, DirectoryKind, Image, Precompiled},
    metadata::Metadata,
    schema::{ClassLayout, Field, FieldRva, MethodDef, Table, TypeDef},
    signature::{Signature, TypeSig},
    token::{Rid, Rva},
};

/// The obstacles, each with its code, its message and its meaning.
macro_rules! obstacles {
    ($($name:ident $code:literal $words:literal: $doc:literal,)*) => {
        /// The reason why an image keeps its layout.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
        pub enum Obstacle {
            /// The caller requested it.
            #[error("it was asked for")]
            Requested,
            $(#[doc = $doc] #[error($words)] $name,)*
        }

        impl Obstacle {
            /// The stable code for scripts.
            pub fn code(self) -> &'static str {
                match self {
                    Self::Requested => "requested",
                    $(Self::$name => $code,)*
                }
            }
        }
    };
}
obstacles! {
    OtherNativeCode "other-native-code" "it holds native code of another kind than ReadyToRun": "Precompiled code of an unknown kind.",
    NativeCode "native-code" "it holds native code": "Its flags say that there is more than IL.",
    NativeCallers "native-callers" "native code can call into it": "It has vtable fix-ups or the like (II.25.3.3.3).",
    OtherDirectory "other-directory" "it has a data directory that images of IL do not have": "See II.25.2.3.3.",
    OutsideSections "outside-sections" "something in it lies outside of its sections": "An RVA that leads nowhere.",
    NativeImport "native-import" "it imports native code": "More than the one function of mscoree.dll (II.25.3.1).",
    RelocationsAlone "relocations-alone" "it has relocations and imports nothing": "Nothing that they could be for.",
    WideImport "wide-import" "it imports native code by 64-bit addresses": "Only 32-bit images need the import.",
    NativeEntryPoint "native-entry-point" "its entry point is native code": "It does not jump to mscoree.dll.",
    NativeRelocations "native-relocations" "it has relocations for native code": "More than that of the jump.",
    NativeMethod "native-method" "a method in it is native code": "By its ImplFlags (II.23.1.11).",
    UnreadableBody "unreadable-body" "a method body in it cannot be read": "So nobody knows where it ends.",
    DataOutsideSections "data-outside-sections" "a field in it has data outside of its sections": "By its RVA (II.22.18).",
    DataOfUnknownSize "data-of-unknown-size" "a field in it has data of a size that its type does not say": "The type is another assembly's, or has no size.",
    Win32OutsideSections "win32-outside-sections" "its Win32 resources lie outside of its sections": "By their directory's RVA.",
    UnreadableWin32 "unreadable-win32" "its Win32 resources cannot be read": "The tree is none.",
    UnreadableDebug "unreadable-debug" "its debug directory cannot be read": "By its entries.",
    UnaccountedBytes "unaccounted-bytes" "it holds bytes that nothing refers to": "The program may look for them itself.",
}

/// The parts of an IL-only image.
#[derive(Debug)]
pub(super) struct Coverage<'a> {
    /// Every method that has a body, by its RVA.
    pub(super) bodies: Vec<Item<MethodDef>>,
    /// Every field that has data, by its RVA: first the read-only ones, then those in writable sections.
    pub(super) fields: [Vec<Item<FieldRva>>; 2],
    /// The function of mscoree.dll that starts the image on Windows. None in 64-bit images.
    pub(super) start: Option<&'static [u8]>,
    /// The Win32 resources.
    pub(super) win32: Option<Win32Resources<'a>>,
}

/// A row with data at an RVA.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<R> {
    pub(super) row: Rid<R>,
    pub(super) rva: Rva,
    pub(super) size: usize,
}

impl<R> Item<R> {
    /// The end of its range. [`Cover::add`] has checked that it does not overflow.
    pub(super) fn end(&self) -> u32 {
        self.rva.0 + self.size as u32
    }
}

/// A tree of Win32 resources, with the RVAs of its leaves for relocation.
#[derive(Debug)]
pub(super) struct Win32Resources<'a> {
    pub(super) rva: Rva,
    pub(super) bytes: &'a [u8],
    /// For each leaf: the offset in `bytes` of its content's RVA, and the offset in `bytes` of the content.
    pub(super) leaves: Vec<(usize, u32)>,
    /// The number of directories left to visit. More than fit into the bytes form a cycle.
    budget: usize,
}

/// The functions of mscoree.dll that start a program or a library (II.25.3.1).
const STARTS: [&[u8]; 2] = [b"_CorExeMain\0", b"_CorDllMain\0"];
const LIBRARY: &[u8] = b"mscoree.dll\0";
/// The first bytes of `jmp [address]`.
const JUMP: [u8; 2] = [0xFF, 0x25];
const JUMP_SIZE: usize = 6;
const MACHINE_I386: u16 = 0x014C;
const SECTION_WRITABLE: u32 = 0x8000_0000;
const FAT_ALIGNMENT: usize = 4;

impl<'a> Coverage<'a> {
    /// Lists the parts of an image, or returns the obstacle to a new layout.
    pub(super) fn list(image: &Image<'a>, metadata: &Metadata<'a>) -> Result<Self, Obstacle> {
        let precompiled = match image.precompiled() {
            Some(Precompiled::Other) => return Err(Obstacle::OtherNativeCode),
            precompiled => precompiled.is_some(),
        };
        let cli = image.cli_header();
        if !(image.is_il_only() || precompiled) || cli.has_native_entry_point() {
            return Err(Obstacle::NativeCode);
        }
        let unknown = [cli.vtable_fixups, cli.code_manager, cli.export_jumps];
        if unknown.iter().any(|directory| directory.size != 0) {
            return Err(Obstacle::NativeCallers);
        }
        let native = [DirectoryKind::Export, DirectoryKind::Exception, DirectoryKind::Tls];
        let others = (0..16).filter(|number| !DirectoryKind::OF_IL.iter().any(|kind| *kind as usize == *number));
        for number in others {
            let goes_with_native_code = precompiled && native.iter().any(|kind| *kind as usize == number);
            if image.directory_by_number(number).size != 0 && !goes_with_native_code {
                return Err(Obstacle::OtherDirectory);
            }
        }
        let mut account = Cover { image, known: Vec::new(), fat: Vec::new() };
        let start = if precompiled { None } else { account.imports()? };
        let bodies = account.bodies(metadata)?;
        let fields = account.fields(metadata, precompiled)?;
        let win32 = account.win32()?;
        account.others()?;
        if !precompiled {
            account.settle()?;
        }
        Ok(Self { bodies, fields, start, win32 })
    }
}

/// The referenced bytes of an image, as file offsets.
struct Cover<'a, 'i> {
    image: &'i Image<'a>,
    known: Vec<Range<usize>>,
    /// The offsets of correctly aligned fat bodies, at multiples of 4 (II.25.4.5).
    fat: Vec<usize>,
}

impl<'a> Cover<'a, '_> {
    fn add(&mut self, rva: Rva, size: usize) -> Result<&'a [u8], Obstacle> {
        let start = self.image.offset_of(rva).map_err(|_| Obstacle::OutsideSections)?.0 as usize;
        // Neither memory nor file extends beyond 4 GiB.
        u32::try_from(size).ok().and_then(|size| rva.0.checked_add(size)).ok_or(Obstacle::OutsideSections)?;
        let bytes =
            start.checked_add(size).and_then(|end| self.image.bytes().get(start..end)).ok_or(Obstacle::OutsideSections)?;
        self.known.push(start..start + size);
        Ok(bytes)
    }

    fn number(&mut self, rva: u32) -> Result<u32, Obstacle> {
        let bytes = self.add(Rva(rva), 4)?;
        Ok(bytes.u32_at(0).unwrap_or(0))
    }

    /// Reads the import of one function of mscoree.dll, and the jump to it at the image's native entry point.
    fn imports(&mut self) -> Result<Option<&'static [u8]>, Obstacle> {
        let directory = self.image.directory(DirectoryKind::Import);
        let relocations = self.image.directory(DirectoryKind::BaseRelocation);
        if directory.size == 0 {
            let is_empty = self.image.directory(DirectoryKind::ImportAddress).size == 0 && relocations.size == 0;
            return if is_empty { Ok(None) } else { Err(Obstacle::RelocationsAlone) };
        }
        if self.image.is_pe32_plus() || self.image.machine() != MACHINE_I386 {
            return Err(Obstacle::WideImport);
        }
        let at = directory.rva.0;
        // One descriptor: lookup table, time stamp, forwarder chain, name, address table. Then one of zeros.
        let [lookup, name, addresses] = [self.number(at)?, self.number(at.wrapping_add(12))?, self.number(at.wrapping_add(16))?];
        self.add(directory.rva, directory.size as usize)?;
        if self.number(at.wrapping_add(32))? != 0 || !self.add(Rva(name), LIBRARY.len())?.eq_ignore_ascii_case(LIBRARY) {
            return Err(Obstacle::NativeImport);
        }
        for table in [lookup, addresses] {
            if self.number(table.wrapping_add(4))? != 0 {
                return Err(Obstacle::NativeImport);
            }
        }
        let hint = self.number(addresses)?;
        self.number(lookup)?;
        let function = self.add(Rva(hint.wrapping_add(2)), STARTS[0].len())?;
        self.add(Rva(hint), 2)?;
        let start = STARTS.into_iter().find(|start| *start == function).ok_or(Obstacle::NativeImport)?;
        let entry = self.image.entry_point();
        if !self.add(entry, JUMP_SIZE)?.starts_with(&JUMP) {
            return Err(Obstacle::NativeEntryPoint);
        }
        if relocations.size != 0 {
            let block = self.add(relocations.rva, relocations.size as usize)?;
            // The page and size, then two bytes for each entry. All entries but that of the jump are padding.
            let entries = block.get(8..).unwrap_or_default().chunks_exact(2).filter(|entry| *entry != [0, 0]);
            if entries.count() > 1 {
                return Err(Obstacle::NativeRelocations);
            }
        }
        Ok(Some(start))
    }

    fn bodies(&mut self, metadata: &Metadata<'_>) -> Result<Vec<Item<MethodDef>>, Obstacle> {
        let mut bodies = Vec::with_capacity(metadata.tables.count(Table::MethodDef) as usize);
        for (row, method) in metadata.tables.rows::<MethodDef>().filter(|(_, method)| method.rva != 0) {
            if !method.has_il_body() {
                return Err(Obstacle::NativeMethod);
            }
            let rva = Rva(method.rva);
            let size = self.image.cursor_at(rva).and_then(MethodBody::measure).map_err(|_| Obstacle::UnreadableBody)?;
            let bytes = self.add(rva, size)?;
            if rva.0.is_multiple_of(FAT_ALIGNMENT as u32) && MethodBody::is_fat(bytes) {
                self.fat.extend(self.known.last().map(|body| body.start));
            }
            bodies.push(Item { row, rva, size });
        }
        bodies.sort_unstable_by_key(|body| (body.rva, Reverse(body.size)));
        Ok(bodies)
    }

    /// Finds the data of fields. With precompiled code, even read-only data lies in writable sections, so the flag is
    /// ignored.
    fn fields(&mut self, metadata: &Metadata<'_>, precompiled: bool) -> Result<[Vec<Item<FieldRva>>; 2], Obstacle> {
        let mut fields = [Vec::new(), Vec::new()];
        if metadata.tables.count(Table::FieldRva) == 0 {
            return Ok(fields);
        }
        let class_sizes = metadata.tables.rows::<ClassLayout>().map(|(_, row)| (row.parent, row.class_size as usize)).collect();
        for (row, field) in metadata.tables.rows::<FieldRva>().filter(|(_, field)| field.rva != 0) {
            let rva = Rva(field.rva);
            let section = self.image.section_of(rva).ok_or(Obstacle::DataOutsideSections)?;
            let size = field_size(metadata, &class_sizes, field.field).ok_or(Obstacle::DataOfUnknownSize)?;
            self.add(rva, size)?;
            let is_writable = section.characteristics & SECTION_WRITABLE != 0 && !precompiled;
            fields[usize::from(is_writable)].push(Item { row, rva, size });
        }
        fields.iter_mut().for_each(|fields| fields.sort_unstable_by_key(|field| field.rva));
        // Writable fields keep their distances, and the bytes between them.
        if let [first, .., last] = &fields[1][..] {
            let place = |rva: Rva| self.image.offset_of(rva).map_or(0, |offset| offset.0);
            let distance = u64::from(last.rva.0 - first.rva.0);
            if place(first.rva) + distance != place(last.rva) || distance > i32::MAX as u64 {
                return Err(Obstacle::DataOutsideSections);
            }
        }
        Ok(fields)
    }

    fn win32(&mut self) -> Result<Option<Win32Resources<'a>>, Obstacle> {
        let Directory { rva, size } = self.image.directory(DirectoryKind::Resource);
        if size == 0 {
            return Ok(None);
        }
        // The content of the leaves may lie after the directory's end.
        let section = self.image.section_of(rva).ok_or(Obstacle::Win32OutsideSections)?;
        let bytes = self.image.cursor_at(rva).map(|cursor| cursor.rest()).unwrap_or_default();
        let rest = section.virtual_size.max(size).saturating_sub(rva.0 - section.virtual_address.0) as usize;
        let bytes = bytes.get(..rest).unwrap_or(bytes);
        let mut resources = Win32Resources { rva, bytes, leaves: Vec::new(), budget: bytes.len() / 16 };
        let end = resources.collect(0, 0).ok_or(Obstacle::UnreadableWin32)?;
        resources.bytes = self.add(rva, end.max(size as usize))?;
        Ok(Some(resources))
    }

    /// Adds the other parts that the headers refer to.
    fn others(&mut self) -> Result<(), Obstacle> {
        let cli = self.image.cli_header();
        let headers = [
            self.image.directory(DirectoryKind::CliHeader),
            cli.metadata,
            cli.resources,
            cli.strong_name,
            self.image.directory(DirectoryKind::Debug),
            self.image.directory(DirectoryKind::ImportAddress),
        ];
        for directory in headers.iter().filter(|directory| directory.size != 0) {
            self.add(directory.rva, directory.size as usize)?;
        }
        let entries = crate::debug::DebugEntry::places(self.image).map_err(|_| Obstacle::UnreadableDebug)?;
        self.known.extend(entries);
        Ok(())
    }

    /// Checks that unreferenced bytes are zeros. Before a fat body, remains of a writer's buffer are accepted.
    fn settle(mut self) -> Result<(), Obstacle> {
        self.known.sort_unstable_by_key(|range| range.start);
        self.fat.sort_unstable();
        for section in self.image.sections() {
            // Bytes beyond the virtual size are not loaded, and some tools fill them with text.
            let size = if section.virtual_size == 0 { section.raw_size } else { section.raw_size.min(section.virtual_size) };
            let raw = section.raw_offset as usize..section.raw_offset as usize + size as usize;
            let mut at = raw.start;
            let first = self.known.partition_point(|range| range.end <= raw.start);
            let known = self.known[first..].iter().take_while(|range| range.start < raw.end).cloned();
            for range in known.chain(std::iter::once(raw.end..raw.end)) {
                let gap = self.image.bytes().get(at..range.start.max(at)).unwrap_or_default();
                let is_padding = || gap.len() < FAT_ALIGNMENT && self.fat.binary_search(&range.start).is_ok();
                if gap.iter().any(|byte| *byte != 0) && !is_padding() {
                    return Err(Obstacle::UnaccountedBytes);
                }
                at = at.max(range.end);
            }
        }
        Ok(())
    }
}

impl Win32Resources<'_> {
    /// Visits a directory of the tree: 16 bytes, then entries of eight bytes. Its last four bytes count the named and
    /// the numbered entries. Returns the largest end of its leaves' content.
    fn collect(&mut self, at: usize, depth: u32) -> Option<usize> {
        const IS_DIRECTORY: u32 = 0x8000_0000;
        // Real trees have three levels: type, name, language.
        if depth > 8 || self.leaves.len() > self.bytes.len() / 16 {
            return None;
        }
        self.budget = self.budget.checked_sub(1)?;
        let bytes = self.bytes;
        let counts = bytes.u32_at(at + 12)?;
        let mut end = 0;
        for index in 0..((counts & 0xFFFF) + (counts >> 16)) as usize {
            let child = bytes.u32_at(at + 16 + index * 8 + 4)?;
            let place = (child & !IS_DIRECTORY) as usize;
            end = end.max(if child & IS_DIRECTORY != 0 {
                self.collect(place, depth + 1)?
            } else {
                let start = bytes.u32_at(place)?.checked_sub(self.rva.0)?;
                self.leaves.push((place, start));
                let start = start as usize;
                let end = start.checked_add(bytes.u32_at(place + 4)? as usize)?;
                bytes.get(start..end).map(|_| end)?
            });
        }
        Some(end)
    }
}

/// The sizes of types in the ClassLayout table.
type ClassSizes = BTreeMap<Rid<TypeDef>, usize>;

/// The size of a field in bytes, if its own module defines it.
fn field_size(metadata: &Metadata<'_>, class_sizes: &ClassSizes, field: Rid<Field>) -> Option<usize> {
    let row = metadata.row(field).ok()?;
    let Signature::Field(mut of_type) = Signature::parse(metadata.blobs.blob(row.signature).ok()?).ok()? else { return None };
    while let TypeSig::Modified { inner, .. } = of_type {
        of_type = *inner;
    }
    match of_type {
        TypeSig::Element(element) => primitive_size(element),
        TypeSig::Named { is_value: true, token } => {
            let owner = token.token()?.rid_in()?;
            class_sizes.get(&owner).copied().filter(|size| *size > 0)
        }
        _ => None,
    }
}

fn primitive_size(element: ElementType) -> Option<usize> {
    use ElementType as E;
    Some(match element {
        E::Boolean | E::I1 | E::U1 => 1,
        E::Char | E::I2 | E::U2 => 2,
        E::I4 | E::U4 | E::R4 => 4,
        E::I8 | E::U8 | E::R8 => 8,
        _ => return None,
    })
}
