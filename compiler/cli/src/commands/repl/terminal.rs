//! Reads entries at a terminal, with editing, history, completion and continuation lines.

use super::enter;
use bnnc_command::terminal::OK;
use bnnc_repl::{Completed, CompletionTable, PendingEntry, Session};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::path::{Path, PathBuf};

/// The prompt of the first line of an entry.
const PROMPT: &str = "bnnc> ";

/// The prompt of the continuation lines of an entry.
const CONTINUATION: &str = "    . ";

/// The number of entries that the history keeps between sessions.
const REMEMBERED: usize = 1000;

/// Reads entries until Ctrl-D or `quit`, and returns the exit status.
pub fn read(session: &mut Session) -> u8 {
    println!(
        "bnnc {}; `help` lists the commands, `quit` or Ctrl-D leaves",
        env!("CARGO_PKG_VERSION")
    );
    let settings = Config::builder()
        .auto_add_history(false)
        .completion_type(CompletionType::List)
        .max_history_size(REMEMBERED);
    let editor = settings.and_then(|builder| Editor::<Words, DefaultHistory>::with_config(builder.build()));
    let mut editor = match editor {
        Ok(editor) => editor,
        Err(error) => {
            eprintln!("error: cannot read from this terminal: {error}");
            return 2;
        }
    };
    let history = history_file();
    if let Some(file) = &history {
        // Errors are ignored. Before the first session, the file of the history does not exist.
        let _ = editor.load_history(file);
    }
    let mut entry = PendingEntry::default();
    'session: loop {
        if let Some((columns, _)) = editor.dimensions() {
            session.set_width(usize::from(columns));
        }
        editor.set_helper(Some(Words {
            table: session.completions(),
            earlier: entry.text().to_owned(),
            files: FilenameCompleter::new(),
        }));
        let line = match editor.readline(if entry.text().is_empty() {
            PROMPT
        } else {
            CONTINUATION
        }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                entry = PendingEntry::default();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => {
                eprintln!("error: cannot read from this terminal: {error}");
                break;
            }
        };
        for whole in entries(&mut entry, &line) {
            if !whole.trim().is_empty() {
                // Errors are ignored. A full history drops its oldest entry.
                let _ = editor.add_history_entry(whole.trim_end());
                if let Some(file) = &history {
                    save(&mut editor, file);
                }
            }
            if enter(session, whole.trim_end()) {
                break 'session;
            }
        }
    }
    OK
}

/// Adds typed or pasted text to a pending entry, and returns the entries that are complete. An
/// incomplete last entry remains pending.
fn entries(pending: &mut PendingEntry, typed: &str) -> Vec<String> {
    let mut complete = Vec::new();
    for line in typed.split('\n') {
        if !pending.push(&format!("{line}\n")) {
            complete.push(std::mem::take(pending).text().to_owned());
        }
    }
    complete
}

/// Saves the history to its file. This happens after each entry, so that a killed process does not
/// lose it. A failure is not reported, because it does not affect the session.
fn save(editor: &mut Editor<Words, DefaultHistory>, file: &Path) {
    let folder = file.parent().unwrap_or(Path::new("."));
    if std::fs::create_dir_all(folder).is_ok() {
        let _ = editor.save_history(file);
    }
}

/// Returns the path of the history: `bnnc/history` in `$XDG_STATE_HOME`, or in `~/.local/state` by default.
fn history_file() -> Option<PathBuf> {
    let given = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let default = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state"));
    Some(given.or_else(default)?.join("bnnc/history"))
}

/// Completes the word before the cursor.
struct Words {
    table: CompletionTable,
    /// The earlier lines of the current entry.
    earlier: String,
    files: FilenameCompleter,
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, cursor: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..cursor).unwrap_or(line);
        let (start, words) = match self.table.complete(&self.earlier, before) {
            Completed::Words(start, words) => (start, words),
            Completed::File => return self.files.complete_path(line, cursor),
        };
        let pair = |word: String| Pair {
            display: word.clone(),
            replacement: word,
        };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}

impl Highlighter for Words {}

impl Validator for Words {}

impl Helper for Words {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_lines_are_entries_of_their_own() {
        let mut pending = PendingEntry::default();
        let pasted = "log(2)\n:density Normal(0, 1) 0\nfn f(x: real) -> real {\n  return x\n}\n1 +";
        let found = entries(&mut pending, pasted);
        assert_eq!(
            found,
            [
                "log(2)\n",
                ":density Normal(0, 1) 0\n",
                "fn f(x: real) -> real {\n  return x\n}\n"
            ]
        );
        assert_eq!(entries(&mut pending, "2"), ["1 +\n2\n"]);
        assert!(pending.text().is_empty());
    }
}
