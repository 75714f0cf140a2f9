//! The opcode table of Partition III: bytes, name, operand, stack effect and control flow of each opcode.

use std::fmt;

use crate::element::ElementType;

/// `name = bytes "assembler name" operand implicit (pops -> pushes) flow`; `Var` means that the operand's signature
/// decides.
macro_rules! for_each_opcode {
    ($then:ident) => {
        $then! {
            Nop         = 0x00   "nop"            None                 (                      ->        ) Next
            Break       = 0x01   "break"          None                 (                      ->        ) Next
            Ldarg0      = 0x02   "ldarg.0"        None    Argument(0)  (                      -> Any    ) Next
            Ldarg1      = 0x03   "ldarg.1"        None    Argument(1)  (                      -> Any    ) Next
            Ldarg2      = 0x04   "ldarg.2"        None    Argument(2)  (                      -> Any    ) Next
            Ldarg3      = 0x05   "ldarg.3"        None    Argument(3)  (                      -> Any    ) Next
            Ldloc0      = 0x06   "ldloc.0"        None    Local(0)     (                      -> Any    ) Next
            Ldloc1      = 0x07   "ldloc.1"        None    Local(1)     (                      -> Any    ) Next
            Ldloc2      = 0x08   "ldloc.2"        None    Local(2)     (                      -> Any    ) Next
            Ldloc3      = 0x09   "ldloc.3"        None    Local(3)     (                      -> Any    ) Next
            Stloc0      = 0x0A   "stloc.0"        None    Local(0)     (Any                   ->        ) Next
            Stloc1      = 0x0B   "stloc.1"        None    Local(1)     (Any                   ->        ) Next
            Stloc2      = 0x0C   "stloc.2"        None    Local(2)     (Any                   ->        ) Next
            Stloc3      = 0x0D   "stloc.3"        None    Local(3)     (Any                   ->        ) Next
            LdargS      = 0x0E   "ldarg.s"        VarS                 (                      -> Any    ) Next
            LdargaS     = 0x0F   "ldarga.s"       VarS                 (                      -> Address) Next
            StargS      = 0x10   "starg.s"        VarS                 (Any                   ->        ) Next
            LdlocS      = 0x11   "ldloc.s"        VarS                 (                      -> Any    ) Next
            LdlocaS     = 0x12   "ldloca.s"       VarS                 (                      -> Address) Next
            StlocS      = 0x13   "stloc.s"        VarS                 (Any                   ->        ) Next
            Ldnull      = 0x14   "ldnull"         None                 (                      -> O      ) Next
            LdcI4M1     = 0x15   "ldc.i4.m1"      None    Constant(-1) (                      -> I4     ) Next
            LdcI40      = 0x16   "ldc.i4.0"       None    Constant(0)  (                      -> I4     ) Next
            LdcI41      = 0x17   "ldc.i4.1"       None    Constant(1)  (                      -> I4     ) Next
            LdcI42      = 0x18   "ldc.i4.2"       None    Constant(2)  (                      -> I4     ) Next
            LdcI43      = 0x19   "ldc.i4.3"       None    Constant(3)  (                      -> I4     ) Next
            LdcI44      = 0x1A   "ldc.i4.4"       None    Constant(4)  (                      -> I4     ) Next
            LdcI45      = 0x1B   "ldc.i4.5"       None    Constant(5)  (                      -> I4     ) Next
            LdcI46      = 0x1C   "ldc.i4.6"       None    Constant(6)  (                      -> I4     ) Next
            LdcI47      = 0x1D   "ldc.i4.7"       None    Constant(7)  (                      -> I4     ) Next
            LdcI48      = 0x1E   "ldc.i4.8"       None    Constant(8)  (                      -> I4     ) Next
            LdcI4S      = 0x1F   "ldc.i4.s"       I1                   (                      -> I4     ) Next
            LdcI4       = 0x20   "ldc.i4"         I4                   (                      -> I4     ) Next
            LdcI8       = 0x21   "ldc.i8"         I8                   (                      -> I8     ) Next
            LdcR4       = 0x22   "ldc.r4"         R4                   (                      -> F      ) Next
            LdcR8       = 0x23   "ldc.r8"         R8                   (                      -> F      ) Next
            Dup         = 0x25   "dup"            None                 (Any                   -> Any Any) Next
            Pop         = 0x26   "pop"            None                 (Any                   ->        ) Next
            Jmp         = 0x27   "jmp"            Method               (                      ->        ) Return
            Call        = 0x28   "call"           Method               (Var                   -> Var    ) Call
            Calli       = 0x29   "calli"          Sig                  (Var                   -> Var    ) Call
            Ret         = 0x2A   "ret"            None                 (Var                   ->        ) Return
            BrS         = 0x2B   "br.s"           BranchS              (                      ->        ) Branch
            BrfalseS    = 0x2C   "brfalse.s"      BranchS              (Any                   ->        ) CondBranch
            BrtrueS     = 0x2D   "brtrue.s"       BranchS              (Any                   ->        ) CondBranch
            BeqS        = 0x2E   "beq.s"          BranchS              (Any Any               ->        ) CondBranch
            BgeS        = 0x2F   "bge.s"          BranchS              (Any Any               ->        ) CondBranch
            BgtS        = 0x30   "bgt.s"          BranchS              (Any Any               ->        ) CondBranch
            BleS        = 0x31   "ble.s"          BranchS              (Any Any               ->        ) CondBranch
            BltS        = 0x32   "blt.s"          BranchS              (Any Any               ->        ) CondBranch
            BneUnS      = 0x33   "bne.un.s"       BranchS              (Any Any               ->        ) CondBranch
            BgeUnS      = 0x34   "bge.un.s"       BranchS              (Any Any               ->        ) CondBranch
            BgtUnS      = 0x35   "bgt.un.s"       BranchS              (Any Any               ->        ) CondBranch
            BleUnS      = 0x36   "ble.un.s"       BranchS              (Any Any               ->        ) CondBranch
            BltUnS      = 0x37   "blt.un.s"       BranchS              (Any Any               ->        ) CondBranch
            Br          = 0x38   "br"             Branch               (                      ->        ) Branch
            Brfalse     = 0x39   "brfalse"        Branch               (Any                   ->        ) CondBranch
            Brtrue      = 0x3A   "brtrue"         Branch               (Any                   ->        ) CondBranch
            Beq         = 0x3B   "beq"            Branch               (Any Any               ->        ) CondBranch
            Bge         = 0x3C   "bge"            Branch               (Any Any               ->        ) CondBranch
            Bgt         = 0x3D   "bgt"            Branch               (Any Any               ->        ) CondBranch
            Ble         = 0x3E   "ble"            Branch               (Any Any               ->        ) CondBranch
            Blt         = 0x3F   "blt"            Branch               (Any Any               ->        ) CondBranch
            BneUn       = 0x40   "bne.un"         Branch               (Any Any               ->        ) CondBranch
            BgeUn       = 0x41   "bge.un"         Branch               (Any Any               ->        ) CondBranch
            BgtUn       = 0x42   "bgt.un"         Branch               (Any Any               ->        ) CondBranch
            BleUn       = 0x43   "ble.un"         Branch               (Any Any               ->        ) CondBranch
            BltUn       = 0x44   "blt.un"         Branch               (Any Any               ->        ) CondBranch
            Switch      = 0x45   "switch"         Switch               (I4                    ->        ) CondBranch
            LdindI1     = 0x46   "ldind.i1"       None    Type(I1)     (Address               -> I4     ) Next
            LdindU1     = 0x47   "ldind.u1"       None    Type(U1)     (Address               -> I4     ) Next
            LdindI2     = 0x48   "ldind.i2"       None    Type(I2)     (Address               -> I4     ) Next
            LdindU2     = 0x49   "ldind.u2"       None    Type(U2)     (Address               -> I4     ) Next
            LdindI4     = 0x4A   "ldind.i4"       None    Type(I4)     (Address               -> I4     ) Next
            LdindU4     = 0x4B   "ldind.u4"       None    Type(U4)     (Address               -> I4     ) Next
            LdindI8     = 0x4C   "ldind.i8"       None    Type(I8)     (Address               -> I8     ) Next
            LdindI      = 0x4D   "ldind.i"        None    Type(I)      (Address               -> I      ) Next
            LdindR4     = 0x4E   "ldind.r4"       None    Type(R4)     (Address               -> F      ) Next
            LdindR8     = 0x4F   "ldind.r8"       None    Type(R8)     (Address               -> F      ) Next
            LdindRef    = 0x50   "ldind.ref"      None    Type(Object) (Address               -> O      ) Next
            StindRef    = 0x51   "stind.ref"      None    Type(Object) (Address O             ->        ) Next
            StindI1     = 0x52   "stind.i1"       None    Type(I1)     (Address I4            ->        ) Next
            StindI2     = 0x53   "stind.i2"       None    Type(I2)     (Address I4            ->        ) Next
            StindI4     = 0x54   "stind.i4"       None    Type(I4)     (Address I4            ->        ) Next
            StindI8     = 0x55   "stind.i8"       None    Type(I8)     (Address I8            ->        ) Next
            StindR4     = 0x56   "stind.r4"       None    Type(R4)     (Address F             ->        ) Next
            StindR8     = 0x57   "stind.r8"       None    Type(R8)     (Address F             ->        ) Next
            Add         = 0x58   "add"            None                 (Any Any               -> Any    ) Next
            Sub         = 0x59   "sub"            None                 (Any Any               -> Any    ) Next
            Mul         = 0x5A   "mul"            None                 (Any Any               -> Any    ) Next
            Div         = 0x5B   "div"            None                 (Any Any               -> Any    ) Next
            DivUn       = 0x5C   "div.un"         None                 (Any Any               -> Any    ) Next
            Rem         = 0x5D   "rem"            None                 (Any Any               -> Any    ) Next
            RemUn       = 0x5E   "rem.un"         None                 (Any Any               -> Any    ) Next
            And         = 0x5F   "and"            None                 (Any Any               -> Any    ) Next
            Or          = 0x60   "or"             None                 (Any Any               -> Any    ) Next
            Xor         = 0x61   "xor"            None                 (Any Any               -> Any    ) Next
            Shl         = 0x62   "shl"            None                 (Any Index             -> Any    ) Next
            Shr         = 0x63   "shr"            None                 (Any Index             -> Any    ) Next
            ShrUn       = 0x64   "shr.un"         None                 (Any Index             -> Any    ) Next
            Neg         = 0x65   "neg"            None                 (Any                   -> Any    ) Next
            Not         = 0x66   "not"            None                 (Any                   -> Any    ) Next
            ConvI1      = 0x67   "conv.i1"        None    Type(I1)     (Any                   -> I4     ) Next
            ConvI2      = 0x68   "conv.i2"        None    Type(I2)     (Any                   -> I4     ) Next
            ConvI4      = 0x69   "conv.i4"        None    Type(I4)     (Any                   -> I4     ) Next
            ConvI8      = 0x6A   "conv.i8"        None    Type(I8)     (Any                   -> I8     ) Next
            ConvR4      = 0x6B   "conv.r4"        None    Type(R4)     (Any                   -> F      ) Next
            ConvR8      = 0x6C   "conv.r8"        None    Type(R8)     (Any                   -> F      ) Next
            ConvU4      = 0x6D   "conv.u4"        None    Type(U4)     (Any                   -> I4     ) Next
            ConvU8      = 0x6E   "conv.u8"        None    Type(U8)     (Any                   -> I8     ) Next
            Callvirt    = 0x6F   "callvirt"       Method               (Var                   -> Var    ) Call
            Cpobj       = 0x70   "cpobj"          Type                 (Address Address       ->        ) Next
            Ldobj       = 0x71   "ldobj"          Type                 (Address               -> Any    ) Next
            Ldstr       = 0x72   "ldstr"          String               (                      -> O      ) Next
            Newobj      = 0x73   "newobj"         Method               (Var                   -> Any    ) Call
            Castclass   = 0x74   "castclass"      Type                 (O                     -> O      ) Next
            Isinst      = 0x75   "isinst"         Type                 (O                     -> O      ) Next
            ConvRUn     = 0x76   "conv.r.un"      None    Type(R8)     (Any                   -> F      ) Next
            Unbox       = 0x79   "unbox"          Type                 (O                     -> Address) Next
            Throw       = 0x7A   "throw"          None                 (O                     ->        ) Throw
            Ldfld       = 0x7B   "ldfld"          Field                (Any                   -> Any    ) Next
            Ldflda      = 0x7C   "ldflda"         Field                (Any                   -> Address) Next
            Stfld       = 0x7D   "stfld"          Field                (Any Any               ->        ) Next
            Ldsfld      = 0x7E   "ldsfld"         Field                (                      -> Any    ) Next
            Ldsflda     = 0x7F   "ldsflda"        Field                (                      -> Address) Next
            Stsfld      = 0x80   "stsfld"         Field                (Any                   ->        ) Next
            Stobj       = 0x81   "stobj"          Type                 (Address Any           ->        ) Next
            ConvOvfI1Un = 0x82   "conv.ovf.i1.un" None    Type(I1)     (Any                   -> I4     ) Next
            ConvOvfI2Un = 0x83   "conv.ovf.i2.un" None    Type(I2)     (Any                   -> I4     ) Next
            ConvOvfI4Un = 0x84   "conv.ovf.i4.un" None    Type(I4)     (Any                   -> I4     ) Next
            ConvOvfI8Un = 0x85   "conv.ovf.i8.un" None    Type(I8)     (Any                   -> I8     ) Next
            ConvOvfU1Un = 0x86   "conv.ovf.u1.un" None    Type(U1)     (Any                   -> I4     ) Next
            ConvOvfU2Un = 0x87   "conv.ovf.u2.un" None    Type(U2)     (Any                   -> I4     ) Next
            ConvOvfU4Un = 0x88   "conv.ovf.u4.un" None    Type(U4)     (Any                   -> I4     ) Next
            ConvOvfU8Un = 0x89   "conv.ovf.u8.un" None    Type(U8)     (Any                   -> I8     ) Next
            ConvOvfIUn  = 0x8A   "conv.ovf.i.un"  None    Type(I)      (Any                   -> I      ) Next
            ConvOvfUUn  = 0x8B   "conv.ovf.u.un"  None    Type(U)      (Any                   -> I      ) Next
            Box         = 0x8C   "box"            Type                 (Any                   -> O      ) Next
            Newarr      = 0x8D   "newarr"         Type                 (Index                 -> O      ) Next
            Ldlen       = 0x8E   "ldlen"          None                 (O                     -> I      ) Next
            Ldelema     = 0x8F   "ldelema"        Type                 (O Index               -> Address) Next
            LdelemI1    = 0x90   "ldelem.i1"      None    Type(I1)     (O Index               -> I4     ) Next
            LdelemU1    = 0x91   "ldelem.u1"      None    Type(U1)     (O Index               -> I4     ) Next
            LdelemI2    = 0x92   "ldelem.i2"      None    Type(I2)     (O Index               -> I4     ) Next
            LdelemU2    = 0x93   "ldelem.u2"      None    Type(U2)     (O Index               -> I4     ) Next
            LdelemI4    = 0x94   "ldelem.i4"      None    Type(I4)     (O Index               -> I4     ) Next
            LdelemU4    = 0x95   "ldelem.u4"      None    Type(U4)     (O Index               -> I4     ) Next
            LdelemI8    = 0x96   "ldelem.i8"      None    Type(I8)     (O Index               -> I8     ) Next
            LdelemI     = 0x97   "ldelem.i"       None    Type(I)      (O Index               -> I      ) Next
            LdelemR4    = 0x98   "ldelem.r4"      None    Type(R4)     (O Index               -> F      ) Next
            LdelemR8    = 0x99   "ldelem.r8"      None    Type(R8)     (O Index               -> F      ) Next
            LdelemRef   = 0x9A   "ldelem.ref"     None    Type(Object) (O Index               -> O      ) Next
            StelemI     = 0x9B   "stelem.i"       None    Type(I)      (O Index I             ->        ) Next
            StelemI1    = 0x9C   "stelem.i1"      None    Type(I1)     (O Index I4            ->        ) Next
            StelemI2    = 0x9D   "stelem.i2"      None    Type(I2)     (O Index I4            ->        ) Next
            StelemI4    = 0x9E   "stelem.i4"      None    Type(I4)     (O Index I4            ->        ) Next
            StelemI8    = 0x9F   "stelem.i8"      None    Type(I8)     (O Index I8            ->        ) Next
            StelemR4    = 0xA0   "stelem.r4"      None    Type(R4)     (O Index F             ->        ) Next
            StelemR8    = 0xA1   "stelem.r8"      None    Type(R8)     (O Index F             ->        ) Next
            StelemRef   = 0xA2   "stelem.ref"     None    Type(Object) (O Index O             ->        ) Next
            Ldelem      = 0xA3   "ldelem"         Type                 (O Index               -> Any    ) Next
            Stelem      = 0xA4   "stelem"         Type                 (O Index Any           ->        ) Next
            UnboxAny    = 0xA5   "unbox.any"      Type                 (O                     -> Any    ) Next
            ConvOvfI1   = 0xB3   "conv.ovf.i1"    None    Type(I1)     (Any                   -> I4     ) Next
            ConvOvfU1   = 0xB4   "conv.ovf.u1"    None    Type(U1)     (Any                   -> I4     ) Next
            ConvOvfI2   = 0xB5   "conv.ovf.i2"    None    Type(I2)     (Any                   -> I4     ) Next
            ConvOvfU2   = 0xB6   "conv.ovf.u2"    None    Type(U2)     (Any                   -> I4     ) Next
            ConvOvfI4   = 0xB7   "conv.ovf.i4"    None    Type(I4)     (Any                   -> I4     ) Next
            ConvOvfU4   = 0xB8   "conv.ovf.u4"    None    Type(U4)     (Any                   -> I4     ) Next
            ConvOvfI8   = 0xB9   "conv.ovf.i8"    None    Type(I8)     (Any                   -> I8     ) Next
            ConvOvfU8   = 0xBA   "conv.ovf.u8"    None    Type(U8)     (Any                   -> I8     ) Next
            Refanyval   = 0xC2   "refanyval"      Type                 (Value                 -> Address) Next
            Ckfinite    = 0xC3   "ckfinite"       None                 (F                     -> F      ) Next
            Mkrefany    = 0xC6   "mkrefany"       Type                 (Address               -> Value  ) Next
            Ldtoken     = 0xD0   "ldtoken"        Token                (                      -> Value  ) Next
            ConvU2      = 0xD1   "conv.u2"        None    Type(U2)     (Any                   -> I4     ) Next
            ConvU1      = 0xD2   "conv.u1"        None    Type(U1)     (Any                   -> I4     ) Next
            ConvI       = 0xD3   "conv.i"         None    Type(I)      (Any                   -> I      ) Next
            ConvOvfI    = 0xD4   "conv.ovf.i"     None    Type(I)      (Any                   -> I      ) Next
            ConvOvfU    = 0xD5   "conv.ovf.u"     None    Type(U)      (Any                   -> I      ) Next
            AddOvf      = 0xD6   "add.ovf"        None                 (Any Any               -> Any    ) Next
            AddOvfUn    = 0xD7   "add.ovf.un"     None                 (Any Any               -> Any    ) Next
            MulOvf      = 0xD8   "mul.ovf"        None                 (Any Any               -> Any    ) Next
            MulOvfUn    = 0xD9   "mul.ovf.un"     None                 (Any Any               -> Any    ) Next
            SubOvf      = 0xDA   "sub.ovf"        None                 (Any Any               -> Any    ) Next
            SubOvfUn    = 0xDB   "sub.ovf.un"     None                 (Any Any               -> Any    ) Next
            Endfinally  = 0xDC   "endfinally"     None                 (                      ->        ) Return
            Leave       = 0xDD   "leave"          Branch               (                      ->        ) Branch
            LeaveS      = 0xDE   "leave.s"        BranchS              (                      ->        ) Branch
            StindI      = 0xDF   "stind.i"        None    Type(I)      (Address I             ->        ) Next
            ConvU       = 0xE0   "conv.u"         None    Type(U)      (Any                   -> I      ) Next
            Arglist     = 0xFE00 "arglist"        None                 (                      -> Value  ) Next
            Ceq         = 0xFE01 "ceq"            None                 (Any Any               -> I4     ) Next
            Cgt         = 0xFE02 "cgt"            None                 (Any Any               -> I4     ) Next
            CgtUn       = 0xFE03 "cgt.un"         None                 (Any Any               -> I4     ) Next
            Clt         = 0xFE04 "clt"            None                 (Any Any               -> I4     ) Next
            CltUn       = 0xFE05 "clt.un"         None                 (Any Any               -> I4     ) Next
            Ldftn       = 0xFE06 "ldftn"          Method               (                      -> I      ) Next
            Ldvirtftn   = 0xFE07 "ldvirtftn"      Method               (O                     -> I      ) Next
            Ldarg       = 0xFE09 "ldarg"          Var                  (                      -> Any    ) Next
            Ldarga      = 0xFE0A "ldarga"         Var                  (                      -> Address) Next
            Starg       = 0xFE0B "starg"          Var                  (Any                   ->        ) Next
            Ldloc       = 0xFE0C "ldloc"          Var                  (                      -> Any    ) Next
            Ldloca      = 0xFE0D "ldloca"         Var                  (                      -> Address) Next
            Stloc       = 0xFE0E "stloc"          Var                  (Any                   ->        ) Next
            Localloc    = 0xFE0F "localloc"       None                 (Index                 -> I      ) Next
            Endfilter   = 0xFE11 "endfilter"      None                 (I4                    ->        ) Return
            Unaligned   = 0xFE12 "unaligned."     I1                   (                      ->        ) Prefix
            Volatile    = 0xFE13 "volatile."      None                 (                      ->        ) Prefix
            Tail        = 0xFE14 "tail."          None                 (                      ->        ) Prefix
            Initobj     = 0xFE15 "initobj"        Type                 (Address               ->        ) Next
            Constrained = 0xFE16 "constrained."   Type                 (                      ->        ) Prefix
            Cpblk       = 0xFE17 "cpblk"          None                 (Address Address Index ->        ) Next
            Initblk     = 0xFE18 "initblk"        None                 (Address I4 Index      ->        ) Next
            No          = 0xFE19 "no."            I1                   (                      ->        ) Prefix
            Rethrow     = 0xFE1A "rethrow"        None                 (                      ->        ) Throw
            Sizeof      = 0xFE1C "sizeof"         Type                 (                      -> I4     ) Next
            Refanytype  = 0xFE1D "refanytype"     None                 (Value                 -> Value  ) Next
            Readonly    = 0xFE1E "readonly."      None                 (                      ->        ) Prefix
        }
    };
}

/// The operand that follows an opcode's bytes (III.1.9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// No operand.
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
    /// A four-byte count, then as many four-byte distances.
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
    /// The size in bytes. A switch has additional bytes, depending on its count.
    pub const fn size(self) -> usize {
        match self {
            Self::None => 0,
            Self::I1 | Self::VarS | Self::BranchS => 1,
            Self::Var => 2,
            Self::I8 | Self::R8 => 8,
            _ => 4,
        }
    }

    /// Whether the operand is a token.
    pub const fn is_token(self) -> bool {
        matches!(self, Self::Method | Self::Field | Self::Type | Self::Token | Self::String | Self::Sig)
    }
}

/// The operand that an opcode without operand bytes implies: `ldarg.0` is `ldarg 0`, `ldind.i4` is `ldobj int32`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Implicit {
    /// The number of an argument.
    Argument(u16),
    /// The number of a local variable.
    Local(u16),
    /// The constant to load.
    Constant(i32),
    /// The type to load, store or convert to: object for any reference, and float64 for `F`.
    Type(ElementType),
}

/// The kind of a value that an instruction pops from or pushes to the evaluation stack (III.1.1, I.12.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StackKind {
    /// Any kind: the operand decides, or the kinds of the other values by the tables of III.1.5.
    Any,
    /// An int32.
    I4,
    /// An int64.
    I8,
    /// A native int.
    I,
    /// A float of any size.
    F,
    /// An object reference.
    O,
    /// A managed or unmanaged pointer.
    Address,
    /// A number of elements or bytes: int32 or native int.
    Index,
    /// A typed reference or a handle: a value of a runtime-defined type.
    Value,
}

/// The control flow after an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Continues at the next instruction.
    Next,
    /// Calls another method, then continues at the next instruction.
    Call,
    /// Always continues at the target.
    Branch,
    /// Continues at a target or at the next instruction.
    CondBranch,
    /// Leaves the method or the handler.
    Return,
    /// Transfers control to an exception handler.
    Throw,
    /// A prefix: a part of the following instruction (III.2).
    Prefix,
}

impl Flow {
    /// Whether control can reach the following instruction.
    pub const fn falls_through(self) -> bool {
        !matches!(self, Self::Branch | Self::Return | Self::Throw)
    }
}

/// The properties of an opcode in the table.
#[derive(Clone, Copy, Debug)]
pub struct OpCodeInfo {
    /// The opcode.
    pub opcode: OpCode,
    /// The name in IL assembly.
    pub name: &'static str,
    /// The kind of operand after the opcode's bytes.
    pub operand: Operand,
    /// The implied operand, if no operand follows.
    pub implicit: Option<Implicit>,
    /// The size of the opcode in bytes, without its operand: 1 or 2.
    pub size: u8,
    /// The smallest size of the operand in bytes. A switch has additional bytes, depending on its count.
    pub operand_size: u8,
    /// The number of values popped; negative if the operand decides.
    pub pops: i8,
    /// The number of values pushed; negative if the operand decides.
    pub pushes: i8,
    /// The kinds of the popped values, the topmost last; empty if the operand decides.
    pub popped: &'static [StackKind],
    /// The kinds of the pushed values, the topmost last; empty if the operand decides.
    pub pushed: &'static [StackKind],
    /// The control flow.
    pub flow: Flow,
}

macro_rules! arity {
    (Var) => {
        -1
    };
    ($($kind:ident)*) => {
        <[StackKind]>::len(kinds!($($kind)*)) as i8
    };
}

macro_rules! kinds {
    (Var) => {
        &[]
    };
    ($($kind:ident)*) => {
        &[$(StackKind::$kind),*]
    };
}

macro_rules! implicit {
    () => {
        None
    };
    (Type $element:ident) => {
        Some(Implicit::Type(ElementType::$element))
    };
    ($what:ident $number:expr) => {
        Some(Implicit::$what($number))
    };
}

macro_rules! opcodes {
    ($($opcode:ident = $bytes:literal $name:literal $operand:ident $($implicit:ident($($value:tt)+))?
       ($($pops:ident)* -> $($pushes:ident)*) $flow:ident)*) => {
        /// The opcodes. A two-byte opcode has 0xFE in the high byte of its number.
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
            implicit: implicit!($($implicit $($value)+)?),
            pops: arity!($($pops)*),
            pushes: arity!($($pushes)*),
            popped: kinds!($($pops)*),
            pushed: kinds!($($pushes)*),
            flow: Flow::$flow,
        }),*];
    };
}
for_each_opcode!(opcodes);

/// The table by the opcodes' last byte: first the one-byte opcodes, then those after 0xFE.
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
    /// The properties of a one-byte opcode. None if no opcode has this byte.
    #[inline]
    pub fn one_byte(byte: u8) -> Option<&'static OpCodeInfo> {
        BY_BYTE[0][usize::from(byte)].as_ref()
    }

    /// The properties of the opcode with this byte after 0xFE.
    #[inline]
    pub fn two_byte(byte: u8) -> Option<&'static OpCodeInfo> {
        BY_BYTE[1][usize::from(byte)].as_ref()
    }

    /// The opcode's properties.
    #[inline]
    pub fn info(self) -> &'static OpCodeInfo {
        match &BY_BYTE[usize::from(self.size() == 2)][usize::from(self as u16 as u8)] {
            Some(info) => info,
            None => unreachable!("every opcode is in the table it was made from"),
        }
    }

    /// The size of the opcode in bytes, without its operand: 1 or 2.
    #[inline]
    pub const fn size(self) -> usize {
        if self as u16 >= 0xFE00 { 2 } else { 1 }
    }

    /// Appends the opcode's bytes.
    #[inline]
    pub fn put(self, out: &mut Vec<u8>) {
        if self.size() == 2 {
            out.push(0xFE);
        }
        out.push(self as u16 as u8);
    }

    /// The four-byte form of a branch. Any other opcode is returned unchanged.
    pub fn long_form(self) -> Self {
        match (self, self.info().operand) {
            (Self::LeaveS, _) => Self::Leave,
            // The long forms have the same order as the short ones, and numbers 13 higher.
            (_, Operand::BranchS) => match Self::one_byte(self as u16 as u8 + (Self::Br as u16 - Self::BrS as u16) as u8) {
                Some(info) => info.opcode,
                None => self,
            },
            _ => self,
        }
    }

    /// The one-byte form of a branch. Any other opcode is returned unchanged.
    pub fn short_form(self) -> Self {
        match (self, self.info().operand) {
            (Self::Leave, _) => Self::LeaveS,
            (_, Operand::Branch) => match Self::one_byte(self as u16 as u8 - (Self::Br as u16 - Self::BrS as u16) as u8) {
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
    fn implicit_operands_are_what_the_names_say() {
        let mut count = 0;
        for info in INFOS {
            let Some(implicit) = info.implicit else { continue };
            let last = info.name.trim_end_matches(".un").rsplit('.').next().unwrap_or_default();
            let said = match implicit {
                Implicit::Argument(number) | Implicit::Local(number) => number.to_string(),
                Implicit::Constant(number) => number.to_string().replace('-', "m"),
                Implicit::Type(ElementType::Object) => "ref".into(),
                Implicit::Type(ElementType::R8) if last == "r" => "r".into(),
                Implicit::Type(element) => format!("{element:?}").to_lowercase(),
            };
            assert_eq!(said, last, "{}", info.name);
            assert_eq!(info.operand, Operand::None, "{}", info.name);
            count += 1;
        }
        assert_eq!(count, 12 + 10 + 38 + 33, "variables, constants, memory and elements, conversions");
    }

    #[test]
    fn every_short_branch_has_a_long_form_of_the_same_name() {
        for opcode in OpCode::ALL.iter().filter(|opcode| opcode.info().operand == Operand::BranchS) {
            let long = opcode.long_form();
            assert_eq!(long.info().operand, Operand::Branch);
            assert_eq!(format!("{long}.s"), opcode.to_string());
            assert_eq!(long.short_form(), *opcode);
        }
    }
}
