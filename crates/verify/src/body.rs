//! Method bodies (II.25.4): headers, exception clauses, instructions; then where control goes and what is on the stack.

pub(crate) mod control_flow;
pub(crate) mod dataflow;
pub(crate) mod delegates;
pub(crate) mod eval_stack;
pub(crate) mod instructions;
pub(crate) mod object_model;
pub(crate) mod read_only;
pub(crate) mod regions;
pub(crate) mod stack_value;
pub(crate) mod this_init;
pub(crate) mod token_use;
pub(crate) mod tokens;

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use ecma335::{
    ErrorKind, MethodBody, OpCode, Rva, Table, Token,
    body::ClauseKind,
    element::convention,
    opcode::{OpCodeInfo, Operand},
    schema::MethodDef,
    signature::Signature,
};

use crate::{
    body::{
        dataflow::Walk,
        regions::{handler, protected},
        stack_value::{Kind, Value},
        tokens::{Call, Callees},
    },
    context::Context,
    model::at,
    report::Report,
    rule::rule,
    signatures,
    types::{
        constraints::{self, Within},
        store::{Arguments, Type, TypeId},
    },
};

/// Arguments, and what is returned.
type Taken = (Vec<Value>, Option<Value>);

/// An instruction, decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) info: &'static OpCodeInfo,
    pub(crate) offset: u32,
    /// The target of a branch, a token, a constant, or where a switch's targets start.
    pub(crate) operand: u32,
}

/// The instructions of a body.
#[derive(Default, Debug)]
pub(crate) struct Code {
    pub(crate) steps: Vec<Step>,
    /// By IL offset, the end too: the number of the instruction there, from 1.
    by_offset: Vec<u32>,
    /// Counts, each with as many targets behind it.
    switches: Vec<u32>,
    /// Where no opcode of the standard stands. Runtimes mind only if a path comes there.
    bad: Vec<u32>,
    pub(crate) size: u32,
}

/// A method, as its body sees it.
pub(crate) struct Method<'b> {
    pub(crate) token: Token,
    /// The type that has it.
    pub(crate) owner: u32,
    pub(crate) args: Vec<Value>,
    pub(crate) locals: std::rc::Rc<[Value]>,
    pub(crate) returned: Option<Value>,
    /// The class whose constructor it is, if that has another to call.
    pub(crate) constructs: Option<TypeId>,
    pub(crate) body: &'b MethodBody<'b>,
}

/// How many methods a thread takes at a time.
const SHARE: usize = 128;

pub(crate) fn check(context: &Context<'_, '_>) {
    let count = context.model.methods.len();
    let (image, metadata, model, options) = (context.image, context.metadata, context.model, context.options);
    let scope = context.scope;
    let workers = options.threads.min(count.div_ceil(SHARE));
    if workers <= 1 {
        return check_range(context, &Callees::new(context), 0..count);
    }
    let next = AtomicUsize::new(0);
    let reports: Mutex<BTreeMap<usize, Report>> = Mutex::default();
    let work = || {
        let context = Context::new(image, metadata, model, &options, scope);
        let callees = Callees::new(&context);
        loop {
            let start = next.fetch_add(SHARE, Ordering::Relaxed);
            if start >= count {
                break;
            }
            check_range(&context, &callees, start..count.min(start + SHARE));
            reports.lock().unwrap_or_else(PoisonError::into_inner).insert(start, context.take_report());
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    // In the order of the methods, whoever checked them.
    reports.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().for_each(|report| context.absorb(report));
}

/// Checks some methods, by their row numbers less one.
fn check_range(context: &Context<'_, '_>, callees: &Callees<'_, '_, '_>, range: Range<usize>) {
    let mut code = Code::default();
    let mut walk = Walk::new(context, callees);
    if range.start == 0 {
        constraints::check_declarations(callees, context);
    }
    let rids = range.start as u32 + 1..;
    for (row, rid) in context.model.methods.get(range).unwrap_or_default().iter().zip(rids) {
        if !row.has_il_body() {
            continue;
        }
        let token = Token::new(Table::MethodDef, rid);
        context.count_body();
        let body = match context.image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse) {
            Ok(body) => body,
            Err(error) => {
                context.find(rule!("II.25.4-a"), token, error);
                continue;
            }
        };
        context.expect(body.is_tiny || row.rva % 4 == 0, rule!("II.25.4-b"), token);
        let locals = callees.locals(body.local_var_sig);
        if locals.is_none() {
            context.find(rule!("II.25.4.4-a"), token, body.local_var_sig);
        }
        if let Err((offset, error)) = code.read(&body) {
            context.find_at(rule!("III.1.2-a"), token, offset, error);
            continue;
        }
        let is_sound = check_clauses(context, token, &body, &code);
        let (Some(locals), Some((args, returned))) = (locals, arguments(callees, context, token, row, &code)) else {
            continue;
        };
        if is_sound {
            control_flow::check(context, token, &body, &code);
            let constructs = constructed(callees, context, token, row);
            let owner = at(&context.model.method_owners, rid).unwrap_or(0);
            let within = Within { owner, method: token };
            if context.scope.is_some() {
                constraints::check_values(callees, context, within, args.iter().chain(&returned).chain(locals.iter()));
            }
            walk.run(&Method { token, owner, args, locals, returned, constructs, body: &body }, &code);
            context.count_assumed(walk.assumed());
        }
    }
}

/// What a method's arguments are, with `this`, and what its `ret` takes along.
fn arguments(
    callees: &Callees<'_, '_, '_>,
    context: &Context<'_, '_>,
    token: Token,
    row: &MethodDef,
    code: &Code,
) -> Option<Taken> {
    let Ok(Signature::Method(signature)) = signatures::parse(context, row.signature) else { return None };
    let rid = at(&context.model.method_owners, token.rid())?;
    let owner = callees.own(rid);
    let call = Call::new(callees, &signature, owner, Arguments::default());
    let mut args = call.params;
    if signature.convention & (convention::HAS_THIS | convention::EXPLICIT_THIS) == convention::HAS_THIS {
        let is_value = context.model.kind(rid).is_value();
        let by_ref = || Value::new(Kind::Ref, callees.types.put(Type::ByRef(owner.ty)));
        let this = if is_value { by_ref() } else { Value { kind: Kind::Object, ..owner } };
        args.insert(0, Value { is_this: context.scope.is_some() && !code.overwrites_this(), ..this });
    }
    Some((args, if row.is_async() { Call::async_return(callees, &signature.return_type) } else { call.returned }))
}

/// III.1.8.1.4: the class that a method is a constructor of; none for value types and the root of all classes.
fn constructed(callees: &Callees<'_, '_, '_>, context: &Context<'_, '_>, token: Token, row: &MethodDef) -> Option<TypeId> {
    let is_constructor = context.scope.is_some() && !row.is_static() && context.name(row.name) == b".ctor";
    let rid = at(&context.model.method_owners, token.rid()).filter(|_| is_constructor)?;
    let ty = callees.own(rid).ty;
    (!context.model.kind(rid).is_value() && callees.types.base(ty).is_some()).then_some(ty)
}

impl Code {
    /// Decodes a body; where it cannot be, and why.
    fn read(&mut self, body: &MethodBody<'_>) -> Result<(), (u32, String)> {
        self.steps.clear();
        self.switches.clear();
        self.bad.clear();
        self.by_offset.clear();
        self.by_offset.resize(body.il.len() + 1, 0);
        self.size = body.il.len() as u32;
        let mut start = 0;
        while let Err((offset, error)) = self.read_from(body, start) {
            let ErrorKind::BadOpCode(number) = error else { return Err((offset, error.to_string())) };
            // It stands for itself alone, as a `nop` would.
            self.bad.push(offset);
            self.put(Step { info: OpCode::Nop.info(), offset, operand: 0 });
            start = offset + if number > 0xFF { 2 } else { 1 };
        }
        if let Some(slot) = self.by_offset.last_mut() {
            *slot = self.steps.len() as u32 + 1;
        }
        Ok(())
    }

    /// Decodes from an offset on, up to the first instruction that cannot be.
    fn read_from(&mut self, body: &MethodBody<'_>, start: u32) -> Result<(), (u32, ErrorKind)> {
        let mut end = start;
        for instruction in body.instructions_from(start) {
            let instruction = instruction.map_err(|error| (end, error.kind().clone()))?;
            end = instruction.end();
            let operand = match instruction.info.operand {
                Operand::Branch | Operand::BranchS => instruction.branch_target().unwrap_or(u32::MAX),
                Operand::Switch => {
                    let start = self.switches.len();
                    let targets = instruction.switch_targets();
                    self.switches.push(targets.len() as u32);
                    self.switches.extend(targets);
                    start as u32
                }
                _ => instruction.value() as u32,
            };
            self.put(Step { info: instruction.info, offset: instruction.offset, operand });
        }
        Ok(())
    }

    fn put(&mut self, step: Step) {
        self.steps.push(step);
        if let Some(slot) = self.by_offset.get_mut(step.offset as usize) {
            *slot = self.steps.len() as u32;
        }
    }

    /// Whether argument 0 is stored to.
    fn overwrites_this(&self) -> bool {
        let is_store = |step: &Step| matches!(step.info.opcode, OpCode::StargS | OpCode::Starg);
        self.steps.iter().any(|step| is_store(step) && step.operand == 0)
    }

    /// Where no opcode of the standard stands.
    pub(crate) fn bad(&self) -> &[u32] {
        &self.bad
    }

    /// The index of the instruction at an offset.
    pub(crate) fn at(&self, offset: u32) -> Option<usize> {
        let index = (*self.by_offset.get(offset as usize)? as usize).checked_sub(1)?;
        (index < self.steps.len()).then_some(index)
    }

    /// Whether an instruction starts at an offset, or it is the end.
    fn is_place(&self, offset: u32) -> bool {
        self.by_offset.get(offset as usize).is_some_and(|index| *index > 0)
    }

    /// Where a branch or switch leads.
    pub(crate) fn targets<'s>(&'s self, step: &'s Step) -> &'s [u32] {
        match step.info.operand {
            Operand::Branch | Operand::BranchS => std::slice::from_ref(&step.operand),
            Operand::Switch => {
                let start = step.operand as usize;
                let count = self.switches.get(start).copied().unwrap_or(0) as usize;
                self.switches.get(start + 1..start + 1 + count).unwrap_or_default()
            }
            _ => &[],
        }
    }
}

/// II.25.4.6, I.12.4.2: clauses lead to instructions and nest, inner ones first. Whether all is well.
fn check_clauses(context: &Context<'_, '_>, token: Token, body: &MethodBody<'_>, code: &Code) -> bool {
    let mut is_sound = true;
    for (number, clause) in body.clauses.iter().enumerate() {
        let ranges = [protected(clause), handler(clause)];
        if ranges.iter().any(|(start, end)| start >= end || !code.is_place(*start) || !code.is_place(*end)) {
            context.find(rule!("II.25.4.6-a"), token, format_args!("clause {number}"));
            return false;
        }
        match clause.kind {
            ClauseKind::Catch(class) => {
                let is_type = matches!(class.table(), Some(Table::TypeDef | Table::TypeRef | Table::TypeSpec));
                if !is_type || !context.is_row(class) {
                    context.find(rule!("II.25.4.6-b"), token, format_args!("clause {number}: {class}"));
                }
            }
            ClauseKind::Filter(filter) if filter >= clause.handler_offset || !code.is_place(clause.handler_offset) => {
                context.find(rule!("II.25.4.6-c"), token, format_args!("clause {number}"));
                return false;
            }
            _ => {}
        }
    }
    for number in regions::misplaced(&body.clauses) {
        context.find(rule!("I.12.4.2-a"), token, format_args!("clause {number}"));
        is_sound = false;
    }
    is_sound
}
