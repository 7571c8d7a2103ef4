//! Output to the terminal, and the exit statuses of commands.

use bnnc_abi::settings;
use bnnc_base::diagnostic::{Diagnostic, FaultyInput as Blame, Place};
use bnnc_base::fault::Fault;
use bnnc_base::source::SourceMap;
use bnnc_base::threads::{STACK, processors};
use bnnc_base::{caught, render};
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// The exit status of success.
pub const OK: u8 = 0;

/// The exit status if `--strict` turns a warning into a failure.
pub const WARNED: u8 = 4;

/// The exit status if files or the output cannot be written, or if the system cannot start a thread.
pub const UNWRITTEN: u8 = 3;

/// The exit status if a bug of bnnc occurs.
pub const BUG: u8 = 101;

/// The exit status after Ctrl-C. Shells use this number by convention.
pub const INTERRUPTED: u8 = 130;

/// The maximum number of diagnostics that are shown. A file that is not a program could yield one
/// diagnostic per line.
const MOST_SHOWN: usize = 100;

/// True if the command line turns colours on, and false if it turns them off. Empty if the command
/// line does not have such an option.
static COLOUR: OnceLock<bool> = OnceLock::new();

/// Sets whether diagnostics are coloured. Only the first call has an effect.
pub fn set_colour(is_coloured: bool) {
    let _ = COLOUR.set(is_coloured);
}

/// Returns whether diagnostics are coloured. If [`set_colour`] was not called, they are coloured on
/// a terminal, except if `NO_COLOR` is set and not empty (<https://no-color.org>).
pub fn is_coloured() -> bool {
    let rejects = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let stated = COLOUR.get().copied();
    stated.unwrap_or_else(|| !rejects && std::io::stderr().is_terminal())
}

/// Returns a rendered text without control characters. Control characters that set colours are kept
/// if the text does not contain other control characters.
pub fn rendered(is_coloured: bool, render: impl Fn(bool) -> String) -> String {
    let plain = render(false);
    let shown = render::visible(&plain);
    match is_coloured && shown == plain {
        true => render(true),
        false => shown,
    }
}

/// A function that renders a diagnostic as text, with its sources. The last argument is true for
/// coloured text.
pub type Render = fn(&Diagnostic, &SourceMap, bool) -> String;

/// Shows diagnostics on standard error, as text or as JSON with one object per line. Returns the
/// exit status that they imply.
pub fn show(diagnostics: &[Diagnostic], sources: &SourceMap, (json, text): (bool, Render)) -> u8 {
    for diagnostic in diagnostics.iter().take(MOST_SHOWN) {
        match json {
            true => complain(&render::json(diagnostic, sources)),
            // Each diagnostic is followed by an empty line, as in rustc.
            false => {
                let shown = rendered(is_coloured(), |colour| text(diagnostic, sources, colour));
                let _ = writeln!(std::io::stderr().lock(), "{shown}");
            }
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
    // An error in a `--set` option counts as an error of the command line, although the place of
    // the error is a span of a text.
    let set = source.is_some_and(|source| source.name.starts_with(settings::SET));
    match diagnostic.fault {
        Blame::Program if !set => 1,
        Blame::Program | Blame::Usage => 2,
        Blame::Data => 3,
    }
}

/// Passes the diagnostic of a limit or of an error to `show`. If the cause is a bug, reports the bug instead. Returns the
/// exit status.
pub fn fault_status(fault: &Fault, show: &dyn Fn(&[Diagnostic]) -> u8) -> u8 {
    if let Some(diagnostic) = fault.diagnostic() {
        return show(&[diagnostic]);
    }
    complain(&format!("error: {fault}"));
    BUG
}

/// The reason why a part of the output was lost.
static LOST: OnceLock<String> = OnceLock::new();

/// Writes to standard output. A closed pipe is not an error, because its reader does not need
/// further output. Any other error changes the exit status at the end of the work.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            LOST.get_or_init(|| error.to_string());
        }
        Ok(()) | Err(_) => {}
    }
}

/// Returns the exit status of work that ended with `status`. If output was lost, for example on a
/// full disk, the exit status reports an error.
fn with_output(status: u8) -> u8 {
    match LOST.get() {
        Some(why) if [OK, WARNED].contains(&status) => {
            complain(&format!("error: cannot write to standard output: {why}"));
            UNWRITTEN
        }
        Some(_) | None => status,
    }
}

/// Writes a line to standard error, and ignores errors.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", render::visible(line));
}

/// Returns the requested number of threads. If no number was requested, returns the number of
/// processors of the machine.
pub fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(processors).clamp(1, 256)
}

/// Prepares a process for its work. Panics are reported as bugs, and failing writes do not end the
/// process.
pub fn begin() {
    report_panics();
    #[cfg(unix)]
    outlive_writes();
}

/// Replaces Rust's panic message. The new message states that bnnc has a bug, and that the user
/// should report it.
fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        if caught::is_catching() {
            return;
        }
        complain(&format!("error: bug in bnnc: {info}"));
        complain("   = help: please report it with the program and the command line");
    }));
}

/// Lets a write fail if the pipe is closed or the file exceeds the size limit. By default, such a
/// write would end the process.
#[cfg(unix)]
fn outlive_writes() {
    use signal_hook::consts::signal::{SIGPIPE, SIGXFSZ};
    for signal in [SIGPIPE, SIGXFSZ] {
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// Does the work of a process on a thread with a large stack, because the recursion may be deep.
/// Returns the exit status.
pub fn work(work: impl FnOnce() -> u8 + Send + 'static) -> u8 {
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(work);
    match worker.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => with_output(status),
        Ok(Err(_)) => BUG,
        Err(error) => {
            complain(&format!("error: cannot start a thread: {error}"));
            UNWRITTEN
        }
    }
}
