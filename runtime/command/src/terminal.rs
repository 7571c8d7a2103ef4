//! What is written to the terminal, and the exit statuses.

use bnnc_abi::settings;
use bnnc_base::caught;
use bnnc_base::diagnostic::{Diagnostic, Fault as Blame, Place};
use bnnc_base::fault::Fault;
use bnnc_base::render;
use bnnc_base::source::SourceMap;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// The exit status of success.
pub const OK: u8 = 0;

/// The exit status where `--strict` makes a warning count.
pub const WARNED: u8 = 4;

/// The exit status where files or the output could not be written, or the system gives no thread.
const UNWRITTEN: u8 = 3;

/// The exit status of a bug.
pub const BUG: u8 = 101;

/// The exit status after Ctrl-C, by the convention of shells.
pub const INTERRUPTED: u8 = 130;

/// No more diagnostics than this are shown at once: a file that is no program has one per line.
const MOST_SHOWN: usize = 100;

/// How a diagnostic is rendered for people: with its sources, in colour or not.
pub type Render = fn(&Diagnostic, &SourceMap, bool) -> String;

/// Shows diagnostics on standard error, as JSON one object per line, and returns the exit status they ask for.
pub fn show(diagnostics: &[Diagnostic], sources: &SourceMap, (json, text): (bool, Render)) -> u8 {
    let colour = std::env::var_os("NO_COLOR").is_none() && std::io::stderr().is_terminal();
    for diagnostic in diagnostics.iter().take(MOST_SHOWN) {
        match json {
            true => complain(&render::json(diagnostic, sources)),
            // An empty line after each, as rustc does.
            false => complain(&text(diagnostic, sources, colour)),
        }
    }
    if let (false, more @ 1..) = (json, diagnostics.len().saturating_sub(MOST_SHOWN)) {
        complain(&format!("{more} more are not shown"));
    }
    let errors: Vec<&Diagnostic> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .collect();
    if !json && errors.len() > 1 {
        complain(&format!("{} errors", errors.len()));
    }
    errors
        .iter()
        .map(|diagnostic| status(diagnostic, sources))
        .max()
        .unwrap_or(OK)
}

fn status(diagnostic: &Diagnostic, sources: &SourceMap) -> u8 {
    let source = match diagnostic.at {
        Place::Span(span) => sources.get(span.source),
        Place::File { .. } | Place::Nowhere => None,
    };
    // What is wrong with a `--set` is wrong with the command line, not with the program.
    let set = source.is_some_and(|source| source.name.starts_with(settings::SET));
    match diagnostic.fault {
        Blame::Program if !set => 1,
        Blame::Program | Blame::Usage => 2,
        Blame::Data => 3,
    }
}

/// Shows a limit or a bug of ours, or by `show` what has a code; returns the exit status.
pub fn fault_status(fault: &Fault, show: &dyn Fn(&[Diagnostic]) -> u8) -> u8 {
    let status = match fault {
        Fault::Told(diagnostic) => return show(std::slice::from_ref(diagnostic)),
        Fault::Bug(_) => BUG,
        Fault::Limit(_) => 1,
    };
    complain(&format!("error: {fault}"));
    status
}

/// Why some of the output was lost.
static LOST: OnceLock<String> = OnceLock::new();

/// Writes to standard output; a reader that closed the pipe has seen enough. Whatever else prevents it counts when the work ends.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            LOST.get_or_init(|| error.to_string());
        }
        Ok(()) | Err(_) => {}
    }
}

/// The exit status of work that ended with this one: a full disk that swallowed results is an error.
fn with_output(status: u8) -> u8 {
    match LOST.get() {
        Some(why) if [OK, WARNED].contains(&status) => {
            complain(&format!("error: cannot write to standard output: {why}"));
            UNWRITTEN
        }
        Some(_) | None => status,
    }
}

/// Writes a line to standard error, read or not.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", render::visible(line));
}

/// The number of threads: as asked, else as many as the machine runs at once.
pub fn threads(asked: Option<usize>) -> usize {
    asked
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
        .clamp(1, 256)
}

/// What a process begins with: it says what ends it, and what cannot be written does not end it.
pub fn begin() {
    report_panics();
    #[cfg(unix)]
    outlive_writes();
}

/// Says that the process ends because of a bug, instead of what Rust says.
fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        if caught::is_catching() {
            return;
        }
        complain(&format!("error: bug in bnnc: {info}"));
        complain("   = help: please report it with the program and the command line");
    }));
}

/// Lets writes to a closed pipe, and beyond the size that files may have, fail instead of ending the process.
#[cfg(unix)]
fn outlive_writes() {
    use signal_hook::consts::signal::{SIGPIPE, SIGXFSZ};
    for signal in [SIGPIPE, SIGXFSZ] {
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// Does the work of a process on a thread with room for deep recursion, and returns its exit status.
pub fn work(work: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    let worker = std::thread::Builder::new().stack_size(64 << 20).spawn(work);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => with_output(status),
        Ok(Err(_)) => BUG,
        Err(error) => {
            complain(&format!("error: cannot start a thread: {error}"));
            UNWRITTEN
        }
    }
}
