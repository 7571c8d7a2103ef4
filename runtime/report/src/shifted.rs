//! The metrics of test rows with corrupted images: tables, and plots of a metric against the severity.

use crate::page;
use crate::result::what;
use crate::svg::{Plot, PlotAxis, Swatch};
use bnnc_abi::corruption::Shift;
use bnnc_core::number::number;
use bnnc_inference::outcome::{InferenceOutcome, MetricOverSplits};

/// The metrics in the tables and plots, for outputs that are classes or numbers. `result.json` has all metrics.
const SHOWN: [&str; 5] = ["accuracy", "nll", "ece", "rmse", "log_likelihood"];

/// Returns the metrics of one line that the tables show. The log likelihood of a class is minus its `nll`, so it is left out.
fn shown(metrics: &[MetricOverSplits]) -> impl Iterator<Item = &MetricOverSplits> {
    let is_of_class = metrics.iter().any(|(name, ..)| what(name) == "nll");
    metrics.iter().filter(move |(name, ..)| {
        SHOWN.contains(&what(name)) && !(is_of_class && what(name) == "log_likelihood")
    })
}

/// Returns the printed table, with one line per shift.
pub(crate) fn table(outcome: &InferenceOutcome) -> String {
    let lines = outcome.shifted();
    let Some((_, first)) = lines.first() else {
        return String::new();
    };
    let mut text = format!("  {:<18}", "shift");
    for (name, ..) in shown(first) {
        text.push_str(&format!(" {name:>14}"));
    }
    for (shift, metrics) in &lines {
        text.push_str(&format!("\n  {:<18}", shift.to_string()));
        for (_, mean, _) in shown(metrics) {
            text.push_str(&format!(" {:>14}", number(*mean)));
        }
    }
    text + "\n\n"
}

/// Writes the table of the HTML page.
pub(crate) fn write(body: &mut String, outcome: &InferenceOutcome) {
    let lines = outcome.shifted();
    let mut heads = vec!["shift"];
    if let Some((_, first)) = lines.first() {
        heads.extend(shown(first).map(|(name, ..)| name.as_str()));
    }
    let rows = lines.iter().map(|(shift, metrics)| {
        let values = shown(metrics).map(|(_, mean, _)| format!("{mean:.4}"));
        std::iter::once(format!("<code>{shift}</code>"))
            .chain(values)
            .collect()
    });
    page::table(body, "Test rows with corrupted images", &heads, rows);
}

/// Returns a plot of each metric against the severity: a line per corruption, and the mean over the corruptions of a severity. The severity 0
/// stands for the test rows as they are.
pub(crate) fn figures(outcome: &InferenceOutcome) -> Vec<String> {
    let lines = outcome.shifted();
    let Some((_, first)) = lines.first() else {
        return Vec::new();
    };
    let names = shown(first).map(|(name, ..)| name.clone());
    names.map(|name| figure(outcome, &lines, &name)).collect()
}

fn figure(outcome: &InferenceOutcome, lines: &[(Shift, Vec<MetricOverSplits>)], name: &str) -> String {
    let values = outcome.splits.iter().filter_map(|split| {
        let mut metrics = split.metrics.iter();
        metrics.find(|(own, _)| own == name).map(|(_, value)| *value)
    });
    let clean = mean(values);
    let points: Vec<(Shift, f64)> = lines
        .iter()
        .filter_map(|(shift, metrics)| {
            let mut metrics = metrics.iter();
            Some((*shift, metrics.find(|(own, ..)| own == name)?.1))
        })
        .collect();
    let all = points.iter().map(|(_, value)| *value).chain(clean);
    let x = PlotAxis::between("severity", -0.1, f64::from(Shift::SEVEREST) + 0.1);
    let mut plot = Plot::new(
        &format!("{name} under corruptions"),
        (480.0, 360.0),
        x,
        PlotAxis::around(name, all),
    );
    let start = || clean.map(|clean| (0.0, clean)).into_iter();
    let at = |(shift, value): &(Shift, f64)| (f64::from(shift.severity), *value);
    let mut sorted = points.clone();
    sorted.sort_by_key(|(shift, _)| (shift.corruption as u8, shift.severity));
    for of_one in sorted.chunk_by(|one, next| one.0.corruption == next.0.corruption) {
        plot.line("thin", start().chain(of_one.iter().map(at)));
    }
    let means = (1..=Shift::SEVEREST).filter_map(|severity| {
        let own = points.iter().filter(|(shift, _)| shift.severity == severity);
        Some((f64::from(severity), mean(own.map(|(_, value)| *value))?))
    });
    let means: Vec<(f64, f64)> = start().chain(means).collect();
    plot.line("mean", means.iter().copied());
    plot.dots("estimate", means.iter().map(|(x, y)| (*x, *y, 3.0)));
    plot.legend(Swatch::Dot, "estimate", "mean");
    plot.legend(Swatch::Line, "thin", "one corruption");
    plot.render()
}

/// Returns the mean of some numbers, or `None` without numbers.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
