//! An image mapped by a loader reads like its file.

use std::{fs, path::Path};

use ecma335::{FileKind, Image, Metadata, MethodBody, Rva, is_named_as_assembly, open, open_loaded, schema::MethodDef};

/// Maps a file as a loader does: the headers, and each section at its RVA.
fn load(file: &[u8]) -> Vec<u8> {
    let image = Image::parse(file).expect("it is an assembly");
    let end = image.sections().iter().map(|section| section.virtual_address.0 + section.virtual_size).max().expect("sections");
    let mut memory = vec![0; end as usize];
    let headers = image.size_of_headers() as usize;
    memory[..headers].copy_from_slice(&file[..headers]);
    for section in image.sections() {
        // Raw data beyond the virtual size is only padding.
        let size = section.raw_size.min(section.virtual_size) as usize;
        let (from, to) = (section.raw_offset as usize, section.virtual_address.0 as usize);
        memory[to..to + size].copy_from_slice(&file[from..from + size]);
    }
    memory
}

/// Each method's row and body.
fn methods((image, metadata): (Image<'_>, Metadata<'_>)) -> Vec<(MethodDef, Option<Vec<u8>>)> {
    let body = |row: &MethodDef| {
        let cursor = image.cursor_at(Rva(row.rva)).ok().filter(|_| row.rva != 0)?;
        Some(cursor.rest()[..MethodBody::measure(cursor).expect("a body")].to_vec())
    };
    metadata.tables.rows::<MethodDef>().map(|(_, row)| (row, body(&row))).collect()
}

#[test]
fn a_loaded_image_says_what_its_file_says() {
    for sample in ["hello/bin/hello.exe", "shapes/bin/shapes.exe", "modern/bin/modern.dll"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples").join(sample);
        let file = fs::read(path).expect("it is committed");
        let memory = load(&file);
        assert_ne!(file.get(..memory.len().min(file.len())), memory.get(..memory.len().min(file.len())));
        let of_file = methods(open(&file).expect("it is an assembly"));
        let of_memory = methods(open_loaded(&memory).expect("it is one still"));
        assert!(of_file.iter().filter(|(_, body)| body.is_some()).count() > 3, "{sample}");
        assert_eq!(of_file, of_memory, "{sample}");
        // The mapped bytes cannot be read as a file.
        assert!(open(&memory).is_err(), "{sample}");
        for rva in [memory.len() as u32, u32::MAX] {
            assert!(Image::parse_loaded(&memory).expect("it is one").cursor_at(Rva(rva)).is_err(), "{sample}");
        }
        for length in [0, 64, 0x200, memory.len() / 2] {
            assert!(open_loaded(&memory[..length]).is_err(), "{sample} cut to {length}");
        }
    }
}

#[test]
fn the_ending_of_a_name_says_what_it_is() {
    let kind = |name: &str| FileKind::by_name(Path::new(name));
    assert_eq!(
        [kind("a.dll"), kind("A.EXE"), kind("m.netmodule")],
        [Some(FileKind::Library), Some(FileKind::Program), Some(FileKind::Module)]
    );
    assert_eq!([kind("dll"), kind("a.dll.mdb"), kind("")], [None; 3]);
    assert_eq!(FileKind::assemblies(Path::new("b/A.B")), [Path::new("b/A.B.dll"), Path::new("b/A.B.exe")]);
    assert!(is_named_as_assembly(Path::new("a.Dll")) && !is_named_as_assembly(Path::new("a.netmodule")));
}
