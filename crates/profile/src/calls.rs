//! Calls with their values, as they were captured (docs/profile-format.md): what a debugger shows of them.

mod condition;
mod known;
mod text;

pub use condition::Condition;

use std::{collections::HashMap, hash::Hash, sync::OnceLock};

use crate::{error::Error, format};

/// What a value begins with: an element type of signatures (II.23.1.16), or, from 0x80 on, a type of its own.
pub mod kind {
    /// Not read; behind it stands why ([`unread`](super::unread)).
    pub const UNREAD: u8 = 0x00;
    /// A null reference, or a nullable without a value.
    pub const NULL: u8 = 0x01;
    /// Elements from this to [`LAST_PLAIN`] are as they are in memory.
    pub const FIRST_PLAIN: u8 = 0x02;
    /// float64
    pub const LAST_PLAIN: u8 = 0x0D;
    /// u32 length, u16 count of units that follow.
    pub const STRING: u8 = 0x0E;
    /// u64.
    pub const POINTER: u8 = 0x0F;
    /// u32 type, u8 count of fields that follow, or [`NOT_SHOWN`].
    pub const VALUE: u8 = 0x11;
    /// u32 type, u64 which one, u8 count of fields that follow, or [`NOT_SHOWN`].
    pub const OBJECT: u8 = 0x12;
    /// u32 type, u8 rank, for each dimension u32 length, u8 count of elements that follow.
    pub const ARRAY: u8 = 0x14;
    /// native int, 8 bytes.
    pub const NATIVE_INT: u8 = 0x18;
    /// native uint, 8 bytes.
    pub const NATIVE_UINT: u8 = 0x19;
    /// u32 type, then an element as it is.
    pub const ENUM: u8 = 0x55;
    /// u64 as .NET has it: the kind in the upper two bits, 100 ns since the year 1.
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

/// Why a value was not read.
pub mod unread {
    /// Nothing says of what type it is.
    pub const UNKNOWN_TYPE: u8 = 1;
    /// Nothing says how it is laid out.
    pub const UNKNOWN_LAYOUT: u8 = 2;
    /// `System.TypedReference`
    pub const TYPED_REFERENCE: u8 = 3;
    /// The record had no more room.
    pub const NO_ROOM: u8 = 4;
    /// `out`, before the call ends.
    pub const OUT: u8 = 5;
    /// A collection may have moved what it refers to.
    pub const MOVED: u8 = 6;
    /// The runtime did not say where it is.
    pub const NOT_FOUND: u8 = 7;
    /// A reference within a value.
    pub const REFERENCE: u8 = 8;
    /// A type that nothing but the stack may have values of: a ref struct, or one that may be.
    pub const ON_STACK: u8 = 9;
    /// `this` of a constructor, before that has run.
    pub const UNDER_CONSTRUCTION: u8 = 10;
    /// The program's ToString threw an exception.
    pub const THROWN: u8 = 11;

    /// Why, in words.
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

/// What a description describes.
pub mod describes {
    /// A type.
    pub const TYPE: u8 = 1;
    /// A method with its generic arguments.
    pub const SIGNATURE: u8 = 2;
}

/// What a type's description has.
pub mod shape {
    /// The names of its fields.
    pub const FIELDS: u8 = 0;
    /// The members of an enum.
    pub const ENUM: u8 = 1;
    /// The same, of flags.
    pub const FLAGS: u8 = 2;
}

/// What records of calls have.
pub mod record {
    /// A call begins.
    pub const ENTER: u8 = 1;
    /// A call ends.
    pub const LEAVE: u8 = 2;
    /// A handler of a call's catches an exception, which is there.
    pub const CATCH: u8 = 3;
    /// An exception that is there looks for a handler, and none is in a call; it leaves the call, unless another one does.
    pub const PASS: u8 = 4;
    /// Of [`ENTER`]: `this` is there.
    pub const THIS: u8 = 1;
    /// Of [`ENTER`]: the arguments are.
    pub const ARGUMENTS: u8 = 2;
    /// Of [`LEAVE`]: how, by [`How`](super::How).
    pub const HOW: u8 = 0xF;
    /// Of [`LEAVE`]: what was returned is there.
    pub const RETURNED: u8 = 16;
    /// Of [`LEAVE`]: by-reference arguments are.
    pub const BY_REFERENCE: u8 = 32;
    /// Its size before its values.
    pub const HEADER: usize = 24;
    /// No record is longer.
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
    /// It gave its place to another.
    TailCall,
}

/// Captured calls, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub struct Calls {
    /// The types that values have, by [`Value`]'s indices.
    pub types: Vec<ValueType>,
    /// What was called.
    pub signatures: Vec<Signature>,
    /// The calls.
    pub list: Vec<Call>,
    /// How many calls were not kept, or were written over by later ones.
    pub lost: u64,
}

/// The place of each name or number in a list: a hostile profile has as many calls as names, so none is searched for.
type Places<K> = OnceLock<HashMap<K, usize>>;

/// A type that values are of.
#[derive(Clone, Debug, Default)]
pub struct ValueType {
    /// As C# writes it.
    pub name: String,
    /// The names of its fields.
    pub fields: Vec<String>,
    /// The members of an enum.
    pub members: Vec<(i64, String)>,
    /// Whether these are flags.
    pub is_flags: bool,
    pub(crate) by_field: Places<String>,
    pub(crate) by_member: Places<i64>,
}

/// A method with its generic arguments.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// The method's id, as call trees have it.
    pub method_id: u64,
    /// Its row.
    pub token: u32,
    /// The path of its module.
    pub module: String,
    /// With its type: `Ns.Type<int>.Method<long>`.
    pub method: String,
    /// The type of what it returns: `void`, if nothing.
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
    /// Its type, without that.
    pub type_name: String,
    /// Its name; empty if it has none.
    pub name: String,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The number of its thread's tree.
    pub tree: u64,
    /// Its number there.
    pub number: u64,
    /// Of how many calls that were kept it is within.
    pub depth: usize,
    /// Which of [`Calls::signatures`].
    pub signature: usize,
    /// When it began, in ticks since the first probe.
    pub start: i64,
    /// How long it took, in ticks; none if it had not ended.
    pub duration: Option<i64>,
    /// How it ended.
    pub how: Option<How>,
    /// What it was called on.
    pub this: Option<Value>,
    /// Its arguments; none if they were not kept.
    pub arguments: Vec<Value>,
    /// What it returned.
    pub returned: Option<Value>,
    /// By-reference arguments when it ended, by their parameters' indices.
    pub after: Vec<(usize, Value)>,
    /// The exception that left it, if it was seen.
    pub exception: Option<Value>,
    /// What its handlers caught, in order.
    pub caught: Vec<Value>,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Not read: why ([`unread`]).
    Unread(u8),
    /// No object.
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
    /// Its length in UTF-16 units, and the first of these.
    Text(u32, Vec<u16>),
    /// An address, or a native integer.
    Pointer(u64),
    /// A value with fields; none if they were left out.
    Struct(usize, Option<Vec<Value>>),
    /// An object: its type, which one, and its fields.
    Object(usize, u64, Option<Vec<Value>>),
    /// An array: its type, its dimensions, and its first elements.
    Array(usize, Vec<u32>, Vec<Value>),
    /// An enum's value.
    Enum(usize, i128),
    /// As .NET keeps it.
    DateTime(u64),
    /// Low, middle, high, flags.
    Decimal([u32; 4]),
    /// As .NET keeps it.
    Guid([u8; 16]),
    /// In 100 ns.
    TimeSpan(i64),
    /// A type: `typeof(string)`.
    Type(usize),
}

/// The place of each key; of several that are the same, the first.
fn places<K: Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut places = HashMap::new();
    for (place, key) in keys.enumerate() {
        places.entry(key).or_insert(place);
    }
    places
}

impl ValueType {
    /// The place of a field, by its name in the source.
    fn field(&self, name: &str) -> Option<usize> {
        let shown = || places(self.fields.iter().map(|field| condition::shown_field(field).to_owned()));
        self.by_field.get_or_init(shown).get(name).copied()
    }

    /// The name of an enum's member; an unsigned number is stored as the signed number of the same bits.
    fn member(&self, number: i128) -> Option<&str> {
        let by_member = self.by_member.get_or_init(|| places(self.members.iter().map(|(member, _)| *member)));
        let number = i64::try_from(number).or_else(|_| u64::try_from(number).map(u64::cast_signed)).ok()?;
        self.members.get(*by_member.get(&number)?).map(|(_, name)| name.as_str())
    }
}

impl Signature {
    /// The place of a parameter.
    fn parameter(&self, name: &str) -> Option<usize> {
        let by_name = || places(self.parameters.iter().map(|parameter| parameter.name.clone()));
        self.by_parameter.get_or_init(by_name).get(name).copied()
    }
}

impl Calls {
    /// Reads the calls of a profile. What cannot be read of them is left out.
    ///
    /// # Errors
    /// If the header is not there, or says what is not known.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        format::read_calls(bytes)
    }
}
