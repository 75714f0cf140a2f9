//! A CLR profiler. The runtime loads it into an unmodified program. It records the same call tree as the tracker of
//! an instrumented program, into a file of the same format.
//!
//! ```text
//! runtime -> DllGetClassObject -> ICorProfilerCallback::Initialize -> mapper (which functions) -> hooks -> call tree -> file
//! ```
//!
//! Rooms, each of which uses only those before it, and the worlds of their code (`worlds`):
//!
//! | rooms | world |
//! |---|---|
//! | `worlds`, `process`, `abi`, `function`, `file`, `modules` | any, if no token says otherwise |
//! | `tree`, `values`, `hooks` | hooks; `tree/own_thread` runs on threads of the profiler |
//! | `events` | other callbacks of the runtime |
//! | `session`, `sampler`, `attach` | threads of the profiler; `sampler/handler` is a signal handler |
//! | `start`, `callbacks` | other callbacks: they call the rooms before |
//!
//! Mono has a profiler interface of its own, which only samples use: `sampler/mono`.
//!
//! No code here unwinds into the runtime, prints, or waits for managed code.

pub mod abi;
mod attach;
mod callbacks;
mod events;
mod file;
mod function;
mod hooks;
mod modules;
mod process;
#[cfg(target_os = "linux")]
mod sampler;
#[cfg(not(target_os = "linux"))]
#[path = "sampler/refused.rs"]
mod sampler;
mod session;
mod start;
mod tree;
mod values;
mod worlds;

pub use callbacks::{DllCanUnloadNow, DllGetClassObject};
#[cfg(target_os = "linux")]
pub use sampler::mono_profiler_init_ilinst;
