//! Captured calls as text and as JSON, and conditions that select them.

mod condition;
mod known;
mod literals;
mod text;

pub use self::{
    condition::Condition,
    text::{CallText, line},
};
