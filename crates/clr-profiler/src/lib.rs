//! A CLR profiler. The runtime loads it into an unmodified program. It records the same call tree as the tracker of
//! an instrumented program, into a file of the same format.
//!
//! ```text
//! runtime -> DllGetClassObject -> ICorProfilerCallback::Initialize -> mapper (which functions) -> hooks -> call tree -> file
//! ```
//!
//! Rooms, each of which uses only those before it: `process`, `abi`, `function`, `file`, `modules`, `tree`, `values`, `hooks`,
//! `session`, `sampler`, `rewrite`, `start`, `callbacks`.
//!
//! No code here unwinds into the runtime, prints, or waits for managed code.

pub mod abi;
mod callbacks;
mod file;
mod function;
mod hooks;
mod modules;
mod process;
mod rewrite;
#[cfg(target_os = "linux")]
mod sampler;
#[cfg(not(target_os = "linux"))]
#[path = "sampler/refused.rs"]
mod sampler;
mod session;
mod start;
mod tree;
mod values;

pub use callbacks::{DllCanUnloadNow, DllGetClassObject};
