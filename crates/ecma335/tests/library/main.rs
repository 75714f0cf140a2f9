//! Reading images and metadata, and writing them with additions.

mod append;
mod container;
mod padding;
mod thresholds;
