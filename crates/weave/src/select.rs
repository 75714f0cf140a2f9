//! The selection of methods, each with its options: the options, their rules, and the reasons for skipping a method.

pub(crate) mod facts;
pub(crate) mod forwarders;
pub mod matches;
pub mod method_names;
pub(crate) mod method_options;
pub mod option_table;
pub mod options;
pub(crate) mod policy;
pub(crate) mod reason;
pub(crate) mod rules;
