//! The tokens that rewritten bodies request, and the interface that provides them.

use std::{borrow::Cow, sync::Arc};

use ecma335::{
    Error, ErrorKind, Metadata, MetadataBuilder, Token,
    cursor::put_compressed_u32,
    schema::{
        AssemblyRef, MemberRef, MemberRefParent, MethodDefOrRef, MethodSpec, ResolutionScope, StandAloneSig, TypeDefOrRef,
        TypeRef, TypeSpec,
    },
};

use crate::name::{AssemblyName, MethodName, NamedType, SpecMember, TypeName};

/// The meaning of a requested token. Names are shared, because a batch has many requests and copies some.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TokenRequest {
    /// A method of another assembly.
    MemberRef(Arc<MethodName>),
    /// An instance of a generic method. Its arguments are a blob of II.23.2.15.
    MethodSpec(Arc<MethodName>, Vec<u8>),
    /// A method of a type without a name of its own.
    MemberOfSpec(Arc<SpecMember>),
    /// A type without a name of its own, by its blob (II.23.2.14).
    TypeSpec(Vec<u8>),
    /// A type of another assembly.
    TypeRef(Arc<TypeName>),
    /// A body's locals: their signature (II.23.2.6), and the named types in it.
    LocalVarSig(Vec<u8>, Vec<NamedType>),
    /// The signature of a method called by its address (II.23.2.3).
    MethodSig(Vec<u8>),
    /// A string literal (II.24.2.4).
    UserString(String),
}

/// A missing token in the bytes of rewritten bodies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fixup {
    /// The offset of its four bytes.
    pub at: u32,
    /// The number of its request.
    pub request: u32,
}

impl Fixup {
    /// The placeholder in the bytes: a token of no table.
    pub const UNSETTLED: Token = Token(0xFF00_0000);
}

/// Provides tokens for requests. Equal requests get the same token, or tokens with the same meaning.
pub trait TokenProvider {
    /// The reason why a token cannot be provided.
    type Error;

    /// A reference to an assembly.
    ///
    /// # Errors
    /// All methods fail if there is no room, or if the runtime refuses.
    fn assembly_ref(&mut self, assembly: &AssemblyName) -> Result<Token, Self::Error>;

    /// A reference to a type in a referenced assembly.
    fn type_ref(&mut self, scope: Token, namespace: &str, name: &str) -> Result<Token, Self::Error>;

    /// A reference to a member of a type.
    fn member_ref(&mut self, class: Token, name: &str, signature: &[u8]) -> Result<Token, Self::Error>;

    /// An instance of a generic method.
    fn method_spec(&mut self, method: Token, instantiation: &[u8]) -> Result<Token, Self::Error>;

    /// A type by its signature.
    fn type_spec(&mut self, signature: &[u8]) -> Result<Token, Self::Error>;

    /// A StandAloneSig: the signature of a body's locals, or of a method called by its address.
    fn standalone_sig(&mut self, signature: &[u8]) -> Result<Token, Self::Error>;

    /// A string literal.
    fn user_string(&mut self, text: &str) -> Result<Token, Self::Error>;

    /// A type by its name, with all rows it needs.
    fn named_type(&mut self, name: &TypeName) -> Result<Token, Self::Error> {
        let scope = self.assembly_ref(&name.assembly)?;
        let mut nested = name.name.split('/');
        let outermost = self.type_ref(scope, &name.namespace, nested.next().unwrap_or_default())?;
        nested.try_fold(outermost, |outer, name| self.type_ref(outer, "", name))
    }

    /// A signature with the tokens of its named types filled in.
    fn signature<'s>(&mut self, blob: &'s [u8], types: &[NamedType]) -> Result<Cow<'s, [u8]>, Self::Error> {
        if types.is_empty() {
            return Ok(Cow::Borrowed(blob));
        }
        let (mut out, mut copied) = (Vec::with_capacity(blob.len() + 4 * types.len()), 0);
        for NamedType { at, name } in types {
            let number = TypeDefOrRef::new(self.named_type(name)?).unwrap_or_default();
            out.extend_from_slice(blob.get(copied..*at as usize).unwrap_or_default());
            put_compressed_u32(&mut out, number.0);
            copied = *at as usize + 1;
        }
        out.extend_from_slice(blob.get(copied..).unwrap_or_default());
        Ok(Cow::Owned(out))
    }

    /// A method by its name, with all rows it needs.
    fn named_method(&mut self, method: &MethodName) -> Result<Token, Self::Error> {
        let class = self.named_type(&method.class)?;
        let signature = self.signature(&method.signature, &method.types)?;
        self.member_ref(class, &method.name, &signature)
    }

    /// The token for any request, with all rows it needs.
    fn settle(&mut self, request: &TokenRequest) -> Result<Token, Self::Error> {
        match request {
            TokenRequest::MemberRef(method) => self.named_method(method),
            TokenRequest::MethodSpec(method, instantiation) => {
                let method = self.named_method(method)?;
                self.method_spec(method, instantiation)
            }
            TokenRequest::MemberOfSpec(member) => {
                let class = self.type_spec(&member.class)?;
                self.member_ref(class, &member.name, &member.signature)
            }
            TokenRequest::TypeSpec(signature) => self.type_spec(signature),
            TokenRequest::TypeRef(name) => self.named_type(name),
            TokenRequest::LocalVarSig(signature, types) => {
                let signature = self.signature(signature, types)?;
                self.standalone_sig(&signature)
            }
            TokenRequest::MethodSig(signature) => self.standalone_sig(signature),
            TokenRequest::UserString(text) => self.user_string(text),
        }
    }
}

fn unfit(token: Token) -> Error {
    Error::new(ErrorKind::Unsupported("a token of another table than can be referred to")).in_cell(token.to_string())
}

/// Adds rows to a file's metadata, each once, and reuses the rows that exist.
impl TokenProvider for MetadataBuilder<'_, '_> {
    type Error = Error;

    fn assembly_ref(&mut self, assembly: &AssemblyName) -> Result<Token, Error> {
        let version = assembly.version;
        let known = self.find(|metadata, row: &AssemblyRef| {
            metadata.strings.string_bytes(row.name) == Ok(assembly.name.as_bytes())
                && [row.major, row.minor, row.build, row.revision] == version
                && metadata.blob(row.public_key_or_token) == Ok(&assembly.public_key_token)
                && metadata.strings.string_bytes(row.culture) == Ok(b"")
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let [major, minor, build, revision] = version;
        let (public_key_or_token, name) = (self.blob(&assembly.public_key_token)?, self.string(&assembly.name)?);
        // Offset 0 of the heap holds the empty blob, unless the heap is damaged.
        let (flags, culture, hash_value) = (0, self.string("")?, Default::default());
        self.intern(&AssemblyRef { major, minor, build, revision, flags, public_key_or_token, name, culture, hash_value })
    }

    fn type_ref(&mut self, scope: Token, namespace: &str, name: &str) -> Result<Token, Error> {
        let resolution_scope = ResolutionScope::new(scope).ok_or_else(|| unfit(scope))?;
        let is_it = |metadata: &Metadata<'_>, row: &TypeRef| {
            row.resolution_scope == resolution_scope
                && metadata.strings.string_bytes(row.name) == Ok(name.as_bytes())
                && metadata.strings.string_bytes(row.namespace) == Ok(namespace.as_bytes())
        };
        if let Some(known) = self.is_of_input(scope).then(|| self.find(is_it)).flatten() {
            return Ok(known);
        }
        let (name, namespace) = (self.string(name)?, self.string(namespace)?);
        self.intern(&TypeRef { resolution_scope, name, namespace })
    }

    fn member_ref(&mut self, class: Token, name: &str, signature: &[u8]) -> Result<Token, Error> {
        let is_of_input = self.is_of_input(class);
        let class = MemberRefParent::new(class).ok_or_else(|| unfit(class))?;
        let is_it = |metadata: &Metadata<'_>, row: &MemberRef| {
            row.class == class
                && metadata.strings.string_bytes(row.name) == Ok(name.as_bytes())
                && metadata.blob(row.signature) == Ok(signature)
        };
        if let Some(known) = is_of_input.then(|| self.find(is_it)).flatten() {
            return Ok(known);
        }
        let (name, signature) = (self.string(name)?, self.blob(signature)?);
        self.intern(&MemberRef { class, name, signature })
    }

    fn method_spec(&mut self, method: Token, instantiation: &[u8]) -> Result<Token, Error> {
        let method = MethodDefOrRef::new(method).ok_or_else(|| unfit(method))?;
        let instantiation = self.blob(instantiation)?;
        self.intern(&MethodSpec { method, instantiation })
    }

    fn type_spec(&mut self, signature: &[u8]) -> Result<Token, Error> {
        if let Some(known) = self.find(|metadata, row: &TypeSpec| metadata.blob(row.signature) == Ok(signature)) {
            return Ok(known);
        }
        let signature = self.blob(signature)?;
        self.intern(&TypeSpec { signature })
    }

    fn standalone_sig(&mut self, signature: &[u8]) -> Result<Token, Error> {
        let signature = self.blob(signature)?;
        self.intern(&StandAloneSig { signature })
    }

    fn user_string(&mut self, text: &str) -> Result<Token, Error> {
        MetadataBuilder::user_string(self, text)
    }
}
