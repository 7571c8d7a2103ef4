//! Executes the run of a manifest, and writes the results to the terminal and to a folder.

use crate::arguments::Running;
use crate::memory;
use crate::terminal::{self, INTERRUPTED, OK, WARNED};
use bnnc_abi::artefact::Origin;
use bnnc_abi::manifest::Manifest;
use bnnc_base::checksum::Checksum;
use bnnc_base::diagnostic::{Diagnostic, Place};
use bnnc_base::source::SourceMap;
use bnnc_core::checkpoint::{Checkpoint, Opening};
use bnnc_core::context::Stop;
use bnnc_core::diagnostics;
use bnnc_core::fingerprint::Fingerprint;
use bnnc_core::interrupt::Interrupt;
use bnnc_run::out::SavedRun;
use bnnc_run::{RunResult, Sources, folder};
use signal_hook::consts::signal::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A run that is ready to be executed.
pub struct Job<'a> {
    /// The compiled program.
    pub manifest: &'a Manifest,
    /// The data that the program was compiled for.
    pub sources: Sources,
    /// The origin of the program: its text and its build options.
    pub origin: &'a Origin,
    /// The words of a command that repeats this run, for messages.
    pub command: Vec<String>,
    /// The warnings that were shown before the run. They become part of the results.
    pub warnings: Vec<Diagnostic>,
    /// The texts to which the places in diagnostics refer. Empty if the program was compiled in
    /// another process.
    pub texts: &'a SourceMap,
    /// A function that shows diagnostics, and returns the exit status that they imply.
    pub show: &'a dyn Fn(&[Diagnostic]) -> u8,
}

impl Job<'_> {
    /// Executes the run. If `max_memory` is given, the run may use at most this number of bytes.
    /// Returns the exit status.
    pub fn run(&self, running: &Running, max_memory: Option<u64>) -> u8 {
        match self.try_run(running, max_memory) {
            Ok(status) | Err(status) => status,
        }
    }

    fn try_run(&self, running: &Running, max_memory: Option<u64>) -> Result<u8, u8> {
        // The handlers are registered before a file is written, so that a signal that arrives after
        // the folder exists never loses what was computed.
        let interrupt = interrupt();
        // The folder is checked before the run, because a run may take hours.
        let (fingerprint, checkpoint) = match running.folder() {
            Some(folder) => self
                .opened(folder, running)
                .map_err(|diagnostic| (self.show)(&[diagnostic]))?,
            None => (Fingerprint::default(), Checkpoint::none()),
        };
        let how = bnnc_run::RunOptions {
            progress: !running.json && std::io::stderr().is_terminal(),
            max_memory: max_memory.or_else(memory::available),
            checkpoint,
            interrupt,
            sources: self.sources.clone(),
            ..bnnc_run::RunOptions::new(terminal::threads(running.threads))
        };
        let mut result = bnnc_run::run(self.manifest, &how).map_err(|stop| stopped(&stop, self.show))?;
        (self.show)(&result.warnings);
        result.warnings.splice(0..0, self.warnings.iter().cloned());
        result
            .warnings
            .iter_mut()
            .for_each(|warning| self.locate(warning));
        let text = match running.json {
            true => {
                let json = bnnc_report::result::json(self.manifest, &result);
                format!("{}\n", serde_json::to_string(&json).unwrap_or_default())
            }
            false => bnnc_report::result::table(self.manifest, &result),
        };
        if !result.outcomes.is_empty() || result.stopped.is_none() {
            terminal::say(&text);
        }
        // If a run ended without results, it does not replace the results of an earlier run.
        let folder = running.folder();
        let folder = folder.filter(|folder| !result.outcomes.is_empty() || !folder::has_results(folder));
        if let Some(folder) = folder {
            let written = bnnc_run::out::write(folder, self.manifest, &result, self.saved(fingerprint));
            written.map_err(|diagnostic| (self.show)(&[diagnostic]))?;
        }
        match &result.stopped {
            Some(stop) => Ok(stopped(stop, self.show)),
            None => Ok(self.status(running, &result)),
        }
    }

    /// Replaces the span of a diagnostic about the program by its line and column. A reader of the
    /// results does not have the text to which the span refers.
    fn locate(&self, diagnostic: &mut Diagnostic) {
        let Place::Span(span) = diagnostic.at else { return };
        let Some(source) = self.texts.get(span.source) else {
            return;
        };
        let before = source.text.get(..span.start as usize).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        diagnostic.at = Place::File {
            path: (&*source.name).into(),
            row: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        };
    }

    /// Opens the folder of the results. Returns the fingerprint of this run, and the checkpoint in
    /// the folder.
    fn opened(&self, folder: &Path, running: &Running) -> Result<(Fingerprint, Checkpoint), Diagnostic> {
        let resumes = running.resume.is_some();
        let is_begun = Checkpoint::is_in(folder);
        if resumes && !is_begun {
            (self.show)(&[diagnostics::nothing_to_resume(folder)]);
        }
        let fingerprint = self.fingerprint()?;
        let how = match (resumes, running.overwrite) {
            (true, _) => Opening::Resume,
            (false, true) => Opening::Overwrite,
            (false, false) => Opening::New,
        };
        let names = bnnc_run::out::names(self.manifest);
        folder::check_sources(folder, &self.manifest.data, &self.origin.file, &names)?;
        // A run that was begun with `--overwrite` is resumed. Its folder still contains the results
        // of another run. The check is therefore skipped if the run has begun.
        if how == Opening::New || (resumes && !is_begun) {
            folder::check_free(folder, &fingerprint, &names)?;
        }
        let checkpoint = Checkpoint::open(folder, &fingerprint, how)?;
        Ok((fingerprint, checkpoint))
    }

    /// Returns the fingerprint of this run.
    fn fingerprint(&self) -> Result<Fingerprint, Diagnostic> {
        let mut fingerprint = Fingerprint::of(self.manifest, &self.sources)?;
        fingerprint.text("the program", &self.origin.text);
        fingerprint.content("the library", Checksum::from_value(self.origin.library));
        fingerprint.settings(&self.origin.settings);
        fingerprint.fact("the rewrites that are off", &self.origin.without.join(", "));
        Ok(fingerprint)
    }

    /// Returns the data that a later `bnnc predict` needs.
    fn saved(&self, fingerprint: Fingerprint) -> SavedRun {
        let origin = self.origin;
        SavedRun {
            program: std::path::absolute(&origin.file).unwrap_or_else(|_| origin.file.clone()),
            text: origin.text.clone(),
            settings: origin.settings.clone(),
            data: origin.data.clone(),
            seed: self.manifest.seed,
            precision: origin.precision.clone(),
            without: origin.without.clone(),
            library: origin.library,
            schemas: self.manifest.schemas.clone().into_iter().collect(),
            preparations: BTreeMap::new(),
            ranges: BTreeMap::new(),
            fingerprint,
        }
    }

    /// Returns the exit status of a run that has results. After an interruption, also prints
    /// advice.
    fn status(&self, running: &Running, result: &RunResult) -> u8 {
        if result.interrupted {
            if !running.json {
                terminal::complain(&self.advice(running.folder()));
            }
            return INTERRUPTED;
        }
        match running.strict && result.warnings.iter().any(diagnostics::is_of_sampling) {
            true => WARNED,
            false => OK,
        }
    }

    /// Returns the advice on how to continue an interrupted run.
    fn advice(&self, folder: Option<&Path>) -> String {
        match folder {
            Some(folder) => {
                let resume = ["--resume".to_owned(), folder.display().to_string()];
                let words = self.command.iter().chain(&resume);
                let quoted: Vec<String> = words.map(|word| quoted(word)).collect();
                format!("interrupted: `{}` continues the run from here", quoted.join(" "))
            }
            None => "interrupted: with `--out DIR` a run can be continued".to_owned(),
        }
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=,:+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Signals that arrive within this time after the first signal count as the same request. `timeout` sends
/// its signal twice, to the process and to its group.
const SAME_REQUEST: Duration = Duration::from_millis(200);

/// Returns a flag that the first Ctrl-C raises. A second Ctrl-C ends the process immediately, unless
/// it arrives directly after the first Ctrl-C.
pub fn interrupt() -> Interrupt {
    let interrupt = Interrupt::default();
    let is_later = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // If the handlers cannot be registered, a signal ends the process. This is the default
        // behaviour.
        let _ = flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), is_later.clone())
            .and_then(|_| flag::register(signal, interrupt.flag()));
    }
    // A thread waits for the first signal, because a signal handler must not start a timer. If the
    // thread cannot be started, later signals do not end the process.
    if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) {
        let _ = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                if signals.forever().next().is_some() {
                    std::thread::sleep(SAME_REQUEST);
                    is_later.store(true, Ordering::SeqCst);
                }
            });
    }
    interrupt
}

/// Handles Ctrl-C in a session of several runs. During a run, Ctrl-C only stops the run. Between
/// runs, it ends the process.
pub struct SessionInterrupt {
    raised: Arc<AtomicBool>,
    is_idle: Arc<AtomicBool>,
}

impl SessionInterrupt {
    /// Registers the signal handlers. If the handlers cannot be registered, Ctrl-C always ends the
    /// process.
    pub fn register() -> SessionInterrupt {
        let found = SessionInterrupt {
            raised: Arc::new(AtomicBool::new(false)),
            is_idle: Arc::new(AtomicBool::new(true)),
        };
        let _ = flag::register_conditional_default(SIGINT, found.is_idle.clone())
            .and_then(|_| flag::register(SIGINT, found.raised.clone()));
        found
    }

    /// Runs `work` with an interrupt. While `work` runs, Ctrl-C raises this interrupt.
    pub fn during<T>(&self, work: impl FnOnce(Interrupt) -> T) -> T {
        /// Marks the session as idle when it is dropped, even if the work panics.
        struct Busy<'a>(&'a AtomicBool);
        impl Drop for Busy<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let was_idle = self.is_idle.swap(false, Ordering::SeqCst);
        // If this call is made while another call runs its work, the flag of the other call is not
        // reset.
        let _busy = was_idle.then(|| {
            self.raised.store(false, Ordering::SeqCst);
            Busy(&self.is_idle)
        });
        work(Interrupt::of(self.raised.clone()))
    }
}

/// Shows the reason why a run stopped. Returns the exit status.
pub fn stopped(stop: &Stop, show: &dyn Fn(&[Diagnostic]) -> u8) -> u8 {
    match stop {
        Stop::Diagnostics(diagnostics) => show(diagnostics),
        Stop::Fault(fault) => terminal::fault_status(fault, show),
        Stop::Interrupted => INTERRUPTED,
    }
}
