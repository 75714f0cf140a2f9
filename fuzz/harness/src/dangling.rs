//! Dangling references: a row number or offset that leads nowhere in the input must lead nowhere in the output. Added rows and
//! heap items follow the input's, so a number one past the end could find them.

use std::{cell::RefCell, collections::BTreeSet};

use ecma335::{
    Image, Metadata, MethodBody, Rva, Table, Token,
    element::convention,
    schema::{Blob, ColumnKind, Guid, MethodDef, StandAloneSig, Str},
    signature::{Signature, TypeSig, text::TypeNames},
};

/// A target of a number in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Target {
    Row(Token),
    Str(u32),
    Blob(u32),
    Guid(u32),
    UserString(u32),
}

/// Returns the first reference that dangled in the input, or led elsewhere, and that leads somewhere in the output.
pub fn gained(image: &Image<'_>, old: &Metadata<'_>, new: &Metadata<'_>) -> Option<String> {
    let targets = all(image, old, new);
    let found = targets.into_iter().find(|target| meaning(*target, old) != meaning(*target, new));
    found.map(|target| format!("{target:?} was {:?}, and is {:?}", meaning(target, old), meaning(target, new)))
}

/// Returns the bytes that a target refers to, or `None` if it does not exist.
fn meaning<'a>(target: Target, metadata: &Metadata<'a>) -> Option<Vec<u8>> {
    match target {
        Target::Row(token) => (1..=metadata.tables.count(token.table()?)).contains(&token.rid()).then(Vec::new),
        Target::Str(index) => metadata.strings.string_bytes(Str(index)).ok().map(<[u8]>::to_vec),
        Target::Blob(index) => metadata.blob(Blob(index)).ok().map(<[u8]>::to_vec),
        // The output has another MVID in the same place.
        Target::Guid(index) => metadata.guids.guid(Guid(index)).ok()?.map(|_| Vec::new()),
        Target::UserString(index) => metadata.user_strings.blob(Blob(index)).ok().map(|blob| blob.rest().to_vec()),
    }
}

/// Returns the targets of all rows, signatures and bodies.
fn all(image: &Image<'_>, metadata: &Metadata<'_>, new: &Metadata<'_>) -> BTreeSet<Target> {
    let mut targets = BTreeSet::new();
    for table in Table::ALL.iter().copied() {
        for (rid, cells) in (1..=metadata.tables.count(table)).filter_map(|rid| Some((rid, metadata.tables.cells(table, rid)?))) {
            // A row that no body uses for its locals any more is reused for another signature of locals.
            let is_locals = |metadata| is_locals(metadata, Token::new(table, rid));
            let is_blob_kept = !(is_locals(metadata) && is_locals(new));
            for (column, cell) in table.columns().iter().zip(cells) {
                let is_list = column.name.ends_with("_list");
                targets.extend(match column.kind {
                    ColumnKind::Fixed(_) => None,
                    ColumnKind::Str => Some(Target::Str(cell)),
                    ColumnKind::Guid => Some(Target::Guid(cell)),
                    ColumnKind::Blob => is_blob_kept.then_some(Target::Blob(cell)),
                    ColumnKind::Rid(_) if is_list => None,
                    ColumnKind::Rid(of) => Some(Target::Row(Token::new(of, cell))),
                    ColumnKind::Coded(coded) => coded.decode(cell).map(Target::Row),
                });
                if matches!(column.kind, ColumnKind::Blob) && column.name != "value" {
                    targets.extend(named_in(metadata, table, Blob(cell)).into_iter().map(Target::Row));
                }
            }
        }
    }
    for (_, method) in metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.has_il_body()) {
        let Ok(body) = image.cursor_at(Rva(method.rva)).and_then(MethodBody::parse) else { continue };
        for instruction in body.instructions().map_while(Result::ok) {
            use ecma335::opcode::Operand;
            targets.extend(match instruction.info.operand {
                Operand::String => Some(Target::UserString(instruction.token().rid())),
                Operand::Method | Operand::Field | Operand::Type | Operand::Token | Operand::Sig => {
                    Some(Target::Row(instruction.token()))
                }
                _ => None,
            });
        }
        let classes = body.clauses.iter().filter_map(|clause| match clause.kind {
            ecma335::ClauseKind::Catch(class) => Some(class),
            _ => None,
        });
        targets.extend(classes.chain([body.local_var_sig]).map(Target::Row));
    }
    targets
}

/// Returns whether a token is the row of a signature of locals.
fn is_locals(metadata: &Metadata<'_>, token: Token) -> bool {
    let row = token.rid_in::<StandAloneSig>().and_then(|rid| metadata.row(rid).ok());
    let blob = row.and_then(|row| metadata.blob(row.signature).ok());
    blob.is_some_and(|blob| blob.first() == Some(&convention::LOCAL))
}

/// Returns the types that a signature names.
fn named_in(metadata: &Metadata<'_>, table: Table, blob: Blob) -> Vec<Token> {
    /// Records the tokens of all types that a signature mentions.
    #[derive(Default)]
    struct Asked(RefCell<Vec<Token>>);
    impl TypeNames for Asked {
        fn type_name(&self, token: Token) -> String {
            self.0.borrow_mut().push(token);
            String::new()
        }
    }
    let asked = Asked::default();
    let Ok(cursor) = metadata.blobs.blob(blob) else { return Vec::new() };
    let ask = |signature: &TypeSig| drop(signature.display(&asked).to_string());
    match Signature::parse(cursor) {
        Ok(Signature::Method(signature)) => drop(signature.display(&asked).to_string()),
        Ok(Signature::Field(signature)) => ask(&signature),
        Ok(Signature::Property(signature)) => {
            ask(&signature.property_type);
            signature.params.iter().for_each(ask);
        }
        Ok(Signature::Locals(types) | Signature::MethodSpec(types)) => types.iter().for_each(ask),
        Err(_) if table == Table::TypeSpec => TypeSig::parse(cursor).iter().for_each(ask),
        Err(_) => {}
    }
    asked.0.into_inner()
}
