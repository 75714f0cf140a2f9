//! Programs as people make them, by each way to instrument them, published in each way: the same output and exit code, exact
//! counts under the right names, nothing that `doctor` or `verify` finds, and nothing left behind. docs/matrix.md shows it.
//!
//! ```text
//! table (programs, publishing) -> application, tests_of -> check
//!                              -> document
//! ```

mod application;
#[cfg(feature = "full")]
mod arm64;
mod check;
mod document;
mod table;
mod tests_of;

#[cfg(not(feature = "full"))]
use self::table::Way;
use self::{
    application::Cell,
    table::{PROGRAMS, Program, Published},
    tests_of::Tests,
};
use crate::dotnet::Dotnet;

fn program(folder: &str) -> &'static Program {
    PROGRAMS.iter().find(|program| program.folder == folder).expect("the table has it")
}

/// The three commonest cells, which the full tier has among all.
#[cfg(not(feature = "full"))]
#[test]
#[ignore = "needs .NET 10"]
fn a_console_program() {
    let Some(dotnet) = Dotnet::newer("matrix-console") else { return };
    let cell = Cell::new(&dotnet, program("console"), Published::Dependent);
    [Way::Run, Way::Package].into_iter().for_each(|way| cell.check(way));
}

#[cfg(not(feature = "full"))]
#[test]
#[ignore = "needs .NET 10"]
fn tests_of_xunit_2() {
    let Some(dotnet) = Dotnet::newer("matrix-xunit2") else { return };
    Tests::new(&dotnet, program("xunit2")).check(Way::Package);
}

/// Every cell of a program; all that is wrong is reported.
#[cfg(feature = "full")]
fn in_every_way(folder: &str) {
    let Some(dotnet) = Dotnet::newer(&format!("matrix-{}", folder.replace('/', "-"))) else { return };
    let program = program(folder);
    let wrong = std::cell::RefCell::new(Vec::new());
    let attempt = |name: &str, check: &dyn Fn()| {
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err() {
            wrong.borrow_mut().push(name.to_owned());
        }
    };
    if program.host != table::Host::Itself {
        let tests = Tests::new(&dotnet, program);
        program.ways(Published::Dependent).iter().for_each(|way| attempt(&format!("{way:?}"), &|| tests.check(*way)));
    } else {
        if program.assemblies.len() > 1 {
            application::pack_library(&dotnet);
        }
        for published in program.published {
            let name = |way: &str| format!("{}, {way}", published.name());
            attempt(&name("as it is"), &|| {
                let cell = Cell::new(&dotnet, program, *published);
                program.ways(*published).iter().for_each(|way| attempt(&name(&format!("{way:?}")), &|| cell.check(*way)));
                if !published.is_whole() {
                    attempt(&name("refused"), &|| cell.check_refused());
                }
            });
        }
    }
    let wrong = wrong.into_inner();
    assert!(wrong.is_empty(), "{}: {wrong:?}", program.name);
}

/// A test for each program, so that they run side by side.
#[cfg(feature = "full")]
macro_rules! programs {
    ($($name:ident: $folder:literal)*) => {$(
        #[test]
        #[ignore = "needs .NET 10"]
        fn $name() {
            in_every_way($folder);
        }
    )*

    #[test]
    fn each_program_of_the_table_is_tried() {
        assert_eq!([$($folder),*], table::PROGRAMS.each_ref().map(|program| program.folder));
    }};
}

#[cfg(feature = "full")]
programs! {
    console: "console"
    worker: "worker"
    web: "web"
    database: "database"
    library: "library/consumer"
    xunit_2: "xunit2"
    xunit_3: "xunit3"
    nunit: "nunit"
    mstest: "mstest"
    tunit: "tunit"
}
