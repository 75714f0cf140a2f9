//! Finds new findings: those of a file that its original does not have.
//!
//! Two findings are the same if they have the same rule and member, and concern the same IL. Weaving moves offsets, row
//! numbers and short forms of opcodes. The effect of an instruction and its target stay the same.

use std::collections::{BTreeMap, BTreeSet};

use ecma335::{
    Image, Metadata, MethodBody, OpCode, Rva, Table,
    opcode::{Implicit, Operand},
    schema::MethodDef,
};

use crate::{
    model::Model,
    names::Names,
    report::{Finding, Options, Report},
};

/// A file with its findings.
struct Compared<'m> {
    image: &'m Image<'m>,
    metadata: &'m Metadata<'m>,
    names: Names<'m>,
}

/// The key by which findings are compared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    rule: &'static str,
    member: String,
    instruction: String,
    detail: String,
}

impl Key {
    /// The key without the member.
    fn anywhere(&self) -> Self {
        Self { member: String::new(), instruction: String::new(), ..self.clone() }
    }
}

/// The name for instructions that move a value within the method.
const MOVE: &str = "move";

/// Removes the findings of the original's report from a report, and returns their number. Both need [`Options::every`].
pub fn leave_new(
    report: &mut Report,
    file: (&Image<'_>, &Metadata<'_>),
    original: &Report,
    of: (&Image<'_>, &Metadata<'_>),
) -> usize {
    let mut known: BTreeMap<Key, usize> = BTreeMap::new();
    let mut details: BTreeSet<Key> = BTreeSet::new();
    let model = Model::new(of.1);
    let compared = Compared { image: of.0, metadata: of.1, names: Names::new(of.1, &model) };
    for finding in &original.findings {
        let key = compared.key(finding);
        details.insert(Key { instruction: String::new(), ..key.clone() });
        details.insert(key.anywhere());
        *known.entry(key).or_default() += 1;
    }
    let model = Model::new(file.1);
    let compared = Compared { image: file.0, metadata: file.1, names: Names::new(file.1, &model) };
    let before = report.findings.len();
    report.findings.retain(|finding| {
        let key = compared.key(finding);
        match known.get_mut(&key) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            // A leave probe keeps the return value in a local variable. New signatures of locals repeat the types of old
            // ones and of method signatures, in any number.
            _ if finding.token.table() == Some(Table::StandAloneSig) => !details.contains(&key.anywhere()),
            _ => !(key.instruction == MOVE && details.contains(&Key { instruction: String::new(), ..key })),
        }
    });
    before - report.findings.len()
}

/// Keeps as many findings of each rule as the options permit, and counts the others.
pub fn abridge(report: &mut Report, options: &Options) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let before = report.findings.len();
    report.findings.retain(|finding| {
        let count = counts.entry(finding.rule.number).or_default();
        *count += 1;
        *count <= options.limit
    });
    report.omitted += before - report.findings.len();
}

impl Compared<'_> {
    fn key(&self, finding: &Finding) -> Key {
        let member = if finding.member.is_empty() {
            finding.token.table().map_or_else(String::new, |table| table.to_string())
        } else {
            finding.member.clone()
        };
        let instruction = finding.offset.and_then(|offset| self.instruction(finding, offset)).unwrap_or_default();
        Key { rule: finding.rule.number, member, instruction, detail: without_places(&finding.detail) }
    }

    /// An instruction by its effect, regardless of its form.
    fn instruction(&self, finding: &Finding, offset: u32) -> Option<String> {
        let row = self.metadata.row(finding.token.rid_in::<MethodDef>()?).ok().filter(MethodDef::has_il_body)?;
        let body = self.image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse).ok()?;
        let instruction = body.instructions_from(offset).next()?.ok()?;
        let name = instruction.info.name;
        Some(match instruction.info.operand {
            _ if instruction.opcode() == OpCode::Ret => MOVE.into(),
            Operand::Method | Operand::Field | Operand::Type | Operand::Token => {
                format!("{name} {}", self.names.name_of(instruction.token()))
            }
            Operand::Var | Operand::VarS => MOVE.into(),
            _ if matches!(instruction.info.implicit, Some(Implicit::Argument(_) | Implicit::Local(_))) => MOVE.into(),
            _ => name.trim_end_matches(".s").into(),
        })
    }
}

/// A text without numbers of positions: `IL_0004`, `0x06000002`, `clause 3`.
fn without_places(text: &str) -> String {
    let is_place = |word: &str| {
        let word = word.trim_matches(|character: char| !character.is_ascii_alphanumeric());
        word.starts_with("IL_") || word.starts_with("0x")
    };
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(' ') {
        let is_number = words.last() == Some(&"clause");
        words.push(if is_number || is_place(word) { "_" } else { word });
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::without_places;

    #[test]
    fn places_move_and_words_stay() {
        assert_eq!(without_places("0 or 1 at IL_0004"), "0 or 1 at _");
        assert_eq!(without_places("clause 3: 0x06000002"), "clause _ _");
        assert_eq!(without_places("int32 where O is needed"), "int32 where O is needed");
    }
}
