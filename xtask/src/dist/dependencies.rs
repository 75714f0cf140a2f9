//! The components of a tool: crates, from cargo's metadata, and components that the linker adds.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::build::Platform;
use crate::common::{root, show};

/// A linked component that is no crate.
struct Linked {
    name: &'static str,
    licence: &'static str,
    /// The files of its licence texts, in Debian.
    terms: &'static [&'static str],
}

/// Has the licences of most crates, so its texts are already in the list.
const LIBRARY: Linked = Linked { name: "Rust's standard library", licence: "MIT OR Apache-2.0", terms: &[] };
const FOR_LINUX: Linked = Linked {
    name: "GNU C Library",
    licence: "LGPL-2.1-or-later",
    terms: &["/usr/share/doc/libc6/copyright", "/usr/share/common-licenses/LGPL-2.1"],
};
const FOR_WINDOWS: Linked =
    Linked { name: "mingw-w64 runtime", licence: "ZPL-2.1", terms: &["/usr/share/doc/mingw-w64-x86-64-dev/copyright"] };
/// The names of files with licence texts.
const TERMS: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// The components of a tool for a platform.
pub(super) struct Dependencies {
    crates: BTreeMap<String, Crate>,
    linked: Vec<Linked>,
}

/// A crate, of this project or another.
struct Crate {
    name: String,
    version: String,
    licence: String,
    repository: String,
    /// `None` for this project's crates.
    checksum: Option<String>,
    /// The licence texts; empty for this project's crates, whose licence is the tool's.
    terms: Vec<String>,
    /// The crates that it depends on, as keys of the same map.
    needs: BTreeSet<String>,
}

impl Dependencies {
    pub(super) fn resolve(platform: &Platform) -> Result<Self> {
        let metadata = cargo(&["metadata", "--format-version", "1", "--filter-platform", platform.triple])?;
        // The metadata includes features that any crate of the workspace asks for; this tree has only the tool's.
        let tree = cargo(&["tree", "--package", "ilinst", "--edges", "normal", "--prefix", "none", "--target", platform.triple])?;
        let is_linked = |package: &Value| {
            let line = format!("{} v{}", text(&package["name"]), text(&package["version"]));
            tree.lines().any(|each| each.strip_prefix(&line).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
        };
        let metadata: Value = serde_json::from_str(&metadata)?;
        let checksums = checksums(&fs::read_to_string(root().join("Cargo.lock"))?);
        let by_id = |list: &Value| -> BTreeMap<String, Value> {
            let entries = list.as_array().into_iter().flatten();
            entries.map(|entry| (text(&entry["id"]), entry.clone())).collect()
        };
        let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
        let tool = packages.iter().find(|(_, package)| package["name"] == "ilinst").context("there is no ilinst")?.0;
        let (mut crates, mut left) = (BTreeMap::new(), vec![tool.clone()]);
        while let Some(id) = left.pop() {
            let package = packages.get(&id).with_context(|| id.clone())?;
            let needs = nodes[&id]["deps"].as_array().into_iter().flatten().filter(|need| is_for_use(need));
            let needs: Vec<String> =
                needs.map(|need| text(&need["pkg"])).filter(|need| packages.get(need).is_some_and(is_linked)).collect();
            let keys = needs.iter().map(|need| purl(&packages[need])).collect();
            if crates.insert(purl(package), Crate::read(package, &checksums, keys)?).is_none() {
                left.extend(needs);
            }
        }
        let linked = match platform.dotnet.split('-').next() {
            Some("linux") => vec![LIBRARY, FOR_LINUX],
            Some("win") => vec![LIBRARY, FOR_WINDOWS],
            _ => vec![LIBRARY],
        };
        Ok(Self { crates, linked })
    }

    /// Returns the licences of third-party components: a list, and each text once.
    pub(super) fn terms(&self) -> Result<String> {
        let mut out = String::from("ilinst contains:\n\n");
        let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for Linked { name, licence, terms } in &self.linked {
            out += &format!("{name}: {licence}\n");
            for path in *terms {
                texts.entry(fs::read_to_string(path).with_context(|| (*path).to_owned())?).or_default().push(name);
            }
        }
        for each in self.crates.values().filter(|each| each.checksum.is_some()) {
            out += &format!("{} {}: {} ({})\n", each.name, each.version, each.licence, each.repository);
            for text in &each.terms {
                texts.entry(text.clone()).or_default().push(&each.name);
            }
        }
        for (text, names) in texts {
            out += &format!("\n{}\n{}:\n\n{}\n", "-".repeat(80), names.join(", "), text.trim_matches('\n'));
        }
        Ok(out)
    }

    /// Returns the bill of materials in CycloneDX 1.5.
    pub(super) fn bill_of_materials(&self) -> Result<String> {
        let component = |(purl, each): (&String, &Crate)| {
            let mut component = json!({
                "type": if each.name == "ilinst" { "application" } else { "library" },
                "bom-ref": purl,
                "name": each.name,
                "version": each.version,
                "licenses": [{ "expression": each.licence }],
                "purl": purl,
            });
            if let Some(checksum) = &each.checksum {
                component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
            }
            component
        };
        let (tool, others): (Vec<_>, Vec<_>) = self.crates.iter().partition(|(_, each)| each.name == "ilinst");
        let linked = self
            .linked
            .iter()
            .map(|linked| json!({ "type": "library", "name": linked.name, "licenses": [{ "expression": linked.licence }] }));
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": { "component": tool.into_iter().map(component).next() },
            "components": others.into_iter().map(component).chain(linked).collect::<Vec<_>>(),
            "dependencies": self.crates.iter().map(|(purl, each)| json!({ "ref": purl, "dependsOn": each.needs })).collect::<Vec<_>>(),
        });
        Ok(serde_json::to_string_pretty(&bill)? + "\n")
    }
}

impl Crate {
    fn read(package: &Value, checksums: &BTreeMap<String, String>, needs: BTreeSet<String>) -> Result<Self> {
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let is_ours = package["source"].is_null();
        let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().context("no folder")?;
        let checksum = checksums.get(&purl(package)).cloned();
        if !is_ours && checksum.is_none() {
            bail!("{name} {version} has no checksum in Cargo.lock");
        }
        let licence = package["license"].as_str().with_context(|| format!("{name} says no licence"))?;
        Ok(Self {
            // Old crates separate licences by a slash.
            licence: licence.replace('/', " OR "),
            repository: text(&package["repository"]),
            terms: if is_ours { Vec::new() } else { terms_in(folder)? },
            name,
            version,
            checksum,
            needs,
        })
    }
}

/// Returns the checksums of a Cargo.lock, whose entries have a line for each value.
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let entries = lock.split("[[package]]").filter_map(|entry| {
        let value = |name: &str| entry.lines().find_map(|line| Some(line.strip_prefix(name)?.trim_matches('"').to_owned()));
        let (name, version) = (value("name = ")?, value("version = ")?);
        Some((format!("pkg:cargo/{name}@{version}"), value("checksum = ")?))
    });
    entries.collect()
}

/// Returns the licence texts in a folder.
fn terms_in(folder: &Path) -> Result<Vec<String>> {
    let mut paths: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        TERMS.iter().any(|known| name.starts_with(known))
    });
    paths.sort();
    paths.iter().map(|path| Ok(String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n"))).collect()
}

/// Returns the output of cargo.
fn cargo(arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(env!("CARGO"));
    let output = command.args(arguments).arg("--locked").current_dir(root()).output()?;
    if !output.status.success() {
        bail!("{} failed\n{}", show(&command), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns whether a dependency is linked, and not only used by tests or build scripts.
fn is_for_use(need: &Value) -> bool {
    need["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
}

fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
