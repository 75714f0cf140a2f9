//! `ilinst dis`: an assembly as IL assembly that an assembler takes again.

use std::{
    borrow::Cow,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use ::instrument::{Input, Outputs, Pdb, is_same_file, not_an_assembly, read_assembly};
use clap::Args;
use ecma335::Image;
use iltext::{
    dis::{DebugInfo, Disassembler, Options, Resource},
    filter::{self, Filter, method_pattern},
};
use weave::Pattern;

use crate::{
    colours::colour_il,
    failure::Failure,
    interrupt::clean_up_when_asked_to_end,
    terminal::{Terminal, complain},
};

/// No source file is larger than this.
const MAX_SOURCE: u64 = 1 << 26;

/// Show an assembly, or some of its types and methods, as IL assembly.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Opts {
    /// The assembly
    #[arg(value_name = "ASSEMBLY")]
    input: PathBuf,

    /// Show only types the pattern names (may be repeated): a glob over Namespace.Type, where * is anything; `re:`
    /// before a regular expression
    #[arg(long = "type", value_name = "PATTERN")]
    types: Vec<Pattern>,

    /// Show only methods the pattern names (may be repeated): a glob over Namespace.Type::Method, or over the method's
    /// name alone
    #[arg(long = "method", value_name = "PATTERN", value_parser = method_pattern)]
    methods: Vec<Pattern>,

    /// Write to a file, and the embedded resources beside it, where an assembler looks for them
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Show each method's address and the size of its code
    #[arg(long)]
    offsets: bool,

    /// Show the bytes of instructions
    #[arg(long)]
    bytes: bool,

    /// Show tokens
    #[arg(long)]
    tokens: bool,

    /// Show source lines, which the PDB names: beside the assembly, in it, or --pdb
    #[arg(long)]
    source: bool,

    /// The PDB of the assembly, if it is not beside it
    #[arg(long, value_name = "FILE")]
    pdb: Option<PathBuf>,

    /// Where source files are, if they are not where they were when the PDB was made
    #[arg(long, value_name = "DIR", requires = "source")]
    source_root: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  ilinst dis app.dll                               all of it; in a terminal through $PAGER, in colours
  ilinst dis app.dll --type Shop.Order
  ilinst dis app.dll --method Shop.Order::Total --bytes --tokens
  ilinst dis app.dll --method Total --source --source-root src/
  ilinst dis app.dll -o il/app.il                  with its resources; then: cd il && ilasm /dll app.il

The text is what Mono's ilasm takes. What it cannot take is shown as a comment.";

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let bytes = Input::open(&self.input)?;
        let (image, metadata) = read_assembly(&self.input, &bytes)?;
        let pdb = Pdb::read(Pdb::find(&self.input, self.pdb.as_deref(), &image).as_ref())?;
        let pdb = self.pdb_bytes(&image, pdb.as_deref())?;
        let debug = match &pdb {
            Ok(bytes) => DebugInfo::parse(bytes).map_err(|error| format!("the PDB cannot be read: {error}")),
            Err(trouble) => Err(trouble.clone()),
        };
        if let Some(trouble) = debug.as_ref().err().filter(|_| self.source) {
            complain(format_args!("{}: no source lines: {trouble}", self.input.display()));
        }
        let root = self.source_root.as_deref();
        let debug = debug.ok().map(|debug| if self.source { debug.with_source(|path| find_source(path, root)) } else { debug });
        let mut dis = Disassembler::new(&image, &metadata).map_err(|error| not_an_assembly(&self.input, error))?;
        dis.options = Options { offsets: self.offsets, bytes: self.bytes, tokens: self.tokens, ..Options::default() };
        dis.filter = Filter { types: self.types.clone(), methods: self.methods.clone() };
        dis.debug = debug;
        dis.reserved = self.output.iter().flat_map(|path| self.reserved(path)).collect();
        match &self.output {
            Some(path) => self.write(&dis, path)?,
            None => {
                let mut terminal = Terminal::paged(colour_il);
                let found = dis.print(&mut terminal)?;
                terminal.close()?;
                self.check(found)?;
            }
        }
        Ok(0)
    }

    /// The PDB's bytes, or why there are none. One that was named has to be the right one.
    fn pdb_bytes<'p>(&self, image: &Image<'_>, beside: Option<&'p [u8]>) -> anyhow::Result<Result<Cow<'p, [u8]>, String>> {
        match (weave::pdb::find(image, beside), &self.pdb) {
            (Ok(Some(bytes)), _) => Ok(Ok(bytes)),
            (Ok(None), None) => Ok(Err("the assembly names no PDB".into())),
            (Err(trouble), None) => Ok(Err(trouble.to_string())),
            (Ok(None), Some(_)) => Err(Failure::usage(format_args!("--pdb: {} names no PDB", self.input.display())).into()),
            (Err(trouble), Some(path)) => Err(Failure::unreadable(format_args!("{}: {trouble}", path.display())).into()),
        }
    }

    /// What no resource may be written over: the text itself, and the assembly.
    fn reserved(&self, path: &Path) -> Vec<String> {
        let is_beside = self.input.file_name().is_some_and(|name| is_same_file(&self.input, &path.with_file_name(name)));
        let names = [Some(path), Some(&*self.input).filter(|_| is_beside)];
        names.into_iter().flatten().filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
    }

    /// Writes the text to a file, and each resource to one of its name beside it.
    fn write(&self, dis: &Disassembler<'_, '_>, path: &Path) -> anyhow::Result<()> {
        if is_same_file(&self.input, path) {
            return Err(Failure::output_is_input(format_args!("{}: the output would overwrite the input", path.display())).into());
        }
        clean_up_when_asked_to_end()?;
        let mut outputs = Outputs::default();
        let mut found = false;
        outputs.write(path, |file| {
            let mut file = io::BufWriter::new(file);
            found = dis.print(&mut file)?;
            file.flush()
        })?;
        self.check(found)?;
        for Resource { name, content } in dis.resources() {
            match content {
                Ok(content) => outputs.write(&path.with_file_name(&name), |file| file.write_all(content))?,
                Err(why) => complain(format_args!("{}: resource {name} left out: {why}", self.input.display())),
            }
        }
        Ok(outputs.commit()?)
    }

    fn check(&self, found: bool) -> anyhow::Result<()> {
        if found {
            return Ok(());
        }
        let patterns = filter::describe(self.types.iter().chain(&self.methods));
        Err(Failure::usage(format_args!("{}: nothing is named {patterns}", self.input.display())).into())
    }
}

/// A document's bytes: at its own path, else under the root at as much of its path as is there.
fn find_source(path: &str, root: Option<&Path>) -> Option<Vec<u8>> {
    let own = read_source(Path::new(path));
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !matches!(*part, "" | "." | "..")).collect();
    let under =
        |root: &Path| (0..parts.len()).find_map(|first| read_source(&root.join(parts.iter().skip(first).collect::<PathBuf>())));
    own.or_else(|| root.and_then(under))
}

/// A file's bytes, if it is a file that can be source.
fn read_source(path: &Path) -> Option<Vec<u8>> {
    let is_source = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= MAX_SOURCE);
    is_source.then(|| fs::read(path).ok()).flatten()
}
