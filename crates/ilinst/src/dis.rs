//! `ilinst dis`: an assembly as IL assembly that an assembler takes again.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use ::instrument::{Input, Outputs, Pdb, is_same_file, not_an_assembly, read_assembly};
use clap::Args;
use disasm::{
    DebugInfo, Disassembler, Ilasm, Options, Resource,
    filter::{self, Filter},
};
use ecma335::Image;
use names::Visible;
use serde_json::json;
use weave::Pattern;

use crate::{
    colours::colour_il,
    failure::{Failure, printed},
    inputs::{Assembly, Links, assemblies, may_be_many},
    interrupt::clean_up_when_asked_to_end,
    sources,
    terminal::{Terminal, complain, print_json},
};

/// Disassemble assemblies, types or methods to IL
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// Assemblies, or folders of them
    #[arg(value_name = "ASSEMBLY", required = true)]
    inputs: Vec<PathBuf>,

    /// Show only types that match (repeatable); see `ilinst help patterns`
    #[arg(long = "type", value_name = "PATTERN")]
    types: Vec<Pattern>,

    /// Show only methods that match (repeatable); see `ilinst help patterns`
    #[arg(long = "method", value_name = "PATTERN", value_parser = Pattern::naming_methods)]
    methods: Vec<Pattern>,

    /// Write to a file, with the embedded resources beside it; for several assemblies, NAME.il files in a folder
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,

    /// Show the address and size of each method body
    #[arg(long)]
    offsets: bool,

    /// Show the bytes of instructions
    #[arg(long)]
    bytes: bool,

    /// Show metadata tokens
    #[arg(long)]
    tokens: bool,

    /// Omit addresses and ids, which change with each build, and use stable labels, for text tools such as git
    #[arg(long, conflicts_with_all = ["offsets", "bytes", "tokens"])]
    stable: bool,

    /// Write IL for the ilasm of this runtime [default: that of the core library that the assembly refers to]
    #[arg(long, value_name = "RUNTIME")]
    ilasm: Option<Assembler>,

    /// Show source lines, found by the PDB
    #[arg(long)]
    source: bool,

    /// The PDB of the assembly, if it is not beside or inside it
    #[arg(long, value_name = "FILE")]
    pdb: Option<PathBuf>,

    /// The folder of the source files, if they have moved since the build
    #[arg(long, value_name = "DIR", requires = "source")]
    source_root: Option<PathBuf>,

    /// Print JSON: the text of each assembly, or the files that were written
    #[arg(long)]
    json: bool,
}

/// The assembler that takes the text.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum Assembler {
    Mono,
    Dotnet,
}

impl From<Assembler> for Ilasm {
    fn from(of: Assembler) -> Self {
        match of {
            Assembler::Mono => Self::Mono,
            Assembler::Dotnet => Self::DotNet,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  ilinst dis app.dll                               in a terminal, by $PAGER
  ilinst dis app.dll --type Shop.Order
  ilinst dis app.dll --method Shop.Order::Total --bytes --tokens
  ilinst dis app.dll --method Total --source --source-root src/
  ilinst dis app.dll -o il/app.il                  then: cd il && ilasm /dll
                                                   app.il
  ilinst dis publish/ -o il/                       each assembly of a folder
  git config diff.il.textconv 'ilinst dis --stable'
                                                   and `*.dll diff=il` in
                                                   .gitattributes

You can assemble the text with the ilasm of Mono or of .NET. Parts that ilasm cannot assemble are written as comments.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let files = assemblies(&self.inputs, Links::LeadingOut)?;
        let are_many = may_be_many(&self.inputs);
        if are_many && self.pdb.is_some() {
            return Err(Failure::usage("--pdb names the PDB of one assembly: name one assembly, not a folder or several").into());
        }
        let target = |file: &Assembly| {
            self.output
                .as_ref()
                .map(|output| if are_many { output.join(&file.below).with_extension("il") } else { output.clone() })
        };
        clean_up_when_asked_to_end()?;
        let mut outputs = Outputs::default();
        let mut written: BTreeMap<PathBuf, &Path> = BTreeMap::new();
        let mut values = Vec::new();
        // Named files are written all or none; shown text is written as it is produced.
        let mut terminal = (self.output.is_none() && !self.json).then(|| Terminal::paged(colour_il));
        let mut found = false;
        for file in &files {
            let target = target(file);
            if let Some(other) = target.as_ref().and_then(|target| written.insert(target.clone(), &file.path)) {
                let (one, two) = (other.display(), file.path.display());
                return Err(Failure::usage(format_args!("{one} and {two} would both be written to one file")).into());
            }
            let mut text = Vec::new();
            let (has_some, resources) = self.disassemble(&file.path, target.as_deref(), |dis, path| {
                Ok(match (path, &mut terminal) {
                    (Some(path), _) => write(dis, &file.path, path, &mut outputs)?,
                    (None, Some(terminal)) => {
                        if are_many && !self.has_patterns() {
                            writeln!(terminal, "// {}", Visible(file.path.display()))?;
                        }
                        (dis.print(terminal)?, Vec::new())
                    }
                    (None, None) => (dis.print(&mut text)?, Vec::new()),
                })
            })?;
            found |= has_some;
            let mut value = json!({ "assembly": file.path.to_string_lossy() });
            match target {
                Some(target) => {
                    value["output"] = target.to_string_lossy().into();
                    value["resources"] = resources.iter().map(|path| path.to_string_lossy()).collect();
                }
                None => value["text"] = String::from_utf8_lossy(&text).into(),
            }
            values.push(value);
        }
        terminal.map_or(Ok(()), Terminal::close)?;
        if !found {
            let patterns = filter::describe(self.types.iter().chain(&self.methods));
            let inputs = self.inputs.iter().map(|input| input.display().to_string()).collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(format_args!("{inputs}: nothing is named {patterns}")).into());
        }
        outputs.commit()?;
        printed(if self.json { print_json(&json!({ "files": values })) } else { Ok(()) }, 0)
    }

    fn has_patterns(&self) -> bool {
        !self.types.is_empty() || !self.methods.is_empty()
    }

    /// Shows an assembly, or writes it.
    fn disassemble<T>(
        &self,
        input: &Path,
        target: Option<&Path>,
        show: impl FnOnce(&Disassembler<'_, '_>, Option<&Path>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let bytes = Input::open(input)?;
        let (image, metadata) = read_assembly(input, &bytes)?;
        let pdb = Pdb::read(Pdb::find(input, self.pdb.as_deref(), &image).as_ref())?;
        let pdb = self.pdb_bytes(input, &image, pdb.as_deref())?;
        let debug = match &pdb {
            Ok(bytes) => DebugInfo::parse(bytes).map_err(|error| format!("the PDB cannot be read: {error}")),
            Err(trouble) => Err(trouble.clone()),
        };
        if let Some(trouble) = debug.as_ref().err().filter(|_| self.source) {
            complain(format_args!("{}: no source lines: {trouble}", input.display()));
        }
        let root = self.source_root.as_deref();
        let debug = debug.ok().map(|debug| if self.source { debug.with_source(|path| sources::read(path, root)) } else { debug });
        let mut dis = Disassembler::new(&image, &metadata).map_err(|error| not_an_assembly(input, error))?;
        let Self { offsets, bytes: show_bytes, tokens, stable, .. } = *self;
        dis.options = Options { offsets, bytes: show_bytes, tokens, position_independent: stable, stable };
        dis.filter = Filter { types: self.types.clone(), methods: self.methods.clone(), with_machines: self.source };
        if let Some(ilasm) = self.ilasm {
            dis.write_for(ilasm.into());
        }
        dis.debug = debug;
        dis.reserved = target.iter().flat_map(|path| reserved(input, path)).collect();
        show(&dis, target)
    }

    /// The PDB's bytes, or why there are none. One that was named has to be the right one.
    fn pdb_bytes<'p>(
        &self,
        input: &Path,
        image: &Image<'_>,
        beside: Option<&'p [u8]>,
    ) -> anyhow::Result<Result<Cow<'p, [u8]>, String>> {
        match (weave::pdb::find(image, beside), &self.pdb) {
            (Ok(Some(bytes)), _) => Ok(Ok(bytes)),
            (Ok(None), None) => Ok(Err("the assembly names no PDB".into())),
            (Err(trouble), None) => Ok(Err(trouble.to_string())),
            (Ok(None), Some(_)) => Err(Failure::usage(format_args!("--pdb: {} names no PDB", input.display())).into()),
            (Err(trouble), Some(path)) => Err(Failure::unreadable(format_args!("{}: {trouble}", path.display())).into()),
        }
    }
}

/// The names that a resource must not overwrite: the text itself, and the assembly.
fn reserved(input: &Path, path: &Path) -> Vec<String> {
    let is_beside = input.file_name().is_some_and(|name| is_same_file(input, &path.with_file_name(name)));
    let names = [Some(path), Some(input).filter(|_| is_beside)];
    names.into_iter().flatten().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

/// Writes the text to a file, and each resource to one of its name beside it; says whether there was anything to be written, and
/// where resources are.
fn write(dis: &Disassembler<'_, '_>, input: &Path, path: &Path, outputs: &mut Outputs) -> anyhow::Result<(bool, Vec<PathBuf>)> {
    if is_same_file(input, path) {
        return Err(Failure::output_is_input(format_args!("{}: the output would overwrite the input", path.display())).into());
    }
    let mut found = false;
    outputs.write(path, |file| {
        let mut file = io::BufWriter::new(file);
        found = dis.print(&mut file)?;
        file.flush()
    })?;
    let mut resources = Vec::new();
    if !found {
        outputs.forget(path);
        return Ok((false, resources));
    }
    for Resource { name, content } in dis.resources() {
        match content {
            Ok(content) => {
                let path = path.with_file_name(&name);
                outputs.write(&path, |file| file.write_all(content))?;
                resources.push(path);
            }
            Err(why) => complain(format_args!("{}: resource {name} left out: {why}", input.display())),
        }
    }
    Ok((true, resources))
}
