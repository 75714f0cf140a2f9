//! The tracker's names: what woven code calls, and the mark a woven module carries.

use ecma335::{
    Cursor, Error, FileOffset, Image, Metadata, MetadataBuilder, MethodBody, Rid, Rva, Table, Token,
    metadata::join,
    opcode::Operand,
    schema::{
        AssemblyRef, CustomAttribute, CustomAttributeType, HasCustomAttribute, MemberRef, MemberRefParent, MethodDef,
        ResolutionScope, Row, TypeRef,
    },
};
use sha1::{Digest, Sha1};

/// The namespace of the tracker's types.
const NAMESPACE: &str = "Ilinst";
/// The type whose methods the probes call.
const PROBE_TYPE: &str = "ProfileInfoTracker";
/// The attribute on the module that says: this one is woven.
const MARK_TYPE: &str = "WovenAttribute";
/// `native int (int64)`
const WHEN_ENTERING: (&str, &[u8]) = ("WhenEntering", &[0x00, 0x01, 0x18, 0x0A]);
/// `void (native int)`
const WHEN_LEAVING: (&str, &[u8]) = ("WhenLeaving", &[0x00, 0x01, 0x01, 0x18]);
/// `void (native int)`
const WHEN_HANDLING: (&str, &[u8]) = ("WhenHandling", &[0x00, 0x01, 0x01, 0x18]);
/// `instance void (int64, string, string)`
const MARK_CONSTRUCTOR: (&str, &[u8]) = (".ctor", &[0x20, 0x03, 0x01, 0x0A, 0x0E, 0x0E]);

/// A tracker assembly: woven code refers to it by this name.
#[derive(Clone, Debug)]
pub struct Tracker {
    /// Its simple name.
    pub name: String,
    version: [u16; 4],
    public_key_token: Vec<u8>,
}

/// The rows that say a module is woven, found again in the file.
#[derive(Clone, Debug)]
pub struct TrackerRows {
    /// The tracker's.
    pub assembly: Rid<AssemblyRef>,
    /// Those of the probes' type and of the mark's.
    pub types: [Rid<TypeRef>; 2],
    /// Those of the probes' three methods and of the mark's constructor.
    pub members: [Rid<MemberRef>; 4],
    /// The mark.
    pub attribute: Rid<CustomAttribute>,
    /// What the probes call.
    pub refs: TrackerRefs,
    /// The value of the mark.
    value: Vec<u8>,
}

impl TrackerRows {
    /// What the mark says; none if it is not as [`Tracker::add_to`] writes it.
    pub fn mark(&self) -> Option<Mark<'_>> {
        Mark::parse(&self.value)
    }

    /// How many of a table's rows they are.
    pub(crate) fn count(&self, table: Table) -> u32 {
        match table {
            Table::AssemblyRef | Table::CustomAttribute => 1,
            Table::TypeRef => self.types.len() as u32,
            Table::MemberRef => self.members.len() as u32,
            _ => 0,
        }
    }
}

/// The tokens that a woven module refers to its tracker by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrackerRefs {
    /// `ProfileInfoTracker.WhenEntering`
    pub when_entering: Token,
    /// `ProfileInfoTracker.WhenLeaving`
    pub when_leaving: Token,
    /// `ProfileInfoTracker.WhenHandling`
    pub when_handling: Token,
}

impl Tracker {
    /// Reads the name from the tracker's own metadata.
    ///
    /// # Errors
    /// If the bytes are no assembly.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let image = Image::parse(bytes)?;
        let metadata = Metadata::parse(image.metadata()?)?;
        let assembly: ecma335::schema::Assembly = metadata.row(Rid::new(1))?;
        let public_key = metadata.blob(assembly.public_key)?;
        let public_key_token = if public_key.is_empty() { Vec::new() } else { public_key_token(public_key) };
        let version = [assembly.major, assembly.minor, assembly.build, assembly.revision];
        Ok(Self { name: metadata.name(assembly.name)?, version, public_key_token })
    }

    /// Whether a module refers to a tracker: then it is woven already.
    pub fn is_referenced_by(&self, metadata: &Metadata<'_>) -> bool {
        let is_this = |row: &AssemblyRef| metadata.strings.string_bytes(row.name) == Ok(self.name.as_bytes());
        metadata.tables.rows::<AssemblyRef>().any(|(_, row)| is_this(&row))
    }

    /// Adds the rows that woven code needs, and the mark.
    ///
    /// # Errors
    /// If a table or heap is full.
    pub fn add_to(&self, builder: &mut MetadataBuilder<'_, '_>, mark: &Mark<'_>) -> Result<TrackerRefs, Error> {
        let [major, minor, build, revision] = self.version;
        let assembly = AssemblyRef {
            major,
            minor,
            build,
            revision,
            flags: 0,
            public_key_or_token: builder.blob(&self.public_key_token)?,
            name: builder.string(&self.name)?,
            culture: Default::default(),
            hash_value: Default::default(),
        };
        let assembly = builder.add(&assembly)?;
        let probe_type = add_type(builder, assembly, PROBE_TYPE)?;
        let mark_type = add_type(builder, assembly, MARK_TYPE)?;
        let refs = TrackerRefs {
            when_entering: add_method(builder, probe_type, WHEN_ENTERING)?,
            when_leaving: add_method(builder, probe_type, WHEN_LEAVING)?,
            when_handling: add_method(builder, probe_type, WHEN_HANDLING)?,
        };
        let constructor = add_method(builder, mark_type, MARK_CONSTRUCTOR)?;
        let attribute = CustomAttribute {
            parent: HasCustomAttribute::new(Token(1)).unwrap_or_default(),
            constructor: CustomAttributeType::new(constructor).unwrap_or_default(),
            value: builder.blob(&mark.to_blob())?,
        };
        builder.insert(&attribute)?;
        Ok(refs)
    }

    /// Finds the rows that [`add_to`](Self::add_to) adds; none if one of them is missing or is not as it was added.
    pub fn find_in(&self, metadata: &Metadata<'_>) -> Option<TrackerRows> {
        let is_mine = |row: &AssemblyRef| {
            metadata.strings.string_bytes(row.name) == Ok(self.name.as_bytes())
                && [row.major, row.minor, row.build, row.revision] == self.version
                && metadata.blob(row.public_key_or_token) == Ok(&self.public_key_token)
                && (row.flags, row.culture.0, row.hash_value.0) == (0, 0, 0)
        };
        let assembly = last(metadata, is_mine)?;
        let types = [find_type(metadata, assembly, PROBE_TYPE)?, find_type(metadata, assembly, MARK_TYPE)?];
        let [probe_type, mark_type] = types;
        let members = [
            find_method(metadata, probe_type, WHEN_ENTERING)?,
            find_method(metadata, probe_type, WHEN_LEAVING)?,
            find_method(metadata, probe_type, WHEN_HANDLING)?,
            find_method(metadata, mark_type, MARK_CONSTRUCTOR)?,
        ];
        let [when_entering, when_leaving, when_handling, constructor] =
            members.map(|rid| Token::new(Table::MemberRef, rid.get()));
        let is_mark = |row: &CustomAttribute| {
            row.constructor.token() == Some(constructor) && row.parent.token() == Some(Token::new(Table::Module, 1))
        };
        let attribute = last(metadata, is_mark)?;
        let value = metadata.blob(metadata.row(attribute).ok()?.value).ok()?.to_vec();
        let refs = TrackerRefs { when_entering, when_leaving, when_handling };
        Some(TrackerRows { assembly, types, members, attribute, refs, value })
    }
}

/// What the mark on a woven module says.
#[derive(Clone, Debug)]
pub struct Mark<'s> {
    /// The module's key, which its method ids begin with.
    pub module_key: u64,
    /// The tool and its version.
    pub tool: &'s str,
    /// The options it was woven with.
    pub options: &'s str,
}

impl<'s> Mark<'s> {
    /// The mark that a woven module carries.
    pub fn read(metadata: &Metadata<'s>) -> Option<Self> {
        let is_mark = |row: &CustomAttribute| {
            let name = || metadata.attribute_type_name(row);
            row.parent.token() == Some(Token(1)) && name().is_some_and(|name| name == join(NAMESPACE, MARK_TYPE))
        };
        let row = metadata.tables.rows::<CustomAttribute>().map(|(_, row)| row).find(is_mark)?;
        Self::parse(metadata.blob(row.value).ok()?)
    }

    fn parse(blob: &'s [u8]) -> Option<Self> {
        let mut cursor = Cursor::new(blob, FileOffset(0));
        cursor.bytes(2).ok()?;
        let module_key = cursor.u64().ok()?;
        let mut text = || {
            let length = cursor.compressed_u32().ok()?;
            std::str::from_utf8(cursor.bytes(length as usize).ok()?).ok()
        };
        let mark = Self { module_key, tool: text()?, options: text()? };
        (mark.to_blob() == blob).then_some(mark)
    }

    /// The value of the attribute (II.23.3).
    fn to_blob(&self) -> Vec<u8> {
        let mut blob = vec![1, 0];
        blob.extend_from_slice(&self.module_key.to_le_bytes());
        for text in [self.tool, self.options] {
            ecma335::cursor::put_compressed_u32(&mut blob, text.len() as u32);
            blob.extend_from_slice(text.as_bytes());
        }
        blob.extend_from_slice(&[0, 0]);
        blob
    }
}

/// Which methods of a woven module are woven, by row number less one: those whose bodies call the tracker.
pub fn woven_methods(image: &Image<'_>, metadata: &Metadata<'_>) -> Vec<bool> {
    let is_probe = |row: &MemberRef| {
        let class = row.class.token().and_then(Token::rid_in).and_then(|class| metadata.type_ref_name(class).ok());
        metadata.strings.string_bytes(row.name) == Ok(WHEN_ENTERING.0.as_bytes()) && class == Some(join(NAMESPACE, PROBE_TYPE))
    };
    let probe = metadata.tables.rows::<MemberRef>().find(|(_, row)| is_probe(row));
    let probe = probe.map(|(rid, _)| Token::new(Table::MemberRef, rid.get()));
    let calls_probe = |row: &MethodDef| {
        let body = (row.rva != 0).then(|| MethodBody::parse(image.cursor_at(Rva(row.rva))?));
        let Some(Ok(body)) = body else { return false };
        let mut instructions = body.instructions().map_while(Result::ok);
        instructions.any(|instruction| instruction.info.operand == Operand::Method && Some(instruction.token()) == probe)
    };
    metadata.tables.rows::<MethodDef>().map(|(_, row)| calls_probe(&row)).collect()
}

/// A public key's token: the last eight bytes of its SHA-1, backwards (II.6.3).
pub fn public_key_token(public_key: &[u8]) -> Vec<u8> {
    Sha1::digest(public_key).iter().rev().take(8).copied().collect()
}

/// The last row of a table that is as wanted: what was added stands behind the input's own.
fn last<R: Row>(metadata: &Metadata<'_>, is_wanted: impl Fn(&R) -> bool) -> Option<Rid<R>> {
    metadata.tables.rows::<R>().filter(|(_, row)| is_wanted(row)).map(|(rid, _)| rid).last()
}

fn find_type(metadata: &Metadata<'_>, assembly: Rid<AssemblyRef>, name: &str) -> Option<Rid<TypeRef>> {
    let scope = Token::new(Table::AssemblyRef, assembly.get());
    last(metadata, |row: &TypeRef| {
        row.resolution_scope.token() == Some(scope)
            && metadata.strings.string_bytes(row.name) == Ok(name.as_bytes())
            && metadata.strings.string_bytes(row.namespace) == Ok(NAMESPACE.as_bytes())
    })
}

fn find_method(metadata: &Metadata<'_>, class: Rid<TypeRef>, (name, signature): (&str, &[u8])) -> Option<Rid<MemberRef>> {
    let class = Token::new(Table::TypeRef, class.get());
    last(metadata, |row: &MemberRef| {
        row.class.token() == Some(class)
            && metadata.strings.string_bytes(row.name) == Ok(name.as_bytes())
            && metadata.blob(row.signature) == Ok(signature)
    })
}

fn add_type(builder: &mut MetadataBuilder<'_, '_>, assembly: Token, name: &str) -> Result<Token, Error> {
    let row = TypeRef {
        resolution_scope: ResolutionScope::new(assembly).unwrap_or_default(),
        name: builder.string(name)?,
        namespace: builder.string(NAMESPACE)?,
    };
    builder.add(&row)
}

fn add_method(builder: &mut MetadataBuilder<'_, '_>, class: Token, (name, signature): (&str, &[u8])) -> Result<Token, Error> {
    let row = MemberRef {
        class: MemberRefParent::new(class).unwrap_or_default(),
        name: builder.string(name)?,
        signature: builder.blob(signature)?,
    };
    builder.add(&row)
}
