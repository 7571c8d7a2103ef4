//! The pages of the book in `docs/`, and the fenced blocks of these pages.

use std::path::{Path, PathBuf};

/// A fenced block of a page.
#[derive(Clone, Debug)]
pub struct FencedBlock {
    /// The line of the opening fence, counted from 1.
    pub line: usize,
    /// The language of the block; empty if the opening fence does not name a language.
    pub language: String,
    /// The words that follow the language on the opening fence, such as `run`, `file=NAME` or
    /// `error=CODE`.
    pub words: Vec<String>,
    /// The lines of the block, each with its line break.
    pub text: String,
}

impl FencedBlock {
    /// Returns whether `word` is among the words that follow the language.
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|found| found == word)
    }

    /// Returns the values of all words of the form `KEY=VALUE` that have this key.
    pub fn values<'b>(&'b self, key: &'b str) -> impl Iterator<Item = &'b str> {
        let value = move |word: &'b String| word.strip_prefix(key)?.strip_prefix('=');
        self.words.iter().filter_map(value)
    }
}

/// A page of the book.
#[derive(Clone, Debug)]
pub struct Page {
    /// The path relative to `docs/src`.
    pub path: String,
    /// The Markdown of the page.
    pub text: String,
}

impl Page {
    /// Returns the fenced blocks of the page, in order.
    pub fn blocks(&self) -> Vec<FencedBlock> {
        let mut blocks = Vec::new();
        let mut lines = self.text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            let Some(info) = line.strip_prefix("```") else {
                continue;
            };
            let mut words = info.split_whitespace().map(str::to_owned);
            let language = words.next().unwrap_or_default();
            let body = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| *line != "```");
            blocks.push(FencedBlock {
                line: at + 1,
                language,
                words: words.collect(),
                text: body.fold(String::new(), |text, line| text + line + "\n"),
            });
        }
        blocks
    }

    /// Returns the lines of Markdown outside fenced blocks. Line numbers start at 1.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let mut is_code = false;
        let mut kept = Vec::new();
        for (at, line) in self.text.lines().enumerate() {
            if line.starts_with("```") {
                is_code = !is_code;
            } else if !is_code {
                kept.push((at + 1, line));
            }
        }
        kept
    }
}

/// Returns the pages of the book in the workspace with this root, sorted by path.
///
/// # Panics
/// Panics if a page cannot be read.
pub fn pages(root: &Path) -> Vec<Page> {
    let source = root.join("docs/src");
    let mut folders = vec![source.clone()];
    let mut pages = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = std::fs::read_to_string(&path)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                let name = path.strip_prefix(&source).unwrap_or(&path);
                let path = name.to_string_lossy().replace('\\', "/");
                pages.push(Page { path, text });
            }
        }
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    pages
}
