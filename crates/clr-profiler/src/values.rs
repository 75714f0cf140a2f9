//! The values of calls (`--capture` with `--hooks`).
//!
//! ```text
//! described ─► classes ─► capture
//! record ─► calls ──────────┘
//! ```

mod calls;
pub(crate) mod capture;
pub(crate) mod classes;
pub(crate) mod described;
mod record;
