//! What is there after a run that failed or was ended: what was there before, or all of what it writes; and nothing else,
//! unless it was killed.

#![cfg(unix)]

mod commands;
mod inject;
mod limits;
mod signals;
mod truncated;
