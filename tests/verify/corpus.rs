//! Real assemblies have no errors: compilers emit them and runtimes run them, so they are valid.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    time::Instant,
};

use ecma335::{Image, Metadata};
use tests::{assemblies, ilinst, in_tier, is_full, library_folders, root, said, scratch, skip_part, tool};
use verify::Level;
use weave::{LeaveMode, Options, Tracker, Weave};

use crate::{PEDANTIC, programs::framework, read, verify_bytes};

/// Expected errors of real files: a part of the path, the rule, and the reason.
const REAL: &[(&str, &str, &str)] = &[("System.Net.Http.dll", "III.3.47-b", MCS), ("System.Security.dll", "III.3.47-b", MCS)];
const MCS: &str = "Mono's compiler writes it and Mono runs it; CoreCLR refuses the method";

#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn real_assemblies_have_no_errors() {
    let files = assemblies(&library_folders());
    if files.is_empty() {
        return;
    }
    let started = Instant::now();
    let (mut checked, mut bodies, mut assumed, mut errors) = (0, 0, 0, Vec::new());
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for file in &files {
        let Some(report) = verify_bytes(&read(file), &PEDANTIC) else { continue };
        checked += 1;
        bodies += report.bodies;
        assumed += report.assumed;
        let path = file.display().to_string();
        for finding in report.findings {
            let is_known = REAL.iter().any(|(part, rule, _)| path.contains(part) && finding.rule.number == *rule);
            if finding.rule.level == Level::Error && !is_known {
                errors.push(format!("{path}: {finding}"));
            } else {
                *others.entry(finding.rule.number).or_default() += 1;
            }
        }
    }
    println!("{checked} files, {bodies} bodies, {assumed} values assumed, in {:?}", started.elapsed());
    println!("{others:#?}");
    assert!(errors.is_empty(), "{} errors:\n{}", errors.len(), errors[..errors.len().min(50)].join("\n"));
}

/// Nothing of .NET 10, of .NET 11 or of the SDK 10 has an error. In the full tier, types are checked too.
#[test]
#[ignore = "needs .NET 10, .NET 11 and the SDK 10"]
fn frameworks_and_the_sdk_have_no_errors() {
    for variable in ["ILINST_SDK10", "ILINST_DOTNET10", "ILINST_DOTNET11"] {
        let Some(dotnet) = tool(variable) else {
            skip_part(&format!("assemblies of {variable}"));
            continue;
        };
        // A framework's folder may be a link.
        let of_sdk = variable == "ILINST_SDK10";
        let folder = if of_sdk { dotnet.with_file_name("") } else { framework(&dotnet).canonicalize().expect("it is there") };
        let mut command = ilinst();
        command.args(["verify", "--limit", "0"]).arg(folder);
        if is_full() {
            command.arg("--types");
        }
        let (text, errors, _) = said(&command.output().expect("ilinst runs"));
        let found: Vec<&str> = text.lines().filter(|line| line.contains(": error ")).collect();
        println!("{variable}: {}", text.lines().last().unwrap_or_default());
        assert!(text.contains(" bodies checked, 0 errors"), "{variable}: {} errors: {found:#?}{errors}", found.len());
    }
}

/// Instrumenting adds no finding, also with types. Skipped methods keep their findings, and instrumented ones are as valid as
/// before.
#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn woven_assemblies_have_no_new_findings() {
    let tracker = root().join("tracker-runtime/bin/Ilinst.Tracker.dll");
    let tracker = Tracker::read(&read(&tracker)).expect("it is an assembly");
    let samples = ["hello/hello.exe", "orders/orders.exe", "shapes/shapes.exe", "modern/modern.dll", "odd/odd.exe"];
    let mut files: Vec<PathBuf> = samples.map(crate::sample_file).to_vec();
    files.extend(in_tier(assemblies(&library_folders()), 24));
    let folder = scratch("verify-woven");
    let (mut compared, mut failures) = (0, Vec::new());
    for file in files {
        for leave in [LeaveMode::Finally, LeaveMode::Return] {
            let Some(woven) = weave(&read(&file), &tracker, leave) else { continue };
            let output = folder.join(file.file_name().expect("a file has a name"));
            fs::write(&output, woven).expect("it can be written");
            let mut command = ilinst();
            command.args(["verify", "--types", "--limit", "0"]).arg(&output).arg("--compare").arg(&file);
            for framework in frameworks() {
                command.arg("--ref").arg(framework);
            }
            let (text, errors, code) = said(&command.output().expect("ilinst runs"));
            if code != Some(0) {
                failures.push(format!("{} {leave:?}:\n{text}{errors}", file.display()));
            }
            compared += 1;
            fs::remove_file(&output).expect("it can be removed");
        }
    }
    println!("{compared} woven files compared");
    assert!(failures.is_empty(), "{} files:\n{}", failures.len(), failures.join("\n"));
}

/// Returns the folders in which references are looked up.
pub(crate) fn frameworks() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(core) = tool("ILINST_DOTNET31") {
        let versions = core.with_file_name("shared").join("Microsoft.NETCore.App");
        folders.extend(fs::read_dir(versions).into_iter().flatten().flatten().map(|version| version.path()));
    }
    folders.sort();
    folders.extend(tool("ILINST_MONO_LIB").map(|mono| mono.join("4.5")));
    folders
}

/// Doubts about methods without pointers: the file, the start of the member's name, a part of the message, and the reason.
const UNSAFE: &[(&str, &str, &str, &str)] = &[
    ("System.Runtime.CompilerServices.Unsafe.dll", "System.Runtime.CompilerServices.Unsafe::", "!!", AS),
    ("mscorlib.dll", "System.Runtime.CompilerServices.Unsafe::", "!!", AS),
    ("Mono.Simd.dll", "Mono.Simd.ArrayExtensions::GetVector", "& where native int& is needed", PINNED),
    ("mscorlib.dll", "System.Threading.Tasks.RangeWorker::FindNewWork", "int64& where int32& is needed", PINNED),
    ("mscorlib.dll", "System.Decimal/DecCalc::VarDecDiv", "uint32& where System.Decimal/DecCalc/Buf12& is needed", BITS),
    ("mscorlib.dll", "System.BitConverter::", "where one to ", BITS),
    ("mscorlib.dll", "System.Numerics.ConstantHelper::Get", "where one to i", BITS),
    ("mscorlib.dll", "System.Buffers.Text.Number::NumberToDouble", "uint64& where one to r8", BITS),
    ("mscorlib.dll", "System.Decimal/DecCalc::GetExponent", "& where one to ", BITS),
    ("System.Data.dll", "System.Data.ProviderBase.DbBuffer::", "& where one to ", BITS),
    ("System.Runtime.Serialization.dll", "System.Xml.XmlConverter::IsNegativeZero", "& where one to i", BITS),
    ("System.Xml.dll", "System.Xml.XmlSqlBinaryReader::Get", "& where one to r", BITS),
    ("System.Xml.dll", "System.Xml.XmlConvert::DoubleToInt64Bits", "float64& where one to i8", BITS),
    (
        "System.Security.dll",
        "Internal.Cryptography.Pal.AnyOS.ManagedPkcsPal/ManagedDecryptorPal::TryDecrypt",
        "native int where & ",
        PINNED,
    ),
    ("FSharp.Compiler.Private.dll", "FSharp.Compiler.IncrementalBuild/Vector/BoxingDemultiplex", "FSharpFunc", BOXES),
    ("", "", "(System.AppDomainSetup::.ctor)", DOMAINS),
    ("", "", "the address of a static initonly field", IN),
    ("System.Private.CoreLib.dll", "System.Threading.QueueUserWorkItemCallback::Execute", "on `this` or a box alone", IN),
    ("", "System.TypedReference::MakeTypedReference", "what is returned", FRAMES),
    ("mscorlib.dll", "System.ArgIterator::GetNextArg", "what is returned", FRAMES),
    ("System.Runtime.CompilerServices.Unsafe.dll", "System.Runtime.CompilerServices.Unsafe::Unbox", "mutability", AS),
];
const AS: &str = "written in IL, to read one type as another";
const PINNED: &str = "a pinned variable, or the address of one, goes where another address is wanted";
const BITS: &str = "`*(long*)&value`, without a pointer in any variable";
const BOXES: &str = "F# forgets the arguments of closures in boxes";
const IN: &str = "C# passes it as `in`, or calls what does not write; the standard and ILVerify do not look there";
const FRAMES: &str = "a typed reference, which may lead into the frame, is what it is for";
const DOMAINS: &str = "made for .NET Framework; .NET, where it was looked for, keeps it to itself";

/// Code is in doubt only if its source was unsafe: it has a pointer, mixes addresses, or has uncleared locals.
#[test]
#[ignore = "needs the .NET SDK and Mono"]
fn real_assemblies_have_types_that_fit() {
    let files = assemblies(&library_folders());
    if files.is_empty() {
        return;
    }
    let mut command = ilinst();
    command.args(["verify", "--types", "--limit", "0"]).args(&files);
    for framework in frameworks() {
        command.arg("--ref").arg(framework);
    }
    let (text, _, _) = said(&command.output().expect("ilinst runs"));
    println!("{}", text.lines().last().unwrap_or_default());
    let found: Vec<Doubt<'_>> = text.lines().filter_map(Doubt::parse).collect();
    let with_pointers: BTreeSet<_> = found.iter().filter(|doubt| doubt.rule == "III.3-a").map(|doubt| doubt.method).collect();
    let is_unsafe = |doubt: &&Doubt<'_>| {
        let mixes = doubt.what.contains("& where ") || doubt.what.contains("where & is needed") || doubt.rule == "III.1.5-a";
        matches!(doubt.rule, "III.3-a" | "III.1.8.1.1-a") || mixes && with_pointers.contains(&doubt.method)
    };
    let is_known = |doubt: &&Doubt<'_>| {
        let is_it = |(file, member, part, _): &(&str, &str, &str, &str)| {
            doubt.method.0.ends_with(file) && doubt.member.starts_with(member) && doubt.what.contains(part)
        };
        UNSAFE.iter().any(is_it)
    };
    let doubtful: Vec<_> = found.iter().filter(|doubt| !is_unsafe(doubt) && !is_known(doubt)).collect();
    assert!(doubtful.is_empty(), "{}: {doubtful:#?}", doubtful.len());
}

/// A line of the report about code that cannot be proved valid.
#[derive(Debug)]
struct Doubt<'t> {
    rule: &'t str,
    /// The file, and the token in it.
    method: (&'t str, &'t str),
    member: &'t str,
    what: &'t str,
}

impl<'t> Doubt<'t> {
    fn parse(line: &'t str) -> Option<Self> {
        let (file, rest) = line.split_once(": unverifiable ")?;
        let (head, what) = rest.split_once(": breaks ")?;
        let mut words = head.splitn(3, ' ');
        let (rule, token) = (words.next()?, words.next()?);
        Some(Self { rule, method: (file, token), member: words.next().unwrap_or_default(), what })
    }
}

/// Returns the instrumented file; `None` if it is refused.
fn weave(bytes: &[u8], tracker: &Tracker, leave: LeaveMode) -> Option<Vec<u8>> {
    let image = Image::parse(bytes).ok()?;
    let metadata = Metadata::parse(image.metadata().ok()?).ok()?;
    if weave::refusal::for_file(&image, &metadata, tracker).is_some() {
        return None;
    }
    let options = Options { leave, all: true, ..Options::default() };
    let how = Weave { options: &options, ..Weave::new(tracker) };
    Some(weave::weave(&image, &metadata, &how).expect("it can be woven").file.to_vec())
}
