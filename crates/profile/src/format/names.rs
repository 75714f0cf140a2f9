//! Records of names.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write},
};

use super::{
    CHUNK_HEADER, chunk_kind,
    cursor::Cursor,
    merged::{put, write_chunk},
};
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
    /// Phases, in merged files.
    pub(super) const PHASE: u8 = 6;
}

/// The names in a file.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) modules: Vec<Module>,
    /// Names by method id.
    pub(crate) methods: HashMap<u64, MethodName>,
    /// Names by number of the type.
    pub(crate) exception_types: HashMap<u32, String>,
    /// Names by number of the tree.
    pub(crate) threads: HashMap<u64, Vec<ThreadName>>,
    /// In a merged file: phases by number.
    pub(crate) phases: BTreeMap<u32, String>,
}

impl Names {
    /// Reads records up to the end, or up to the record that marks it.
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
                    let of_tree = self.threads.entry(tree).or_default();
                    // A thread's name may be set after its first record.
                    of_tree.pop_if(|last| last.managed_id == managed_id && last.name.is_empty());
                    of_tree.push(ThreadName { managed_id, name: reader.string()? });
                }
                record::PHASE => {
                    let number = reader.u32()?;
                    self.phases.insert(number, reader.string()?);
                }
                kind => return Err(Error::Unknown { what: "a name record of kind", value: kind.into(), offset }),
            }
        }
        Ok(())
    }
}

/// A record to write.
pub(crate) enum NameRecord<'n> {
    Module(&'n Module),
    Method(u64, &'n MethodName),
    ExceptionType(u32, &'n str),
    Thread(u64, &'n ThreadName),
    Phase(u32, &'n str),
}

/// Writes records in chunks of about a MiB.
pub(crate) fn write_names<'n>(out: &mut impl Write, records: impl Iterator<Item = NameRecord<'n>>) -> io::Result<()> {
    const LARGE: usize = 1 << 20;
    let mut chunk = vec![0; CHUNK_HEADER];
    let mut write = |chunk: &mut Vec<u8>| {
        let used = chunk.len() as u64;
        put(chunk, 32, used);
        write_chunk(out, chunk_kind::NAMES, std::mem::replace(chunk, vec![0; CHUNK_HEADER]))
    };
    for record in records {
        record.write(&mut chunk);
        if chunk.len() > LARGE {
            write(&mut chunk)?;
        }
    }
    write(&mut chunk)
}

impl NameRecord<'_> {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Module(module) => {
                to.push(record::MODULE_2);
                to.extend(module.key.to_le_bytes());
                to.extend(module.mvid);
                [&module.assembly, &module.name, &module.tool, &module.path].into_iter().for_each(|text| string(text, to));
            }
            Self::Method(id, name) => {
                to.push(record::METHOD);
                to.extend(id.to_le_bytes());
                string(&name.type_name, to);
                string(&name.method, to);
            }
            Self::ExceptionType(number, name) => {
                to.push(record::EXCEPTION_TYPE);
                to.extend(number.to_le_bytes());
                string(name, to);
            }
            Self::Thread(tree, thread) => {
                to.push(record::THREAD);
                to.extend(tree.to_le_bytes());
                to.extend(thread.managed_id.to_le_bytes());
                string(&thread.name, to);
            }
            Self::Phase(number, name) => {
                to.push(record::PHASE);
                to.extend(number.to_le_bytes());
                string(name, to);
            }
        }
    }
}

/// Appends a string in the file's form. Names from files are short enough for a 32-bit length.
pub(super) fn string(text: &str, to: &mut Vec<u8>) {
    to.extend((text.len() as u32).to_le_bytes());
    to.extend(text.as_bytes());
}
