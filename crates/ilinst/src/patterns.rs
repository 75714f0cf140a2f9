//! `ilinst help patterns`: how to choose methods.

use std::io::Write as _;

use clap::{Args, CommandFactory as _};

use crate::{
    Cli,
    terminal::{Terminal, print_json},
};

/// How to choose methods by patterns, for --include, --exclude, --method, --type, --filter and ilinst.toml
#[derive(Args, Debug)]
#[command(after_help = PATTERNS)]
pub(crate) struct Opts {
    /// Print the text as JSON
    #[arg(long)]
    json: bool,
}

const PATTERNS: &str = "\
A pattern matches Namespace.Type::Method. `*` stands for any text, `?` for one character.

  'Shop.*'                   types whose full name begins with Shop.
  'Shop.Order::Load'         a method, with its lambdas and its iterator or
                             async steps
  'Shop.Order::Load(int, *)' parameters as in C#; here * is any one type
  'Order.Load'               a short name, if nothing else has it
  'Outer.Inner'              a nested type; also Outer/Inner
  'Map<K, V>'                a generic type
  '[Shop.Core]*'             an assembly
  're:^Shop[.](Cart|Order)::'
                             a regular expression
  'attribute:Obsolete'       methods with this attribute, or in a type with it
  'kind:async'               also: accessor, constructor, generated, iterator,
                             lambda
  'visibility:public'        also: protected, internal, private
  'il:100..'                 at least 100 bytes of IL; il:..24: at most 24
  'file:src/Legacy/*'        methods from these source files, by the PDB

Examples:
  ilinst run --include 'Shop.*' --exclude '*::get_*' -- dotnet app.dll
  ilinst list app.dll --include 'kind:async'
  ilinst explain app.dll Order.Load

A pattern that matches nothing is a warning with similar names. --exclude wins over --include.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        if self.json {
            print_json(&serde_json::json!({ "patterns": PATTERNS }))?;
            return Ok(0);
        }
        let mut out = Terminal::text();
        let mut command = Cli::command();
        let text = command.find_subcommand_mut("patterns").map(|topic| topic.render_long_help().to_string());
        out.write_all(text.unwrap_or_default().as_bytes())?;
        out.close()?;
        Ok(0)
    }
}
