//! Causes of death by runtimes: whatever ends a process, its profile has every call that the program counted itself, and its
//! exit code and output are those of the unwoven program.

mod causes;
mod document;
mod hosted;
mod programs;
mod run;

use tests::{Runtime, skip, skip_part};

use crate::{
    causes::CAUSES,
    programs::Programs,
    run::{Place, Windows, check},
};

#[test]
#[ignore = "needs Mono"]
fn on_mono() {
    on(0, Runtime::find("Mono").map(Place::Runtime));
}

#[test]
#[ignore = "needs .NET 8"]
fn on_dotnet_8() {
    on(1, Runtime::find(".NET 8").map(Place::Runtime));
}

#[test]
#[ignore = "needs .NET Core 3.1"]
fn on_dotnet_core_31() {
    on(2, Runtime::find(".NET Core 3.1").map(Place::Runtime));
}

#[test]
#[ignore = "needs Wine"]
fn on_windows() {
    let windows = Windows::find();
    if windows.is_none() {
        skip("Wine and .NET for Windows are not here");
    }
    on(3, windows.map(Place::Windows));
}

/// Every cause there is on a runtime; all that is wrong is said.
fn on(column: usize, place: Option<Place>) {
    let (Some(place), Some(programs)) = (place, Programs::make(column)) else { return };
    let mut wrong = Vec::new();
    for cause in CAUSES {
        let Some(end) = cause.ends[column] else { continue };
        match check(&place, &programs, cause, end) {
            Ok(None) => {}
            Ok(Some(skipped)) => skip_part(&format!("{}: {skipped}", cause.name)),
            Err(error) => wrong.push(format!("{}: {error}", cause.name)),
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), CAUSES.len(), wrong.join("\n"));
}
