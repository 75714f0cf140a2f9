//! The instructions that load the arguments of a probe's calls.

use ecma335::{
    OpCode,
    cursor::put_compressed_u32,
    element::{ElementType, convention},
};

use crate::{
    batch::Batch,
    code::{Instruction, Operand},
    layout::{ldarg, ldarga, ldc_i4, ldloc, ldloca, stloc},
    prepared::Requested,
    probe::{Argument, Call, Load, OwnArgument, OwnCall, Returned, TypeToken, Value},
    token::TokenRequest,
};

/// The operands of the calls in a body.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'v> {
    pub(crate) values: &'v [Value<'v>],
    /// The local that keeps the enter call's return value.
    pub(crate) enter_result: Option<u16>,
    /// The method's own return value, as the leave call may take it.
    pub(crate) returned: Returned<'v>,
    /// Its type, and the local that holds it.
    pub(crate) return_type: &'v [u8],
    pub(crate) return_local: Option<u16>,
    /// A local for an exception, or for a stand-in of the return value.
    pub(crate) object_local: Option<u16>,
    pub(crate) site_constant: u64,
    /// The local that keeps the return value of the call before a site.
    pub(crate) site_result: Option<u16>,
    /// The local that keeps the return value of the first of the method's additional calls.
    pub(crate) kept: Option<u16>,
    /// The first local of those calls.
    pub(crate) own: u16,
}

impl Batch {
    /// Appends the instructions of a probe's call.
    pub(crate) fn put_call(
        &mut self,
        Requested { call, request }: Requested<'_>,
        operands: &Operands<'_>,
        out: &mut Vec<Instruction>,
    ) {
        for argument in &call.arguments {
            match argument {
                Argument::EnterResult => out.extend(operands.enter_result.map(ldloc)),
                Argument::Value(number) => operands.values.get(*number).into_iter().for_each(|value| self.put(*value, out)),
                Argument::SiteConstant => self.put(Value::Int64(operands.site_constant), out),
                Argument::SiteResult => out.extend(operands.site_result.map(ldloc)),
                Argument::ReturnValue => self.put_returned(call.is_generic(), operands, out),
                Argument::ReturnAddress => {
                    let is_none = operands.returned == Returned::Nothing;
                    out.extend(if is_none { operands.object_local } else { operands.return_local }.map(ldloca));
                }
                Argument::Exception => {
                    out.extend(operands.object_local.map(ldloc));
                    if let Some(class) = &call.exception {
                        out.push(self.with_type(OpCode::Isinst, &TypeToken::Asked(TokenRequest::TypeRef(class.clone()))));
                    }
                }
            }
        }
        let request = if call.is_generic() { self.ask(&instance(call, operands)) } else { request };
        let opcode = if let Some(address) = call.address {
            self.put(Value::Int64(address), out);
            out.push(plain(OpCode::ConvI));
            OpCode::Calli
        } else {
            OpCode::Call
        };
        out.push(Instruction::new(opcode, Operand::Request(request)));
    }

    /// Appends the instructions of the method's additional calls.
    pub(crate) fn put_own(&mut self, calls: &[OwnCall], operands: &Operands<'_>, out: &mut Vec<Instruction>) {
        calls.iter().for_each(|call| self.put_own_call(call, operands, out));
    }

    fn put_own_call(&mut self, OwnCall { method, arguments }: &OwnCall, operands: &Operands<'_>, out: &mut Vec<Instruction>) {
        for argument in arguments {
            match argument {
                OwnArgument::Int32(number) => out.push(ldc_i4(*number)),
                OwnArgument::Int64(number) => self.put(Value::Int64(*number), out),
                OwnArgument::Argument(number) => out.push(ldarg(*number)),
                OwnArgument::Address(number) => out.extend([ldarg(*number), plain(OpCode::ConvU8)]),
                OwnArgument::Kept => out.extend(operands.kept.map(ldloc)),
                OwnArgument::ReturnValue => out.extend(operands.return_local.map(ldloc)),
                OwnArgument::ReturnAddress => {
                    out.extend(operands.return_local.map(ldloc));
                    out.push(plain(OpCode::ConvU8));
                }
                OwnArgument::Exception => out.push(plain(OpCode::Dup)),
                OwnArgument::ArgumentLocation(number) => out.push(ldarga(*number)),
                OwnArgument::ReturnLocation => out.extend(operands.return_local.map(ldloca)),
                OwnArgument::Result(call) => self.put_own_call(call, operands, out),
                OwnArgument::Stored(local, call) => {
                    self.put_own_call(call, operands, out);
                    let local = operands.own + local;
                    out.extend([stloc(local), ldloca(local)]);
                }
            }
        }
        let number = self.ask(method);
        out.push(Instruction::new(OpCode::Call, Operand::Request(number)));
    }

    fn put_returned(&mut self, as_it_is: bool, operands: &Operands<'_>, out: &mut Vec<Instruction>) {
        match (operands.returned, operands.return_local) {
            (Returned::Nothing, _) | (_, None) => out.push(plain(OpCode::Ldnull)),
            (Returned::Value(boxed), Some(local)) if !as_it_is => out.extend([ldloc(local), self.with_type(OpCode::Box, boxed)]),
            (_, Some(local)) => out.push(ldloc(local)),
        }
    }

    fn put(&mut self, value: Value<'_>, out: &mut Vec<Instruction>) {
        match value {
            Value::Int64(number) => out.push(Instruction::new(OpCode::LdcI8, Operand::Value(number))),
            Value::String(text) => {
                let request = self.ask(&TokenRequest::UserString(text.to_owned()));
                out.push(Instruction::new(OpCode::Ldstr, Operand::Request(request)));
            }
            Value::Default(element) => out.push(match element {
                ElementType::I8 | ElementType::U8 => Instruction::new(OpCode::LdcI8, Operand::Value(0)),
                ElementType::R4 => Instruction::new(OpCode::LdcR4, Operand::Value(0)),
                ElementType::R8 => Instruction::new(OpCode::LdcR8, Operand::Value(0)),
                ElementType::Object | ElementType::String | ElementType::SzArray | ElementType::Class => plain(OpCode::Ldnull),
                _ => plain(OpCode::LdcI40),
            }),
            Value::Handle(token) => out.push(Instruction::new(OpCode::Ldtoken, Operand::Value(token.0.into()))),
            Value::Result(method) => {
                let request = self.ask(method);
                out.push(Instruction::new(OpCode::Call, Operand::Request(request)));
            }
            Value::Argument(load) => self.put_argument(load, out),
            Value::Arguments { object, loads } => {
                out.extend([ldc_i4(loads.len() as u32), self.with_type(OpCode::Newarr, object)]);
                for (place, load) in loads.iter().enumerate() {
                    if let Some(load) = load {
                        out.extend([plain(OpCode::Dup), ldc_i4(place as u32)]);
                        self.put_argument(load, out);
                        out.push(plain(OpCode::StelemRef));
                    }
                }
            }
        }
    }

    fn put_argument(&mut self, load: &Load, out: &mut Vec<Instruction>) {
        let Load { number, boxed, is_address, cast } = load;
        out.push(ldarg(*number));
        if let Some(boxed) = boxed {
            if *is_address {
                out.push(self.with_type(OpCode::Ldobj, boxed));
            }
            out.push(self.with_type(OpCode::Box, boxed));
        }
        if let Some(cast) = cast {
            out.push(self.with_type(OpCode::Isinst, cast));
        }
    }

    fn with_type(&mut self, opcode: OpCode, ty: &TypeToken) -> Instruction {
        Instruction::new(
            opcode,
            match ty {
                TypeToken::Known(token) => Operand::Value(token.0.into()),
                TypeToken::Asked(request) => Operand::Request(self.ask(request)),
            },
        )
    }
}

/// The instance of a generic probe method for the type of the return value.
fn instance(call: &Call, operands: &Operands<'_>) -> TokenRequest {
    let mut instantiation = vec![convention::GENERIC_INST];
    put_compressed_u32(&mut instantiation, 1);
    if operands.returned == Returned::Nothing {
        instantiation.push(ElementType::Object as u8);
    } else {
        instantiation.extend_from_slice(operands.return_type);
    }
    TokenRequest::MethodSpec(call.method.clone(), instantiation)
}

fn plain(opcode: OpCode) -> Instruction {
    Instruction::new(opcode, Operand::Value(0))
}
