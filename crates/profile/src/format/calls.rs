//! Chunks of captured calls, and chunks that describe their types.

use std::{collections::HashMap, rc::Rc};

use super::{CHUNK_HEADER, Chunk, Header, chunk_kind, chunks, cursor::Cursor};
use crate::{
    calls::{Call, Calls, How, Parameter, Passing, Signature, Value, ValueType, describes, kind, record, shape},
    error::Error,
};

/// Offsets in a chunk of calls: its number in its tree, and the number of calls that were not recorded.
const SEQUENCE_AT: usize = 40;
/// The deepest nesting of values.
const MAX_DEPTH: usize = 8;

/// Reads the calls of a profile.
pub(crate) fn read_calls(bytes: &[u8]) -> Result<Calls, Error> {
    let header = Header::read(bytes)?;
    let mut reader = Reader::default();
    let mut threads: Vec<(u64, u64, Chunk<'_>)> = Vec::new();
    for chunk in chunks(bytes, &header).flatten() {
        match chunk.kind {
            chunk_kind::DESCRIPTIONS => reader.describe(&chunk),
            chunk_kind::CALLS => {
                let mut head = Cursor::new(chunk.bytes, chunk.offset);
                head.take(24)?;
                let tree = head.u64()?;
                head.position = SEQUENCE_AT;
                let sequence = head.u64()?;
                reader.calls.lost = reader.calls.lost.saturating_add(head.u64()?);
                threads.push((tree, sequence, chunk));
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
        let Ok(used) = chunk.used() else { return };
        let mut rest = Cursor::new(chunk.bytes.get(CHUNK_HEADER..used).unwrap_or_default(), chunk.offset);
        // The size of a record leads past records that are damaged or of another kind.
        while let Ok(head) = rest.array::<8>() {
            let [kind, _, _, _, size @ ..] = head;
            let Some(body) = (u32::from_le_bytes(size) as usize).checked_sub(head.len()) else { return };
            let Ok(body) = rest.take(body) else { return };
            let mut body = Cursor::new(body, 0);
            let _ = match kind {
                describes::TYPE => self.describe_type(&mut body),
                describes::SIGNATURE => self.describe_signature(&mut body),
                _ => Ok(()),
            };
        }
    }

    fn describe_type(&mut self, body: &mut Cursor<'_>) -> Result<(), Error> {
        let (number, shape) = (body.u32()?, body.u8()?);
        let mut described = ValueType { name: body.string()?, is_flags: shape == shape::FLAGS, ..ValueType::default() };
        for _ in 0..body.u32()? {
            if shape == shape::FIELDS {
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
            let passing = match body.u8()? {
                1 => Passing::Ref,
                2 => Passing::In,
                3 => Passing::Out,
                _ => Passing::Value,
            };
            described.parameters.push(Parameter { passing, type_name: body.string()?, name: body.string()? });
        }
        let changed = |parameter: &Parameter| matches!(parameter.passing, Passing::Ref | Passing::Out);
        let places = described.parameters.iter().enumerate().filter(|(_, each)| changed(each));
        self.changed.push(places.map(|(place, _)| place).collect());
        self.signatures.insert(number, self.calls.signatures.len());
        self.calls.signatures.push(described);
        Ok(())
    }

    /// Reads a thread's records, up to the first damaged one.
    fn read(&mut self, tree: u64, chunk: &Chunk<'_>) {
        let Ok(used) = chunk.used() else { return };
        let mut rest = Cursor::new(chunk.bytes.get(CHUNK_HEADER..used).unwrap_or_default(), chunk.offset);
        while let Ok(head) = rest.array::<{ record::HEADER }>() {
            let mut head = Cursor::new(&head, 0);
            let (Ok([a, b]), Ok(kind), Ok(what)) = (head.array(), head.u8(), head.u8()) else { return };
            let (Ok(signature), Ok(number), Ok(clock)) = (head.u32(), head.u64(), head.i64()) else { return };
            let Some(size) = usize::from(u16::from_le_bytes([a, b])).checked_sub(record::HEADER) else { return };
            let Ok(body) = rest.take(size) else { return };
            let mut values = Cursor::new(body, 0);
            let Some(signature) = self.signatures.get(&signature).copied() else { continue };
            // Damaged values are omitted.
            let _ = match kind {
                record::ENTER => self.enter(Begun { tree, number, signature, clock, what }, &mut values),
                record::LEAVE => self.leave(Begun { tree, number, signature, clock, what }, &mut values),
                record::CATCH => self.catch((tree, number), &mut values),
                record::PASS => self.pass((tree, number), &mut values),
                _ => Ok(()),
            };
        }
    }

    fn enter(&mut self, begun: Begun, values: &mut Cursor<'_>) -> Result<(), Error> {
        let Begun { tree, number, signature, clock, what } = begun;
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
            how: None,
            this: None,
            arguments: Vec::new(),
            returned: None,
            after: Vec::new(),
            exception: None,
            caught: Vec::new(),
        };
        self.calls.list.push(call);
        let this = if what & record::THIS != 0 { Some(self.value(values, 0)?) } else { None };
        let count = if what & record::ARGUMENTS == 0 { 0 } else { self.parameters(signature).len() };
        let arguments = (0..count).map(|_| self.value(values, 0)).collect::<Result<Vec<_>, _>>()?;
        if let Some(call) = self.calls.list.last_mut() {
            (call.this, call.arguments) = (this, arguments);
        }
        Ok(())
    }

    fn leave(&mut self, begun: Begun, values: &mut Cursor<'_>) -> Result<(), Error> {
        let Begun { tree, number, signature, clock, what } = begun;
        let Some(index) = self.open.remove(&(tree, number)) else { return Ok(()) };
        let returned = if what & record::RETURNED != 0 { Some(self.value(values, 0)?) } else { None };
        let mut after = Vec::new();
        if what & record::BY_REFERENCE != 0 {
            let changed = self.changed.get(signature).cloned().unwrap_or_default();
            for parameter in changed.iter() {
                after.push((*parameter, self.value(values, 0)?));
            }
        }
        let Some(call) = self.calls.list.get_mut(index) else { return Ok(()) };
        call.duration = Some(clock.saturating_sub(call.start).max(0));
        call.how = Some(match what & record::HOW {
            1 => How::Exception,
            2 => How::TailCall,
            _ => How::Returned,
        });
        (call.returned, call.after) = (returned, after);
        call.exception.take_if(|_| call.how != Some(How::Exception));
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
        Ok(match from.u8()? {
            kind::UNREAD => Value::Unread(from.u8()?),
            kind::NULL => Value::Null,
            kind::STRING => {
                let (length, count) = (from.u32()?, u16::from_le_bytes(from.array()?));
                let units = (0..count).map(|_| from.array().map(u16::from_le_bytes)).collect::<Result<_, _>>()?;
                Value::Text(length, units)
            }
            kind::POINTER | kind::NATIVE_INT | kind::NATIVE_UINT => Value::Pointer(from.u64()?),
            kind::VALUE => {
                let of = self.type_of(from)?;
                Value::Struct(of, self.values(from, depth)?)
            }
            kind::OBJECT => {
                let (of, which) = (self.type_of(from)?, from.u64()?);
                Value::Object(of, which, self.values(from, depth)?)
            }
            kind::ARRAY => {
                let (of, rank) = (self.type_of(from)?, from.u8()?);
                let dimensions = (0..rank).map(|_| from.u32()).collect::<Result<_, _>>()?;
                Value::Array(of, dimensions, self.values(from, depth)?.unwrap_or_default())
            }
            kind::ENUM => {
                let of = self.type_of(from)?;
                match self.value(from, depth + 1)? {
                    Value::Int(number) => Value::Enum(of, number),
                    Value::Bool(is_it) => Value::Enum(of, is_it.into()),
                    Value::Char(unit) => Value::Enum(of, unit.into()),
                    _ => return Err(Error::Damaged { what: "an enum's value", offset }),
                }
            }
            kind::DATE_TIME => Value::DateTime(from.u64()?),
            kind::DECIMAL => Value::Decimal([from.u32()?, from.u32()?, from.u32()?, from.u32()?]),
            kind::GUID => Value::Guid(from.array()?),
            kind::TIME_SPAN => Value::TimeSpan(from.i64()?),
            kind::TYPE => Value::Type(self.type_of(from)?),
            0x02 => Value::Bool(from.u8()? != 0),
            0x03 => Value::Char(u16::from_le_bytes(from.array()?)),
            0x04 => Value::Int(i8::from_le_bytes(from.array()?).into()),
            0x05 => Value::Int(from.u8()?.into()),
            0x06 => Value::Int(i16::from_le_bytes(from.array()?).into()),
            0x07 => Value::Int(u16::from_le_bytes(from.array()?).into()),
            0x08 => Value::Int(i32::from_le_bytes(from.array()?).into()),
            0x09 => Value::Int(from.u32()?.into()),
            0x0A => Value::Int(from.i64()?.into()),
            0x0B => Value::Int(from.u64()?.into()),
            0x0C => Value::Single(f32::from_le_bytes(from.array()?)),
            0x0D => Value::Double(f64::from_le_bytes(from.array()?)),
            value => return Err(Error::Unknown { what: "a value of kind", value: value.into(), offset }),
        })
    }

    /// Reads values that follow their count. Returns `None` if they were not captured.
    fn values(&mut self, from: &mut Cursor<'_>, depth: usize) -> Result<Option<Vec<Value>>, Error> {
        match from.u8()? {
            kind::NOT_SHOWN => Ok(None),
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
    what: u8,
}
