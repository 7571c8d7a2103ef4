//! The gain of collapsed inference: `cargo run --release --example collapsed -- line 100 --svg line.svg`.
//!
//! `line TRIALS` estimates predictive distributions of Bayesian linear regression from a few draws, and computes the KL divergences between these
//! estimates and the true predictive distribution. `sigmoid TRIALS` computes the errors of estimated means of a sigmoid. `cubic SEEDS` runs
//! `cubic.bnn`, a network on twenty rows, and plots predictive bands of three methods: 2000 draws, ten draws, and collapsed inference on the same ten
//! draws. `tables NAME ..` runs `collapsed.bnn` over the standard splits of the named data sets. Without a name, it runs yacht, energy and concrete.
//! Options: `--svg FILE`, and `--data NAME=PATH` and `--set ITEM.OPTION=VALUE` as for `bnnc run`.

mod cubic;
#[path = "../laplace/figure.rs"]
mod figure;
mod line;
#[allow(dead_code, reason = "nothing is predicted at other rows")]
#[path = "../runs.rs"]
mod runs;
mod sigmoid;
mod tables;

use bnnc_data::metrics::mean_and_standard_error;
use bnnc_piecewise::UniformTerm;
use runs::{count, show};
use std::process::ExitCode;

fn main() -> ExitCode {
    show(|words, wish| match *words {
        ["line", trials] => line::picture(count(trials)?),
        ["sigmoid", trials] => sigmoid::picture(count(trials)?),
        ["cubic", seeds] => cubic::picture(wish, count(seeds)?),
        ["tables", ref names @ ..] => tables::picture(&wish, names),
        _ => Err("what? `line TRIALS`, `sigmoid TRIALS`, `cubic SEEDS` or `tables NAME ..`".into()),
    })
}

/// The kinds of boxes of weights: `box = range` and `box = moments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Range,
    Moments,
}

/// Returns the term `slope * weight`. The weight has a uniform distribution over the box of its draws.
fn term(slope: f64, draws: impl Iterator<Item = f64> + Clone, extent: Extent) -> UniformTerm {
    let (lower, upper) = match extent {
        Extent::Range => (
            draws.clone().fold(f64::INFINITY, f64::min),
            draws.fold(f64::NEG_INFINITY, f64::max),
        ),
        Extent::Moments => {
            let count = draws.clone().count() as f64;
            let mean = draws.clone().sum::<f64>() / count;
            let variance = draws.map(|draw| (draw - mean).powi(2)).sum::<f64>() / count;
            // A uniform distribution on mean +- half has the variance half^2 / 3.
            let half = (3.0 * variance).sqrt();
            (mean - half, mean + half)
        }
    };
    UniformTerm { slope, lower, upper }
}

/// Formats a mean with its standard error.
fn cell(values: &[f64]) -> String {
    match mean_and_standard_error(values) {
        (mean, Some(error)) => format!("{mean:.4} ± {error:.4}"),
        (mean, None) => format!("{mean:.4}"),
    }
}

/// Returns the elementwise differences `of - from`.
fn differences(of: &[f64], from: &[f64]) -> Vec<f64> {
    of.iter().zip(from).map(|(of, from)| of - from).collect()
}
