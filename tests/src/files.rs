//! The files of the workspace, found by a walk through its folders.

use crate::root;
use std::fs;
use std::path::{Path, PathBuf};

/// A text file of the workspace.
#[derive(Clone, Debug)]
pub struct File {
    /// The path of the file, relative to the root of the workspace. The separator is `/`.
    pub path: String,
    /// The content of the file.
    pub text: String,
}

impl File {
    /// Returns whether the file is compiled only for tests.
    pub fn is_test(&self) -> bool {
        let path = Path::new(&self.path);
        let folders = path.parent().into_iter().flat_map(Path::components);
        path.ends_with("tests.rs") || folders.into_iter().any(|part| part.as_os_str() == "tests")
    }

    /// Returns the lines of the file with their numbers. Modules under `#[cfg(test)]` are left out.
    pub fn lines(&self) -> Vec<(usize, &str)> {
        let mut kept = Vec::new();
        let mut lines = self.text.lines().enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let next = lines.peek().map_or("", |(_, next)| next.trim_start());
            if line.trim() == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{') {
                // In code that rustfmt formats, the closing brace of a module has the same indent
                // as the module's attribute.
                let close = line.replace("#[cfg(test)]", "}");
                lines.by_ref().find(|(_, line)| *line == close);
            } else {
                kept.push((at + 1, line));
            }
        }
        kept
    }
}

/// Returns all files below `folder` that have one of these extensions, sorted by path. The folder
/// is relative to the root of the workspace; the extension "" stands for names without a dot.
///
/// Build outputs, hidden folders other than `.ci`, results of fuzzing and binary files are left
/// out.
pub fn under(folder: &str, extensions: &[&str]) -> Vec<File> {
    let mut found = Vec::new();
    walk(&root().join(folder), extensions, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(folder: &Path, extensions: &[&str], found: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if !is_skipped(&path) {
                walk(&path, extensions, found);
            }
        } else if extensions.contains(&extension(&path).as_str())
            && let Ok(text) = fs::read_to_string(&path)
        {
            found.push(File {
                path: relative(&path),
                text,
            });
        }
    }
}

/// Returns the extension of a file name, or an empty text for a name without a dot.
fn extension(path: &Path) -> String {
    path.extension()
        .map(|extension| extension.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn is_skipped(folder: &Path) -> bool {
    let name = folder
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    match name.as_str() {
        "target" => true,
        "corpus" | "artifacts" => folder.ends_with("fuzz/corpus") || folder.ends_with("fuzz/artifacts"),
        ".ci" => false,
        _ => name.starts_with('.'),
    }
}

/// Returns `path` relative to the root of the workspace. The separator is `/` on every system.
pub fn relative(path: &Path) -> String {
    let root = root();
    let below = path.strip_prefix(&root).unwrap_or(path);
    let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// Returns the content of a file.
///
/// # Panics
/// Panics if the file does not exist.
pub fn read(path: &PathBuf) -> String {
    match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => panic!("{}: {error}", path.display()),
    }
}
