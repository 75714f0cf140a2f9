//! Writes the initial corpora of `cargo fuzz`, a folder for each target. Inputs are the samples' files, and the small files of
//! other folders.
//!
//! ```text
//! cargo run -p fuzz-harness --example fuzz_corpus -- fuzz/corpus FOLDER /usr/lib/mono/4.5
//! ```

use std::{env, error::Error, fs, path::PathBuf};

use fuzz_harness::{Target, seeds::seeds};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let corpus = arguments.next().ok_or("a folder to write to, and others with assemblies")?;
    let folders: Vec<PathBuf> = arguments.collect();
    for (target, name, _) in Target::ALL {
        let folder = corpus.join(name);
        fs::create_dir_all(&folder)?;
        let seeds = seeds(target, &folders);
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(number.to_string()), &seed.bytes)?;
        }
        println!("{name}: {} seeds", seeds.len());
    }
    Ok(())
}
