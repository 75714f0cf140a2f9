//! Finds short methods that only call skipped methods. A probe would take longer than all of them.

use std::collections::HashMap;

use ecma335::{
    Image, Metadata, MethodBody, OpCode, Rid, Rva, Token,
    element::ElementType,
    schema::{MemberRef, MethodDef, MethodSpec, TypeDef, TypeDefOrRef, TypeSpec},
};
use little_endian::NumbersAt;
use names::CompilerGenerated;

use super::{
    method_options::{BodyFilter, OptionsByMethod},
    option_table::DEFAULT_MIN_IL,
    options::Options,
    policy,
    reason::Reason,
};
use crate::probes::call_sites::WaitingCalls;

/// The forwarders of a module: short methods that only call skipped methods.
#[derive(Debug, Default)]
pub(crate) struct Forwarders {
    /// Whether each method is a forwarder, by MethodDef row number minus one. Empty if none is.
    is_one: Vec<bool>,
}

impl Forwarders {
    /// Whether a method is a forwarder.
    pub(crate) fn has(&self, method: Rid<MethodDef>) -> bool {
        (method.get() as usize).checked_sub(1).and_then(|index| self.is_one.get(index)).copied().unwrap_or_default()
    }

    /// Finds the forwarders of a module. Methods that call one another in a ring are none: the search finds the least fixed
    /// point.
    pub(crate) fn find(
        image: &Image<'_>,
        metadata: &Metadata<'_>,
        generated: &CompilerGenerated,
        options_by_method: &OptionsByMethod,
        options: &Options,
        planned: &[Result<(), Reason>],
    ) -> Self {
        let mut search =
            Search { metadata, waiting: WaitingCalls::new(&options.calls), members: HashMap::new(), own: HashMap::new() };
        // The entry point keeps its probe. It is called once, and contains all other calls.
        let entry = image.cli_header().entry_point_token();
        let mut states = vec![State::Probed; planned.len()];
        // By callee: the candidates that call it.
        let mut callers: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut found = Vec::new();
        for ((rid, row), plan) in metadata.tables.rows::<MethodDef>().zip(planned) {
            let (Some(state), options_here) = (states.get_mut(rid.get() as usize - 1), options_by_method.get(rid)) else {
                continue;
            };
            let BodyFilter::Above(limit) = options_here.body_filter.0 else {
                *state = if plan.is_ok() { State::Probed } else { *state };
                continue;
            };
            if !row.has_il_body() {
                // The method that runs is known only at the call. An accessor is assumed to be skipped.
                let is_skipped = generated.is_accessor(rid);
                *state = if is_skipped { State::Skipped } else { State::Probed };
                found.extend(is_skipped.then_some(rid.get()));
                continue;
            }
            let Some(body) = short_body(image, &row, limit.max(DEFAULT_MIN_IL)) else { continue };
            let has_hooks = options.hooks_set_by(options_here.hooks).probe().is_some();
            if policy::skip_reason(options_here.body_filter.0, generated.origin(rid), has_hooks, &body, false).is_some() {
                *state = State::Skipped;
                found.push(rid.get());
                continue;
            }
            let is_entry = entry.and_then(Token::rid_in) == Some(rid);
            if is_entry
                || generated.step(rid).is_some()
                || row.is_async()
                || body.il.len() as u32 > limit
                || !body.clauses.is_empty()
            {
                continue;
            }
            if search.is_default_constructor(&row, &body) {
                *state = State::Forwards(0);
                found.push(rid.get());
                continue;
            }
            let mut callees = Vec::new();
            let is_bounded = policy::is_bounded(&body, &mut |callee| match search.callee(callee) {
                Callee::Own(callee) => {
                    callees.push(callee.get());
                    true
                }
                Callee::Skipped => true,
                Callee::Other => false,
            });
            if is_bounded {
                *state = State::Forwards(callees.len() as u32);
                found.extend(callees.is_empty().then_some(rid.get()));
                callees.iter().for_each(|callee| callers.entry(*callee).or_default().push(rid.get()));
            }
        }
        while let Some(skipped) = found.pop() {
            for caller in callers.remove(&skipped).unwrap_or_default() {
                if let Some(State::Forwards(left)) = states.get_mut(caller as usize - 1) {
                    *left -= 1;
                    found.extend((*left == 0).then_some(caller));
                }
            }
        }
        Self { is_one: states.into_iter().map(|state| state == State::Forwards(0)).collect() }
    }
}

/// The state of a method in the search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The method has a probe, or is not known to be short.
    Probed,
    /// The method is skipped for its own properties.
    Skipped,
    /// The method makes this many calls that are not known to be skipped, and nothing else in it takes time.
    Forwards(u32),
}

/// The target of a short method's call.
#[derive(Clone, Copy)]
enum Callee {
    /// A method of the module.
    Own(Rid<MethodDef>),
    /// A method of another assembly that takes too little time for a probe.
    Skipped,
    Other,
}

struct Search<'a, 'm> {
    metadata: &'m Metadata<'a>,
    waiting: WaitingCalls<'m>,
    members: HashMap<u32, Callee>,
    /// The methods of types that generic instantiations refer to, by name.
    own: HashMap<u32, HashMap<&'a [u8], Vec<Rid<MethodDef>>>>,
}

impl<'a> Search<'a, '_> {
    fn callee(&mut self, token: Token) -> Callee {
        if let Some(spec) = token.rid_in::<MethodSpec>() {
            let method = self.metadata.row(spec).ok().and_then(|row| row.method.token());
            return method
                .filter(|method| method.rid_in::<MethodSpec>().is_none())
                .map_or(Callee::Other, |method| self.callee(method));
        }
        if let Some(method) = token.rid_in::<MethodDef>() {
            return Callee::Own(method);
        }
        let Some(member) = token.rid_in::<MemberRef>() else { return Callee::Other };
        if let Some(known) = self.members.get(&member.get()) {
            return *known;
        }
        let callee = self.member(member).unwrap_or(Callee::Other);
        self.members.insert(member.get(), callee);
        callee
    }

    fn member(&mut self, member: Rid<MemberRef>) -> Option<Callee> {
        let metadata = self.metadata;
        let row = metadata.row(member).ok()?;
        let name = metadata.strings.string_bytes(row.name).ok()?;
        if let Some(class) = own_class(metadata, row.class.token()?) {
            let methods = self.own.entry(class.get()).or_insert_with(|| {
                let mut by_name: HashMap<&[u8], Vec<Rid<MethodDef>>> = HashMap::new();
                for method in metadata.children::<TypeDef, MethodDef>(class) {
                    let name = metadata.row(method).and_then(|row| metadata.strings.string_bytes(row.name));
                    name.into_iter().for_each(|name| by_name.entry(name).or_default().push(method));
                }
                by_name
            });
            let signature = metadata.blob(row.signature).ok()?;
            let is_it = |method: &&Rid<MethodDef>| {
                metadata.row(**method).and_then(|row| metadata.blob(row.signature)).is_ok_and(|own| own == signature)
            };
            return methods.get(name)?.iter().find(is_it).map(|method| Callee::Own(*method));
        }
        // `Object`'s constructor does nothing. Accessors and operators take little time.
        let is_object = name == b".ctor" && is_object(metadata, row.class.token()?);
        let is_access = [&b"get_"[..], b"set_", b"op_"].iter().any(|start| name.starts_with(start));
        Some(if is_object || is_access && !self.waiting.have(metadata, &row) { Callee::Skipped } else { Callee::Other })
    }

    /// Whether a constructor is the default one that compilers generate, which only calls its base's.
    fn is_default_constructor(&self, row: &MethodDef, body: &MethodBody<'_>) -> bool {
        let name = |name| self.metadata.strings.string_bytes(name);
        // `instance void ()`
        let has_no_parameters = self.metadata.blob(row.signature).is_ok_and(|signature| signature == [0x20, 0x00, 0x01]);
        if !has_no_parameters || name(row.name) != Ok(b".ctor") {
            return false;
        }
        let mut instructions = body.instructions().map_while(Result::ok).filter(|it| it.opcode() != OpCode::Nop);
        let mut next = || instructions.next();
        let (first, call, last) = (next(), next(), next());
        let is = |instruction: &Option<ecma335::body::Instruction<'_>>, opcode| {
            instruction.as_ref().is_some_and(|instruction| instruction.opcode() == opcode)
        };
        is(&first, OpCode::Ldarg0) && is(&call, OpCode::Call) && is(&last, OpCode::Ret) && next().is_none()
    }
}

/// The body of a method, if it has at most `limit` bytes. Larger ones are not read.
fn short_body<'a>(image: &Image<'a>, row: &MethodDef, limit: u32) -> Option<MethodBody<'a>> {
    let cursor = image.cursor_at(Rva(row.rva)).ok()?;
    let header = cursor.rest();
    // A tiny header has the size in one byte, a fat one at offset 4 (II.25.4).
    let size = match *header.first()? {
        tiny if tiny & 3 == 2 => u32::from(tiny >> 2),
        _ => header.u32_at(4)?,
    };
    if size <= limit { MethodBody::parse(cursor).ok() } else { None }
}

/// The declaring type of a member, if it is in the module.
fn own_class(metadata: &Metadata<'_>, class: Token) -> Option<Rid<TypeDef>> {
    let Some(spec) = class.rid_in::<TypeSpec>() else { return class.rid_in() };
    let blob = metadata.blob(metadata.row(spec).ok()?.signature).ok()?;
    // An instantiation of a generic type begins with GENERICINST and CLASS or VALUETYPE.
    let (first, rest) = blob.split_first()?;
    let mut cursor = ecma335::Cursor::new(rest.get(1..)?, ecma335::FileOffset(0));
    let ty = TypeDefOrRef(cursor.compressed_u32().ok().filter(|_| *first == ElementType::GenericInst as u8)?);
    ty.token()?.rid_in()
}

fn is_object(metadata: &Metadata<'_>, class: Token) -> bool {
    class.rid_in().is_some_and(|class| metadata.type_ref_name(class).is_ok_and(|name| name == "System.Object"))
}
