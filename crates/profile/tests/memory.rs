//! The peak memory of reading a profile.

#[allow(dead_code, reason = "others write it to files")]
mod large;

use large::{Paths, Shape};
use peak_alloc::PeakAlloc;
use profile::Profile;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

/// The peak includes the file itself: the model takes less than twice the file's size.
#[test]
fn reading_takes_less_than_three_times_the_file() {
    for statistics in [false, true] {
        let bytes = large::build(Shape { nodes: 100_000, statistics, seed: 1, paths: Paths::Any });
        let (size, before) = (bytes.len(), PEAK.current_usage());
        PEAK.reset_peak_usage();
        let profile = Profile::parse(&bytes).expect("it is a profile");
        let peak = PEAK.peak_usage() - before;
        assert_eq!(profile.damage, None);
        println!("{size} bytes, and {peak} beside");
        assert!(size + peak < 3 * size, "{size} bytes, and {peak} beside");
    }
}
