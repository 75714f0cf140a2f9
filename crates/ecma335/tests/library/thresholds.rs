//! Adds rows to a real assembly until its tables and heaps exceed each limit at which columns widen (II.24.2.6). The
//! existing rows keep their content.

use std::{fs, path::Path};

use ecma335::{
    Cursor, FileOffset, Image, Metadata, MetadataBuilder, Rid, Table,
    schema::{self, Blob, Guid, Row, Str},
};

/// The row counts at which an index widens: 2^16 over the number of tags, for five tag bits to none.
const LIMITS: [u32; 5] = [1 << 11, 1 << 13, 1 << 14, 1 << 15, 1 << 16];

fn with_hello(test: impl FnOnce(&Metadata<'_>)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/hello/bin/hello.exe");
    let bytes = fs::read(path).unwrap();
    let image = Image::parse(&bytes).unwrap();
    test(&Metadata::parse(image.metadata().unwrap()).unwrap());
}

/// Reads a builder's metadata back, and checks that it contains every row of the input.
fn check(metadata: &Metadata<'_>, builder: &MetadataBuilder<'_, '_>, what: &str) -> Vec<u8> {
    let counts = builder.counts();
    let bytes = builder.finish().unwrap().to_vec();
    let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).unwrap();
    for table in Table::ALL.iter().copied() {
        assert_eq!(new.tables.count(table), counts[table as usize], "{what}: {table}");
        for rid in 1..=metadata.tables.count(table) {
            assert_eq!(new.tables.cells(table, rid), metadata.tables.cells(table, rid), "{what}: {table} {rid}");
        }
    }
    bytes
}

/// Adds the same row until the table has `count` rows, and reads the last one.
fn grow<R: Row + Copy + PartialEq + std::fmt::Debug>(metadata: &Metadata<'_>, row: R) {
    for limit in LIMITS {
        for count in [limit - 1, limit, limit + 1] {
            let mut builder = MetadataBuilder::new(metadata);
            while builder.counts()[R::TABLE as usize] < count {
                builder.add(&row).unwrap();
            }
            let bytes = check(metadata, &builder, &format!("{count} rows of {}", R::TABLE));
            let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).unwrap();
            assert_eq!(new.row(Rid::<R>::new(count)).unwrap(), row);
        }
    }
}

macro_rules! grow_tables {
    ($($test:ident $table:ident { $($column:ident: $value:expr),* })*) => {$(
        #[test]
        fn $test() {
            with_hello(|metadata| grow(metadata, schema::$table { $($column: $value),* }));
        }
    )*};
}

// Every table to which rows can be appended. The cells are too large for a column that should have widened.
grow_tables! {
    type_ref TypeRef { resolution_scope: schema::ResolutionScope(6), name: Str(1), namespace: Str(1) }
    type_def TypeDef { flags: 1, name: Str(1), namespace: Str(0), extends: schema::TypeDefOrRef(5), field_list: Rid::new(1), method_list: Rid::new(1) }
    field Field { flags: 1, name: Str(1), signature: Blob(1) }
    method_def MethodDef { rva: 0, impl_flags: 0, flags: 1, name: Str(1), signature: Blob(1), param_list: Rid::new(1) }
    param Param { flags: 0, sequence: 1, name: Str(1) }
    member_ref MemberRef { class: schema::MemberRefParent(9), name: Str(1), signature: Blob(1) }
    stand_alone_sig StandAloneSig { signature: Blob(1) }
    event Event { flags: 0, name: Str(1), event_type: schema::TypeDefOrRef(5) }
    property Property { flags: 0, name: Str(1), signature: Blob(1) }
    module_ref ModuleRef { name: Str(1) }
    type_spec TypeSpec { signature: Blob(1) }
    assembly_ref AssemblyRef { major: 1, minor: 0, build: 0, revision: 0, flags: 0, public_key_or_token: Blob(1), name: Str(1), culture: Str(0), hash_value: Blob(0) }
    file File { flags: 0, name: Str(1), hash_value: Blob(1) }
    exported_type ExportedType { flags: 0, type_def_id: 0, name: Str(1), namespace: Str(0), implementation: schema::Implementation(5) }
    manifest_resource ManifestResource { offset: 0, flags: 1, name: Str(1), implementation: schema::Implementation(0) }
    method_spec MethodSpec { method: schema::MethodDefOrRef(3), instantiation: Blob(1) }
    module Module { generation: 0, name: Str(1), mvid: Guid(1), enc_id: Guid(0), enc_base_id: Guid(0) }
}

#[test]
fn heaps_widen_at_64_kib() {
    with_hello(|metadata| {
        let (strings, blobs) = (metadata.strings.bytes.len(), metadata.blobs.bytes.len());
        for size in [0xFFFF, 0x1_0000, 0x1_0001] {
            // A name takes one additional byte, a blob of this size three.
            let (name, blob) = ("n".repeat(size - strings - 1), vec![7; size - blobs - 3]);
            let mut builder = MetadataBuilder::new(metadata);
            let (name_at, blob_at) = (builder.string(&name).unwrap(), builder.blob(&blob).unwrap());
            let last = (builder.string("last").unwrap(), builder.blob(b"last").unwrap());
            builder.add(&schema::ModuleRef { name: last.0 }).unwrap();
            builder.add(&schema::StandAloneSig { signature: last.1 }).unwrap();
            let bytes = check(metadata, &builder, &format!("heaps of {size} bytes"));
            let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).unwrap();
            assert_eq!(new.strings.string_bytes(name_at).unwrap(), name.as_bytes());
            assert_eq!(new.blob(blob_at).unwrap(), blob);
            let module_refs: Vec<schema::ModuleRef> = new.tables.rows().map(|(_, row)| row).collect();
            assert_eq!(new.name(module_refs.last().unwrap().name).unwrap(), "last");
            let signatures: Vec<schema::StandAloneSig> = new.tables.rows().map(|(_, row)| row).collect();
            assert_eq!(new.blob(signatures.last().unwrap().signature).unwrap(), b"last");
        }
    });
}
