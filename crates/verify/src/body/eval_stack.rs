//! The stack at one place of a body, and what is asked of the values on it (III.1.8.1.2).

use ecma335::Token;

use crate::{
    body::{
        read_only,
        stack_value::{Kind, Value},
        this_init,
        tokens::Callees,
    },
    context::Context,
    rule::{Rule, rule},
    types::store::{TypeId, Types},
};

/// Why a path is not followed further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// An instruction takes more than there is.
    Underflow,
    /// A finding says it.
    Found,
}

/// The stack at one place, and what its instructions may ask for.
pub(crate) struct Machine<'a, 'm, 'c> {
    pub(crate) context: &'c Context<'a, 'm>,
    pub(crate) callees: &'c Callees<'a, 'm, 'c>,
    pub(crate) stack: Vec<Value>,
    /// The type that a `constrained.` prefix names, for the instruction behind.
    pub(crate) constrained: Option<Value>,
    /// Whether a `readonly.` prefix stands before the instruction.
    pub(crate) is_readonly: bool,
    pub(crate) assumed: usize,
    /// The type whose code it is.
    pub(crate) user: u32,
    /// Whether `this` can be used; in a constructor, once it has called another.
    pub(crate) is_initialized: bool,
    pub(crate) token: Token,
    pub(crate) offset: u32,
    /// What is not provably safe in this body: the first instruction of each rule, or all.
    pub(crate) doubts: Vec<Doubt>,
}

/// An instruction that breaks a rule of verification.
pub(crate) struct Doubt {
    offset: u32,
    rule: &'static Rule,
    detail: String,
}

impl<'m, 'c> Machine<'_, 'm, 'c> {
    pub(crate) fn types(&self) -> &'c Types<'m> {
        &self.callees.types
    }

    /// Whether types are checked, not kinds alone.
    pub(crate) fn has_types(&self) -> bool {
        self.callees.types.scope.is_some()
    }

    pub(crate) fn pop(&mut self) -> Result<Value, Stop> {
        self.stack.pop().ok_or(Stop::Underflow)
    }

    pub(crate) fn push(&mut self, value: Value) {
        // A generic parameter's kind is unknown by its nature.
        self.assumed += usize::from(value.kind == Kind::Unknown && !self.types().is_parameter(value.ty));
        self.doubt_pointer(value.ty);
        self.stack.push(value);
    }

    fn doubt_pointer(&mut self, ty: TypeId) {
        if self.types().is_pointer(ty) {
            self.doubt(rule!("III.3-a"), || "an unmanaged pointer".into());
        }
    }

    pub(crate) fn push_kind(&mut self, kind: Kind) {
        self.push(Value::of(kind));
    }

    pub(crate) fn push_type(&mut self, kind: Kind, ty: TypeId) {
        self.push(Value::new(kind, ty));
    }

    /// Takes a value that has to be of a kind.
    pub(crate) fn pop_kind(&mut self, wanted: Kind) -> Result<Value, Stop> {
        self.pop_where(|kind| kind.fits(wanted), wanted.name())
    }

    /// Takes a value that has to be as told.
    pub(crate) fn pop_where(&mut self, is_well: impl FnOnce(Kind) -> bool, wanted: &str) -> Result<Value, Stop> {
        let value = self.pop()?;
        Ok(self.expect_kind(value, is_well, wanted))
    }

    /// The value, which has to be as told, and to be initialized.
    pub(crate) fn expect_kind(&mut self, value: Value, is_well: impl FnOnce(Kind) -> bool, wanted: &str) -> Value {
        if !is_well(value.kind) {
            self.doubt(rule!("III.1.5-b"), || format!("{} where {wanted} is needed", value.kind.name()));
        }
        if self.is_initialized { value } else { this_init::expect_initialized(self, value) }
    }

    /// Takes a value that goes where another is wanted.
    pub(crate) fn pop_into(&mut self, wanted: Value) -> Result<(), Stop> {
        let value = self.pop_kind(wanted.kind)?;
        self.doubt_pointer(wanted.ty);
        if value.kind.fits(wanted.kind) {
            self.expect_type(value, wanted);
        }
        Ok(())
    }

    /// III.1.8.1.2.3: a value's type is assignable to what is wanted.
    pub(crate) fn expect_type(&mut self, value: Value, wanted: Value) {
        if !self.has_types() {
            return;
        }
        let mixes = matches!((value.kind, wanted.kind), (Kind::Native, Kind::Ref) | (Kind::Ref, Kind::Native));
        // Of numbers the kind says all.
        let is_number = |kind: Kind| matches!(kind, Kind::Int32 | Kind::Int64 | Kind::Native | Kind::Float);
        if is_number(value.kind) && is_number(wanted.kind) {
            return;
        }
        match self.types().fits(value.ty, wanted.ty) {
            _ if mixes => self.doubt(rule!("III.1.8.1.2-a"), || mismatch(value.kind.name(), wanted.kind.name())),
            Some(true) => {}
            Some(false) if self.types().is_read_only(value.ty, wanted.ty) => {
                read_only::doubt(self, value);
            }
            Some(false) => {
                let types = self.types();
                self.doubt(rule!("III.1.8.1.2-a"), || mismatch(&types.name(value.ty), &types.name(wanted.ty)));
            }
            None => self.assumed += 1,
        }
    }

    /// Notes an error of the instruction.
    pub(crate) fn error(&self, rule: &'static Rule, detail: impl std::fmt::Display) -> Stop {
        self.context.find_at(rule, self.token, self.offset, detail);
        Stop::Found
    }

    /// Notes what is not provably safe.
    pub(crate) fn doubt(&mut self, rule: &'static Rule, detail: impl FnOnce() -> String) {
        if !self.context.wants(rule) {
            return;
        }
        let said = self.doubts.iter_mut().find(|doubt| doubt.rule == rule);
        match said.filter(|_| !self.context.options.every) {
            Some(said) if said.offset <= self.offset => {}
            Some(said) => *said = Doubt { offset: self.offset, rule, detail: detail() },
            None => self.doubts.push(Doubt { offset: self.offset, rule, detail: detail() }),
        }
    }

    /// Says what was doubted, in the order of the IL.
    pub(crate) fn say_doubts(&mut self) {
        let mut doubts = std::mem::take(&mut self.doubts);
        doubts.sort_by_key(|doubt| (doubt.offset, doubt.rule.number));
        doubts.dedup_by_key(|doubt| (doubt.offset, doubt.rule.number));
        for doubt in doubts {
            self.context.find_at(doubt.rule, self.token, doubt.offset, doubt.detail);
        }
    }
}

fn mismatch(is: &str, wanted: &str) -> String {
    format!("{is} where {wanted} is needed")
}
