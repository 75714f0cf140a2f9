//! What probes call, by name: nobody has a number for it yet.

use std::sync::Arc;

use ecma335::{Error, FileOffset, Metadata, Rid, metadata::public_key_token, schema::Assembly, signature::outline::MethodShape};

/// A static method by its name: what a MemberRef says.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MethodName {
    /// The type that it is a member of.
    pub class: TypeName,
    /// Its name.
    pub name: String,
    /// Its signature (II.23.2.2). No row can be named in it: nobody knows its number yet.
    pub signature: Vec<u8>,
    /// The types that it names nevertheless, in the order of their places.
    pub types: Vec<NamedType>,
}

/// A type that a signature names, where its row's number is to be.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NamedType {
    /// The place of the one byte that stands for it: see [`NamedType::PLACEHOLDER`].
    pub at: u32,
    /// The type.
    pub name: Arc<TypeName>,
}

/// A type by its name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TypeName {
    /// The assembly that defines it.
    pub assembly: AssemblyName,
    /// Its namespace.
    pub namespace: String,
    /// Its name; of a nested type behind those around it: `Outer/Inner`.
    pub name: String,
}

/// An assembly that is referred to (II.22.5), of no culture.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AssemblyName {
    /// Its simple name.
    pub name: String,
    /// Major, minor, build, revision.
    pub version: [u16; 4],
    /// The token of its public key: eight bytes, or none.
    pub public_key_token: Vec<u8>,
}

impl AssemblyName {
    /// An assembly's own name, as others refer to it.
    ///
    /// # Errors
    /// If it is none, or its name cannot be read.
    pub fn of(metadata: &Metadata<'_>) -> Result<Self, Error> {
        let assembly: Assembly = metadata.row(Rid::new(1))?;
        let public_key = metadata.blob(assembly.public_key)?;
        let public_key_token = if public_key.is_empty() { Vec::new() } else { public_key_token(public_key) };
        let version = [assembly.major, assembly.minor, assembly.build, assembly.revision];
        Ok(Self { name: metadata.name(assembly.name)?, version, public_key_token })
    }
}

impl NamedType {
    /// What can be read as a type's number (II.23.2.8), and is of no table.
    pub const PLACEHOLDER: u8 = 3;
}

impl MethodName {
    /// The outline of its signature.
    ///
    /// # Errors
    /// If that is no method's.
    pub fn shape(&self) -> Result<MethodShape, Error> {
        MethodShape::read(&self.signature, FileOffset(0))
    }
}
