//! ecma335.
