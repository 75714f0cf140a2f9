#![no_main]

ilinst_fuzz::target!(fuzz_harness::Target::Files);
