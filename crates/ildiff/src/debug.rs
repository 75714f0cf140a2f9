//! Formats a portable PDB's facts on a method, at the positions of its instructions.

use std::collections::BTreeMap;

use ecma335::{
    MethodBody, Result, Rid, Table, Token,
    body::Instruction,
    pdb::SequencePoints,
    schema::{LocalConstant, LocalScope, LocalVariable, MethodDebugInformation, MethodDef, StateMachineMethod},
};

use super::{
    lines::LABEL,
    pdb::{Pdb, method_name, type_name},
};
use disasm::{ilasm::Ilasm, lines::one_line, names::Names, quote, values};

/// A PDB's facts on one method, at offsets of the printed body.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Facts {
    /// The source position of the instructions from an offset on.
    pub(crate) points: BTreeMap<u32, String>,
    /// All other facts: the indentation, the line with a [`LABEL`] for each offset in it, and these offsets.
    pub(crate) lines: Vec<(usize, String, Vec<u32>)>,
}

/// The instruction offsets of the body that a PDB describes.
pub(crate) struct Places {
    /// Their offsets, in order.
    starts: Vec<u32>,
    /// The size of the body.
    end: u32,
}

impl Places {
    /// The offsets of a body. None if its IL cannot be decoded.
    pub(crate) fn new(body: &MethodBody<'_>) -> Option<Self> {
        let instructions: Vec<Instruction<'_>> = body.instructions().collect::<Result<_>>().ok()?;
        let starts = instructions.iter().map(|instruction| instruction.offset).collect();
        Some(Self { starts, end: body.il.len() as u32 })
    }

    /// The first instruction at or after an offset, or the end. None for an offset beyond the end.
    fn of_offset(&self, offset: u32) -> u32 {
        let found = self.starts.get(self.starts.partition_point(|start| *start < offset));
        if offset > self.end { u32::MAX } else { found.copied().unwrap_or(self.end) }
    }
}

impl Pdb<'_> {
    /// The facts on a method.
    pub(crate) fn facts(
        &self,
        names: &Names<'_, '_>,
        (method, body): (Rid<MethodDef>, &MethodBody<'_>),
        places: &Places,
    ) -> Facts {
        let mut facts = Facts::default();
        if let Err(error) = self.points(method, body, places, &mut facts) {
            facts.lines.push((1, format!("// its sequence points cannot be read: {}", one_line(error.kind())), Vec::new()));
        }
        let mut add = |indent, line: String, offsets: &[u32]| {
            let places = offsets.iter().map(|offset| places.of_offset(*offset)).collect();
            facts.lines.push((indent, format!("// {line}"), places));
        };
        for rid in self.kickoffs.children::<StateMachineMethod>(method.get()) {
            let Ok(row) = self.metadata.row(rid) else { continue };
            add(1, format!("steps of {}", method_name(names, row.kickoff_method)), &[]);
        }
        self.custom(names, Token::new(Table::MethodDef, method.get()), &mut |line, offsets| add(1, line, offsets));
        let mut last_imports = Rid::NONE;
        for rid in self.scopes.children::<LocalScope>(method.get()) {
            let Ok(scope) = self.metadata.row(rid) else { continue };
            let end = scope.start_offset.saturating_add(scope.length);
            add(1, format!("scope {LABEL} to {LABEL}"), &[scope.start_offset, end]);
            if scope.import_scope != last_imports {
                self.imports(names, scope.import_scope).into_iter().for_each(|line| add(2, line, &[]));
                last_imports = scope.import_scope;
            }
            self.custom(names, Token::new(Table::LocalScope, rid.get()), &mut |line, _| add(2, line, &[]));
            self.locals(names, rid, &mut |indent, line| add(indent, line, &[]));
        }
        facts
    }

    fn points(&self, method: Rid<MethodDef>, body: &MethodBody<'_>, places: &Places, facts: &mut Facts) -> Result<()> {
        let row: MethodDebugInformation = self.metadata.row(Rid::new(method.get()))?;
        let found = SequencePoints::parse(self.metadata.blobs.blob(row.sequence_points)?, row.document)?;
        for point in &found.points {
            let source = match point.span {
                None => "hidden".to_owned(),
                Some(span) => {
                    let ((line, column), (end_line, end_column)) = (span.start, span.end);
                    format!("{}:{line}:{column} to {end_line}:{end_column}", self.document(point.document))
                }
            };
            let place = places.of_offset(point.offset);
            // After the last instruction, a point has no meaning.
            if place < places.end {
                facts.points.insert(place, format!("// {source}"));
            }
        }
        // F#'s compiler writes a token instead of the row number.
        let local_signature = Token(found.local_signature).rid();
        if !found.points.is_empty() && local_signature != body.local_var_sig.rid() {
            facts.lines.push((1, format!("// its locals are said to be StandAloneSig {local_signature}'s"), Vec::new()));
        }
        Ok(())
    }

    /// Adds the locals and the constants of a scope.
    fn locals(&self, names: &Names<'_, '_>, scope: Rid<LocalScope>, add: &mut dyn FnMut(usize, String)) {
        for rid in self.metadata.children::<_, LocalVariable>(scope) {
            let Ok(row) = self.metadata.row(rid) else { continue };
            let hidden = if row.is_debugger_hidden() { ", hidden from debuggers" } else { "" };
            let name = self.metadata.name(row.name).unwrap_or_default();
            add(2, format!("local [{}] {}{hidden}", row.index, quote::name(&name)));
            self.custom(names, Token::new(Table::LocalVariable, rid.get()), &mut |line, _| add(3, line));
        }
        for rid in self.metadata.children::<_, LocalConstant>(scope) {
            let Ok(row) = self.metadata.row(rid) else { continue };
            let name = self.metadata.name(row.name).unwrap_or_default();
            let value = self.constant(names, &row).unwrap_or_else(|error| one_line(error.kind()));
            add(2, format!("const {} = {value}", quote::name(&name)));
            self.custom(names, Token::new(Table::LocalConstant, rid.get()), &mut |line, _| add(3, line));
        }
    }

    /// A constant's value, and its type if that is an enum.
    fn constant(&self, names: &Names<'_, '_>, row: &LocalConstant) -> Result<String> {
        use ecma335::element::ElementType as Element;
        let mut cursor = self.metadata.blobs.blob(row.signature)?;
        let mut kind = cursor.u8()?;
        let mut modifiers = String::new();
        while matches!(Element::from_byte(kind), Some(Element::CModOpt | Element::CModReqd)) {
            modifiers.push_str(&format!(" {}", type_name(names, cursor.compressed_u32()?)));
            kind = cursor.u8()?;
        }
        let value = match Element::from_byte(kind) {
            Some(Element::Class | Element::ValueType) => {
                let name = type_name(names, cursor.compressed_u32()?);
                format!("{name} ({})", quote::hex(cursor.rest()))
            }
            Some(element @ (Element::Object | Element::String)) if cursor.is_empty() => format!("{} nullref", element.text()),
            Some(Element::Boolean | Element::Char | Element::String) => values::value(kind, &mut cursor, Ilasm::Mono)?,
            Some(element) if (Element::I1 as u8..=Element::R8 as u8).contains(&(element as u8)) => {
                let value = values::value(kind, &mut cursor, Ilasm::Mono)?;
                if cursor.is_empty() { value } else { format!("{value} {}", type_name(names, cursor.compressed_u32()?)) }
            }
            _ => format!("({})", quote::hex(cursor.rest())),
        };
        Ok(value + &modifiers)
    }
}
