//! Appends to every heap and table. The additions can be read back, and the input's own content stays unchanged.

use std::{fs, path::Path};

use little_endian::{ByteOrder, LE};

use ecma335::{
    Cursor, FileOffset, Image, Metadata, MetadataBuilder, Rid, Rva, Table, Token,
    schema::{
        Blob, CustomAttribute, Field, FieldLayout, FieldRva, GenericParam, HasCustomAttribute, HasCustomDebugInformation,
        MethodDef, Module, Param, Row, StandAloneSig, Str, TypeDef, TypeDefOrRef, TypeOrMethodDef,
    },
    vacancy::vacant_blobs,
};

fn with_sample(work: impl FnOnce(&Metadata<'_>)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/hello/bin/hello.exe");
    let bytes = fs::read(path).expect("it is committed");
    let image = Image::parse(&bytes).expect("it is an assembly");
    work(&Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read"));
}

fn methods(metadata: &Metadata<'_>, owner: Rid<TypeDef>) -> Vec<u32> {
    metadata.children::<TypeDef, MethodDef>(owner).map(Rid::get).collect()
}

#[test]
fn a_type_with_members_is_appended() {
    with_sample(|metadata| {
        let mut builder = MetadataBuilder::new(metadata);
        let next = |table| metadata.tables.count(table) + 1;
        let names = ["Added", "N", "field", "Method", "argument"].map(|name| builder.string(name).expect("room"));
        let [name, namespace, field, method, argument] = names;
        let text = builder.user_string("a literal, not plain: \u{e9}").expect("room");
        let guid = builder.guid(*b"0123456789abcdef").expect("room");
        // `void (int32)`, `int32`
        let (method_sig, field_sig) = (builder.blob(&[0, 1, 1, 8]).expect("room"), builder.blob(&[6, 8]).expect("room"));
        let type_def = builder.add(&TypeDef {
            flags: 1,
            name,
            namespace,
            extends: TypeDefOrRef::default(),
            field_list: Rid::new(next(Table::Field)),
            method_list: Rid::new(next(Table::MethodDef)),
        });
        let added_field = builder.add(&Field { flags: 0x16, name: field, signature: field_sig }).expect("room");
        let param_list = Rid::new(next(Table::Param));
        let method = MethodDef { rva: 0, impl_flags: 0, flags: 0x16, name: method, signature: method_sig, param_list };
        let method = builder.add(&method).expect("room");
        builder.add(&Param { flags: 0, sequence: 1, name: argument }).expect("room");
        builder.insert(&FieldLayout { offset: 4, field: Rid::new(added_field.rid()) }).expect("room");
        let counts = builder.counts();
        let bytes = builder.finish().expect("it can be written").to_vec();

        let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
        assert_eq!(*new.tables.counts(), counts);
        let type_def = type_def.expect("room").rid_in::<TypeDef>().expect("a type");
        let last = new.full_names().types().last().expect("a type");
        assert_eq!(new.full_names().name_of(last).as_deref(), Ok("N.Added"));
        assert_eq!(methods(&new, type_def), [method.rid()]);
        let row = new.row(Rid::<MethodDef>::new(method.rid())).expect("it is there");
        assert_eq!((new.name(row.name).as_deref(), new.blob(row.signature)), (Ok("Method"), Ok(&[0, 1, 1, 8][..])));
        let row = new.row(Rid::<Field>::new(added_field.rid())).expect("it is there");
        assert_eq!(new.name(row.name).as_deref(), Ok("field"));
        assert_eq!((text.kind(), new.guids.guid(guid)), (Token::USER_STRING, Ok(Some(*b"0123456789abcdef"))));
        let units: Vec<u16> = "a literal, not plain: \u{e9}".encode_utf16().collect();
        assert_eq!(new.user_strings.user_string(text.rid()), Ok(units));
        // The members of the formerly last type still belong to it.
        let last = Rid::<TypeDef>::new(type_def.get() - 1);
        assert_eq!(methods(&new, last), methods(metadata, last));
        for table in Table::ALL {
            let unchanged = 1..=metadata.tables.count(*table);
            assert!(unchanged.clone().all(|rid| new.tables.cells(*table, rid) == metadata.tables.cells(*table, rid)), "{table}");
        }
    });
}

/// Overlapping and shared blobs are freed only where just replaced rows refer to them.
#[test]
fn blobs_lie_where_only_replaced_rows_had_theirs() {
    with_sample(|metadata| {
        let mut builder = MetadataBuilder::new(metadata);
        // The second blob starts inside the first, at its byte 2.
        let first = builder.blob(&[2, 9, 9, 9]).expect("room");
        let [shared, alone] = [[7, 1, 8], [7, 1, 9]].map(|blob| builder.blob(&blob).expect("room"));
        let sigs = [first, shared, alone].map(|signature| builder.add(&StandAloneSig { signature }).expect("room"));
        for signature in [Blob(first.0 + 1), shared] {
            builder.add(&Field { flags: 0x16, name: Str(0), signature }).expect("room");
        }
        let bytes = builder.finish().expect("it can be written").to_vec();
        let old = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
        let vacant = vacant_blobs(&old, |table, row| table == Table::StandAloneSig && row >= sigs[0].rid());
        let place = |start: u32, length: u32| start..start + length;
        assert_eq!(vacant, [place(first.0, 1), place(first.0 + 4, 1), place(alone.0, 4)]);

        let mut builder = MetadataBuilder::new(&old);
        builder.vacate_blobs(vacant);
        let placed = [&[7, 0][..], &[7, 1, 2, 3]].map(|blob| builder.place_blob(blob).expect("room"));
        assert_eq!((placed[0], placed[1].0 >= old.blobs.bytes.len() as u32), (alone, true));
        let changes = [(first.0, vec![0]), (first.0 + 4, vec![0]), (alone.0, vec![2, 7, 0, 0])];
        assert_eq!(builder.additions().blob_changes(), changes);
        let bytes = builder.finish().expect("it can be written").to_vec();
        let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
        let blobs = [(placed[0], &[7, 0][..]), (placed[1], &[7, 1, 2, 3]), (Blob(first.0 + 1), &[9, 9]), (shared, &[7, 1, 8])];
        blobs.iter().for_each(|(at, blob)| assert_eq!(new.blob(*at), Ok(*blob)));
    });
}

/// A row whose cells are all nearly equal, and small enough for any column.
fn ones<R: Row>() -> R {
    R::from_cells(|| 1)
}

macro_rules! append_everywhere {
    ($($table:ident)*) => {
        #[test]
        fn every_table_takes_rows_behind_its_own_or_in_their_place() {
            use ecma335::schema;
            with_sample(|metadata| {$(
                let table = Table::$table;
                let mut builder = MetadataBuilder::new(metadata);
                let before = metadata.tables.count(table);
                let row: schema::$table = ones();
                let is_named = HasCustomDebugInformation::new(Token::new(table, 1)).is_some();
                let is_below = metadata.tables.sort_key(table, before).is_some_and(|last| last > vec![1; last.len()]);
                let added = if table.sort_keys().is_empty() {
                    assert_eq!(builder.add(&row), Ok(Token::new(table, before + 1)), "{table}");
                    assert_eq!(builder.add(&row), Ok(Token::new(table, before + 2)), "{table}");
                    2
                } else {
                    assert!(builder.add(&row).is_err(), "{table}: a sorted table's rows have no lasting numbers");
                    let is_refused = builder.insert(&row).is_err();
                    assert_eq!(is_refused, is_named && is_below, "{table}");
                    u32::from(!is_refused)
                };
                assert_eq!(builder.additions().rows(table).len(), added as usize, "{table}");
                let bytes = builder.finish().expect("it can be written").to_vec();
                let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
                assert_eq!(new.tables.count(table), before + added, "{table}");
                let mut cells = Vec::new();
                row.for_each_cell(|cell| cells.push(cell));
                let found = (1..=before + added).filter(|rid| new.tables.cells(table, *rid).as_ref() == Some(&cells)).count();
                let had = (1..=before).filter(|rid| metadata.tables.cells(table, *rid).as_ref() == Some(&cells)).count();
                assert_eq!(found, had + added as usize, "{table}");
            )*});
        }

        #[test]
        fn no_table_is_left_out() {
            assert_eq!([$(Table::$table),*], Table::ALL);
        }
    };
}

append_everywhere! {
    Module TypeRef TypeDef FieldPtr Field MethodPtr MethodDef ParamPtr Param InterfaceImpl MemberRef Constant CustomAttribute
    FieldMarshal DeclSecurity ClassLayout FieldLayout StandAloneSig EventMap EventPtr Event PropertyMap PropertyPtr Property
    MethodSemantics MethodImpl ModuleRef TypeSpec ImplMap FieldRva EncLog EncMap Assembly AssemblyProcessor AssemblyOs
    AssemblyRef AssemblyRefProcessor AssemblyRefOs File ExportedType ManifestResource NestedClass GenericParam MethodSpec
    GenericParamConstraint Document MethodDebugInformation LocalScope LocalVariable LocalConstant ImportScope
    StateMachineMethod CustomDebugInformation
}

#[test]
fn the_same_row_is_interned_once() {
    with_sample(|metadata| {
        let mut builder = MetadataBuilder::new(metadata);
        let row = |name| Param { flags: 0, sequence: 1, name: Str(name) };
        let tokens = [1, 2, 1].map(|name| builder.intern(&row(name)).expect("room"));
        assert_eq!(tokens[0], tokens[2]);
        assert_ne!(tokens[0], tokens[1]);
        assert_eq!(builder.counts()[Table::Param as usize], metadata.tables.count(Table::Param) + 2);
        let attribute = CustomAttribute { parent: Default::default(), constructor: Default::default(), value: Blob(0) };
        assert!(builder.intern(&attribute).is_err() && builder.insert(&attribute).is_ok());
    });
}

#[test]
fn a_row_goes_where_its_key_belongs_whether_the_table_says_that_it_is_sorted_or_not() {
    with_sample(|metadata| {
        let root = metadata.root.rest();
        let sorted_at = metadata.tables.offset::<Module>(Rid::new(1)).0 - metadata.root.offset().0;
        let tables = Table::ALL.iter().filter(|table| metadata.tables.count(**table) > 0).count();
        let sorted_at = sorted_at as usize - tables * 4 - 8;
        let mut unsorted = root.to_vec();
        assert_eq!(LE::read_u64(&root[sorted_at..]), metadata.tables.sorted);
        unsorted[sorted_at..sorted_at + 8].fill(0);
        for bytes in [root, &unsorted] {
            let metadata = Metadata::parse(Cursor::new(bytes, FileOffset(0))).expect("it can be read");
            let mut builder = MetadataBuilder::new(&metadata);
            // Not at the end: the assembly's keys are higher.
            let parent = HasCustomAttribute::new(Token::new(Table::TypeRef, 1)).expect("it can have them");
            builder.insert(&CustomAttribute { parent, constructor: Default::default(), value: Blob(0) }).expect("room");
            let bytes = builder.finish().expect("it can be written").to_vec();
            let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
            let keys = (1..=new.tables.count(Table::CustomAttribute)).map(|rid| new.tables.sort_key(Table::CustomAttribute, rid));
            let keys = keys.collect::<Option<Vec<_>>>().expect("all are there");
            assert!(keys.is_sorted() && keys.first() < keys.last(), "{keys:?}");
        }
    });
}

#[test]
fn rows_that_can_be_named_keep_their_numbers() {
    let row = |method, number| {
        let owner = TypeOrMethodDef::new(Token::new(Table::MethodDef, method)).expect("a method can have them");
        GenericParam { number, flags: 0, owner, name: Str(1) }
    };
    with_sample(|metadata| {
        let before = metadata.tables.count(Table::GenericParam);
        let methods = metadata.tables.count(Table::MethodDef);
        let mut builder = MetadataBuilder::new(metadata);
        for (method, number, fits) in
            [(methods - 1, 1, true), (methods - 1, 0, false), (methods - 2, 1, false), (methods, 0, true)]
        {
            assert_eq!(builder.insert(&row(method, number)).is_ok(), fits, "{number} of {method}");
        }
        let bytes = builder.finish().expect("it can be written").to_vec();
        let again = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
        let mut builder = MetadataBuilder::new(&again);
        assert!(builder.insert(&row(methods - 1, 2)).is_err());
        builder.insert(&row(methods, 0)).expect("behind one with the same key");
        builder.insert(&row(methods, 1)).expect("behind the last");
        let bytes = builder.finish().expect("it can be written").to_vec();
        let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
        let rows = [(methods - 1, 1), (methods, 0), (methods, 0), (methods, 1)].map(|(method, number)| row(method, number));
        assert_eq!(new.tables.rows::<GenericParam>().skip(before as usize).map(|(_, row)| row).collect::<Vec<_>>(), rows);
    });
}

#[test]
fn data_moves_with_its_field_whatever_is_put_in_between() {
    with_sample(|metadata| {
        let mut builder = MetadataBuilder::new(metadata);
        let first = metadata.tables.count(Table::Field) + 1;
        for _ in 0..3 {
            builder.add(&Field { flags: 0x100, name: Str(1), signature: Blob(1) }).expect("room");
        }
        let row = |rva, index| FieldRva { rva, field: Rid::new(first + index) };
        builder.insert(&row(0x2000, 0)).and_then(|()| builder.insert(&row(0x2010, 2))).expect("room");
        let bytes = builder.finish().expect("it can be written").to_vec();

        let with_data = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
        let old = with_data.tables.count(Table::FieldRva);
        let mut builder = MetadataBuilder::new(&with_data);
        builder.insert(&row(0x9000, 1)).expect("room");
        builder.set_field_rva(Rid::new(old - 1), Rva(0x4000));
        builder.set_field_rva(Rid::new(old), Rva(0x4010));
        let bytes = builder.finish().expect("it can be written").to_vec();
        let new = Metadata::parse(Cursor::new(&bytes, FileOffset(0))).expect("it can be read");
        let rows: Vec<FieldRva> = new.tables.rows().skip(old as usize - 2).map(|(_, row)| row).collect();
        assert_eq!(rows, [row(0x4000, 0), row(0x9000, 1), row(0x4010, 2)]);
    });
}
