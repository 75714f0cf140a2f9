//! Captured calls with their values (docs/profile-format.md).

use std::{collections::HashMap, hash::Hash, sync::OnceLock};

pub use profile_format::{CallEnd, ParameterMode, UnreadReason};

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
type Index<K> = OnceLock<HashMap<K, usize>>;

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
    pub(crate) by_field: Index<String>,
    pub(crate) by_member: Index<i64>,
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
    pub(crate) by_parameter: Index<String>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// How it is passed.
    pub mode: ParameterMode,
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
    pub end: Option<CallEnd>,
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
    /// Not read, for this reason; `None` if the format has no such reason.
    Unread(Option<UnreadReason>),
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
fn index<K: Hash + Eq>(keys: impl Iterator<Item = K>) -> HashMap<K, usize> {
    let mut index = HashMap::new();
    for (place, key) in keys.enumerate() {
        index.entry(key).or_insert(place);
    }
    index
}

impl ValueType {
    /// Returns the index of a field, by its name in the source.
    pub fn field(&self, name: &str) -> Option<usize> {
        let shown = || index(self.fields.iter().map(|field| source_field(field).to_owned()));
        self.by_field.get_or_init(shown).get(name).copied()
    }

    /// Returns the name of an enum's member. An unsigned number is stored as the signed number of the same bits.
    pub fn member(&self, number: i128) -> Option<&str> {
        let by_member = self.by_member.get_or_init(|| index(self.members.iter().map(|(member, _)| *member)));
        let number = i64::try_from(number).or_else(|_| u64::try_from(number).map(u64::cast_signed)).ok()?;
        self.members.get(*by_member.get(&number)?).map(|(_, name)| name.as_str())
    }
}

impl Signature {
    /// Returns the index of a parameter.
    pub fn parameter(&self, name: &str) -> Option<usize> {
        let by_name = || index(self.parameters.iter().map(|parameter| parameter.name.clone()));
        self.by_parameter.get_or_init(by_name).get(name).copied()
    }
}

/// Returns a field's name in the source: for an automatic property, the property's name.
pub fn source_field(name: &str) -> &str {
    name.strip_prefix('<').and_then(|rest| rest.strip_suffix(">k__BackingField")).unwrap_or(name)
}
