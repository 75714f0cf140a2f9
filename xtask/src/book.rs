//! `cargo xtask book`: builds docs/ as a book. Pages keep their places in the repository, so that links between them work both in
//! the book and on GitHub. Then all links of the book's pages are checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    common::{only, quiet, root, target},
    toolchain::linters::MDBOOK,
};

const FOLDER: &str = "docs";
const SUMMARY: &str = "SUMMARY.md";
const CONFIGURATION: &str = "book.toml";
const INDEX: &str = "index.html";
/// Pages that mdBook adds: all pages as one, their list for browsers without scripts, and a page for servers.
const NOT_OURS: [&str; 3] = ["print.html", "toc.html", "404.html"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    only(arguments, &[])?;
    println!("{}", build(&MDBOOK.get()?)?.join(INDEX).display());
    Ok(())
}

/// Builds the book and checks its links; returns its folder.
pub(crate) fn build(mdbook: &Path) -> Result<PathBuf> {
    let folder = target().join("book");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let source = folder.join("src");
    fs::create_dir_all(&source)?;
    fs::copy(root().join(FOLDER).join(CONFIGURATION), folder.join(CONFIGURATION))?;
    lay_out(&source)?;
    quiet(Command::new(mdbook).args(["build", "--dest-dir", "html"]).arg(&folder).current_dir(&folder))?;
    let html = folder.join("html");
    let dead = dead_links(&html)?;
    if !dead.is_empty() {
        bail!("the book has dead links:\n{}", dead.join("\n"));
    }
    Ok(html)
}

/// Copies the summary, the pages that it lists, and the files that these link to. Each file keeps its place in the repository.
fn lay_out(source: &Path) -> Result<()> {
    let summary = fs::read_to_string(root().join(FOLDER).join(SUMMARY))?;
    let mut rebased = summary.clone();
    let mut files = BTreeSet::new();
    for link in markdown_links(&summary) {
        let page = normal(&Path::new(FOLDER).join(link));
        rebased = rebased.replace(&format!("]({link})"), &format!("]({})", page.display()));
        let text = fs::read_to_string(root().join(&page)).with_context(|| format!("{SUMMARY} lists {link}"))?;
        let beside = page.parent().unwrap_or(Path::new(""));
        let linked = markdown_links(&text).map(|link| normal(&beside.join(link.split('#').next().unwrap_or_default())));
        // A link to a page outside the book is a dead link.
        files.extend(linked.filter(|file| file.extension().is_some_and(|it| it != "md") && root().join(file).is_file()));
        files.insert(page);
    }
    fs::write(source.join(SUMMARY), rebased)?;
    for file in files {
        let copy = source.join(&file);
        fs::create_dir_all(copy.parent().context("a file is in a folder")?)?;
        fs::copy(root().join(&file), copy)?;
    }
    Ok(())
}

/// Returns the targets of links in Markdown.
fn markdown_links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
}

/// Returns a path without `..`; a path that leads out of the repository stays outside.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir if normal.file_name().is_some() => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// Returns the links of the book's pages without a target: a missing file, or a missing anchor on the page.
fn dead_links(html: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    read_pages(html, &mut pages)?;
    pages.retain(|page, _| !NOT_OURS.iter().any(|name| page.ends_with(name)));
    let mut dead = Vec::new();
    for (page, text) in &pages {
        let name = page.strip_prefix(html)?.display();
        for link in ["href", "src"].into_iter().flat_map(|name| attributes(text, name)) {
            if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
                continue;
            }
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { page.clone() } else { normal(&page.with_file_name("").join(file)) };
            let is_there = match pages.get(&to) {
                Some(text) => place.is_empty() || attributes(text, "id").any(|id| id == place),
                None => to.is_file() || to.join(INDEX).is_file(),
            };
            if !is_there {
                dead.push(format!("{name}: {link}"));
            }
        }
    }
    dead.dedup();
    Ok(dead)
}

fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let text = fs::read_to_string(&path)?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

/// Returns the values of an attribute within tags. A tag's text in a code block, whose `<` is escaped, is none.
fn attributes<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let start = format!(" {name}=\"");
    let is_in_tag = |at: usize| text[..at].rfind(['<', '>']).is_some_and(|mark| text[mark..].starts_with('<'));
    text.match_indices(&start)
        .filter(|(at, _)| is_in_tag(*at))
        .map(|(at, start)| &text[at + start.len()..])
        .filter_map(|rest| rest.split_once('"').map(|(value, _)| value))
        .collect::<Vec<_>>()
        .into_iter()
}
