//! The crates of the workspace as their `Cargo.toml` files describe them: the name, the folder and
//! the dependencies of each.
//!
//! The files are read line by line. They must contain only tables, with one `key = value` or
//! `key.workspace = true` per line.

use crate::{files, root};
use std::path::Path;

/// A crate of the workspace.
#[derive(Clone, Debug, Default)]
pub struct Crate {
    /// The name of the package.
    pub name: String,
    /// The folder of the crate, relative to the root of the workspace. The separator is `/`.
    pub folder: String,
    /// The dependencies of the crate and of its build script. The dependencies of its tests are
    /// left out.
    pub dependencies: Vec<String>,
}

/// Returns the members of the workspace, in the order of the root `Cargo.toml`.
pub fn members() -> Vec<Crate> {
    let text = files::read(&root().join("Cargo.toml"));
    let list = text
        .split_once("members = [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("", |(list, _)| list);
    let folders = list.split('"').skip(1).step_by(2);
    folders.map(read).collect()
}

fn read(folder: &str) -> Crate {
    let text = files::read(&root().join(folder).join("Cargo.toml"));
    let mut found = Crate {
        folder: folder.to_string(),
        ..Crate::default()
    };
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            // The section `[dependencies.serde]` is the long form of a line in the section
            // `[dependencies]`.
            if let Some((kind, name)) = section.rsplit_once('.')
                && is_dependencies(kind)
            {
                found.dependencies.push(name.to_string());
            }
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim().split('.').next().unwrap_or_default();
            if section == "package" && key == "name" {
                found.name = value.trim().trim_matches('"').to_string();
            } else if is_dependencies(section) {
                found.dependencies.push(key.to_string());
            }
        }
    }
    found
}

/// Returns whether a section of a `Cargo.toml` file lists dependencies. Sections such as
/// `target.'cfg(unix)'.dependencies` also list dependencies.
fn is_dependencies(section: &str) -> bool {
    let last = section.rsplit('.').next().unwrap_or(section);
    last == "dependencies" || last == "build-dependencies"
}

/// One row of the table in `compiler/ARCHITECTURE.md`.
#[derive(Clone, Debug)]
pub struct ArchitectureRow {
    /// The name of the crate.
    pub name: String,
    /// The folder of the crate.
    pub folder: String,
    /// The package names of the crates that this crate may import.
    pub imports: Vec<String>,
}

/// Returns the table of crates in `compiler/ARCHITECTURE.md`.
pub fn architecture() -> Vec<ArchitectureRow> {
    let text = files::read(&root().join("compiler/ARCHITECTURE.md"));
    rows(&text)
}

/// Finds the table whose header includes the columns `crate`, `folder` and `may import`.
pub fn rows(text: &str) -> Vec<ArchitectureRow> {
    // Other tables may stand before and after this table.
    let mut lines = text.lines().skip_while(|line| !line.contains("| may import |"));
    let Some(head) = lines.next().map(cells) else {
        return Vec::new();
    };
    let lines = lines.take_while(|line| line.starts_with('|')).map(cells);
    let column = |name: &str| head.iter().position(|cell| *cell == name).unwrap_or(usize::MAX);
    let (name, folder, imports) = (column("crate"), column("folder"), column("may import"));
    let cells: Vec<Vec<&str>> = lines.filter(|cells| cells.len() == head.len()).skip(1).collect();
    let all: Vec<(&str, &str)> = cells.iter().map(|cells| (cells[name], cells[folder])).collect();
    let row = |cells: &Vec<&str>| ArchitectureRow {
        name: cells[name].to_string(),
        folder: cells[folder].to_string(),
        imports: cells[imports]
            .split(',')
            .flat_map(|import| expand(import.trim(), cells[name], &all))
            .collect(),
    };
    cells.iter().map(row).collect()
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner
        .split('|')
        .map(|cell| cell.trim().trim_matches('`'))
        .collect()
}

/// Returns the package names that an entry in the column "may import" stands for. `importer` is the
/// crate of the row.
fn expand(import: &str, importer: &str, all: &[(&str, &str)]) -> Vec<String> {
    match import {
        "nothing" => Vec::new(),
        // The entry "all compiler crates" stands for the compiler crates above the importer in the
        // table. The driver and the command line stand below the importer.
        "all compiler crates" => all
            .iter()
            .take_while(|(name, _)| *name != importer)
            .filter(|(_, folder)| folder.starts_with("compiler/") || *folder == "grammar")
            .map(|(name, _)| name.to_string())
            .collect(),
        short => vec![format!("bnnc-{short}")],
    }
}

/// Returns the crate whose folder contains `path`. The path is relative to the root of the
/// workspace.
pub fn holder<'a>(members: &'a [Crate], path: &Path) -> Option<&'a Crate> {
    members.iter().find(|member| path.starts_with(&member.folder))
}
