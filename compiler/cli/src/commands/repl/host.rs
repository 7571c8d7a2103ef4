//! Runs inference blocks and predicts for a REPL session, with the same steps as `bnnc run` and
//! `bnnc predict`.

use super::pictures;
use crate::session;
use bnnc_abi::manifest::{CompareBlock, InferenceBlock, Manifest};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::fault::Fault;
use bnnc_base::shape::Sizes;
use bnnc_command::execute::SessionInterrupt;
use bnnc_command::memory;
use bnnc_command::terminal::{complain, threads};
use bnnc_core::context::{Context, Stop};
use bnnc_core::diagnostics;
use bnnc_core::interrupt::Interrupt;
use bnnc_data::{NewRows, write};
use bnnc_driver::compare::inapplicable_of;
use bnnc_driver::compile::compile;
use bnnc_driver::diagnostics::BAD_COMMAND;
use bnnc_driver::infer::CompileFailure;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::CheckedProgram;
use bnnc_kernels::pool::Pool;
use bnnc_repl::{ChainDraws, FittedPosterior, FittedSite, HostTable, Picture, RunHost, RunReport};
use bnnc_report::result;
use bnnc_run::{InferenceOutcome, RunResult, Sources};
use std::any::Any;
use std::io::IsTerminal;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The number of elements of a parameter that have names. Later elements do not have names.
const NAMED: usize = 1000;

/// Runs inference blocks in this process.
pub struct Runs {
    interrupt: Rc<SessionInterrupt>,
}

impl Runs {
    /// Creates the state for runs. From then on, Ctrl-C stops a run instead of the process.
    pub fn new() -> Runs {
        Runs {
            interrupt: Rc::new(SessionInterrupt::register()),
        }
    }

    fn try_run(
        &self,
        program: &CheckedProgram,
        options: &CompileOptions,
        interrupt: Interrupt,
        report: &mut RunReport,
    ) -> Result<(), Stop> {
        let sources = session::read_sources(program, options, None)?;
        let schemas = session::schemas_of(&sources);
        let mut compiled = compile(program, &schemas, options).map_err(|failure| match failure {
            CompileFailure::Program(found) => Stop::Diagnostics(found),
            CompileFailure::Fault(fault) => Stop::Fault(fault),
        })?;
        report.diagnostics.append(&mut compiled.warnings);
        bnnc_run::cost::predict(&mut compiled.manifest, &schemas);
        let how = bnnc_run::RunOptions {
            progress: std::io::stderr().is_terminal(),
            max_memory: memory::available(),
            interrupt,
            sources: Sources::of(sources),
            ..bnnc_run::RunOptions::new(threads(None))
        };
        let mut found = bnnc_run::run(&compiled.manifest, &how)?;
        // The session itself shows comparisons and their warnings, because a comparison may contain
        // inference blocks from several runs.
        let compared = bnnc_run::comparisons(&compiled.manifest, &found);
        let is_of_run = |warning: &Diagnostic| !compared.iter().any(|one| one.warnings.contains(warning));
        found.warnings.retain(is_of_run);
        report.diagnostics.append(&mut found.warnings);
        report.is_interrupted = found.interrupted;
        report.table = result::infer_tables(&compiled.manifest, &found);
        let stopped = found.stopped.take();
        let run = Rc::new(FinishedRun {
            manifest: compiled.manifest,
            result: found,
            interrupt: self.interrupt.clone(),
        });
        for outcome in 0..run.result.outcomes.len() {
            report.fits.extend(RunFit::of_outcome(&run, outcome));
        }
        stopped.map_or(Ok(()), Err)
    }
}

impl RunHost for Runs {
    fn run(&self, program: &CheckedProgram, options: &CompileOptions) -> RunReport {
        let mut report = RunReport::default();
        let ended = self
            .interrupt
            .during(|interrupt| self.try_run(program, options, interrupt, &mut report));
        if let Err(stop) = ended {
            report.is_interrupted |= matches!(stop, Stop::Interrupted);
            report.diagnostics.extend(diagnostics(stop));
        }
        report
    }

    fn compare(
        &self,
        program: &CheckedProgram,
        compare: &CompareBlock,
        fits: &[Rc<dyn FittedPosterior>],
    ) -> Result<HostTable, Vec<Diagnostic>> {
        let fits = fits
            .iter()
            .filter_map(|fit| fit.as_any().downcast_ref::<RunFit>());
        let fits: Vec<&RunFit> = fits.collect();
        let find = |name: &str| {
            let fit = fits.iter().find(|fit| fit.name() == name)?;
            Some((fit.infer(), &fit.run.manifest))
        };
        let inapplicable = inapplicable_of(program, compare, &find);
        if !inapplicable.is_empty() {
            return Err(inapplicable);
        }
        let pairs: Vec<_> = fits.iter().map(|fit| (fit.infer(), fit.outcome())).collect();
        let compared = self.interrupt.during(|interrupt| {
            let context = context(interrupt, fits.first().map_or(0, |fit| fit.run.manifest.seed));
            bnnc_run::compare(compare, &pairs, &context)
        });
        let compared = compared.map_err(|stop| stopped(stop, "the comparison was interrupted"))?;
        Ok(HostTable {
            table: compared.text(),
            warnings: compared.warnings,
        })
    }

    fn interruptible(&self, work: &mut dyn FnMut(Arc<AtomicBool>)) {
        self.interrupt.during(|interrupt| work(interrupt.flag()));
    }

    fn characters(&self, picture: &Picture, width: usize) -> String {
        pictures::characters(picture, width)
    }

    fn svg(&self, picture: &Picture) -> String {
        pictures::svg(picture)
    }

    fn write(&self, path: &Path, text: &str, source: Option<&Path>) -> Result<(), Diagnostic> {
        let whole = |path: &Path| std::fs::canonicalize(path).ok();
        if source
            .and_then(whole)
            .is_some_and(|source| whole(path) == Some(source))
        {
            return Err(diagnostics::replaces_its_source(path));
        }
        if write::holds_other_content(path, beginning(text).as_bytes()) {
            return Err(diagnostics::replaces_another_file(
                path,
                "choose another name, or delete the file first",
            ));
        }
        write::atomically(path, |writer| writer.write_all(text.as_bytes()))
    }
}

/// Returns the part of an output that all outputs of its kind have in common, such as the header of
/// a table or the start of a plot.
fn beginning(text: &str) -> &str {
    let line = text.split_inclusive('\n').next().unwrap_or(text);
    match line.starts_with("<svg") {
        true => line.split(" viewBox").next().unwrap_or(line),
        false => line,
    }
}

/// Returns the diagnostics of a computation that stopped. The list is empty after an interruption.
/// A bug in bnnc does not have a diagnostic code, so this function shows it at once.
fn diagnostics(stop: Stop) -> Vec<Diagnostic> {
    match stop {
        Stop::Diagnostics(found) => found,
        Stop::Fault(fault) => {
            let diagnostic = fault.diagnostic();
            if diagnostic.is_none() {
                complain(&format!("error: {fault}"));
            }
            diagnostic.into_iter().collect()
        }
        Stop::Interrupted => Vec::new(),
    }
}

/// Returns the diagnostics of a command that stopped. After an interruption, this is a diagnostic
/// with the text `interrupted`.
fn stopped(stop: Stop, interrupted: &str) -> Vec<Diagnostic> {
    match stop {
        Stop::Interrupted => vec![Diagnostic::usage(&BAD_COMMAND, interrupted)],
        stop => diagnostics(stop),
    }
}

fn context(interrupt: Interrupt, seed: u64) -> Context {
    let pool = Arc::new(Pool::new(threads(None)));
    Context {
        interrupt,
        ..Context::new(pool, seed)
    }
}

/// A finished run with its results.
struct FinishedRun {
    manifest: Manifest,
    result: RunResult,
    interrupt: Rc<SessionInterrupt>,
}

/// The posterior of one inference block of a run. If the data have several splits, it is the
/// posterior for the last split.
struct RunFit {
    run: Rc<FinishedRun>,
    infer: usize,
    outcome: usize,
    sites: Vec<FittedSite>,
}

impl RunFit {
    /// Returns the posterior in the outcome of an inference block, or `None` if the outcome does
    /// not contain a split.
    fn of_outcome(run: &Rc<FinishedRun>, outcome: usize) -> Option<Rc<dyn FittedPosterior>> {
        let found = &run.result.outcomes[outcome];
        found.splits.last()?;
        let infers = &run.manifest.infers;
        let at = infers.iter().position(|infer| infer.name == found.name)?;
        let infer = &infers[at];
        let site = |report: &bnnc_abi::manifest::SiteReport| {
            let sizes = report.shape.resolve(&Sizes::default());
            let elements = sizes.iter().product::<usize>().min(NAMED);
            let name = |element| infer.names.element(&report.name, &sizes, element);
            FittedSite {
                name: report.name.clone(),
                support: report.prior.support,
                elements: (0..elements).map(name).collect(),
                sizes,
            }
        };
        Some(Rc::new(RunFit {
            sites: infer.reports.iter().map(site).collect(),
            run: run.clone(),
            infer: at,
            outcome,
        }))
    }

    fn infer(&self) -> &InferenceBlock {
        &self.run.manifest.infers[self.infer]
    }

    fn outcome(&self) -> &InferenceOutcome {
        &self.run.result.outcomes[self.outcome]
    }

    fn context(&self, interrupt: Interrupt) -> Context {
        context(interrupt, self.run.manifest.seed)
    }

    fn try_predict(&self, file: &Path, interrupt: Interrupt) -> Result<HostTable, Stop> {
        let (infer, outcome) = (self.infer(), self.outcome());
        let spec = self.run.manifest.data.iter().find(|spec| spec.name == infer.data);
        let (Some(spec), Some(last)) = (spec, outcome.splits.last()) else {
            return Err(Stop::Fault(Fault::Bug(format!("no data item `{}`", infer.data))));
        };
        let preparation = &outcome.dataset.preparation;
        let rows = preparation.rows(
            spec,
            NewRows {
                file,
                open: &[],
                sources: Some(&infer.sources()),
                most: memory::available(),
            },
        )?;
        let warnings = bnnc_run::far_from(infer, spec, &outcome.dataset, rows.clone());
        let context = self.context(interrupt);
        let columns = bnnc_run::predict_found((infer, &*last.found), preparation, rows, &context)?;
        Ok(HostTable {
            table: write::csv_text(&columns),
            warnings,
        })
    }
}

impl FittedPosterior for RunFit {
    fn name(&self) -> &str {
        &self.infer().name
    }

    fn sites(&self) -> &[FittedSite] {
        &self.sites
    }

    fn draws(&self, site: usize) -> Result<Option<ChainDraws>, Vec<Diagnostic>> {
        let (infer, outcome) = (self.infer(), self.outcome());
        let Some(last) = outcome.splits.last() else {
            return Ok(None);
        };
        let context = self.context(Interrupt::default());
        let found = bnnc_run::site_draws((infer, site), &*last.found, &outcome.dataset, &context);
        let draws = found.map_err(diagnostics)?;
        Ok(draws.map(|draws| ChainDraws {
            values: draws.values,
            chains: draws.chains,
        }))
    }

    fn summary(&self) -> String {
        result::infer_table(self.infer(), self.outcome())
    }

    fn predict(&self, file: &Path) -> Result<HostTable, Vec<Diagnostic>> {
        let during = |interrupt| self.try_predict(file, interrupt);
        let predicted = self.run.interrupt.during(during);
        predicted.map_err(|stop| stopped(stop, "the prediction was interrupted"))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
