//! The instructions of III.4, those that load and store by address, constants and conversions: a fixed number of operands
//! each, of which the name tells the kinds.

use ecma335::{OpCode, Table, Token, opcode::Operand};

use crate::{
    body::Step,
    call::Holding,
    delegates,
    kind::{Kind, Value},
    operands::Outcome,
    rule::rule,
    stack::{Machine, Stop},
    this,
    typing::{Type, TypeId},
};

/// Applies one of them to the stack.
pub(crate) fn apply(machine: &mut Machine<'_, '_, '_>, step: &Step, token: Token) -> Outcome {
    use OpCode as Op;
    match step.info.opcode {
        Op::Ldfld | Op::Ldflda | Op::Stfld | Op::Ldsfld | Op::Ldsflda | Op::Stsfld => field(machine, step.info.opcode, token),
        Op::Castclass | Op::Isinst | Op::Newarr | Op::Ldelema | Op::Unbox | Op::Mkrefany | Op::Refanyval => {
            let named = machine.callees.value_of_token(token);
            with_type(machine, step.info.opcode, named)
        }
        _ if step.info.operand == Operand::Type => {
            let named = machine.callees.value_of_token(token);
            by_type(machine, step.info.opcode, named)
        }
        _ => by_name(machine, step, token),
    }
}

/// Those that move a value of the type that is named.
fn by_type(machine: &mut Machine<'_, '_, '_>, opcode: OpCode, named: Value) -> Outcome {
    use OpCode as Op;
    match opcode {
        Op::Ldobj => {
            pop_address(machine, named.ty)?;
            machine.push(named);
        }
        Op::Stobj => {
            machine.pop_into(named)?;
            pop_address(machine, named.ty)?;
        }
        Op::Cpobj => {
            pop_address(machine, named.ty)?;
            pop_address(machine, named.ty)?;
        }
        Op::Initobj => pop_address(machine, named.ty)?,
        Op::Box => {
            machine.pop_into(named)?;
            machine.push_type(Kind::Object, boxed(machine, named.ty));
        }
        Op::UnboxAny => {
            machine.pop_kind(Kind::Object)?;
            machine.push(named);
        }
        Op::Ldelem => {
            pop_element(machine, named.ty)?;
            machine.push(named);
        }
        Op::Stelem => {
            machine.pop_into(named)?;
            pop_element(machine, named.ty)?;
        }
        _ => machine.push_kind(Kind::Int32),
    }
    Ok(())
}

/// Those that make something else of the type that is named.
fn with_type(machine: &mut Machine<'_, '_, '_>, opcode: OpCode, named: Value) -> Outcome {
    use OpCode as Op;
    match opcode {
        Op::Castclass | Op::Isinst => {
            machine.pop_kind(Kind::Object)?;
            machine.push_type(Kind::Object, boxed(machine, named.ty));
        }
        Op::Newarr => {
            machine.pop_where(Kind::is_index, "a length")?;
            let array = if named.ty == TypeId::UNKNOWN { named.ty } else { machine.types().put(Type::Array(named.ty, None)) };
            machine.push_type(Kind::Object, array);
        }
        Op::Ldelema => {
            pop_element(machine, named.ty)?;
            push_reference(machine, named.ty);
        }
        Op::Unbox => {
            machine.pop_kind(Kind::Object)?;
            push_reference(machine, named.ty);
        }
        Op::Mkrefany => {
            pop_address(machine, named.ty)?;
            machine.push_type(Kind::Value, machine.types().system("TypedReference"));
        }
        _ => {
            machine.pop_kind(Kind::Value)?;
            push_reference(machine, named.ty);
        }
    }
    Ok(())
}

fn field(machine: &mut Machine<'_, '_, '_>, opcode: OpCode, token: Token) -> Outcome {
    use OpCode as Op;
    let Some(Holding { owner, held }) = machine.callees.field(token) else {
        return Err(machine.error(rule!("III.1.9-a"), format_args!("{token} is no field")));
    };
    if matches!(opcode, Op::Stfld | Op::Stsfld) {
        machine.pop_into(held)?;
    }
    let mut is_native = false;
    if matches!(opcode, Op::Ldfld | Op::Ldflda | Op::Stfld) {
        let takes_values = opcode == Op::Ldfld;
        let is_well = |kind: Kind| kind.is_address() || kind == Kind::Object || takes_values && kind == Kind::Value;
        let object = machine.pop()?;
        if !this::has_own(machine, object, owner) {
            let object = machine.expect_kind(object, is_well, "an object or address");
            is_native = object.kind == Kind::Native;
            expect_holder(machine, object, owner);
        }
    }
    match opcode {
        Op::Ldfld | Op::Ldsfld => machine.push(held),
        Op::Ldflda if is_native => machine.push_kind(Kind::Native),
        Op::Ldflda | Op::Ldsflda => push_reference(machine, held.ty),
        _ => {}
    }
    Ok(())
}

/// III.4.10: an object that has the field, a value of it, or a reference to one.
fn expect_holder(machine: &mut Machine<'_, '_, '_>, object: Value, owner: TypeId) {
    let types = machine.types();
    match object.kind {
        Kind::Ref => machine.expect_type(object, Value { kind: Kind::Ref, ty: types.put(Type::ByRef(owner)) }),
        Kind::Native if machine.has_types() => machine.doubt(rule!("III.3-a"), || "by an unmanaged pointer".into()),
        Kind::Native => {}
        kind => machine.expect_type(object, Value { kind, ty: owner }),
    }
}

/// What the name of an instruction says of its operands: `ldind.i4`, `conv.u8`, `stelem.ref`.
fn by_name(machine: &mut Machine<'_, '_, '_>, step: &Step, token: Token) -> Outcome {
    let name = step.info.name;
    let (family, rest) = name.split_once('.').unwrap_or((name, ""));
    match family {
        "ldc" => machine.push_kind(named_kind(rest.get(..2).unwrap_or_default())),
        "ldind" => {
            let target = pop_any_address(machine, named_kind(rest))?;
            push_loaded(machine, rest, target);
        }
        "stind" => {
            let value = machine.pop_kind(named_kind(rest))?;
            let target = pop_any_address(machine, named_kind(rest))?;
            if rest == "ref" {
                machine.expect_type(value, Value { kind: Kind::Object, ty: target });
            }
        }
        "ldelem" => {
            let element = pop_any_element(machine, named_kind(rest))?;
            push_loaded(machine, rest, element);
        }
        "stelem" => {
            machine.pop_kind(named_kind(rest))?;
            pop_any_element(machine, named_kind(rest))?;
        }
        "conv" => convert(machine, name, rest)?,
        "ldnull" => machine.push_type(Kind::Object, TypeId::NULL),
        "ldstr" => machine.push_type(Kind::Object, machine.types().system("String")),
        "ldlen" => {
            machine.pop_kind(Kind::Object)?;
            machine.push_kind(Kind::Native);
        }
        "ldftn" => delegates::push_method(machine, token),
        "ldvirtftn" => {
            machine.pop_kind(Kind::Object)?;
            delegates::push_method(machine, token);
        }
        "refanytype" => {
            machine.pop_kind(Kind::Value)?;
            machine.push_type(Kind::Value, machine.types().system("RuntimeTypeHandle"));
        }
        "ldtoken" => machine.push_type(Kind::Value, machine.types().system(handle(machine, token))),
        "arglist" => machine.push_type(Kind::Value, machine.types().system("RuntimeArgumentHandle")),
        _ => {
            // All are above; whatever comes here keeps the depth that the table states.
            (0..step.info.pops.max(0)).try_for_each(|_| machine.pop().map(drop))?;
            (0..step.info.pushes.max(0)).for_each(|_| machine.push_kind(Kind::Unknown));
        }
    }
    Ok(())
}

fn convert(machine: &mut Machine<'_, '_, '_>, name: &str, rest: &str) -> Outcome {
    let kind = machine.pop_where(|kind| kind != Kind::Value, "a number")?.kind;
    if matches!(kind, Kind::Ref | Kind::Object) {
        machine.doubt(rule!("III.3-a"), || format!("{name} of {}", kind.name()));
    }
    let target = rest.trim_start_matches("ovf.").trim_end_matches(".un");
    machine.push_kind(if rest == "r.un" { Kind::Float } else { named_kind(target) });
    Ok(())
}

/// What `ldtoken` gives, by what is named.
fn handle(machine: &Machine<'_, '_, '_>, token: Token) -> &'static str {
    match token.table() {
        Some(Table::MethodDef | Table::MethodSpec) => "RuntimeMethodHandle",
        Some(Table::Field) => "RuntimeFieldHandle",
        Some(Table::MemberRef) if machine.callees.field(token).is_some() => "RuntimeFieldHandle",
        Some(Table::MemberRef) => "RuntimeMethodHandle",
        _ => "RuntimeTypeHandle",
    }
}

fn named_kind(name: &str) -> Kind {
    match name {
        "i8" | "u8" => Kind::Int64,
        "r4" | "r8" => Kind::Float,
        "i" | "u" => Kind::Native,
        "ref" => Kind::Object,
        _ => Kind::Int32,
    }
}

/// What was loaded: a number of the name's kind, or the object that was referred to.
fn push_loaded(machine: &mut Machine<'_, '_, '_>, name: &str, target: TypeId) {
    if name == "ref" {
        machine.push_type(Kind::Object, target);
    } else if machine.types().is_pointer(target) {
        machine.push_type(Kind::Native, target);
    } else {
        machine.push_kind(named_kind(name));
    }
}

pub(crate) fn push_reference(machine: &mut Machine<'_, '_, '_>, target: TypeId) {
    let reference = machine.types().put(Type::ByRef(target));
    machine.push_type(Kind::Ref, reference);
}

fn boxed(machine: &Machine<'_, '_, '_>, ty: TypeId) -> TypeId {
    let types = machine.types();
    match types.get(ty) {
        // A box of `Nullable<T>` is one of `T` (III.4.1).
        Type::Named(_, arguments) if types.may_be_boxed(ty) && types.name(ty).starts_with("System.Nullable`1<") => {
            types.put(Type::Boxed(arguments.first().copied().unwrap_or(TypeId::UNKNOWN)))
        }
        _ if types.may_be_boxed(ty) => types.put(Type::Boxed(ty)),
        _ => ty,
    }
}

/// Takes the address of a value of this type.
fn pop_address(machine: &mut Machine<'_, '_, '_>, target: TypeId) -> Outcome {
    let value = machine.pop_where(Kind::is_address, "an address")?;
    match value.kind {
        Kind::Native => machine.doubt(rule!("III.3-a"), || "by an unmanaged pointer".into()),
        _ => {
            let ty = machine.types().put(Type::ByRef(target));
            machine.expect_type(value, Value { kind: Kind::Ref, ty });
        }
    }
    Ok(())
}

/// Takes an address, of what is of this kind; gives what is there.
fn pop_any_address(machine: &mut Machine<'_, '_, '_>, wanted: Kind) -> Result<TypeId, Stop> {
    let value = machine.pop_where(Kind::is_address, "an address")?;
    if value.kind == Kind::Native {
        machine.doubt(rule!("III.3-a"), || "by an unmanaged pointer".into());
    }
    let types = machine.types();
    let Type::ByRef(target) = types.get(value.ty) else { return Ok(TypeId::UNKNOWN) };
    if !types.value(target).kind.fits(wanted) {
        machine.doubt(rule!("III.1.8.1.2-a"), || format!("{} where one to {} is needed", types.name(value.ty), wanted.name()));
    }
    Ok(target)
}

/// Takes an index and an array of this type.
fn pop_element(machine: &mut Machine<'_, '_, '_>, element: TypeId) -> Outcome {
    machine.pop_where(Kind::is_index, "an index")?;
    let array = machine.pop_kind(Kind::Object)?;
    if element != TypeId::UNKNOWN {
        let ty = machine.types().put(Type::Array(element, None));
        machine.expect_type(array, Value { kind: Kind::Object, ty });
    }
    Ok(())
}

/// Takes an index and an array, of what is of this kind; gives what it is.
fn pop_any_element(machine: &mut Machine<'_, '_, '_>, wanted: Kind) -> Result<TypeId, Stop> {
    machine.pop_where(Kind::is_index, "an index")?;
    let array = machine.pop_kind(Kind::Object)?;
    let types = machine.types();
    match types.get(array.ty) {
        Type::Array(element, None) => {
            if !types.value(element).kind.fits(wanted) {
                let is = types.name(array.ty);
                machine.doubt(rule!("III.1.8.1.2-a"), || format!("{is} where an array of {} is needed", wanted.name()));
            }
            Ok(element)
        }
        Type::Null => Ok(TypeId::NULL),
        Type::Unknown => Ok(TypeId::UNKNOWN),
        _ => {
            machine.doubt(rule!("III.1.8.1.2-a"), || format!("{} where an array is needed", types.name(array.ty)));
            Ok(TypeId::UNKNOWN)
        }
    }
}
