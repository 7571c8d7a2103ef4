//! Running a manifest: every infer on every split, in order.

use crate::checkpoint::Checkpoint;
use crate::codes;
use crate::columns::Columns;
use crate::feed::examples;
use crate::fit::{Context, Fitted, Stop, fit};
use crate::interrupt::Interrupt;
use crate::predict::{Predictor, draws_in};
use crate::prune::{self, Pruned};
use crate::sample::diagnose::{Diagnosis, diagnose};
use crate::sample::quantities::{Quantity, quantities};
use crate::sample::{Sampled, sample};
use crate::score::Scorer;
use crate::states::{self, Values};
use crate::summary::{SiteSummary, of_draws, summaries};
use bnnc_abi::data::DataSpec;
use bnnc_abi::manifest::{Infer, Manifest, Work};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_data::metrics::MetricSet;
use bnnc_data::write::ResultColumn;
use bnnc_data::{Dataset, Preparation, Rows, Source};
use bnnc_kernels::pool::Pool;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// How a run is made, besides what the program says.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads; results do not depend on them.
    pub threads: usize,
    /// Whether progress lines are shown.
    pub progress: bool,
    /// The largest predicted memory that is allowed, in bytes.
    pub max_memory: Option<u64>,
    /// Where the run is kept while it goes on.
    pub checkpoint: Checkpoint,
    /// The user's wish to stop.
    pub interrupt: Interrupt,
}

impl Options {
    /// Threads; nothing is shown, limited or kept while the run goes on.
    pub fn new(threads: usize) -> Options {
        Options {
            threads,
            progress: false,
            max_memory: None,
            checkpoint: Checkpoint::none(),
            interrupt: Interrupt::default(),
        }
    }
}

/// What an infer found.
#[derive(Clone, Debug)]
pub enum Found {
    /// Parameters, by an optimiser.
    Fitted(Box<Fitted>),
    /// Draws, by Markov chains.
    Sampled(Arc<Sampled>),
}

impl Found {
    /// What predictions are made with.
    pub fn values(&self) -> &Arc<Values> {
        match self {
            Found::Fitted(fitted) => &fitted.values,
            Found::Sampled(sampled) => &sampled.values,
        }
    }

    /// What later infers start from.
    pub fn point(&self) -> &Arc<Values> {
        match self {
            Found::Fitted(fitted) => &fitted.values,
            Found::Sampled(sampled) => &sampled.mean,
        }
    }

    /// The fit, where an optimiser made it.
    pub fn fitted(&self) -> Option<&Fitted> {
        match self {
            Found::Fitted(fitted) => Some(fitted),
            Found::Sampled(_) => None,
        }
    }

    /// The draws, where Markov chains made them.
    pub fn sampled(&self) -> Option<&Sampled> {
        match self {
            Found::Fitted(_) => None,
            Found::Sampled(sampled) => Some(sampled),
        }
    }

    /// Whether the user stopped it before its end.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Found::Fitted(fitted) => fitted.interrupted,
            Found::Sampled(sampled) => sampled.interrupted,
        }
    }

    /// The number of draws that predictions average over.
    fn predictive_draws(&self, infer: &Infer) -> usize {
        match self {
            Found::Fitted(_) => infer.predictive_draws,
            Found::Sampled(sampled) => sampled.predictive,
        }
    }
}

/// What became of one infer on one split.
#[derive(Clone, Debug)]
pub struct SplitOutcome {
    /// The split's number, where the data has several.
    pub split: usize,
    /// What was found.
    pub found: Found,
    /// Metrics on the test rows (on the training rows where there are no test rows).
    pub metrics: MetricSet,
    /// The pruning table; empty where none was asked for.
    pub pruned: Vec<Pruned>,
    /// Training rows.
    pub train: usize,
    /// Test rows.
    pub test: usize,
    /// Seconds of fitting.
    pub fit_seconds: f64,
    /// Seconds of predicting.
    pub predict_seconds: f64,
}

/// What became of one infer.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// One per split.
    pub splits: Vec<SplitOutcome>,
    /// The sites, from the last split.
    pub sites: Vec<SiteSummary>,
    /// What is diagnosed of the chains of the last split.
    pub quantities: Vec<Quantity>,
    /// How far these can be trusted.
    pub diagnosis: Option<Diagnosis>,
    /// Predictions for the rows of the last split that metrics were computed on, as columns of a table.
    pub predictions: Vec<(String, ResultColumn)>,
    /// The dataset of the last split.
    pub dataset: Arc<Dataset>,
    /// Whether the metrics are of test rows.
    pub tested: bool,
}

impl Outcome {
    /// The pruning table over all splits.
    pub fn pruning(&self) -> Vec<prune::Line> {
        let tables: Vec<&[Pruned]> = self.splits.iter().map(|split| split.pruned.as_slice()).collect();
        prune::over(&tables)
    }
}

/// What became of a run.
#[derive(Debug, Default)]
pub struct RunResult {
    /// One per infer, in the order of the file.
    pub outcomes: Vec<Outcome>,
    /// What is worth knowing.
    pub warnings: Vec<Diagnostic>,
    /// Whether the user stopped the run before its end.
    pub interrupted: bool,
}

/// Runs every infer.
///
/// # Errors
/// The first thing that stops the run; what was finished before is lost unless it was written by then.
pub fn run(manifest: &Manifest, options: &Options) -> Result<RunResult, Stop> {
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
        values: HashMap::new(),
        result: RunResult::default(),
    };
    for infer in &manifest.infers {
        match run.infer(infer) {
            Ok(()) => {}
            Err(Stop::Interrupted) => run.result.interrupted = true,
            Err(stop) => return Err(stop),
        }
        if run.result.interrupted {
            break;
        }
    }
    Ok(run.result)
}

fn check_memory(manifest: &Manifest, limit: Option<u64>) -> Result<(), Stop> {
    let Some(limit) = limit else { return Ok(()) };
    let over = manifest.infers.iter().find(|infer| infer.cost.peak_bytes > limit);
    match over {
        Some(infer) => Err(codes::too_little_memory(infer, infer.cost.peak_bytes, limit).into()),
        None => Ok(()),
    }
}

/// What is kept of a data item.
enum Data {
    /// The only split; what it was cut from is not needed any more.
    Whole(Arc<Dataset>),
    /// What every split is cut from.
    Splits(Box<Source>),
}

struct Run<'a> {
    manifest: &'a Manifest,
    context: Context,
    data: HashMap<String, Data>,
    /// Parameters by infer and split.
    values: HashMap<(String, usize), Arc<Values>>,
    result: RunResult,
}

impl Run<'_> {
    fn infer(&mut self, infer: &Infer) -> Result<(), Stop> {
        let Some(spec) = self.manifest.data.iter().find(|spec| spec.name == infer.data) else {
            return Err(Stop::Fault(bnnc_base::fault::Fault::Bug(format!(
                "no data item `{}`",
                infer.data
            ))));
        };
        let splits = self.splits(spec)?;
        let mut outcome: Option<Outcome> = None;
        for split in 0..splits {
            if self.result.interrupted {
                break;
            }
            let dataset = self.dataset(spec, split)?;
            let one = match self.split(infer, split, dataset) {
                Err(Stop::Interrupted) => {
                    self.result.interrupted = true;
                    break;
                }
                other => other?,
            };
            outcome = Some(match outcome.take() {
                None => one,
                Some(mut all) => {
                    all.splits.extend(one.splits);
                    Outcome {
                        splits: all.splits,
                        ..one
                    }
                }
            });
        }
        if let Some(mut outcome) = outcome {
            for warning in &outcome.dataset.warnings {
                if !self.result.warnings.contains(warning) {
                    self.result.warnings.push(warning.clone());
                }
            }
            if let Some(last) = outcome.splits.last() {
                match &last.found {
                    Found::Fitted(fitted) => outcome.sites = summaries(infer, &fitted.values, &self.context)?,
                    Found::Sampled(sampled) => {
                        let found = quantities(infer, sampled, &outcome.dataset, &self.context)?;
                        let diagnosis = diagnose(infer, sampled, &found, &outcome.dataset, &self.context)?;
                        self.result.warnings.extend(diagnosis.warnings.iter().cloned());
                        outcome.sites = of_draws(infer, &found);
                        outcome.quantities = found;
                        outcome.diagnosis = Some(diagnosis);
                    }
                }
            }
            self.result.outcomes.push(outcome);
        }
        Ok(())
    }

    /// Reads the files of a data item at its first use; the number of its splits.
    fn splits(&mut self, spec: &DataSpec) -> Result<usize, Stop> {
        if !self.data.contains_key(&spec.name) {
            let source = Source::read(spec)?;
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

    fn split(&mut self, infer: &Infer, split: usize, dataset: Arc<Dataset>) -> Result<Outcome, Stop> {
        let clock = Instant::now();
        let earlier = self.earlier(split);
        let mut start = states::start(&infer.states, self.manifest.seed, &earlier);
        if let Some(values) = infer.start.as_ref().and_then(|name| earlier.get(name)) {
            warm_start(&mut start, values);
        }
        let found = match infer.work {
            Work::Train(_) => Found::Fitted(Box::new(self.fitted(infer, &dataset, start, split)?)),
            Work::Sample(_) => {
                Found::Sampled(Arc::new(sample(infer, &dataset, start, split, &self.context)?))
            }
        };
        self.result.interrupted |= found.is_interrupted();
        let fit_seconds = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let tested = dataset.test.count > 0;
        let rows = if tested { &dataset.test } else { &dataset.train };
        let draws = found.predictive_draws(infer);
        let mut predictor = Predictor::new(infer, rows, &dataset, draws, &self.context)?;
        predictor.set_parameters(found.values())?;
        let examples = examples(&infer.bindings, rows);
        let mut scorer = Scorer::new(rows, examples, &dataset, &infer.output)?;
        let mut columns = Columns::new(&infer.output, examples);
        predictor.run(|range, block| {
            block.undo(&infer.output, dataset.preparation.target);
            scorer.add(range, block);
            columns.add(block);
        })?;
        let (metrics, predictions) = (scorer.finish(), columns.finish());
        drop(predictor);
        let pruned = prune::prune(infer, found.values(), &dataset, &self.context)?;
        let predict_seconds = clock.elapsed().as_secs_f64();
        self.values
            .insert((infer.name.clone(), split), found.point().clone());
        let (train, test) = (dataset.train.count, dataset.test.count);
        let one = SplitOutcome {
            split,
            found,
            metrics,
            pruned,
            train,
            test,
            fit_seconds,
            predict_seconds,
        };
        Ok(Outcome {
            name: infer.name.clone(),
            splits: vec![one],
            sites: Vec::new(),
            quantities: Vec::new(),
            diagnosis: None,
            predictions,
            dataset,
            tested,
        })
    }

    /// The fit, or that of an earlier run that is continued.
    fn fitted(&self, infer: &Infer, dataset: &Dataset, start: Values, split: usize) -> Result<Fitted, Stop> {
        let checkpoint = &self.context.checkpoint;
        if let Some(kept) = checkpoint.kept(&infer.name, split) {
            return Ok(kept);
        }
        if self.context.interrupt.is_raised() {
            return Err(Stop::Interrupted);
        }
        let fitted = fit(infer, dataset, start, &self.context)?;
        if !fitted.interrupted {
            checkpoint.keep(&infer.name, split, &fitted)?;
        }
        Ok(fitted)
    }

    /// The parameters of the infers that came before, on this split.
    fn earlier(&self, split: usize) -> HashMap<String, Arc<Values>> {
        let of_split = self.values.iter().filter(|((_, at), _)| *at == split);
        of_split
            .map(|((name, _), values)| (name.clone(), values.clone()))
            .collect()
    }
}

/// Takes what an earlier infer found for every state of the same name and size.
fn warm_start(start: &mut Values, earlier: &Values) {
    for (name, values) in earlier {
        if let Some(own) = start.get_mut(name)
            && own.len() == values.len()
        {
            own.clone_from(values);
        }
    }
}

/// Predictions of a fitted infer for new rows, as the columns of a table.
///
/// # Errors
/// Columns that do not fit, values of another program.
pub fn predict(
    infer: &Infer,
    preparation: &Preparation,
    values: &Values,
    rows: Rows,
    context: &Context,
) -> Result<Vec<(String, ResultColumn)>, Stop> {
    let dataset = Dataset {
        train: rows.clone(),
        validation: rows.clone(),
        test: rows.clone(),
        target: None,
        preparation: preparation.clone(),
        shared: Vec::new(),
        shards: Vec::new(),
        warnings: Vec::new(),
    };
    let draws = draws_in(infer, values);
    let mut predictor = Predictor::with_target(infer, &rows, &dataset, (draws, false), context)?;
    predictor.set_parameters(values)?;
    let mut columns = Columns::new(&infer.output, dataset.test.count);
    predictor.run(|_, block| {
        block.undo(&infer.output, preparation.target);
        columns.add(block);
    })?;
    Ok(columns.finish())
}
