//! The schema: every table and column of II.22, the pointer and edit-and-continue tables, and the portable PDB's
//! tables. It also lists every coded index of II.24.2.6. Readers, writers, widths, dumps and error labels expand
//! these lists.

use std::fmt;

use crate::token::{Rid, Token};

/// The tables: name, number, paragraph, `[columns it is sorted by]`, columns.
macro_rules! for_each_table { ($then:ident) => { $then! {
    Module                 = 0x00 "II.22.30" [] { generation: u16, name: Str, mvid: Guid, enc_id: Guid, enc_base_id: Guid }
    TypeRef                = 0x01 "II.22.38" [] { resolution_scope: ResolutionScope, name: Str, namespace: Str }
    TypeDef                = 0x02 "II.22.37" [] { flags: u32, name: Str, namespace: Str, extends: TypeDefOrRef, field_list: Rid<Field>, method_list: Rid<MethodDef> }
    FieldPtr               = 0x03 "II.22"    [] { field: Rid<Field> }
    Field                  = 0x04 "II.22.15" [] { flags: u16, name: Str, signature: Blob }
    MethodPtr              = 0x05 "II.22"    [] { method: Rid<MethodDef> }
    MethodDef              = 0x06 "II.22.26" [] { rva: u32, impl_flags: u16, flags: u16, name: Str, signature: Blob, param_list: Rid<Param> }
    ParamPtr               = 0x07 "II.22"    [] { param: Rid<Param> }
    Param                  = 0x08 "II.22.33" [] { flags: u16, sequence: u16, name: Str }
    InterfaceImpl          = 0x09 "II.22.23" [class, interface] { class: Rid<TypeDef>, interface: TypeDefOrRef }
    MemberRef              = 0x0A "II.22.25" [] { class: MemberRefParent, name: Str, signature: Blob }
    Constant               = 0x0B "II.22.9"  [parent] { kind: u8, padding: u8, parent: HasConstant, value: Blob }
    CustomAttribute        = 0x0C "II.22.10" [parent] { parent: HasCustomAttribute, constructor: CustomAttributeType, value: Blob }
    FieldMarshal           = 0x0D "II.22.17" [parent] { parent: HasFieldMarshal, native_type: Blob }
    DeclSecurity           = 0x0E "II.22.11" [parent] { action: u16, parent: HasDeclSecurity, permission_set: Blob }
    ClassLayout            = 0x0F "II.22.8"  [parent] { packing_size: u16, class_size: u32, parent: Rid<TypeDef> }
    FieldLayout            = 0x10 "II.22.16" [field] { offset: u32, field: Rid<Field> }
    StandAloneSig          = 0x11 "II.22.36" [] { signature: Blob }
    EventMap               = 0x12 "II.22.12" [] { parent: Rid<TypeDef>, event_list: Rid<Event> }
    EventPtr               = 0x13 "II.22"    [] { event: Rid<Event> }
    Event                  = 0x14 "II.22.13" [] { flags: u16, name: Str, event_type: TypeDefOrRef }
    PropertyMap            = 0x15 "II.22.35" [] { parent: Rid<TypeDef>, property_list: Rid<Property> }
    PropertyPtr            = 0x16 "II.22"    [] { property: Rid<Property> }
    Property               = 0x17 "II.22.34" [] { flags: u16, name: Str, signature: Blob }
    MethodSemantics        = 0x18 "II.22.28" [association] { semantics: u16, method: Rid<MethodDef>, association: HasSemantics }
    MethodImpl             = 0x19 "II.22.27" [class] { class: Rid<TypeDef>, body: MethodDefOrRef, declaration: MethodDefOrRef }
    ModuleRef              = 0x1A "II.22.31" [] { name: Str }
    TypeSpec               = 0x1B "II.22.39" [] { signature: Blob }
    ImplMap                = 0x1C "II.22.22" [member_forwarded] { flags: u16, member_forwarded: MemberForwarded, import_name: Str, import_scope: Rid<ModuleRef> }
    FieldRva               = 0x1D "II.22.18" [field] { rva: u32, field: Rid<Field> }
    EncLog                 = 0x1E "II.22"    [] { token: u32, function: u32 }
    EncMap                 = 0x1F "II.22"    [] { token: u32 }
    Assembly               = 0x20 "II.22.2"  [] { hash_algorithm: u32, major: u16, minor: u16, build: u16, revision: u16, flags: u32, public_key: Blob, name: Str, culture: Str }
    AssemblyProcessor      = 0x21 "II.22.4"  [] { processor: u32 }
    AssemblyOs             = 0x22 "II.22.3"  [] { platform: u32, major: u32, minor: u32 }
    AssemblyRef            = 0x23 "II.22.5"  [] { major: u16, minor: u16, build: u16, revision: u16, flags: u32, public_key_or_token: Blob, name: Str, culture: Str, hash_value: Blob }
    AssemblyRefProcessor   = 0x24 "II.22.7"  [] { processor: u32, assembly_ref: Rid<AssemblyRef> }
    AssemblyRefOs          = 0x25 "II.22.6"  [] { platform: u32, major: u32, minor: u32, assembly_ref: Rid<AssemblyRef> }
    File                   = 0x26 "II.22.19" [] { flags: u32, name: Str, hash_value: Blob }
    ExportedType           = 0x27 "II.22.14" [] { flags: u32, type_def_id: u32, name: Str, namespace: Str, implementation: Implementation }
    ManifestResource       = 0x28 "II.22.24" [] { offset: u32, flags: u32, name: Str, implementation: Implementation }
    NestedClass            = 0x29 "II.22.32" [nested_class] { nested_class: Rid<TypeDef>, enclosing_class: Rid<TypeDef> }
    GenericParam           = 0x2A "II.22.20" [owner, number] { number: u16, flags: u16, owner: TypeOrMethodDef, name: Str }
    MethodSpec             = 0x2B "II.22.29" [] { method: MethodDefOrRef, instantiation: Blob }
    GenericParamConstraint = 0x2C "II.22.21" [owner] { owner: Rid<GenericParam>, constraint: TypeDefOrRef }
    Document               = 0x30 "PDB.Document"               [] { name: Blob, hash_algorithm: Guid, hash: Blob, language: Guid }
    MethodDebugInformation = 0x31 "PDB.MethodDebugInformation" [] { document: Rid<Document>, sequence_points: Blob }
    LocalScope             = 0x32 "PDB.LocalScope"             [method, start_offset] { method: Rid<MethodDef>, import_scope: Rid<ImportScope>, variable_list: Rid<LocalVariable>, constant_list: Rid<LocalConstant>, start_offset: u32, length: u32 }
    LocalVariable          = 0x33 "PDB.LocalVariable"          [] { attributes: u16, index: u16, name: Str }
    LocalConstant          = 0x34 "PDB.LocalConstant"          [] { name: Str, signature: Blob }
    ImportScope            = 0x35 "PDB.ImportScope"            [] { parent: Rid<ImportScope>, imports: Blob }
    StateMachineMethod     = 0x36 "PDB.StateMachineMethod"     [move_next_method] { move_next_method: Rid<MethodDef>, kickoff_method: Rid<MethodDef> }
    CustomDebugInformation = 0x37 "PDB.CustomDebugInformation" [parent, kind] { parent: HasCustomDebugInformation, kind: Guid, value: Blob }
}}}

/// The list columns (II.22): owner, column, the table of the rows, and the pointer table. A list column holds the
/// first row that belongs to its owner. An uncompressed stream (`#-`) refers to the rows through the pointer table,
/// if it has one.
macro_rules! for_each_list {
    ($then:ident) => {
        $then! {
            TypeDef.field_list: Field [FieldPtr]
            TypeDef.method_list: MethodDef [MethodPtr]
            MethodDef.param_list: Param [ParamPtr]
            EventMap.event_list: Event [EventPtr]
            PropertyMap.property_list: Property [PropertyPtr]
            LocalScope.variable_list: LocalVariable []
            LocalScope.constant_list: LocalConstant []
        }
    };
}

/// The coded indices of II.24.2.6: name, tag bits, and the table each tag means.
macro_rules! for_each_coded_index { ($then:ident) => { $then! {
    TypeDefOrRef        2 { 0 TypeDef, 1 TypeRef, 2 TypeSpec }
    HasConstant         2 { 0 Field, 1 Param, 2 Property }
    HasCustomAttribute  5 { 0 MethodDef, 1 Field, 2 TypeRef, 3 TypeDef, 4 Param, 5 InterfaceImpl, 6 MemberRef, 7 Module, 8 DeclSecurity,
                            9 Property, 10 Event, 11 StandAloneSig, 12 ModuleRef, 13 TypeSpec, 14 Assembly, 15 AssemblyRef, 16 File,
                            17 ExportedType, 18 ManifestResource, 19 GenericParam, 20 GenericParamConstraint, 21 MethodSpec }
    HasFieldMarshal     1 { 0 Field, 1 Param }
    HasDeclSecurity     2 { 0 TypeDef, 1 MethodDef, 2 Assembly }
    MemberRefParent     3 { 0 TypeDef, 1 TypeRef, 2 ModuleRef, 3 MethodDef, 4 TypeSpec }
    HasSemantics        1 { 0 Event, 1 Property }
    MethodDefOrRef      1 { 0 MethodDef, 1 MemberRef }
    MemberForwarded     1 { 0 Field, 1 MethodDef }
    Implementation      2 { 0 File, 1 AssemblyRef, 2 ExportedType }
    CustomAttributeType 3 { 2 MethodDef, 3 MemberRef }
    ResolutionScope     2 { 0 Module, 1 ModuleRef, 2 AssemblyRef, 3 TypeRef }
    TypeOrMethodDef     1 { 0 TypeDef, 1 MethodDef }
    HasCustomDebugInformation 5 { 0 MethodDef, 1 Field, 2 TypeRef, 3 TypeDef, 4 Param, 5 InterfaceImpl, 6 MemberRef, 7 Module, 8 DeclSecurity,
                            9 Property, 10 Event, 11 StandAloneSig, 12 ModuleRef, 13 TypeSpec, 14 Assembly, 15 AssemblyRef, 16 File,
                            17 ExportedType, 18 ManifestResource, 19 GenericParam, 20 GenericParamConstraint, 21 MethodSpec,
                            22 Document, 23 LocalScope, 24 LocalVariable, 25 LocalConstant, 26 ImportScope }
}}}

/// The kind of a column's cells. It and the sizes of the file's heaps and tables decide the width (II.24.2.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// A constant of this many bytes: 1, 2 or 4.
    Fixed(u8),
    /// An offset into #Strings.
    Str,
    /// The number of a GUID in #GUID, from 1.
    Guid,
    /// An offset into #Blob.
    Blob,
    /// A row number of one table.
    Rid(Table),
    /// A coded index.
    Coded(&'static CodedIndex),
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name, as in the row struct.
    pub name: &'static str,
    /// The kind of its cells.
    pub kind: ColumnKind,
}

/// A kind of coded index: a row number with a tag for its table (II.24.2.6).
#[derive(PartialEq, Eq, Debug)]
pub struct CodedIndex {
    /// The name in II.24.2.6.
    pub name: &'static str,
    /// The number of low bits for the tag.
    pub tag_bits: u8,
    /// The tag and table of each member.
    pub tables: &'static [(u8, Table)],
}

/// The type of a column's cells.
pub trait Cell: Copy {
    /// The kind of such a column.
    const KIND: ColumnKind;
    /// Converts the number in the file.
    fn from_raw(raw: u32) -> Self;
    /// The number for the file; it must fit the column.
    fn to_raw(self) -> u32;
}

/// A row of a table.
pub trait Row: Sized {
    /// The table.
    const TABLE: Table;
    /// Makes a row from the raw numbers of its cells, requested in column order.
    fn from_cells(next: impl FnMut() -> u32) -> Self;
    /// Passes on the raw numbers of its cells, in column order.
    fn for_each_cell(&self, put: impl FnMut(u32));
}

/// A row that owns rows of another table: a list column holds the first of them (II.22).
pub trait Owner<C: Row>: Row {
    /// The list column.
    fn list(&self) -> Rid<C>;
}

macro_rules! fixed_cells {
    ($($ty:ty)*) => {$(
        impl Cell for $ty {
            const KIND: ColumnKind = ColumnKind::Fixed(size_of::<$ty>() as u8);
            fn from_raw(raw: u32) -> Self { raw as $ty }
            fn to_raw(self) -> u32 { self.into() }
        }
    )*};
}
fixed_cells! { u8 u16 u32 }

macro_rules! heap_cells {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        pub struct $name(pub u32);
        impl Cell for $name {
            const KIND: ColumnKind = ColumnKind::$name;
            fn from_raw(raw: u32) -> Self { Self(raw) }
            fn to_raw(self) -> u32 { self.0 }
        }
    )*};
}
heap_cells! {
    /// An offset into #Strings (II.24.2.3).
    Str
    /// A GUID's number in #GUID, from 1; 0 means none (II.24.2.5).
    Guid
    /// An offset into #Blob (II.24.2.4).
    Blob
}

impl<R: Row> Cell for Rid<R> {
    const KIND: ColumnKind = ColumnKind::Rid(R::TABLE);
    fn from_raw(raw: u32) -> Self {
        Self::new(raw)
    }
    fn to_raw(self) -> u32 {
        self.get()
    }
}

macro_rules! tables {
    ($($table:ident = $number:literal $spec:literal [$($key:ident),*] { $($column:ident: $ty:ty),* })*) => {
        /// The metadata tables, by their numbers.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Table {
            $(#[doc = concat!("Table ", stringify!($number), ", ", $spec, ".")] $table = $number,)*
        }

        impl Table {
            /// Every table, in the order of their numbers.
            pub const ALL: &'static [Table] = &[$(Table::$table),*];

            /// The table with this number.
            pub const fn from_number(number: u8) -> Option<Table> {
                match number { $($number => Some(Table::$table),)* _ => None }
            }

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Table::$table => stringify!($table)),* }
            }

            /// The paragraph that describes it.
            pub const fn paragraph(self) -> &'static str {
                match self { $(Table::$table => $spec),* }
            }

            /// The columns, in file order.
            pub const fn columns(self) -> &'static [Column] {
                match self { $(Table::$table => const { &[$(Column { name: stringify!($column), kind: <$ty as Cell>::KIND }),*] }),* }
            }

            /// The names of the columns that the table must be sorted by, most significant first. Empty if any order
            /// is valid.
            pub const fn sort_keys(self) -> &'static [&'static str] {
                match self { $(Table::$table => &[$(stringify!($key)),*]),* }
            }
        }

        $(
            #[doc = concat!("A row of ", stringify!($table), " (", $spec, ").")]
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub struct $table { $(#[doc = concat!("Column `", stringify!($column), "`.")] pub $column: $ty),* }

            impl Row for $table {
                const TABLE: Table = Table::$table;
                #[inline]
                fn from_cells(mut next: impl FnMut() -> u32) -> Self {
                    Self { $($column: <$ty as Cell>::from_raw(next())),* }
                }
                #[inline]
                fn for_each_cell(&self, mut put: impl FnMut(u32)) {
                    $(put(<$ty as Cell>::to_raw(self.$column));)*
                }
            }
        )*
    };
}
for_each_table!(tables);

macro_rules! lists {
    ($($owner:ident.$column:ident: $child:ident [$($pointers:ident)?])*) => {
        $(impl Owner<$child> for $owner {
            #[inline]
            fn list(&self) -> Rid<$child> {
                self.$column
            }
        })*

        impl Table {
            /// The pointer table to this table. If it has rows, list columns refer to them instead (II.22).
            pub const fn pointers(self) -> Option<Table> {
                match self { $($(Table::$child => Some(Table::$pointers),)?)* _ => None }
            }

            /// Whether this table has a list column for rows of the other (II.22).
            pub const fn has_list_of(self, other: Table) -> bool {
                matches!((self, other), $((Table::$owner, Table::$child))|*)
            }
        }
    };
}
for_each_list!(lists);

macro_rules! coded_indices {
    ($($name:ident $bits:literal { $($tag:literal $table:ident),* })*) => {$(
        #[doc = concat!("A `", stringify!($name), "` coded index (II.24.2.6), tag and row number as in the file.")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The tags and tables.
            pub const INDEX: CodedIndex = CodedIndex {
                name: stringify!($name),
                tag_bits: $bits,
                tables: &[$(($tag, Table::$table)),*],
            };

            /// The index of a row. None if the token's table is not a member.
            pub fn new(token: Token) -> Option<Self> {
                Self::INDEX.encode(token).map(Self)
            }

            /// The row's token. None if the tag is not in use.
            pub fn token(self) -> Option<Token> {
                Self::INDEX.decode(self.0)
            }

            /// The row number; 0 for none.
            pub fn rid(self) -> u32 {
                self.0 >> Self::INDEX.tag_bits
            }
        }

        impl Cell for $name {
            const KIND: ColumnKind = ColumnKind::Coded(&Self::INDEX);
            fn from_raw(raw: u32) -> Self { Self(raw) }
            fn to_raw(self) -> u32 { self.0 }
        }
    )*};
}
for_each_coded_index!(coded_indices);

impl CodedIndex {
    /// The table and row of a raw value. None if the tag is not in use.
    pub fn decode(&self, raw: u32) -> Option<Token> {
        let tag = (raw & ((1 << self.tag_bits) - 1)) as u8;
        let (_, table) = self.tables.iter().find(|(number, _)| *number == tag)?;
        Some(Token::new(*table, raw >> self.tag_bits))
    }

    /// The raw value for a row. None if its table is not a member.
    pub fn encode(&self, token: Token) -> Option<u32> {
        let (tag, _) = self.tables.iter().find(|(_, table)| *table as u8 == token.kind())?;
        Some(token.rid() << self.tag_bits | u32::from(*tag))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_standard_is_listed_in_order() {
        let numbers: Vec<u8> = Table::ALL.iter().map(|table| *table as u8).collect();
        assert_eq!(numbers, (0x00..=0x2C).chain(0x30..=0x37).collect::<Vec<u8>>());
        for table in Table::ALL {
            for key in table.sort_keys() {
                assert!(table.columns().iter().any(|column| column.name == *key), "{table}.{key}");
            }
        }
    }

    #[test]
    fn coded_indices_go_both_ways() {
        let token = Token::new(Table::MemberRef, 0x123);
        let coded = CustomAttributeType::new(token).unwrap();
        assert_eq!(coded.0, 0x123 << 3 | 3);
        assert_eq!(coded.token(), Some(token));
        assert_eq!(CustomAttributeType(1 << 3).token(), None);
        assert_eq!(TypeDefOrRef::new(token), None);
    }
}
