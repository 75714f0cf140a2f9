//! The types of values and their rules in the standard, as queries over a library of assemblies.

pub(crate) mod absent;
pub(crate) mod access;
pub(crate) mod assign;
pub(crate) mod constraints;
pub(crate) mod delegate;
pub(crate) mod hierarchy;
pub(crate) mod library;
pub(crate) mod members;
pub(crate) mod merge;
pub(crate) mod method_type;
pub(crate) mod parameters;
pub(crate) mod resolve;
pub(crate) mod slots;
pub(crate) mod store;
pub(crate) mod value_kind;
pub(crate) mod variance;
pub(crate) mod verdict;
