//! Descriptions of types and signatures in the profile; captured calls refer to them by number
//! (docs/profile-format.md).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use little_endian::{ByteOrder, LE, PutNumbers};
use profile_format::{DescriptionKind, ParameterMode, TypeShape};

use super::{RecordKind, put_string, write_record};

/// The maximum size of a record in bytes. The rest is omitted.
const MAX_RECORD: usize = 32 << 10;

static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// A new, unique number.
pub(crate) fn next_number() -> u32 {
    NUMBERS.fetch_add(1, Relaxed) + 1
}

/// A function with its generic arguments.
pub(crate) struct Described<'d> {
    pub(crate) number: u32,
    pub(crate) method_id: u64,
    pub(crate) token: u32,
    /// The path of its module.
    pub(crate) module: &'d str,
    /// The method's name, with its type.
    pub(crate) method: &'d str,
    pub(crate) returned: &'d str,
    /// The type of `this`; empty if there is none.
    pub(crate) this: &'d str,
    pub(crate) parameters: &'d [(ParameterMode, String, &'d str)],
}

/// Describes a function.
pub(crate) fn describe_signature(described: &Described<'_>) {
    let mut record = Record::new(DescriptionKind::Signature, described.number);
    record.0.put_u64(described.method_id);
    record.0.put_u32(described.token);
    let Described { module, method, returned, this, parameters, .. } = described;
    [module, method, returned, this].into_iter().for_each(|text| put_string(&mut record.0, text));
    record.list(parameters, |to, (passing, of, name)| {
        to.push(passing.number());
        put_string(to, of);
        put_string(to, name);
    });
    record.write();
}

/// Describes a type with its fields.
pub(crate) fn describe_fields(number: u32, name: &str, fields: &[String]) {
    let mut record = Record::of_type(number, TypeShape::Fields, name);
    record.list(fields, |to, field| put_string(to, field));
    record.write();
}

/// Describes an enum.
pub(crate) fn describe_members(number: u32, name: &str, is_flags: bool, members: &[(i64, String)]) {
    let mut record = Record::of_type(number, if is_flags { TypeShape::Flags } else { TypeShape::Enum }, name);
    record.list(members, |to, (value, name)| {
        to.put_i64(*value);
        put_string(to, name);
    });
    record.write();
}

struct Record(Vec<u8>);

impl Record {
    /// Begins a record with its kind, space for its size, and the number of the described item.
    fn new(kind: DescriptionKind, number: u32) -> Self {
        let mut record = vec![kind.number(), 0, 0, 0, 0, 0, 0, 0];
        record.put_u32(number);
        Self(record)
    }

    fn of_type(number: u32, shape: TypeShape, name: &str) -> Self {
        let mut record = Self::new(DescriptionKind::Type, number);
        record.0.push(shape.number());
        put_string(&mut record.0, name);
        record
    }

    /// Writes a count and as many items as fit.
    fn list<T>(&mut self, all: &[T], put: impl Fn(&mut Vec<u8>, &T)) {
        let at = self.0.len();
        self.0.extend([0; 4]);
        let mut count = 0_u32;
        for each in all {
            let before = self.0.len();
            put(&mut self.0, each);
            if self.0.len() > MAX_RECORD {
                self.0.truncate(before);
                break;
            }
            count += 1;
        }
        LE::write_u32(&mut self.0[at..], count);
    }

    fn write(mut self) {
        let size = self.0.len() as u32;
        LE::write_u32(&mut self.0[4..], size);
        write_record(RecordKind::Description, &self.0);
    }
}
