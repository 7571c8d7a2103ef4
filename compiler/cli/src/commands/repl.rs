//! `bnnc repl`: reads entries, passes them to the session, and prints the replies.
//!
//! At a terminal, lines can be edited and completed, and there is a history. From a pipe, lines are read
//! without prompts.

mod host;
mod pictures;
mod terminal;

use crate::arguments::Repl;
use crate::session::{self, Display, all_codes};
use bnnc_command::terminal::{OK, complain, is_coloured};
use bnnc_repl::{PendingEntry, Reply, ReplyPart, Session, World};
use host::Runs;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// The largest size of an entry in bytes. Larger entries are rejected, because a device file may be
/// endless.
const LONGEST: u64 = 1 << 24;

/// The exit status for input that cannot be read.
const UNREADABLE: u8 = 3;

/// The exit status for a program with errors.
const FAULTY: u8 = 1;

/// Runs the command.
pub fn run(arguments: &Repl) -> u8 {
    let interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let world = World {
        seed: arguments.seed,
        colour: is_coloured(),
        schema: bnnc_data::schema,
        codes: all_codes(),
        symbols: bnnc_kernels::arrays::symbols(),
        host: Rc::new(Runs::new()),
        width: columns(),
    };
    let mut session = Session::new(world);
    if let Some(file) = &arguments.file {
        let text = match session::read(file) {
            Ok(text) => text,
            Err(diagnostic) => return Display { json: false }.alone(&diagnostic),
        };
        let reply = session.load(&file.display().to_string(), &text);
        print(&reply);
        // At a terminal, the user can correct the program and load it again.
        if reply.is_rejected && !interactive {
            return FAULTY;
        }
    }
    if interactive {
        terminal::read(&mut session)
    } else {
        pipe(&mut session)
    }
}

/// Returns the width of the output in columns for a standard output that is not a terminal: the
/// environment variable `COLUMNS`, or 80.
fn columns() -> usize {
    let stated = std::env::var("COLUMNS").ok();
    stated.and_then(|columns| columns.parse().ok()).unwrap_or(80)
}

/// Reads entries from a pipe or a file until the end of the input, and returns the exit status.
fn pipe(session: &mut Session) -> u8 {
    let (mut entry, mut bytes, mut number) = (PendingEntry::default(), Vec::new(), 0usize);
    let mut input = std::io::stdin().lock();
    loop {
        bytes.clear();
        number += 1;
        let room = LONGEST - entry.text().len() as u64;
        match (&mut input).take(room + 1).read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) if bytes.len() as u64 > room => {
                complain(&format!("error: an entry is longer than {LONGEST} bytes"));
                return UNREADABLE;
            }
            Ok(_) => {}
            Err(error) => {
                complain(&format!("error: cannot read standard input: {error}"));
                return UNREADABLE;
            }
        }
        let Ok(line) = std::str::from_utf8(&bytes) else {
            complain(&format!("error: line {number} of standard input is not UTF-8"));
            return UNREADABLE;
        };
        if entry.push(line) {
            continue;
        }
        if enter(session, entry.text().trim_end()) {
            return OK;
        }
        entry = PendingEntry::default();
    }
    enter(session, entry.text().trim_end());
    OK
}

/// Executes one entry and returns whether the session is over. If an entry panics, the session continues.
fn enter(session: &mut Session, entry: &str) -> bool {
    if entry.trim().is_empty() {
        return false;
    }
    match catch_unwind(AssertUnwindSafe(|| session.enter(entry))) {
        Ok(reply) => {
            print(&reply);
            reply.leave
        }
        // The panic hook has already reported the bug.
        Err(_) => false,
    }
}

/// Prints results to standard output and notes to standard error, in the order of the reply.
fn print(reply: &Reply) {
    for part in &reply.parts {
        // Errors are ignored, because nobody needs the output after the reader has closed the pipe.
        let _ = match part {
            ReplyPart::Result(text) => {
                writeln!(std::io::stdout(), "{text}").and_then(|()| std::io::stdout().flush())
            }
            ReplyPart::Aside(text) => writeln!(std::io::stderr(), "{text}"),
        };
    }
}
