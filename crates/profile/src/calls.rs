//! Captured calls with their values (docs/profile-format.md), as a debugger shows them.

mod condition;
mod known;
mod text;

pub use condition::Condition;

use std::{collections::HashMap, hash::Hash, sync::OnceLock};

use crate::{error::Error, format};

/// The first byte of a value: an element type of signatures (II.23.1.16), or a type of this format from 0x80 on.
pub mod kind {
    /// A value that was not read; the reason follows ([`unread`](super::unread)).
    pub const UNREAD: u8 = 0x00;
    /// A null reference, or a nullable without a value.
    pub const NULL: u8 = 0x01;
    /// The first of the element types, up to [`LAST_PLAIN`], whose values are stored as they are in memory.
    pub const FIRST_PLAIN: u8 = 0x02;
    /// float64
    pub const LAST_PLAIN: u8 = 0x0D;
    /// u32 length, u16 number of UTF-16 units that follow.
    pub const STRING: u8 = 0x0E;
    /// u64.
    pub const POINTER: u8 = 0x0F;
    /// u32 type, u8 number of fields that follow, or [`NOT_SHOWN`].
    pub const VALUE: u8 = 0x11;
    /// u32 type, u64 identity, u8 number of fields that follow, or [`NOT_SHOWN`].
    pub const OBJECT: u8 = 0x12;
    /// u32 type, u8 rank, a u32 length for each dimension, u8 number of elements that follow.
    pub const ARRAY: u8 = 0x14;
    /// native int, 8 bytes.
    pub const NATIVE_INT: u8 = 0x18;
    /// native uint, 8 bytes.
    pub const NATIVE_UINT: u8 = 0x19;
    /// u32 type, then a value of the underlying type.
    pub const ENUM: u8 = 0x55;
    /// u64 in .NET's own format: the kind in the upper two bits, 100 ns since the year 1.
    pub const DATE_TIME: u8 = 0x80;
    /// u32 low, middle, high, flags.
    pub const DECIMAL: u8 = 0x81;
    /// 16 bytes.
    pub const GUID: u8 = 0x82;
    /// i64: 100 ns.
    pub const TIME_SPAN: u8 = 0x83;
    /// u32 type: a `System.Type`.
    pub const TYPE: u8 = 0x84;
    /// In place of a count of fields: they are left out.
    pub const NOT_SHOWN: u8 = 0xFF;
}

/// Reasons why a value was not read.
pub mod unread {
    /// Its type is not known.
    pub const UNKNOWN_TYPE: u8 = 1;
    /// Its layout is not known.
    pub const UNKNOWN_LAYOUT: u8 = 2;
    /// `System.TypedReference`
    pub const TYPED_REFERENCE: u8 = 3;
    /// The record had no room left.
    pub const NO_ROOM: u8 = 4;
    /// An `out` parameter, before the call ends.
    pub const OUT: u8 = 5;
    /// A collection may have moved its target.
    pub const MOVED: u8 = 6;
    /// The runtime did not state its location.
    pub const NOT_FOUND: u8 = 7;
    /// A reference within a value.
    pub const REFERENCE: u8 = 8;
    /// Its type is a ref struct or may be one; such values cannot be boxed.
    pub const ON_STACK: u8 = 9;
    /// `this` of a constructor, before the constructor has run.
    pub const UNDER_CONSTRUCTION: u8 = 10;
    /// The program's ToString threw an exception.
    pub const THROWN: u8 = 11;

    /// Returns a reason as text.
    pub fn text(reason: u8) -> &'static str {
        match reason {
            UNKNOWN_TYPE => "its type is not known",
            UNKNOWN_LAYOUT => "its layout is not known",
            TYPED_REFERENCE => "a typed reference",
            NO_ROOM => "no room",
            OUT => "out",
            MOVED => "a collection may have moved it",
            NOT_FOUND => "the runtime does not say where it is",
            REFERENCE => "a reference",
            ON_STACK => "its type may be a ref struct",
            UNDER_CONSTRUCTION => "not constructed yet",
            THROWN => "an exception",
            _ => "not read",
        }
    }
}

/// The subject of a description.
pub mod describes {
    /// A type.
    pub const TYPE: u8 = 1;
    /// A method with its generic arguments.
    pub const SIGNATURE: u8 = 2;
}

/// The content of a type's description.
pub mod shape {
    /// The names of its fields.
    pub const FIELDS: u8 = 0;
    /// The members of an enum.
    pub const ENUM: u8 = 1;
    /// The members of a flags enum.
    pub const FLAGS: u8 = 2;
}

/// The kinds, flags and sizes of call records.
pub mod record {
    /// A call begins.
    pub const ENTER: u8 = 1;
    /// A call ends.
    pub const LEAVE: u8 = 2;
    /// An exception handler of the call catches an exception; the record has the exception.
    pub const CATCH: u8 = 3;
    /// An exception is thrown and the call has no handler for it. It leaves the call, unless another exception does. The record
    /// has the exception.
    pub const PASS: u8 = 4;
    /// Flag of [`ENTER`]: the record has `this`.
    pub const THIS: u8 = 1;
    /// Flag of [`ENTER`]: the record has the arguments.
    pub const ARGUMENTS: u8 = 2;
    /// Mask for [`LEAVE`]: the way the call ended, by [`How`](super::How).
    pub const HOW: u8 = 0xF;
    /// Flag of [`LEAVE`]: the record has the returned value.
    pub const RETURNED: u8 = 16;
    /// Flag of [`LEAVE`]: the record has the by-reference arguments.
    pub const BY_REFERENCE: u8 = 32;
    /// The size in front of the values, in bytes.
    pub const HEADER: usize = 24;
    /// The largest size of a record, in bytes.
    pub const MAX_SIZE: usize = 4096;
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Passing {
    /// By value.
    Value,
    /// `ref`
    Ref,
    /// `in`
    In,
    /// `out`
    Out,
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum How {
    /// It returned.
    Returned,
    /// An exception left it.
    Exception,
    /// A tail call replaced it.
    TailCall,
}

/// Captured calls, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// The types of values; [`Value`] refers to them by index.
    pub types: Vec<ValueType>,
    /// The called methods.
    pub signatures: Vec<Signature>,
    /// The calls.
    pub list: Vec<Call>,
    /// The number of calls that were not recorded, or that later ones overwrote.
    pub lost: u64,
}

/// The index of each name or number in a list. A hostile profile has as many calls as names, so a linear search is too slow.
type Places<K> = OnceLock<HashMap<K, usize>>;

/// A type of values.
#[derive(Clone, Debug, Default)]
pub struct ValueType {
    /// Its name in C#.
    pub name: String,
    /// The names of its fields.
    pub fields: Vec<String>,
    /// The members of an enum.
    pub members: Vec<(i64, String)>,
    /// Whether the members are flags.
    pub is_flags: bool,
    pub(crate) by_field: Places<String>,
    pub(crate) by_member: Places<i64>,
}

/// A method with its generic arguments.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// The method's id, as in call trees.
    pub method_id: u64,
    /// The token of its row.
    pub token: u32,
    /// The path of its module.
    pub module: String,
    /// Its name with its type: `Ns.Type<int>.Method<long>`.
    pub method: String,
    /// The type of its returned value, or `void`.
    pub returned: String,
    /// The type of `this`; empty if there is none.
    pub this: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    pub(crate) by_parameter: Places<String>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// How it is passed.
    pub passing: Passing,
    /// Its type, without `ref`, `in` or `out`.
    pub type_name: String,
    /// Its name; empty if it has none.
    pub name: String,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The number of its thread's tree.
    pub tree: u64,
    /// Its number in that tree.
    pub number: u64,
    /// The number of recorded calls that it is nested in.
    pub depth: usize,
    /// Its method, an index into [`Calls::signatures`].
    pub signature: usize,
    /// Its beginning, in ticks since the first probe.
    pub start: i64,
    /// Its duration in ticks; `None` if it had not ended.
    pub duration: Option<i64>,
    /// How it ended.
    pub how: Option<How>,
    /// The value of `this`.
    pub this: Option<Value>,
    /// Its arguments; empty if they were not recorded.
    pub arguments: Vec<Value>,
    /// Its returned value.
    pub returned: Option<Value>,
    /// The by-reference arguments at its end, each with its parameter's index.
    pub after: Vec<(usize, Value)>,
    /// The exception that left it, if it was seen.
    pub exception: Option<Value>,
    /// The exceptions that its handlers caught, in order.
    pub caught: Vec<Value>,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Not read, for this reason ([`unread`]).
    Unread(u8),
    /// A null reference.
    Null,
    /// `bool`
    Bool(bool),
    /// `char`: a UTF-16 unit.
    Char(u16),
    /// An integer.
    Int(i128),
    /// `float`
    Single(f32),
    /// `double`
    Double(f64),
    /// A string: its length in UTF-16 units, and the first of these.
    Text(u32, Vec<u16>),
    /// An address, or a native integer.
    Pointer(u64),
    /// A value with fields: its type, and the fields; `None` if they were not captured.
    Struct(usize, Option<Vec<Value>>),
    /// An object: its type, its identity, and its fields.
    Object(usize, u64, Option<Vec<Value>>),
    /// An array: its type, its dimensions, and its first elements.
    Array(usize, Vec<u32>, Vec<Value>),
    /// An enum's value.
    Enum(usize, i128),
    /// A `DateTime` in .NET's own format.
    DateTime(u64),
    /// Low, middle, high, flags.
    Decimal([u32; 4]),
    /// A `Guid` in .NET's own format.
    Guid([u8; 16]),
    /// In 100 ns.
    TimeSpan(i64),
    /// A type: `typeof(string)`.
    Type(usize),
}

/// Returns the index of each key; the first one of equal keys.
fn places<K: Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut places = HashMap::new();
    for (place, key) in keys.enumerate() {
        places.entry(key).or_insert(place);
    }
    places
}

impl ValueType {
    /// Returns the index of a field, by its name in the source.
    fn field(&self, name: &str) -> Option<usize> {
        let shown = || places(self.fields.iter().map(|field| condition::shown_field(field).to_owned()));
        self.by_field.get_or_init(shown).get(name).copied()
    }

    /// Returns the name of an enum's member. An unsigned number is stored as the signed number of the same bits.
    fn member(&self, number: i128) -> Option<&str> {
        let by_member = self.by_member.get_or_init(|| places(self.members.iter().map(|(member, _)| *member)));
        let number = i64::try_from(number).or_else(|_| u64::try_from(number).map(u64::cast_signed)).ok()?;
        self.members.get(*by_member.get(&number)?).map(|(_, name)| name.as_str())
    }
}

impl Signature {
    /// Returns the index of a parameter.
    fn parameter(&self, name: &str) -> Option<usize> {
        let by_name = || places(self.parameters.iter().map(|parameter| parameter.name.clone()));
        self.by_parameter.get_or_init(by_name).get(name).copied()
    }
}

impl Calls {
    /// Reads the calls of a profile. Skips calls and values that are damaged.
    ///
    /// # Errors
    /// If the header is missing, or states an unknown version or mode.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        format::read_calls(bytes)
    }
}
