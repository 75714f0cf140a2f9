//! `ilinst explain`: why methods are woven or left alone, by what the weaver itself decides.

use std::{io::Write as _, path::PathBuf};

use ::instrument::{Input, Pdb, TRACKER, nearest_names, not_an_assembly, read_assembly};
use clap::Args;
use ecma335::{Image, Metadata, Table, Token};
use names::Visible;
use serde_json::{Value, json};
use weave::{
    BodyFilter, DecidedBy, Decision, LeaveMode, Pattern, Reason, Shape, Tracker, Weave, WovenBodies,
    method_names::for_each_method, refusal,
};

use crate::{
    arguments::{Lines, Origin, SelectionArgs},
    config_file::NAME,
    failure::{EXIT_FINDINGS, Failure, printed},
    terminal::{Terminal, complain, print_json},
    weaving::Weaving,
};

/// Explain why methods are instrumented or skipped, and which option or rule decides
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The assembly
    #[arg(value_name = "ASSEMBLY")]
    input: PathBuf,

    /// A pattern for methods: Namespace.Type::Method, or a method name
    #[arg(value_name = "METHOD", value_parser = Pattern::naming_methods)]
    method: Pattern,

    #[command(flatten)]
    selection: SelectionArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  ilinst explain app.dll Shop.Order::Total    with the line of ilinst.toml
  ilinst explain app.dll get_Name             each method with that name
  ilinst explain app.dll 'Shop.*::*' --json
  ilinst explain app.dll Total --min-il 40    the effect of an option

Exit code 1: no method has that name.";

/// A method, what becomes of it, and what decided that.
struct Explained {
    name: String,
    token: Token,
    decision: Decision,
    because: Vec<Because>,
}

/// An option that had a say.
struct Because {
    option: &'static str,
    value: Value,
    /// The pattern that names the method, if one had to.
    pattern: Option<String>,
    /// The rule, from 1.
    rule: Option<usize>,
    origin: Origin,
    /// In the file.
    line: Option<usize>,
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let bytes = Input::open(&self.input)?;
        let (image, metadata) = read_assembly(&self.input, &bytes)?;
        let weaving = self.selection.resolve(&[&self.input])?;
        let tracker = Tracker::read(TRACKER)?;
        let embeds = weaving.options.weave.embed;
        let embedding_refusal = || embeds.then(|| refusal::for_embedding(&metadata, &tracker)).flatten();
        if let Some(refusal) = refusal::for_file(&image, &metadata, &tracker).or_else(embedding_refusal) {
            return Err(Failure::refused(format_args!("{}: {refusal}", self.input.display())).into());
        }
        let methods = self.explain(&image, &metadata, &weaving, &tracker).map_err(|error| not_an_assembly(&self.input, error))?;
        let code = if methods.is_empty() { EXIT_FINDINGS } else { 0 };
        if self.json {
            return printed(print_json(&to_json(&methods, &weaving)), code);
        }
        if methods.is_empty() {
            let nearest = nearest_names(self.method.as_str(), &metadata).join(", ");
            let nearest = if nearest.is_empty() { nearest } else { format!("; nearest: {nearest}") };
            complain(format_args!("{}: no method is named {}{nearest}", self.input.display(), self.method.as_str()));
        }
        printed(print(&methods, &weaving), code)
    }

    fn explain(
        &self,
        image: &Image<'_>,
        metadata: &Metadata<'_>,
        weaving: &Weaving,
        tracker: &Tracker,
    ) -> ecma335::Result<Vec<Explained>> {
        let pdb = Pdb::read(Pdb::find(&self.input, None, image).as_ref()).ok().flatten();
        let how = Weave { options: &weaving.options.weave, pdb: pdb.as_deref(), ..Weave::new(tracker) };
        let decisions = WovenBodies::new(image, metadata, &how)?.into_decisions();
        let mut methods = Vec::new();
        for_each_method(metadata, |index, names| {
            let names = names()?;
            if let Some(decision) = decisions.get(index).filter(|_| names.match_pattern(&self.method)) {
                methods.push(Explained {
                    name: format!("{}::{}", names.type_name, names.name),
                    token: Token::new(Table::MethodDef, index as u32 + 1),
                    decision: decision.clone(),
                    because: because(decision, weaving),
                });
            }
            Ok(())
        })?;
        methods.sort_by_key(|method| method.token.0);
        Ok(methods)
    }
}

/// The reasons for a decision.
fn because(decision: &Decision, weaving: &Weaving) -> Vec<Because> {
    let options = &decision.options;
    let say = |option, value, source| Because::new(option, value, source, weaving);
    let worth = || match options.body_filter {
        (BodyFilter::All, source) => say("all", json!(true), source),
        (BodyFilter::Above(limit), source) => say("min-il", json!(limit), source),
    };
    match &decision.outcome {
        Ok(_) => {
            let patterns = &weaving.options.weave.selection.include;
            let name = |place: usize| json!(patterns.get(place).map(Pattern::as_str));
            let included = options.included.map(|place| say("include", name(place), DecidedBy::Pattern(place)));
            let leave = say("leave", json!(options.leave.0.word()), options.leave.1);
            let hooks = weaving
                .options
                .weave
                .hooks_set_by(options.hooks)
                .methods()
                .map(|(place, hook)| say(place.option(), json!(hook.full_name()), options.hooks));
            let (captured, by) = options.capture;
            let capture = captured.calls.then(|| say("capture", json!(captured.to_string()), by));
            let (has_bytes, by) = options.allocations;
            let has_tracker = weaving.options.weave.hooks_set_by(options.hooks).methods().next().is_none();
            let counts_bytes = weaving.options.weave.counts_bytes() && has_tracker;
            let allocations = counts_bytes.then(|| say("allocations", json!(has_bytes), by));
            included.into_iter().chain([worth(), leave]).chain(hooks).chain(capture).chain(allocations).collect()
        }
        Err(Reason::Short { .. }) => vec![worth()],
        Err(Reason::Accessor | Reason::Generated) => vec![say("all", json!(false), options.body_filter.1)],
        Err(Reason::Excluded(source @ DecidedBy::Pattern(place))) => {
            let pattern = weaving.options.weave.selection.exclude.get(*place).map(Pattern::as_str);
            vec![say("exclude", json!(pattern), *source)]
        }
        Err(Reason::Excluded(source)) => vec![say("weave", json!(false), *source)],
        Err(Reason::NotIncluded) => {
            let include: Vec<&str> = weaving.options.weave.selection.include.iter().map(Pattern::as_str).collect();
            vec![say("include", json!(include), DecidedBy::Option)]
        }
        Err(_) => Vec::new(),
    }
}

impl Because {
    fn new(option: &'static str, value: Value, source: DecidedBy, weaving: &Weaving) -> Self {
        let file = weaving.file.as_ref();
        let line = |lines: &Lines, place: usize| lines.get(option).and_then(|lines| lines.get(place)).copied();
        let rules = file.map_or(0, |file| file.rules.len());
        let of_profile = |place: usize| weaving.of_profiles.get(place.checked_sub(rules)?).copied();
        if let DecidedBy::Rule(place, _) = source
            && let Some(option) = of_profile(place)
            && let Some(setting) = weaving.settings.iter().find(|setting| setting.name == option)
        {
            return Self::new(option, setting.value.clone(), DecidedBy::Option, weaving);
        }
        if let DecidedBy::Rule(place, pattern) = source {
            let rule = file.and_then(|file| file.rules.get(place));
            let pattern = pattern.and_then(|pattern| Some(rule?.include.get(pattern)?.as_str().to_owned()));
            let line = rule.map(|rule| line(&rule.lines, 0).unwrap_or(rule.line));
            return Self { option, value, pattern, rule: Some(place + 1), origin: Origin::File, line };
        }
        let setting = weaving.settings.iter().find(|setting| setting.name == option);
        let origin = setting.map_or(Origin::Default, |setting| setting.origin);
        let place = if let DecidedBy::Pattern(place) = source { place } else { 0 };
        let line = file.filter(|_| origin == Origin::File).and_then(|file| line(&file.lines, place));
        Self { option, value, pattern: None, rule: None, origin, line }
    }
}

/// A reason in words. What a profile says is a rule of nobody's, so that its number would tell nothing.
fn in_full(reason: &Reason, because: &[Because]) -> String {
    match (reason, because.first().map(|because| because.option)) {
        (Reason::Excluded(_), Some("only-hot")) => {
            "in the profile it took less than 1 % of the slowest method's time, or was not called".into()
        }
        (Reason::Excluded(_), Some("except-noise")) => {
            "in the profile it was mostly measuring overhead, or mostly only counted".into()
        }
        _ => reason.to_string(),
    }
}

/// A value as text: lists without brackets.
pub(crate) fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        Value::Array(values) if values.is_empty() => "-".into(),
        Value::Array(values) => values.iter().map(in_words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

impl Origin {
    /// The source in words.
    pub(crate) fn words(self, line: Option<usize>) -> String {
        match (self, line) {
            (Self::Default, _) => "default".into(),
            (Self::CommandLine, _) => "command line".into(),
            (Self::File, Some(line)) => format!("{NAME}:{line}"),
            (Self::File, None) => NAME.into(),
        }
    }

    /// The same for scripts.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::CommandLine => "command-line",
        }
    }
}

fn print(methods: &[Explained], weaving: &Weaving) -> anyhow::Result<()> {
    let mut out = Terminal::text();
    if let Some(file) = weaving.file.as_ref().filter(|_| !methods.is_empty()) {
        writeln!(out, "options: {}", Visible(file.path.display()))?;
    }
    for Explained { name, token, decision, because } in methods {
        let verdict = match &decision.outcome {
            Ok(Shape::Return) if decision.options.leave.0 == LeaveMode::Finally => {
                "instrumented, with the leave probe before each ret: it has a tail call or a jmp, which a try block must not contain".into()
            }
            Ok(Shape::Counted) => "its lines are counted, and it has no probe".into(),
            Ok(_) => "instrumented".into(),
            Err(reason) => format!("skipped, {}: {}", reason.code(), in_full(reason, because)),
        };
        writeln!(out, "{token} {}: {}", Visible(name), Visible(verdict))?;
        for Because { option, value, pattern, rule, origin, line } in because {
            let rule = rule.map(|rule| format!(", rule {rule}")).unwrap_or_default();
            let pattern = pattern.as_ref().map(|pattern| format!(", which names {pattern}")).unwrap_or_default();
            let by = origin.words(*line);
            writeln!(out, "  {}", Visible(format_args!("{option} {} ({by}{rule}{pattern})", in_words(value))))?;
        }
    }
    Ok(out.close()?)
}

fn to_json(methods: &[Explained], weaving: &Weaving) -> Value {
    let because = |because: &Because| {
        let Because { option, value, pattern, rule, origin, line } = because;
        let mut json = json!({ "option": option, "value": value, "source": origin.code() });
        for (name, value) in [("rule", json!(rule)), ("pattern", json!(pattern)), ("line", json!(line))] {
            if !value.is_null() {
                json[name] = value;
            }
        }
        json
    };
    let method = |method: &Explained| {
        let (decision, text) = match &method.decision.outcome {
            Ok(Shape::Finally) => ("finally", None),
            Ok(Shape::Return) => ("return", None),
            Ok(Shape::Counted) => ("lines", None),
            Err(reason) => (reason.code(), Some(in_full(reason, &method.because))),
        };
        let because: Vec<Value> = method.because.iter().map(because).collect();
        let mut json = json!({
            "method": method.name,
            "token": method.token.to_string(),
            "woven": method.decision.outcome.is_ok(),
            "decision": decision,
            "because": because,
        });
        if let Some(text) = text {
            json["text"] = text.into();
        }
        json
    };
    let file = weaving.file.as_ref().map(|file| file.path.to_string_lossy());
    let methods: Vec<Value> = methods.iter().map(method).collect();
    json!({ "config": file, "methods": methods })
}
