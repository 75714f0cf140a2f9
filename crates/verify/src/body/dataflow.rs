//! The evaluation stack along every path of a body (III.1.7.5, III.1.8.1).

use ecma335::{
    OpCode, Token,
    body::{Clause, ClauseKind},
    opcode::Flow,
};

use crate::{
    body::{
        code::{Code, Instruction},
        eval_stack::{EvalStack, Prefixes, Stop},
        instructions,
        method::Method,
        stack_value::StackValue,
        tokens::TokenResolver,
    },
    context::Context,
    rule::rule,
    types::{merge, resolve, value_kind::ValueKind},
};

/// The place of an instruction's stack in the arena, and whether `this` is initialized. `None` if no path has reached it.
type State = Option<(usize, usize, bool)>;

/// Follows the paths of bodies, one body after another. It reuses its buffers.
pub(crate) struct Dataflow<'c> {
    stack: EvalStack<'c>,
    states: Vec<State>,
    arena: Vec<StackValue>,
    work: Vec<usize>,
    /// In a constructor, the starts of protected blocks and of their handlers.
    handlers: Vec<(u32, u32)>,
    /// The starts of protected blocks, sorted.
    blocks: Vec<u32>,
}

impl<'c> Dataflow<'c> {
    pub(crate) fn new(context: &'c Context<'c>, tokens: &'c TokenResolver<'c>) -> Self {
        let stack = EvalStack {
            context,
            tokens,
            values: Vec::new(),
            prefixes: Prefixes::default(),
            assumed: 0,
            owner: 0,
            is_initialized: true,
            keeps_this: true,
            token: Token::default(),
            offset: 0,
            findings: Vec::new(),
        };
        Self { stack, states: Vec::new(), arena: Vec::new(), work: Vec::new(), handlers: Vec::new(), blocks: Vec::new() }
    }

    /// The number of values in the last body that were assumed to fit.
    pub(crate) fn assumed(&self) -> usize {
        self.stack.assumed
    }

    /// Follows every path from the entry, and from each handler.
    pub(crate) fn run(&mut self, method: &Method<'_>, code: &Code) {
        self.stack.token = method.token;
        self.stack.owner = method.owner;
        self.stack.keeps_this = !code.takes_address_of_this();
        self.stack.assumed = 0;
        self.stack.findings.clear();
        self.states.clear();
        self.states.resize(code.instructions.len(), None);
        self.arena.clear();
        self.work.clear();
        if code.instructions.is_empty() {
            self.stack.offset = 0;
            self.stack.error(rule!("III.1.7.1-a"), "there are no instructions");
            return;
        }
        self.stack.is_initialized = true;
        self.handlers.clear();
        for clause in &method.body.clauses {
            if method.constructs.is_some() {
                let filter = if let ClauseKind::Filter(filter) = clause.kind { Some(filter) } else { None };
                self.handlers.extend(filter.iter().chain([&clause.handler_offset]).map(|start| (clause.try_offset, *start)));
            }
            // The exception object is on the stack of filters and catch handlers (III.1.7.5).
            let tokens = self.stack.tokens;
            let object = || StackValue::new(ValueKind::Object, resolve::system(&tokens.types, "Object"));
            match clause.kind {
                ClauseKind::Catch(class) => {
                    let caught = StackValue { kind: ValueKind::Object, ..tokens.value_of_token(class) };
                    self.enter(code, clause.handler_offset, Some(caught));
                }
                ClauseKind::Filter(filter) => {
                    self.enter(code, clause.handler_offset, Some(object()));
                    self.enter(code, filter, Some(object()));
                }
                ClauseKind::Finally | ClauseKind::Fault => self.enter(code, clause.handler_offset, None),
            }
        }
        self.handlers.sort_unstable();
        self.blocks.clear();
        self.blocks.extend(method.body.clauses.iter().map(|clause| clause.try_offset));
        self.blocks.sort_unstable();
        self.stack.is_initialized = method.constructs.is_none();
        self.enter(code, 0, None);
        let is_sound = self.follow_all(method, code).is_ok();
        self.check_backward_branches(method, code);
        self.stack.report_unverifiable();
        if !is_sound {
            return;
        }
        for offset in code.bad() {
            self.stack.offset = *offset;
            self.stack.error(rule!("III.1.2-b"), "");
        }
    }

    fn follow_all(&mut self, method: &Method<'_>, code: &Code) -> Result<(), Stop> {
        while let Some(start) = self.work.pop() {
            self.follow(method, code, start)?;
        }
        Ok(())
    }

    /// Starts a path with an empty stack, or with an exception.
    fn enter(&mut self, code: &Code, offset: u32, exception: Option<StackValue>) {
        self.stack.offset = offset;
        self.stack.values.clear();
        self.stack.values.extend(exception);
        let _ = self.reach(code, offset);
    }

    /// Follows a path until it ends, or joins an earlier one.
    fn follow(&mut self, method: &Method<'_>, code: &Code, start: usize) -> Result<(), Stop> {
        let state = self.states.get(start).copied().flatten().unwrap_or_default();
        self.stack.values.clear();
        self.stack.values.extend_from_slice(self.arena.get(state.0..state.0 + state.1).unwrap_or_default());
        self.stack.is_initialized = state.2;
        let mut index = start;
        while let Some(instruction) = code.instructions.get(index) {
            self.stack.offset = instruction.offset;
            if code.bad().binary_search(&instruction.offset).is_ok() {
                return Err(self.stack.error(rule!("III.1.2-a"), "no opcode"));
            }
            if !self.stack.is_initialized {
                self.enter_handlers(code, instruction.offset);
            }
            let before = self.stack.values.len();
            if before > 0 && self.blocks.binary_search(&instruction.offset).is_ok() {
                return Err(self.stack.error(rule!("III.1.7.5-d"), format_args!("{before} values")));
            }
            match instructions::apply(&mut self.stack, method, code, index) {
                Ok(()) => {}
                Err(Stop::Underflow) => {
                    return Err(self
                        .stack
                        .error(rule!("III.1.7.5-b"), format_args!("{} with {before} on the stack", instruction.info.name)));
                }
                Err(stop) => return Err(stop),
            }
            let depth = self.stack.values.len();
            if depth > usize::from(method.body.max_stack) {
                let detail = format_args!("{depth} of {}", method.body.max_stack);
                return Err(self.stack.error(rule!("III.1.7.4-a"), detail));
            }
            self.branch(code, instruction)?;
            if !instruction.info.flow.falls_through() {
                return Ok(());
            }
            index += 1;
            // Another rule checks the end of the body, for unreachable code too.
            let Some(next) = code.instructions.get(index) else { return Err(Stop::Found) };
            if self.states.get(index).copied().flatten().is_some() {
                return self.reach(code, next.offset);
            }
            self.note(index);
        }
        Ok(())
    }

    fn branch(&mut self, code: &Code, instruction: &Instruction) -> Result<(), Stop> {
        if matches!(instruction.info.opcode, OpCode::Leave | OpCode::LeaveS) {
            self.stack.values.clear();
        }
        if instruction.info.flow == Flow::Next {
            return Ok(());
        }
        code.targets(instruction).iter().try_for_each(|target| self.reach(code, *target))
    }

    /// Records the stack for an instruction.
    fn note(&mut self, index: usize) {
        let start = self.arena.len();
        self.arena.extend_from_slice(&self.stack.values);
        if let Some(state) = self.states.get_mut(index) {
            *state = Some((start, self.stack.values.len(), self.stack.is_initialized));
        }
    }

    /// III.1.7.5: a forward pass over the code determines the stack at each place.
    fn check_backward_branches(&mut self, method: &Method<'_>, code: &Code) {
        if !code.branches_back {
            return;
        }
        let behind = code.instructions.windows(2).zip(1..);
        for (pair, index) in behind {
            let [before, instruction] = pair else { continue };
            if before.info.flow.falls_through() || code.is_forward_target(instruction.offset) {
                continue;
            }
            let depth = self.states.get(index).copied().flatten().map_or(0, |state| state.1);
            let handles = |clause: &Clause| match clause.kind {
                ClauseKind::Filter(filter) if filter == instruction.offset => true,
                _ => clause.handler_offset == instruction.offset,
            };
            if depth > 0 && !method.body.clauses.iter().any(handles) {
                self.stack.offset = instruction.offset;
                self.stack.unverifiable(rule!("III.1.7.5-e"), || format!("{depth} values"));
            }
        }
    }

    /// If `this` is not initialized at the start of a protected block, it may be uninitialized in the handlers.
    fn enter_handlers(&mut self, code: &Code, offset: u32) {
        let first = self.handlers.partition_point(|(start, _)| *start < offset);
        let of_block = self.handlers.iter().skip(first).take_while(|(start, _)| *start == offset);
        for index in of_block.filter_map(|(_, handler)| code.at(*handler)) {
            if let Some(Some((.., is_initialized @ true))) = self.states.get_mut(index) {
                *is_initialized = false;
                self.work.push(index);
            }
        }
    }

    /// Reaches an offset with the current stack.
    fn reach(&mut self, code: &Code, offset: u32) -> Result<(), Stop> {
        // Another rule reports a target that is not an instruction.
        let Some(index) = code.at(offset) else { return Ok(()) };
        let Some((start, depth, was_initialized)) = self.states.get(index).copied().flatten() else {
            self.note(index);
            self.work.push(index);
            return Ok(());
        };
        let stack = &mut self.stack;
        if depth != stack.values.len() {
            let detail = format_args!("{depth} or {} at IL_{offset:04x}", stack.values.len());
            return Err(stack.error(rule!("III.1.7.5-a"), detail));
        }
        let mut is_wider = was_initialized && !stack.is_initialized;
        if let (true, Some(Some(state))) = (is_wider, self.states.get_mut(index)) {
            state.2 = false;
        }
        for number in 0..depth {
            let (Some(known), Some(new)) = (self.arena.get_mut(start + number), stack.values.get(number).copied()) else {
                break;
            };
            match merge(stack, *known, new) {
                Some(merged) => {
                    is_wider |= merged != *known;
                    *known = merged;
                }
                None => {
                    let known = *known;
                    let tokens = stack.tokens;
                    stack.unverifiable(rule!("III.1.8.1.3-a"), || {
                        let (known, new) = describe(tokens, known, new);
                        format!("{known} or {new} at IL_{offset:04x}")
                    });
                }
            }
        }
        if is_wider {
            self.work.push(index);
        }
        Ok(())
    }
}

/// The merged value of two paths. `None` if there is none.
fn merge(stack: &EvalStack<'_>, known: StackValue, new: StackValue) -> Option<StackValue> {
    if known == new {
        return Some(known);
    }
    let kind = match (known.kind, new.kind) {
        (one, other) if one == other => one,
        (ValueKind::Unknown, _) | (_, ValueKind::Unknown) => ValueKind::Unknown,
        // Each can be used as the other, but they are different types.
        (ValueKind::Int32, ValueKind::Native) | (ValueKind::Native, ValueKind::Int32) if stack.has_types() => return None,
        (one, other) if one.assignable_to(other) || other.assignable_to(one) => one,
        _ => return None,
    };
    Some(StackValue {
        kind,
        ty: merge::merge(stack.types(), known.ty, new.ty)?,
        is_this: known.is_this && new.is_this,
        is_of_frame: known.is_of_frame || new.is_of_frame,
    })
}

fn describe(tokens: &TokenResolver<'_>, known: StackValue, new: StackValue) -> (String, String) {
    if known.kind != new.kind {
        return (known.kind.name().into(), new.kind.name().into());
    }
    (tokens.types.name(known.ty), tokens.types.name(new.ty))
}
