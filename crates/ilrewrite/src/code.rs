//! A body's instructions with labels instead of offsets, so that instructions can be inserted.

use ecma335::{
    Metadata, MethodBody, OpCode, Table, Token,
    body::{Clause, ClauseKind},
    opcode::{Flow, Implicit, OpCodeInfo, Operand as OperandKind},
    schema::Blob,
};

use crate::{error::RewriteError, probe::Site};

/// A position in the code that a branch or clause refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(u32);

/// An instruction. Each prefix is an instruction of its own.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// Its opcode, with its properties from the opcode table.
    pub info: &'static OpCodeInfo,
    /// Its operand.
    pub operand: Operand,
    /// Its offset in the input's IL, or [`Instruction::NO_ORIGIN`] if it was inserted.
    pub origin: u32,
}

impl Instruction {
    /// The origin of an inserted instruction.
    pub const NO_ORIGIN: u32 = u32::MAX;

    /// An instruction to insert.
    pub fn new(opcode: OpCode, operand: Operand) -> Self {
        Self { info: opcode.info(), operand, origin: Self::NO_ORIGIN }
    }

    /// Its opcode.
    #[inline]
    pub fn opcode(&self) -> OpCode {
        self.info.opcode
    }
}

/// The operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// The bytes after the opcode in the input, at the instruction's origin.
    Input,
    /// A number or token, in the size that the opcode requires.
    Value(u64),
    /// A requested token: the number of its request in the batch.
    Request(u32),
    /// The target of a branch.
    Label(Label),
    /// The labels of a switch: a range of [`Code::switch_labels`].
    Switch {
        /// The index of the first one.
        start: u32,
        /// The number of labels.
        count: u32,
    },
}

/// An exception clause with labels. Each block ends at the label after its last instruction.
#[derive(Clone, Copy, Debug)]
pub struct LabelClause {
    /// The kind of the handler. The offset of a filter is unused.
    pub kind: ClauseKind,
    /// The start of the filter, if the handler has one.
    pub filter: Option<Label>,
    /// The protected block.
    pub protected: (Label, Label),
    /// The handler.
    pub handler: (Label, Label),
}

/// A call with a probe. The fields are indexes of instructions in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteAt {
    pub(crate) call: usize,
    /// The call whose return value it consumes, if the probe stands before that call.
    pub(crate) ahead: Option<usize>,
    pub(crate) site: Site,
}

/// A body's code. The vectors keep their capacity from one body to the next.
#[derive(Default, Debug)]
pub struct Code {
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
    /// The labels of all switches.
    pub switch_labels: Vec<Label>,
    /// The exception clauses, inner ones first.
    pub clauses: Vec<LabelClause>,
    /// The calls with probes, in order.
    pub(crate) sites: Vec<SiteAt>,
    /// The number of locals the input needs: the largest number used, plus one.
    pub(crate) locals_used: u32,
    /// The number of arguments it needs, including `this`.
    pub(crate) arguments_used: u32,
    /// Whether the input allocates stack memory (`localloc`).
    pub(crate) has_localloc: bool,
    /// Whether a prefix stands before a `ret` or `jmp`, where a probe's call may go. No prefix applies to those
    /// (III.2).
    has_bad_prefix: bool,
    /// The target of each label: an instruction's index, or the number of instructions for the end of the code.
    bindings: Vec<u32>,
    /// By IL offset: the label there, plus one.
    labels_by_offset: Vec<u32>,
    /// By IL offset: the instruction there, plus one.
    instructions_by_offset: Vec<u32>,
}

impl Code {
    /// Decodes a body, and replaces the previous code. `site` chooses the calls that get probes, by their callees.
    ///
    /// # Errors
    /// If an instruction cannot be decoded, a target is no instruction, or a token names a missing row or string.
    /// Also if a prefix stands before an instruction that it does not apply to.
    pub fn decode(
        &mut self,
        body: &MethodBody<'_>,
        metadata: &Metadata<'_>,
        site: &dyn Fn(Token) -> Option<Site>,
    ) -> Result<(), RewriteError> {
        self.instructions.clear();
        self.switch_labels.clear();
        self.clauses.clear();
        self.sites.clear();
        (self.locals_used, self.arguments_used) = (0, 0);
        (self.has_localloc, self.has_bad_prefix) = (false, false);
        self.bindings.clear();
        for map in [&mut self.labels_by_offset, &mut self.instructions_by_offset] {
            map.clear();
            map.resize(body.il.len() + 1, 0);
        }
        for instruction in body.instructions() {
            let instruction = instruction.map_err(|error| RewriteError::Undecodable(error.to_string()))?;
            let operand = match instruction.info.operand {
                OperandKind::Branch | OperandKind::BranchS => {
                    let target = instruction.branch_target().unwrap_or(u32::MAX);
                    Operand::Label(self.target_at(target)?)
                }
                OperandKind::Switch => {
                    let start = self.switch_labels.len() as u32;
                    for target in instruction.switch_targets() {
                        let label = self.target_at(target)?;
                        self.switch_labels.push(label);
                    }
                    Operand::Switch { start, count: self.switch_labels.len() as u32 - start }
                }
                OperandKind::Method => {
                    refuse_dangling(instruction.token(), metadata)?;
                    if matches!(instruction.opcode(), OpCode::Call | OpCode::Callvirt | OpCode::Newobj) {
                        let index = self.instructions.len();
                        self.sites.extend(site(instruction.token()).map(|site| SiteAt { call: index, ahead: None, site }));
                    }
                    self.has_bad_prefix |= instruction.opcode() == OpCode::Jmp && self.ends_in_prefix();
                    Operand::Input
                }
                OperandKind::Field | OperandKind::Type | OperandKind::Token | OperandKind::Sig | OperandKind::String => {
                    refuse_dangling(instruction.token(), metadata)?;
                    Operand::Input
                }
                _ => {
                    self.note_use(&instruction);
                    Operand::Input
                }
            };
            self.instructions.push(Instruction { info: instruction.info, operand, origin: instruction.offset });
            if let Some(slot) = self.instructions_by_offset.get_mut(instruction.offset as usize) {
                *slot = self.instructions.len() as u32;
            }
        }
        // The end of the code is a valid position, because clauses end there.
        if let Some(slot) = self.instructions_by_offset.last_mut() {
            *slot = self.instructions.len() as u32 + 1;
        }
        for clause in &body.clauses {
            if let ClauseKind::Catch(class) = clause.kind {
                refuse_dangling(class, metadata)?;
            }
            let clause = self.decode_clause(clause)?;
            self.clauses.push(clause);
        }
        for binding in &mut self.bindings {
            let index = self.instructions_by_offset.get(*binding as usize).copied().unwrap_or(0);
            *binding = index.checked_sub(1).ok_or(RewriteError::BadTarget(*binding))?;
        }
        let begins_behind_prefix = |clause: &LabelClause| {
            let before = self.target(clause.handler.0).checked_sub(1).and_then(|before| self.instructions.get(before));
            before.is_some_and(|before| before.info.flow == Flow::Prefix)
        };
        if self.has_bad_prefix || self.clauses.iter().any(begins_behind_prefix) {
            return Err(RewriteError::BadPrefix);
        }
        Ok(())
    }

    fn ends_in_prefix(&self) -> bool {
        self.instructions.last().is_some_and(|last| last.info.flow == Flow::Prefix)
    }

    /// Notes the locals and arguments that an instruction uses.
    #[inline]
    fn note_use(&mut self, instruction: &ecma335::body::Instruction<'_>) {
        use OpCode::{Ldarg, LdargS, Ldarga, LdargaS, Starg, StargS};
        let (used, number) = match (instruction.info.operand, instruction.info.implicit) {
            (OperandKind::None, Some(Implicit::Local(number))) => (&mut self.locals_used, number.into()),
            (OperandKind::None, Some(Implicit::Argument(number))) => (&mut self.arguments_used, number.into()),
            (OperandKind::Var | OperandKind::VarS, _) => {
                let is_argument = matches!(instruction.opcode(), Ldarg | LdargS | Ldarga | LdargaS | Starg | StargS);
                let used = if is_argument { &mut self.arguments_used } else { &mut self.locals_used };
                (used, instruction.value() as u32)
            }
            _ => {
                self.has_localloc |= instruction.opcode() == OpCode::Localloc;
                self.has_bad_prefix |= instruction.opcode() == OpCode::Ret && self.ends_in_prefix();
                return;
            }
        };
        *used = (*used).max(number + 1);
    }

    fn decode_clause(&mut self, clause: &Clause) -> Result<LabelClause, RewriteError> {
        let mut range = |start: u32, length: u32| -> Result<(Label, Label), RewriteError> {
            let end = start.checked_add(length).ok_or(RewriteError::BadTarget(start))?;
            Ok((self.label_at(start)?, self.label_at(end)?))
        };
        let protected = range(clause.try_offset, clause.try_length)?;
        let handler = range(clause.handler_offset, clause.handler_length)?;
        let filter = match clause.kind {
            ClauseKind::Filter(offset) => Some(self.label_at(offset)?),
            _ => None,
        };
        Ok(LabelClause { kind: clause.kind, filter, protected, handler })
    }

    /// The label of a branch target. The end of the code is no valid target, because code may be inserted after it.
    fn target_at(&mut self, offset: u32) -> Result<Label, RewriteError> {
        if offset as usize + 1 >= self.labels_by_offset.len() {
            return Err(RewriteError::BadTarget(offset));
        }
        self.label_at(offset)
    }

    /// The label at an IL offset of the input. Labels are bound to offsets until the whole body is decoded.
    fn label_at(&mut self, offset: u32) -> Result<Label, RewriteError> {
        let slot = self.labels_by_offset.get_mut(offset as usize).ok_or(RewriteError::BadTarget(offset))?;
        if *slot == 0 {
            self.bindings.push(offset);
            *slot = self.bindings.len() as u32;
        }
        Ok(Label(*slot - 1))
    }

    /// A new label, bound to the instruction with this index.
    pub fn new_label(&mut self, instruction: usize) -> Label {
        self.bindings.push(instruction as u32);
        Label(self.bindings.len() as u32 - 1)
    }

    /// The index of the instruction that a label is bound to.
    #[inline]
    pub fn target(&self, label: Label) -> usize {
        self.bindings[label.0 as usize] as usize
    }

    /// Binds a label to another instruction.
    pub fn bind(&mut self, label: Label, instruction: usize) {
        self.bindings[label.0 as usize] = instruction as u32;
    }

    /// The indexes of the instructions that labels are bound to, in order.
    pub fn targets(&self) -> Vec<u32> {
        let mut targets = self.bindings.clone();
        targets.sort_unstable();
        targets
    }

    /// Whether a branch leads back. The targets of `switch` are not looked at: compilers make no loops of them.
    pub fn has_loop(&self) -> bool {
        let leads_back = |(index, instruction): (usize, &Instruction)| matches!(instruction.operand, Operand::Label(label) if self.target(label) <= index);
        self.instructions.iter().enumerate().any(leads_back)
    }

    /// Swaps in other instructions. Labels at instruction `i` move to `moved[i]`. The last entry of `moved` is for
    /// labels at the end of the code.
    pub fn replace(&mut self, instructions: &mut Vec<Instruction>, moved: &[u32]) {
        for binding in &mut self.bindings {
            *binding = moved[*binding as usize];
        }
        std::mem::swap(&mut self.instructions, instructions);
    }
}

/// An upper bound of the rows or bytes that a probe adds to any table or heap, except one locals' signature for each
/// method.
const MOST_ADDED: u32 = 1 << 16;

/// Refuses a token that names no row or string now, but might name an added one. Tokens far out of range never will;
/// obfuscators put such tokens into unreachable code.
#[inline(always)]
fn refuse_dangling(token: Token, metadata: &Metadata<'_>) -> Result<(), RewriteError> {
    let counts = metadata.tables.counts();
    let is_refused = match counts.get(usize::from(token.kind())) {
        Some(count) => token.rid() > *count && token.rid() - count <= MOST_ADDED + counts[Table::MethodDef as usize],
        None => token.kind() == Token::USER_STRING && is_lost_string(token, metadata),
    };
    if is_refused { Err(RewriteError::BadToken(token)) } else { Ok(()) }
}

fn is_lost_string(token: Token, metadata: &Metadata<'_>) -> bool {
    let heap = metadata.user_strings;
    (token.rid() as usize) < heap.bytes.len() + MOST_ADDED as usize && heap.blob(Blob(token.rid())).is_err()
}
