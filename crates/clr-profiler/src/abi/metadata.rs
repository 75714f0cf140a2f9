//! Tokens of a loaded module: items that new bodies refer to are defined in the runtime's copy of the metadata.

use std::{collections::HashMap, ffi::c_void, ptr::null};

use ecma335::{Error, ErrorKind, Token};
use ilrewrite::{AssemblyName, TokenProvider};
use weave::ModuleTokens;

use super::{
    com::{HResult, Owned},
    runtime::{Id, Runtime},
    tables::{ASSEMBLY_EMIT, AssemblyEmit, EMIT_2, Emit},
};

/// A module's `IMetaDataEmit` and `IMetaDataAssemblyEmit`: they define missing items.
pub(crate) struct MetadataEmit {
    emit: Owned,
    assembly: Owned,
    /// Assembly references made so far. The runtime itself knows the other items.
    assemblies: HashMap<AssemblyName, Token>,
}

/// `ASSEMBLYMETADATA`
#[repr(C)]
struct AssemblyMetadata {
    version: [u16; 4],
    locale: *const u16,
    locale_size: u32,
    processors: *const u32,
    processor_count: u32,
    systems: *const c_void,
    system_count: u32,
}

const MODULE: Token = Token(1);

impl MetadataEmit {
    /// Opens the metadata of a module.
    ///
    /// # Errors
    /// If the runtime does not permit additions to it.
    pub(crate) fn open(runtime: Runtime, module: Id) -> Result<Self, Error> {
        let unwritable = || Error::new(ErrorKind::Unsupported("metadata that nothing can be added to"));
        let emit = runtime.metadata_to_write(module, &EMIT_2).ok_or_else(unwritable)?;
        let assembly = runtime.metadata_to_write(module, &ASSEMBLY_EMIT).ok_or_else(unwritable)?;
        Ok(Self { emit, assembly, assemblies: HashMap::new() })
    }

    /// Defines an item by a slot whose function takes a token, bytes with their length, and a place for a token.
    fn define(&self, slot: Emit, parent: Token, bytes: &[u8]) -> Result<Token, Error> {
        type F = unsafe extern "system" fn(*mut c_void, u32, *const u8, u32, *mut u32) -> HResult;
        let (emit, mut token) = (self.emit.interface(), 0);
        // SAFETY: each slot passed here is (mdToken, const void*, ULONG, mdToken*).
        let result =
            unsafe { emit.method::<F>(slot as usize)(emit.pointer(), parent.0, bytes.as_ptr(), bytes.len() as u32, &mut token) };
        given(result, token, slot)
    }

    /// Like `define`, for a function that takes bytes with their length, and a place for a token.
    fn token_from(&self, slot: Emit, bytes: &[u8]) -> Result<Token, Error> {
        type F = unsafe extern "system" fn(*mut c_void, *const u8, u32, *mut u32) -> HResult;
        let (emit, mut token) = (self.emit.interface(), 0);
        // SAFETY: each slot passed here is (PCCOR_SIGNATURE, ULONG, mdToken*).
        let result = unsafe { emit.method::<F>(slot as usize)(emit.pointer(), bytes.as_ptr(), bytes.len() as u32, &mut token) };
        given(result, token, slot)
    }
}

/// The resulting token of a call. An item that already exists is no failure.
fn given(result: HResult, token: u32, slot: impl std::fmt::Debug) -> Result<Token, Error> {
    if result >= 0 {
        return Ok(Token(token));
    }
    let refused = Error::new(ErrorKind::Unsupported("what the runtime refuses to define"));
    Err(refused.in_cell(format!("{slot:?}: 0x{result:08X}")))
}

/// Zero-terminated UTF-16 text.
fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}

impl TokenProvider for MetadataEmit {
    type Error = Error;

    fn assembly_ref(&mut self, assembly: &AssemblyName) -> Result<Token, Error> {
        type F = unsafe extern "system" fn(
            *mut c_void,
            *const u8,
            u32,
            *const u16,
            *const AssemblyMetadata,
            *const c_void,
            u32,
            u32,
            *mut u32,
        ) -> HResult;
        if let Some(known) = self.assemblies.get(assembly) {
            return Ok(*known);
        }
        let (emit, name, key) = (self.assembly.interface(), wide(&assembly.name), &assembly.public_key_token);
        let more = AssemblyMetadata {
            version: assembly.version,
            locale: null(),
            locale_size: 0,
            processors: null(),
            processor_count: 0,
            systems: null(),
            system_count: 0,
        };
        let (slot, mut token) = (AssemblyEmit::DefineAssemblyRef, 0);
        // SAFETY: DefineAssemblyRef(const void*, ULONG, LPCWSTR, const ASSEMBLYMETADATA*, const void*, ULONG, DWORD, mdAssemblyRef*).
        let result = unsafe {
            let define = emit.method::<F>(slot as usize);
            define(emit.pointer(), key.as_ptr(), key.len() as u32, name.as_ptr(), &more, null(), 0, 0, &mut token)
        };
        let token = given(result, token, slot)?;
        self.assemblies.insert(assembly.clone(), token);
        Ok(token)
    }

    fn type_ref(&mut self, scope: Token, namespace: &str, name: &str) -> Result<Token, Error> {
        type F = unsafe extern "system" fn(*mut c_void, u32, *const u16, *mut u32) -> HResult;
        let (emit, slot, mut token) = (self.emit.interface(), Emit::DefineTypeRefByName, 0);
        let name = wide(&ecma335::metadata::join(namespace, name));
        // SAFETY: DefineTypeRefByName(mdToken, LPCWSTR, mdTypeRef*).
        let result = unsafe { emit.method::<F>(slot as usize)(emit.pointer(), scope.0, name.as_ptr(), &mut token) };
        given(result, token, slot)
    }

    fn member_ref(&mut self, class: Token, name: &str, signature: &[u8]) -> Result<Token, Error> {
        type F = unsafe extern "system" fn(*mut c_void, u32, *const u16, *const u8, u32, *mut u32) -> HResult;
        let (emit, slot, mut token) = (self.emit.interface(), Emit::DefineMemberRef, 0);
        let (name, size) = (wide(name), signature.len() as u32);
        // SAFETY: DefineMemberRef(mdToken, LPCWSTR, PCCOR_SIGNATURE, ULONG, mdMemberRef*).
        let result = unsafe {
            let define = emit.method::<F>(slot as usize);
            define(emit.pointer(), class.0, name.as_ptr(), signature.as_ptr(), size, &mut token)
        };
        given(result, token, slot)
    }

    fn method_spec(&mut self, method: Token, instantiation: &[u8]) -> Result<Token, Error> {
        self.define(Emit::DefineMethodSpec, method, instantiation)
    }

    fn type_spec(&mut self, signature: &[u8]) -> Result<Token, Error> {
        self.token_from(Emit::GetTokenFromTypeSpec, signature)
    }

    fn standalone_sig(&mut self, signature: &[u8]) -> Result<Token, Error> {
        self.token_from(Emit::GetTokenFromSig, signature)
    }

    fn user_string(&mut self, text: &str) -> Result<Token, Error> {
        type F = unsafe extern "system" fn(*mut c_void, *const u16, u32, *mut u32) -> HResult;
        let (emit, slot, mut token) = (self.emit.interface(), Emit::DefineUserString, 0);
        let units: Vec<u16> = text.encode_utf16().collect();
        // SAFETY: DefineUserString(LPCWSTR, ULONG, mdString*).
        let result = unsafe { emit.method::<F>(slot as usize)(emit.pointer(), units.as_ptr(), units.len() as u32, &mut token) };
        given(result, token, slot)
    }
}

impl ModuleTokens for MetadataEmit {
    fn mark(&mut self, constructor: Token, value: &[u8]) -> Result<(), Error> {
        type F = unsafe extern "system" fn(*mut c_void, u32, u32, *const u8, u32, *mut u32) -> HResult;
        let (emit, slot, mut token) = (self.emit.interface(), Emit::DefineCustomAttribute, 0);
        // SAFETY: DefineCustomAttribute(mdToken, mdToken, const void*, ULONG, mdCustomAttribute*).
        let result = unsafe {
            let define = emit.method::<F>(slot as usize);
            define(emit.pointer(), MODULE.0, constructor.0, value.as_ptr(), value.len() as u32, &mut token)
        };
        given(result, token, slot).map(|_| ())
    }
}
