//! `ilinst config`: the options that hold for an input, and where each comes from.

use std::{io::Write as _, path::PathBuf};

use clap::Args;
use names::Visible;
use serde_json::{Map, Value, json};

use crate::{
    arguments::{Origin, RuleArgs, Setting, WeaveArgs},
    config_file::{ConfigFile, NAME},
    explain::in_words,
    failure::printed,
    terminal::{Terminal, print_json},
    weaving::Weaving,
};

/// Show the options that apply to an input, and where each comes from
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// An assembly, or a folder
    #[arg(default_value = ".", value_name = "INPUT")]
    input: PathBuf,

    #[command(flatten)]
    weaving: WeaveArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst config                        the options for this folder
  ilinst config bin/app.dll --all      with an option on the command line
  ilinst config app.dll --json

An ilinst.toml:
  exclude = ['*::Dispose']             # options have the names of the flags
  min-il = 12
  [[rule]]                             # the last rule that names a method
                                       # decides
  include = ['Shop.Legacy.*']
  weave = false                        # also: leave, min-il, all, capture,
                                       # allocations";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let weaving = self.weaving.resolve(&[&self.input])?;
        printed(if self.json { print_json(&to_json(&weaving)) } else { print(&weaving) }, 0)
    }
}

fn print(weaving: &Weaving) -> anyhow::Result<()> {
    let mut out = Terminal::text();
    let file = weaving.file.as_ref();
    match file {
        Some(ConfigFile { path, was_found, .. }) => {
            let how = if *was_found { "found" } else { "named" };
            writeln!(out, "{} ({how})", Visible(path.display()))?;
        }
        None => writeln!(out, "no {NAME}")?,
    }
    for setting in &weaving.settings {
        let lines = file.filter(|_| setting.origin == Origin::File).and_then(|file| file.lines.get(setting.name));
        let by = setting.origin.words(lines.and_then(|lines| lines.first()).copied());
        writeln!(out, "{:<14} {:<24} {by}", setting.name, Visible(in_words(&setting.value)).to_string())?;
    }
    for (place, rule) in file.iter().flat_map(|file| &file.rules).enumerate() {
        writeln!(out, "rule {:<34} {NAME}:{}", place + 1, rule.line)?;
        for (name, value) in rule.settings() {
            writeln!(out, "  {name:<10} {}", Visible(in_words(&value)))?;
        }
    }
    Ok(out.close()?)
}

fn to_json(weaving: &Weaving) -> Value {
    let file = weaving.file.as_ref();
    let option = |setting: &Setting| {
        let mut json = json!({ "value": setting.value, "source": setting.origin.code() });
        if let Some(lines) = file.filter(|_| setting.origin == Origin::File).and_then(|file| file.lines.get(setting.name)) {
            json["lines"] = json!(lines);
        }
        (setting.name.to_owned(), json)
    };
    let rule = |rule: &RuleArgs| {
        let mut json: Map<String, Value> = rule.settings().into_iter().map(|(name, value)| (name.into(), value)).collect();
        json.insert("line".into(), rule.line.into());
        Value::Object(json)
    };
    let options: Map<String, Value> = weaving.settings.iter().map(option).collect();
    let rules: Vec<Value> = file.iter().flat_map(|file| &file.rules).map(rule).collect();
    let path = file.map(|file| file.path.to_string_lossy());
    json!({ "config": path, "options": options, "rules": rules })
}
