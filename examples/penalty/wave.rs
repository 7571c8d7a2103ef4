//! A small network on the wave: predictive bands of two inference runs, and reliability.

use crate::runs::{Done, Wish};
use bnnc_abi::methods::sampling::Transition;
use bnnc_report::forecast::{self, Forecast};
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// The CSS classes of the curves, in order.
const CLASSES: [&str; 4] = ["mean", "other", "third", "exact"];

fn run(infers: &[&str], wish: Wish) -> Result<Done, String> {
    Wish {
        program: "penalty/wave.bnn",
        only: infers.iter().map(|infer| (*infer).to_owned()).collect(),
        ..wish
    }
    .run()
}

fn of_rows(done: &Done, name: &str) -> Result<Forecast, String> {
    let (infer, outcome) = done.infer(name)?;
    let found = forecast::of_rows((infer, 0), outcome, &done.context).map_err(|stop| format!("{stop:?}"))?;
    found.ok_or_else(|| format!("`{name}` predicts no number"))
}

/// Plots the 90 % band of one inference run. Also plots the limits of the band of another run.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn band(name: &str, exact: &str, wish: Wish) -> Result<String, String> {
    let done = run(&[name, exact], wish)?;
    let (infer, outcome) = done.infer(name)?;
    let train = &outcome.dataset.train;
    let column = |name: &str| train.original(name).map_err(|found| found.message);
    let (x, y) = (column("x")?, column("y")?);
    let grid = outcome
        .dataset
        .test
        .original("x")
        .map_err(|found| found.message)?;
    let what = match infer.sampling().map(|sampling| &sampling.transition) {
        Some(Transition::Penalty(options)) => format!("Batches of {} of {} rows", options.batch, x.len()),
        _ => infer.name.clone(),
    };
    let mut plot = Plot::new(
        &format!("{what}: predictions, 90 %"),
        (720.0, 440.0),
        PlotAxis::between("x", -1.0, 1.0),
        PlotAxis::between("y", -2.2, 2.2),
    );
    plot.dots("data", x.iter().zip(&y).step_by(4).map(|(x, y)| (*x, *y, 1.2)));
    plot.legend(Swatch::Dot, "data", "every fourth row");
    let (one, other) = (of_rows(&done, name)?, of_rows(&done, exact)?);
    plot.band("band50", &grid, &one.quantiles[0], &one.quantiles[3]);
    plot.line("mean", grid.iter().copied().zip(one.mean.iter().copied()));
    plot.legend(Swatch::Box, "band50", "penalty");
    for curve in [&other.quantiles[0], &other.mean, &other.quantiles[3]] {
        plot.line("exact", grid.iter().copied().zip(curve.iter().copied()));
    }
    plot.legend(Swatch::Line, "exact", "all rows, tempered");
    Ok(plot.render())
}

/// Plots the fraction of test targets inside central intervals against the nominal level of the intervals.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn reliability(infers: &[&str], wish: Wish) -> Result<String, String> {
    let done = run(infers, wish)?;
    let axis = |label: &str| PlotAxis::between(label, -0.02, 1.02);
    let mut plot = Plot::new(
        "Reliability of intervals, test rows",
        (520.0, 480.0),
        axis("nominal coverage"),
        axis("observed coverage"),
    );
    plot.line("guide", [(0.0, 0.0), (1.0, 1.0)].into_iter());
    let levels: Vec<f64> = (0..=20).map(|at| f64::from(at) / 20.0).collect();
    for (name, class) in infers.iter().zip(CLASSES.iter().cycle()) {
        let forecast = of_rows(&done, name)?;
        plot.line(
            class,
            levels.iter().map(|level| (*level, forecast.coverage(*level))),
        );
        plot.legend(Swatch::Line, class, name);
    }
    Ok(plot.render())
}
