//! Work of the profiler's threads on trees: they measure the overhead of hooks, and copy the values of other threads' trees.

pub(crate) mod calibration;
pub(crate) mod phases;
