//! `ilinst dis`: an assembly as IL assembly that an assembler takes again.

#[path = "../../iltext/src/dis/blocks.rs"]
pub(crate) mod blocks;
#[path = "../../iltext/src/dis/bodies.rs"]
pub(crate) mod bodies;
#[path = "../../iltext/src/dis/debug.rs"]
pub(crate) mod debug;
#[path = "../../iltext/src/dis/flags.rs"]
mod flags;
#[path = "../../iltext/src/dis/kinds.rs"]
mod kinds;
#[path = "../../iltext/src/dis/lines.rs"]
pub(crate) mod lines;
#[path = "../../iltext/src/dis/manifest.rs"]
pub(crate) mod manifest;
#[path = "../../iltext/src/dis/marshal.rs"]
mod marshal;
#[path = "../../iltext/src/dis/members.rs"]
pub(crate) mod members;
#[path = "../../iltext/src/dis/names.rs"]
pub(crate) mod names;
#[path = "../../iltext/src/dis/order.rs"]
mod order;
#[path = "../../iltext/src/dis/preamble.rs"]
mod preamble;
#[path = "../../iltext/src/dis/quote.rs"]
pub(crate) mod quote;
#[path = "../../iltext/src/dis/security.rs"]
mod security;
#[path = "../../iltext/src/dis/types.rs"]
pub(crate) mod types;
#[path = "../../iltext/src/dis/values.rs"]
pub(crate) mod values;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use ::instrument::{Input, Outputs, Pdb, is_same_file, not_an_assembly, read_assembly};
use clap::Args;
use ecma335::{Image, Rid, Table, schema::TypeDef};
use weave::Pattern;

use self::{
    debug::{Debug, Source},
    lines::Lines,
    names::Names,
    types::Types,
};
use crate::{
    failure::Failure,
    screen::{self, Screen},
};

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

/// What to show beside the assembly itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Show {
    /// Addresses and sizes of methods.
    pub(crate) offsets: bool,
    /// Bytes of instructions.
    pub(crate) bytes: bool,
    /// Tokens of definitions and operands.
    pub(crate) tokens: bool,
    /// No addresses, and accessors in an order of their own: where rows and bytes lie says nothing of what is there.
    pub(crate) placeless: bool,
}

/// Which types and methods to show; all if it has no pattern.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    types: Vec<Pattern>,
    methods: Vec<Pattern>,
}

impl Filter {
    fn is_empty(&self) -> bool {
        self.types.is_empty() && self.methods.is_empty()
    }

    fn wants_type(&self, type_name: &str) -> bool {
        self.is_empty() || self.types.iter().any(|pattern| pattern.matches(type_name, ""))
    }

    fn wants_method(&self, type_name: &str, method: &str) -> bool {
        self.methods.iter().any(|pattern| pattern.matches(type_name, method))
    }
}

/// What stands before a method's name that may be any type's.
pub(crate) const ANY_TYPE: &str = "*::";

/// A method's name alone means that of any type.
pub(crate) fn method_pattern(text: &str) -> Result<Pattern, weave::pattern::PatternError> {
    if text.is_empty() || text.contains("::") || text.starts_with("re:") {
        text.parse()
    } else {
        format!("{ANY_TYPE}{text}").parse()
    }
}

impl Opts {
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let bytes = Input::open(&self.input)?;
        let (image, metadata) = read_assembly(&self.input, &bytes)?;
        let pdb = Pdb::read(Pdb::find(&self.input, self.pdb.as_deref(), &image).as_ref())?;
        let pdb = self.pdb_bytes(&image, pdb.as_deref())?;
        let source = || self.source.then(|| Source::new(self.source_root.clone()));
        let debug = match &pdb {
            Ok(bytes) => Debug::parse(bytes, source()).map_err(|error| format!("the PDB cannot be read: {error}")),
            Err(trouble) => Err(trouble.clone()),
        };
        if let Some(trouble) = debug.as_ref().err().filter(|_| self.source) {
            writeln!(io::stderr(), "ilinst: {}: no source lines: {trouble}", self.input.display())?;
        }
        let names = Names::new(&image, &metadata);
        let plain_names = metadata.type_names().map_err(|error| not_an_assembly(&self.input, error))?;
        let show = Show { offsets: self.offsets, bytes: self.bytes, tokens: self.tokens, placeless: false };
        let filter = Filter { types: self.types.clone(), methods: self.methods.clone() };
        let printer = Types {
            names: &names,
            show,
            debug: debug.as_ref().ok(),
            filter: &filter,
            plain_names: &plain_names,
            data: BTreeMap::new(),
            printed: BTreeSet::new(),
        };
        match &self.output {
            Some(path) => self.write(printer, path)?,
            None => {
                let mut screen = Screen::open(screen::colour);
                let found = print(printer, |text| screen.write(text))?;
                screen.close()?;
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

    /// Writes the text to a file, and each resource to one of its name beside it.
    fn write(&self, printer: Types<'_, '_, '_>, path: &Path) -> anyhow::Result<()> {
        if is_same_file(&self.input, path) {
            return Err(Failure::output_is_input(format_args!("{}: the output would overwrite the input", path.display())).into());
        }
        let resources = if printer.filter.is_empty() { manifest::resources(printer.names) } else { Vec::new() };
        let mut outputs = Outputs::default();
        let mut found = false;
        outputs.write(path, |file| {
            let mut file = io::BufWriter::new(file);
            found = print(printer, |text| file.write_all(text.as_bytes()))?;
            file.flush()
        })?;
        self.check(found)?;
        for (name, content) in resources {
            let beside = path.with_file_name(&name);
            if beside == path || is_same_file(&self.input, &beside) {
                return Err(
                    Failure::usage(format_args!("{}: a resource has this name; choose another -o", beside.display())).into()
                );
            }
            let content = content.map_err(|error| not_an_assembly(&self.input, format_args!("resource {name}: {error}")))?;
            outputs.write(&beside, |file| file.write_all(content))?;
        }
        Ok(outputs.commit()?)
    }

    fn check(&self, found: bool) -> anyhow::Result<()> {
        if found {
            return Ok(());
        }
        let patterns = self.types.iter().chain(&self.methods).map(Pattern::as_str);
        let patterns: Vec<&str> = patterns.map(|pattern| pattern.trim_start_matches(ANY_TYPE)).collect();
        Err(Failure::usage(format_args!("{}: nothing is named {}", self.input.display(), patterns.join(" or "))).into())
    }
}

/// Prints the manifest, then type by type; says whether there was anything to print.
fn print(mut types: Types<'_, '_, '_>, mut put: impl FnMut(&str) -> io::Result<()>) -> io::Result<bool> {
    let mut lines = Lines::default();
    let metadata = types.names.metadata;
    let mut found = types.filter.is_empty();
    if found {
        manifest::print(&types, &mut lines);
    }
    put(&lines.take())?;
    for (index, outer) in metadata.enclosing_types().iter().enumerate() {
        if outer.is_none() {
            types.print(Rid::<TypeDef>::new(index as u32 + 1), 0, &mut lines);
            members::data(&mut types, &mut lines);
            let text = lines.take();
            found |= !text.is_empty();
            put(&text)?;
        }
    }
    debug_assert_eq!(metadata.tables.count(Table::TypeDef) as usize, types.plain_names.len());
    Ok(found)
}
