//! ilinst.
fn main() {}
