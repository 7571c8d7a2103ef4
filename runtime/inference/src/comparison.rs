//! The results of `compare` items. A comparison shows the metrics of several inference blocks side by side, and how much their values of `elpd_loo`
//! differ.

use crate::diagnostics as codes;
use crate::leave_one_out::LeftOut;
use crate::outcome::{InferenceOutcome, RunResult};
use crate::summary::SiteSummary;
use bnnc_abi::manifest::{CompareBlock, InferenceBlock, Manifest, OutputKind};
use bnnc_abi::metrics::{Basis, ComparedMetric};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::number::{finite, number};
use bnnc_core::score;
use bnnc_data::Rows;
use bnnc_data::metrics::over_splits;
use bnnc_mcmc::loo::{LooEstimate, difference};
use serde_json::{Map, Value, json};

/// The results of one `compare` item.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The names of the metrics in the program. The metric `elpd_loo` is left out, because each line stores it separately.
    pub metrics: Vec<String>,
    /// One line per inference block. If `elpd_loo` was computed, the lines are sorted by its value, and the best comes first.
    pub lines: Vec<ComparisonLine>,
    /// True if the comparison includes leave-one-out estimates.
    pub leaves_out: bool,
    /// Notes that are printed below the table.
    pub notes: Vec<String>,
    /// Warnings about metrics that were not computed, and about inference blocks that cannot be compared.
    pub warnings: Vec<Diagnostic>,
}

/// The line of one inference block in a comparison.
#[derive(Clone, Debug)]
pub struct ComparisonLine {
    /// The name of the inference block.
    pub infer: String,
    /// True if the metrics in this line are computed on test rows, and false if they are computed on training rows.
    pub tested: bool,
    /// The values of the metrics; `None` where a metric was not computed. If there are several splits, each value has a standard error.
    pub values: Vec<Option<(f64, Option<f64>)>>,
    /// The leave-one-out estimates over the training rows, if they were computed.
    pub left_out: Option<LeftOutLine>,
}

/// The leave-one-out estimates in one line.
#[derive(Clone, Copy, Debug)]
pub struct LeftOutLine {
    /// The expected log predictive density (`elpd_loo`), summed over rows.
    pub elpd: LooEstimate,
    /// The effective number of parameters (`p_loo`).
    pub p: LooEstimate,
    /// The difference between this `elpd` and the `elpd` of the best inference block with the same observations.
    pub difference: Option<LooEstimate>,
    /// The number of rows whose Pareto shape is too large for a reliable estimate.
    pub unreliable: usize,
}

/// Returns whether a comparison needs leave-one-out estimates of an inference block. `tested` is true if the other metrics of the block are computed
/// on test rows.
pub fn leaves_out(manifest: &Manifest, infer: &str, tested: bool) -> bool {
    let mut own = manifest.compares.iter().filter(|compare| {
        let mut infers = compare.infers.iter();
        infers.any(|name| name == infer)
    });
    own.any(|compare| !tested || names_left_out(compare))
}

fn names_left_out(compare: &CompareBlock) -> bool {
    compare.metrics.iter().any(is_left_out)
}

fn is_left_out(measure: &ComparedMetric) -> bool {
    measure.basis() == Some(Basis::LeftOut)
}

/// Returns the comparisons of a run.
pub fn comparisons(manifest: &Manifest, result: &RunResult) -> Vec<Comparison> {
    let both = |name: &String| {
        let infer = manifest.infers.iter().find(|infer| infer.name == *name)?;
        let outcome = result.outcomes.iter().find(|outcome| outcome.name == *name)?;
        Some((infer, outcome))
    };
    let one = |compare: &CompareBlock| {
        let found: Vec<_> = compare.infers.iter().filter_map(both).collect();
        compared(compare, &found)
    };
    manifest.compares.iter().map(one).collect()
}

/// Returns whether a comparison needs leave-one-out estimates of an inference block, but these were not computed.
pub fn lacks_left_out(compare: &CompareBlock, outcome: &InferenceOutcome) -> bool {
    outcome.left_out.is_none() && (!outcome.tested || names_left_out(compare))
}

/// Compares inference blocks. They may come from several runs.
pub fn compared(compare: &CompareBlock, found: &[(&InferenceBlock, &InferenceOutcome)]) -> Comparison {
    let is_named = names_left_out(compare);
    let untested = !found.is_empty() && found.iter().all(|(_, outcome)| !outcome.tested);
    let has_any = found.iter().any(|(_, outcome)| outcome.left_out.is_some());
    let measures: Vec<&ComparedMetric> = compare
        .metrics
        .iter()
        .filter(|measure| !is_left_out(measure))
        .collect();
    let mut table = Comparison {
        metrics: measures.iter().map(|measure| measure.label()).collect(),
        leaves_out: has_any && (is_named || untested),
        ..Comparison::default()
    };
    for (infer, outcome) in found {
        let values = measures.iter().map(|measure| value(measure, infer, outcome));
        let values: Vec<_> = values.collect();
        let missing = measures.iter().zip(&values).filter(|(_, value)| value.is_none());
        let warnings = missing.map(|(measure, _)| codes::not_computed(measure, &infer.name));
        table.warnings.extend(warnings);
        if outcome.left_out.is_none() && is_named {
            let measure = compare.metrics.iter().find(|measure| is_left_out(measure));
            let warning = measure.map(|measure| codes::not_computed(measure, &infer.name));
            table.warnings.extend(warning);
        } else if outcome.left_out.is_none() && table.leaves_out {
            table.notes.push(not_left_out(infer));
        }
        table.lines.push(ComparisonLine {
            infer: infer.name.clone(),
            tested: outcome.tested,
            values,
            left_out: None,
        });
    }
    if let Some((first, others)) = found.split_first()
        && measures
            .iter()
            .any(|measure| measure.basis() != Some(Basis::Time))
    {
        table
            .warnings
            .extend(others.iter().filter_map(|other| other_rows(*other, *first)));
    }
    if let Some((first, others)) = found.split_first()
        && let Some(measure) = compare.metrics.iter().find(is_log_density)
    {
        let other = others.iter().find_map(|other| other_measure(other.0, first.0));
        let warning = other.map(|[density, probability]| codes::other_measure(measure, density, probability));
        table.warnings.extend(warning);
    }
    if table.leaves_out {
        leave_out(&mut table, found);
    }
    table
}

/// Returns whether a metric is computed from log predictive densities.
fn is_log_density(measure: &&ComparedMetric) -> bool {
    matches!(measure.basis(), Some(Basis::LogLikelihood | Basis::LeftOut))
}

/// Compares the models of two inference blocks. One model may assign densities to an output, and the other may assign probabilities. In this case,
/// returns the names of the two blocks. The first name belongs to the block whose model assigns densities.
fn other_measure<'a>(one: &'a InferenceBlock, other: &'a InferenceBlock) -> Option<[&'a str; 2]> {
    let pairs = one.outputs.iter().zip(&other.outputs);
    let mut kinds = pairs.map(|(one, other)| [one, other].map(|output| output.kind == OutputKind::Real));
    let [is_density, _] = kinds.find(|[one, other]| one != other)?;
    let names = [&*one.name, &*other.name];
    Some(if is_density { names } else { [names[1], names[0]] })
}

/// Returns the warning that two inference blocks are scored on different observations.
fn other_rows(
    one: (&InferenceBlock, &InferenceOutcome),
    first: (&InferenceBlock, &InferenceOutcome),
) -> Option<Diagnostic> {
    if one.1.tested != first.1.tested {
        // The table already shows this difference, in the column for the kind of rows.
        return None;
    }
    let [(own, _), (reference, _)] = [one, first].map(|(_, outcome)| outcome.scored());
    let warning = |of: &str| Some(codes::other_rows(&one.0.name, &first.0.name, of));
    match alike(&observed(one, own), &observed(first, reference)) {
        true => None,
        false if own.count != reference.count => {
            warning(&format!("different rows, {} and {}", own.count, reference.count))
        }
        false if (0..own.count).any(|row| own.place(row) != reference.place(row)) => {
            warning("different rows")
        }
        false => warning("different targets"),
    }
}

/// Returns the observed values of each output in some rows.
fn observed((infer, outcome): (&InferenceBlock, &InferenceOutcome), rows: &Rows) -> Vec<Option<Vec<f64>>> {
    let of = |output| score::targets(rows, &outcome.dataset, infer.column(output)).ok();
    infer.outputs.iter().map(of).collect()
}

/// Returns whether values are equal. Undoing a standardisation causes rounding errors, so small differences
/// are ignored.
fn alike(one: &[Option<Vec<f64>>], other: &[Option<Vec<f64>>]) -> bool {
    let near =
        |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * (a.abs() + b.abs()) || a.to_bits() == b.to_bits();
    let same = |pair: (&Option<Vec<f64>>, &Option<Vec<f64>>)| match pair {
        (Some(one), Some(other)) => one.len() == other.len() && one.iter().zip(other).all(near),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

/// Returns the reason why leave-one-out estimates cannot be computed for an inference block.
fn not_left_out(infer: &InferenceBlock) -> String {
    let why = match infer.integrates() {
        // The mean of p(y | iterate) over all iterates is the density of a row given all rows. To compute the density given the other rows, the
        // mean of 1 / p(y | all weights) would be needed.
        true => {
            "leaving rows out reweights draws of all weights, but `collapsed` integrates over some weights"
        }
        false => "leaving rows out needs draws of a posterior",
    };
    format!("`{}` has no elpd_loo: {why}", infer.name)
}

fn value(
    measure: &ComparedMetric,
    infer: &InferenceBlock,
    outcome: &InferenceOutcome,
) -> Option<(f64, Option<f64>)> {
    if measure.basis() == Some(Basis::Time) {
        let seconds = outcome.splits.iter().map(|split| split.fit_seconds).sum();
        return Some((seconds, None));
    }
    let key = measure.key(infer);
    let sets: Vec<_> = outcome.splits.iter().map(|split| split.metrics.clone()).collect();
    let found = over_splits(&sets).into_iter().find(|(name, ..)| *name == key);
    found.map(|(_, mean, error)| (mean, error))
}

/// Adds the leave-one-out estimates to the lines, together with their differences from the best estimate. Then sorts the lines.
fn leave_out(table: &mut Comparison, found: &[(&InferenceBlock, &InferenceOutcome)]) {
    let estimates: Vec<Option<&LeftOut>> = found
        .iter()
        .map(|(_, outcome)| outcome.left_out.as_ref())
        .collect();
    let sums = |at: usize| estimates[at].map_or(f64::NAN, |left_out| left_out.total.elpd().sum);
    let known = (0..found.len()).filter(|at| sums(*at).is_finite());
    let best = known.max_by(|one, other| sums(*one).total_cmp(&sums(*other)));
    let reference = best.map(|best| (found[best], estimates[best]));
    for ((line, pair), left_out) in table.lines.iter_mut().zip(found).zip(&estimates) {
        let Some(left_out) = left_out else { continue };
        let difference = match reference {
            Some((reference, Some(best))) if same_observations(*pair, reference) => {
                Some(difference(&left_out.rows, &best.rows))
            }
            Some((reference, _)) => {
                table
                    .warnings
                    .push(codes::other_observations(&pair.0.name, &reference.0.name));
                None
            }
            None => None,
        };
        table.warnings.extend(doubts(*pair, left_out));
        let shapes = left_out.total.shapes();
        line.left_out = Some(LeftOutLine {
            elpd: left_out.total.elpd(),
            p: left_out.total.p(),
            difference,
            unreliable: shapes.bad + shapes.very_bad,
        });
    }
    let sum = |line: &ComparisonLine| line.left_out.map_or(f64::NEG_INFINITY, |found| found.elpd.sum);
    let key = |line: &ComparisonLine| {
        if sum(line).is_nan() {
            f64::NEG_INFINITY
        } else {
            sum(line)
        }
    };
    table.lines.sort_by(|one, other| key(other).total_cmp(&key(one)));
    let rows = estimates
        .iter()
        .flatten()
        .map(|left_out| left_out.rows.len())
        .max();
    table.notes.insert(
        0,
        format!(
            "elpd_loo: each of {} training rows predicted from the others (PSIS-LOO); difference to the best, with its standard error",
            rows.unwrap_or(0)
        ),
    );
}

/// A warning is given if the effective number of parameters, divided by the number of parameters that the rows inform, is below this value. The
/// posterior standard deviations are then less than a quarter of their correct values.
const LEAST_P: f64 = 0.05;

/// Returns an estimate of the number of parameters about which the rows contain information. It is the sum of
/// `1 - posterior variance / prior variance` over the
/// parameters. For a linear model with independent normal priors, this sum is the effective number of parameters. Parameters whose prior is not
/// known are left out. Returns 1 if no prior is known.
fn informed(infer: &InferenceBlock, sites: &[SiteSummary]) -> f64 {
    let mut known = false;
    let mut sum = 0.0;
    for site in sites {
        let Some(report) = infer.report(&site.name) else {
            continue;
        };
        for (at, element) in site.elements.iter().enumerate() {
            let share = match report.prior.is_improper {
                true => Some(1.0),
                false => report
                    .prior
                    .moments(at)
                    .map(|(_, sd)| 1.0 - (element.sd / sd).powi(2)),
            };
            // If an element has the same value in all draws, it is reported separately, as a fixed
            // parameter.
            if let Some(share) = share.filter(|share| share.is_finite() && element.sd > 0.0) {
                known = true;
                sum += share.max(0.0);
            }
        }
    }
    if known { sum } else { 1.0 }
}

/// Returns warnings if the leave-one-out estimates of an approximation may be too high.
fn doubts((infer, outcome): (&InferenceBlock, &InferenceOutcome), left_out: &LeftOut) -> Vec<Diagnostic> {
    let p = left_out.total.p().sum;
    let found = outcome.splits.last().map(|split| &split.found);
    let is_sampled = found.is_some_and(|found| found.sampled().is_some());
    let informed = informed(infer, &outcome.sites);
    let is_point = p < LEAST_P * informed && !is_sampled;
    let parameters = infer.cost.parameters;
    let point = is_point.then(|| codes::no_spread(&infer.name, p, informed, parameters));
    let held = found
        .map(|found| found.held(infer))
        .filter(|held| held.count() > 0);
    let held = held.map(|held| codes::held(&infer.name, &held.names(), held.count()));
    point.into_iter().chain(held).collect()
}

/// Returns whether the training rows of two inference blocks have the same observed values, row by row.
fn same_observations(
    one: (&InferenceBlock, &InferenceOutcome),
    other: (&InferenceBlock, &InferenceOutcome),
) -> bool {
    let [own, reference] = [one, other].map(|pair| observed(pair, &pair.1.dataset.train));
    alike(&own, &reference)
}

impl Comparison {
    /// Returns `test` or `train`: the kind of rows that all metrics are computed on. Returns `None` if the kind differs between inference blocks.
    pub fn rows(&self) -> Option<&'static str> {
        let first = self.lines.first()?.tested;
        let alike = self.lines.iter().all(|line| line.tested == first);
        alike.then_some(rows_of(first))
    }

    /// Returns the headers of all columns except the column of names.
    pub fn heads(&self) -> Vec<String> {
        let mut heads = Vec::new();
        if self.leaves_out {
            heads.extend(["elpd_loo", "difference", "se", "p_loo", "bad k"].map(str::to_owned));
        }
        let head = |metric: &String| match self.rows() {
            Some(rows) if !is_time(metric) => format!("{rows} {metric}"),
            _ => metric.clone(),
        };
        heads.extend(self.metrics.iter().map(head));
        if self.rows().is_none() && !self.lines.is_empty() {
            heads.push("rows".to_owned());
        }
        heads
    }

    /// Returns the cells of a line without its name. Missing numbers are shown as a dash.
    pub fn cells(&self, line: &ComparisonLine) -> Vec<String> {
        let dash = || "-".to_owned();
        let mut cells = Vec::new();
        if self.leaves_out {
            let of = |part: &dyn Fn(&LeftOutLine) -> Option<f64>| {
                line.left_out.as_ref().and_then(part).map_or_else(dash, number)
            };
            cells.push(of(&|found| Some(found.elpd.sum)));
            cells.push(of(&|found| found.difference.map(|difference| difference.sum)));
            cells.push(of(&|found| found.difference.map(|difference| difference.error)));
            cells.push(of(&|found| Some(found.p.sum)));
            cells.push(
                line.left_out
                    .map_or_else(dash, |found| found.unreliable.to_string()),
            );
        }
        let value = |value: &Option<(f64, Option<f64>)>| value.map_or_else(dash, |(mean, _)| number(mean));
        cells.extend(line.values.iter().map(value));
        if self.rows().is_none() {
            cells.push(rows_of(line.tested).to_owned());
        }
        cells
    }

    /// Returns the table that `bnnc run` prints.
    pub fn text(&self) -> String {
        let heads = self.heads();
        let width = |head: &String| head.chars().count().max(if self.leaves_out { 10 } else { 16 });
        let mut text = format!("{:<16}", "compare");
        for head in &heads {
            text.push_str(&format!(" {head:>0$}", width(head)));
        }
        text.push('\n');
        for line in &self.lines {
            text.push_str(&format!("{:<16}", line.infer));
            for (head, cell) in heads.iter().zip(self.cells(line)) {
                text.push_str(&format!(" {cell:>0$}", width(head)));
            }
            text.push('\n');
        }
        for note in &self.notes {
            text.push_str(&format!("  {note}\n"));
        }
        text
    }

    /// Returns the comparison as a part of `result.json`.
    pub fn json(&self) -> Value {
        let line = |line: &ComparisonLine| {
            let mut metrics = Map::new();
            let timed = |(name, _): &(&String, _)| is_time(name);
            for (name, value) in self.metrics.iter().zip(&line.values).filter(|pair| !timed(pair)) {
                metrics.insert(name.clone(), value.map_or(Value::Null, |(mean, _)| finite(mean)));
                if let Some((_, Some(error))) = value {
                    metrics.insert(format!("{name}_se"), finite(*error));
                }
            }
            let mut value = json!({
                "infer": line.infer,
                "metrics_on": rows_of(line.tested),
                "metrics": metrics,
            });
            // Every value that depends on the clock is stored in `seconds`. The results of two runs can therefore be compared without these values.
            if let Some((_, time)) = self.metrics.iter().zip(&line.values).find(timed) {
                value["seconds"] = time.map_or(Value::Null, |(seconds, _)| finite(seconds));
            }
            if let Some(found) = &line.left_out {
                let part = |of: fn(&LooEstimate) -> f64| {
                    found.difference.as_ref().map_or(Value::Null, |d| finite(of(d)))
                };
                value["elpd_loo"] = finite(found.elpd.sum);
                value["elpd_loo_se"] = finite(found.elpd.error);
                value["p_loo"] = finite(found.p.sum);
                value["difference"] = part(|difference| difference.sum);
                value["difference_se"] = part(|difference| difference.error);
                value["rows_with_bad_k"] = json!(found.unreliable);
            }
            value
        };
        json!({
            "lines": self.lines.iter().map(line).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

fn is_time(metric: &str) -> bool {
    bnnc_abi::metrics::find(metric).is_some_and(|found| found.basis == Basis::Time)
}

fn rows_of(tested: bool) -> &'static str {
    if tested { "test" } else { "train" }
}
