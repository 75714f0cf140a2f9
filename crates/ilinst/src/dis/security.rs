//! Declarative security: permission sets (II.11, II.22.11).

use ecma335::{
    Cursor, Result, Token,
    attribute::{Argument, ArgumentType, AttributeTypes, NamedArgument},
    element::ElementType,
    schema::{self, TypeDefOrRef},
};

use super::{flags, lines::Lines, names::Names, quote};

/// Prints the permission sets of something (II.11).
pub(crate) fn permissions(names: &Names<'_, '_>, owner: Token, lines: &mut Lines) {
    for rid in names.belongings.permissions.of::<schema::DeclSecurity>(owner.0) {
        let Ok(row) = names.metadata.row(rid) else { continue };
        let action = usize::from(row.action).checked_sub(1).and_then(|index| flags::SECURITY_ACTIONS.get(index));
        let blob = names.metadata.blobs.blob(row.permission_set);
        match (action, blob.map(|blob| (blob.rest(), permission_set(blob)))) {
            // XML in UTF-16, as version 1 had it.
            (Some(action), Ok((xml @ [b'<', 0, ..], _))) => {
                lines.line(format_args!(".permissionset {action} = ({})", quote::hex(xml)));
            }
            (Some(action), Ok((_, Ok(Some(text))))) => lines.line(format_args!(".permissionset {action} = {text}")),
            (_, Ok((bytes, _))) => {
                lines.comment(format_args!(".permissionset {} = ({})", action.unwrap_or(&"?"), quote::hex(bytes)));
            }
            (_, Err(error)) => lines.comment(format_args!("DeclSecurity {rid:?}: {error}")),
        }
    }
}

/// A permission set in words; none where the words would not be enough. Mono's ilasm writes strings as what they are not.
fn permission_set(mut cursor: Cursor<'_>) -> Result<Option<String>> {
    if cursor.u8()? != b'.' {
        return Ok(None);
    }
    let count = cursor.compressed_u32()?;
    let mut permissions = Vec::new();
    for _ in 0..count {
        let length = cursor.compressed_u32()?;
        let name = String::from_utf8_lossy(cursor.bytes(length as usize)?).into_owned();
        let size = cursor.compressed_u32()?;
        let mut arguments = cursor.window(size as usize)?;
        let members = arguments.compressed_u32()?;
        let mut text = Vec::new();
        for _ in 0..members {
            let Some(member) = member(&NamedArgument::read(&mut arguments, &Flags)?) else { return Ok(None) };
            text.push(member);
        }
        // The grammar wants one member at the least.
        if text.is_empty() {
            return Ok(None);
        }
        permissions.push(format!("{} = {{ {} }}", reflected_name(&name), text.join(" ")));
    }
    Ok((!permissions.is_empty()).then(|| format!("{{ {} }}", permissions.join(", "))))
}

/// A member of a permission: `property bool 'Unrestricted' = bool(true)`.
fn member(named: &NamedArgument) -> Option<String> {
    let kind = if named.is_property { "property" } else { "field" };
    let name = quote::quoted(&named.name);
    let (member_type, value) = match (&named.argument_type, &named.argument) {
        (_, Argument::Boolean(value)) => ("bool".to_owned(), format!("bool({value})")),
        // Mono's ilasm can name an enumeration of another assembly alone.
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

/// A type's name as reflection has it, `Name+Inner, Assembly, Version=...`, in the assembler's words.
fn reflected_name(name: &str) -> String {
    let (path, assembly) = name.split_once(',').unwrap_or((name, ""));
    let path = path.trim().split('+').map(quote::dotted).collect::<Vec<_>>().join("/");
    match assembly.split(',').next().map(str::trim) {
        Some(assembly) if !assembly.is_empty() => format!("[{}]{path}", quote::dotted(assembly)),
        _ => path,
    }
}

/// The enumerations of permissions are all `int32`.
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
