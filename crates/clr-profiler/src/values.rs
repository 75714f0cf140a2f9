//! The values of calls (`--capture` with `--hooks`).
//!
//! ```text
//! types ─► resolve ─► layouts ─► signature ─► described ─► classes ─► capture
//!                                             record ─► calls ──────────┘
//! ```

mod calls;
pub(crate) mod capture;
pub(crate) mod classes;
pub(crate) mod described;
mod layouts;
mod record;
mod resolve;
mod signature;
mod types;
