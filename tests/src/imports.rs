//! The imports between the modules of a crate.

use crate::files;
use std::collections::BTreeSet;

/// An import. The module paths of an import start at the root of the crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The path of the importing file, relative to the root of the workspace.
    pub file: String,
    /// The module of the importing file.
    pub from: Vec<String>,
    /// The imported path, which leads to a module or to an item of a module.
    pub to: Vec<String>,
}

/// Returns every path that begins with `crate` or `super` in the source files of a folder.
pub fn imports(folder: &str) -> Vec<Import> {
    let files = files::under(folder, &["rs"]);
    files
        .iter()
        .flat_map(|file| of_file(folder, &file.path, &file.text))
        .collect()
}

/// Returns every path that begins with `crate` or `super` in `text`, which is a part of the file
/// `path`. `folder` contains the sources of the crate.
pub(crate) fn of_file(folder: &str, path: &str, text: &str) -> Vec<Import> {
    let code: Vec<&str> = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect();
    let from = module(path.strip_prefix(folder).unwrap_or(path));
    paths(&code.join("\n"))
        .into_iter()
        .filter_map(|imported| absolute(&from, imported))
        .map(|to| Import {
            file: path.to_owned(),
            from: from.clone(),
            to,
        })
        .collect()
}

/// Returns the module of a source file: `a::b` for `/a/b.rs` and `/a/b/mod.rs`, and the root of the
/// crate for `/lib.rs`.
pub(crate) fn module(path: &str) -> Vec<String> {
    let stem = path.trim_start_matches('/').trim_end_matches(".rs");
    let parts = stem.split('/').map(str::to_owned);
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// Returns an imported path as a path from the root of the crate; `None` if the path leads above
/// the root.
fn absolute(from: &[String], path: Vec<String>) -> Option<Vec<String>> {
    let above = path.iter().take_while(|part| *part == "super").count();
    if above == 0 {
        return Some(path[1..].to_vec());
    }
    let kept = from.len().checked_sub(above)?;
    Some([&from[..kept], &path[above..]].concat())
}

/// Returns the paths in a text that begin with `crate` or `super`. Each path in a braced group is
/// returned separately.
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

/// Adds the paths of one tree of a `use` declaration. The prefix is put before each path. Returns
/// the rest of the text after the tree.
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

/// Returns the imports from one top-level module of a crate to another. Imports by the root of the
/// crate are left out, because the root may import all modules.
pub fn between_modules(imports: &[Import]) -> Vec<String> {
    let modules: BTreeSet<&String> = imports.iter().filter_map(|import| import.from.first()).collect();
    let is_between = |import: &&Import| {
        let ends = import.from.first().zip(import.to.first());
        ends.is_some_and(|(own, other)| own != other && modules.contains(other))
    };
    let fault = |import: &Import| format!("{} may not import {}", import.file, import.to.join("::"));
    imports.iter().filter(is_between).map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::{Import, absolute, between_modules, module, paths};

    fn path(text: &str) -> Vec<String> {
        text.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn groups_of_imports_are_expanded() {
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
    fn paths_are_relative_to_the_root_of_the_crate() {
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
    fn imports_between_modules_are_found() {
        let import = |from: &str, to: &str| Import {
            file: from.to_owned(),
            from: path(from),
            to: path(to),
        };
        let root = Import {
            from: Vec::new(),
            ..import("", "a::method::A")
        };
        let imports = [
            root,
            import("a::posterior", "a::report"),
            import("a::posterior", "b::report::table"),
            import("b", "registry"),
            import("b", "a"),
        ];
        assert_eq!(
            between_modules(&imports),
            [
                "a::posterior may not import b::report::table",
                "b may not import a"
            ]
        );
    }
}
