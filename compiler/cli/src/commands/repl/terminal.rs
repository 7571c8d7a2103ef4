//! Reads entries at a terminal, with editing, history, completion and continuation lines.

use super::enter;
use bnnc_command::terminal::OK;
use bnnc_repl::{Completed, CompletionTable, Session};
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
        // The file of the history does not exist before the first session.
        let _ = editor.load_history(file);
    }
    let mut entry = String::new();
    loop {
        if let Some((columns, _)) = editor.dimensions() {
            session.set_width(usize::from(columns));
        }
        editor.set_helper(Some(Words {
            table: session.completions(),
            earlier: entry.clone(),
            files: FilenameCompleter::new(),
        }));
        let line = match editor.readline(if entry.is_empty() { PROMPT } else { CONTINUATION }) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                entry.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => {
                eprintln!("error: cannot read from this terminal: {error}");
                break;
            }
        };
        entry.push_str(&line);
        if Session::is_unfinished(&entry) {
            entry.push('\n');
            continue;
        }
        let whole = std::mem::take(&mut entry);
        if !whole.trim().is_empty() {
            // A full history drops its oldest entry; no other error can occur.
            let _ = editor.add_history_entry(whole.trim_end());
        }
        if enter(session, whole.trim_end()) {
            break;
        }
    }
    if let Some(file) = &history {
        save(&mut editor, file);
    }
    OK
}

/// Saves the history. A failure is not reported, because the session itself succeeded.
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
    /// The lines of the entry before the current one.
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
