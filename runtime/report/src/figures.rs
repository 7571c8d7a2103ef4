//! The plots of predictions, losses and sites in a report.

use crate::forecast::{Forecast, ForecastCurve};
use crate::svg::{Plot, PlotAxis, Swatch, matrix};
use bnnc_abi::manifest::InferenceBlock;
use bnnc_data::metrics::{CALIBRATION_BINS, DrawSummary};
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_inference::prune::PruningLine;
use bnnc_inference::summary::SiteSummary;
use bnnc_training::history::History;

const WIDE: (f64, f64) = (720.0, 420.0);
const SQUARE: (f64, f64) = (480.0, 460.0);

/// If there are more rows than this, intervals are drawn faintly.
const CROWD: usize = 250;

/// A loss curve has at most this number of points.
const LOSS_POINTS: usize = 400;

/// Draws predictions as a function of one input: the mean, intervals, and the data.
pub fn band(title: &str, curve: &ForecastCurve, target: &str) -> String {
    let [q05, q25, q75, q95] = &curve.forecast.quantiles;
    let data = PlotAxis::around("", curve.points.iter().map(|(_, y)| *y));
    // Far outside the data, intervals may become very wide. The axis is therefore limited, so that the data remain readable.
    let reach = 1.2 * (data.high - data.low);
    let inside = |y: &f64| y.clamp(data.low - reach, data.high + reach);
    let data_y = curve.points.iter().map(|(_, y)| *y);
    let y = PlotAxis::around(target, q05.iter().chain(q95).map(inside).chain(data_y));
    let ends = (
        curve.x.first().copied().unwrap_or(0.0),
        curve.x.last().copied().unwrap_or(1.0),
    );
    let mut plot = Plot::new(title, WIDE, PlotAxis::between(&curve.name, ends.0, ends.1), y);
    plot.band("band90", &curve.x, q05, q95);
    plot.band("band50", &curve.x, q25, q75);
    plot.dots("data", curve.points.iter().map(|(x, y)| (*x, *y, 2.2)));
    plot.line(
        "mean",
        curve.x.iter().copied().zip(curve.forecast.mean.iter().copied()),
    );
    plot.legend(Swatch::Line, "mean", "mean");
    plot.legend(Swatch::Box, "band50", "50 %");
    plot.legend(Swatch::Box, "band90", "90 %");
    plot.legend(Swatch::Dot, "data", "training data");
    plot.render()
}

/// Draws predicted values against observed values, with intervals.
pub fn observed(forecast: &Forecast, target: &str, rows: &str) -> String {
    let [q05, _, _, q95] = &forecast.quantiles;
    let seen = &forecast.observed;
    let x = PlotAxis::around(&format!("observed {target}"), seen.iter().copied());
    let all = seen.iter().chain(&forecast.mean).chain(q05).chain(q95).copied();
    let y = PlotAxis::around(&format!("predicted {target}"), all);
    let title = format!("Predicted against observed, {rows} rows");
    let mut plot = Plot::new(&title, SQUARE, x.clone(), y);
    plot.line("guide", [(x.low, x.low), (x.high, x.high)].into_iter());
    let interval = if seen.len() > CROWD { "crowd" } else { "interval" };
    plot.bars(
        interval,
        (0..seen.len()).map(|row| (seen[row], q05[row], q95[row])),
    );
    plot.dots(
        "estimate",
        (0..seen.len()).map(|row| (seen[row], forecast.mean[row], 2.4)),
    );
    plot.legend(Swatch::Dot, "estimate", "mean");
    let meaning = match forecast.of_mean {
        true => "90 % interval of the mean",
        false => "90 % interval",
    };
    plot.legend(Swatch::Line, interval, meaning);
    plot.legend(Swatch::Line, "guide", "equal");
    plot.render()
}

/// Draws the fraction of observed targets that lie inside central intervals, as a function
/// of the nominal level of the intervals. `of` is the name of the
/// target if there are several targets.
pub fn calibration(forecast: &Forecast, of: &str) -> String {
    let levels: Vec<f64> = (0..=20).map(|at| f64::from(at) / 20.0).collect();
    let axis = |label: &str| PlotAxis::between(label, -0.02, 1.02);
    let title = match of {
        "" => "Calibration of central intervals".to_owned(),
        _ => format!("Calibration of central intervals of {of}"),
    };
    let is_of_counts = forecast
        .ranks
        .iter()
        .any(|[below, not_above]| not_above - below > 0.05);
    // The coverage metric counts a value at an end of an interval as inside. Intervals of counts therefore contain more rows than their level.
    let observed = match is_of_counts {
        true => "observed coverage (a value at an end counts in part)",
        false => "observed coverage",
    };
    let mut plot = Plot::new(&title, SQUARE, axis("nominal coverage"), axis(observed));
    let count = forecast.ranks.len().max(1) as f64;
    let (low, high) = levels
        .iter()
        .map(|p| chance(*p, count))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    plot.band("chance", &levels, &low, &high);
    plot.line("guide", [(0.0, 0.0), (1.0, 1.0)].into_iter());
    let points: Vec<(f64, f64)> = levels
        .iter()
        .map(|level| (*level, forecast.coverage(*level)))
        .collect();
    plot.line("mean", points.iter().copied());
    plot.dots("estimate", points.iter().map(|(x, y)| (*x, *y, 3.0)));
    plot.legend(Swatch::Dot, "estimate", "observed");
    plot.legend(Swatch::Line, "guide", "calibrated");
    plot.legend(Swatch::Box, "chance", "90 % chance");
    plot.render()
}

/// Returns an approximate range for the observed fraction. For nine out of ten calibrated
/// models, the fraction lies in this range. `p` is the nominal
/// level, and `count` is the number of rows.
fn chance(p: f64, count: f64) -> (f64, f64) {
    let half = 1.645 * (p * (1.0 - p) / count).sqrt();
    ((p - half).max(0.0), (p + half).min(1.0))
}

/// Predictions of classes for some rows, with the true classes.
pub struct ClassPredictions<'a> {
    /// The probability of each class. There is one column per class, with one value per row.
    pub probabilities: &'a [&'a [f64]],
    /// The true class of each row.
    pub right: &'a [i32],
    /// The names of the classes. The slice is empty if the classes do not have names.
    pub names: &'a [String],
}

impl ClassPredictions<'_> {
    /// Returns the class with the largest probability in a row, and this probability.
    fn best(&self, row: usize) -> (usize, f64) {
        let columns = self.probabilities.iter().map(|column| column[row]).enumerate();
        columns.fold(
            (0, f64::NEG_INFINITY),
            |best, next| {
                if next.1 > best.1 { next } else { best }
            },
        )
    }

    /// Groups rows by the confidence of their prediction. For each bin, returns the number of rows, the sum of the confidences, and the number of
    /// correct predictions.
    fn bins(&self) -> [Bin; CALIBRATION_BINS] {
        let rows = self.right.iter().enumerate();
        binned(rows.map(|(row, right)| {
            let (class, confidence) = self.best(row);
            (confidence, i64::from(*right) == class as i64)
        }))
    }

    /// Groups class probabilities into bins. For each bin, returns the number of probabilities, their sum, and the number of times that the class
    /// occurred. With two classes, only the probabilities of the second class are counted. With more classes, the
    /// probabilities of all classes are counted.
    fn bins_of_classes(&self) -> [Bin; CALIBRATION_BINS] {
        let first = usize::from(self.probabilities.len() == 2);
        let classes = self.probabilities.iter().enumerate().skip(first);
        binned(classes.flat_map(|(class, column)| {
            let pairs = column.iter().zip(self.right);
            pairs.map(move |(probability, right)| (*probability, i64::from(*right) == class as i64))
        }))
    }

    /// Draws the accuracy of the predicted class against its probability.
    pub fn reliability(&self, rows: &str) -> String {
        let title = format!("Reliability, {rows} in {CALIBRATION_BINS} bins");
        against(
            &title,
            ("probability of the predicted class", "accuracy"),
            self.bins(),
        )
    }

    /// Draws the observed frequencies of classes against their predicted probabilities.
    pub fn calibration(&self, rows: &str) -> String {
        let (title, label) = match (self.probabilities.len(), self.names.get(1)) {
            (2, Some(name)) => (
                format!("Calibration of {name}, {rows}"),
                format!("probability of {name}"),
            ),
            (2, None) => (
                format!("Calibration of class 1, {rows}"),
                "probability of class 1".to_owned(),
            ),
            _ => (
                format!("Calibration of all classes, {rows}"),
                "probability of a class".to_owned(),
            ),
        };
        against(&title, (&label, "share of this class"), self.bins_of_classes())
    }
    /// Draws the confusion matrix: for each pair of a true class and a predicted class, the number of rows.
    pub fn confusion(&self, rows: &str) -> String {
        let classes = self.probabilities.len();
        let mut counts = vec![vec![0; classes]; classes];
        for (row, right) in self.right.iter().enumerate() {
            if let Some(counts) = counts.get_mut(usize::try_from(*right).unwrap_or(usize::MAX)) {
                counts[self.best(row).0] += 1;
            }
        }
        matrix(&format!("Confusion matrix, {rows}"), &counts, self.names)
    }
}

/// The number of predictions in a bin, the sum of their probabilities, and the number of predictions that came true.
type Bin = (f64, f64, f64);

/// Groups predictions into bins of equal width by their probabilities.
fn binned(predictions: impl Iterator<Item = (f64, bool)>) -> [Bin; CALIBRATION_BINS] {
    let mut bins = [(0.0, 0.0, 0.0); CALIBRATION_BINS];
    let count = CALIBRATION_BINS as f64;
    for (probability, is_true) in predictions {
        let bin = &mut bins[(probability * count).ceil().clamp(1.0, count) as usize - 1];
        *bin = (
            bin.0 + 1.0,
            bin.1 + probability,
            bin.2 + f64::from(u8::from(is_true)),
        );
    }
    bins
}

/// Draws the observed frequency of events against their predicted probability.
fn against(title: &str, (x, y): (&str, &str), bins: [Bin; CALIBRATION_BINS]) -> String {
    let axis = |label: &str| PlotAxis::between(label, -0.04, 1.05);
    let mut plot = Plot::new(title, SQUARE, axis(x), axis(y));
    let filled: Vec<Bin> = bins.into_iter().filter(|(count, ..)| *count > 0.0).collect();
    let intervals = filled.iter().map(|(count, probability, hits)| {
        let (low, high) = wilson(hits / count, *count);
        (probability / count, low, high)
    });
    plot.line("guide", [(0.0, 0.0), (1.0, 1.0)].into_iter());
    plot.bars("interval", intervals);
    let total = filled.iter().map(|(count, ..)| count).sum::<f64>().max(1.0);
    let dots = filled.iter().map(|(count, probability, hits)| {
        (
            probability / count,
            hits / count,
            3.0 + 8.0 * (count / total).sqrt(),
        )
    });
    plot.dots("estimate", dots);
    plot.legend(Swatch::Dot, "estimate", "bin, area by rows");
    plot.legend(Swatch::Line, "interval", "90 % interval");
    plot.legend(Swatch::Line, "guide", "calibrated");
    plot.render()
}

/// Returns Wilson's 90 % interval for a proportion.
fn wilson(share: f64, count: f64) -> (f64, f64) {
    let z2 = 1.645f64.powi(2);
    let middle = (share + z2 / (2.0 * count)) / (1.0 + z2 / count);
    let half = (z2 / count * (share * (1.0 - share) + z2 / (4.0 * count))).sqrt() / (1.0 + z2 / count);
    (middle - half, middle + half)
}

/// Returns an axis for losses by epoch. The loss may decrease so much in the first epochs that the rest would look like a flat line. These epochs are
/// then left out.
fn settled<'a>(label: &str, points: impl Iterator<Item = &'a (f64, f64)> + Clone, epochs: f64) -> PlotAxis {
    let all = PlotAxis::around(label, points.clone().map(|point| point.1));
    let later = points
        .filter(|point| point.0 >= 0.03 * epochs)
        .map(|point| point.1);
    let later = PlotAxis::around(label, later);
    match all.high - all.low < 3.0 * (later.high - later.low) {
        true => all,
        false => later,
    }
}

/// Draws the loss of every epoch. Each split has its own line.
pub fn loss(infer: &InferenceBlock, outcome: &InferenceOutcome) -> Option<String> {
    let per_row = |history: &History, rows: usize| {
        let losses = history.means();
        let every = losses.len().div_ceil(LOSS_POINTS).max(1);
        let point = |(at, chunk): (usize, &[f64])| {
            let mean = chunk.iter().sum::<f64>() / chunk.len() as f64;
            let middle = (at * every) as f64 + 0.5 * (chunk.len() + 1) as f64;
            (middle * history.epochs_each(), mean / rows.max(1) as f64)
        };
        losses.chunks(every).enumerate().map(point).collect::<Vec<_>>()
    };
    let curves: Vec<Vec<(f64, f64)>> = outcome
        .splits
        .iter()
        .filter_map(|split| split.found.fitted().map(|fitted| (fitted, split.train)))
        .map(|(fitted, rows)| per_row(&fitted.history, rows))
        .collect();
    let fitted = outcome.splits.iter().filter_map(|split| split.found.fitted());
    let epochs = fitted.map(|fitted| fitted.epochs);
    // If all iterates come from an earlier inference block, the training does not have epochs.
    let epochs = epochs.max().filter(|epochs| *epochs > 0)? as f64;
    let y = settled("loss per training row", curves.iter().flatten(), epochs);
    let mut plot = Plot::new("Training", WIDE, PlotAxis::between("epoch", 0.0, epochs), y);
    let class = if curves.len() > 1 { "thin" } else { "mean" };
    for curve in curves {
        plot.line(class, curve.into_iter());
    }
    let objective = match infer.maximises_bound() {
        true => "negative evidence lower bound",
        false => "negative log posterior",
    };
    let what = match outcome.splits.len() {
        1 => format!("{objective}, mean of an epoch"),
        count => format!("{objective}, one line for each of {count} splits"),
    };
    plot.legend(Swatch::Line, class, &what);
    Some(plot.render())
}

/// Draws the loss on the validation rows for every epoch. Each split has its own line.
pub fn validation(outcome: &InferenceOutcome) -> Option<String> {
    let fitted = outcome.splits.iter().filter_map(|split| split.found.fitted());
    let curves: Vec<Vec<(f64, f64)>> = fitted
        .filter_map(|fitted| Some(fitted.validation.as_ref()?.points()))
        .collect();
    let points = || curves.iter().flatten();
    let epochs = points().map(|point| point.0).fold(0.0, f64::max);
    points().next()?;
    let y = settled("loss per validation row", points(), epochs);
    let mut plot = Plot::new("Validation", WIDE, PlotAxis::between("epoch", 0.0, epochs), y);
    let class = if curves.len() > 1 { "thin" } else { "mean" };
    for curve in curves {
        plot.line(class, curve.into_iter());
    }
    plot.legend(Swatch::Line, class, "negative log predictive density");
    Some(plot.render())
}

/// Draws the cost of pruning. The error rate, or the root mean squared error, is drawn against the fraction of removed weights.
pub fn pruning(outcome: &InferenceOutcome) -> Option<String> {
    let lines = outcome.pruning();
    let figure = |line: &PruningLine| {
        let metric = |wanted: &str| {
            let found = line.metrics.iter().find(|(name, ..)| name == wanted);
            found.map(|(_, mean, error)| (*mean, error.unwrap_or(0.0)))
        };
        let mistakes = metric("accuracy").map(|(right, error)| (100.0 * (1.0 - right), 100.0 * error));
        mistakes
            .or(metric("rmse"))
            .map(|(value, error)| (100.0 * line.fraction, value, error))
    };
    let mut points: Vec<(f64, f64, f64)> = lines.iter().filter_map(figure).collect();
    if points.len() < 2 {
        return None;
    }
    points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let is_classes = lines[0].metrics.iter().any(|(name, ..)| name == "accuracy");
    let label = if is_classes { "wrong, %" } else { "rmse" };
    let ends = points
        .iter()
        .flat_map(|(_, value, error)| [value - error, value + error]);
    let y = PlotAxis::around(label, ends.chain([0.0]));
    let x = PlotAxis::between("weights removed, %", 0.0, 100.0);
    let mut plot = Plot::new("Pruning by signal to noise", WIDE, x, y);
    plot.bars(
        "interval",
        points
            .iter()
            .map(|(x, value, error)| (*x, value - error, value + error)),
    );
    plot.line("mean", points.iter().map(|(x, value, _)| (*x, *value)));
    plot.dots("estimate", points.iter().map(|(x, value, _)| (*x, *value, 3.5)));
    Some(plot.render())
}

/// Elements are drawn with their names if there are at most this number of elements.
const NAMED: usize = 60;

/// Draws the elements of a site as intervals, in their order. The names of the elements are shown if there are not too many elements.
pub fn intervals(site: &SiteSummary) -> String {
    let elements = || site.elements.iter().enumerate();
    let values = PlotAxis::around(&site.name, elements().flat_map(|(_, s)| [s.q05, s.q95]));
    let count = site.elements.len();
    // If all standard deviations are zero, the posterior is a point estimate.
    let is_point = site.elements.iter().all(|summary| summary.sd == 0.0);
    let title = match is_point {
        true => format!("Estimate of {}", site.name),
        false => format!("Posterior of {}", site.name),
    };
    let is_named = count <= NAMED;
    let mut plot = match is_named {
        true => Plot::new(
            &title,
            (520.0, 120.0 + 20.0 * count as f64),
            values,
            PlotAxis::named("", site.names.clone()),
        ),
        false => Plot::new(
            &title,
            WIDE,
            PlotAxis::between("element", -0.6, count as f64 - 0.4),
            values,
        ),
    };
    let bars = elements().map(|(at, s)| (at as f64, s.q05, s.q95));
    match is_named {
        true => plot.rows("interval", bars),
        false => plot.bars("interval", bars),
    }
    let dot = |(at, s): (usize, &DrawSummary)| match is_named {
        true => (s.mean, at as f64, 3.0),
        false => (at as f64, s.mean, 3.0),
    };
    plot.dots("estimate", elements().map(dot));
    if is_point {
        plot.legend(Swatch::Dot, "estimate", "value");
    } else {
        plot.legend(Swatch::Dot, "estimate", "mean");
        plot.legend(Swatch::Line, "interval", "90 % interval");
    }
    plot.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilsons_interval_matches_its_formula() {
        // Wilson's formula (1927), evaluated by hand, is (p + z²/2n ± z √(p q / n + z²/4n²)) / (1 + z²/n), with z = 1.645.
        let (low, high) = wilson(0.5, 100.0);
        assert!((low - 0.418_84).abs() < 1e-4, "{low}");
        assert!((high - 0.581_16).abs() < 1e-4, "{high}");
    }

    #[test]
    fn the_bins_are_those_of_the_calibration_error() {
        let (zero, one) = ([0.9, 0.3, 0.45], [0.1, 0.7, 0.55]);
        let classes = ClassPredictions {
            probabilities: &[&zero, &one],
            right: &[0, 1, 0],
            names: &[],
        };
        let bins = classes.bins();
        assert_eq!(bins[13], (1.0, 0.9, 1.0));
        assert_eq!(bins[10], (1.0, 0.7, 1.0));
        assert_eq!(bins[8], (1.0, 0.55, 0.0));
    }
}
