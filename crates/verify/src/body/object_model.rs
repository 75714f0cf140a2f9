//! The instructions of III.4, those that load and store by address, constants and conversions: a fixed number of operands
//! each, of which the name tells the kinds.

use ecma335::{OpCode, Table, Token, element::ElementType, opcode::Operand};

use crate::{
    body::{
        Step, delegates,
        eval_stack::{Machine, Stop},
        instructions::Outcome,
        read_only,
        stack_value::{Kind, Value},
        this_init,
        tokens::Holding,
    },
    rule::rule,
    types::{
        assign::reduced,
        store::{Type, TypeId},
    },
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
            pop_source(machine, named.ty)?;
            machine.push(named);
        }
        Op::Stobj => {
            machine.pop_into(named)?;
            pop_address(machine, named.ty)?;
        }
        Op::Cpobj => {
            pop_source(machine, named.ty)?;
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
            pop_element(machine, named.ty).map(drop)?;
            machine.push(named);
        }
        Op::Stelem => {
            machine.pop_into(named)?;
            pop_element(machine, named.ty).map(drop)?;
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
            let is_readonly = std::mem::take(&mut machine.is_readonly);
            let array = pop_element(machine, named.ty)?;
            if is_readonly {
                push_in(machine, named.ty);
            } else {
                expect_exact(machine, array, named.ty);
                push_reference(machine, named.ty);
            }
        }
        Op::Unbox => {
            machine.pop_kind(Kind::Object)?;
            push_read_only(machine, named.ty);
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
    let Some(Holding { owner, held, init_only }) = machine.callees.field(token) else {
        return Err(machine.error(rule!("III.1.9-a"), format_args!("{token} is no field")));
    };
    let is_static = matches!(opcode, Op::Ldsfld | Op::Ldsflda | Op::Stsfld);
    let is_init_only = init_only.is_some_and(|def| !read_only::may_store(machine, def, is_static));
    let mut of_read_only = false;
    if is_init_only && matches!(opcode, Op::Stfld | Op::Stsfld) {
        let context = machine.context;
        machine.doubt(rule!("II.16.1.2-a"), || context.full_name(token));
    }
    if matches!(opcode, Op::Stfld | Op::Stsfld) {
        machine.pop_into(held)?;
    }
    let mut is_native = false;
    if matches!(opcode, Op::Ldfld | Op::Ldflda | Op::Stfld) {
        let takes_values = opcode == Op::Ldfld;
        let is_well = |kind: Kind| kind.is_address() || kind == Kind::Object || takes_values && kind == Kind::Value;
        let object = machine.pop()?;
        if !this_init::has_own(machine, object, owner) {
            let object = machine.expect_kind(object, is_well, "an object or address");
            is_native = object.kind == Kind::Native;
            of_read_only = matches!(machine.types().get(object.ty), Type::ReadOnly(_));
            expect_holder(machine, object, owner);
        }
    }
    match opcode {
        Op::Ldfld | Op::Ldsfld => machine.push(held),
        Op::Ldflda if is_native => machine.push_kind(Kind::Native),
        Op::Ldflda if of_read_only => push_read_only(machine, held.ty),
        Op::Ldflda | Op::Ldsflda if is_init_only => push_in(machine, held.ty),
        Op::Ldflda | Op::Ldsflda => push_reference(machine, held.ty),
        _ => {}
    }
    Ok(())
}

/// III.4.10: an object that has the field, a value of it, or a reference to one.
fn expect_holder(machine: &mut Machine<'_, '_, '_>, object: Value, owner: TypeId) {
    let types = machine.types();
    match object.kind {
        Kind::Ref => machine.expect_type(object, Value::new(Kind::Ref, types.put(Type::ReadOnly(owner)))),
        Kind::Native if machine.has_types() => machine.doubt(rule!("III.3-a"), || "by an unmanaged pointer".into()),
        Kind::Native => {}
        kind => machine.expect_type(object, Value::new(kind, owner)),
    }
}

/// What the name of an instruction says of its operands: `ldind.i4`, `conv.u8`, `stelem.ref`.
fn by_name(machine: &mut Machine<'_, '_, '_>, step: &Step, token: Token) -> Outcome {
    let name = step.info.name;
    let (family, rest) = name.split_once('.').unwrap_or((name, ""));
    match family {
        "ldc" => machine.push_kind(named_kind(rest.get(..2).unwrap_or_default())),
        "ldind" => {
            let target = pop_any_address(machine, rest)?;
            push_loaded(machine, rest, target);
        }
        "stind" => {
            let value = machine.pop_kind(named_kind(rest))?;
            read_only::expect_mutable(machine);
            let target = pop_any_address(machine, rest)?;
            if rest == "ref" {
                machine.expect_type(value, Value::new(Kind::Object, target));
            }
        }
        "ldelem" => {
            let element = pop_any_element(machine, rest)?;
            push_loaded(machine, rest, element);
        }
        "stelem" => {
            let value = machine.pop_kind(named_kind(rest))?;
            let element = pop_any_element(machine, rest)?;
            if rest == "ref" {
                machine.expect_type(value, Value::new(Kind::Object, element));
            }
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

pub(crate) fn push_in(machine: &mut Machine<'_, '_, '_>, target: TypeId) {
    let pointer = machine.types().put(Type::In(target));
    machine.push_type(Kind::Ref, pointer);
}

fn push_read_only(machine: &mut Machine<'_, '_, '_>, target: TypeId) {
    let pointer = machine.types().put(Type::ReadOnly(target));
    machine.push_type(Kind::Ref, pointer);
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

/// Takes the address of a value of this type, to load it.
fn pop_source(machine: &mut Machine<'_, '_, '_>, target: TypeId) -> Outcome {
    let pointer = machine.types().put(Type::ReadOnly(target));
    pop_pointer(machine, pointer)
}

/// Takes the address of a value of this type.
fn pop_address(machine: &mut Machine<'_, '_, '_>, target: TypeId) -> Outcome {
    let pointer = machine.types().put(Type::ByRef(target));
    read_only::expect_mutable(machine);
    pop_pointer(machine, pointer)
}

fn pop_pointer(machine: &mut Machine<'_, '_, '_>, ty: TypeId) -> Outcome {
    let value = machine.pop_where(Kind::is_address, "an address")?;
    match value.kind {
        Kind::Native => machine.doubt(rule!("III.3-a"), || "by an unmanaged pointer".into()),
        _ => machine.expect_type(value, Value::new(Kind::Ref, ty)),
    }
    Ok(())
}

/// Takes an address, of what an instruction's name says; gives what is there.
fn pop_any_address(machine: &mut Machine<'_, '_, '_>, name: &str) -> Result<TypeId, Stop> {
    let value = machine.pop_where(Kind::is_address, "an address")?;
    if value.kind == Kind::Native {
        machine.doubt(rule!("III.3-a"), || "by an unmanaged pointer".into());
    }
    let types = machine.types();
    let (Type::ByRef(target) | Type::ReadOnly(target) | Type::In(target)) = types.get(value.ty) else {
        return Ok(TypeId::UNKNOWN);
    };
    if !is_of_name(machine, target, name) {
        machine.doubt(rule!("III.1.8.1.2-a"), || format!("{} where one to {name} is needed", types.name(value.ty)));
    }
    Ok(target)
}

/// Whether a value in memory is what the name of an instruction says, but for its sign.
fn is_of_name(machine: &Machine<'_, '_, '_>, id: TypeId, name: &str) -> bool {
    let types = machine.types();
    match (named_element(name), types.number(id)) {
        (Some(wanted), Some(number)) => reduced(wanted) == reduced(number),
        _ => types.value(id).kind.fits(named_kind(name)),
    }
}

fn named_element(name: &str) -> Option<ElementType> {
    Some(match name {
        "i1" | "u1" => ElementType::I1,
        "i2" | "u2" => ElementType::I2,
        "i4" | "u4" => ElementType::I4,
        "i8" | "u8" => ElementType::I8,
        "r4" => ElementType::R4,
        "r8" => ElementType::R8,
        "i" | "u" => ElementType::I,
        _ => return None,
    })
}

/// III.4.9: without `readonly.`, the elements whose address is taken are of the very type.
fn expect_exact(machine: &mut Machine<'_, '_, '_>, array: Value, wanted: TypeId) {
    let types = machine.types();
    let Type::Array(element, _) = types.get(array.ty) else { return };
    if types.is_same_target(element, wanted) == Some(false) {
        machine.doubt(rule!("III.1.8.1.2-a"), || format!("{}[] where {}[] is needed", types.name(element), types.name(wanted)));
    }
}

/// Takes an index and an array of this type.
fn pop_element(machine: &mut Machine<'_, '_, '_>, element: TypeId) -> Result<Value, Stop> {
    machine.pop_where(Kind::is_index, "an index")?;
    let array = machine.pop_kind(Kind::Object)?;
    if element != TypeId::UNKNOWN {
        let ty = machine.types().put(Type::Array(element, None));
        machine.expect_type(array, Value::new(Kind::Object, ty));
    }
    Ok(array)
}

/// Takes an index and an array, of what an instruction's name says; gives what it is.
fn pop_any_element(machine: &mut Machine<'_, '_, '_>, name: &str) -> Result<TypeId, Stop> {
    machine.pop_where(Kind::is_index, "an index")?;
    let array = machine.pop_kind(Kind::Object)?;
    let types = machine.types();
    match types.get(array.ty) {
        Type::Array(element, None) => {
            if !is_of_name(machine, element, name) {
                let is = types.name(array.ty);
                machine.doubt(rule!("III.1.8.1.2-a"), || format!("{is} where an array of {name} is needed"));
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
