//! Two estimates of the mean of the sigmoid of a normal weight. One uses the box of a few draws, and the other is the mean
//! over these draws.

use crate::figure::{self, CURVES};
use crate::{Extent, cell, differences, term};
use bnnc_data::metrics::mean_and_standard_error;
use bnnc_math::philox::{key, normal};
use bnnc_math::special::sigmoid;
use bnnc_piecewise::mean_sigmoid;
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// Means and standard deviations of the weight.
const WEIGHTS: [(f64, f64); 6] = [
    (1.85, 1.0),
    (0.0, 1.0),
    (1.85, 0.3),
    (1.85, 4.0),
    (0.0, 4.0),
    (5.0, 2.0),
];
/// Numbers of draws.
const COUNTS: [usize; 8] = [2, 3, 5, 10, 20, 30, 50, 100];

const NAMES: [&str; 3] = ["Monte Carlo", "range", "moments"];

const SIZE: (f64, f64) = (400.0, 280.0);

/// Returns the mean of the sigmoid under the normal distribution, by the trapezoidal rule.
fn truth((mean, sd): (f64, f64)) -> f64 {
    let step = 0.02;
    let at = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt() * sigmoid(mean + sd * z);
    step * (-500..=500).map(|index| at(step * f64::from(index))).sum::<f64>()
}

/// Returns the absolute errors of the trials, for each method and number of draws.
fn errors(weight: (f64, f64), trials: usize) -> [Vec<Vec<f64>>; 3] {
    let (mean, sd) = weight;
    let truth = truth(weight);
    let most = COUNTS.into_iter().max().unwrap_or(0);
    let draws = |trial: usize| -> Vec<f64> {
        let z = |draw: usize| normal(key(0, "weight"), [draw as u32, trial as u32, 0], 0);
        (0..most).map(|draw| mean + sd * z(draw)).collect()
    };
    let all: Vec<Vec<f64>> = (0..trials).map(draws).collect();
    let each = |way: &dyn Fn(&[f64]) -> f64| -> Vec<Vec<f64>> {
        let error = |count: usize| {
            all.iter()
                .map(|draws| (way(&draws[..count]) - truth).abs())
                .collect()
        };
        COUNTS.into_iter().map(error).collect()
    };
    let collapsed = |draws: &[f64], extent| mean_sigmoid(&[term(1.0, draws.iter().copied(), extent)], 0.0);
    [
        each(&|draws| draws.iter().map(|draw| sigmoid(*draw)).sum::<f64>() / draws.len() as f64),
        each(&|draws| collapsed(draws, Extent::Range)),
        each(&|draws| collapsed(draws, Extent::Moments)),
    ]
}

fn table((mean, sd): (f64, f64), [plain, range, moments]: &[Vec<Vec<f64>>; 3]) {
    println!(
        "\nweight ~ Normal({mean}, {sd}), true mean {:.6}\n",
        truth((mean, sd))
    );
    println!(
        "| draws | Monte Carlo | range | moments | range - Monte Carlo | moments - Monte Carlo |\n|---|---|---|---|---|---|"
    );
    for (at, count) in COUNTS.iter().enumerate() {
        let (plain, range, moments) = (&plain[at], &range[at], &moments[at]);
        let cells = [plain, range, moments].map(|values| cell(values)).join(" | ");
        let paired = [range, moments]
            .map(|values| cell(&differences(values, plain)))
            .join(" | ");
        println!("| {count} | {cells} | {paired} |");
    }
}

fn plot((mean, sd): (f64, f64), errors: &[Vec<Vec<f64>>; 3], is_first: bool) -> Plot {
    let (x, y) = (
        PlotAxis::between("log10 of the draws", 0.2, 2.1),
        PlotAxis::between("log10 of the mean error", -2.9, -0.5),
    );
    let mut plot = Plot::new(&format!("weight ~ Normal({mean}, {sd})"), SIZE, x, y);
    for ((curve, class), name) in errors.iter().zip(CURVES).zip(NAMES) {
        let places = || {
            let points = COUNTS.iter().zip(curve);
            points.map(|(count, values)| ((*count as f64).log10(), mean_and_standard_error(values)))
        };
        plot.line(class, places().map(|(x, (mean, _))| (x, mean.log10())));
        let ends = |(x, (mean, error)): (f64, (f64, Option<f64>))| {
            let error = error.unwrap_or(0.0);
            (x, (mean - error).log10(), (mean + error).log10())
        };
        plot.bars(class, places().map(ends));
        if is_first {
            plot.legend(Swatch::Line, class, name);
        }
    }
    plot
}

/// Prints and plots the errors for all distributions of the weight.
///
/// # Errors
/// This function does not fail.
pub fn picture(trials: usize) -> Result<String, String> {
    let all = WEIGHTS.map(|weight| (weight, errors(weight, trials)));
    println!("mean absolute error of E sigma(weight), {trials} trials");
    for (weight, errors) in &all {
        table(*weight, errors);
    }
    let plots: Vec<Plot> = all
        .iter()
        .enumerate()
        .map(|(at, (weight, errors))| plot(*weight, errors, at == 0))
        .collect();
    Ok(figure::page(
        "The mean of a sigmoid: absolute error of Monte Carlo and of collapsed draws",
        &plots,
        SIZE,
        3,
    ))
}
