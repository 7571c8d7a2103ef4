//! The module tree of a crate, found by following its `mod` lines.

use crate::crates::Crate;
use crate::files::{File, under};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the files of a crate that are not compiled, because no `mod` line leads to them.
pub fn unreached(member: &Crate) -> Vec<String> {
    let found = under(&member.folder, &["rs"]);
    let texts: BTreeMap<&str, &str> = found
        .iter()
        .map(|File { path, text }| (path.as_str(), text.as_str()))
        .collect();
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = texts
        .keys()
        .copied()
        .filter(|path| is_root(below(path, &member.folder)))
        .collect();
    while let Some(path) = waiting.pop() {
        if reached.insert(path) {
            let wanted = children(path, texts[path], is_root(below(path, &member.folder)));
            waiting.extend(
                wanted
                    .iter()
                    .filter_map(|child| texts.get_key_value(child.as_str()))
                    .map(|(path, _)| *path),
            );
        }
    }
    texts
        .keys()
        .filter(|path| !reached.contains(*path))
        .map(|path| format!("{path} is named by no `mod`"))
        .collect()
}

fn below<'p>(path: &'p str, folder: &str) -> &'p str {
    path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/')
}

/// Returns whether Cargo compiles this file as the root of a crate.
fn is_root(path: &str) -> bool {
    matches!(
        path.split('/').collect::<Vec<_>>()[..],
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// Returns the paths where the modules that a file declares may be.
fn children(path: &str, text: &str, is_root: bool) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let own = match name.strip_suffix(".rs") {
        Some(stem) if !is_root && stem != "mod" => format!("{folder}/{stem}"),
        _ => folder.to_string(),
    };
    let mut found = Vec::new();
    let mut elsewhere = None;
    for line in text.lines().map(str::trim) {
        if let Some(quoted) = line.strip_prefix("#[path = \"") {
            elsewhere = quoted.split('"').next();
        } else if let Some(module) = module_named(line) {
            match elsewhere.take() {
                Some(file) => found.push(format!("{folder}/{file}")),
                None => found.extend([format!("{own}/{module}.rs"), format!("{own}/{module}/mod.rs")]),
            }
        }
    }
    found
}

/// Returns the `name` in a line `mod name;` with any visibility.
fn module_named(line: &str) -> Option<&str> {
    let line = line.strip_suffix(';')?;
    let (before, name) = line.rsplit_once("mod ")?;
    let plain = name
        .chars()
        .all(|letter| letter.is_alphanumeric() || letter == '_');
    let visibility = before.trim();
    (plain && (visibility.is_empty() || visibility.starts_with("pub"))).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{children, is_root, module_named};

    #[test]
    fn module_declarations_are_recognised() {
        assert_eq!(module_named("mod ops;"), Some("ops"));
        assert_eq!(module_named("pub(crate) mod ops;"), Some("ops"));
        assert_eq!(module_named("// the mod ops;"), None);
        assert_eq!(module_named("mod ops {"), None);
    }

    #[test]
    fn modules_are_files_or_folders_beside_their_parent() {
        assert_eq!(
            children("a/src/lib.rs", "mod b;", true),
            ["a/src/b.rs", "a/src/b/mod.rs"]
        );
        assert_eq!(
            children("a/src/b.rs", "mod c;", false),
            ["a/src/b/c.rs", "a/src/b/c/mod.rs"]
        );
        assert_eq!(
            children("a/src/b/mod.rs", "mod c;", false),
            ["a/src/b/c.rs", "a/src/b/c/mod.rs"]
        );
        assert_eq!(
            children("a/src/b.rs", "#[path = \"d.rs\"]\nmod c;", false),
            ["a/src/d.rs"]
        );
    }

    #[test]
    fn roots_are_libraries_binaries_and_tests() {
        assert!(is_root("src/lib.rs") && is_root("tests/one.rs") && is_root("tests/many/main.rs"));
        assert!(!is_root("src/one.rs") && !is_root("tests/many/part.rs"));
    }
}
