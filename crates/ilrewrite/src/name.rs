//! The names of the methods that probes call. They have no tokens yet.

use std::sync::Arc;

use ecma335::{
    Error, FileOffset, Metadata, Rid,
    metadata::public_key_token,
    schema::{Assembly, AssemblyRef},
    signature::outline::MethodShape,
};

/// A static method by its name: the content of a MemberRef row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MethodName {
    /// The declaring type.
    pub class: TypeName,
    /// The name.
    pub name: String,
    /// Its signature (II.23.2.2). It cannot name rows, because their numbers are not known yet.
    pub signature: Vec<u8>,
    /// The named types in the signature, in the order of their offsets.
    pub types: Vec<NamedType>,
}

/// A method of a type without a name of its own, such as a generic instance.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SpecMember {
    /// The type's blob (II.23.2.14). All its types have rows.
    pub class: Vec<u8>,
    /// The name.
    pub name: String,
    /// Its signature (II.23.2.2), with the type's own type parameters.
    pub signature: Vec<u8>,
}

/// A type in a signature whose row number is still missing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NamedType {
    /// The offset of its one-byte placeholder: see [`NamedType::PLACEHOLDER`].
    pub at: u32,
    /// The type.
    pub name: Arc<TypeName>,
}

/// A type by its name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TypeName {
    /// The assembly that defines it.
    pub assembly: AssemblyName,
    /// The namespace.
    pub namespace: String,
    /// The name. A nested type follows its enclosing types: `Outer/Inner`.
    pub name: String,
}

/// A referenced assembly (II.22.5), with a neutral culture.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AssemblyName {
    /// The simple name.
    pub name: String,
    /// Major, minor, build, revision.
    pub version: [u16; 4],
    /// The public key token: eight bytes, or none.
    pub public_key_token: Vec<u8>,
}

impl AssemblyName {
    /// An assembly's own name, for references to it.
    ///
    /// # Errors
    /// If the module has no Assembly row, or its name cannot be read.
    pub fn own(metadata: &Metadata<'_>) -> Result<Self, Error> {
        let assembly: Assembly = metadata.row(Rid::new(1))?;
        let public_key = metadata.blob(assembly.public_key)?;
        let public_key_token = if public_key.is_empty() { Vec::new() } else { public_key_token(public_key) };
        let version = [assembly.major, assembly.minor, assembly.build, assembly.revision];
        Ok(Self { name: metadata.name(assembly.name)?, version, public_key_token })
    }

    /// The assembly of an AssemblyRef row. `None` if the row cannot be read.
    pub fn referred(metadata: &Metadata<'_>, rid: Rid<AssemblyRef>) -> Option<Self> {
        let row = metadata.row(rid).ok()?;
        let key = metadata.blob(row.public_key_or_token).ok()?;
        Some(Self {
            name: metadata.name(row.name).ok()?,
            version: [row.major, row.minor, row.build, row.revision],
            public_key_token: if row.has_public_key() { public_key_token(key) } else { key.to_vec() },
        })
    }
}

impl NamedType {
    /// A value that parses as a type's number (II.23.2.8) and belongs to no table.
    pub const PLACEHOLDER: u8 = 3;
}

impl MethodName {
    /// The outline of the signature.
    ///
    /// # Errors
    /// If it is no method's signature.
    pub fn shape(&self) -> Result<MethodShape, Error> {
        MethodShape::read(&self.signature, FileOffset(0))
    }
}
