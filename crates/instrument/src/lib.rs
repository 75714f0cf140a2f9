//! Instruments assemblies, or every assembly of a folder. Writes them with the files that go beside: manifest, PDB, companions,
//! tracker.
//!
//! ```text
//! Request -> jobs -> run -> Run (under temporary names) -> commit -> Report
//! ```
//!
//! Every output gets its name, or none does. Nothing is printed: a [`FileReport`] has the result of each file. A numbered
//! [`Failure`] ends a run.
//!
//! ```no_run
//! use instrument::{Destination, Options, Request};
//!
//! let request = Request {
//!     inputs: vec!["app.dll".into()],
//!     destination: Destination::Path("woven/".into()),
//!     pdb: None,
//!     copies: None,
//!     dry_run: false,
//! };
//! let jobs = request.jobs()?;
//! let report = instrument::run(&request, &jobs, &Options::default(), &|_| {})?.commit()?;
//! # Ok::<(), instrument::Failure>(())
//! ```

pub mod browser;
mod bundle;
mod bundled;
mod companions;
mod context;
mod deploy;
pub mod deps_json;
pub mod failure;
mod file;
mod file_identity;
mod folder;
mod hook_assembly;
mod input;
mod job;
mod manifest;
mod options;
mod originals;
mod outputs;
mod paths;
mod patterns;
mod pdb;
mod pdb_names;
mod references;
mod report;
mod request;
mod run;
mod staging;
mod tracker;

pub use bundle::NativeProgram;
pub use bundled::{BundledFile, bundled_files};
pub use failure::{Failure, Result};
pub use folder::{CACHE_TAG, CACHE_TAG_FILE, files_below, is_cache, is_link_out};
pub use hook_assembly::HookAssembly;
pub use input::{Input, not_an_assembly, read_assembly, read_small};
pub use job::Job;
pub use manifest::{MANIFEST_SUFFIX, manifest_path};
pub use options::Options;
pub use originals::{Restored, is_woven_in_place, restore};
pub use outputs::Outputs;
pub use paths::{is_same_file, without_links};
pub use patterns::nearest_names;
pub use pdb::Pdb;
pub use report::{COPIED_BESIDE, FileReport, LeftAlone, NAMES_NOTHING, Outcome, Report, TRACKER_NOT_FOUND, Unmatched};
pub use request::{Destination, Request};
pub use run::{LARGEST_KEY, Progress, Run, run};
pub use staging::abandon;
pub use tracker::{TOOL, TRACKER, TRACKER_FILE, WITH_FALLBACK, tracker_for, tracker_identity};
