//! Weaving of damaged files, and the names that woven methods have.

mod hostile;
mod names;
