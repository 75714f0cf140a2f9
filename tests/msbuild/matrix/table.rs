//! The matrix as data: programs, how they are published, and how often each of their methods is called.

/// How a program is published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Published {
    /// For the .NET that is installed.
    Dependent,
    /// With a .NET of its own.
    Contained,
    SingleFile,
    /// In one file, compressed, with ReadyToRun code; trimmed, as the SDK compiles the whole .NET that goes into such a file.
    Compressed,
    /// Trimmed: what says that it can be.
    Partial,
    /// Trimmed: everything.
    Full,
    ReadyToRun,
    /// With the ReadyToRun code of all assemblies in one file; trimmed, so that there is less to compile.
    Composite,
    Native,
}

impl Published {
    pub(crate) const ALL: [Self; 9] = [
        Self::Dependent,
        Self::Contained,
        Self::SingleFile,
        Self::Compressed,
        Self::Partial,
        Self::Full,
        Self::ReadyToRun,
        Self::Composite,
        Self::Native,
    ];

    /// As the document has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dependent => "framework-dependent",
            Self::Contained => "self-contained",
            Self::SingleFile => "single file",
            Self::Compressed => "single file, compressed, trimmed, ReadyToRun",
            Self::Partial => "trimmed, partial",
            Self::Full => "trimmed, full",
            Self::ReadyToRun => "ReadyToRun",
            Self::Composite => "composite",
            Self::Native => "native AOT",
        }
    }

    /// The options of `dotnet publish`.
    pub(crate) fn options(self) -> &'static [&'static str] {
        match self {
            Self::Dependent => &[],
            Self::Contained => &["-r", "linux-x64", "--self-contained"],
            Self::SingleFile => &["-r", "linux-x64", "--self-contained", "-p:PublishSingleFile=true"],
            Self::Compressed => &[
                "-r",
                "linux-x64",
                "--self-contained",
                "-p:PublishSingleFile=true",
                "-p:EnableCompressionInSingleFile=true",
                "-p:PublishTrimmed=true",
                "-p:TrimMode=partial",
                "-p:PublishReadyToRun=true",
            ],
            Self::Partial => &["-r", "linux-x64", "--self-contained", "-p:PublishTrimmed=true", "-p:TrimMode=partial"],
            Self::Full => &["-r", "linux-x64", "--self-contained", "-p:PublishTrimmed=true", "-p:TrimMode=full"],
            Self::ReadyToRun => &["-r", "linux-x64", "--self-contained", "-p:PublishReadyToRun=true"],
            Self::Composite => &[
                "-r",
                "linux-x64",
                "--self-contained",
                "-p:PublishTrimmed=true",
                "-p:TrimMode=partial",
                "-p:PublishReadyToRun=true",
                "-p:PublishReadyToRunComposite=true",
            ],
            Self::Native => &["-r", "linux-x64", "-p:PublishAot=true"],
        }
    }

    /// Whether it can be instrumented afterwards: its assemblies are files, and its .NET has what the tracker needs.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Dependent | Self::Contained | Self::ReadyToRun)
    }
}

/// The way in which it is started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Host {
    /// It is a program.
    Itself,
    /// `dotnet test`, whose host loads it.
    VsTest,
    /// `dotnet run`: it is a program that runs its own tests.
    OwnTests,
}

/// How a program is instrumented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// `ilinst run`
    Run,
    /// `ilinst instrument -o`
    Instrument,
    /// `ilinst instrument --in-place`, and `ilinst restore`
    InPlace,
    /// `Ilinst.MSBuild`
    Package,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Run, Self::Instrument, Self::InPlace, Self::Package];

    /// As the document has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Instrument => "instrument",
            Self::InPlace => "in place",
            Self::Package => "package",
        }
    }
}

pub(crate) struct Program {
    /// As the document has it.
    pub(crate) name: &'static str,
    /// Its folder in `programs`.
    pub(crate) folder: &'static str,
    /// Its assemblies, without the extension: the program, and a library that it takes from a package.
    pub(crate) assemblies: &'static [&'static str],
    pub(crate) host: Host,
    /// How it can be published, without us too.
    pub(crate) published: &'static [Published],
    /// How the names of its methods begin that are looked at: not those that a source generator adds.
    pub(crate) own: &'static [&'static str],
    /// Those that are instrumented and called, as metadata has them, and how often.
    pub(crate) calls: &'static [(&'static str, u64)],
}

impl Program {
    /// The ways that instrument it as it is published.
    pub(crate) fn ways(&self, published: Published) -> &'static [Way] {
        match (published.is_whole(), self.host) {
            (false, _) => &[Way::Package],
            (true, Host::VsTest) => &[Way::Instrument, Way::InPlace, Way::Package],
            (true, _) => &Way::ALL,
        }
    }
}

const TESTS: &[(&str, u64)] =
    &[("Checks.Sums::To", 5), ("Checks.Tests::Later", 1), ("Checks.Tests::Nothing", 1), ("Checks.Tests::Some", 3)];
const DEPENDENT: &[Published] = &[Published::Dependent];
/// Entity Framework Core makes no model in native code, and lacks constructors if all of it is trimmed.
const DATABASE: &[Published] = &[
    Published::Dependent,
    Published::Contained,
    Published::SingleFile,
    Published::Compressed,
    Published::Partial,
    Published::ReadyToRun,
    Published::Composite,
];

pub(crate) const PROGRAMS: [Program; 10] = [
    Program {
        name: "console",
        folder: "console",
        assemblies: &["console"],
        host: Host::Itself,
        published: &Published::ALL,
        own: &["Orders.", "Program"],
        calls: &[
            ("Orders.Delivery::All", 1),
            ("Orders.Delivery::One", 3),
            ("Orders.Order::Items", 12),
            ("Orders.Order::Parse", 1),
            ("Orders.Totals::Largest", 1),
            ("Orders.Totals::Sums", 4),
            ("Program/<>c::<<Main>$>b__0_0", 3),
            ("Program/<>c::<<Main>$>b__0_1", 3),
            ("Program::<Main>$", 1),
        ],
    },
    Program {
        name: "worker",
        folder: "worker",
        assemblies: &["worker"],
        host: Host::Itself,
        published: &Published::ALL,
        own: &["Jobs.", "Program"],
        calls: &[
            ("Jobs.Inbox::Take", 6),
            ("Jobs.Worker::.ctor", 1),
            ("Jobs.Worker::ExecuteAsync", 1),
            ("Jobs.Worker::Square", 5),
            ("Program::<Main>$", 1),
        ],
    },
    Program {
        name: "web, minimal API",
        folder: "web",
        assemblies: &["web"],
        host: Host::Itself,
        published: &Published::ALL,
        own: &["Todos.", "Program"],
        calls: &[
            ("Program/<>c::<<Main>$>b__0_0", 1),
            ("Program/<>c::<<Main>$>b__0_1", 4),
            ("Program::<Main>$", 1),
            ("Todos.Store::All", 5),
            ("Todos.Store::Find", 4),
            ("Todos.Store::Title", 15),
        ],
    },
    Program {
        name: "web, Entity Framework Core",
        folder: "database",
        assemblies: &["database"],
        host: Host::Itself,
        published: DATABASE,
        own: &["Blog.", "Program"],
        calls: &[
            ("Blog.Pages::Add", 3),
            ("Blog.Pages::Capitals", 3),
            ("Blog.Pages::Titles", 1),
            ("Blog.Posts::.ctor", 5),
            ("Blog.Posts::OnModelCreating", 1),
            ("Blog.Posts::get_All", 7),
            ("Program/<>c__DisplayClass0_0::<<Main>$>b__0", 5),
            ("Program::<Main>$", 1),
        ],
    },
    Program {
        name: "library in a package",
        folder: "library/consumer",
        assemblies: &["consumer", "Shapes"],
        host: Host::Itself,
        published: &Published::ALL,
        own: &["Shapes.", "Program"],
        calls: &[("Program::<Main>$", 1), ("Shapes.Areas::Square", 4), ("Shapes.Areas::Strip", 10)],
    },
    Program {
        name: "xunit 2",
        folder: "xunit2",
        assemblies: &["Checks"],
        host: Host::VsTest,
        published: DEPENDENT,
        own: &["Checks.Sums", "Checks.Tests"],
        calls: TESTS,
    },
    Program {
        name: "xunit.v3",
        folder: "xunit3",
        assemblies: &["Checks"],
        host: Host::OwnTests,
        published: DEPENDENT,
        own: &["Checks.Sums", "Checks.Tests"],
        calls: TESTS,
    },
    Program {
        name: "NUnit",
        folder: "nunit",
        assemblies: &["Checks"],
        host: Host::VsTest,
        published: DEPENDENT,
        own: &["Checks.Sums", "Checks.Tests"],
        calls: &[("Checks.Sums::To", 5), ("Checks.Tests::Later", 1), ("Checks.Tests::Nothing", 1), ("Checks.Tests::Some", 3)],
    },
    Program {
        name: "MSTest",
        folder: "mstest",
        assemblies: &["Checks"],
        host: Host::VsTest,
        published: DEPENDENT,
        own: &["Checks.Sums", "Checks.Tests"],
        calls: TESTS,
    },
    Program {
        name: "TUnit",
        folder: "tunit",
        assemblies: &["Checks"],
        host: Host::OwnTests,
        published: DEPENDENT,
        own: &["Checks.Sums", "Checks.Tests"],
        calls: TESTS,
    },
];
