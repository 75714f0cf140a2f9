//! weave.
