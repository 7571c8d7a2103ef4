//! Imports among the modules of a crate, and the table of modules that says which are allowed.

use crate::files;
use std::collections::BTreeMap;

/// An import, with module paths below the root of the crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The file, relative to the root of the workspace.
    pub file: String,
    /// Its module.
    pub from: Vec<String>,
    /// The path that it names: a module, or something in one.
    pub to: Vec<String>,
}

/// Every path of the sources in a folder that begins with `crate` or `super`.
pub fn imports(folder: &str) -> Vec<Import> {
    let of_file = |file: files::File| {
        let code: Vec<&str> = file
            .text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .collect();
        let from = module(file.path.strip_prefix(folder).unwrap_or(&file.path));
        let paths = paths(&code.join("\n"));
        paths
            .into_iter()
            .filter_map(|path| absolute(&from, path))
            .map(|to| Import {
                file: file.path.clone(),
                from: from.clone(),
                to,
            })
            .collect::<Vec<Import>>()
    };
    files::under(folder, &["rs"])
        .into_iter()
        .flat_map(of_file)
        .collect()
}

/// The module of a file: `a::b` of `/a/b.rs` and of `/a/b/mod.rs`, the root of `/lib.rs`.
fn module(path: &str) -> Vec<String> {
    let stem = path.trim_start_matches('/').trim_end_matches(".rs");
    let parts = stem.split('/').map(str::to_owned);
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// A path below the root of the crate; none where it leads above the root.
fn absolute(from: &[String], path: Vec<String>) -> Option<Vec<String>> {
    let above = path.iter().take_while(|part| *part == "super").count();
    if above == 0 {
        return Some(path[1..].to_vec());
    }
    let kept = from.len().checked_sub(above)?;
    Some([&from[..kept], &path[above..]].concat())
}

/// The paths of a text that begin with `crate` or `super`, those of a group each by itself.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = [rest.find("crate::"), rest.find("super::")]
        .into_iter()
        .flatten()
        .min()
    {
        let before = rest[..at].chars().next_back();
        let is_start = before.is_none_or(|letter| !letter.is_alphanumeric() && !"_$:".contains(letter));
        rest = match is_start {
            true => tree(&rest[at..], &[], &mut found),
            false => &rest[at + "crate::".len()..],
        };
    }
    found
}

/// Adds the paths of one tree of a `use` below a prefix. Returns what follows it.
fn tree<'t>(text: &'t str, prefix: &[&str], found: &mut Vec<Vec<String>>) -> &'t str {
    let mut rest = text.trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        rest = group;
        while !rest.trim_start().starts_with('}') {
            let after = tree(rest, prefix, found);
            let Some(end) = after.find([',', '}']) else {
                return after;
            };
            rest = after[end..].trim_start_matches(',');
        }
        return rest;
    }
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
    let path = [prefix, &[name]].concat();
    match after.strip_prefix("::") {
        Some(more) => tree(more, &path, found),
        None => {
            found.push(path.into_iter().map(str::to_owned).collect());
            after
        }
    }
}

/// Modules with the modules that they may import, from lowest to highest: the table of a text whose last column is `imports modules`.
pub fn layers(text: &str) -> BTreeMap<String, Vec<String>> {
    let lines = text
        .lines()
        .skip_while(|line| !line.ends_with("| imports modules |"));
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let names = cells.last()?.split(',').map(|name| name.trim().trim_matches('`'));
        let names = names.filter(|name| *name != "none").map(str::to_owned);
        Some((cells.first()?.trim_matches('`').to_owned(), names.collect()))
    };
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(row).collect()
}

/// Imports of modules that the table does not allow, and of one method by another.
pub fn forbidden(imports: &[Import], layers: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut faults = Vec::new();
    for Import { file, from, to } in imports {
        let (Some(own), Some(other)) = (from.first(), to.first()) else {
            continue;
        };
        if !layers.contains_key(other) {
            continue;
        }
        let is_other_method = own == "methods"
            && other == own
            && from
                .get(1)
                .zip(to.get(1))
                .is_some_and(|(own, other)| own != other);
        let allowed = match layers.get(own) {
            Some(below) => own == other || below.contains(other),
            None => false,
        };
        if !allowed || is_other_method {
            faults.push(format!("{file} may not import {}", to.join("::")));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::{Import, absolute, forbidden, layers, module, paths};

    fn path(text: &str) -> Vec<String> {
        text.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn groups_are_taken_apart() {
        let text = "use crate::{a, b::{c as d, e::F}};\nlet x = super::g::h(crate::i::J { k: $crate::l });";
        let found: Vec<String> = paths(text).iter().map(|path| path.join("::")).collect();
        assert_eq!(
            found,
            [
                "crate::a",
                "crate::b::c",
                "crate::b::e::F",
                "super::g::h",
                "crate::i::J"
            ]
        );
    }

    #[test]
    fn paths_begin_at_the_root() {
        assert_eq!(module("/a/b.rs"), ["a", "b"]);
        assert_eq!(module("/a/mod.rs"), ["a"]);
        assert_eq!(module("/lib.rs"), [""; 0]);
        let of = |text: &str| absolute(&path("a::b"), path(text));
        assert_eq!(of("super::c"), Some(path("a::c")));
        assert_eq!(of("super::super::c"), Some(path("c")));
        assert_eq!(of("crate::c::d"), Some(path("c::d")));
        assert_eq!(of("super::super::super::c"), None);
    }

    #[test]
    fn forbidden_imports_are_found() {
        let table = "| module | holds | imports modules |\n|---|---|---|\n| `core` | x | none |\n| `methods` | y | `core` |\n";
        let import = |from: &str, to: &str| Import {
            file: from.to_owned(),
            from: path(from),
            to: path(to),
        };
        let imports = [
            import("core::a", "methods::b"),
            import("methods::a", "core::b"),
            import("methods::a", "methods::a::c"),
            import("methods::a", "methods::b::c"),
            import("new", "core::b"),
            import("methods", "methods::b"),
        ];
        assert_eq!(
            forbidden(&imports, &layers(table)),
            [
                "core::a may not import methods::b",
                "methods::a may not import methods::b::c",
                "new may not import core::b",
            ]
        );
    }
}
