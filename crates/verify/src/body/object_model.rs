//! The instructions of III.4, indirect loads and stores, constants and conversions. Each has a fixed number of operands.
//! The opcode list or the token gives their kinds and types.

use ecma335::{
    OpCode, Table, Token,
    element::ElementType,
    opcode::{Implicit, OpCodeInfo, Operand, StackKind},
};

use crate::{
    body::{
        boxing::boxed,
        code::Instruction,
        delegates,
        eval_stack::{EvalStack, Outcome, Stop},
        read_only,
        stack_value::StackValue,
        this_init,
        tokens::FieldRef,
    },
    rule::rule,
    types::{
        assign, constraints, resolve,
        store::{Named, Type, TypeId, Types},
        value_kind::ValueKind,
        verdict::Verdict,
    },
};

/// Applies one of these instructions to the stack.
pub(crate) fn apply(stack: &mut EvalStack<'_>, instruction: &Instruction, token: Token) -> Outcome {
    use OpCode as Op;
    match instruction.info.opcode {
        Op::Ldfld | Op::Ldflda | Op::Stfld | Op::Ldsfld | Op::Ldsflda | Op::Stsfld => {
            field(stack, instruction.info.opcode, token)
        }
        Op::Castclass | Op::Isinst | Op::Newarr | Op::Ldelema | Op::Unbox | Op::Mkrefany | Op::Refanyval => {
            let named = stack.tokens.value_of_token(token);
            with_type(stack, instruction.info.opcode, named)
        }
        _ if instruction.info.operand == Operand::Type => {
            let named = stack.tokens.value_of_token(token);
            by_type(stack, instruction.info.opcode, named)
        }
        _ => by_kinds(stack, instruction.info, token),
    }
}

/// Applies an instruction that moves a value of the named type.
fn by_type(stack: &mut EvalStack<'_>, opcode: OpCode, named: StackValue) -> Outcome {
    use OpCode as Op;
    match opcode {
        Op::Ldobj => {
            pop_source(stack, named.ty)?;
            stack.push(named);
        }
        Op::Stobj => {
            stack.pop_into(named)?;
            pop_destination(stack, named.ty)?;
        }
        Op::Cpobj => {
            pop_source(stack, named.ty)?;
            pop_destination(stack, named.ty)?;
        }
        Op::Initobj => pop_address(stack, named.ty)?,
        Op::Box if is_bound(stack, named) => return Err(stack.error(rule!("III.4.1-a"), stack.types().name(named.ty))),
        Op::Box => {
            stack.pop_into(named)?;
            stack.push_type(ValueKind::Object, boxed(stack, named.ty));
        }
        Op::UnboxAny => {
            stack.pop_kind(ValueKind::Object)?;
            stack.push(named);
        }
        Op::Ldelem => {
            pop_element(stack, named.ty).map(drop)?;
            stack.push(named);
        }
        Op::Stelem => {
            stack.pop_into(named)?;
            pop_slot(stack, named.ty)?;
        }
        _ => stack.push_kind(ValueKind::Int32),
    }
    Ok(())
}

/// Applies an instruction that converts to or from the named type.
fn with_type(stack: &mut EvalStack<'_>, opcode: OpCode, named: StackValue) -> Outcome {
    use OpCode as Op;
    match opcode {
        Op::Castclass | Op::Isinst => {
            stack.pop_kind(ValueKind::Object)?;
            stack.push_type(ValueKind::Object, boxed(stack, named.ty));
        }
        Op::Newarr => {
            stack.pop_where(ValueKind::is_index, "a length")?;
            if is_bound(stack, named) {
                return Err(stack.error(rule!("III.4.20-a"), stack.types().name(named.ty)));
            }
            let array = if named.ty == TypeId::UNKNOWN { named.ty } else { stack.types().intern(Type::Array(named.ty, None)) };
            stack.push_type(ValueKind::Object, array);
        }
        Op::Ldelema => {
            let array = pop_element(stack, named.ty)?;
            if stack.prefixes.is_readonly {
                push_in(stack, named.ty);
            } else {
                require_exact_element(stack, array, named.ty);
                push_reference(stack, named.ty);
            }
        }
        Op::Unbox => {
            stack.pop_kind(ValueKind::Object)?;
            if stack.types().is_reference(named.ty) {
                let types = stack.types();
                stack.unverifiable(rule!("III.4.32-a"), || types.name(named.ty));
            }
            push_read_only(stack, named.ty);
        }
        Op::Mkrefany => {
            pop_address(stack, named.ty)?;
            stack.push_type(ValueKind::Value, resolve::system(stack.types(), "TypedReference"));
        }
        _ => {
            stack.pop_kind(ValueKind::Value)?;
            push_reference(stack, named.ty);
        }
    }
    Ok(())
}

fn field(stack: &mut EvalStack<'_>, opcode: OpCode, token: Token) -> Outcome {
    use OpCode as Op;
    let Some(FieldRef { owner, held, definition }) = stack.tokens.field(token) else {
        return Err(stack.error(rule!("III.1.9-a"), format_args!("{token} is no field")));
    };
    let is_static = matches!(opcode, Op::Ldsfld | Op::Ldsflda | Op::Stsfld);
    if is_static && definition.is_some_and(|(_, row)| !row.is_static()) {
        return Err(stack.error(rule!("III.4.14-a"), stack.context.full_name(token)));
    }
    let init_only = definition.filter(|(_, row)| row.is_init_only() && stack.has_types());
    let is_init_only = init_only.is_some_and(|(def, _)| !read_only::may_store(stack, def, is_static));
    let mut of_read_only = false;
    let of_another = || stack.values.iter().nth_back(1).is_some_and(|object| !object.is_this);
    if is_init_only && opcode == Op::Stsfld || opcode == Op::Stfld && (is_init_only || init_only.is_some() && of_another()) {
        let context = stack.context;
        stack.unverifiable(rule!("II.16.1.2-a"), || context.full_name(token));
    }
    if is_init_only && opcode == Op::Ldsflda {
        let context = stack.context;
        stack.unverifiable(rule!("II.16.1.2-b"), || context.full_name(token));
    }
    if matches!(opcode, Op::Stfld | Op::Stsfld) {
        stack.pop_into(held)?;
    }
    if opcode == Op::Stfld {
        read_only::require_mutable(stack);
    }
    let mut is_native = false;
    let mut is_of_frame = false;
    if matches!(opcode, Op::Ldfld | Op::Ldflda | Op::Stfld) {
        let takes_values = opcode == Op::Ldfld;
        let is_well =
            |kind: ValueKind| kind.is_address() || kind == ValueKind::Object || takes_values && kind == ValueKind::Value;
        let object = stack.pop()?;
        is_of_frame = object.is_of_frame;
        if !this_init::has_own(stack, object, owner) {
            let object = stack.require_kind(object, is_well, "an object or address");
            is_native = object.kind == ValueKind::Native;
            of_read_only = matches!(stack.types().get(object.ty), Type::ReadOnly(_));
            require_holder(stack, object, owner);
        }
    }
    match opcode {
        Op::Ldfld | Op::Ldsfld => stack.push(held),
        Op::Ldflda if is_native => stack.push_kind(ValueKind::Native),
        Op::Ldflda if of_read_only => push_read_only(stack, held.ty),
        Op::Ldflda | Op::Ldsflda if is_init_only => push_in(stack, held.ty),
        Op::Ldflda | Op::Ldsflda => push_reference(stack, held.ty),
        _ => {}
    }
    if opcode == Op::Ldflda {
        mark_frame(stack, is_of_frame);
    }
    Ok(())
}

/// Whether values of a type live only in stack frames: managed pointers and ref structs.
fn is_bound(stack: &EvalStack<'_>, named: StackValue) -> bool {
    named.kind == ValueKind::Ref || stack.has_types() && constraints::is_ref_struct(stack.types(), named.ty)
}

/// Sets whether the managed pointer or ref struct on the stack refers to the method's own frame.
pub(crate) fn mark_frame(stack: &mut EvalStack<'_>, is_of_frame: bool) {
    if let Some(pushed) = stack.values.last_mut() {
        pushed.is_of_frame = is_of_frame;
    }
}

/// III.4.10: the operand is an object with the field, a value with it, or a pointer to one.
fn require_holder(stack: &mut EvalStack<'_>, object: StackValue, owner: TypeId) {
    let types = stack.types();
    match object.kind {
        ValueKind::Ref => stack.require_assignable(object, StackValue::new(ValueKind::Ref, types.intern(Type::ReadOnly(owner)))),
        ValueKind::Native if stack.has_types() => stack.unverifiable(rule!("III.3-a"), || "by an unmanaged pointer".into()),
        ValueKind::Native => {}
        kind => stack.require_assignable(object, StackValue::new(kind, owner)),
    }
}

/// Applies an instruction whose operands and type are in the opcode list: `ldind.i4`, `conv.u8`, `stelem.ref`.
fn by_kinds(stack: &mut EvalStack<'_>, info: &OpCodeInfo, token: Token) -> Outcome {
    use OpCode as Op;
    if let Some(Implicit::Type(element)) = info.implicit {
        return by_element(stack, info, element);
    }
    let mut object = None;
    for kind in info.popped.iter().rev() {
        object = Some(stack.pop_kind(value_kind(*kind))?);
    }
    match info.opcode {
        Op::Ldftn | Op::Ldvirtftn => delegates::push_method(stack, info.opcode, token, object)?,
        Op::Endfilter if !stack.values.is_empty() => {
            let left = stack.values.len();
            return Err(stack.error(rule!("III.1.7.5-c"), format_args!("{left} values")));
        }
        Op::Ldlen => {
            if let Some(array) = object {
                require_vector(stack, array);
            }
            stack.push_kind(ValueKind::Native);
        }
        Op::Ldnull => stack.push_type(ValueKind::Object, TypeId::NULL),
        Op::Ldstr => stack.push_type(ValueKind::Object, resolve::system(stack.types(), "String")),
        Op::Refanytype => stack.push_type(ValueKind::Value, resolve::system(stack.types(), "RuntimeTypeHandle")),
        Op::Ldtoken => stack.push_type(ValueKind::Value, resolve::system(stack.types(), handle(stack, token))),
        Op::Arglist => stack.push_type(ValueKind::Value, resolve::system(stack.types(), "RuntimeArgumentHandle")),
        _ => info.pushed.iter().for_each(|kind| stack.push_kind(value_kind(*kind))),
    }
    Ok(())
}

/// The kind of a value for a kind of the opcode list.
fn value_kind(kind: StackKind) -> ValueKind {
    match kind {
        StackKind::I4 => ValueKind::Int32,
        StackKind::I8 => ValueKind::Int64,
        StackKind::I => ValueKind::Native,
        StackKind::F => ValueKind::Float,
        StackKind::O => ValueKind::Object,
        StackKind::Value => ValueKind::Value,
        StackKind::Any | StackKind::Address | StackKind::Index => ValueKind::Unknown,
    }
}

/// Applies an instruction that loads, stores or converts to the type in its name.
fn by_element(stack: &mut EvalStack<'_>, info: &OpCodeInfo, element: ElementType) -> Outcome {
    match *info.popped {
        [StackKind::Address] => {
            let target = pop_any_address(stack, info, element)?;
            push_loaded(stack, element, target);
        }
        [StackKind::Address, kind] => {
            let value = stack.pop_kind(value_kind(kind))?;
            read_only::require_mutable(stack);
            let target = pop_any_address(stack, info, element)?;
            if kind == StackKind::O {
                stack.require_assignable(value, StackValue::new(ValueKind::Object, target));
            }
        }
        [StackKind::O, StackKind::Index] => {
            let of = pop_any_element(stack, info, element)?;
            push_loaded(stack, element, of);
        }
        [StackKind::O, StackKind::Index, kind] => {
            let value = stack.pop_kind(value_kind(kind))?;
            let of = pop_any_element(stack, info, element)?;
            if kind == StackKind::O {
                stack.require_assignable(value, StackValue::new(ValueKind::Object, of));
            }
        }
        _ => {
            let kind = stack.pop_where(|kind| kind != ValueKind::Value, "a number")?.kind;
            if matches!(kind, ValueKind::Ref | ValueKind::Object) {
                stack.unverifiable(rule!("III.3-a"), || format!("{} of {}", info.name, kind.name()));
            }
            stack.push_kind(element_kind(element));
        }
    }
    Ok(())
}

/// The name of the handle type that `ldtoken` pushes for a token.
fn handle(stack: &EvalStack<'_>, token: Token) -> &'static str {
    match token.table() {
        Some(Table::MethodDef | Table::MethodSpec) => "RuntimeMethodHandle",
        Some(Table::Field) => "RuntimeFieldHandle",
        Some(Table::MemberRef) if stack.tokens.field(token).is_some() => "RuntimeFieldHandle",
        Some(Table::MemberRef) => "RuntimeMethodHandle",
        _ => "RuntimeTypeHandle",
    }
}

fn element_kind(element: ElementType) -> ValueKind {
    ValueKind::of_element(element).unwrap_or(ValueKind::Unknown)
}

/// Pushes a loaded value: a number, or the referenced object.
fn push_loaded(stack: &mut EvalStack<'_>, element: ElementType, target: TypeId) {
    if element == ElementType::Object {
        stack.push_type(ValueKind::Object, target);
    } else if stack.types().is_pointer(target) {
        stack.push_type(ValueKind::Native, target);
    } else {
        stack.push_kind(element_kind(element));
    }
}

pub(crate) fn push_in(stack: &mut EvalStack<'_>, target: TypeId) {
    let pointer = stack.types().intern(Type::In(target));
    stack.push_type(ValueKind::Ref, pointer);
}

fn push_read_only(stack: &mut EvalStack<'_>, target: TypeId) {
    let pointer = stack.types().intern(Type::ReadOnly(target));
    stack.push_type(ValueKind::Ref, pointer);
}

pub(crate) fn push_reference(stack: &mut EvalStack<'_>, target: TypeId) {
    let reference = stack.types().intern(Type::ByRef(target));
    stack.push_type(ValueKind::Ref, reference);
}

/// Pops the address of a value to load as this type (III.4.13).
fn pop_source(stack: &mut EvalStack<'_>, target: TypeId) -> Outcome {
    pop_reference(stack, target, |types, held| assign::held_compatible(types, held, target))
}

/// Pops the address to store a value of this type to (III.4.29).
fn pop_destination(stack: &mut EvalStack<'_>, target: TypeId) -> Outcome {
    read_only::require_mutable(stack);
    pop_reference(stack, target, |types, held| assign::held_compatible(types, target, held))
}

/// Pops the address of a value whose type meets a condition.
fn pop_reference(stack: &mut EvalStack<'_>, target: TypeId, is_well: impl FnOnce(&Types<'_>, TypeId) -> Verdict) -> Outcome {
    let types = stack.types();
    let held = stack.values.last().and_then(|value| types.target(value.ty));
    let fits = held.is_some_and(|held| is_well(types, held) == Some(true));
    pop_pointer(stack, types.intern(Type::ReadOnly(held.filter(|_| fits).unwrap_or(target))))
}

/// Pops the address of a value of this type.
fn pop_address(stack: &mut EvalStack<'_>, target: TypeId) -> Outcome {
    let pointer = stack.types().intern(Type::ByRef(target));
    read_only::require_mutable(stack);
    pop_pointer(stack, pointer)
}

fn pop_pointer(stack: &mut EvalStack<'_>, ty: TypeId) -> Outcome {
    let value = stack.pop_where(ValueKind::is_address, "an address")?;
    match value.kind {
        ValueKind::Native => stack.unverifiable(rule!("III.3-a"), || "by an unmanaged pointer".into()),
        _ => stack.require_assignable(value, StackValue::new(ValueKind::Ref, ty)),
    }
    Ok(())
}

/// Pops the address of a value of the instruction's type. Returns the type of the value there.
fn pop_any_address(stack: &mut EvalStack<'_>, info: &OpCodeInfo, element: ElementType) -> Result<TypeId, Stop> {
    let value = stack.pop_where(ValueKind::is_address, "an address")?;
    if value.kind == ValueKind::Native {
        stack.unverifiable(rule!("III.3-a"), || "by an unmanaged pointer".into());
    }
    let types = stack.types();
    let Some(target) = types.target(value.ty) else { return Ok(TypeId::UNKNOWN) };
    if !is_held_as(stack, target, element) {
        let is = types.name(value.ty);
        stack.unverifiable(rule!("III.1.8.1.2-a"), || format!("{is} where one to {} is needed", suffix(info)));
    }
    Ok(target)
}

/// Whether a value in memory is of the instruction's type, except for its sign.
fn is_held_as(stack: &EvalStack<'_>, id: TypeId, element: ElementType) -> bool {
    let types = stack.types();
    match assign::number(types, id).filter(|_| element != ElementType::Object) {
        Some(number) => assign::verification_type(element) == assign::verification_type(number),
        None => StackValue::of_type(types, id).kind.assignable_to(element_kind(element)),
    }
}

/// The type in the name of an instruction.
fn suffix(info: &OpCodeInfo) -> &'static str {
    info.name.split_once('.').map_or("", |(_, suffix)| suffix)
}

/// III.4.9: without `readonly.`, the array's element type has to be exactly the named one.
fn require_exact_element(stack: &mut EvalStack<'_>, array: StackValue, wanted: TypeId) {
    let types = stack.types();
    let Type::Array(element, _) = types.get(array.ty) else { return };
    if assign::pointer_element_compatible(types, element, wanted) == Some(false) {
        stack.unverifiable(rule!("III.1.8.1.2-a"), || {
            format!("{}[] where {}[] is needed", types.name(element), types.name(wanted))
        });
    }
}

/// Pops an index and an array of this type.
fn pop_element(stack: &mut EvalStack<'_>, element: TypeId) -> Result<StackValue, Stop> {
    stack.pop_where(ValueKind::is_index, "an index")?;
    let array = stack.pop_kind(ValueKind::Object)?;
    if element != TypeId::UNKNOWN {
        let ty = stack.types().intern(Type::Array(element, None));
        stack.require_assignable(array, StackValue::new(ValueKind::Object, ty));
    }
    Ok(array)
}

/// Pops an index and an array that may hold a value of this type (III.4.26).
fn pop_slot(stack: &mut EvalStack<'_>, element: TypeId) -> Outcome {
    stack.pop_where(ValueKind::is_index, "an index")?;
    let array = stack.pop_kind(ValueKind::Object)?;
    require_vector(stack, array);
    let types = stack.types();
    let Type::Array(of, None) = types.get(array.ty) else { return Ok(()) };
    match assign::element_compatible(types, element, of) {
        Some(true) => {}
        Some(false) => stack.unverifiable(rule!("III.1.8.1.2-a"), || {
            format!("{} where an array of {} is needed", types.name(array.ty), types.name(element))
        }),
        None => stack.assumed += 1,
    }
    Ok(())
}

/// Records an array that is not a vector (one dimension, lower bound 0).
fn require_vector(stack: &mut EvalStack<'_>, array: StackValue) {
    let types = stack.types();
    if !matches!(types.get(array.ty), Type::Array(_, None) | Type::Null | Type::Unknown | Type::Named(Named::Missing(_), _)) {
        stack.unverifiable(rule!("III.1.8.1.2-a"), || format!("{} where an array is needed", types.name(array.ty)));
    }
}

/// Pops an index and an array of the instruction's type. Returns the element type.
fn pop_any_element(stack: &mut EvalStack<'_>, info: &OpCodeInfo, element: ElementType) -> Result<TypeId, Stop> {
    stack.pop_where(ValueKind::is_index, "an index")?;
    let array = stack.pop_kind(ValueKind::Object)?;
    let types = stack.types();
    match types.get(array.ty) {
        Type::Array(of, None) => {
            if !is_held_as(stack, of, element) {
                let is = types.name(array.ty);
                stack.unverifiable(rule!("III.1.8.1.2-a"), || format!("{is} where an array of {} is needed", suffix(info)));
            }
            Ok(of)
        }
        Type::Null => Ok(TypeId::NULL),
        _ => {
            require_vector(stack, array);
            Ok(TypeId::UNKNOWN)
        }
    }
}
