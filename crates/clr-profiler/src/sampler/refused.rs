//! No sampler: other systems than Linux have no signals by timers of a thread's CPU time.

use live::Sampling;

use crate::{
    abi::runtime::{Id, Runtime},
    worlds::{InCallback, MayWait, OnOwnThread},
};

pub(crate) const EVENTS: (u32, u32) = (0, 0);

pub(crate) fn start(_: impl MayWait, _runtime: Runtime, _sampling: Sampling, _max_nodes: u32) -> Result<(), String> {
    Err("--sample needs Linux: use `ilinst run --live`, or dotnet-trace, which samples on all systems".to_owned())
}

pub(crate) fn add_compiled(_: OnOwnThread, _runtime: Runtime) {}

pub(crate) fn leave_out_cpu_so_far(_: OnOwnThread) {}

pub(crate) fn compiled(_: InCallback, _function: Id, _is_dynamic: bool) {}

pub(crate) fn thread_began(_: InCallback) {}

pub(crate) fn forget(_: InCallback, _module: Id) {}

pub(crate) fn run(_: OnOwnThread, _is_over: impl Fn() -> bool) {}

pub(crate) fn stop(_: impl MayWait) {}
