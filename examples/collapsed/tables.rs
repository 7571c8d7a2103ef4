//! Compares methods that predict from the snapshots of one SGD trajectory, on the standard splits of yacht, energy and concrete.

use crate::figure::{self, CURVES};
use crate::runs::{Done, Wish};
use crate::{cell, differences};
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// The name of each data set, and its program.
const TABLES: [(&str, &str); 3] = [
    ("yacht", "yacht/collapsed.bnn"),
    ("energy", "energy/collapsed.bnn"),
    ("concrete", "concrete/collapsed.bnn"),
];

/// The inference blocks with their titles. Differences are relative to the first block.
const INFERS: [(&str, &str); 9] = [
    ("sgd", "SGD, the last snapshot"),
    ("swa", "their average"),
    ("gaussian", "SWAG"),
    ("snapshots", "all of them"),
    ("last", "collapsed, last layer"),
    ("second", "collapsed, a unit of the second to last"),
    ("triangular", "last layer, triangular noise"),
    ("published", "two weights and the bias, scored as published"),
    ("mean_field", "mean-field VI"),
];

/// The inference blocks that the figure shows.
const DRAWN: [&str; 3] = ["gaussian", "snapshots", "last"];

const SIZE: (f64, f64) = (400.0, 280.0);

/// Returns a metric of an inference run for each split. If the inference block was not run, the list is empty.
fn metric(done: &Done, infer: &str, name: &str) -> Vec<f64> {
    let Ok((_, outcome)) = done.infer(infer) else {
        return Vec::new();
    };
    let of = |set: &bnnc_data::metrics::MetricSet| {
        set.iter().find(|(own, _)| own == name).map(|(_, value)| *value)
    };
    outcome
        .splits
        .iter()
        .filter_map(|split| of(&split.metrics))
        .collect()
}

fn table(title: &str, done: &Done) {
    println!(
        "\n{title}\n\n| | log likelihood | RMSE | log likelihood - SGD | - SWAG | - all of them |\n|---|---|---|---|---|---|"
    );
    let likelihood = |infer: &str| metric(done, infer, "log_likelihood");
    for (infer, words) in INFERS {
        let own = likelihood(infer);
        if own.is_empty() {
            continue;
        }
        let paired = ["sgd", "gaussian", "snapshots"].map(|from| match infer == from {
            true => String::new(),
            false => cell(&differences(&own, &likelihood(from))),
        });
        println!(
            "| {words} | {} | {} | {} |",
            cell(&own),
            cell(&metric(done, infer, "rmse")),
            paired.join(" | ")
        );
    }
}

fn plot(title: &str, done: &Done, is_first: bool) -> Plot {
    let sgd = metric(done, "sgd", "log_likelihood");
    let curves = DRAWN.map(|infer| differences(&metric(done, infer, "log_likelihood"), &sgd));
    let y = PlotAxis::around(
        "log likelihood - SGD",
        curves.iter().flatten().copied().chain([0.0]),
    );
    let mut plot = Plot::new(
        title,
        SIZE,
        PlotAxis::between("split", -0.5, sgd.len() as f64 - 0.5),
        y,
    );
    plot.line("guide", [(-1.0, 0.0), (sgd.len() as f64, 0.0)].into_iter());
    for ((curve, class), infer) in curves.iter().zip(CURVES).zip(DRAWN) {
        plot.line(
            class,
            curve
                .iter()
                .enumerate()
                .map(|(split, value)| (split as f64, *value)),
        );
        if let (true, Some((_, words))) = (is_first, INFERS.iter().find(|(name, _)| *name == infer)) {
            plot.legend(Swatch::Line, class, words);
        }
    }
    plot
}

/// Prints the tables with these names (without names, all tables), and plots the differences from SGD on each split.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn picture(wish: &Wish, names: &[&str]) -> Result<String, String> {
    if let Some(name) = names
        .iter()
        .find(|name| TABLES.iter().all(|(known, _)| known != *name))
    {
        return Err(format!("no table `{name}`: `yacht`, `energy` or `concrete`"));
    }
    let mut plots = Vec::new();
    let chosen = |title: &str| names.is_empty() || names.contains(&title);
    for (title, program) in TABLES.into_iter().filter(|(title, _)| chosen(title)) {
        let mut wish = Wish {
            program,
            only: INFERS.map(|(name, _)| name.to_owned()).to_vec(),
            ..wish.clone()
        };
        wish.settings.insert(0, format!("{title}.split=all"));
        let done = wish.run()?;
        table(title, &done);
        plots.push(plot(title, &done, plots.is_empty()));
    }
    Ok(figure::page(
        "Test log likelihood above SGD's",
        &plots,
        SIZE,
        plots.len(),
    ))
}
