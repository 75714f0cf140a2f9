//! The operands and results of each instruction (III.1.5, III.3, III.4).

use ecma335::{
    OpCode, Table, Token,
    opcode::{Flow, Implicit, OpCodeInfo, Operand, StackKind},
};

use crate::{
    body::{
        boxing,
        code::{Code, Instruction},
        delegates,
        eval_stack::{EvalStack, Outcome, Prefixes, Stop},
        method::Method,
        object_model,
        stack_value::StackValue,
        this_init, token_use,
        tokens::MethodRef,
    },
    rule::rule,
    types::{constraints, library::Def, parameters, store::Type, value_kind::ValueKind},
};

/// Applies one instruction to the stack.
pub(crate) fn apply(stack: &mut EvalStack<'_>, method: &Method<'_>, code: &Code, index: usize) -> Outcome {
    let Some(instruction) = code.instructions.get(index) else { return Ok(()) };
    check_token(stack, instruction)?;
    // Paths may join after a prefix. The prefix applies to the instruction on every path.
    stack.prefixes = Prefixes::default();
    for prefix in code.prefixes(index) {
        match prefix.info.opcode {
            OpCode::Constrained => {
                stack.prefixes.constrained = Some(stack.tokens.value_of_token(Token(prefix.operand)));
            }
            OpCode::Readonly => stack.prefixes.is_readonly = true,
            OpCode::Tail => stack.prefixes.is_tail = true,
            _ => {}
        }
    }
    if stack.has_types() {
        token_use::check(stack, instruction);
    }
    effect(stack, method, code, index, instruction)
}

fn effect(stack: &mut EvalStack<'_>, method: &Method<'_>, code: &Code, index: usize, instruction: &Instruction) -> Outcome {
    use OpCode as Op;
    let token = Token(instruction.operand);
    match instruction.info.opcode {
        Op::Nop | Op::Break | Op::Br | Op::BrS | Op::Leave | Op::LeaveS | Op::Endfinally | Op::Rethrow => {}
        Op::Unaligned | Op::Volatile | Op::Tail | Op::Constrained | Op::Readonly | Op::No => prefix(stack, code, index)?,
        Op::Ldarg0 | Op::Ldarg1 | Op::Ldarg2 | Op::Ldarg3 | Op::LdargS | Op::Ldarg => match method.constructs {
            Some(class) if number(instruction) == 0 && !stack.is_initialized => {
                this_init::push(stack, class, one_of(stack, &method.args, 0)?);
            }
            _ => push_one_of(stack, &method.args, number(instruction))?,
        },
        Op::Ldloc0 | Op::Ldloc1 | Op::Ldloc2 | Op::Ldloc3 | Op::LdlocS | Op::Ldloc => {
            push_one_of(stack, &method.locals, number(instruction))?;
        }
        Op::LdargaS | Op::Ldarga => {
            this_init::require_initialized_argument(stack, method, number(instruction));
            push_address(stack, &method.args, number(instruction))?;
        }
        Op::LdlocaS | Op::Ldloca => push_address(stack, &method.locals, number(instruction))?,
        Op::StargS | Op::Starg => {
            this_init::require_initialized_argument(stack, method, number(instruction));
            pop_one_of(stack, &method.args, number(instruction))?;
        }
        Op::Stloc0 | Op::Stloc1 | Op::Stloc2 | Op::Stloc3 | Op::StlocS | Op::Stloc => {
            pop_one_of(stack, &method.locals, number(instruction))?;
        }
        Op::Dup => {
            let value = stack.pop()?;
            stack.push(value);
            stack.push(value);
        }
        Op::Pop => drop(stack.pop()?),
        Op::Ret => {
            if let Some(returned) = method.returned {
                let is_of_frame = stack.values.last().is_some_and(|value| value.is_of_frame);
                let is_frames_own = || stack.has_types() && constraints::is_frames_own(stack.types(), returned.ty);
                let leads_back = match returned.kind {
                    ValueKind::Ref => is_of_frame,
                    ValueKind::Value => is_of_frame || is_frames_own(),
                    _ => false,
                };
                stack.pop_into(returned)?;
                if leads_back {
                    stack.unverifiable(rule!("III.3.57-a"), String::new);
                }
            }
            this_init::check_return(stack);
            if !stack.values.is_empty() {
                let left = stack.values.len();
                stack.unverifiable(rule!("III.1.7.5-c"), || format!("{left} values"));
            }
        }
        Op::Jmp => stack.unverifiable(rule!("III.3-a"), || "jmp".into()),
        Op::Call | Op::Callvirt | Op::Newobj | Op::Calli => call(stack, code, index, instruction)?,
        Op::Brfalse | Op::BrfalseS | Op::Brtrue | Op::BrtrueS => {
            const WANTED: &str = "a number or reference";
            let value = stack.pop_where(|kind| !matches!(kind, ValueKind::Float | ValueKind::Value), WANTED)?;
            let types = stack.types();
            if parameters::is_reference(types, types.within.get(), value.ty) == Some(false) {
                stack.unverifiable(rule!("III.1.5-b"), || format!("{} where {WANTED} is needed", types.name(value.ty)));
            }
        }
        opcode if is_comparing_branch(opcode) => compare(stack, opcode)?,
        opcode @ (Op::Ceq | Op::Cgt | Op::CgtUn | Op::Clt | Op::CltUn) => {
            compare(stack, opcode)?;
            stack.push_kind(ValueKind::Int32);
        }
        opcode @ (Op::Add | Op::AddOvf | Op::AddOvfUn) => arithmetic(stack, opcode, Pointers::Add)?,
        opcode @ (Op::Sub | Op::SubOvf | Op::SubOvfUn) => arithmetic(stack, opcode, Pointers::Subtract)?,
        opcode @ (Op::Mul | Op::Div | Op::Rem | Op::MulOvf | Op::MulOvfUn) => arithmetic(stack, opcode, Pointers::None)?,
        opcode @ (Op::DivUn | Op::RemUn | Op::And | Op::Or | Op::Xor) => arithmetic(stack, opcode, Pointers::None)?,
        Op::Shl | Op::Shr | Op::ShrUn => {
            stack.pop_where(ValueKind::is_index, "int32 or native int")?;
            let kind = stack.pop_where(ValueKind::is_integer, "an integer")?.kind;
            stack.push_kind(kind);
        }
        Op::Neg | Op::Not | Op::Ckfinite => {
            let opcode = instruction.info.opcode;
            let (takes_floats, takes_integers) = (opcode != Op::Not, opcode != Op::Ckfinite);
            let is_well = |kind: ValueKind| match kind {
                ValueKind::Float => takes_floats,
                kind => kind == ValueKind::Unknown || takes_integers && kind.is_integer(),
            };
            let kind = stack.pop_where(is_well, "a number")?.kind;
            stack.push_kind(kind);
        }
        Op::Localloc => {
            stack.pop_where(ValueKind::is_index, "a size")?;
            if !stack.values.is_empty() {
                let below = stack.values.len();
                stack.unverifiable(rule!("III.3.47-b"), || format!("{below} values are below"));
            }
            stack.unverifiable(rule!("III.3-a"), || "localloc".into());
            stack.push_kind(ValueKind::Native);
        }
        Op::Cpblk | Op::Initblk => {
            stack.pop_where(ValueKind::is_index, "a size")?;
            let is_copy = instruction.info.opcode == Op::Cpblk;
            stack.pop_where(|kind| if is_copy { kind.is_address() } else { kind.is_index() }, "a source")?;
            stack.pop_where(ValueKind::is_address, "an address")?;
            stack.unverifiable(rule!("III.3-a"), || instruction.info.name.into());
        }
        _ => object_model::apply(stack, instruction, token)?,
    }
    Ok(())
}

/// The number of an argument or local variable.
fn number(instruction: &Instruction) -> usize {
    match instruction.info.implicit {
        Some(Implicit::Argument(number) | Implicit::Local(number)) => usize::from(number),
        _ => instruction.operand as usize,
    }
}

fn one_of(stack: &EvalStack<'_>, values: &[StackValue], number: usize) -> Result<StackValue, Stop> {
    values.get(number).copied().ok_or_else(|| stack.error(rule!("III.1.9-c"), format_args!("{number} of {}", values.len())))
}

fn push_one_of(stack: &mut EvalStack<'_>, values: &[StackValue], number: usize) -> Outcome {
    let value = one_of(stack, values, number)?;
    stack.push(value);
    Ok(())
}

fn push_address(stack: &mut EvalStack<'_>, values: &[StackValue], number: usize) -> Outcome {
    let value = one_of(stack, values, number)?;
    if value.kind == ValueKind::Ref {
        let types = stack.types();
        stack.unverifiable(rule!("II.14.4.2-a"), || types.name(value.ty));
    }
    if value.is_this {
        // Compilers pass this address as `in`. A store through it is a finding.
        object_model::push_in(stack, value.ty);
    } else {
        object_model::push_reference(stack, value.ty);
    }
    object_model::mark_frame(stack, true);
    Ok(())
}

fn pop_one_of(stack: &mut EvalStack<'_>, values: &[StackValue], number: usize) -> Outcome {
    let value = one_of(stack, values, number)?;
    stack.pop_into(value)
}

fn call(stack: &mut EvalStack<'_>, code: &Code, index: usize, instruction: &Instruction) -> Outcome {
    let (opcode, token) = (instruction.info.opcode, Token(instruction.operand));
    let Prefixes { constrained, is_readonly, is_tail } = stack.prefixes;
    let Some(method) = stack.tokens.method(token) else {
        return Err(stack.error(rule!("III.1.9-a"), format_args!("{token} cannot be called")));
    };
    check_callee(stack, opcode, token, &method, constrained)?;
    if is_readonly && !stack.tokens.is_array_address(token) {
        return Err(stack.error(rule!("III.2.3-a"), stack.context.full_name(token)));
    }
    // The object of a constrained call may be a value.
    let is_on_value = method.has_this && (constrained.is_some() || is_value(stack, &method));
    if is_tail && (is_on_value || method.params.iter().any(|of| of.kind == ValueKind::Ref)) {
        stack.unverifiable(rule!("III.2.4-c"), String::new);
    }
    if opcode == OpCode::Calli {
        stack.pop_kind(ValueKind::Native)?;
        stack.unverifiable(rule!("III.3-a"), || "calli".into());
    }
    if opcode == OpCode::Newobj && stack.has_types() {
        delegates::check(stack, code, index, method.owner.ty);
    }
    let keeps_reference = opcode == OpCode::Newobj
        && constraints::is_ref_struct(stack.types(), method.owner.ty)
        && (stack.values.iter().rev().zip((1..=method.params.len()).rev()))
            .any(|(value, number)| value.is_of_frame && !is_scoped(stack, &method, number));
    method.params.iter().rev().try_for_each(|param| stack.pop_into(*param))?;
    if opcode == OpCode::Newobj {
        stack.push(method.owner);
        object_model::mark_frame(stack, keeps_reference);
        return Ok(());
    }
    if let Some(constrained) = constrained {
        boxing::require_constrained(stack, constrained, method.owner.ty);
    }
    if method.has_this {
        let this = stack.pop()?;
        if !method.is_constructor || !this_init::construct(stack, this, method.owner.ty) {
            let this = stack.require_kind(this, |kind| kind.is_address() || kind == ValueKind::Object, "this");
            require_this(stack, this, method.owner, constrained);
            if opcode == OpCode::Call && constrained.is_none() {
                this_init::require_nonvirtual_receiver(stack, rule!("III.3.19-a"), this, token);
            }
        }
    }
    if let Some(returned) = method.returned {
        stack.push(if is_readonly { read_only(stack, returned) } else { returned });
    }
    Ok(())
}

/// Whether a parameter is marked as `scoped`: what is made keeps no reference that it passes.
fn is_scoped(stack: &EvalStack<'_>, method: &MethodRef, number: usize) -> bool {
    let scope = stack.types().scope;
    let of = |(def, rid, _): (Def, u32, u16)| scope.is_some_and(|scope| scope.library.is_scoped(def.module, rid, number));
    method.definition.is_some_and(of)
}

/// Checks that a method is valid for the instruction that calls it.
fn check_callee(
    stack: &mut EvalStack<'_>,
    opcode: OpCode,
    token: Token,
    method: &MethodRef,
    constrained: Option<StackValue>,
) -> Outcome {
    let context = stack.context;
    let broken = match opcode {
        OpCode::Newobj if !method.has_this => rule!("III.4.21-d"),
        OpCode::Newobj if !method.is_constructor => {
            stack.unverifiable(rule!("III.4.21-d/clr"), || context.full_name(token));
            return Ok(());
        }
        OpCode::Newobj if method.is_of_abstract => rule!("III.4.21-e"),
        OpCode::Callvirt if !method.has_this => rule!("III.4.2-a"),
        OpCode::Call if constrained.is_some() && method.has_this && method.is_abstract() => rule!("III.2.1-a"),
        OpCode::Call if constrained.is_none() && method.is_abstract() => rule!("III.3.19-b"),
        OpCode::Callvirt if is_value(stack, method) => {
            stack.unverifiable(rule!("III.4.2-b"), || context.full_name(token));
            return Ok(());
        }
        _ => return Ok(()),
    };
    Err(stack.error(broken, context.full_name(token)))
}

/// Whether a method is declared by a value type.
fn is_value(stack: &EvalStack<'_>, method: &MethodRef) -> bool {
    let types = stack.types();
    match method.owner.kind {
        ValueKind::Object => false,
        ValueKind::Unknown => types.may_be_boxed(method.owner.ty) && !types.is_parameter(method.owner.ty),
        _ => true,
    }
}

/// III.2.3: with `readonly.`, `Address` of an array gives a controlled-mutability pointer.
fn read_only(stack: &EvalStack<'_>, value: StackValue) -> StackValue {
    match stack.types().get(value.ty) {
        Type::ByRef(target) => StackValue { ty: stack.types().intern(Type::In(target)), ..value },
        _ => value,
    }
}

/// III.4.2, III.2.1: `this` is the declaring type, or a managed pointer to it for value types and constrained calls.
fn require_this(stack: &mut EvalStack<'_>, this: StackValue, owner: StackValue, constrained: Option<StackValue>) {
    let types = stack.types();
    let by_ref = |ty| StackValue::new(ValueKind::Ref, types.intern(Type::ReadOnly(ty)));
    match constrained {
        Some(constrained) => stack.require_assignable(this, by_ref(constrained.ty)),
        // If the type is absent, the value shows whether it is a value type.
        None if types.may_be_boxed(owner.ty) || owner.kind == ValueKind::Unknown && this.kind == ValueKind::Ref => {
            stack.require_assignable(this, by_ref(owner.ty));
        }
        None if this.kind != ValueKind::Native => stack.require_assignable(this, owner),
        None => {}
    }
}

/// Whether an operator accepts pointers (III.1.5, table 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pointers {
    None,
    Add,
    Subtract,
}

/// III.1.5, tables 2, 5 and 7: only the plain operators accept floats.
fn arithmetic(stack: &mut EvalStack<'_>, opcode: OpCode, pointers: Pointers) -> Outcome {
    use ValueKind::{Float, Int32, Native, Ref, Unknown};
    let takes_floats = matches!(opcode, OpCode::Add | OpCode::Sub | OpCode::Mul | OpCode::Div | OpCode::Rem);
    let (other, one) = (stack.pop()?.kind, stack.pop()?.kind);
    let result = match (one, other) {
        (ValueKind::Value | ValueKind::Object, _) | (_, ValueKind::Value | ValueKind::Object) => None,
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
        stack.unverifiable(rule!("III.1.5-a"), || format!("{} and {}", one.name(), other.name()));
    }
    if result.is_some() && (one == Ref || other == Ref) && stack.has_types() {
        stack.unverifiable(rule!("III.3-a"), || "arithmetic on a managed pointer".into());
    }
    stack.push_kind(result.unwrap_or(Unknown));
    Ok(())
}

/// III.1.5, table 4.
fn compare(stack: &mut EvalStack<'_>, opcode: OpCode) -> Outcome {
    use OpCode as Op;
    let (other, one) = (stack.pop()?.kind, stack.pop()?.kind);
    // Object references have no order. `cgt.un` may compare one with null.
    let is_of_objects = matches!(opcode, Op::Beq | Op::BeqS | Op::BneUn | Op::BneUnS | Op::Ceq | Op::CgtUn);
    let is_well = match (one, other) {
        (ValueKind::Value, _) => false,
        (ValueKind::Object, ValueKind::Object) => is_of_objects,
        _ => one.assignable_to(other) || other.assignable_to(one),
    };
    if !is_well {
        stack.unverifiable(rule!("III.1.5-a"), || format!("{} and {}", one.name(), other.name()));
    }
    Ok(())
}

fn is_comparing_branch(opcode: OpCode) -> bool {
    (OpCode::BeqS..=OpCode::BltUnS).contains(&opcode) || (OpCode::Beq..=OpCode::BltUn).contains(&opcode)
}

/// III.1.9: a token is of a table that the instruction accepts, and names an existing row.
fn check_token(stack: &EvalStack<'_>, instruction: &Instruction) -> Outcome {
    let token = Token(instruction.operand);
    let tables: &[Table] = match instruction.info.operand {
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
            let is_there = token.kind() == 0x70 && stack.context.metadata.user_strings.user_string(token.rid()).is_ok();
            return if is_there { Ok(()) } else { Err(stack.error(rule!("III.1.9-b"), token)) };
        }
        _ => return Ok(()),
    };
    if token.table().is_some_and(|table| tables.contains(&table)) && stack.context.is_row(token) {
        return Ok(());
    }
    Err(stack.error(rule!("III.1.9-a"), format_args!("{} {token}", instruction.info.name)))
}

/// III.2: the instructions that a prefix may precede, possibly with other prefixes between.
fn prefix(stack: &mut EvalStack<'_>, code: &Code, index: usize) -> Outcome {
    use OpCode as Op;
    let rest = code.instructions.get(index..).unwrap_or_default();
    let Some(prefix) = rest.first() else { return Ok(()) };
    let is_prefix = |instruction: &&Instruction| instruction.info.flow == Flow::Prefix;
    let Some(next) = rest.iter().find(|instruction| !is_prefix(instruction)) else { return Ok(()) };
    let opcode = next.info.opcode;
    let by_address = is_indirect(next.info);
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
        return Err(stack.error(rule!("III.2-a"), format_args!("{} {}", prefix.info.name, next.info.name)));
    }
    Ok(())
}

/// Whether the instruction is `ldind` or `stind`.
fn is_indirect(info: &OpCodeInfo) -> bool {
    matches!((info.implicit, info.popped), (Some(Implicit::Type(_)), [StackKind::Address, ..]))
}
