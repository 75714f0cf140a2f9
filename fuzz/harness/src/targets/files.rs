//! Targets that write files: with any bytes, a failed run leaves no files, and a run changes no files but its own.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use instrument::{Destination, Options, Request};

use super::{Outcome, weaving::options_of};

/// The contents of a folder's files.
type Content = BTreeMap<PathBuf, Vec<u8>>;

/// Instruments a file to another, or in place; the latter is then restored.
pub(super) fn assembly(bytes: &[u8], variant: u64) -> Result<Outcome, String> {
    let folder = folder()?;
    let input = folder.join("input.dll");
    fs::write(&input, bytes).map_err(in_words)?;
    let before = content(&folder).map_err(in_words)?;
    let is_in_place = variant & 8 != 0;
    let destination = if is_in_place { Destination::InPlace } else { Destination::Path(folder.join("output.dll")) };
    let request = Request { inputs: vec![input.clone()], destination, pdb: None, copies: None, dry_run: false };
    let options = Options { weave: options_of(variant), ..Options::default() };
    let run = request.jobs().and_then(|jobs| instrument::run(&request, &jobs, &options, &|_| {}));
    let Ok(run) = run else {
        return if content(&folder).map_err(in_words)? == before {
            Ok(Outcome::Refused)
        } else {
            Err("a failed run left something".into())
        };
    };
    let report = run.commit().map_err(|failure| failure.to_string())?;
    if fs::read(&input).map_err(in_words)? != bytes && !is_in_place {
        return Err("the input is another".into());
    }
    if is_in_place {
        let restored = instrument::restore(&folder);
        restored.map(drop).or_else(|failure| if report.written.is_empty() { Ok(()) } else { Err(failure.to_string()) })?;
        let after = content(&folder).map_err(in_words)?;
        if after != before {
            return Err(format!("what was put back is not what it was: {:?}", after.keys()));
        }
    }
    Ok(if report.written.is_empty() { Outcome::LeftAlone } else { Outcome::Accepted })
}

/// Restores originals by a list; no file outside of the list's folder may change.
pub(super) fn originals(list: &[u8]) -> Result<Outcome, String> {
    let folder = folder()?;
    let (woven, kept) = (folder.join("woven"), folder.join("woven/.ilinst-originals"));
    fs::create_dir_all(&kept).map_err(in_words)?;
    for (path, content) in [
        (folder.join("other.dll"), "other"),
        (woven.join("kept.dll"), "woven"),
        (woven.join("made.dll"), "0"),
        (kept.join("kept.dll"), "original"),
    ] {
        fs::write(path, content).map_err(in_words)?;
    }
    fs::write(kept.join("originals.json"), list).map_err(in_words)?;
    let restored = instrument::restore(&woven);
    let other = fs::read(folder.join("other.dll")).map_err(in_words)?;
    let left: Vec<PathBuf> = content(&folder).map_err(in_words)?.into_keys().filter(|path| !path.starts_with(&woven)).collect();
    if other != b"other" || left.len() != 1 {
        return Err(format!("files elsewhere were touched: {left:?}"));
    }
    let original = [woven.join("kept.dll"), kept.join("kept.dll")]
        .iter()
        .any(|path| fs::read(path).is_ok_and(|content| content == b"original"));
    if !original {
        return Err("the original is gone".into());
    }
    Ok(match restored {
        Err(_) => Outcome::Refused,
        Ok(restored) if restored.put_back + restored.removed == 0 => Outcome::LeftAlone,
        Ok(_) => Outcome::Accepted,
    })
}

/// Returns an empty folder of this process.
fn folder() -> Result<PathBuf, String> {
    let folder = env::temp_dir().join(format!("ilinst-fuzz-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(in_words)?;
    Ok(folder)
}

fn content(folder: &Path) -> io::Result<Content> {
    let mut found = Content::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(content(&path)?);
        } else {
            found.insert(path.clone(), fs::read(&path)?);
        }
    }
    Ok(found)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn in_words(error: io::Error) -> String {
    error.to_string()
}
