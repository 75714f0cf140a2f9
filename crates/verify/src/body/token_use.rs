//! What an instruction names: each is looked at once, and what is left to ask of each place is kept.

use std::rc::Rc;

use ecma335::{
    Table, Token,
    flags::method_attributes,
    opcode::Operand,
    schema::{MemberRef, MethodSpec},
    signature::Signature,
};

use crate::{
    body::{Step, eval_stack::Machine, tokens::Callees},
    model::at,
    rule::rule,
    signatures,
    types::{
        access::{self, Need},
        constraints::{Instance, Within},
        library::Def,
        store::TypeId,
    },
};

/// What has to be right for a type or member to be used.
#[derive(Default, Debug)]
pub(crate) struct Use {
    pub(crate) needs: Vec<Need>,
    pub(crate) instances: Vec<Instance>,
}

/// Checks what an instruction names, before it takes its operands.
pub(crate) fn check(machine: &mut Machine<'_, '_, '_>, step: &Step) {
    if !matches!(step.info.operand, Operand::Method | Operand::Field | Operand::Type | Operand::Token) {
        return;
    }
    let token = Token(step.operand);
    let Some(used) = machine.callees.used(token) else { return };
    access::check(machine, step, &used.needs);
    let within = Within { owner: machine.user, method: machine.token };
    let types = machine.types();
    if let Some(broken) = used.instances.iter().find_map(|instance| types.broken(within, instance)) {
        machine.doubt(rule!("II.10.1.7-a"), || broken);
    }
}

impl Callees<'_, '_, '_> {
    /// What is to be asked of a token's use; none if it is right anywhere.
    fn used(&self, token: Token) -> Option<Rc<Use>> {
        if let Some(known) = self.uses.borrow().get(&token) {
            return known.clone();
        }
        let mut found = Use::default();
        let _ = self.find_use(token, &mut found);
        let is_free = found.needs.is_empty() && found.instances.is_empty();
        let found = (!is_free).then(|| Rc::new(found));
        self.uses.borrow_mut().insert(token, found.clone());
        found
    }

    fn find_use(&self, token: Token, found: &mut Use) -> Option<()> {
        let context = self.context;
        match token.table()? {
            Table::MethodDef | Table::Field => {
                let (rid, flags) = match token.table()? {
                    Table::MethodDef => {
                        (at(&context.model.method_owners, token.rid())?, at(&context.model.methods, token.rid())?.flags)
                    }
                    _ => (at(&context.model.field_owners, token.rid())?, at(&context.model.fields, token.rid())?.flags),
                };
                let def = Def { module: self.types.scope?.module, rid };
                self.types.need(Need::of_member(def, flags), &mut found.needs);
                self.types.needs_of(self.types.own(rid), &mut found.needs);
            }
            Table::MemberRef => {
                let class = context.metadata.row(token.rid_in::<MemberRef>()?).ok()?.class.token()?;
                if class.table() == Some(Table::MethodDef) {
                    return self.find_use(class, found);
                }
                let owner = self.owner(token)?.ty;
                self.use_type(owner, found);
                let field = || match self.signature(token)? {
                    Signature::Field(signature) => self.types.find_field(owner, self.name(token), &signature),
                    _ => None,
                };
                let method = self.method(token).map(|(def, _, flags)| (def, flags));
                let (def, flags) = method.or_else(|| field().map(|(def, row)| (def, row.flags)))?;
                self.types.need(Need::of_member(def, flags), &mut found.needs);
            }
            Table::MethodSpec => self.use_instance(token, found)?,
            _ => self.use_type(self.value_of_token(token).ty, found),
        }
        Some(())
    }

    fn use_type(&self, id: TypeId, found: &mut Use) {
        self.types.needs_of(id, &mut found.needs);
        found.instances.extend(self.types.instances(id).iter().cloned());
    }

    /// A generic method with its arguments.
    fn use_instance(&self, token: Token, found: &mut Use) -> Option<()> {
        let row = self.context.metadata.row(token.rid_in::<MethodSpec>()?).ok()?;
        let of = row.method.token().filter(|of| of.table() != Some(Table::MethodSpec))?;
        let Ok(Signature::MethodSpec(list)) = signatures::parse(self.context, row.instantiation) else { return None };
        let ids = self.ids(&list);
        ids.iter().for_each(|id| self.use_type(*id, found));
        self.find_use(of, found)?;
        let (def, rid, _) = self.method(of)?;
        let instance = Instance::of_method(def.module, rid, self.arguments_of(self.owner(of)?.ty), ids.into());
        self.types.put_instance(instance, &mut found.instances);
        Some(())
    }
}

impl Need {
    fn of_member(def: Def, flags: u16) -> Self {
        Self { def, access: flags & method_attributes::ACCESS_MASK, is_instance: flags & method_attributes::STATIC == 0 }
    }
}
