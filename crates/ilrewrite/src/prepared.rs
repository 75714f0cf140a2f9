//! Probes that are ready for many bodies: their calls were checked, and have request numbers.

use crate::{
    batch::Requests,
    probe::{Call, Probe},
};

/// A call with the number of its request, which is the same in each batch of a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Requested<'m> {
    pub(crate) call: &'m Call,
    pub(crate) request: u32,
}

/// A probe, and the types of the return values that locals keep.
#[derive(Debug)]
pub(crate) struct PreparedProbe<'m> {
    pub(crate) calls: Probe<Requested<'m>>,
    pub(crate) enter_result: Option<&'m [u8]>,
    /// One entry for each site probe.
    pub(crate) site_results: Vec<Option<&'m [u8]>>,
    /// The largest number of stack slots that a site's call adds.
    pub(crate) site_depth: usize,
}

impl<'m> PreparedProbe<'m> {
    /// Checks a probe, and asks for the tokens of its calls.
    ///
    /// # Errors
    /// If its calls do not fit: see [`Probe::validate`].
    pub(crate) fn new(probe: &'m Probe, requests: &mut Requests) -> Result<Self, ecma335::Error> {
        probe.validate()?;
        let site_results = probe.sites.iter().map(|site| site.before.result_type()).collect::<Result<_, _>>()?;
        let calls = probe.map(&mut |call| Requested { call, request: requests.ask(&call.request()) });
        Ok(Self { calls, enter_result: probe.enter_result()?, site_results, site_depth: probe.site_depth() })
    }
}
