//! Headers, instructions and clauses of method bodies (II.25.4).

use ecma335::{Image, Metadata, MethodBody, Rva, body::Instruction, opcode::Operand, schema::MethodDef};

use super::{Field, Fields, Kind, row, u32_at};

#[derive(Default)]
struct Code {
    headers: Vec<Field>,
    clauses: Vec<Field>,
    opcodes: Vec<Field>,
    tokens: Vec<Field>,
    branches: Vec<Field>,
    operands: Vec<Field>,
}

pub(super) fn add(image: &Image<'_>, metadata: &Metadata<'_>, fields: &mut Fields) {
    let mut code = Code::default();
    for (_, method) in metadata.tables.rows::<MethodDef>().filter(|(_, row)| row.has_il_body()) {
        let Ok(cursor) = image.cursor_at(Rva(method.rva)) else { continue };
        let start = cursor.offset().0 as usize;
        if let Ok(body) = MethodBody::parse(cursor) {
            code.add(image.bytes(), start, &body);
        }
    }
    code.add_to(fields);
}

/// Adds the fields of bytes that are a single body.
pub(super) fn add_body(bytes: &[u8], body: &MethodBody<'_>, fields: &mut Fields) {
    let mut code = Code::default();
    code.add(bytes, 0, body);
    code.add_to(fields);
}

impl Code {
    fn add_to(self, fields: &mut Fields) {
        let Self { headers, clauses, opcodes, tokens, branches, operands } = self;
        let area = vec![headers, clauses, opcodes, tokens, branches, operands];
        // Code is added several times: beside cells it is to be changed most.
        fields.add(area.clone());
        fields.add(area);
    }

    fn add(&mut self, file: &[u8], start: usize, body: &MethodBody<'_>) {
        let il = body.il_offset.0 as usize;
        if body.is_tiny {
            row(start, &[1], Kind::Number, &mut self.headers);
        } else {
            let sig = row(start, &[2, 2, 4], Kind::Number, &mut self.headers);
            row(sig, &[4], Kind::Token, &mut self.headers);
        }
        for instruction in body.instructions().map_while(Result::ok) {
            self.add_instruction(il, &instruction);
        }
        if body.clauses.is_empty() {
            return;
        }
        let section = start + (il + body.il.len() - start).next_multiple_of(4);
        let is_fat = u32_at(file, section) & 0x40 != 0;
        let widths: &[usize] = if is_fat { &[4; 5] } else { &[2, 2, 1, 2, 1] };
        let mut at = row(section, &[1, 1, 1, 1], Kind::Number, &mut self.clauses);
        for _ in &body.clauses {
            at = row(at, widths, Kind::UpTo(body.il.len() as u32), &mut self.clauses);
            at = row(at, &[4], Kind::Token, &mut self.clauses);
        }
    }

    fn add_instruction(&mut self, il: usize, instruction: &Instruction<'_>) {
        let at = il + instruction.offset as usize;
        let operand = at + usize::from(instruction.info.size);
        // The last byte of the opcode follows the prefix 0xFE, if there is one.
        self.opcodes.push(Field { at: operand - 1, width: 1, kind: Kind::OpCode(instruction.info.operand_size) });
        let size = instruction.operand.len();
        match instruction.info.operand {
            Operand::None => {}
            Operand::Method | Operand::Field | Operand::Type | Operand::Token | Operand::Sig | Operand::String => {
                row(operand, &[4], Kind::Token, &mut self.tokens);
            }
            Operand::Branch | Operand::BranchS => {
                row(operand, &[size], Kind::Number, &mut self.branches);
            }
            Operand::Switch => {
                row(operand, &vec![4; size / 4], Kind::Number, &mut self.branches);
            }
            _ => {
                row(operand, &[size], Kind::Number, &mut self.operands);
            }
        }
    }
}
