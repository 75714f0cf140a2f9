//! What threads of the profiler do with trees: they measure the overhead of hooks, and copy the values of other threads' trees.

pub(crate) mod calibration;
pub(crate) mod phases;
