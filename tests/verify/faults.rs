//! Planted faults of every kind, one in each assembly, and the rule that must find it.
//!
//! Faults of code are small methods that ilasm assembles; faults of metadata are cells of a real file. The valid parts
//! around them break no rule.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use ecma335::{Image, Metadata, Table};
use tests::{ABOVE, dotnets_ilasm, require, root, scratch, set_cell};
use verify::{Library, Report, Scope};

use crate::{PEDANTIC, read, verify_bytes};

/// The fault, a method's head and body, and the broken rule.
type Code = (&'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const CODE: &[Code] = &[
    ("a branch into an instruction", "void F()", ".emitbyte 0x2B .emitbyte 1 ldc.i4 7 pop ret", "III.1.7.2-a"),
    ("a branch behind the end", "void F()", ".emitbyte 0x2B .emitbyte 0x7F ret", "III.1.7.2-a"),
    ("a branch before the start", "void F()", "nop .emitbyte 0x2B .emitbyte 0x80 ret", "III.1.7.2-a"),
    ("a switch to nowhere", "void F()", "ldc.i4.0 .emitbyte 0x45 .emitbyte 1 .emitbyte 0 .emitbyte 0 .emitbyte 0 \
        .emitbyte 0x70 .emitbyte 0 .emitbyte 0 .emitbyte 0 ret", "III.1.7.2-a"),
    ("the end is not an end", "void F()", "ret nop", "III.1.7.1-a"),
    ("an instruction cut short", "void F()", "ret .emitbyte 0x20 .emitbyte 1", "III.1.2-a"),
    ("no opcode", "void F()", ".emitbyte 0x24 ret", "III.1.2-a"),
    ("no opcode where no path comes", "void F()", "ret .emitbyte 0x24 ret", "III.1.2-b"),
    ("pop from an empty stack", "void F()", "pop ret", "III.1.7.5-b"),
    ("an operator with one operand", "void F()", "ldc.i4.0 add pop ret", "III.1.7.5-b"),
    ("a call without its arguments", "void F()", "ldc.i4.0 call void C::Two(int32, int32) ret", "III.1.7.5-b"),
    ("a call without this", "void F()", "callvirt instance void B::Act() ret", "III.1.7.5-b"),
    ("nothing to return", "int32 F()", "ret", "III.1.7.5-b"),
    ("junk under what is returned", "int32 F()", "ldc.i4.0 ldc.i4.1 ret", "III.1.7.5-c"),
    ("junk at a ret of void", "void F()", "ldc.i4.0 ret", "III.1.7.5-c"),
    ("two depths at a join", "void F(int32)", "ldarg.0 brtrue.s L ldarg.0 L: ret", "III.1.7.5-a"),
    ("a loop that fills the stack", "void F()", "L: ldc.i4.0 br.s L", "III.1.7.5-a"),
    ("a stack deeper than said", "void F()", "ldc.i4.0 dup dup dup dup dup dup dup dup pop pop pop pop pop pop pop pop pop ret", "III.1.7.4-a"),
    ("an argument that is not there", "void F(int32)", "ldarg.1 pop ret", "III.1.9-c"),
    ("a store to a local that is not there", "void F()", ".locals init (int32) ldc.i4.0 stloc.1 ret", "III.1.9-c"),
    ("a method that is not there", "void F()", ".emitbyte 0x28 .emitbyte 0xFF .emitbyte 0 .emitbyte 0 .emitbyte 6 ret", "III.1.9-a"),
    ("a type where a field is named", "void F()", ".emitbyte 0x7E .emitbyte 1 .emitbyte 0 .emitbyte 0 .emitbyte 2 pop ret", "III.1.9-a"),
    ("a string that is not there", "void F()", ".emitbyte 0x72 .emitbyte 0 .emitbyte 0xFF .emitbyte 0 .emitbyte 0x70 pop ret", "III.1.9-b"),
    ("tail. before nothing to call", "void F()", "tail. nop ret", "III.2-a"),
    ("volatile. before a local", "void F()", ".locals init (int32) volatile. ldloc.0 pop ret", "III.2-a"),
    ("ret in a protected block", "void F()", ".try { ret leave.s L } catch object { pop leave.s L } L: ret", "III.1.7.3-c"),
    ("ret in a handler", "void F()", ".try { leave.s L } catch object { pop ret } L: ret", "III.1.7.3-c"),
    ("br out of a protected block", "void F()", ".try { br.s L } catch object { pop leave.s L } L: ret", "III.1.7.3-a"),
    ("falling out of a protected block", "void F()", ".try { nop } finally { endfinally } ret", "III.1.7.3-a"),
    ("br into a protected block", "void F()", "br.s M .try { nop M: leave.s L } finally { endfinally } L: ret", "III.1.7.3-a"),
    ("br into a handler", "void F()", "br.s M .try { leave.s L } finally { M: endfinally } L: ret", "III.1.7.3-b"),
    ("falling out of a handler", "void F()", ".try { leave.s L } catch object { pop } L: ret", "III.1.7.3-b"),
    ("leave out of a finally", "void F()", ".try { leave.s L } finally { leave.s L } L: ret", "III.1.7.3-b"),
    ("endfinally where none ends", "void F()", "endfinally", "III.1.7.3-d"),
    ("endfinally in a catch", "void F()", ".try { leave.s L } catch object { pop endfinally } L: ret", "III.1.7.3-d"),
    ("endfilter where none ends", "void F()", "ldc.i4.0 endfilter", "III.1.7.3-d"),
    ("rethrow where nothing was thrown", "void F()", "rethrow", "III.1.7.3-e"),
    ("overlapping clauses", "void F()", "A: nop B: nop D: nop E: nop G: ret \
        .try A to D catch object handler D to E .try B to E finally handler E to G", "I.12.4.2-a"),
    ("an outer clause before its inner one", "void F()", "A: nop B: leave.s E D: endfinally E: leave.s H G: endfinally H: ret \
        .try A to G finally handler G to H .try B to D finally handler D to E", "I.12.4.2-a"),
    ("a handler in its own block", "void F()", "A: nop B: endfinally D: nop E: ret .try A to E finally handler B to D", "I.12.4.2-a"),
    ("a clause that ends in an instruction", "void F()", "ldc.i4 7 pop leave.s 1 endfinally ret \
        .try 0 to 3 finally handler 8 to 9", "II.25.4.6-a"),
    ("a filter apart from its handler", "void F()", "A: leave.s L B: pop leave.s L D: pop ldc.i4.0 endfilter L: ret \
        .try A to B filter D handler B to D", "II.25.4.6-c"),
    ("a number and a string added", "void F()", "ldc.i4.0 ldstr \"\" add pop ret", "III.1.5-a"),
    ("floats and bits", "void F()", "ldc.r8 1 ldc.r8 1 and pop ret", "III.1.5-a"),
    ("numbers of two sizes compared", "void F()", "ldc.i4.0 ldc.i8 0 ceq pop ret", "III.1.5-a"),
    ("a branch on a float", "void F()", "ldc.r8 1 brtrue.s L L: ret", "III.1.5-b"),
    ("a number thrown", "void F()", "ldc.i4.0 throw", "III.1.5-b"),
    ("a string where a number is passed", "void F()", "ldstr \"\" ldc.i4.0 call void C::Two(int32, int32) ret", "III.1.5-b"),
    ("an int64 where an int32 is returned", "int32 F()", "ldc.i8 0 ret", "III.1.5-b"),
    ("a number or a string at a join", "void F(int32)", "ldarg.0 brtrue.s L ldc.i4.0 br.s M L: ldnull M: pop ret", "III.1.8.1.3-a"),
    ("memory of the stack", "void F()", "ldc.i4.8 localloc pop ret", "III.3-a"),
    ("memory of the stack with a value on it", "void F()", "ldc.i4.0 ldc.i4.8 localloc pop pop ret", "III.3.47-b"),
    ("memory of the stack in a handler", "void F()", ".try { leave.s L } finally { ldc.i4.8 localloc pop endfinally } L: ret", "III.3.47-a"),
    ("locals that are not initialized", "void F()", ".locals (int32) ret", "III.1.8.1.1-a"),
    ("a call by address", "void F(native int)", "ldarg.0 calli void () ret", "III.3-a"),
];

/// Faults of types: the kinds of values are correct.
#[rustfmt::skip]
const TYPES: &[Code] = &[
    ("a string where another class is passed", "void F()", "ldstr \"\" call void C::TakeB(class B) ret", "III.1.8.1.2-a"),
    ("a base class where a derived one is passed", "void F(class B)", "ldarg.0 call void C::TakeD(class D) ret", "III.1.8.1.2-a"),
    ("a class where an interface is passed that it has not", "void F(class B)", "ldarg.0 call void C::TakeI(class I) ret", "III.1.8.1.2-a"),
    ("object where a string is returned", "string F(object)", "ldarg.0 ret", "III.1.8.1.2-a"),
    ("object stored to a string", "void F(object)", ".locals init (string) ldarg.0 stloc.0 ret", "III.1.8.1.2-a"),
    ("object stored to an argument of a class", "void F(object, class B)", "ldarg.0 starg.s 1 ret", "III.1.8.1.2-a"),
    ("a string stored to a field of a class", "void F(class C)", "ldarg.0 ldstr \"\" stfld class B C::b ret", "III.1.8.1.2-a"),
    ("a class stored to a static string", "void F(class B)", "ldarg.0 stsfld string C::s ret", "III.1.8.1.2-a"),
    ("a field of what has none", "void F(class B)", "ldarg.0 ldfld class B C::b pop ret", "III.1.8.1.2-a"),
    ("a method of what has none", "void F(string)", "ldarg.0 callvirt instance void B::Act() ret", "III.1.8.1.2-a"),
    ("an array of numbers where one of strings is passed", "void F(int32[])", "ldarg.0 call void C::TakeStrings(string[]) ret", "III.1.8.1.2-a"),
    ("an array of objects where one of strings is passed", "void F(object[])", "ldarg.0 call void C::TakeStrings(string[]) ret", "III.1.8.1.2-a"),
    ("an element of what is no array", "void F(string)", "ldarg.0 ldc.i4.0 ldelem.ref pop ret", "III.1.8.1.2-a"),
    ("elements of another size", "void F(int64[])", "ldarg.0 ldc.i4.0 ldelem.i4 pop ret", "III.1.8.1.2-a"),
    ("a reference to another number", "void F(int64)", "ldarga.s 0 call void C::TakeRef(int32&) ret", "III.1.8.1.2-a"),
    ("a load of another size", "void F(int32)", "ldarga.s 0 ldind.i8 pop ret", "III.1.8.1.2-a"),
    ("a number in a box where a string is passed", "void F(int32)", "ldarg.0 box int32 call void C::TakeString(string) ret", "III.1.8.1.2-a"),
    ("null where a value is passed", "void F()", "ldnull call void C::TakeValue(valuetype V) ret", "III.1.5-b"),
    ("a value of another type", "void F(valuetype V)", "ldarg.0 call void C::TakeOther(valuetype W) ret", "III.1.8.1.2-a"),
    ("a value's method on its box", "void F(valuetype V)", "ldarg.0 box V call instance void V::Act() ret", "III.1.8.1.2-a"),
    ("another constrained type", "void F(int64)", "ldarga.s 0 constrained. V callvirt instance string object::ToString() pop ret", "III.1.8.1.2-a"),
    ("a list of others", "void F(class [mscorlib]System.Collections.Generic.List`1<string>)", "ldarg.0 \
        call void C::TakeList(class [mscorlib]System.Collections.Generic.List`1<object>) ret", "III.1.8.1.2-a"),
    ("a sequence of what is more", "void F(class [mscorlib]System.Collections.Generic.IEnumerable`1<object>)", "ldarg.0 \
        call void C::TakeSequence(class [mscorlib]System.Collections.Generic.IEnumerable`1<string>) ret", "III.1.8.1.2-a"),
    ("a class or a string at a join, passed as a class", "void F(class B)", "ldarg.0 brtrue.s L ldarg.0 br.s M L: ldstr \"\" \
        M: call void C::TakeB(class B) ret", "III.1.8.1.2-a"),
    ("two value types at a join", "void F(valuetype V, valuetype W)", "ldc.i4.0 brtrue.s L ldarg.0 br.s M L: ldarg.1 M: pop ret", "III.1.8.1.3-a"),
    ("types that lead ever further", "void F(class P`1<int32> a, class X`1<string> b)", ".locals init (class N`1<class X`1<string>> c) \
        ldarg.1 stloc.0 ldarg.0 call void C::TakeB(class B) ret", "III.1.8.1.2-a"),
    ("a pointer where a reference is passed", "void F(int32*)", "ldarg.0 call void C::TakeRef(int32&) ret", "III.1.8.1.2-a"),
    ("`this` passed before it is initialized", CTOR, "ldarg.0 call void [mscorlib]System.Console::Write(object) \
        ldarg.0 call instance void object::.ctor() ret", "III.1.8.1.4-a"),
    ("`this` kept before it is initialized", CTOR, ".locals init (class C) ldarg.0 stloc.0 ldarg.0 call instance void object::.ctor() ret", "III.1.8.1.4-a"),
    ("another class's field of it", CTOR, "ldarg.0 ldfld int32 A::n pop ldarg.0 call instance void object::.ctor() ret", "III.1.8.1.4-a"),
    ("its address before it is initialized", CTOR, "ldarga.s 0 pop ldarg.0 call instance void object::.ctor() ret", "III.1.8.1.4-a"),
    ("`this` used where one path has not initialized it", "specialname rtspecialname instance void .ctor(bool)", "ldarg.1 brtrue.s L \
        ldarg.0 call instance void object::.ctor() L: ldarg.0 callvirt instance string object::ToString() pop ret", "III.1.8.1.4-a"),
    ("`this` used in a handler", CTOR, ".try { ldarg.0 call instance void object::.ctor() leave.s L } \
        catch object { pop ldarg.0 callvirt instance string object::ToString() pop leave.s L } L: ret", "III.1.8.1.4-a"),
    ("a constructor of another class", CTOR, "ldarg.0 call instance void [mscorlib]System.Exception::.ctor() ret", "III.1.8.1.4-b"),
    ("a constructor called twice", CTOR, "ldarg.0 call instance void object::.ctor() ldarg.0 call instance void object::.ctor() ret", "III.1.8.1.4-b"),
    ("a constructor called elsewhere", "void F(object)", "ldarg.0 call instance void object::.ctor() ret", "III.1.8.1.4-b"),
    ("a constructor that calls none", CTOR, "ret", "III.1.8.1.4-c"),
    ("a constructor that calls none on one path", "specialname rtspecialname instance void .ctor(bool)", "ldarg.1 brtrue.s L \
        ldarg.0 call instance void object::.ctor() L: ret", "III.1.8.1.4-c"),
    ("a private method", "void F()", "call void A::Hide() ret", "I.8.5.3.2-a"),
    ("a private field", "void F(class A)", "ldarg.0 ldfld int32 A::hidden pop ret", "I.8.5.3.2-a"),
    ("a private type", "void F()", "ldtoken A/Inner pop ret", "I.8.5.3.2-a"),
    ("a private type in an argument of another", "void F()", "newobj instance void class \
        [mscorlib]System.Collections.Generic.List`1<class A/Inner>::.ctor() pop ret", "I.8.5.3.2-a"),
    ("a method of a family that it is not of", "void F(class A)", "ldarg.0 call instance void A::Kin() ret", "I.8.5.3.2-a"),
    ("a method of its family, on an object that is not", "void F(class B)", "ldarg.0 call instance object object::MemberwiseClone() pop ret", "I.8.5.3.2-a"),
    ("another assembly's own type", "void F()", "ldnull call string [mscorlib]Locale::GetText(string) pop ret", "I.8.5.3.2-a"),
    ("another assembly's own method", "void F()", "call valuetype [mscorlib]System.PlatformID [mscorlib]System.Environment::get_Platform() pop ret", "I.8.5.3.2-a"),
    ("a value type for a class", "void F()", "ldtoken class OnlyClass`1<int32> pop ret", "II.10.1.7-a"),
    ("a class for a value type", "void F()", "ldtoken class OnlyValue`1<string> pop ret", "II.10.1.7-a"),
    ("null for a value type", "void F()", "ldtoken class OnlyValue`1<valuetype [mscorlib]System.Nullable`1<int32>> pop ret", "II.10.1.7-a"),
    ("another class for a class", "void F()", "ldtoken class OnlyB`1<string> pop ret", "II.10.1.7-a"),
    ("a class that has not the interface", "void F()", "ldtoken class OnlyI`1<class B> pop ret", "II.10.1.7-a"),
    ("a class that cannot be made", "void F()", "call void C::Make<string>() ret", "II.10.1.7-a"),
    ("a parameter that may be what cannot be made", "void F<T>()", "call void C::Make<!!0>() ret", "II.10.1.7-a"),
    ("a parameter that may be a value type", "void F<(I) T>()", "ldtoken class OnlyClass`1<!!0> pop ret", "II.10.1.7-a"),
    ("an instantiation within another", "void F()", "ldtoken class [mscorlib]System.Collections.Generic.List`1<class OnlyB`1<string>> pop ret", "II.10.1.7-a"),
    ("a ref struct for what may be kept", "void F()", "ldtoken class [mscorlib]System.Collections.Generic.List`1<valuetype \
        [mscorlib]System.Span`1<int32>> pop ret", "II.10.1.7-a"),
    ("a local variable of such a type", "void F()", ".locals init (class OnlyB`1<string>) ret", "II.10.1.7-a"),
    ("an argument of such a type", "void F(class OnlyB`1<string>)", "ret", "II.10.1.7-a"),
    ("a field of such a type", "void G()", "ret } .field public class OnlyB`1<string> F .method static void H() cil managed { ret", "II.10.1.7-a"),
    ("a class that extends such a type", "void G()", "ret } .class nested public F extends class OnlyB`1<string> { } \
        .method static void H() cil managed { ret", "II.10.1.7-a"),
    ("a store by readonly.", "void F(string[])", "ldarg.0 ldc.i4.0 readonly. ldelema string ldnull stind.ref ret", "III.1.8.1.2.2-a"),
    ("a store into a box", "void F(object)", "ldarg.0 unbox int32 ldc.i4.0 stind.i4 ret", "III.1.8.1.2.2-a"),
    ("a box emptied", "void F(object)", "ldarg.0 unbox V initobj V ret", "III.1.8.1.2.2-a"),
    ("a box passed as a reference", "void F(object)", "ldarg.0 unbox int32 call void C::TakeRef(int32&) ret", "III.1.8.1.2.2-a"),
    ("a field of a box passed as a reference", "void F(object)", "ldarg.0 unbox V ldflda int32 V::n call void C::TakeRef(int32&) ret", "III.1.8.1.2.2-a"),
    ("a store to an `in` argument", "void F(int32& modreq([mscorlib]System.Runtime.InteropServices.InAttribute))", "ldarg.0 ldc.i4.0 stind.i4 ret", "III.1.8.1.2.2-a"),
    ("a store by an initonly field's address", "void F()", "ldsflda int32 A::constant ldc.i4.0 stind.i4 ret", "III.1.8.1.2.2-a"),
    ("a store to an initonly field", "void F()", "ldc.i4.0 stsfld int32 A::constant ret", "II.16.1.2-a"),
    ("a store to an initonly field by what is no constructor", "instance void F(int32)", "ldarg.0 ldarg.1 stfld int32 C::once ret", "II.16.1.2-a"),
    ("a store to a static initonly field by a constructor", CTOR, "ldarg.0 call instance void object::.ctor() ldc.i4.0 stsfld int32 C::always ret", "II.16.1.2-a"),
    ("a store to another object's initonly field by a constructor", "specialname rtspecialname instance void .ctor(class C)",
        "ldarg.0 call instance void object::.ctor() ldarg.1 ldc.i4.0 stfld int32 C::once ret", "II.16.1.2-a"),
    ("a store to another class's initonly field by an init accessor", INIT, "newobj instance void D::.ctor() ldarg.1 stfld int32 D::once ret", "II.16.1.2-a"),
    ("a store by the address of `this`", "instance void F(class C)", "ldarga.s 0 ldarg.1 stind.ref ret", "III.1.8.1.2.2-a"),
    ("an element of another class", "void F(string[], class B)", "ldarg.0 ldc.i4.0 ldarg.1 stelem.ref ret", "III.1.8.1.2-a"),
    ("a value of another type for an element", "void F(valuetype V[], valuetype W)", "ldarg.0 ldc.i4.0 ldarg.1 stelem V ret", "III.1.8.1.2-a"),
    ("elements that are larger", "void F(int32[])", "ldarg.0 ldc.i4.0 ldelem.i1 pop ret", "III.1.8.1.2-a"),
    ("elements of another precision", "void F(float64[])", "ldarg.0 ldc.i4.0 ldc.r8 1 stelem.r4 ret", "III.1.8.1.2-a"),
    ("a smaller number by its address", "void F(int32)", "ldarga.s 0 ldind.i1 pop ret", "III.1.8.1.2-a"),
    ("the address of an element of a derived class", "void F(string[])", "ldarg.0 ldc.i4.0 ldelema object pop ret", "III.1.8.1.2-a"),
    ("a delegate of an address from elsewhere", "void F(native int)", "ldnull ldarg.0 \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "III.4.21-a"),
    ("a delegate of another object's method", "void F(class B, class B)", "ldarg.0 ldarg.1 ldvirtftn instance void B::Act() \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "III.4.21-a"),
    ("a delegate of two methods", "void F(bool)", "ldnull ldarg.0 brtrue.s L ldftn void C::TakeV() br.s M L: ldftn void C::TakeNone() M: \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "III.4.21-a"),
    ("a target that has not the method", "void F(string)", "ldarg.0 ldftn instance void B::Act() \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "III.4.21-b"),
    ("a value for a target", "void F(valuetype W)", "ldarg.0 box W ldftn instance void V::Act() \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "III.4.21-b"),
    ("a target for a static method", "void F(string)", "ldarg.0 ldftn void C::TakeV() \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "III.4.21-b"),
    ("a target that is no first argument", "void F(string)", "ldarg.0 ldftn void C::TakeB(class B) \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "III.4.21-b"),
    ("a delegate's method that takes another class", "void F()", "ldnull ldftn void C::TakeB(class B) \
        newobj instance void class [mscorlib]System.Action`1<string>::.ctor(object, native int) pop ret", "II.14.6.1-a"),
    ("a delegate's method that takes more", "void F()", "ldnull ldftn void C::Two(int32, int32) \
        newobj instance void class [mscorlib]System.Action`1<string>::.ctor(object, native int) pop ret", "II.14.6.1-a"),
    ("a delegate's method that returns something", "void F(object)", "ldarg.0 dup ldvirtftn instance string object::ToString() \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "II.14.6.1-a"),
    ("another object's virtual method without callvirt", "void F(class B)", "ldarg.0 call instance void B::Act() ret", "III.3.19-a"),
    ("a base class's, on an object of its own class", "instance void F(class C)", "ldarg.1 call instance string object::ToString() pop ret", "III.3.19-a"),
    ("one on `this` kept in a local", "instance void F()", ".locals init (class C) ldarg.0 stloc.0 ldloc.0 call instance string object::ToString() pop ret", "III.3.19-a"),
    ("one on `this` or another at a join", "instance void F(class C)", "ldarg.1 brtrue.s L ldarg.0 br.s M L: ldarg.1 M: \
        call instance string object::ToString() pop ret", "III.3.19-a"),
    ("one on `this` or another in a loop", "instance void F(class C)", "ldarg.0 L: call instance string object::ToString() pop \
        ldarg.1 dup brtrue.s L pop ret", "III.3.19-a"),
    ("one on `this` that is stored to later", "instance void F(class C)", "ldarg.0 call instance string object::ToString() pop \
        ldarg.1 starg.s 0 ret", "III.3.19-a"),
    ("one on the box of what may be a class", "void F<T>(!!0)", "ldarg.0 box !!0 call instance string object::ToString() pop ret", "III.3.19-a"),
    ("one by an instantiation", "void F(class B)", "ldarg.0 call instance void B::ActOn<string>() ret", "III.3.19-a"),
    ("one of an interface", "void F(class I)", "ldarg.0 call instance void I::Act() ret", "III.3.19-a"),
    ("a delegate of another object's virtual method by ldftn", "void F(class B)", "ldarg.0 ldftn instance void B::Act() \
        newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret", "III.4.21-c"),
    ("a delegate of a virtual method by ldftn, for no object", "void F()", "ldnull ldftn instance void B::Act() \
        newobj instance void class [mscorlib]System.Action`1<class B>::.ctor(object, native int) pop ret", "III.4.21-c"),
    ("a new object by its base class's family constructor", "void G()", "ret } .class nested public E extends B { \
        .method public hidebysig static void F() cil managed { newobj instance void B::.ctor(int32) pop ret } } \
        .method static void H() cil managed { ret", "I.8.5.3.2-a"),
];

const CTOR: &str = "specialname rtspecialname instance void .ctor()";
const INIT: &str = "instance void modreq([mscorlib]System.Runtime.CompilerServices.IsExternalInit) F(int32)";

/// Valid methods: none of these breaks a rule.
#[rustfmt::skip]
const SOUND: &[(&str, &str)] = &[
    ("void F()", "ret"),
    ("void F(class D)", "ldarg.0 call void C::TakeB(class B) ldarg.0 call void C::TakeI(class I) ldnull call void C::TakeI(class I) ret"),
    ("void F(string[])", "ldarg.0 stloc.0 .locals init (object[]) ret"),
    ("void F(class [mscorlib]System.Collections.Generic.IEnumerable`1<string>)", "ldarg.0 stloc.0 \
        .locals init (class [mscorlib]System.Collections.Generic.IEnumerable`1<object>) ret"),
    ("void F(string[])", "ldarg.0 stloc.0 .locals init (class [mscorlib]System.Collections.Generic.IEnumerable`1<object>) ret"),
    ("void F(class B, class D)", "ldarg.0 brtrue.s L ldarg.0 br.s M L: ldarg.1 M: call void C::TakeB(class B) ret"),
    ("void F(uint32)", "ldarga.s 0 call void C::TakeRef(int32&) ret"),
    ("object F(valuetype V)", "ldarg.0 box V ret"),
    ("void F(valuetype V)", "ldarga.s 0 constrained. V callvirt instance string object::ToString() pop ret"),
    (CTOR, "ldarg.0 ldnull stfld class B C::b ldarg.0 call instance void object::.ctor() ldarg.0 callvirt instance string object::ToString() pop ret"),
    (CTOR, ".try { ldarg.0 call instance void object::.ctor() leave.s L } finally { endfinally } L: ret"),
    (CTOR, "ldnull throw"),
    ("void F(class C)", "ldarg.0 call instance object object::MemberwiseClone() pop call void C::Own() ret"),
    ("void F()", "ldtoken class OnlyClass`1<string> pop ldtoken class OnlyValue`1<int32> pop ldtoken class OnlyB`1<class D> pop \
        ldtoken class OnlyI`1<class D> pop call void C::Make<object>() call void C::Make<int32>() ret"),
    ("void F<class .ctor (D) T>(class OnlyB`1<!!0>)", "ldtoken class OnlyClass`1<!!0> pop ldtoken class OnlyI`1<!!0> pop call void C::Make<!!0>() ret"),
    ("void F(string[])", "ldarg.0 ldc.i4.0 readonly. ldelema object ldind.ref pop ldarg.0 ldc.i4.0 ldstr \"\" stelem.ref ret"),
    ("void F(object, char[])", "ldarg.0 unbox V ldobj V pop newobj instance void D::.ctor() ldflda int32 D::once call void C::TakeRef(int32&) \
        ldarg.1 ldc.i4.0 ldelem.u2 pop ret"),
    ("void F()", "ldnull ldftn void C::TakeV() newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret"),
    ("void F(class D)", "ldarg.0 dup ldvirtftn instance void B::Act() newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret"),
    ("void F(valuetype V)", "ldarg.0 box V ldftn instance void V::Act() newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret"),
    ("void F(class D)", "ldarg.0 ldftn void C::TakeB(class B) newobj instance void [mscorlib]System.Action::.ctor(object, native int) pop ret"),
    ("void F()", "ldnull ldftn void C::TakeObject(object) newobj instance void class [mscorlib]System.Action`1<string>::.ctor(object, native int) pop ret"),
    ("instance void F()", "ldarg.0 dup call instance string object::ToString() pop call instance int32 object::GetHashCode() pop ret"),
    ("instance void F(bool)", ".try { leave.s L } finally { ldarg.0 ldarg.1 brtrue.s M nop M: call instance string object::ToString() pop endfinally } L: ret"),
    ("instance void F()", "ldarg.0 ldftn instance string object::ToString() \
        newobj instance void class [mscorlib]System.Func`1<string>::.ctor(object, native int) pop ret"),
    ("instance void F()", "ldarga.s 0 ldind.ref pop ret"),
    (CTOR, "ldarg.0 call instance void object::.ctor() ldarg.0 call instance string object::ToString() pop ret"),
    ("void F(valuetype V)", "ldarg.0 box V call instance string [mscorlib]System.ValueType::ToString() pop ret"),
    ("void F(string)", "ldarg.0 call instance string string::ToString() pop ldarg.0 ldftn instance string string::ToString() \
        newobj instance void class [mscorlib]System.Func`1<string>::.ctor(object, native int) pop ret"),
    ("void F(class B)", "ldarg.0 call instance void B::Fixed() ret"),
    (INIT, "ldarg.0 ldarg.1 stfld int32 C::once ret"),
    ("void F()", "call void A::Nameless() ret"),
    ("void G()", "ret } } .class public sequential ansi sealed System.Byte extends [mscorlib]System.ValueType implements I { \
        .field public int32 n .method public hidebysig static void F() cil managed { call void I::Kin() ret"),
    // No runtime checks whether types of locals, and caught types, are accessible.
    ("void F()", ".locals init (class A/Inner) .try { leave.s L } catch A/Inner { pop leave.s L } L: ret"),
];

/// Definitions that the methods above refer to; `F` replaces its comment.
pub(crate) const AROUND: &str = "
.assembly extern mscorlib { .ver 4:0:0:0 .publickeytoken = (B7 7A 5C 56 19 34 E0 89) }
.assembly Faulty { }
.module Faulty.dll
.class public auto ansi beforefieldinit B extends [mscorlib]System.Object {
  .method public hidebysig newslot virtual instance void Act() cil managed { ret }
  .method public hidebysig newslot virtual instance void ActOn<T>() cil managed { ret }
  .method public hidebysig newslot virtual final instance void Fixed() cil managed { ret }
  .method public hidebysig specialname rtspecialname instance void .ctor() cil managed { ldarg.0 call instance void object::.ctor() ret }
  .method family hidebysig specialname rtspecialname instance void .ctor(int32 a) cil managed { ldarg.0 call instance void object::.ctor() ret }
}
.class interface public auto ansi abstract I {
  .method family hidebysig static void Kin() cil managed { ret }
  .method public hidebysig newslot virtual instance void Act() cil managed { ret }
}
.class interface public auto ansi abstract N`1<-T> { }
.class interface public auto ansi abstract P`1<T> implements class Q`1<class P`1<class P`1<!0>>> { }
.class interface public auto ansi abstract Q`1<T> implements class P`1<class Q`1<class Q`1<!0>>> { }
.class public auto ansi X`1<T> extends [mscorlib]System.Object implements class N`1<class N`1<class X`1<class X`1<!0>>>> { }
.class public auto ansi beforefieldinit D extends B implements I {
  .field public initonly int32 once
  .method public hidebysig specialname rtspecialname instance void .ctor() cil managed { ldarg.0 call instance void B::.ctor() ret }
}
.class public sequential ansi sealed beforefieldinit V extends [mscorlib]System.ValueType {
  .field public int32 n
  .method public hidebysig instance void Act() cil managed { ret }
}
.class public auto ansi OnlyClass`1<class T> extends [mscorlib]System.Object { }
.class public auto ansi OnlyValue`1<valuetype .ctor ([mscorlib]System.ValueType) T> extends [mscorlib]System.Object { }
.class public auto ansi OnlyB`1<(B) T> extends [mscorlib]System.Object { }
.class public auto ansi OnlyI`1<(I) T> extends [mscorlib]System.Object { }
.class public auto ansi beforefieldinit A extends [mscorlib]System.Object {
  .field public int32 n
  .field private int32 hidden
  .field public static initonly int32 constant
  .method private hidebysig static void Hide() cil managed { ret }
  .method privatescope hidebysig static void Nameless() cil managed { ret }
  .method family hidebysig instance void Kin() cil managed { ret }
  .class nested private auto ansi Inner extends [mscorlib]System.Object { }
}
.class public sequential ansi sealed beforefieldinit W extends [mscorlib]System.ValueType { .field public int32 n }
.class public auto ansi beforefieldinit C extends [mscorlib]System.Object {
  .field public class B b
  .field public initonly int32 once
  .field public static initonly int32 always
  .field public static string s
  .method public hidebysig static void TakeB(class B a) cil managed { ret }
  .method public hidebysig static void TakeD(class D a) cil managed { ret }
  .method public hidebysig static void TakeI(class I a) cil managed { ret }
  .method public hidebysig static void TakeString(string a) cil managed { ret }
  .method public hidebysig static void TakeStrings(string[] a) cil managed { ret }
  .method public hidebysig static void TakeRef(int32& a) cil managed { ret }
  .method public hidebysig static void TakeValue(valuetype V a) cil managed { ret }
  .method public hidebysig static void TakeOther(valuetype W a) cil managed { ret }
  .method public hidebysig static void TakeList(class [mscorlib]System.Collections.Generic.List`1<object> a) cil managed { ret }
  .method public hidebysig static void TakeSequence(class [mscorlib]System.Collections.Generic.IEnumerable`1<string> a) cil managed { ret }
  .method public hidebysig static void Make<.ctor T>() cil managed { ret }
  .method private hidebysig static void Own() cil managed { ret }
  .method public hidebysig static void TakeV() cil managed { ret }
  .method public hidebysig static void TakeNone() cil managed { ret }
  .method public hidebysig static void TakeObject(object a) cil managed { ret }
  .method public hidebysig static void Two(int32 a, int32 b) cil managed { ret }
  // F
}
";

/// The fault, a file, a cell with another value, and the broken rule.
type Cell = (&'static str, &'static str, Table, u32, &'static str, u32, &'static str);

const HELLO: &str = "samples/hello/bin/hello.exe";
const ORDERS: &str = "samples/orders/bin/orders.exe";

#[rustfmt::skip]
const CELLS: &[Cell] = &[
    ("a coded index of no table", HELLO, Table::TypeDef, 2, "extends", 3, "II.22-c"),
    ("a coded index of no row", HELLO, Table::TypeRef, 1, "resolution_scope", 99 << 2 | 2, "II.22-b"),
    ("an unsorted table", ORDERS, Table::Constant, 2, "parent", 1 << 2, "II.22-a"),
    ("a name outside of its heap", HELLO, Table::TypeRef, 1, "name", 0xFFFF, "II.24.2.3-c"),
    ("a blob outside of its heap", HELLO, Table::MethodDef, 1, "signature", 0xFFFF, "II.24.2.4-b"),
    ("a GUID outside of its heap", HELLO, Table::Module, 1, "mvid", 99, "II.24.2.5-b"),
    ("a class that extends itself", HELLO, Table::TypeDef, 3, "extends", 3 << 2, "II.22.37-12"),
    ("methods behind the last one", HELLO, Table::TypeDef, 2, "method_list", 500, "II.22.37-21"),
    ("two methods of a name", HELLO, Table::MethodDef, 18, "name", ABOVE, "II.22.26-40"),
    ("flags that are not specified", HELLO, Table::TypeDef, 2, "flags", 0x8000_0000, "II.22.37-2a"),
];

#[test]
#[ignore = "needs Mono"]
fn each_fault_of_code_is_found_by_its_rule() {
    let Some(ilasm) = require("ILINST_ILASM") else { return };
    let judge = |head: &str, body: &str| {
        let report = verify_bytes(&assemble(&ilasm, "verify-faults", AROUND, head, body), &PEDANTIC);
        of_f(&report.expect("it can be read"))
    };
    check_faults(CODE, "code", judge);
}

#[test]
#[ignore = "needs Mono"]
fn each_fault_of_types_is_found_by_its_rule() {
    // .NET's takes a tenth of the time of Mono's.
    let ilasm = dotnets_ilasm().or_else(|| require("ILINST_ILASM"));
    let (Some(ilasm), Some(mono)) = (ilasm, require("ILINST_MONO_LIB")) else { return };
    let mscorlib = read(&mono.join("4.5/mscorlib.dll"));
    let judge = |head: &str, body: &str| judge_types(&assemble(&ilasm, "verify-types", AROUND, head, body), &mscorlib);
    check_faults(TYPES, "types", judge);
    for (head, body) in SOUND {
        let found = judge(head, body);
        assert!(found.is_empty(), "{head} {{ {body} }}: {found:?}");
    }
}

/// Returns the rules that the method of an assembly breaks, with types.
pub(crate) fn judge_types(bytes: &[u8], mscorlib: &[u8]) -> BTreeSet<&'static str> {
    let image = Image::parse(bytes).expect("it is an assembly");
    let mut library = Library::new();
    let module = library.add(parse(bytes));
    let system = library.add(parse(mscorlib));
    library.link(module, b"mscorlib", system);
    of_f(&verify::verify_types(&image, &PEDANTIC, Scope { library: &library, module }))
}

/// Returns the rules that the method breaks.
pub(crate) fn of_f(report: &Report) -> BTreeSet<&'static str> {
    let is_it = |member: &str| matches!(member, "C::F" | "C::.ctor" | "C/F" | "C/E::F" | "System.Byte::F");
    report.findings.iter().filter(|finding| is_it(&finding.member)).map(|finding| finding.rule.number).collect()
}

pub(crate) fn parse(bytes: &[u8]) -> Metadata<'_> {
    let image = Image::parse(bytes).expect("it is an assembly");
    Metadata::parse(image.metadata().expect("it has metadata")).expect("it can be read")
}

fn check_faults(faults: &[Code], kind: &str, judge: impl Fn(&str, &str) -> BTreeSet<&'static str>) {
    let sound = judge("void F()", "ret");
    assert!(sound.is_empty(), "{sound:?} without a fault");
    let mut failures = Vec::new();
    for (what, head, body, rule) in faults {
        let found = judge(head, body);
        if !found.contains(rule) {
            failures.push(format!("{what}: {found:?} instead of {rule}"));
        }
    }
    println!("{} faults of {kind}", faults.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_fault_of_metadata_is_found_by_its_rule() {
    for (what, file, table, rid, column, value, rule) in CELLS {
        let sound = read(&root().join(file));
        assert!(!broken(&sound).contains(rule), "{what}: {rule} without it");
        let found = broken(&set_cell(&sound, *table, *rid, column, *value));
        assert!(found.contains(rule), "{what}: {found:?} instead of {rule}");
    }
}

/// Returns an assembly that contains this method.
pub(crate) fn assemble(ilasm: &Path, folder: &str, around: &str, head: &str, body: &str) -> Vec<u8> {
    let body = body.replace("catch object", "catch [mscorlib]System.Object");
    let kind = if head.contains("instance") { "" } else { "static " };
    let method = format!(".method public hidebysig {kind}{head} cil managed {{ .maxstack 8 {body} }}");
    assemble_text(ilasm, folder, &around.replace("// F", &method))
}

pub(crate) fn assemble_text(ilasm: &Path, folder: &str, source: &str) -> Vec<u8> {
    let folder = scratch(folder);
    let (text, file) = (folder.join("faulty.il"), folder.join("faulty.dll"));
    fs::write(&text, source).expect("it can be written");
    let output = Command::new(ilasm).arg("-dll").arg(format!("-output:{}", file.display())).arg(&text).output();
    let output = output.expect("ilasm starts");
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stdout));
    read(&file)
}

fn broken(bytes: &[u8]) -> BTreeSet<&'static str> {
    let report = verify_bytes(bytes, &PEDANTIC).expect("it can be read");
    report.findings.iter().map(|finding| finding.rule.number).collect()
}
