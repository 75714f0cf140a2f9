//! Records of names.

use std::collections::HashMap;

use super::cursor::Cursor;
use crate::{
    error::Error,
    model::{MethodName, Module, ThreadName},
};

mod record {
    pub(super) const END: u8 = 0;
    pub(super) const MODULE: u8 = 1;
    pub(super) const METHOD: u8 = 2;
    pub(super) const EXCEPTION_TYPE: u8 = 3;
    pub(super) const MODULE_2: u8 = 4;
    pub(super) const THREAD: u8 = 5;
}

/// What things are called.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) modules: Vec<Module>,
    /// By method id.
    pub(crate) methods: HashMap<u64, MethodName>,
    /// By number.
    pub(crate) exception_types: HashMap<u32, String>,
    /// By the number of the tree.
    pub(crate) threads: HashMap<u64, Vec<ThreadName>>,
}

impl Names {
    /// Reads records, to the end or to the record that says so.
    pub(crate) fn read(&mut self, mut reader: Cursor<'_>) -> Result<(), Error> {
        while reader.position < reader.bytes.len() {
            let offset = reader.offset();
            match reader.u8()? {
                record::END => break,
                kind @ (record::MODULE | record::MODULE_2) => {
                    let (key, mvid) = (reader.u64()?, reader.array()?);
                    let (assembly, name, tool) = (reader.string()?, reader.string()?, reader.string()?);
                    let path = if kind == record::MODULE { String::new() } else { reader.string()? };
                    self.modules.push(Module { key, mvid, assembly, name, tool, path });
                }
                record::METHOD => {
                    let id = reader.u64()?;
                    let name = MethodName { type_name: reader.string()?, method: reader.string()? };
                    self.methods.insert(id, name);
                }
                record::EXCEPTION_TYPE => {
                    let number = reader.u32()?;
                    self.exception_types.insert(number, reader.string()?);
                }
                record::THREAD => {
                    let (tree, managed_id) = (reader.u64()?, reader.u32()?);
                    self.threads.entry(tree).or_default().push(ThreadName { managed_id, name: reader.string()? });
                }
                kind => return Err(Error::Unknown { what: "a name record of kind", value: kind.into(), offset }),
            }
        }
        Ok(())
    }
}
