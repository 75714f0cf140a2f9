//! Records of names.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write},
};

use little_endian::PutNumbers;
use profile_format::{ChunkKind, NameKind, chunk};

use super::{
    chunks::write_chunk,
    cursor::{Cursor, put_string},
};
use crate::{
    error::Error,
    model::{MethodName, Module, ThreadName},
};

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
            let kind = reader.u8()?;
            let unknown = || Error::Unknown { what: "a name record of kind", value: kind.into(), offset };
            match NameKind::from_number(kind).ok_or_else(unknown)? {
                NameKind::End => break,
                NameKind::Module => {
                    let (key, mvid) = (reader.u64()?, reader.array()?);
                    let (assembly, name, tool) = (reader.string()?, reader.string()?, reader.string()?);
                    self.modules.push(Module { key, mvid, assembly, name, tool, path: reader.string()? });
                }
                NameKind::Method => {
                    let id = reader.u64()?;
                    let name = MethodName { type_name: reader.string()?, method: reader.string()? };
                    self.methods.insert(id, name);
                }
                NameKind::ExceptionType => {
                    let number = reader.u32()?;
                    self.exception_types.insert(number, reader.string()?);
                }
                NameKind::Thread => {
                    let (tree, managed_id) = (reader.u64()?, reader.u32()?);
                    let of_tree = self.threads.entry(tree).or_default();
                    // A thread's name may be set after its first record.
                    of_tree.pop_if(|last| last.managed_id == managed_id && last.name.is_empty());
                    of_tree.push(ThreadName { managed_id, name: reader.string()? });
                }
                NameKind::Phase => {
                    let number = reader.u32()?;
                    self.phases.insert(number, reader.string()?);
                }
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
    let mut chunk = vec![0; chunk::HEADER];
    let mut write = |chunk: &mut Vec<u8>| write_chunk(out, ChunkKind::Names, std::mem::replace(chunk, vec![0; chunk::HEADER]));
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
                to.push(NameKind::Module.number());
                to.put_u64(module.key);
                to.extend(module.mvid);
                [&module.assembly, &module.name, &module.tool, &module.path].into_iter().for_each(|text| put_string(text, to));
            }
            Self::Method(id, name) => {
                to.push(NameKind::Method.number());
                to.put_u64(*id);
                put_string(&name.type_name, to);
                put_string(&name.method, to);
            }
            Self::ExceptionType(number, name) => {
                to.push(NameKind::ExceptionType.number());
                to.put_u32(*number);
                put_string(name, to);
            }
            Self::Thread(tree, thread) => {
                to.push(NameKind::Thread.number());
                to.put_u64(*tree);
                to.put_u32(thread.managed_id);
                put_string(&thread.name, to);
            }
            Self::Phase(number, name) => {
                to.push(NameKind::Phase.number());
                to.put_u32(*number);
                put_string(name, to);
            }
        }
    }
}
