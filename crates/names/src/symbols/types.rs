//! Types of signatures in C# notation.

use ecma335::{
    Metadata, Rid, Token,
    schema::{TypeDef, TypeRef, TypeSpec},
    signature::TypeSig,
};

/// Longer text is cut: a blob of a few kilobytes may name thousands of types.
const MAX_TEXT: usize = 512;
/// The deepest nesting of instantiations that is followed.
const MAX_DEPTH: u32 = 16;

/// Returns types separated by commas: `int, List<T>`.
pub(crate) fn list(metadata: &Metadata<'_>, types: &[TypeSig], of_type: &[&str], of_method: &[&str]) -> String {
    let mut writer = Writer { metadata, of_type, of_method, text: String::new() };
    writer.list(types, 0);
    writer.text
}

/// Returns the name of a type in metadata: `Namespace.Outer/Inner`.
pub(crate) fn raw_name(metadata: &Metadata<'_>, token: Token) -> Option<String> {
    if let Some(spec) = token.rid_in::<TypeSpec>() {
        let blob = metadata.blobs.blob(metadata.row(spec).ok()?.signature).ok()?;
        return match TypeSig::parse(blob).ok()? {
            TypeSig::GenericInst { token, .. } | TypeSig::Named { token, .. } => {
                let token = token.token()?;
                token.rid_in::<TypeSpec>().is_none().then(|| raw_name(metadata, token)).flatten()
            }
            _ => None,
        };
    }
    match token.rid_in::<TypeRef>() {
        Some(rid) => metadata.type_ref_name(rid).ok(),
        None => metadata.full_names().name_of(token.rid_in::<TypeDef>()?).ok(),
    }
}

struct Writer<'a, 'm> {
    metadata: &'m Metadata<'a>,
    of_type: &'m [&'m str],
    of_method: &'m [&'m str],
    text: String,
}

impl Writer<'_, '_> {
    fn list(&mut self, types: &[TypeSig], depth: u32) {
        for (index, each) in types.iter().enumerate() {
            if index > 0 {
                self.text.push_str(", ");
            }
            if self.text.len() > MAX_TEXT {
                return self.text.push('…');
            }
            self.put(each, depth);
        }
    }

    fn put(&mut self, each: &TypeSig, depth: u32) {
        if depth > MAX_DEPTH || self.text.len() > MAX_TEXT {
            return self.text.push('…');
        }
        match each {
            TypeSig::Element(element) => self.text.push_str(element.keyword()),
            TypeSig::Named { token, .. } => self.name(token.token()),
            TypeSig::Ptr(inner) => self.around("", inner, "*", depth),
            TypeSig::ByRef(inner) => self.around("ref ", inner, "", depth),
            TypeSig::Pinned(inner) | TypeSig::Modified { inner, .. } => self.put(inner, depth + 1),
            TypeSig::SzArray(inner) => self.around("", inner, "[]", depth),
            TypeSig::Array(inner, shape) => {
                let commas = ",".repeat(shape.rank.clamp(1, 32) as usize - 1);
                self.around("", inner, &format!("[{commas}]"), depth);
            }
            TypeSig::Var(number) => self.parameter(*number, self.of_type, "!"),
            TypeSig::MVar(number) => self.parameter(*number, self.of_method, "!!"),
            TypeSig::GenericInst { token, arguments, .. } => {
                self.name(token.token());
                self.text.push('<');
                self.list(arguments, depth + 1);
                self.text.push('>');
            }
            TypeSig::FnPtr(method) => {
                self.text.push_str("delegate*<");
                self.list(&method.params, depth + 1);
                self.text.push('>');
            }
        }
    }

    fn around(&mut self, before: &str, inner: &TypeSig, behind: &str, depth: u32) {
        self.text.push_str(before);
        self.put(inner, depth + 1);
        self.text.push_str(behind);
    }

    fn parameter(&mut self, number: u32, names: &[&str], otherwise: &str) {
        match names.get(number as usize) {
            Some(name) => self.text.push_str(name),
            None => self.text.push_str(&format!("{otherwise}{number}")),
        }
    }

    /// Appends the type's own name alone, which is enough to tell overloads apart.
    fn name(&mut self, token: Option<Token>) {
        let name = token.and_then(|token| match token.rid_in::<TypeRef>() {
            Some(rid) => self.metadata.name(self.metadata.row(rid).ok()?.name).ok(),
            None => {
                let rid: Rid<TypeDef> = token.rid_in()?;
                self.metadata.name(self.metadata.row(rid).ok()?.name).ok()
            }
        });
        let name = name.unwrap_or_else(|| "?".into());
        self.text.push_str(name.split('`').next().unwrap_or(&name));
    }
}
