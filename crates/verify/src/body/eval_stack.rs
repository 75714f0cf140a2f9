//! The evaluation stack at one place of a body, with the checks of its values (III.1.8.1.2).

use ecma335::Token;

use crate::{
    body::{stack_value::StackValue, tokens::TokenResolver},
    context::Context,
    rule::{Rule, rule},
    types::{
        assign,
        store::{Type, TypeId, Types},
        value_kind::ValueKind,
    },
};

/// The reason for not following a path further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// An instruction pops more values than the stack has.
    Underflow,
    /// An error was reported.
    Found,
}

/// The outcome of an instruction.
pub(crate) type Outcome = Result<(), Stop>;

/// The prefixes of an instruction (III.2) that change its effect on the stack.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Prefixes {
    /// The type of the `constrained.` prefix.
    pub(crate) constrained: Option<StackValue>,
    pub(crate) is_readonly: bool,
    pub(crate) is_tail: bool,
}

/// The stack at one place, with the context for its instructions.
pub(crate) struct EvalStack<'c> {
    pub(crate) context: &'c Context<'c>,
    pub(crate) tokens: &'c TokenResolver<'c>,
    pub(crate) values: Vec<StackValue>,
    /// The prefixes of the instruction.
    pub(crate) prefixes: Prefixes,
    /// The number of values that were assumed to fit, because only an absent assembly defines their types.
    pub(crate) assumed: usize,
    /// The type that declares the method.
    pub(crate) owner: u32,
    /// Whether `this` is initialized. In a constructor, that is after the call of another constructor.
    pub(crate) is_initialized: bool,
    /// Whether no address of `this` is taken. Through an address, another object could replace it.
    pub(crate) keeps_this: bool,
    pub(crate) token: Token,
    pub(crate) offset: u32,
    /// The unverifiable instructions of this body: the first for each rule, or all.
    pub(crate) findings: Vec<Unverifiable>,
}

/// An instruction that breaks a rule of verification.
pub(crate) struct Unverifiable {
    offset: u32,
    rule: &'static Rule,
    detail: String,
}

impl<'c> EvalStack<'c> {
    pub(crate) fn types(&self) -> &'c Types<'c> {
        &self.tokens.types
    }

    /// Whether types are checked, in addition to kinds.
    pub(crate) fn has_types(&self) -> bool {
        self.tokens.types.scope.is_some()
    }

    pub(crate) fn pop(&mut self) -> Result<StackValue, Stop> {
        self.values.pop().ok_or(Stop::Underflow)
    }

    pub(crate) fn push(&mut self, value: StackValue) {
        // The kind of a generic parameter is always unknown.
        self.assumed += usize::from(value.kind == ValueKind::Unknown && !self.types().is_parameter(value.ty));
        self.require_managed(value.ty);
        self.values.push(value);
    }

    fn require_managed(&mut self, ty: TypeId) {
        if self.types().is_pointer(ty) {
            self.unverifiable(rule!("III.3-a"), || "an unmanaged pointer".into());
        }
    }

    pub(crate) fn push_kind(&mut self, kind: ValueKind) {
        self.push(StackValue::of_kind(kind));
    }

    pub(crate) fn push_type(&mut self, kind: ValueKind, ty: TypeId) {
        self.push(StackValue::new(kind, ty));
    }

    /// Pops a value of a given kind.
    pub(crate) fn pop_kind(&mut self, wanted: ValueKind) -> Result<StackValue, Stop> {
        self.pop_where(|kind| kind.assignable_to(wanted), wanted.name())
    }

    /// Pops a value that has to meet a condition.
    pub(crate) fn pop_where(&mut self, is_well: impl FnOnce(ValueKind) -> bool, wanted: &str) -> Result<StackValue, Stop> {
        let value = self.pop()?;
        Ok(self.require_kind(value, is_well, wanted))
    }

    /// Checks that a value meets a condition and is initialized. Returns the value.
    pub(crate) fn require_kind(
        &mut self,
        value: StackValue,
        is_well: impl FnOnce(ValueKind) -> bool,
        wanted: &str,
    ) -> StackValue {
        if !is_well(value.kind) {
            self.unverifiable(rule!("III.1.5-b"), || format!("{} where {wanted} is needed", value.kind.name()));
        }
        if self.is_initialized { value } else { self.require_initialized(value) }
    }

    /// The class under construction, if a value is `this` before its constructor has called another (III.1.8.1.4).
    pub(crate) fn uninitialized_class(&self, value: StackValue) -> Option<TypeId> {
        match self.types().get(value.ty) {
            Type::Uninitialized(class) if !self.is_initialized => Some(class),
            _ => None,
        }
    }

    /// The value as an operand that must be an object. An uninitialized `this` gets an unknown type.
    #[cold]
    fn require_initialized(&mut self, value: StackValue) -> StackValue {
        let Some(class) = self.uninitialized_class(value) else { return value };
        self.uninitialized(class);
        StackValue::of_kind(value.kind)
    }

    /// Records a use of `this` before its constructor has called another.
    pub(crate) fn uninitialized(&mut self, class: TypeId) {
        let types = self.types();
        self.unverifiable(rule!("III.1.8.1.4-a"), || types.name(class));
    }

    /// Records a store through a controlled-mutability pointer, or its use as a mutable one.
    pub(crate) fn read_only(&mut self, value: StackValue) {
        let types = self.types();
        self.unverifiable(rule!("III.1.8.1.2.2-a"), || types.name(value.ty));
    }

    /// Pops a value that has to be assignable to another type.
    pub(crate) fn pop_into(&mut self, wanted: StackValue) -> Outcome {
        let value = self.pop_kind(wanted.kind)?;
        self.require_managed(wanted.ty);
        if value.kind.assignable_to(wanted.kind) {
            self.require_assignable(value, wanted);
        }
        Ok(())
    }

    /// III.1.8.1.2.3: a value's type has to be assignable to the expected one.
    pub(crate) fn require_assignable(&mut self, value: StackValue, wanted: StackValue) {
        if !self.has_types() {
            return;
        }
        let mixes =
            matches!((value.kind, wanted.kind), (ValueKind::Native, ValueKind::Ref) | (ValueKind::Ref, ValueKind::Native));
        // The kind alone determines a number.
        let is_number =
            |kind: ValueKind| matches!(kind, ValueKind::Int32 | ValueKind::Int64 | ValueKind::Native | ValueKind::Float);
        if is_number(value.kind) && is_number(wanted.kind) {
            return;
        }
        // A computed number has the type of its kind.
        let from = match value.kind.element() {
            Some(element) if value.ty == TypeId::UNKNOWN => self.types().intern(Type::Primitive(element)),
            _ => value.ty,
        };
        match assign::assignable(self.types(), from, wanted.ty) {
            _ if mixes => self.unverifiable(rule!("III.1.8.1.2-a"), || mismatch(value.kind.name(), wanted.kind.name())),
            Some(true) => {}
            Some(false) if assign::is_read_only(self.types(), value.ty, wanted.ty) => {
                self.read_only(value);
            }
            Some(false) => {
                let types = self.types();
                self.unverifiable(rule!("III.1.8.1.2-a"), || mismatch(&types.name(from), &types.name(wanted.ty)));
            }
            None => self.assumed += 1,
        }
    }

    /// Records an error of the instruction.
    pub(crate) fn error(&self, rule: &'static Rule, detail: impl std::fmt::Display) -> Stop {
        self.context.report_at(rule, self.token, self.offset, detail);
        Stop::Found
    }

    /// Records an instruction that cannot be proved type-safe.
    pub(crate) fn unverifiable(&mut self, rule: &'static Rule, detail: impl FnOnce() -> String) {
        if !self.context.wants(rule) {
            return;
        }
        let said = self.findings.iter_mut().find(|finding| finding.rule == rule);
        match said.filter(|_| !self.context.options.every) {
            Some(said) if said.offset <= self.offset => {}
            Some(said) => *said = Unverifiable { offset: self.offset, rule, detail: detail() },
            None => self.findings.push(Unverifiable { offset: self.offset, rule, detail: detail() }),
        }
    }

    /// Reports the unverifiable instructions, in the order of the IL.
    pub(crate) fn report_unverifiable(&mut self) {
        let mut findings = std::mem::take(&mut self.findings);
        findings.sort_by_key(|finding| (finding.offset, finding.rule.number));
        findings.dedup_by_key(|finding| (finding.offset, finding.rule.number));
        for finding in findings {
            self.context.report_at(finding.rule, self.token, finding.offset, finding.detail);
        }
    }
}

fn mismatch(is: &str, wanted: &str) -> String {
    format!("{is} where {wanted} is needed")
}
