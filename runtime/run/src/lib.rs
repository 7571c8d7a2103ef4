//! Runs a manifest. Every inference block is run on every split, in order.

pub mod codes;
mod compared;
pub mod cost;
pub mod folder;
pub mod new_levels;
pub mod out;
mod saved;

use bnnc_abi::data::DataSpec;
use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_audit::scales;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::quoted::quoted;
use bnnc_core::checkpoint::Checkpoint;
use bnnc_core::context::{Context, Stop};
use bnnc_core::feed::{Feed, examples};
use bnnc_core::interrupt::Interrupt;
pub use bnnc_core::sources::Sources;
use bnnc_core::{date, diagnostics};
use bnnc_data::{Dataset, LoadedData};
pub use bnnc_inference::comparison::comparisons;
use bnnc_inference::evaluate::evaluate;
use bnnc_inference::leave_one_out::leave_one_out;
use bnnc_inference::method::MethodInputs;
pub use bnnc_inference::outcome::{InferenceOutcome, RunResult, SplitOutcome};
pub use bnnc_inference::site_draws::{SiteDraws, site_draws};
use bnnc_inference::{comparison, positions, prune};
use bnnc_kernels::pool::Pool;
use bnnc_mcmc::diagnostics::advice::rows_not_left_out;
use bnnc_methods::laplace::spread;
use bnnc_report::export;
use bnnc_training::start::{self, EarlierResults, Starts};
pub use compared::compare;
pub use saved::{far, far_from, joint, predict, predict_found, slopes};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// The options of a run that do not belong to the program.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The number of threads. The results do not depend on it.
    pub threads: usize,
    /// True if the run shows its progress.
    pub progress: bool,
    /// The maximum predicted memory in bytes. `None` if the memory is not limited.
    pub max_memory: Option<u64>,
    /// The checkpoint of the run.
    pub checkpoint: Checkpoint,
    /// The flag that is set if the user stops the run.
    pub interrupt: Interrupt,
    /// Data that were already read before the run. Every file is read only once. A second read of a pipe would return nothing, and a file may
    /// have changed.
    pub sources: Sources,
}

impl RunOptions {
    /// Returns options with this number of threads. The options do not include a progress display, a memory limit or a
    /// checkpoint.
    pub fn new(threads: usize) -> RunOptions {
        RunOptions {
            threads,
            progress: false,
            max_memory: None,
            checkpoint: Checkpoint::none(),
            interrupt: Interrupt::default(),
            sources: Sources::default(),
        }
    }
}

/// Runs every inference block of a manifest on every split.
///
/// # Errors
/// Fails only if an error occurs before the first inference block starts. Errors that occur later are stored in [`RunResult::stopped`]. The
/// results that were finished before are returned too.
pub fn run(manifest: &Manifest, options: &RunOptions) -> Result<RunResult, Stop> {
    let pool = Arc::new(Pool::new(options.threads));
    let context = Context {
        pool,
        seed: manifest.seed,
        progress: options.progress,
        checkpoint: options.checkpoint.clone(),
        interrupt: options.interrupt.clone(),
    };
    check_memory(manifest, options.max_memory)?;
    let mut run = Run {
        manifest,
        context,
        data: HashMap::new(),
        options,
        found: HashMap::new(),
        result: RunResult::default(),
    };
    for (at, infer) in manifest.infers.iter().enumerate() {
        match run.infer(infer) {
            Ok(()) => {}
            Err(Stop::Interrupted) => run.result.interrupted = true,
            Err(stop) => {
                run.result.failed = Some(infer.name.clone());
                run.result.stopped = Some(with_rest(stop, &manifest.infers[at + 1..]));
            }
        }
        if run.result.interrupted || run.result.stopped.is_some() {
            break;
        }
    }
    for comparison in comparisons(manifest, &run.result) {
        run.result.warnings.extend(comparison.warnings);
    }
    Ok(run.result)
}

/// Adds a note to an error, which names the inference blocks that were not run because of this error.
fn with_rest(stop: Stop, rest: &[InferenceBlock]) -> Stop {
    let names = quoted(rest.iter().map(|infer| &infer.name));
    match (stop, names.is_empty()) {
        (Stop::Diagnostics(mut found), false) => {
            if let Some(last) = found.pop() {
                found.push(last.note(format!("these inferences did not run after the error: {names}")));
            }
            Stop::Diagnostics(found)
        }
        (stop, _) => stop,
    }
}

fn check_memory(manifest: &Manifest, limit: Option<u64>) -> Result<(), Stop> {
    let Some(limit) = limit else { return Ok(()) };
    let over = manifest.infers.iter().find(|infer| infer.cost.peak_bytes > limit);
    match over {
        Some(infer) => Err(cost::advice::too_little_memory(manifest, infer, limit).into()),
        None => Ok(()),
    }
}

/// The part of a data item that stays in memory during a run.
enum Data {
    /// The rows of the only split. The table from which they were selected has been freed.
    Whole(Arc<Dataset>),
    /// The table that contains the rows of every split.
    Splits(Box<LoadedData>),
}

struct Run<'a> {
    manifest: &'a Manifest,
    context: Context,
    data: HashMap<String, Data>,
    options: &'a RunOptions,
    /// The results that later inference blocks can start from. The key consists of the inference block and the split.
    found: HashMap<(String, usize), start::EarlierResult>,
    result: RunResult,
}

impl Run<'_> {
    fn infer(&mut self, infer: &InferenceBlock) -> Result<(), Stop> {
        let Some(spec) = self.manifest.data.iter().find(|spec| spec.name == infer.data) else {
            return Err(Stop::Fault(bnnc_base::fault::Fault::Bug(format!(
                "no data item `{}`",
                infer.data
            ))));
        };
        let splits = self.splits(spec)?;
        let mut outcome: Option<InferenceOutcome> = None;
        let mut stopped = Ok(());
        for split in 0..splits {
            if self.result.interrupted {
                break;
            }
            let found = self.dataset(spec, split).and_then(|dataset| {
                if split == 0 {
                    self.audit(infer, spec, &dataset);
                }
                self.split(infer, split, dataset)
            });
            let one = match found {
                Ok(one) => one,
                Err(stop) => {
                    stopped = Err(stop);
                    break;
                }
            };
            outcome = Some(match outcome.take() {
                None => one,
                Some(mut all) => {
                    all.splits.extend(one.splits);
                    InferenceOutcome {
                        splits: all.splits,
                        ..one
                    }
                }
            });
        }
        if let Some(outcome) = outcome {
            self.finish(infer, outcome)?;
        }
        stopped
    }

    /// Adds the warnings about an inference block and its rows. If several inference blocks share the rows, each warning about the rows is
    /// added only once.
    fn audit(&mut self, infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset) {
        let settings = bnnc_methods::of(infer).settings();
        let rows = examples(&infer.bindings, &dataset.train);
        for warning in settings
            .into_iter()
            .chain(bnnc_training::report::unreached(infer, rows))
            .chain(bnnc_audit::warnings(infer, spec, dataset))
        {
            if !self.result.warnings.contains(&warning) {
                self.result.warnings.push(warning);
            }
        }
        if self.context.checkpoint.is_kept() {
            let long =
                export::stan::too_long(infer).map(|elements| diagnostics::no_stan_csv(&infer.name, elements));
            self.result.warnings.extend(long);
        }
    }

    /// Adds the outcome of an inference block, with summaries and warnings, to the result of the run.
    fn finish(&mut self, infer: &InferenceBlock, mut outcome: InferenceOutcome) -> Result<(), Stop> {
        let dataset = &outcome.dataset;
        let of = |split: &SplitOutcome| split.found.warnings(infer, split.train, dataset);
        let found: Vec<Diagnostic> = outcome.splits.iter().flat_map(of).collect();
        let is_converged = !found
            .iter()
            .any(bnnc_training::diagnostics::losses::is_not_converged);
        let of_integrals =
            |split: &SplitOutcome| split.found.warnings_of_integrals(infer, split.tally.as_ref());
        let of_boxes = outcome.splits.iter().flat_map(of_integrals);
        let warnings = outcome.dataset.warnings.iter().cloned();
        let warnings = warnings.chain(scales::warning(infer, &outcome.dataset));
        let warnings = warnings.chain(scales::far_from_zero(infer, &outcome.dataset));
        for warning in warnings.chain(found).chain(of_boxes) {
            if !self.result.warnings.contains(&warning) {
                self.result.warnings.push(warning);
            }
        }
        if let Some(found) = outcome.splits.last().map(|last| last.found.clone()) {
            let asked = comparison::leaves_out(self.manifest, &infer.name, outcome.tested);
            let left_out = leave_one_out(infer, &*found, &outcome.dataset, asked, &self.context);
            self.result.interrupted |= matches!(left_out, Err(Stop::Interrupted));
            outcome.left_out = match left_out {
                Err(Stop::Interrupted) => None,
                left_out => left_out?,
            };
            let warnings = found.summarise(infer, &mut outcome, &self.context)?;
            self.result.warnings.extend(warnings);
            outcome.mark_infinite(infer);
            if let (Some(left_out), None) = (&outcome.left_out, &outcome.diagnosis) {
                let shapes = left_out.total.shapes();
                let kinds: Vec<_> = infer.outputs.iter().map(|output| output.kind.clone()).collect();
                let model = (infer.cost.parameters, &kinds[..]);
                let warning = rows_not_left_out(&infer.name, shapes, model);
                self.result.warnings.extend(warning);
            }
        }
        let judged = self.judged(infer, &outcome, is_converged);
        self.result.warnings.extend(judged?);
        self.result.outcomes.push(outcome);
        Ok(())
    }

    /// Returns the warnings about results that contradict the assumptions of the model.
    fn judged(
        &self,
        infer: &InferenceBlock,
        outcome: &InferenceOutcome,
        is_converged: bool,
    ) -> Result<Vec<Diagnostic>, Stop> {
        let mut warnings = scales::stuck(infer, outcome);
        warnings.extend(bnnc_audit::conflicts(infer, outcome, is_converged));
        if let Some(last) = outcome.splits.last() {
            let (found, dataset) = (&*last.found, &*outcome.dataset);
            let mut unbounded = bnnc_audit::unbounded(infer, found, dataset, &self.context)?;
            if unbounded.is_none() {
                unbounded = bnnc_audit::separated(infer, found, dataset, &self.context)?;
            }
            let is_bounded = unbounded.is_none();
            warnings.extend(unbounded);
            let what = (&*outcome.dataset, &self.context);
            warnings.extend(bnnc_audit::ignored_inputs(infer, &*last.found, what)?);
            warnings.extend(bnnc_audit::collapsed(infer, &*last.found, what)?);
            // If a maximum does not exist, a Gaussian around the estimate predicts badly for this reason. A
            // second warning is then not needed.
            if is_bounded {
                warnings.extend(bnnc_audit::worse_than_centre(infer, outcome, &self.context)?);
            }
        }
        Ok(warnings)
    }

    /// Reads the files of a data item when it is first used. Returns the number of its splits.
    fn splits(&mut self, spec: &DataSpec) -> Result<usize, Stop> {
        if !self.data.contains_key(&spec.name) {
            let source = match self.options.sources.take(&spec.name) {
                Some(source) => source,
                None => LoadedData::read_within(spec, self.options.max_memory)?,
            };
            let data = match source.schema().splits {
                0 | 1 => Data::Whole(Arc::new(source.dataset(0, self.manifest.seed)?)),
                _ => Data::Splits(Box::new(source)),
            };
            self.data.insert(spec.name.clone(), data);
        }
        match self.data.get(&spec.name) {
            Some(Data::Splits(source)) => Ok(source.schema().splits),
            _ => Ok(1),
        }
    }

    fn dataset(&self, spec: &DataSpec, split: usize) -> Result<Arc<Dataset>, Stop> {
        match self.data.get(&spec.name) {
            Some(Data::Whole(dataset)) => Ok(dataset.clone()),
            Some(Data::Splits(source)) => Ok(Arc::new(source.dataset(split, self.manifest.seed)?)),
            None => unreachable!("`splits` has read it"),
        }
    }

    /// Returns an error if some rows cannot be used. The check is made before an inference run, because an error after the run would lose the
    /// result of the run.
    fn check_rows(&self, infer: &InferenceBlock, dataset: &Dataset) -> Result<(), Stop> {
        Feed::check(infer, &dataset.test, dataset, true)?;
        Feed::check(infer, &dataset.outliers, dataset, false)?;
        [&dataset.train, &dataset.validation, &dataset.test]
            .into_iter()
            .try_for_each(|rows| positions::check(infer, (rows, true), dataset, &self.context.pool))
    }

    fn split(
        &mut self,
        infer: &InferenceBlock,
        split: usize,
        dataset: Arc<Dataset>,
    ) -> Result<InferenceOutcome, Stop> {
        let clock = Instant::now();
        self.check_rows(infer, &dataset)?;
        let earlier = self.earlier(split);
        let starts = Starts::new(infer, &earlier, split)?;
        let found = bnnc_methods::of(infer).find(&MethodInputs {
            dataset: &dataset,
            starts: &starts,
            split,
            context: &self.context,
            variances: &|name| self.variances(infer, name, split),
        })?;
        self.result.interrupted |= found.is_interrupted();
        positions::check_found(infer, &*found, &dataset, &self.context)?;
        let fit_seconds = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let draws = found.predictive_draws(infer);
        let evaluation = evaluate(&*found, infer, &dataset, (draws, &self.context))?;
        let pruned = prune::prune(infer, found.values(), &dataset, &self.context)?;
        let predict_seconds = clock.elapsed().as_secs_f64();
        let earlier = found.start(infer);
        self.found.insert((infer.name.clone(), split), earlier);
        let (train, test) = (dataset.train.count, dataset.test.count);
        let one = SplitOutcome {
            split,
            found,
            metrics: evaluation.metrics,
            pruned,
            rotated: evaluation.rotated,
            shifted: evaluation.shifted,
            rejection: evaluation.rejection,
            by_confidence: evaluation.by_confidence,
            tally: evaluation.tally,
            train,
            test,
            fit_seconds,
            predict_seconds,
        };
        Ok(InferenceOutcome {
            name: infer.name.clone(),
            splits: vec![one],
            sites: Vec::new(),
            quantities: Vec::new(),
            diagnosis: None,
            left_out: None,
            predictions: evaluation.predictions,
            tested: dataset.test.count > 0,
            finished: date::now(),
            dataset,
        })
    }

    /// Returns the variances of all weights of `infer` under the posterior of the earlier inference block `name` on the same split.
    fn variances(&self, infer: &InferenceBlock, name: &str, split: usize) -> Result<Vec<f64>, Stop> {
        let by = self.manifest.infers.iter().find(|infer| infer.name == name);
        let outcome = self.result.outcomes.iter().find(|outcome| outcome.name == name);
        let found = outcome.and_then(|outcome| outcome.splits.iter().find(|one| one.split == split));
        match by.zip(found) {
            Some((by, one)) => spread::variances(infer, (by, &*one.found), &self.context),
            None => Err(diagnostics::no_variances(&infer.name, name).into()),
        }
    }

    /// Returns the results of earlier inference blocks on this split.
    fn earlier(&self, split: usize) -> EarlierResults {
        let of_split = self.found.iter().filter(|((_, at), _)| *at == split);
        of_split
            .map(|((name, _), found)| (name.clone(), found.clone()))
            .collect()
    }
}
