//! The targets: each is a property of any bytes, with the mutators that know their format.

use fuzz_harness::{Fields, Random, Target, mutate, targets::variant_of};

#[doc(hidden)]
pub use libfuzzer_sys;

/// Has libFuzzer try a target.
#[macro_export]
macro_rules! target {
    ($target:expr) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::check($target, bytes));
        $crate::libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, max_size: usize, seed: u32| {
            $crate::change($target, bytes, size, max_size, seed)
        });
    };
}

/// Does with bytes what the target does.
///
/// # Panics
/// If something does not hold.
pub fn check(target: Target, bytes: &[u8]) {
    if let Err(what) = target.check(bytes, variant_of(bytes), None) {
        panic!("{what}");
    }
}

/// Changes bytes by what they mean, and every third time as libFuzzer does.
pub fn change(target: Target, bytes: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    if seed.is_multiple_of(3) {
        return libfuzzer_sys::fuzzer_mutate(bytes, size, max_size);
    }
    let fields = Fields::of(&bytes[..size], target.format());
    let changed = mutate(&bytes[..size], &fields, &mut Random::new(seed.into()));
    let length = changed.len().min(max_size);
    bytes[..length].copy_from_slice(&changed[..length]);
    length
}
