//! Every opcode of Partition III, stated once: bytes, name, operand, stack effect, flow.

use std::fmt;

/// `name = bytes "assembler name" operand (pops -> pushes) flow`; `var` means that the operand's signature decides.
macro_rules! for_each_opcode {
    ($then:ident) => {
        $then! {
            Nop         = 0x00   "nop"            None    (  0 -> 0  ) Next
            Break       = 0x01   "break"          None    (  0 -> 0  ) Next
            Ldarg0      = 0x02   "ldarg.0"        None    (  0 -> 1  ) Next
            Ldarg1      = 0x03   "ldarg.1"        None    (  0 -> 1  ) Next
            Ldarg2      = 0x04   "ldarg.2"        None    (  0 -> 1  ) Next
            Ldarg3      = 0x05   "ldarg.3"        None    (  0 -> 1  ) Next
            Ldloc0      = 0x06   "ldloc.0"        None    (  0 -> 1  ) Next
            Ldloc1      = 0x07   "ldloc.1"        None    (  0 -> 1  ) Next
            Ldloc2      = 0x08   "ldloc.2"        None    (  0 -> 1  ) Next
            Ldloc3      = 0x09   "ldloc.3"        None    (  0 -> 1  ) Next
            Stloc0      = 0x0A   "stloc.0"        None    (  1 -> 0  ) Next
            Stloc1      = 0x0B   "stloc.1"        None    (  1 -> 0  ) Next
            Stloc2      = 0x0C   "stloc.2"        None    (  1 -> 0  ) Next
            Stloc3      = 0x0D   "stloc.3"        None    (  1 -> 0  ) Next
            LdargS      = 0x0E   "ldarg.s"        VarS    (  0 -> 1  ) Next
            LdargaS     = 0x0F   "ldarga.s"       VarS    (  0 -> 1  ) Next
            StargS      = 0x10   "starg.s"        VarS    (  1 -> 0  ) Next
            LdlocS      = 0x11   "ldloc.s"        VarS    (  0 -> 1  ) Next
            LdlocaS     = 0x12   "ldloca.s"       VarS    (  0 -> 1  ) Next
            StlocS      = 0x13   "stloc.s"        VarS    (  1 -> 0  ) Next
            Ldnull      = 0x14   "ldnull"         None    (  0 -> 1  ) Next
            LdcI4M1     = 0x15   "ldc.i4.m1"      None    (  0 -> 1  ) Next
            LdcI40      = 0x16   "ldc.i4.0"       None    (  0 -> 1  ) Next
            LdcI41      = 0x17   "ldc.i4.1"       None    (  0 -> 1  ) Next
            LdcI42      = 0x18   "ldc.i4.2"       None    (  0 -> 1  ) Next
            LdcI43      = 0x19   "ldc.i4.3"       None    (  0 -> 1  ) Next
            LdcI44      = 0x1A   "ldc.i4.4"       None    (  0 -> 1  ) Next
            LdcI45      = 0x1B   "ldc.i4.5"       None    (  0 -> 1  ) Next
            LdcI46      = 0x1C   "ldc.i4.6"       None    (  0 -> 1  ) Next
            LdcI47      = 0x1D   "ldc.i4.7"       None    (  0 -> 1  ) Next
            LdcI48      = 0x1E   "ldc.i4.8"       None    (  0 -> 1  ) Next
            LdcI4S      = 0x1F   "ldc.i4.s"       I1      (  0 -> 1  ) Next
            LdcI4       = 0x20   "ldc.i4"         I4      (  0 -> 1  ) Next
            LdcI8       = 0x21   "ldc.i8"         I8      (  0 -> 1  ) Next
            LdcR4       = 0x22   "ldc.r4"         R4      (  0 -> 1  ) Next
            LdcR8       = 0x23   "ldc.r8"         R8      (  0 -> 1  ) Next
            Dup         = 0x25   "dup"            None    (  1 -> 2  ) Next
            Pop         = 0x26   "pop"            None    (  1 -> 0  ) Next
            Jmp         = 0x27   "jmp"            Method  (  0 -> 0  ) Return
            Call        = 0x28   "call"           Method  (var -> var) Call
            Calli       = 0x29   "calli"          Sig     (var -> var) Call
            Ret         = 0x2A   "ret"            None    (var -> 0  ) Return
            BrS         = 0x2B   "br.s"           BranchS (  0 -> 0  ) Branch
            BrfalseS    = 0x2C   "brfalse.s"      BranchS (  1 -> 0  ) CondBranch
            BrtrueS     = 0x2D   "brtrue.s"       BranchS (  1 -> 0  ) CondBranch
            BeqS        = 0x2E   "beq.s"          BranchS (  2 -> 0  ) CondBranch
            BgeS        = 0x2F   "bge.s"          BranchS (  2 -> 0  ) CondBranch
            BgtS        = 0x30   "bgt.s"          BranchS (  2 -> 0  ) CondBranch
            BleS        = 0x31   "ble.s"          BranchS (  2 -> 0  ) CondBranch
            BltS        = 0x32   "blt.s"          BranchS (  2 -> 0  ) CondBranch
            BneUnS      = 0x33   "bne.un.s"       BranchS (  2 -> 0  ) CondBranch
            BgeUnS      = 0x34   "bge.un.s"       BranchS (  2 -> 0  ) CondBranch
            BgtUnS      = 0x35   "bgt.un.s"       BranchS (  2 -> 0  ) CondBranch
            BleUnS      = 0x36   "ble.un.s"       BranchS (  2 -> 0  ) CondBranch
            BltUnS      = 0x37   "blt.un.s"       BranchS (  2 -> 0  ) CondBranch
            Br          = 0x38   "br"             Branch  (  0 -> 0  ) Branch
            Brfalse     = 0x39   "brfalse"        Branch  (  1 -> 0  ) CondBranch
            Brtrue      = 0x3A   "brtrue"         Branch  (  1 -> 0  ) CondBranch
            Beq         = 0x3B   "beq"            Branch  (  2 -> 0  ) CondBranch
            Bge         = 0x3C   "bge"            Branch  (  2 -> 0  ) CondBranch
            Bgt         = 0x3D   "bgt"            Branch  (  2 -> 0  ) CondBranch
            Ble         = 0x3E   "ble"            Branch  (  2 -> 0  ) CondBranch
            Blt         = 0x3F   "blt"            Branch  (  2 -> 0  ) CondBranch
            BneUn       = 0x40   "bne.un"         Branch  (  2 -> 0  ) CondBranch
            BgeUn       = 0x41   "bge.un"         Branch  (  2 -> 0  ) CondBranch
            BgtUn       = 0x42   "bgt.un"         Branch  (  2 -> 0  ) CondBranch
            BleUn       = 0x43   "ble.un"         Branch  (  2 -> 0  ) CondBranch
            BltUn       = 0x44   "blt.un"         Branch  (  2 -> 0  ) CondBranch
            Switch      = 0x45   "switch"         Switch  (  1 -> 0  ) CondBranch
            LdindI1     = 0x46   "ldind.i1"       None    (  1 -> 1  ) Next
            LdindU1     = 0x47   "ldind.u1"       None    (  1 -> 1  ) Next
            LdindI2     = 0x48   "ldind.i2"       None    (  1 -> 1  ) Next
            LdindU2     = 0x49   "ldind.u2"       None    (  1 -> 1  ) Next
            LdindI4     = 0x4A   "ldind.i4"       None    (  1 -> 1  ) Next
            LdindU4     = 0x4B   "ldind.u4"       None    (  1 -> 1  ) Next
            LdindI8     = 0x4C   "ldind.i8"       None    (  1 -> 1  ) Next
            LdindI      = 0x4D   "ldind.i"        None    (  1 -> 1  ) Next
            LdindR4     = 0x4E   "ldind.r4"       None    (  1 -> 1  ) Next
            LdindR8     = 0x4F   "ldind.r8"       None    (  1 -> 1  ) Next
            LdindRef    = 0x50   "ldind.ref"      None    (  1 -> 1  ) Next
            StindRef    = 0x51   "stind.ref"      None    (  2 -> 0  ) Next
            StindI1     = 0x52   "stind.i1"       None    (  2 -> 0  ) Next
            StindI2     = 0x53   "stind.i2"       None    (  2 -> 0  ) Next
            StindI4     = 0x54   "stind.i4"       None    (  2 -> 0  ) Next
            StindI8     = 0x55   "stind.i8"       None    (  2 -> 0  ) Next
            StindR4     = 0x56   "stind.r4"       None    (  2 -> 0  ) Next
            StindR8     = 0x57   "stind.r8"       None    (  2 -> 0  ) Next
            Add         = 0x58   "add"            None    (  2 -> 1  ) Next
            Sub         = 0x59   "sub"            None    (  2 -> 1  ) Next
            Mul         = 0x5A   "mul"            None    (  2 -> 1  ) Next
            Div         = 0x5B   "div"            None    (  2 -> 1  ) Next
            DivUn       = 0x5C   "div.un"         None    (  2 -> 1  ) Next
            Rem         = 0x5D   "rem"            None    (  2 -> 1  ) Next
            RemUn       = 0x5E   "rem.un"         None    (  2 -> 1  ) Next
            And         = 0x5F   "and"            None    (  2 -> 1  ) Next
            Or          = 0x60   "or"             None    (  2 -> 1  ) Next
            Xor         = 0x61   "xor"            None    (  2 -> 1  ) Next
            Shl         = 0x62   "shl"            None    (  2 -> 1  ) Next
            Shr         = 0x63   "shr"            None    (  2 -> 1  ) Next
            ShrUn       = 0x64   "shr.un"         None    (  2 -> 1  ) Next
            Neg         = 0x65   "neg"            None    (  1 -> 1  ) Next
            Not         = 0x66   "not"            None    (  1 -> 1  ) Next
            ConvI1      = 0x67   "conv.i1"        None    (  1 -> 1  ) Next
            ConvI2      = 0x68   "conv.i2"        None    (  1 -> 1  ) Next
            ConvI4      = 0x69   "conv.i4"        None    (  1 -> 1  ) Next
            ConvI8      = 0x6A   "conv.i8"        None    (  1 -> 1  ) Next
            ConvR4      = 0x6B   "conv.r4"        None    (  1 -> 1  ) Next
            ConvR8      = 0x6C   "conv.r8"        None    (  1 -> 1  ) Next
            ConvU4      = 0x6D   "conv.u4"        None    (  1 -> 1  ) Next
            ConvU8      = 0x6E   "conv.u8"        None    (  1 -> 1  ) Next
            Callvirt    = 0x6F   "callvirt"       Method  (var -> var) Call
            Cpobj       = 0x70   "cpobj"          Type    (  2 -> 0  ) Next
            Ldobj       = 0x71   "ldobj"          Type    (  1 -> 1  ) Next
            Ldstr       = 0x72   "ldstr"          String  (  0 -> 1  ) Next
            Newobj      = 0x73   "newobj"         Method  (var -> 1  ) Call
            Castclass   = 0x74   "castclass"      Type    (  1 -> 1  ) Next
            Isinst      = 0x75   "isinst"         Type    (  1 -> 1  ) Next
            ConvRUn     = 0x76   "conv.r.un"      None    (  1 -> 1  ) Next
            Unbox       = 0x79   "unbox"          Type    (  1 -> 1  ) Next
            Throw       = 0x7A   "throw"          None    (  1 -> 0  ) Throw
            Ldfld       = 0x7B   "ldfld"          Field   (  1 -> 1  ) Next
            Ldflda      = 0x7C   "ldflda"         Field   (  1 -> 1  ) Next
            Stfld       = 0x7D   "stfld"          Field   (  2 -> 0  ) Next
            Ldsfld      = 0x7E   "ldsfld"         Field   (  0 -> 1  ) Next
            Ldsflda     = 0x7F   "ldsflda"        Field   (  0 -> 1  ) Next
            Stsfld      = 0x80   "stsfld"         Field   (  1 -> 0  ) Next
            Stobj       = 0x81   "stobj"          Type    (  2 -> 0  ) Next
            ConvOvfI1Un = 0x82   "conv.ovf.i1.un" None    (  1 -> 1  ) Next
            ConvOvfI2Un = 0x83   "conv.ovf.i2.un" None    (  1 -> 1  ) Next
            ConvOvfI4Un = 0x84   "conv.ovf.i4.un" None    (  1 -> 1  ) Next
            ConvOvfI8Un = 0x85   "conv.ovf.i8.un" None    (  1 -> 1  ) Next
            ConvOvfU1Un = 0x86   "conv.ovf.u1.un" None    (  1 -> 1  ) Next
            ConvOvfU2Un = 0x87   "conv.ovf.u2.un" None    (  1 -> 1  ) Next
            ConvOvfU4Un = 0x88   "conv.ovf.u4.un" None    (  1 -> 1  ) Next
            ConvOvfU8Un = 0x89   "conv.ovf.u8.un" None    (  1 -> 1  ) Next
            ConvOvfIUn  = 0x8A   "conv.ovf.i.un"  None    (  1 -> 1  ) Next
            ConvOvfUUn  = 0x8B   "conv.ovf.u.un"  None    (  1 -> 1  ) Next
            Box         = 0x8C   "box"            Type    (  1 -> 1  ) Next
            Newarr      = 0x8D   "newarr"         Type    (  1 -> 1  ) Next
            Ldlen       = 0x8E   "ldlen"          None    (  1 -> 1  ) Next
            Ldelema     = 0x8F   "ldelema"        Type    (  2 -> 1  ) Next
            LdelemI1    = 0x90   "ldelem.i1"      None    (  2 -> 1  ) Next
            LdelemU1    = 0x91   "ldelem.u1"      None    (  2 -> 1  ) Next
            LdelemI2    = 0x92   "ldelem.i2"      None    (  2 -> 1  ) Next
            LdelemU2    = 0x93   "ldelem.u2"      None    (  2 -> 1  ) Next
            LdelemI4    = 0x94   "ldelem.i4"      None    (  2 -> 1  ) Next
            LdelemU4    = 0x95   "ldelem.u4"      None    (  2 -> 1  ) Next
            LdelemI8    = 0x96   "ldelem.i8"      None    (  2 -> 1  ) Next
            LdelemI     = 0x97   "ldelem.i"       None    (  2 -> 1  ) Next
            LdelemR4    = 0x98   "ldelem.r4"      None    (  2 -> 1  ) Next
            LdelemR8    = 0x99   "ldelem.r8"      None    (  2 -> 1  ) Next
            LdelemRef   = 0x9A   "ldelem.ref"     None    (  2 -> 1  ) Next
            StelemI     = 0x9B   "stelem.i"       None    (  3 -> 0  ) Next
            StelemI1    = 0x9C   "stelem.i1"      None    (  3 -> 0  ) Next
            StelemI2    = 0x9D   "stelem.i2"      None    (  3 -> 0  ) Next
            StelemI4    = 0x9E   "stelem.i4"      None    (  3 -> 0  ) Next
            StelemI8    = 0x9F   "stelem.i8"      None    (  3 -> 0  ) Next
            StelemR4    = 0xA0   "stelem.r4"      None    (  3 -> 0  ) Next
            StelemR8    = 0xA1   "stelem.r8"      None    (  3 -> 0  ) Next
            StelemRef   = 0xA2   "stelem.ref"     None    (  3 -> 0  ) Next
            Ldelem      = 0xA3   "ldelem"         Type    (  2 -> 1  ) Next
            Stelem      = 0xA4   "stelem"         Type    (  3 -> 0  ) Next
            UnboxAny    = 0xA5   "unbox.any"      Type    (  1 -> 1  ) Next
            ConvOvfI1   = 0xB3   "conv.ovf.i1"    None    (  1 -> 1  ) Next
            ConvOvfU1   = 0xB4   "conv.ovf.u1"    None    (  1 -> 1  ) Next
            ConvOvfI2   = 0xB5   "conv.ovf.i2"    None    (  1 -> 1  ) Next
            ConvOvfU2   = 0xB6   "conv.ovf.u2"    None    (  1 -> 1  ) Next
            ConvOvfI4   = 0xB7   "conv.ovf.i4"    None    (  1 -> 1  ) Next
            ConvOvfU4   = 0xB8   "conv.ovf.u4"    None    (  1 -> 1  ) Next
            ConvOvfI8   = 0xB9   "conv.ovf.i8"    None    (  1 -> 1  ) Next
            ConvOvfU8   = 0xBA   "conv.ovf.u8"    None    (  1 -> 1  ) Next
            Refanyval   = 0xC2   "refanyval"      Type    (  1 -> 1  ) Next
            Ckfinite    = 0xC3   "ckfinite"       None    (  1 -> 1  ) Next
            Mkrefany    = 0xC6   "mkrefany"       Type    (  1 -> 1  ) Next
            Ldtoken     = 0xD0   "ldtoken"        Token   (  0 -> 1  ) Next
            ConvU2      = 0xD1   "conv.u2"        None    (  1 -> 1  ) Next
            ConvU1      = 0xD2   "conv.u1"        None    (  1 -> 1  ) Next
            ConvI       = 0xD3   "conv.i"         None    (  1 -> 1  ) Next
            ConvOvfI    = 0xD4   "conv.ovf.i"     None    (  1 -> 1  ) Next
            ConvOvfU    = 0xD5   "conv.ovf.u"     None    (  1 -> 1  ) Next
            AddOvf      = 0xD6   "add.ovf"        None    (  2 -> 1  ) Next
            AddOvfUn    = 0xD7   "add.ovf.un"     None    (  2 -> 1  ) Next
            MulOvf      = 0xD8   "mul.ovf"        None    (  2 -> 1  ) Next
            MulOvfUn    = 0xD9   "mul.ovf.un"     None    (  2 -> 1  ) Next
            SubOvf      = 0xDA   "sub.ovf"        None    (  2 -> 1  ) Next
            SubOvfUn    = 0xDB   "sub.ovf.un"     None    (  2 -> 1  ) Next
            Endfinally  = 0xDC   "endfinally"     None    (  0 -> 0  ) Return
            Leave       = 0xDD   "leave"          Branch  (  0 -> 0  ) Branch
            LeaveS      = 0xDE   "leave.s"        BranchS (  0 -> 0  ) Branch
            StindI      = 0xDF   "stind.i"        None    (  2 -> 0  ) Next
            ConvU       = 0xE0   "conv.u"         None    (  1 -> 1  ) Next
            Arglist     = 0xFE00 "arglist"        None    (  0 -> 1  ) Next
            Ceq         = 0xFE01 "ceq"            None    (  2 -> 1  ) Next
            Cgt         = 0xFE02 "cgt"            None    (  2 -> 1  ) Next
            CgtUn       = 0xFE03 "cgt.un"         None    (  2 -> 1  ) Next
            Clt         = 0xFE04 "clt"            None    (  2 -> 1  ) Next
            CltUn       = 0xFE05 "clt.un"         None    (  2 -> 1  ) Next
            Ldftn       = 0xFE06 "ldftn"          Method  (  0 -> 1  ) Next
            Ldvirtftn   = 0xFE07 "ldvirtftn"      Method  (  1 -> 1  ) Next
            Ldarg       = 0xFE09 "ldarg"          Var     (  0 -> 1  ) Next
            Ldarga      = 0xFE0A "ldarga"         Var     (  0 -> 1  ) Next
            Starg       = 0xFE0B "starg"          Var     (  1 -> 0  ) Next
            Ldloc       = 0xFE0C "ldloc"          Var     (  0 -> 1  ) Next
            Ldloca      = 0xFE0D "ldloca"         Var     (  0 -> 1  ) Next
            Stloc       = 0xFE0E "stloc"          Var     (  1 -> 0  ) Next
            Localloc    = 0xFE0F "localloc"       None    (  1 -> 1  ) Next
            Endfilter   = 0xFE11 "endfilter"      None    (  1 -> 0  ) Return
            Unaligned   = 0xFE12 "unaligned."     I1      (  0 -> 0  ) Prefix
            Volatile    = 0xFE13 "volatile."      None    (  0 -> 0  ) Prefix
            Tail        = 0xFE14 "tail."          None    (  0 -> 0  ) Prefix
            Initobj     = 0xFE15 "initobj"        Type    (  1 -> 0  ) Next
            Constrained = 0xFE16 "constrained."   Type    (  0 -> 0  ) Prefix
            Cpblk       = 0xFE17 "cpblk"          None    (  3 -> 0  ) Next
            Initblk     = 0xFE18 "initblk"        None    (  3 -> 0  ) Next
            No          = 0xFE19 "no."            I1      (  0 -> 0  ) Prefix
            Rethrow     = 0xFE1A "rethrow"        None    (  0 -> 0  ) Throw
            Sizeof      = 0xFE1C "sizeof"         Type    (  0 -> 1  ) Next
            Refanytype  = 0xFE1D "refanytype"     None    (  1 -> 1  ) Next
            Readonly    = 0xFE1E "readonly."      None    (  0 -> 0  ) Prefix
        }
    };
}

/// The operand that follows an opcode's bytes (III.1.9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// Nothing.
    None,
    /// One byte: a signed constant, or the flags of `no.` and `unaligned.`.
    I1,
    /// A 32-bit constant.
    I4,
    /// A 64-bit constant.
    I8,
    /// A 32-bit float.
    R4,
    /// A 64-bit float.
    R8,
    /// An argument or local number of one byte.
    VarS,
    /// An argument or local number of two bytes.
    Var,
    /// A branch distance of one byte.
    BranchS,
    /// A branch distance of four bytes.
    Branch,
    /// A count, then as many four-byte distances.
    Switch,
    /// A MethodDef, MemberRef or MethodSpec token.
    Method,
    /// A Field or MemberRef token.
    Field,
    /// A TypeDef, TypeRef or TypeSpec token.
    Type,
    /// Any of the three above.
    Token,
    /// A user string token.
    String,
    /// A StandAloneSig token.
    Sig,
}

impl Operand {
    /// Its size in bytes; a switch's own count decides beyond the first four.
    pub const fn size(self) -> usize {
        match self {
            Self::None => 0,
            Self::I1 | Self::VarS | Self::BranchS => 1,
            Self::Var => 2,
            Self::I8 | Self::R8 => 8,
            _ => 4,
        }
    }
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// Into another method, then to the next instruction.
    Call,
    /// To the target, always.
    Branch,
    /// To a target or to the next instruction.
    CondBranch,
    /// Out of the method or the handler.
    Return,
    /// To an exception handler.
    Throw,
    /// It is part of the instruction that follows (III.2).
    Prefix,
}

impl Flow {
    /// Whether control can come to the instruction behind.
    pub const fn falls_through(self) -> bool {
        !matches!(self, Self::Branch | Self::Return | Self::Throw)
    }
}

/// What the table says of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct OpCodeInfo {
    /// The opcode.
    pub opcode: OpCode,
    /// Its name in IL assembly.
    pub name: &'static str,
    /// What follows its bytes.
    pub operand: Operand,
    /// How many bytes it has itself, 1 or 2.
    pub size: u8,
    /// How many bytes follow at the least; a switch's own count decides how many more.
    pub operand_size: u8,
    /// How many values it takes off the stack; negative where its operand decides.
    pub pops: i8,
    /// How many it puts there; negative where its operand decides.
    pub pushes: i8,
    /// Where control goes.
    pub flow: Flow,
}

macro_rules! arity {
    (var) => {
        -1
    };
    ($count:literal) => {
        $count
    };
}

macro_rules! opcodes {
    ($($opcode:ident = $bytes:literal $name:literal $operand:ident ($pops:tt -> $pushes:tt) $flow:ident)*) => {
        /// The opcodes; a two-byte one has 0xFE as the higher byte of its number.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum OpCode { $(#[doc = concat!("`", $name, "`")] $opcode = $bytes,)* }

        impl OpCode {
            /// Every opcode.
            pub const ALL: &'static [OpCode] = &[$(OpCode::$opcode),*];
        }

        const INFOS: &[OpCodeInfo] = &[$(OpCodeInfo {
            opcode: OpCode::$opcode,
            name: $name,
            operand: Operand::$operand,
            size: OpCode::$opcode.size() as u8,
            operand_size: Operand::$operand.size() as u8,
            pops: arity!($pops),
            pushes: arity!($pushes),
            flow: Flow::$flow,
        }),*];
    };
}
for_each_opcode!(opcodes);

/// The table spread by the opcodes' last byte: the one-byte opcodes first, those behind 0xFE second.
static BY_BYTE: [[Option<OpCodeInfo>; 256]; 2] = {
    let mut spread = [[None; 256]; 2];
    let mut index = 0;
    while index < INFOS.len() {
        let number = INFOS[index].opcode as u16;
        spread[(number >= 0xFE00) as usize][(number & 0xFF) as usize] = Some(INFOS[index]);
        index += 1;
    }
    spread
};

impl OpCode {
    /// What a one-byte opcode is; none if no opcode has this byte.
    #[inline]
    pub fn one_byte(byte: u8) -> Option<&'static OpCodeInfo> {
        BY_BYTE[0][usize::from(byte)].as_ref()
    }

    /// What the opcode with this byte behind 0xFE is.
    #[inline]
    pub fn two_byte(byte: u8) -> Option<&'static OpCodeInfo> {
        BY_BYTE[1][usize::from(byte)].as_ref()
    }

    /// What the table says of it.
    #[inline]
    pub fn info(self) -> &'static OpCodeInfo {
        match &BY_BYTE[usize::from(self.size() == 2)][usize::from(self as u16 as u8)] {
            Some(info) => info,
            None => unreachable!("every opcode is in the table it was made from"),
        }
    }

    /// How many bytes it has itself: 1 or 2.
    #[inline]
    pub const fn size(self) -> usize {
        if self as u16 >= 0xFE00 { 2 } else { 1 }
    }

    /// Appends its bytes.
    #[inline]
    pub fn put(self, out: &mut Vec<u8>) {
        if self.size() == 2 {
            out.push(0xFE);
        }
        out.push(self as u16 as u8);
    }

    /// A branch's four-byte form; any other opcode itself.
    pub fn long_form(self) -> Self {
        match (self, self.info().operand) {
            (Self::LeaveS, _) => Self::Leave,
            // The long forms stand in the order of the short ones, 13 numbers later.
            (_, Operand::BranchS) => match Self::one_byte(self as u16 as u8 + (Self::Br as u16 - Self::BrS as u16) as u8) {
                Some(info) => info.opcode,
                None => self,
            },
            _ => self,
        }
    }
}

impl fmt::Display for OpCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.info().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(OpCode::ALL.len(), 219, "those of III.1 to III.4, with no.");
        for opcode in OpCode::ALL {
            assert_eq!(opcode.info().opcode, *opcode);
        }
    }

    #[test]
    fn every_short_branch_has_a_long_form_of_the_same_name() {
        for opcode in OpCode::ALL.iter().filter(|opcode| opcode.info().operand == Operand::BranchS) {
            let long = opcode.long_form();
            assert_eq!(long.info().operand, Operand::Branch);
            assert_eq!(format!("{long}.s"), opcode.to_string());
        }
    }
}
