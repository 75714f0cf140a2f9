//! A CLR profiler. The runtime loads it into an unmodified program. It records the same call tree as the tracker of
//! an instrumented program, into a file of the same format.
//!
//! ```text
//! runtime -> DllGetClassObject -> ICorProfilerCallback::Initialize -> mapper (which functions) -> hooks -> call tree -> file
//! ```
//!
//! No code here unwinds into the runtime, prints, or waits for managed code.

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
#[cfg(target_os = "linux")]
mod sampler;
#[cfg(not(target_os = "linux"))]
#[path = "sampler/refused.rs"]
mod sampler;
mod settings;
mod signature;
mod types;

pub use callbacks::{DllCanUnloadNow, DllGetClassObject};
