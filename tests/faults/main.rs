//! The files after a run that failed or was ended. All are as before or all are new, without any temporary files, unless the run
//! was killed.

#![cfg(unix)]

mod commands;
mod inject;
mod limits;
mod signals;
mod truncated;
