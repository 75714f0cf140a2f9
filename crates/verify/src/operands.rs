//! What each instruction takes and gives (III.1.5, III.3, III.4).

use ecma335::{OpCode, Table, Token, opcode::Operand};

use crate::{
    body::{Code, Method, Step},
    kind::Kind,
    rule::rule,
    stack::{Machine, Stop},
};

type Outcome = Result<(), Stop>;

/// Applies one instruction to the stack.
pub(crate) fn apply(machine: &mut Machine<'_, '_, '_>, method: &Method<'_>, code: &Code, index: usize) -> Outcome {
    let Some(step) = code.steps.get(index) else { return Ok(()) };
    check_token(machine, step)?;
    effect(machine, method, code, index, step)
}

fn effect(machine: &mut Machine<'_, '_, '_>, method: &Method<'_>, code: &Code, index: usize, step: &Step) -> Outcome {
    use OpCode as Op;
    let token = Token(step.operand);
    match step.info.opcode {
        Op::Nop | Op::Break | Op::Br | Op::BrS | Op::Leave | Op::LeaveS | Op::Endfinally | Op::Rethrow => {}
        Op::Unaligned | Op::Volatile | Op::Tail | Op::Constrained | Op::Readonly | Op::No => check_prefix(machine, code, index)?,
        Op::Ldarg0 | Op::Ldarg1 | Op::Ldarg2 | Op::Ldarg3 | Op::LdargS | Op::Ldarg => {
            push_one_of(machine, &method.args, number(step))?;
        }
        Op::Ldloc0 | Op::Ldloc1 | Op::Ldloc2 | Op::Ldloc3 | Op::LdlocS | Op::Ldloc => {
            push_one_of(machine, &method.locals, number(step))?;
        }
        Op::LdargaS | Op::Ldarga => push_address(machine, &method.args, number(step))?,
        Op::LdlocaS | Op::Ldloca => push_address(machine, &method.locals, number(step))?,
        Op::StargS | Op::Starg => pop_one_of(machine, &method.args, number(step))?,
        Op::Stloc0 | Op::Stloc1 | Op::Stloc2 | Op::Stloc3 | Op::StlocS | Op::Stloc => {
            pop_one_of(machine, &method.locals, number(step))?;
        }
        Op::Dup => {
            let kind = machine.pop()?;
            machine.push(kind);
            machine.push(kind);
        }
        Op::Pop => drop(machine.pop()?),
        Op::Ret => {
            if let Some(returned) = method.returned {
                machine.pop_as(returned)?;
            }
            if !machine.stack.is_empty() {
                let left = machine.stack.len();
                machine.doubt(rule!("III.1.7.5-c"), || format!("{left} values"));
            }
        }
        Op::Jmp => machine.doubt(rule!("III.3-a"), || "jmp".into()),
        Op::Call | Op::Callvirt | Op::Newobj | Op::Calli => call(machine, step.info.opcode, token)?,
        Op::Throw => machine.pop_as(Kind::Object)?,
        Op::Endfilter | Op::Switch => machine.pop_as(Kind::Int32)?,
        Op::Brfalse | Op::BrfalseS | Op::Brtrue | Op::BrtrueS => {
            machine.pop_where(|kind| !matches!(kind, Kind::Float | Kind::Value), "a number or reference")?;
        }
        opcode if is_comparing_branch(opcode) => compare(machine)?,
        Op::Ceq | Op::Cgt | Op::CgtUn | Op::Clt | Op::CltUn => {
            compare(machine)?;
            machine.push(Kind::Int32);
        }
        opcode @ (Op::Add | Op::AddOvf | Op::AddOvfUn) => arithmetic(machine, opcode, Pointers::Add)?,
        opcode @ (Op::Sub | Op::SubOvf | Op::SubOvfUn) => arithmetic(machine, opcode, Pointers::Subtract)?,
        opcode @ (Op::Mul | Op::Div | Op::Rem | Op::MulOvf | Op::MulOvfUn) => arithmetic(machine, opcode, Pointers::None)?,
        opcode @ (Op::DivUn | Op::RemUn | Op::And | Op::Or | Op::Xor) => arithmetic(machine, opcode, Pointers::None)?,
        Op::Shl | Op::Shr | Op::ShrUn => {
            machine.pop_where(Kind::is_index, "int32 or native int")?;
            let kind = machine.pop()?;
            expect(machine, kind.is_integer(), kind, "an integer");
            machine.push(kind);
        }
        Op::Neg | Op::Not | Op::Ckfinite => {
            let kind = machine.pop()?;
            let is_well = kind.is_integer() || kind == Kind::Float && step.info.opcode != Op::Not;
            expect(machine, is_well, kind, "a number");
            machine.push(kind);
        }
        Op::Localloc => {
            machine.pop_where(Kind::is_index, "a size")?;
            machine.doubt(rule!("III.3-a"), || "localloc".into());
            machine.push(Kind::Native);
        }
        Op::Cpblk | Op::Initblk => {
            machine.pop_where(Kind::is_index, "a size")?;
            let is_copy = step.info.opcode == Op::Cpblk;
            machine.pop_where(|kind| if is_copy { kind.is_address() } else { kind.is_index() }, "a source")?;
            machine.pop_where(Kind::is_address, "an address")?;
            machine.doubt(rule!("III.3-a"), || step.info.name.into());
        }
        _ => objects(machine, step, token)?,
    }
    Ok(())
}

/// The instructions of III.4, those that load and store by address, constants and conversions: a fixed number of operands
/// each, of which the name tells the kinds.
fn objects(machine: &mut Machine<'_, '_, '_>, step: &Step, token: Token) -> Outcome {
    use OpCode as Op;
    let of_type = |machine: &Machine<'_, '_, '_>| Kind::of_token(machine.context, token);
    match step.info.opcode {
        Op::Ldobj => {
            pop_address(machine)?;
            let kind = of_type(machine);
            machine.push(kind);
        }
        Op::Stobj => {
            let kind = of_type(machine);
            machine.pop_as(kind)?;
            pop_address(machine)?;
        }
        Op::Cpobj => {
            pop_address(machine)?;
            pop_address(machine)?;
        }
        Op::Initobj => pop_address(machine)?,
        Op::Box => {
            let kind = of_type(machine);
            machine.pop_as(kind)?;
            machine.push(Kind::Object);
        }
        Op::UnboxAny => {
            machine.pop_as(Kind::Object)?;
            let kind = of_type(machine);
            machine.push(kind);
        }
        Op::Ldfld | Op::Ldflda => {
            let object = machine.pop()?;
            expect(machine, !matches!(object, Kind::Int32 | Kind::Int64 | Kind::Float), object, "an object or address");
            let held = field(machine, token)?;
            let address = if object == Kind::Native { Kind::Native } else { Kind::Ref };
            machine.push(if step.info.opcode == Op::Ldfld { held } else { address });
        }
        Op::Stfld => {
            let held = field(machine, token)?;
            machine.pop_as(held)?;
            machine.pop_where(|kind| kind.is_address() || kind == Kind::Object, "an object or address")?;
        }
        Op::Ldsfld => {
            let held = field(machine, token)?;
            machine.push(held);
        }
        Op::Ldsflda => {
            field(machine, token)?;
            machine.push(Kind::Ref);
        }
        Op::Stsfld => {
            let held = field(machine, token)?;
            machine.pop_as(held)?;
        }
        Op::Ldelem => {
            pop_element(machine)?;
            let kind = of_type(machine);
            machine.push(kind);
        }
        Op::Stelem => {
            let kind = of_type(machine);
            machine.pop_as(kind)?;
            pop_element(machine)?;
        }
        _ => by_name(machine, step)?,
    }
    Ok(())
}

/// What the name of an instruction says of its operands: `ldind.i4`, `conv.u8`, `stelem.ref`.
fn by_name(machine: &mut Machine<'_, '_, '_>, step: &Step) -> Outcome {
    let name = step.info.name;
    let (family, rest) = name.split_once('.').unwrap_or((name, ""));
    match family {
        "ldc" => machine.push(named_kind(rest.get(..2).unwrap_or_default())),
        "ldind" => {
            pop_address(machine)?;
            machine.push(named_kind(rest));
        }
        "stind" => {
            machine.pop_as(named_kind(rest))?;
            pop_address(machine)?;
        }
        "ldelem" => {
            pop_element(machine)?;
            machine.push(named_kind(rest));
        }
        "stelem" => {
            machine.pop_as(named_kind(rest))?;
            pop_element(machine)?;
        }
        "conv" => {
            let kind = machine.pop()?;
            expect(machine, !matches!(kind, Kind::Value), kind, "a number");
            if matches!(kind, Kind::Ref | Kind::Object) {
                machine.doubt(rule!("III.3-a"), || format!("{name} of {}", kind.name()));
            }
            let target = rest.trim_start_matches("ovf.").trim_end_matches(".un");
            machine.push(if rest == "r.un" { Kind::Float } else { named_kind(target) });
        }
        "ldnull" | "ldstr" => machine.push(Kind::Object),
        "castclass" | "isinst" => {
            machine.pop_as(Kind::Object)?;
            machine.push(Kind::Object);
        }
        "newarr" => {
            machine.pop_where(Kind::is_index, "a length")?;
            machine.push(Kind::Object);
        }
        "ldlen" => {
            machine.pop_as(Kind::Object)?;
            machine.push(Kind::Native);
        }
        "ldelema" => {
            pop_element(machine)?;
            machine.push(Kind::Ref);
        }
        "unbox" => {
            machine.pop_as(Kind::Object)?;
            machine.push(Kind::Ref);
        }
        "ldftn" => machine.push(Kind::Native),
        "ldvirtftn" => {
            machine.pop_as(Kind::Object)?;
            machine.push(Kind::Native);
        }
        "mkrefany" => {
            pop_address(machine)?;
            machine.push(Kind::Value);
        }
        "refanyval" => {
            machine.pop_as(Kind::Value)?;
            machine.push(Kind::Ref);
        }
        "refanytype" => {
            machine.pop_as(Kind::Value)?;
            machine.push(Kind::Value);
        }
        "ldtoken" | "arglist" => machine.push(Kind::Value),
        "sizeof" => machine.push(Kind::Int32),
        _ => {
            // All are above; whatever comes here keeps the depth that the table states.
            (0..step.info.pops.max(0)).try_for_each(|_| machine.pop().map(drop))?;
            (0..step.info.pushes.max(0)).for_each(|_| machine.push(Kind::Unknown));
        }
    }
    Ok(())
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

/// The number of an argument or local variable.
fn number(step: &Step) -> usize {
    match step.info.operand {
        // `ldarg.0` to `stloc.3` have it in their names.
        Operand::None => step.info.name.bytes().last().map_or(0, |digit| usize::from(digit.wrapping_sub(b'0'))),
        _ => step.operand as usize,
    }
}

fn one_of(machine: &Machine<'_, '_, '_>, kinds: &[Kind], number: usize) -> Result<Kind, Stop> {
    kinds.get(number).copied().ok_or_else(|| machine.error(rule!("III.1.9-c"), format_args!("{number} of {}", kinds.len())))
}

fn push_one_of(machine: &mut Machine<'_, '_, '_>, kinds: &[Kind], number: usize) -> Outcome {
    let kind = one_of(machine, kinds, number)?;
    machine.push(kind);
    Ok(())
}

fn push_address(machine: &mut Machine<'_, '_, '_>, kinds: &[Kind], number: usize) -> Outcome {
    one_of(machine, kinds, number)?;
    machine.push(Kind::Ref);
    Ok(())
}

fn pop_one_of(machine: &mut Machine<'_, '_, '_>, kinds: &[Kind], number: usize) -> Outcome {
    let kind = one_of(machine, kinds, number)?;
    machine.pop_as(kind)
}

fn pop_address(machine: &mut Machine<'_, '_, '_>) -> Outcome {
    let kind = machine.pop()?;
    expect(machine, kind.is_address(), kind, "an address");
    if kind == Kind::Native {
        machine.doubt(rule!("III.3-a"), || "by an unmanaged pointer".into());
    }
    Ok(())
}

/// Takes an index and an array.
fn pop_element(machine: &mut Machine<'_, '_, '_>) -> Outcome {
    machine.pop_where(Kind::is_index, "an index")?;
    machine.pop_as(Kind::Object)
}

fn expect(machine: &mut Machine<'_, '_, '_>, is_well: bool, kind: Kind, wanted: &str) {
    if !is_well {
        machine.doubt(rule!("III.1.5-b"), || format!("{} where {wanted} is needed", kind.name()));
    }
}

fn field(machine: &Machine<'_, '_, '_>, token: Token) -> Result<Kind, Stop> {
    machine.callees.field(token).ok_or_else(|| machine.error(rule!("III.1.9-a"), format_args!("{token} is no field")))
}

fn call(machine: &mut Machine<'_, '_, '_>, opcode: OpCode, token: Token) -> Outcome {
    let Some(call) = machine.callees.call(token) else {
        return Err(machine.error(rule!("III.1.9-a"), format_args!("{token} cannot be called")));
    };
    if opcode == OpCode::Calli {
        machine.pop_as(Kind::Native)?;
        machine.doubt(rule!("III.3-a"), || "calli".into());
    }
    call.params.iter().rev().try_for_each(|param| machine.pop_as(*param))?;
    if opcode == OpCode::Newobj {
        machine.push(call.made);
        return Ok(());
    }
    if call.has_this {
        machine.pop_where(|kind| kind.is_address() || kind == Kind::Object, "this")?;
    }
    if let Some(returned) = call.returned {
        machine.push(returned);
    }
    Ok(())
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
    let (other, one) = (machine.pop()?, machine.pop()?);
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
    machine.push(result.unwrap_or(Unknown));
    Ok(())
}

/// III.1.5, table 4.
fn compare(machine: &mut Machine<'_, '_, '_>) -> Outcome {
    let (other, one) = (machine.pop()?, machine.pop()?);
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
fn check_prefix(machine: &Machine<'_, '_, '_>, code: &Code, index: usize) -> Outcome {
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
    if is_well { Ok(()) } else { Err(machine.error(rule!("III.2-a"), format_args!("{} {}", prefix.info.name, next.info.name))) }
}
