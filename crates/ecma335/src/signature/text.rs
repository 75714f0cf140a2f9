//! Formats signatures as IL assembly.

use std::fmt;

use super::{ArrayShape, MethodSig, TypeSig};
use crate::{element::convention, heap::LEFT_OUT, schema::TypeDefOrRef, token::Token};

/// Arrays of more dimensions are abbreviated.
const MAX_RANK: u32 = 64;

/// Names types for IL assembly: `[mscorlib]System.Object`.
pub trait TypeNames {
    /// The name of a TypeDef or TypeRef. A TypeSpec occurs only as a modifier.
    fn type_name(&self, token: Token) -> String;

    /// A generic parameter of the enclosing type: `!0`, or a name.
    fn type_variable(&self, number: u32) -> String {
        format!("!{number}")
    }

    /// A generic parameter of the enclosing method: `!!0`, or a name.
    fn method_variable(&self, number: u32) -> String {
        format!("!!{number}")
    }
}

/// The maximum length of a signature's text, in bytes; longer ones are cut. A blob of a few kilobytes may name
/// thousands of types with long names, and many rows may share it. The longest in real assemblies have half that
/// length.
pub(super) const MAX_TEXT: usize = 8 << 10;

/// A signature to format as IL assembly.
#[derive(Clone, Copy)]
pub struct Display<'s, S, N: ?Sized> {
    signature: &'s S,
    names: &'s N,
}

impl TypeSig {
    /// The type as IL assembly.
    pub fn display<'s, N: TypeNames + ?Sized>(&'s self, names: &'s N) -> Display<'s, Self, N> {
        Display { signature: self, names }
    }
}

impl MethodSig {
    /// The signature as IL assembly, without a name: `instance void (int32)`.
    pub fn display<'s, N: TypeNames + ?Sized>(&'s self, names: &'s N) -> Display<'s, Self, N> {
        Display { signature: self, names }
    }

    /// The part before a method's name: `instance void `.
    pub fn display_head<N: TypeNames + ?Sized>(&self, names: &N) -> String {
        format!("{}{} ", convention_text(self.convention), self.return_type.display(names))
    }

    /// The parameters as IL assembly: `(int32, ..., string)`.
    pub fn display_params<N: TypeNames + ?Sized>(&self, names: &N) -> String {
        let mut text = String::new();
        put_params(&mut text, self, names);
        text
    }
}

impl<N: TypeNames + ?Sized> fmt::Display for Display<'_, TypeSig, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        put_type(&mut text, self.signature, self.names);
        f.write_str(&text)
    }
}

impl<N: TypeNames + ?Sized> fmt::Display for Display<'_, MethodSig, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.signature.display_head(self.names))?;
        f.write_str(&self.signature.display_params(self.names))
    }
}

fn put_type<N: TypeNames + ?Sized>(out: &mut String, signature: &TypeSig, names: &N) {
    let kind = |is_value: bool| if is_value { "valuetype " } else { "class " };
    match signature {
        TypeSig::Element(element) => out.push_str(element.text()),
        TypeSig::Named { is_value, token } => out.extend([kind(*is_value), &named(*token, names)]),
        TypeSig::Ptr(inner) => put_around(out, inner, names, "*"),
        TypeSig::ByRef(inner) => put_around(out, inner, names, "&"),
        TypeSig::Pinned(inner) => put_around(out, inner, names, " pinned"),
        TypeSig::SzArray(inner) => put_around(out, inner, names, "[]"),
        TypeSig::Array(inner, shape) => put_around(out, inner, names, &format!("[{shape}]")),
        TypeSig::Var(number) => out.push_str(&names.type_variable(*number)),
        TypeSig::MVar(number) => out.push_str(&names.method_variable(*number)),
        TypeSig::GenericInst { is_value, token, arguments } => {
            out.extend([kind(*is_value), &named(*token, names), "<"]);
            put_list(out, arguments, None, names);
            out.push('>');
        }
        TypeSig::FnPtr(method) => {
            out.extend(["method ", &convention_text(method.convention)]);
            put_around(out, &method.return_type, names, " *");
            put_params(out, method, names);
        }
        TypeSig::Modified { is_required, modifier, inner } => {
            let keyword = if *is_required { "modreq" } else { "modopt" };
            put_around(out, inner, names, &format!(" {keyword}({})", named(*modifier, names)));
        }
    }
}

/// Formats a type with a suffix.
fn put_around<N: TypeNames + ?Sized>(out: &mut String, inner: &TypeSig, names: &N, behind: &str) {
    put_type(out, inner, names);
    out.push_str(behind);
}

fn put_params<N: TypeNames + ?Sized>(out: &mut String, method: &MethodSig, names: &N) {
    out.push('(');
    put_list(out, &method.params, method.sentinel, names);
    out.push(')');
}

/// Formats types with commas between them. `...` stands before the sentinel's type, or after the last type.
fn put_list<N: TypeNames + ?Sized>(out: &mut String, types: &[TypeSig], sentinel: Option<usize>, names: &N) {
    let dots = sentinel.map(|at| at.min(types.len()));
    for (index, each) in types.iter().enumerate() {
        if out.len() > MAX_TEXT {
            return out.push(LEFT_OUT);
        }
        if index > 0 {
            out.push_str(", ");
        }
        if dots == Some(index) {
            out.push_str("..., ");
        }
        put_type(out, each, names);
    }
    if dots == Some(types.len()) {
        out.push_str(if types.is_empty() { "..." } else { ", ..." });
    }
}

fn named<N: TypeNames + ?Sized>(token: TypeDefOrRef, names: &N) -> String {
    match token.token() {
        Some(token) => names.type_name(token),
        None => format!("<bad index 0x{:x}>", token.0),
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No runtime has arrays of more than 32 dimensions, but a hostile blob may claim millions.
        if self.rank > MAX_RANK {
            return write!(f, "/* {} dimensions */", self.rank);
        }
        // `T[]` would be a vector, a different type.
        if self.rank == 1 && self.sizes.is_empty() && self.lower_bounds.is_empty() {
            return f.write_str("...");
        }
        for dimension in 0..self.rank as usize {
            if dimension > 0 {
                f.write_str(",")?;
            }
            match (self.lower_bounds.get(dimension), self.sizes.get(dimension)) {
                (Some(low), Some(size)) => write!(f, "{low}...{}", i64::from(*low) + i64::from(*size) - 1)?,
                (Some(low), None) => write!(f, "{low}...")?,
                (None, Some(size)) => write!(f, "{size}")?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// The words of the calling convention, each followed by a space.
fn convention_text(first: u8) -> String {
    let mut text = String::new();
    if first & convention::HAS_THIS != 0 {
        text.push_str("instance ");
    }
    if first & convention::EXPLICIT_THIS != 0 {
        text.push_str("explicit ");
    }
    text.push_str(match first & convention::MASK {
        convention::C => "unmanaged cdecl ",
        convention::STDCALL => "unmanaged stdcall ",
        convention::THISCALL => "unmanaged thiscall ",
        convention::FASTCALL => "unmanaged fastcall ",
        convention::VARARG => "vararg ",
        convention::UNMANAGED => "unmanaged ",
        _ => "",
    });
    text
}
