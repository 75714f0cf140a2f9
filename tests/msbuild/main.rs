//! `Ilinst.MSBuild` as users have it: the package comes from a folder as its feed, without network. Instrumented programs run, and
//! their profiles are read.

mod coverage;
#[cfg(feature = "full")]
mod coverlet;
mod dotnet;
mod errors;
mod hooks;
mod matrix;
mod newer;
mod old_style;
mod project;
mod publish;
#[cfg(feature = "full")]
mod settings;
mod solution;
mod tool;
mod which_tests;
#[cfg(feature = "full")]
mod windows;
