//! `ilinst dis` and back: the ilasm of Mono or .NET assembles the text again, and the program behaves the same.

mod corpus;
mod dotnet;
mod same;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use ecma335::{Image, Metadata, Table};
use tests::{Runtime, ilinst, require, root, said, sample, scratch, without_places};

/// Tables that must keep their number of rows, since the text contains all their contents.
const KEPT: &[Table] = &[
    Table::TypeDef,
    Table::Field,
    Table::MethodDef,
    Table::InterfaceImpl,
    Table::GenericParam,
    Table::GenericParamConstraint,
    Table::NestedClass,
    Table::Constant,
    Table::ClassLayout,
    Table::FieldLayout,
    Table::FieldRva,
    Table::ImplMap,
    Table::MethodSemantics,
    Table::Property,
    Table::Event,
    Table::MethodImpl,
    Table::ManifestResource,
    Table::File,
    Table::FieldMarshal,
];

/// The file name of the disassembled text.
const TEXT: &str = "text.il";

/// Disassembles a file and assembles it again into a folder. Returns the new file, or the error.
fn round_trip(ilasm: &Path, input: &Path, folder: &Path) -> Result<PathBuf, String> {
    let name = input.file_name().expect("a file has a name");
    let text = folder.join(TEXT);
    let output = ilinst().args(["dis", "--ilasm", "mono"]).arg(input).arg("-o").arg(&text).output().expect("ilinst runs");
    if !output.status.success() {
        return Err(format!("dis: {}", said(&output).1));
    }
    let assembled = folder.join(name);
    let kind = if input.extension().is_some_and(|extension| extension == "dll") { "/dll" } else { "/exe" };
    let mut command = Command::new(ilasm);
    // ilasm reads resources from the current folder.
    command.current_dir(folder).arg(kind).arg(format!("/output:{}", assembled.display())).arg(&text);
    let (out, errors, code) = said(&command.output().expect("ilasm starts"));
    if code == Some(0) && out.contains("Operation completed successfully") {
        return Ok(assembled);
    }
    let lines: Vec<&str> =
        out.lines().chain(errors.lines()).filter(|line| line.contains("rror") || line.contains("xception")).collect();
    Err(format!("ilasm: {}", lines.first().unwrap_or(&"no word of success")))
}

/// Returns differences in numbers of rows, and tables not sorted as II.22 requires. The text is beside the second file.
fn differences(before: &Path, after: &Path) -> Vec<String> {
    let text = fs::read_to_string(after.with_file_name(TEXT)).expect("it was written");
    let (before, after) = (fs::read(before).expect("it can be read"), fs::read(after).expect("it can be read"));
    let read = |bytes: &[u8]| -> Result<Vec<(Table, u32, bool)>, ecma335::Error> {
        let image = Image::parse(bytes)?;
        let metadata = Metadata::parse(image.metadata()?)?;
        let tables = KEPT.iter().chain(&[Table::CustomAttribute]);
        Ok(tables.map(|table| (*table, metadata.tables.count(*table), is_sorted(&metadata, *table))).collect())
    };
    let before = read(&before).expect("it was disassembled");
    let after = match read(&after) {
        Ok(after) => after,
        Err(error) => return vec![error.to_string()],
    };
    // Attributes that the assembler's grammar has no place for are comments.
    let is_comment = |line: &&str| line.trim_start().starts_with("// ") && line.contains(": .custom ");
    let comments = text.lines().filter(is_comment).count() as u32;
    let mut differences = Vec::new();
    for ((table, old, _), (_, new, sorted)) in before.into_iter().zip(after) {
        let commented = if table == Table::CustomAttribute { comments } else { 0 };
        if old != new + commented {
            differences.push(format!("{table}: {old} rows became {new}, {commented} are comments"));
        }
        if !sorted {
            differences.push(format!("{table} is not sorted"));
        }
    }
    differences
}

fn is_sorted(metadata: &Metadata<'_>, table: Table) -> bool {
    let key = table.sort_keys().first().and_then(|key| table.columns().iter().position(|column| column.name == *key));
    let Some(key) = key else { return true };
    (1..=metadata.tables.count(table)).map(|rid| metadata.tables.cells(table, rid).expect("there is such a row")[key]).is_sorted()
}

#[test]
#[ignore = "needs Mono"]
fn samples_behave_the_same() {
    let (Some(runtime), Some(ilasm)) = (Runtime::find("Mono"), require("ILINST_ILASM")) else { return };
    for (name, arguments) in
        [("hello", &[""][..]), ("orders", &[""]), ("shapes", &["varargs"]), ("endings", &["return", "exit", "throw", "thread"])]
    {
        let folder = scratch(&format!("ilasm-{name}"));
        let program = sample(name).join(format!("{name}.exe"));
        let assembled = round_trip(&ilasm, &program, &folder).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(differences(&program, &assembled), [""; 0], "{name}");
        for argument in arguments {
            let run = |program: &Path| {
                let arguments = Some(argument).filter(|argument| !argument.is_empty());
                let (out, errors, code) = said(&runtime.program(program, &folder).args(arguments).output().expect("it starts"));
                (out, without_places(&errors), code)
            };
            println!("{name} {argument}");
            assert_eq!(run(&program), run(&assembled), "{name} {argument}");
        }
    }
}

#[test]
#[ignore = "needs Mono"]
fn the_compiler_compiles_the_same() {
    let needed = (Runtime::find("Mono"), require("ILINST_ILASM"), require("ILINST_MONO_LIB"));
    let (Some(runtime), Some(ilasm), Some(mono)) = needed else { return };
    let folder = scratch("ilasm-mcs");
    let program = mono.join("4.5/mcs.exe");
    let assembled = round_trip(&ilasm, &program, &folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(differences(&program, &assembled), [""; 0]);
    let right = ["Async.cs", "VirtualClock.cs"].map(|source| root().join("tests/truth/programs").join(source)).to_vec();
    let wrong = ["orders/Model.cs", "orders/Program.cs"].map(|source| root().join("samples").join(source)).to_vec();
    // Sources that the compiler accepts, and sources that are too new for it. It must refuse the latter with the same messages.
    for (sources, lines) in [(right, 1000), (wrong, 0)] {
        let compile = |compiler: &Path| {
            let output = folder.join("output.dll");
            let _ = fs::remove_file(&output);
            let mut command = runtime.program(compiler, &folder);
            command.args(["-target:library", "-unsafe"]).arg(format!("-out:{}", output.display())).args(&sources);
            let said = said(&command.output().expect("it starts"));
            let text = ilinst().arg("dis").arg(&output).output().expect("ilinst runs").stdout;
            // Ignores the module's random MVID, and the names derived from it.
            let text = String::from_utf8_lossy(&text).into_owned();
            let text = text.lines().filter(|line| !line.starts_with("// MVID") && !line.contains("<PrivateImpl"));
            (said, text.map(str::to_owned).collect::<Vec<_>>())
        };
        let (before, after) = (compile(&program), compile(&assembled));
        assert_eq!(before.0, after.0, "what it says");
        assert!(before.1.len() >= lines, "{} lines", before.1.len());
        assert_eq!(before.1, after.1, "what it makes");
    }
}
