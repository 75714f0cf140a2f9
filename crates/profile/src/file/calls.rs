//! Chunks of captured calls, and chunks that describe their types.

use std::{collections::HashMap, rc::Rc};

use little_endian::{ByteOrder, LE};
use profile_format::{
    CallEnd, CallFlags, CallRecordKind, ChunkKind, DescriptionKind, ParameterMode, TypeShape, UnreadReason, ValueKind,
    calls::{self as layout, LOST_AT, NOT_SHOWN, SEQUENCE_AT},
    chunk,
};

use super::{
    chunks::{Chunk, chunks},
    cursor::{Cursor, u64_at},
    header::Header,
    packing::unpacked,
};
use crate::{
    calls::{Call, Calls, Parameter, Signature, Value, ValueType},
    error::Error,
};

/// The deepest nesting of values.
const MAX_DEPTH: usize = 8;

impl Calls {
    /// Reads the calls of a profile. Skips calls and values that are damaged.
    ///
    /// # Errors
    /// If the header is missing, or states an unknown version or mode.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let bytes = unpacked(bytes)?;
        let header = Header::read(&bytes)?;
        let mut reader = Reader::default();
        let mut threads: Vec<(u64, u64, Chunk<'_>)> = Vec::new();
        for chunk in chunks(&bytes, &header).flatten() {
            match chunk.kind {
                Some(ChunkKind::Descriptions) => reader.describe(&chunk),
                Some(ChunkKind::Calls) => {
                    let field = |at| u64_at(chunk.bytes, at);
                    reader.calls.lost = reader.calls.lost.saturating_add(field(LOST_AT));
                    threads.push((field(chunk::TREE_NUMBER_AT), field(SEQUENCE_AT), chunk));
                }
                _ => {}
            }
        }
        threads.sort_by_key(|(tree, sequence, _)| (*tree, *sequence));
        for (tree, _, chunk) in &threads {
            reader.read(*tree, chunk);
        }
        reader.calls.list.sort_by_key(|call| (call.start, call.tree, call.number));
        Ok(reader.calls)
    }
}

#[derive(Default)]
struct Reader {
    calls: Calls,
    types: HashMap<u32, usize>,
    signatures: HashMap<u32, usize>,
    /// By signature: the indexes of by-reference parameters.
    changed: Vec<Rc<[usize]>>,
    /// Calls that have not ended, by tree and number.
    open: HashMap<(u64, u64), usize>,
    depths: HashMap<u64, (u64, usize)>,
}

impl Reader {
    fn describe(&mut self, chunk: &Chunk<'_>) {
        let Ok(content) = chunk.content() else { return };
        let mut rest = Cursor::new(content, chunk.offset);
        // The size of a record leads past records that are damaged or of another kind.
        while let Ok(head) = rest.array::<8>() {
            let (kind, size) = (head[0], LE::read_u32(&head[4..]));
            let Some(body) = (size as usize).checked_sub(head.len()) else { return };
            let Ok(body) = rest.take(body) else { return };
            let mut body = Cursor::new(body, 0);
            let _ = match DescriptionKind::from_number(kind) {
                Some(DescriptionKind::Type) => self.describe_type(&mut body),
                Some(DescriptionKind::Signature) => self.describe_signature(&mut body),
                None => Ok(()),
            };
        }
    }

    fn describe_type(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let (number, shape) = (body.u32()?, TypeShape::from_number(body.u8()?));
        let mut described = ValueType { name: body.string()?, is_flags: shape == Some(TypeShape::Flags), ..ValueType::default() };
        for _ in 0..body.u32()? {
            if shape == Some(TypeShape::Fields) {
                described.fields.push(body.string()?);
            } else {
                described.members.push((body.i64()?, body.string()?));
            }
        }
        self.types.insert(number, self.calls.types.len());
        self.calls.types.push(described);
        Ok(())
    }

    fn describe_signature(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let number = body.u32()?;
        let mut described = Signature { method_id: body.u64()?, token: body.u32()?, ..Signature::default() };
        for text in [&mut described.module, &mut described.method, &mut described.returned, &mut described.this] {
            *text = body.string()?;
        }
        for _ in 0..body.u32()? {
            let mode = ParameterMode::from_number(body.u8()?).unwrap_or(ParameterMode::Value);
            described.parameters.push(Parameter { mode, type_name: body.string()?, name: body.string()? });
        }
        let changed = |parameter: &Parameter| matches!(parameter.mode, ParameterMode::Ref | ParameterMode::Out);
        let by_reference = described.parameters.iter().enumerate().filter(|(_, each)| changed(each));
        self.changed.push(by_reference.map(|(index, _)| index).collect());
        self.signatures.insert(number, self.calls.signatures.len());
        self.calls.signatures.push(described);
        Ok(())
    }

    /// Reads a thread's records, up to the first damaged one.
    fn read(&mut self, tree: u64, chunk: &Chunk<'_>) {
        let Ok(content) = chunk.content() else { return };
        let mut rest = Cursor::new(content, chunk.offset);
        while let Ok(head) = rest.array::<{ layout::HEADER }>() {
            let mut head = Cursor::new(&head, 0);
            let (Ok(size), Ok(kind), Ok(flags)) = (head.u16(), head.u8(), head.u8()) else { return };
            let flags = CallFlags::from_bits(flags);
            let (Ok(signature), Ok(number), Ok(clock)) = (head.u32(), head.u64(), head.i64()) else { return };
            let Some(size) = usize::from(size).checked_sub(layout::HEADER) else { return };
            let Ok(body) = rest.take(size) else { return };
            let mut values = Cursor::new(body, 0);
            let Some(signature) = self.signatures.get(&signature).copied() else { continue };
            // Damaged values are omitted.
            let _ = match CallRecordKind::from_number(kind) {
                Some(CallRecordKind::Enter) => self.enter(Begun { tree, number, signature, clock, flags }, &mut values),
                Some(CallRecordKind::Leave) => self.leave(Begun { tree, number, signature, clock, flags }, &mut values),
                Some(CallRecordKind::Catch) => self.catch((tree, number), &mut values),
                Some(CallRecordKind::Pass) => self.pass((tree, number), &mut values),
                None => Ok(()),
            };
        }
    }

    fn enter(&mut self, begun: Begun, values: &mut Cursor<'_>) -> Result<(), Error> {
        let Begun { tree, number, signature, clock, flags } = begun;
        let (last, depth) = self.depths.entry(tree).or_default();
        // Missing call numbers are calls whose records were overwritten.
        self.calls.lost = self.calls.lost.saturating_add(number.saturating_sub(last.saturating_add(1)));
        *last = number;
        let depth = std::mem::replace(depth, *depth + 1);
        self.open.insert((tree, number), self.calls.list.len());
        let call = Call {
            tree,
            number,
            depth,
            signature,
            start: clock,
            duration: None,
            end: None,
            this: None,
            arguments: Vec::new(),
            returned: None,
            after: Vec::new(),
            exception: None,
            caught: Vec::new(),
        };
        self.calls.list.push(call);
        let this = if flags.has(CallFlags::THIS) { Some(self.value(values, 0)?) } else { None };
        let count = if flags.has(CallFlags::ARGUMENTS) { self.parameters(signature).len() } else { 0 };
        let arguments = (0..count).map(|_| self.value(values, 0)).collect::<Result<Vec<_>, _>>()?;
        if let Some(call) = self.calls.list.last_mut() {
            (call.this, call.arguments) = (this, arguments);
        }
        Ok(())
    }

    fn leave(&mut self, begun: Begun, values: &mut Cursor<'_>) -> Result<(), Error> {
        let Begun { tree, number, signature, clock, flags } = begun;
        let Some(index) = self.open.remove(&(tree, number)) else { return Ok(()) };
        let returned = if flags.has(CallFlags::RETURNED) { Some(self.value(values, 0)?) } else { None };
        let mut after = Vec::new();
        if flags.has(CallFlags::BY_REFERENCE) {
            let changed = self.changed.get(signature).cloned().unwrap_or_default();
            for parameter in changed.iter() {
                after.push((*parameter, self.value(values, 0)?));
            }
        }
        let Some(call) = self.calls.list.get_mut(index) else { return Ok(()) };
        call.duration = Some(clock.saturating_sub(call.start).max(0));
        call.end = Some(CallEnd::from_number(flags.bits() & CallFlags::END.bits()).unwrap_or(CallEnd::Returned));
        (call.returned, call.after) = (returned, after);
        call.exception.take_if(|_| call.end != Some(CallEnd::Exception));
        self.depths.entry(tree).and_modify(|(_, depth)| *depth = call.depth);
        Ok(())
    }

    fn catch(&mut self, call: (u64, u64), values: &mut Cursor<'_>) -> Result<(), Error> {
        let Some(index) = self.open.get(&call).copied() else { return Ok(()) };
        let caught = self.value(values, 0)?;
        let Some(call) = self.calls.list.get_mut(index) else { return Ok(()) };
        call.caught.push(caught);
        // The caught exception replaces the one that was leaving the call.
        call.exception = None;
        Ok(())
    }

    fn pass(&mut self, call: (u64, u64), values: &mut Cursor<'_>) -> Result<(), Error> {
        let Some(index) = self.open.get(&call).copied() else { return Ok(()) };
        let passed = self.value(values, 0)?;
        self.calls.list.get_mut(index).into_iter().for_each(|call| call.exception = Some(passed.clone()));
        Ok(())
    }

    fn parameters(&self, signature: usize) -> &[Parameter] {
        self.calls.signatures.get(signature).map(|signature| &*signature.parameters).unwrap_or_default()
    }

    fn value(&mut self, from: &mut Cursor<'_>, depth: usize) -> Result<Value, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::Damaged { what: "values nested too deep", offset: from.offset() });
        }
        let offset = from.offset();
        let kind = from.u8()?;
        let unknown = || Error::Unknown { what: "a value of kind", value: kind.into(), offset };
        Ok(match ValueKind::from_number(kind).ok_or_else(unknown)? {
            ValueKind::Unread => Value::Unread(UnreadReason::from_number(from.u8()?)),
            ValueKind::Null => Value::Null,
            ValueKind::String => {
                let (length, count) = (from.u32()?, from.u16()?);
                let units = (0..count).map(|_| from.u16()).collect::<Result<_, _>>()?;
                Value::Text(length, units)
            }
            ValueKind::Pointer | ValueKind::IntPtr | ValueKind::UIntPtr => Value::Pointer(from.u64()?),
            ValueKind::Struct => {
                let of = self.type_of(from)?;
                Value::Struct(of, self.values(from, depth)?)
            }
            ValueKind::Object => {
                let (of, which) = (self.type_of(from)?, from.u64()?);
                Value::Object(of, which, self.values(from, depth)?)
            }
            ValueKind::Array => {
                let (of, rank) = (self.type_of(from)?, from.u8()?);
                let dimensions = (0..rank).map(|_| from.u32()).collect::<Result<_, _>>()?;
                Value::Array(of, dimensions, self.values(from, depth)?.unwrap_or_default())
            }
            ValueKind::Enum => {
                let of = self.type_of(from)?;
                match self.value(from, depth + 1)? {
                    Value::Int(number) => Value::Enum(of, number),
                    Value::Bool(is_it) => Value::Enum(of, is_it.into()),
                    Value::Char(unit) => Value::Enum(of, unit.into()),
                    _ => return Err(Error::Damaged { what: "an enum's value", offset }),
                }
            }
            ValueKind::DateTime => Value::DateTime(from.u64()?),
            ValueKind::Decimal => Value::Decimal([from.u32()?, from.u32()?, from.u32()?, from.u32()?]),
            ValueKind::Guid => Value::Guid(from.array()?),
            ValueKind::TimeSpan => Value::TimeSpan(from.i64()?),
            ValueKind::Type => Value::Type(self.type_of(from)?),
            ValueKind::Boolean => Value::Bool(from.u8()? != 0),
            ValueKind::Char => Value::Char(from.u16()?),
            ValueKind::SByte => Value::Int(from.u8()?.cast_signed().into()),
            ValueKind::Byte => Value::Int(from.u8()?.into()),
            ValueKind::Int16 => Value::Int(from.u16()?.cast_signed().into()),
            ValueKind::UInt16 => Value::Int(from.u16()?.into()),
            ValueKind::Int32 => Value::Int(from.u32()?.cast_signed().into()),
            ValueKind::UInt32 => Value::Int(from.u32()?.into()),
            ValueKind::Int64 => Value::Int(from.i64()?.into()),
            ValueKind::UInt64 => Value::Int(from.u64()?.into()),
            ValueKind::Single => Value::Single(f32::from_bits(from.u32()?)),
            ValueKind::Double => Value::Double(f64::from_bits(from.u64()?)),
        })
    }

    /// Reads values that follow their count. Returns `None` if they were not captured.
    fn values(&mut self, from: &mut Cursor<'_>, depth: usize) -> Result<Option<Vec<Value>>, Error> {
        match from.u8()? {
            NOT_SHOWN => Ok(None),
            count => (0..count).map(|_| self.value(from, depth + 1)).collect::<Result<_, _>>().map(Some),
        }
    }

    fn type_of(&mut self, from: &mut Cursor<'_>) -> Result<usize, Error> {
        let number = from.u32()?;
        let types = &mut self.calls.types;
        Ok(*self.types.entry(number).or_insert_with(|| {
            types.push(ValueType { name: "?".into(), ..ValueType::default() });
            types.len() - 1
        }))
    }
}

/// The fields of a record in front of its values.
#[derive(Clone, Copy)]
struct Begun {
    tree: u64,
    number: u64,
    signature: usize,
    clock: i64,
    flags: CallFlags,
}
