//! The table of contents, the links and the pictures of the book.

use bnnc_tests::book::{Page, pages};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The languages that fenced blocks may have. Programs (`bnn`) and shell commands (`sh`) are
/// executed. Other blocks contain output, excerpts of bnnc's own code, or programs for other
/// systems.
const LANGUAGES: &[&str] = &["bnn", "sh", "text", "json", "python", "rust", "stan", "r"];

fn source() -> PathBuf {
    bnnc_tests::root().join("docs/src")
}

fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// Returns the links of a page. Each link is a line number and a target.
fn links(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, text) in page.prose() {
        let text = without_code(text);
        for (at, _) in text.match_indices("](") {
            let rest = &text[at + 2..];
            if let Some(end) = rest.find(')') {
                found.push((line, rest[..end].to_owned()));
            }
        }
    }
    found
}

/// Returns a line without its inline code. Brackets in inline code are not links.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<&str>>().join("`")
}

/// Returns the anchors that mdBook generates from the headings of a page.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (_, line) in page.prose() {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
            .map(|letter| if letter == ' ' { '-' } else { letter })
            .collect();
        let count = counts.entry(slug.clone()).or_default();
        let anchor = match *count {
            0 => slug,
            count => format!("{slug}-{count}"),
        };
        *count += 1;
        found.insert(anchor);
    }
    found
}

/// Removes `..` from a path: returns `a/c` for `a/b/../c`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn every_page_is_in_the_summary_once() {
    let pages = pages(&bnnc_tests::root());
    let summary = pages
        .iter()
        .find(|page| page.path == "SUMMARY.md")
        .expect("a summary");
    let listed: Vec<String> = links(summary).into_iter().map(|(_, target)| target).collect();
    let set: BTreeSet<&str> = listed.iter().map(String::as_str).collect();
    assert_eq!(set.len(), listed.len(), "a page is listed twice");
    let written: BTreeSet<&str> = pages
        .iter()
        .map(|page| page.path.as_str())
        .filter(|path| *path != "SUMMARY.md")
        .collect();
    assert_eq!(set, written, "the summary, and the files of the book");
    let recipes = listed.iter().filter(|path| path.starts_with("recipes/"));
    assert!(recipes.count() >= 30, "at least 30 recipes");
}

#[test]
fn every_link_leads_to_a_page_a_heading_or_a_file() {
    let pages = pages(&bnnc_tests::root());
    let known: BTreeMap<PathBuf, BTreeSet<String>> = pages
        .iter()
        .map(|page| (PathBuf::from(&page.path), anchors(page)))
        .collect();
    let mut faults = Vec::new();
    let mut count = 0;
    for page in &pages {
        for (line, target) in links(page) {
            if target.starts_with("https://") {
                continue;
            }
            count += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(&page.path).parent().unwrap_or(Path::new(""));
            let path = if path.is_empty() {
                PathBuf::from(&page.path)
            } else {
                plain(&folder.join(path))
            };
            let is_there = match known.get(&path) {
                Some(anchors) => anchor.is_empty() || anchors.contains(anchor),
                None => source().join(&path).exists(),
            };
            if !is_there {
                faults.push(format!("docs/src/{}:{line}: `{target}` leads nowhere", page.path));
            }
        }
    }
    none(&faults);
    assert!(count > 100, "only {count} links");
}

#[test]
fn every_page_has_one_title_and_blocks_of_known_languages() {
    let mut faults = Vec::new();
    for page in pages(&bnnc_tests::root()) {
        let titles = page
            .prose()
            .iter()
            .filter(|(_, line)| line.starts_with("# "))
            .count();
        if titles != 1 && page.path != "SUMMARY.md" {
            faults.push(format!("docs/src/{}: {titles} titles", page.path));
        }
        if page.text.lines().filter(|line| line.starts_with("```")).count() % 2 == 1 {
            faults.push(format!("docs/src/{}: a block has no end", page.path));
        }
        for block in page.blocks() {
            if !LANGUAGES.contains(&block.language.as_str()) {
                faults.push(format!(
                    "docs/src/{}:{}: language `{}`",
                    page.path, block.line, block.language
                ));
            }
        }
    }
    none(&faults);
}

/// The folders of the workspace to whose files the book refers.
const FOLDERS: &[&str] = &[
    "compiler/",
    "docs/",
    "examples/",
    "fuzz/",
    "grammar/",
    "runtime/",
    "stdlib/",
    "tests/",
];

#[test]
fn files_that_the_internals_and_results_name_exist() {
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages(&bnnc_tests::root()) {
        if !page.path.starts_with("internals/") && !page.path.starts_with("results/") {
            continue;
        }
        for (line, text) in page.prose() {
            for code in text.split('`').skip(1).step_by(2) {
                let path = code.split_whitespace().next().unwrap_or_default();
                // In such a path, `NAME` stands for a name that the reader chooses.
                if !FOLDERS.iter().any(|folder| path.starts_with(folder)) || path.contains("NAME") {
                    continue;
                }
                count += 1;
                if !bnnc_tests::root().join(path).exists() {
                    faults.push(format!("docs/src/{}:{line}: there is no `{path}`", page.path));
                }
            }
        }
    }
    none(&faults);
    assert!(count > 80, "only {count} files");
}

#[test]
fn the_book_is_configured() {
    let book = std::fs::read_to_string(bnnc_tests::root().join("docs/book.toml")).expect("a configuration");
    assert!(book.contains("[book]") && book.contains("title = ") && book.contains("src = \"src\""));
}

#[test]
fn the_readmes_lead_into_the_book() {
    for name in ["README.md", "stdlib/README.md", "examples/README.md"] {
        let path = bnnc_tests::root().join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let page = Page {
            path: name.to_owned(),
            text,
        };
        let folder = path.parent().expect("a folder");
        let mut leads = false;
        for (line, target) in links(&page) {
            let (target, _) = target.split_once('#').unwrap_or((&target, ""));
            if !target.starts_with("https://") {
                assert!(
                    folder.join(target).exists(),
                    "{name}:{line}: `{target}` leads nowhere"
                );
                leads |= target.contains("docs/src/");
            }
        }
        assert!(leads, "{name} has a link into the book");
    }
}
