//! Rotated digits: metrics for each angle, and the gain from rejecting the most uncertain predictions.

use crate::figure::{self, CURVES};
use crate::runs::{Done, Wish};
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// The inference blocks that the figure shows, with their titles. The table shows all blocks.
const DRAWN: [(&str, &str); 7] = [
    ("mode", "maximum"),
    ("diagonal", "diagonal"),
    ("selected_1000", "1000 selected"),
    ("random_1000", "1000 random"),
    ("swag", "SWAG"),
    ("five", "5 members"),
    ("dropout", "dropout"),
];

const SIZE: (f64, f64) = (460.0, 320.0);

/// The metrics that the figure shows, with their titles.
const METRICS: [(&str, &str); 4] = [
    ("log_likelihood", "log likelihood"),
    ("accuracy", "accuracy"),
    ("ece", "calibration error"),
    ("brier", "Brier score"),
];

/// Returns each angle with the metric of the test rows that are rotated by this angle.
fn angles(done: &Done, name: &str, metric: &str) -> Result<Vec<(f64, f64)>, String> {
    let (infer, outcome) = done.infer(name)?;
    let last = outcome.splits.last().ok_or("nothing was found")?;
    let spec = done.manifest.data.iter().find(|spec| spec.name == infer.data);
    let first = spec.and_then(|spec| spec.rotate.first().copied()).unwrap_or(0.0);
    let sets = std::iter::once((first, &last.metrics))
        .chain(last.rotated.iter().map(|(degrees, set)| (*degrees, set)));
    let value = |set: &[(String, f64)]| {
        set.iter()
            .find(|(name, _)| name == metric)
            .map(|(_, value)| *value)
    };
    Ok(sets
        .filter_map(|(degrees, set)| Some((degrees, value(set)?)))
        .collect())
}

fn drawn(done: &Done) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let curves = DRAWN.into_iter().zip(CURVES);
    let known = |name: &str| done.infer(name).is_ok();
    curves
        .filter(move |((name, _), _)| known(name))
        .map(|((name, title), class)| (name, title, class))
}

fn of_metric(done: &Done, (metric, label): (&str, &str)) -> Result<Plot, String> {
    let mut curves = Vec::new();
    for (name, title, class) in drawn(done) {
        curves.push((angles(done, name, metric)?, title, class));
    }
    let all = curves.iter().flat_map(|(points, ..)| points.iter());
    let x = PlotAxis::around("degrees", all.clone().map(|(degrees, _)| *degrees));
    let mut plot = Plot::new(label, SIZE, x, PlotAxis::around("", all.map(|(_, value)| *value)));
    for (points, title, class) in curves {
        plot.line(class, points.into_iter());
        if metric == "accuracy" || metric == "log_likelihood" {
            let half = DRAWN.iter().position(|(_, known)| *known == title).unwrap_or(0) < 4;
            if half == (metric == "log_likelihood") {
                plot.legend(Swatch::Line, class, title);
            }
        }
    }
    Ok(plot)
}

fn of_rejection(done: &Done) -> Result<Plot, String> {
    let x = PlotAxis::between("rejected, the most unsure first", -0.02, 0.92);
    let mut plot = Plot::new(
        "Accuracy on digits and pieces of digits",
        SIZE,
        x,
        PlotAxis::between("", 0.4, 1.02),
    );
    for (name, _, class) in drawn(done) {
        let (_, outcome) = done.infer(name)?;
        plot.line(
            class,
            outcome
                .rejection()
                .into_iter()
                .filter_map(|(fraction, accuracies)| Some((fraction, accuracies.first()?.1))),
        );
    }
    Ok(plot)
}

fn table(done: &Done) -> Result<(), String> {
    println!(
        "| | accuracy | log likelihood | ece | brier | 60 degrees: accuracy | log likelihood | ece | brier | AUROC | half rejected | fit s |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for outcome in &done.result.outcomes {
        let mut cells = vec![outcome.name.clone()];
        for degrees in [0.0, 60.0] {
            for metric in ["accuracy", "log_likelihood", "ece", "brier"] {
                let points = angles(done, &outcome.name, metric)?;
                let at = points.iter().find(|(angle, _)| *angle == degrees);
                cells.push(at.map_or(String::new(), |(_, value)| format!("{value:.3}")));
            }
        }
        let last = outcome.splits.last().ok_or("nothing was found")?;
        let auroc = last.metrics.iter().find(|(name, _)| name == "ood_auroc");
        cells.push(auroc.map_or(String::new(), |(_, value)| format!("{value:.3}")));
        let half = outcome
            .rejection()
            .into_iter()
            .find(|(fraction, _)| *fraction == 0.5);
        let half = half.and_then(|(_, accuracies)| Some(accuracies.first()?.1));
        cells.push(half.map_or(String::new(), |accuracy| format!("{accuracy:.3}")));
        cells.push(format!("{:.1}", last.fit_seconds));
        println!("| {} |", cells.join(" | "));
    }
    Ok(())
}

/// Plots and prints metrics for each angle, and for each fraction of rejected predictions.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn picture(wish: Wish) -> Result<String, String> {
    let done = Wish {
        program: "digits/turned.bnn",
        ..wish
    }
    .run()?;
    table(&done)?;
    let metrics = METRICS.iter().map(|metric| of_metric(&done, *metric));
    let mut plots = metrics.collect::<Result<Vec<Plot>, String>>()?;
    plots.push(of_rejection(&done)?);
    Ok(figure::page("Digits turned by more and more", &plots, SIZE, 2))
}
