//! String literals and their uses.

use std::{cell::OnceCell, collections::BTreeMap, io, io::Write, rc::Rc};

use ecma335::{OpCode, Token, schema::Blob};
use names::Visible;
use serde::{Serialize, Serializer};

use super::{module::Module, options::Sort, token_text::token_text};

/// The kind of a string's token (III.1.9).
const USER_STRING: u32 = 0x7000_0000;

/// A string literal.
#[derive(Serialize, Debug)]
pub struct Literal {
    /// Its token (III.1.9).
    #[serde(serialize_with = "token_text")]
    pub token: Token,
    /// The text. Invalid UTF-16 is replaced.
    pub text: String,
    /// The uses, in the order of methods. Empty if no code loads the literal.
    pub uses: Vec<Use>,
}

/// A use of a literal.
#[derive(Serialize, Debug)]
pub struct Use {
    /// The method's token.
    #[serde(serialize_with = "token_text")]
    pub token: Token,
    /// `Shop.Order::Add`
    #[serde(serialize_with = "shared_text")]
    pub method: Rc<str>,
    /// The IL offset of the instruction.
    pub offset: u32,
}

fn shared_text<S: Serializer>(text: &Rc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// Reads the literals that code loads, and the unused ones in the heap.
pub(crate) fn read(module: &Module<'_, '_>, sort: Sort) -> Vec<Literal> {
    let mut uses: BTreeMap<Token, Vec<Use>> = heap(module).into_iter().map(|token| (token, Vec::new())).collect();
    for (rid, body) in module.bodies() {
        let method: OnceCell<Rc<str>> = OnceCell::new();
        for instruction in body.instructions().map_while(Result::ok).filter(|each| each.opcode() == OpCode::Ldstr) {
            let token = Token::new(ecma335::Table::MethodDef, rid.get());
            let place =
                Use { token, method: method.get_or_init(|| module.method_name(rid).into()).clone(), offset: instruction.offset };
            uses.entry(instruction.token()).or_default().push(place);
        }
    }
    let text = |token: Token| module.metadata.user_strings.user_string(token.rid()).ok();
    let literals =
        uses.into_iter().filter_map(|(token, uses)| Some(Literal { token, text: String::from_utf16_lossy(&text(token)?), uses }));
    let mut literals: Vec<Literal> = literals.collect();
    sort.apply(&mut literals, |literal| (&literal.text, literal.text.len() as u64));
    literals
}

/// The tokens of all strings in the heap (II.24.2.4), up to the first damage.
fn heap(module: &Module<'_, '_>) -> Vec<Token> {
    let heap = module.metadata.user_strings;
    let mut tokens = Vec::new();
    let mut offset = 1;
    // Empty items lie between strings, or after the last.
    while let Some(length) = heap.bytes.get(offset).map(|first| *first != 0) {
        let Ok(blob) = heap.blob(Blob(offset as u32)) else { break };
        if length {
            tokens.push(Token(USER_STRING | offset as u32));
        }
        let end = blob.offset().0.saturating_sub(heap.offset.0) as usize + blob.rest().len();
        if end <= offset {
            break;
        }
        offset = end;
    }
    tokens
}

/// Prints a line for each use: token, place, text.
pub(crate) fn print(literals: &[Literal], out: &mut impl Write) -> io::Result<()> {
    for literal in literals {
        let (token, text) = (literal.token, &literal.text);
        if literal.uses.is_empty() {
            writeln!(out, "{token}  not used  {}", Visible(format_args!("{text:?}")))?;
        }
        for place in &literal.uses {
            let (method, offset) = (&place.method, place.offset);
            writeln!(out, "{}", Visible(format_args!("{token}  {method}  IL_{offset:04x}  {text:?}")))?;
        }
    }
    Ok(())
}
