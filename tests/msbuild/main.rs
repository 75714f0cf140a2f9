//! `Ilinst.MSBuild` as users have it: projects that `dotnet new` makes, the package from a folder as its feed, and no
//! network. What is woven runs, and what it wrote is read.

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
