//! Planted faults: one in each assembly, of every kind that there is, and the rule that has to find it.
//!
//! Faults of code are small methods that Mono's ilasm assembles; faults of metadata are cells of a real file. What is
//! sound around them breaks no rule.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use ecma335::Table;
use tests::{root, scratch, skip, tool};

use crate::{PEDANTIC, damage, read, verify_bytes};

/// What is wrong, a method's head and its body, and the rule that says so.
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
    ("a store to a local that is not there", "void F()", ".locals (int32) ldc.i4.0 stloc.1 ret", "III.1.9-c"),
    ("a method that is not there", "void F()", ".emitbyte 0x28 .emitbyte 0xFF .emitbyte 0 .emitbyte 0 .emitbyte 6 ret", "III.1.9-a"),
    ("a type where a field is named", "void F()", ".emitbyte 0x7E .emitbyte 1 .emitbyte 0 .emitbyte 0 .emitbyte 2 pop ret", "III.1.9-a"),
    ("a string that is not there", "void F()", ".emitbyte 0x72 .emitbyte 0 .emitbyte 0xFF .emitbyte 0 .emitbyte 0x70 pop ret", "III.1.9-b"),
    ("tail. before nothing to call", "void F()", "tail. nop ret", "III.2-a"),
    ("volatile. before a local", "void F()", ".locals (int32) volatile. ldloc.0 pop ret", "III.2-a"),
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
    ("a call by address", "void F(native int)", "ldarg.0 calli void () ret", "III.3-a"),
];

/// What the methods above may name; `F` is put in the place of its comment.
const AROUND: &str = "
.assembly extern mscorlib { .ver 4:0:0:0 .publickeytoken = (B7 7A 5C 56 19 34 E0 89) }
.assembly Faulty { }
.module Faulty.dll
.class public auto ansi beforefieldinit B extends [mscorlib]System.Object {
  .method public hidebysig newslot virtual instance void Act() cil managed { ret }
}
.class public auto ansi beforefieldinit C extends [mscorlib]System.Object {
  .method public hidebysig static void Two(int32 a, int32 b) cil managed { ret }
  // F
}
";

/// What is wrong, a cell of a file with another value, and the rule that says so.
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
    ("two methods of a name", HELLO, Table::MethodDef, 18, "name", damage::ABOVE, "II.22.26-40"),
    ("flags that are not specified", HELLO, Table::TypeDef, 2, "flags", 0x8000_0000, "II.22.37-2a"),
];

#[test]
fn each_fault_of_code_is_found_by_its_rule() {
    let Some(ilasm) = tool("ILINST_ILASM") else { return skip("ilasm was not found (ILINST_ILASM is not set)") };
    let folder = scratch("verify-faults");
    let sound = broken(&assemble(&ilasm, &folder, "sound", "void F()", "ret"));
    assert!(sound.is_empty(), "{sound:?} without a fault");
    let mut failures = Vec::new();
    for (number, (what, head, body, rule)) in CODE.iter().enumerate() {
        let found = broken(&assemble(&ilasm, &folder, &format!("fault-{number}"), head, body));
        if !found.contains(rule) {
            failures.push(format!("{what}: {found:?} instead of {rule}"));
        }
    }
    println!("{} faults of code", CODE.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_fault_of_metadata_is_found_by_its_rule() {
    for (what, file, table, rid, column, value, rule) in CELLS {
        let sound = read(&root().join(file));
        assert!(!broken(&sound).contains(rule), "{what}: {rule} without it");
        let found = broken(&damage::set(&sound, *table, *rid, column, *value));
        assert!(found.contains(rule), "{what}: {found:?} instead of {rule}");
    }
}

/// An assembly with this method in it.
fn assemble(ilasm: &Path, folder: &Path, name: &str, head: &str, body: &str) -> Vec<u8> {
    let body = body.replace("catch object", "catch [mscorlib]System.Object");
    let method = format!(".method public hidebysig static {head} cil managed {{ .maxstack 8 {body} }}");
    let (text, file) = (folder.join(format!("{name}.il")), folder.join(format!("{name}.dll")));
    fs::write(&text, AROUND.replace("// F", &method)).expect("it can be written");
    let output = Command::new(ilasm).arg("/dll").arg(format!("/output:{}", file.display())).arg(&text).output();
    let output = output.expect("ilasm starts");
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
    read(&file)
}

fn broken(bytes: &[u8]) -> BTreeSet<&'static str> {
    let report = verify_bytes(bytes, &PEDANTIC).expect("it can be read");
    report.findings.iter().map(|finding| finding.rule.number).collect()
}
