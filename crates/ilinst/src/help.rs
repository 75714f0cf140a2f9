//! The help that is printed: commands in groups, and switches without the values that the parser also takes (`--all=false`).

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::{Cli, GROUPS};

/// The command line as help, manual and completions show it.
pub(crate) fn command() -> Command {
    let command = with_plain_switches(Cli::command());
    let template = template(&command);
    command.help_template(template)
}

fn with_plain_switches(command: Command) -> Command {
    command.mut_args(plain).mut_subcommands(with_plain_switches)
}

fn plain(arg: Arg) -> Arg {
    let is_switch = arg.get_value_names().is_some_and(|names| names == ["BOOL"]);
    if !is_switch {
        return arg;
    }
    arg.num_args(0)
        .require_equals(false)
        .hide_possible_values(false)
        .default_missing_value(None::<&str>)
        .action(ArgAction::SetTrue)
}

/// The first page: usage, each group of commands, options, examples.
fn template(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in GROUPS {
        let commands = names.iter().filter_map(|name| command.find_subcommand(name)).filter(|command| !command.is_hide_set());
        let mut lines = String::new();
        for command in commands {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(lines, "  {literal}{:<12}{literal:#} {about}", command.get_name());
        }
        if !lines.is_empty() {
            let _ = write!(text, "\n{header}{heading}:{header:#}\n{lines}");
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text
}
