//! A CLR profiler: the runtime loads it into a program that nothing was done to, and it records the call tree that the tracker
//! records of a woven one, into a file of the same format.
//!
//! ```text
//! runtime -> DllGetClassObject -> ICorProfilerCallback::Initialize -> mapper (which functions) -> hooks -> call tree -> file
//! ```
//!
//! Nothing of it unwinds into the runtime, prints, or waits for managed code.

pub mod api;
mod attached;
mod calibration;
mod call_tree;
mod callbacks;
mod capture;
mod clock;
pub mod com;
mod descriptions;
mod emit;
mod exceptions;
mod forked;
mod functions;
mod hooks;
mod info;
mod modules;
mod plan;
mod profile_file;
mod profiler;
mod resolve;
mod rewriting;
mod settings;
mod signature;
mod types;

pub use callbacks::{DllCanUnloadNow, DllGetClassObject};
