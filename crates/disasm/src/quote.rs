//! Tokens of the assembler's lexer: names, quoted if necessary, strings, numbers, bytes (II.5.2).

use std::{borrow::Cow, collections::HashSet, fmt::Write as _, sync::LazyLock};

use ecma335::OpCode;
use names::is_hidden;

use crate::ilasm::Ilasm;

/// The keywords of Microsoft's and Mono's assemblers that could be names (VI.C.1).
const KEYWORDS: &str = "\
    abstract aggressiveinlining aggressiveoptimization algorithm alignment amd64 ansi any arm arm64 array as \
    assembly assert async at auto autochar beforefieldinit bestfit blob blob_object bool bstr bytearray byreflike \
    byvalstr callconv callmostderived carray catch cdecl cf char charmaperror cil class clsid codelabel \
    compilercontrolled const constraint currency custom date decimal default demand deny disablejitoptimizer \
    enablejittracking endmac enum error explicit extends extern false famandassem family famorassem fastcall fault \
    field filetime filter final finally fixed flags float float32 float64 forwarder forwardref fromunmanaged \
    fullorigin handler hidebysig hresult idispatch iidparam il illegal implements implicitcom implicitres import in \
    inheritcheck init initonly instance int int16 int32 int64 int8 interface internalcall iunknown is lasterr \
    lateinit lcid legacy library linkcheck literal localloc lpstr lpstruct lptstr lpvoid lpwstr managed marshal \
    mdtoken method modopt modreq native nested newslot noappdomain noinlining nomachine nomangle nometadata \
    noncasdemand noncasinheritance noncaslinkdemand nooptimization noplatform noprocess not_in_gc_heap notserialized \
    null nullref object objectref off ole on opt optil out permitonly pinned pinvokeimpl prefix1 prefix2 prefix3 \
    prefix4 prefix5 prefix6 prefix7 prefixref prejitdeny prejitgrant preservesig private privatescope property \
    protected ptr public readonly record refany reqmin reqopt reqrefuse reqsecobj request retainappdomain \
    retargetable retval rtspecialname runtime safearray sealed sequential serializable specialname static stdcall \
    storage stored_object stream streamed_object strict string struct synchronized syschar sysstring tbstr thiscall \
    tls to true type typedref uint uint16 uint32 uint64 uint8 unicode unmanaged unmanagedexp unsigned unused \
    userdefined value valuetype vararg variant vbbyrefstr vector virtual void wchar winapi windowsruntime with x86 \
    brnull brzero brinst endfault ldelem.any stelem.any";

/// Keywords and opcodes: names equal to one must be quoted.
static RESERVED: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let opcodes = OpCode::ALL.iter().map(|opcode| opcode.info().name.trim_end_matches('.'));
    KEYWORDS.split_whitespace().chain(opcodes).collect()
});

/// A name as one token: quoted if it has a dot or another character that is invalid in identifiers.
pub fn name(name: &str) -> Cow<'_, str> {
    if is_plain(name) { Cow::Borrowed(name) } else { Cow::Owned(quoted(name)) }
}

/// A name of one or more words with dots between them, such as a type's with its namespace.
pub fn dotted(name: &str) -> Cow<'_, str> {
    if name.split('.').all(is_plain) && !RESERVED.contains(name) { Cow::Borrowed(name) } else { Cow::Owned(quoted(name)) }
}

/// A method's name. `.ctor` and `.cctor` are keywords of the grammar.
pub fn method(name: &str) -> Cow<'_, str> {
    if matches!(name, ".ctor" | ".cctor") { Cow::Borrowed(name) } else { dotted(name) }
}

/// Whether every assembler's lexer accepts the word as an identifier. The standard allows more, and Mono's lexer
/// less.
fn is_plain(word: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'@');
    word.bytes().next().is_some_and(is_letter)
        && word.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit() || matches!(byte, b'`' | b'?'))
        && !RESERVED.contains(word)
}

/// A name in single quotes.
pub fn quoted(name: &str) -> String {
    let mut out = String::from("'");
    name.chars().for_each(|character| escape(character, '\'', &mut out));
    out.push('\'');
    out
}

/// Text in double quotes.
pub fn text(text: &str) -> String {
    let mut out = String::from("\"");
    text.chars().for_each(|character| escape(character, '"', &mut out));
    out.push('"');
    out
}

/// A string literal. Its bytes, if it is malformed UTF-16 or has characters that an editor would not preserve. Also
/// if it has a NUL: in .NET's ilasm a string in quotes ends there.
pub fn string(units: &[u16], ilasm: Ilasm) -> String {
    let is_escaped = |character: char| matches!(character, '\0'..='\u{1f}');
    let keeps = |character: char| {
        !(is_hidden(character) && !is_escaped(character) || matches!(character, '\u{feff}' | '\u{fffe}'..='\u{ffff}'))
    };
    let bytes = || bytearray(&units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>());
    match String::from_utf16(units) {
        Ok(string) if !string.chars().all(keeps) => bytes(),
        Ok(string) if ilasm == Ilasm::DotNet && string.contains('\0') => {
            format!("{} /* {} */", bytes(), text(&string).replace("*/", "* /"))
        }
        Ok(string) => text(&string),
        Err(_) => bytes(),
    }
}

fn escape(character: char, quote: char, out: &mut String) {
    match character {
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ if character == quote => out.extend(['\\', quote]),
        // Three octal digits, so that a following digit is not part of the escape.
        _ if character.is_control() => drop(write!(out, "\\{:03o}", u32::from(character))),
        _ => out.push(character),
    }
}

/// Bytes in hex, for the assembler's parentheses.
pub fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 3);
    for (index, digit) in hex::encode_upper(bytes).chars().enumerate() {
        if index > 0 && index % 2 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// `bytearray (01 02)`
pub fn bytearray(bytes: &[u8]) -> String {
    format!("bytearray ({})", hex(bytes))
}

/// A float in decimal, if every assembler parses the same number: few digits, a small exponent, no negative zero.
pub fn float64(value: f64) -> Option<String> {
    let text = format!("{value:?}");
    let is_safe = value.to_bits() == 0 || (1e-5..1e15).contains(&value.abs());
    (is_safe && text.bytes().filter(u8::is_ascii_digit).count() <= 15).then_some(text)
}

/// Like [`float64`], for four bytes.
pub fn float32(value: f32) -> Option<String> {
    let text = format!("{value:?}");
    let is_safe = value.to_bits() == 0 || (1e-5..1e7).contains(&value.abs());
    (is_safe && text.bytes().filter(u8::is_ascii_digit).count() <= 8).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_the_grammar_needs_it() {
        for (plain, expected) in [
            ("System.Collections.Generic.List`1", "System.Collections.Generic.List`1"),
            ("value", "'value'"),
            ("add", "'add'"),
            ("add.ovf", "'add.ovf'"),
            ("A.value", "'A.value'"),
            ("tail.", "'tail.'"),
            ("<>c__DisplayClass0_0", "'<>c__DisplayClass0_0'"),
            ("Ünï", "'Ünï'"),
            ("it's \\", "'it\\'s \\\\'"),
            ("0day", "'0day'"),
            ("a\u{1}1", "'a\\0011'"),
            ("a\u{7f}\u{9b}1", "'a\\177\\2331'"),
            ("", "''"),
        ] {
            assert_eq!(dotted(plain), expected);
        }
        assert_eq!(name("a.b"), "'a.b'");
        assert_eq!(method(".ctor"), ".ctor");
        assert_eq!(method("..ctor"), "'..ctor'");
    }

    #[test]
    fn strings_that_text_cannot_hold_are_bytes() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
        let string = |units: &[u16]| string(units, Ilasm::Mono);
        assert_eq!(string(&units("a\"\n\0b é 😀")), "\"a\\\"\\n\\000b é 😀\"");
        assert_eq!(string(&[0x41, 0xD800]), "bytearray (41 00 00 D8)");
        assert_eq!(string(&units("\u{feff}")), "bytearray (FF FE)");
        assert_eq!(string(&units("\u{9b}")), "bytearray (9B 00)");
        assert_eq!(string(&units("\u{202e}")), "bytearray (2E 20)");
        assert_eq!(super::string(&units("\0*/"), Ilasm::DotNet), "bytearray (00 00 2A 00 2F 00) /* \"\\000* /\" */");
    }

    #[test]
    fn floats_are_decimal_only_where_that_is_exact_for_all() {
        assert_eq!(float64(0.1), Some("0.1".into()));
        assert_eq!(float64(-2.0), Some("-2.0".into()));
        for odd in [-0.0, f64::NAN, f64::INFINITY, 1e300, 0.1 + 0.2, 5e-324] {
            assert_eq!(float64(odd), None);
        }
        assert_eq!(float32(0.25), Some("0.25".into()));
        assert_eq!(float32(f32::MIN_POSITIVE), None);
    }
}
