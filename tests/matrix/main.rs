//! Causes of death by runtimes: whatever ends a process, its profile has every call that the program counted itself, and its
//! exit code and output are those of the unwoven program. The full tier has each cause on each runtime and host; without it, each is on one.

mod causes;
mod document;
#[cfg(feature = "full")]
mod hosted;
mod programs;
mod run;
#[cfg(feature = "full")]
mod windows;

use tests::{Runtime, is_full, skip_part};

use crate::{
    causes::{CAUSES, Cause},
    programs::Programs,
    run::{Place, check},
};

#[test]
#[ignore = "needs Mono"]
fn on_mono() {
    on(0, Runtime::find("Mono"));
}

#[test]
#[ignore = "needs .NET 8"]
fn on_dotnet_8() {
    on(1, Runtime::find(".NET 8"));
}

#[cfg(feature = "full")]
#[test]
#[ignore = "needs .NET Core 3.1"]
fn on_dotnet_core_31() {
    on(2, Runtime::find(".NET Core 3.1"));
}

#[cfg(feature = "full")]
#[test]
#[ignore = "needs Wine"]
fn on_windows() {
    on(3, windows::Windows::find());
}

/// Every cause that a runtime has, or its share of all causes; all that is wrong is said.
fn on(column: usize, place: Option<impl Place>) {
    let (Some(place), Some(programs)) = (place, Programs::make(column)) else { return };
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (number, cause) in CAUSES.iter().enumerate() {
        let Some(end) = cause.ends[column].filter(|_| is_full() || share(number, cause) == Some(column)) else { continue };
        tried += 1;
        match check(&place, &programs, cause, end) {
            Ok(None) => {}
            Ok(Some(skipped)) => skip_part(&format!("{}: {skipped}", cause.name)),
            Err(error) => wrong.push(format!("{}: {error}", cause.name)),
        }
    }
    assert!(tried > 8, "{tried} causes");
    assert!(wrong.is_empty(), "{} of {tried} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The column that a cause is tried in where one has to do: Mono and .NET 8 by turns. None has those of Windows.
fn share(number: usize, cause: &Cause) -> Option<usize> {
    let turns = [number % 2, 1 - number % 2];
    turns.into_iter().find(|column| cause.ends[*column].is_some())
}
