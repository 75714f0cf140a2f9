//! Declarative security: permission sets (II.11, II.22.11).

use std::collections::BTreeSet;

use ecma335::{
    Cursor, Result, Token,
    attribute::{Argument, ArgumentType, AttributeTypes, NamedArgument},
    element::ElementType,
    schema::{AssemblyRef, DeclSecurity, TypeDefOrRef},
};

use super::{flags, lines::Lines, names::Names};
use crate::quote;

/// Prints the permission sets of a row (II.11).
pub(crate) fn permissions(names: &Names<'_, '_>, owner: Token, lines: &mut Lines) {
    for rid in names.by_parent.permissions.children::<DeclSecurity>(owner.0) {
        let Ok(row) = names.metadata.row(rid) else { continue };
        let action = usize::from(row.action).checked_sub(1).and_then(|index| flags::SECURITY_ACTIONS.get(index));
        let blob = names.metadata.blobs.blob(row.permission_set);
        match (action, blob.map(|blob| (blob.rest(), permission_set(blob)))) {
            // XML in UTF-16, the format of .NET Framework 1.
            (Some(action), Ok((xml @ [b'<', 0, ..], _))) => {
                lines.line(format_args!(".permissionset {action} = ({})", quote::hex(xml)));
            }
            (Some(action), Ok((_, Ok(Some((text, true)))))) => lines.line(format_args!(".permissionset {action} = {text}")),
            (Some(action), Ok((_, Ok(Some((text, false)))))) => lines.comment(format_args!(".permissionset {action} = {text}")),
            (_, Ok((bytes, _))) => {
                lines.comment(format_args!(".permissionset {} = ({})", action.unwrap_or(&"?"), quote::hex(bytes)));
            }
            (_, Err(error)) => lines.comment(format_args!("DeclSecurity {rid:?}: {error}")),
        }
    }
}

/// Prints references to assemblies that only permission sets name. Mono's ilasm would invent a reference without
/// version.
pub(crate) fn assemblies(names: &Names<'_, '_>, lines: &mut Lines) {
    let text = |index| names.metadata.name(index).unwrap_or_default();
    let mut known: BTreeSet<String> = names.metadata.tables.rows::<AssemblyRef>().map(|(_, row)| text(row.name)).collect();
    known.extend(names.metadata.assembly().map(|row| text(row.name)));
    for (_, row) in names.metadata.tables.rows::<DeclSecurity>() {
        let permissions = names.metadata.blobs.blob(row.permission_set).and_then(permissions_of);
        for name in permissions.iter().flatten().flat_map(Permission::type_names) {
            let Some((_, assembly)) = name.split_once(',') else { continue };
            let (assembly, rest) = assembly.split_once(',').unwrap_or((assembly, ""));
            if !known.insert(assembly.trim().to_owned()) {
                continue;
            }
            lines.line(format_args!(".assembly extern {}", quote::dotted(assembly.trim())));
            lines.open();
            let is_plain =
                |(_, value): &(&str, &str)| value.chars().all(|character| matches!(character, '.' | '0'..='9' | 'a'..='f'));
            for (word, value) in rest.split(',').filter_map(|part| part.trim().split_once('=')).filter(is_plain) {
                match word {
                    "Version" => lines.line(format_args!(".ver {}", value.replace('.', ":"))),
                    "PublicKeyToken" => {
                        let pairs: Vec<&str> = (0..value.len()).step_by(2).filter_map(|at| value.get(at..at + 2)).collect();
                        lines.line(format_args!(".publickeytoken = ({})", pairs.join(" ").to_uppercase()));
                    }
                    _ => {}
                }
            }
            lines.close();
        }
    }
}

/// A permission: the full name of its type, and its arguments.
struct Permission {
    name: String,
    members: Vec<NamedArgument>,
    size: usize,
}

impl Permission {
    /// The full names of the types that it mentions.
    fn type_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.enums())
    }

    fn enums(&self) -> impl Iterator<Item = &str> {
        self.members.iter().filter_map(|member| match &member.argument_type {
            ArgumentType::Enum(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// The permission as text. None if text cannot express it.
    fn words(&self) -> Option<String> {
        let members: Vec<String> = self.members.iter().map(member).collect::<Option<_>>()?;
        // The grammar requires at least one member.
        (!members.is_empty()).then(|| format!("{} = {{ {} }}", reflected_name(&self.name), members.join(" ")))
    }

    /// Whether Mono's ilasm makes the same blob from the text. It encodes strings incorrectly, and the size of the
    /// members in one byte. It omits the culture of the members' enumerations.
    fn is_for_ilasm(&self) -> bool {
        /// A part of a full name with its assembly.
        const CULTURE: &str = ", Culture=neutral";
        let shorter = self.enums().filter(|name| name.contains(CULTURE)).count() * CULTURE.len();
        let has_strings = self.members.iter().any(|member| matches!(member.argument, Argument::String(_)));
        !has_strings && self.size.saturating_sub(shorter) <= 0x7F
    }
}

/// A permission set as text, and whether Mono's ilasm makes the same blob from it. None if text cannot express it.
fn permission_set(cursor: Cursor<'_>) -> Result<Option<(String, bool)>> {
    let permissions = permissions_of(cursor)?;
    let words: Option<Vec<String>> = permissions.iter().map(Permission::words).collect();
    let words = words.filter(|words| !words.is_empty()).map(|words| format!("{{ {} }}", words.join(", ")));
    Ok(words.map(|words| (words, permissions.iter().all(Permission::is_for_ilasm))))
}

/// The permissions of a set in the version 2 format (II.22.11). None if it is XML.
fn permissions_of(mut cursor: Cursor<'_>) -> Result<Vec<Permission>> {
    if cursor.u8()? != b'.' {
        return Ok(Vec::new());
    }
    let count = cursor.compressed_u32()?;
    let mut permissions = Vec::new();
    for _ in 0..count {
        let length = cursor.compressed_u32()?;
        let name = String::from_utf8_lossy(cursor.bytes(length as usize)?).into_owned();
        let size = cursor.compressed_u32()? as usize;
        let mut arguments = cursor.window(size)?;
        let count = arguments.compressed_u32()?;
        let members = (0..count).map(|_| NamedArgument::read(&mut arguments, &Flags)).collect::<Result<_>>()?;
        permissions.push(Permission { name, members, size });
    }
    Ok(permissions)
}

/// A member of a permission: `property bool 'Unrestricted' = bool(true)`.
fn member(named: &NamedArgument) -> Option<String> {
    let kind = if named.is_property { "property" } else { "field" };
    let name = quote::quoted(&named.name);
    let (member_type, value) = match (&named.argument_type, &named.argument) {
        (_, Argument::Boolean(value)) => ("bool".to_owned(), format!("bool({value})")),
        (_, Argument::String(Some(text))) => ("string".to_owned(), format!("string({})", quote::quoted(text))),
        // Mono's ilasm can name an enumeration only if another assembly defines it.
        (ArgumentType::Enum(name), Argument::Integer(_, value)) if name.contains(',') => {
            (format!("enum {}", reflected_name(name)), format!("int32({value})"))
        }
        (ArgumentType::Element(element), Argument::Integer(_, value)) => {
            (element.text().to_owned(), format!("{}({value})", element.text()))
        }
        _ => return None,
    };
    Some(format!("{kind} {member_type} {name} = {value}"))
}

/// A type's reflection name, `Name+Inner, Assembly, Version=...`, in the assembler's syntax.
fn reflected_name(name: &str) -> String {
    let (path, assembly) = name.split_once(',').unwrap_or((name, ""));
    let path = path.trim().split('+').map(quote::dotted).collect::<Vec<_>>().join("/");
    match assembly.split(',').next().map(str::trim) {
        Some(assembly) if !assembly.is_empty() => format!("[{}]{path}", quote::dotted(assembly)),
        _ => path,
    }
}

/// All enumerations of permissions are `int32`.
struct Flags;

impl AttributeTypes for Flags {
    fn enum_of(&self, _: TypeDefOrRef) -> Option<ElementType> {
        None
    }

    fn enum_named(&self, _: &str) -> Option<ElementType> {
        Some(ElementType::I4)
    }

    fn is_system_type(&self, _: TypeDefOrRef) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_too_long_for_the_assembler_is_not_for_it() {
        let flags = |name: &str| NamedArgument {
            is_property: true,
            name: "Flags".into(),
            argument_type: ArgumentType::Enum(name.into()),
            argument: Argument::Integer(ElementType::I4, 128),
        };
        let permission = |size, name| Permission { name: "P, A, Version=1.0.0.0".into(), members: vec![flags(name)], size };
        let words = "[A]P = { property enum [A]F 'Flags' = int32(128) }";
        for (size, name, is_for_ilasm) in [
            (0x7F, "F, A", true),
            (0x80, "F, A", false),
            // The assembler omits the culture.
            (0x90, "F, A, Version=1.0.0.0, Culture=neutral", true),
            (0x91, "F, A, Version=1.0.0.0, Culture=neutral", false),
        ] {
            let permission = permission(size, name);
            assert_eq!((permission.words().as_deref(), permission.is_for_ilasm()), (Some(words), is_for_ilasm), "{size:#x}");
        }
    }
}
