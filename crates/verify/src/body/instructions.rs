//! What each instruction takes and gives (III.1.5, III.3, III.4).

use ecma335::{OpCode, Table, Token, opcode::Operand};

use crate::{
    body::{
        Code, Method, Step, delegates,
        eval_stack::{Machine, Stop},
        object_model,
        stack_value::{Kind, Value},
        this_init, token_use,
    },
    rule::rule,
    types::store::Type,
};

pub(crate) type Outcome = Result<(), Stop>;

/// Applies one instruction to the stack.
pub(crate) fn apply(machine: &mut Machine<'_, '_, '_>, method: &Method<'_>, code: &Code, index: usize) -> Outcome {
    let Some(step) = code.steps.get(index) else { return Ok(()) };
    check_token(machine, step)?;
    if machine.has_types() {
        token_use::check(machine, step);
    }
    effect(machine, method, code, index, step)
}

fn effect(machine: &mut Machine<'_, '_, '_>, method: &Method<'_>, code: &Code, index: usize, step: &Step) -> Outcome {
    use OpCode as Op;
    let token = Token(step.operand);
    match step.info.opcode {
        Op::Nop | Op::Break | Op::Br | Op::BrS | Op::Leave | Op::LeaveS | Op::Endfinally | Op::Rethrow => {}
        Op::Unaligned | Op::Volatile | Op::Tail | Op::Constrained | Op::Readonly | Op::No => prefix(machine, code, index)?,
        Op::Ldarg0 | Op::Ldarg1 | Op::Ldarg2 | Op::Ldarg3 | Op::LdargS | Op::Ldarg => match method.constructs {
            Some(class) if number(step) == 0 && !machine.is_initialized => {
                this_init::push(machine, class, one_of(machine, &method.args, 0)?);
            }
            _ => push_one_of(machine, &method.args, number(step))?,
        },
        Op::Ldloc0 | Op::Ldloc1 | Op::Ldloc2 | Op::Ldloc3 | Op::LdlocS | Op::Ldloc => {
            push_one_of(machine, &method.locals, number(step))?;
        }
        Op::LdargaS | Op::Ldarga => {
            this_init::expect_other(machine, method, number(step));
            push_address(machine, &method.args, number(step))?;
        }
        Op::LdlocaS | Op::Ldloca => push_address(machine, &method.locals, number(step))?,
        Op::StargS | Op::Starg => {
            this_init::expect_other(machine, method, number(step));
            pop_one_of(machine, &method.args, number(step))?;
        }
        Op::Stloc0 | Op::Stloc1 | Op::Stloc2 | Op::Stloc3 | Op::StlocS | Op::Stloc => {
            pop_one_of(machine, &method.locals, number(step))?;
        }
        Op::Dup => {
            let value = machine.pop()?;
            machine.push(value);
            machine.push(value);
        }
        Op::Pop => drop(machine.pop()?),
        Op::Ret => {
            if let Some(returned) = method.returned {
                machine.pop_into(returned)?;
            }
            this_init::check_return(machine);
            if !machine.stack.is_empty() {
                let left = machine.stack.len();
                machine.doubt(rule!("III.1.7.5-c"), || format!("{left} values"));
            }
        }
        Op::Jmp => machine.doubt(rule!("III.3-a"), || "jmp".into()),
        Op::Call | Op::Callvirt | Op::Newobj | Op::Calli => call(machine, code, index, step)?,
        Op::Throw => drop(machine.pop_kind(Kind::Object)?),
        Op::Endfilter | Op::Switch => drop(machine.pop_kind(Kind::Int32)?),
        Op::Brfalse | Op::BrfalseS | Op::Brtrue | Op::BrtrueS => {
            machine.pop_where(|kind| !matches!(kind, Kind::Float | Kind::Value), "a number or reference")?;
        }
        opcode if is_comparing_branch(opcode) => compare(machine)?,
        Op::Ceq | Op::Cgt | Op::CgtUn | Op::Clt | Op::CltUn => {
            compare(machine)?;
            machine.push_kind(Kind::Int32);
        }
        opcode @ (Op::Add | Op::AddOvf | Op::AddOvfUn) => arithmetic(machine, opcode, Pointers::Add)?,
        opcode @ (Op::Sub | Op::SubOvf | Op::SubOvfUn) => arithmetic(machine, opcode, Pointers::Subtract)?,
        opcode @ (Op::Mul | Op::Div | Op::Rem | Op::MulOvf | Op::MulOvfUn) => arithmetic(machine, opcode, Pointers::None)?,
        opcode @ (Op::DivUn | Op::RemUn | Op::And | Op::Or | Op::Xor) => arithmetic(machine, opcode, Pointers::None)?,
        Op::Shl | Op::Shr | Op::ShrUn => {
            machine.pop_where(Kind::is_index, "int32 or native int")?;
            let kind = machine.pop_where(Kind::is_integer, "an integer")?.kind;
            machine.push_kind(kind);
        }
        Op::Neg | Op::Not | Op::Ckfinite => {
            let takes_floats = step.info.opcode != Op::Not;
            let is_well = |kind: Kind| kind.is_integer() || kind == Kind::Float && takes_floats;
            let kind = machine.pop_where(is_well, "a number")?.kind;
            machine.push_kind(kind);
        }
        Op::Localloc => {
            machine.pop_where(Kind::is_index, "a size")?;
            machine.doubt(rule!("III.3-a"), || "localloc".into());
            machine.push_kind(Kind::Native);
        }
        Op::Cpblk | Op::Initblk => {
            machine.pop_where(Kind::is_index, "a size")?;
            let is_copy = step.info.opcode == Op::Cpblk;
            machine.pop_where(|kind| if is_copy { kind.is_address() } else { kind.is_index() }, "a source")?;
            machine.pop_where(Kind::is_address, "an address")?;
            machine.doubt(rule!("III.3-a"), || step.info.name.into());
        }
        _ => object_model::apply(machine, step, token)?,
    }
    Ok(())
}

/// The number of an argument or local variable.
fn number(step: &Step) -> usize {
    match step.info.operand {
        // `ldarg.0` to `stloc.3` have it in their names.
        Operand::None => step.info.name.bytes().last().map_or(0, |digit| usize::from(digit.wrapping_sub(b'0'))),
        _ => step.operand as usize,
    }
}

fn one_of(machine: &Machine<'_, '_, '_>, values: &[Value], number: usize) -> Result<Value, Stop> {
    values.get(number).copied().ok_or_else(|| machine.error(rule!("III.1.9-c"), format_args!("{number} of {}", values.len())))
}

fn push_one_of(machine: &mut Machine<'_, '_, '_>, values: &[Value], number: usize) -> Outcome {
    let value = one_of(machine, values, number)?;
    machine.push(value);
    Ok(())
}

fn push_address(machine: &mut Machine<'_, '_, '_>, values: &[Value], number: usize) -> Outcome {
    let value = one_of(machine, values, number)?;
    if value.is_this {
        // Compilers pass it on as `in`. What stores through its address is in doubt for that.
        object_model::push_in(machine, value.ty);
    } else {
        object_model::push_reference(machine, value.ty);
    }
    Ok(())
}

fn pop_one_of(machine: &mut Machine<'_, '_, '_>, values: &[Value], number: usize) -> Outcome {
    let value = one_of(machine, values, number)?;
    machine.pop_into(value)
}

fn call(machine: &mut Machine<'_, '_, '_>, code: &Code, index: usize, step: &Step) -> Outcome {
    let (opcode, token) = (step.info.opcode, Token(step.operand));
    let constrained = machine.constrained.take();
    let is_readonly = std::mem::take(&mut machine.is_readonly);
    let Some(call) = machine.callees.call(token) else {
        return Err(machine.error(rule!("III.1.9-a"), format_args!("{token} cannot be called")));
    };
    if opcode == OpCode::Calli {
        machine.pop_kind(Kind::Native)?;
        machine.doubt(rule!("III.3-a"), || "calli".into());
    }
    if opcode == OpCode::Newobj && machine.has_types() {
        delegates::check(machine, code, index, call.owner.ty);
    }
    call.params.iter().rev().try_for_each(|param| machine.pop_into(*param))?;
    if opcode == OpCode::Newobj {
        machine.push(call.owner);
        return Ok(());
    }
    if call.has_this {
        let this = machine.pop()?;
        if !call.is_constructor || !this_init::construct(machine, this, call.owner.ty) {
            let this = machine.expect_kind(this, |kind| kind.is_address() || kind == Kind::Object, "this");
            expect_this(machine, this, call.owner, constrained);
            if opcode == OpCode::Call && constrained.is_none() {
                this_init::expect_own(machine, rule!("III.3.19-a"), this, token);
            }
        }
    }
    if let Some(returned) = call.returned {
        machine.push(if is_readonly { read_only(machine, returned) } else { returned });
    }
    Ok(())
}

/// III.2.3: `Address` of an array gives a pointer that is not stored through.
fn read_only(machine: &Machine<'_, '_, '_>, value: Value) -> Value {
    match machine.types().get(value.ty) {
        Type::ByRef(target) => Value { ty: machine.types().put(Type::In(target)), ..value },
        _ => value,
    }
}

/// III.4.2, III.2.1: `this` is what has the method, or a reference to it if that is a value type or constrained.
fn expect_this(machine: &mut Machine<'_, '_, '_>, this: Value, owner: Value, constrained: Option<Value>) {
    let types = machine.types();
    let by_ref = |ty| Value::new(Kind::Ref, types.put(Type::ReadOnly(ty)));
    match constrained {
        Some(constrained) => machine.expect_type(this, by_ref(constrained.ty)),
        // Of a type that is not there, the value tells what it is.
        None if types.may_be_boxed(owner.ty) || owner.kind == Kind::Unknown && this.kind == Kind::Ref => {
            machine.expect_type(this, by_ref(owner.ty));
        }
        None if this.kind != Kind::Native => machine.expect_type(this, owner),
        None => {}
    }
}

/// Whether an operator takes pointers (III.1.5, table 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pointers {
    None,
    Add,
    Subtract,
}

/// III.1.5, tables 2, 5 and 7: floats are for the plain operators alone.
fn arithmetic(machine: &mut Machine<'_, '_, '_>, opcode: OpCode, pointers: Pointers) -> Outcome {
    use Kind::{Float, Int32, Native, Ref, Unknown};
    let takes_floats = matches!(opcode, OpCode::Add | OpCode::Sub | OpCode::Mul | OpCode::Div | OpCode::Rem);
    let (other, one) = (machine.pop()?.kind, machine.pop()?.kind);
    let result = match (one, other) {
        (Kind::Value | Kind::Object, _) | (_, Kind::Value | Kind::Object) => None,
        (Float, _) | (_, Float) if !takes_floats => None,
        (Unknown, known) | (known, Unknown) => Some(if known == Unknown { Unknown } else { known }),
        (Int32 | Native, Native) | (Native, Int32) => Some(Native),
        (Ref, Ref) if pointers == Pointers::Subtract => Some(Native),
        (Ref, Int32 | Native) if pointers != Pointers::None => Some(Ref),
        (Int32 | Native, Ref) if pointers == Pointers::Add => Some(Ref),
        (one, other) if one == other && one != Ref => Some(one),
        _ => None,
    };
    if result.is_none() {
        machine.doubt(rule!("III.1.5-a"), || format!("{} and {}", one.name(), other.name()));
    }
    if result.is_some() && (one == Ref || other == Ref) && machine.has_types() {
        machine.doubt(rule!("III.3-a"), || "arithmetic on a managed pointer".into());
    }
    machine.push_kind(result.unwrap_or(Unknown));
    Ok(())
}

/// III.1.5, table 4.
fn compare(machine: &mut Machine<'_, '_, '_>) -> Outcome {
    let (other, one) = (machine.pop()?.kind, machine.pop()?.kind);
    let is_well = one != Kind::Value && (one.fits(other) || other.fits(one));
    if !is_well {
        machine.doubt(rule!("III.1.5-a"), || format!("{} and {}", one.name(), other.name()));
    }
    Ok(())
}

fn is_comparing_branch(opcode: OpCode) -> bool {
    (OpCode::BeqS..=OpCode::BltUnS).contains(&opcode) || (OpCode::Beq..=OpCode::BltUn).contains(&opcode)
}

/// III.1.9: a token is of a table that the instruction can name, and of a row that is there.
fn check_token(machine: &Machine<'_, '_, '_>, step: &Step) -> Outcome {
    let token = Token(step.operand);
    let tables: &[Table] = match step.info.operand {
        Operand::Method => &[Table::MethodDef, Table::MemberRef, Table::MethodSpec],
        Operand::Field => &[Table::Field, Table::MemberRef],
        Operand::Type => &[Table::TypeDef, Table::TypeRef, Table::TypeSpec],
        Operand::Token => &[
            Table::TypeDef,
            Table::TypeRef,
            Table::TypeSpec,
            Table::MethodDef,
            Table::MemberRef,
            Table::MethodSpec,
            Table::Field,
        ],
        Operand::Sig => &[Table::StandAloneSig],
        Operand::String => {
            let is_there = token.kind() == 0x70 && machine.context.metadata.user_strings.user_string(token.rid()).is_ok();
            return if is_there { Ok(()) } else { Err(machine.error(rule!("III.1.9-b"), token)) };
        }
        _ => return Ok(()),
    };
    if token.table().is_some_and(|table| tables.contains(&table)) && machine.context.is_row(token) {
        return Ok(());
    }
    Err(machine.error(rule!("III.1.9-a"), format_args!("{} {token}", step.info.name)))
}

/// III.2: what a prefix may stand before, other prefixes between.
fn prefix(machine: &mut Machine<'_, '_, '_>, code: &Code, index: usize) -> Outcome {
    use OpCode as Op;
    let rest = code.steps.get(index..).unwrap_or_default();
    let Some(prefix) = rest.first() else { return Ok(()) };
    let is_prefix = |step: &&Step| step.info.flow == ecma335::opcode::Flow::Prefix;
    let Some(next) = rest.iter().find(|step| !is_prefix(step)) else { return Ok(()) };
    let opcode = next.info.opcode;
    let by_address = next.info.name.starts_with("ldind") || next.info.name.starts_with("stind");
    let on_memory =
        matches!(opcode, Op::Ldfld | Op::Stfld | Op::Ldobj | Op::Stobj | Op::Initblk | Op::Cpblk | Op::Cpobj | Op::Initobj);
    let is_well = match prefix.info.opcode {
        Op::Tail => matches!(opcode, Op::Call | Op::Callvirt | Op::Calli),
        Op::Constrained => matches!(opcode, Op::Callvirt | Op::Call | Op::Ldftn),
        Op::Volatile => by_address || on_memory || matches!(opcode, Op::Ldsfld | Op::Stsfld),
        Op::Unaligned => by_address || on_memory,
        Op::Readonly => matches!(opcode, Op::Ldelema | Op::Call | Op::Callvirt),
        _ => true,
    };
    if !is_well {
        return Err(machine.error(rule!("III.2-a"), format_args!("{} {}", prefix.info.name, next.info.name)));
    }
    machine.is_readonly |= prefix.info.opcode == Op::Readonly;
    if prefix.info.opcode == Op::Constrained {
        machine.constrained = Some(machine.callees.value_of_token(Token(prefix.operand)));
    }
    Ok(())
}
