//! Comparison of two sides of runs. Methods are matched by name and signature, so that two builds compare. A statistical test
//! tells changes from noise.

mod change;
mod comparison;
mod counted;
mod matching;
mod method;
mod tree;

pub use self::{
    change::{ALPHA, Change, Test},
    comparison::{CompareOptions, Comparison, LEAST_SHARE, numbers_of_program, unit_of_program},
    method::{MethodChange, Verdict},
    tree::PathChange,
};
pub use crate::metric::{Metric, MetricUnit};
