//! Creates large profiles and measures reading them.
//!
//! - `large_profiles write FOLDER FILES BYTES` writes files that share a part of their paths.
//! - `large_profiles read NODES` prints the time and memory of reading a profile of so many call paths, with and without
//!   histograms.
//! - `large_profiles deep FILE NODES SIBLINGS` writes a profile of methods that each call the next, with siblings beside it.

#[path = "../tests/large/mod.rs"]
mod large;

use std::{env, fs, hint::black_box, path::Path, time::Instant};

use large::{Paths, Shape};
use profile::Profile;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<u64>().ok()).expect("a number");
    match arguments.first().map(String::as_str) {
        Some("write") => write(Path::new(&arguments[1]), number(2), number(3)),
        Some("read") => read(number(1)),
        Some("deep") => {
            let paths = Paths::Deep { siblings: number(3) };
            let shape = Shape { nodes: number(2), statistics: false, seed: 1, paths };
            fs::write(&arguments[1], large::build(shape)).expect("it can be written");
        }
        _ => eprintln!("large_profiles write FOLDER FILES BYTES | read NODES | deep FILE NODES SIBLINGS"),
    }
}

fn write(folder: &Path, files: u64, bytes: u64) {
    // A path takes 128 bytes and its histogram 512; names and headers come on top.
    let nodes = bytes.saturating_sub(500 << 10) / 640;
    for seed in 0..files {
        let folder = folder.join(format!("{:03}", seed / 1000));
        fs::create_dir_all(&folder).expect("a folder can be made");
        let shape = Shape { nodes, statistics: true, seed, paths: Paths::OneOfMany };
        fs::write(folder.join(format!("shop-{seed}.ilprof")), large::build(shape)).expect("it can be written");
    }
}

fn read(nodes: u64) {
    let only = env::args().nth(3);
    for statistics in [false, true].into_iter().filter(|s| only.as_deref().is_none_or(|only| (only == "histograms") == *s)) {
        let bytes = large::build(Shape { nodes, statistics, seed: 1, paths: Paths::Any });
        let times = (0..5).map(|_| {
            let start = Instant::now();
            let profile = black_box(Profile::parse(black_box(&bytes))).expect("it is a profile");
            let time = start.elapsed();
            assert_eq!(profile.trees.iter().map(|tree| tree.nodes.len() as u64).sum::<u64>(), nodes);
            time
        });
        let least = times.min().expect("there are some");
        println!("{nodes} paths, histograms: {statistics}, {} MB: {least:.3?}", bytes.len() / 1_000_000);
    }
}
