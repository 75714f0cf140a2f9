//! Counters of lines stand where the PDB has a sequence point, each once, and the table has the place that the PDB states.

use std::collections::BTreeMap;

use ecma335::{
    Image, Metadata, MethodBody, OpCode, Rid, Rva, Table, Token,
    body::Instruction,
    pdb::Span,
    schema::{Field, MethodDef},
};
use names::{LineTable, Mark};
use weave::Woven;

/// Returns the field with the address of a module's counters; `None` if it has none.
pub(crate) fn field(metadata: &Metadata<'_>) -> Option<Token> {
    let last = Rid::<Field>::new(metadata.tables.count(Table::Field));
    (metadata.name(metadata.row(last).ok()?.name).ok()? == "Counters").then(|| last.into())
}

/// Returns whether a counter begins with an instruction, and the number of its counter.
pub(crate) fn counter(instructions: &[Instruction<'_>], field: Option<Token>) -> Option<u32> {
    let [load, number, call, ..] = instructions else { return None };
    let is_counter = load.opcode() == OpCode::Ldsfld && Some(load.token()) == field && call.opcode() == OpCode::Call;
    let implicit = [OpCode::LdcI40, OpCode::LdcI41, OpCode::LdcI42, OpCode::LdcI43];
    let implicit = implicit.iter().position(|opcode| *opcode == number.opcode()).map(|number| number as u32);
    is_counter.then(|| implicit.unwrap_or(number.value() as u32))
}

/// Compares the counters in the code of a woven file with the table in its mark, and with the points of its PDB. Returns the number
/// of counters.
pub(crate) fn compare(woven: &Woven<'_>, points: impl Fn(Rid<MethodDef>, u32) -> Option<Span>) -> Result<usize, String> {
    let output = woven.file.to_vec();
    let image = Image::parse(&output).map_err(|error| error.to_string())?;
    let metadata = image.metadata().and_then(Metadata::parse).map_err(|error| error.to_string())?;
    let mark = Mark::read(&metadata).ok_or("it has no mark")?;
    let table = mark.lines.map_or_else(|| Ok(LineTable::default()), LineTable::read).map_err(|error| error.to_string())?;
    let points_of_table = table.methods.iter().flat_map(|method| &method.points);
    let mut places: BTreeMap<u32, Span> =
        points_of_table.map(|point| (point.counter, Span { start: point.start, end: point.end })).collect();
    let (count, field) = (places.len(), field(&metadata));
    for (rid, row) in metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.has_il_body() && row.rva != 0) {
        let Ok(body) = image.cursor_at(Rva(row.rva)).and_then(MethodBody::parse) else { continue };
        let instructions: Vec<Instruction<'_>> = body.instructions().map_while(Result::ok).collect();
        for (at, instruction) in instructions.iter().enumerate() {
            let Some(number) = counter(&instructions[at..], field) else { continue };
            let place =
                places.remove(&number).ok_or_else(|| format!("{rid:?}: counter {number} is there twice, or not listed"))?;
            if points(rid, instruction.offset) != Some(place) {
                return Err(format!("{rid:?}: counter {number} is at {place:?} in the table and elsewhere in the PDB"));
            }
        }
    }
    if places.is_empty() { Ok(count) } else { Err(format!("counters are listed and not in the code: {places:?}")) }
}
