//! Bayesian linear regression. The example computes the KL divergence between the true predictive distribution and estimates of it from a few
//! draws of the posterior.
//!
//! The noise has standard deviation 1. The posterior of the weights is `Normal(0, S)`. Its mean does not affect the KL divergences. `S` is the
//! inverse of the covariance `C` of the inputs, as for a posterior from many rows. The inputs of a trial are drawn from `Normal(0, C)` and scaled so
//! that `f` has the standard deviation `t`. All correlations of `C` are equal.

use crate::figure::{self, CURVES};
use crate::{Extent, cell, differences, term};
use bnnc_data::metrics::{log_mean_exp, mean_and_standard_error};
use bnnc_math::philox::{key, normal};
use bnnc_math::triangle::ALPHA_VARIANCE;
use bnnc_piecewise::{Law, Network, ObservationNoise};
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// Standard deviations of `f`, relative to the standard deviation of the noise.
const RATIOS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
/// Numbers of weights.
const DIMENSIONS: [usize; 4] = [1, 2, 5, 10];
/// Numbers of draws. Collapsed predictions use at most `MOST` draws.
const COUNTS: [usize; 9] = [2, 3, 5, 10, 20, 30, 50, 100, 200];
const MOST: usize = 50;
/// Correlations of the inputs. The figure shows the first correlation.
const CORRELATIONS: [f64; 2] = [0.0, 0.9];

const SIZE: (f64, f64) = (330.0, 260.0);

/// A method of prediction from draws, with its title.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    MonteCarlo,
    Collapsed(Extent),
}

const WAYS: [(Way, &str); 3] = [
    (Way::MonteCarlo, "Monte Carlo"),
    (Way::Collapsed(Extent::Range), "range"),
    (Way::Collapsed(Extent::Moments), "moments"),
];

/// The setting of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Regime {
    ratio: f64,
    dimension: usize,
    correlation: f64,
    noise: ObservationNoise,
}

/// The draws of the posterior, and the inputs of the row to predict.
struct Trial {
    inputs: Vec<f64>,
    draws: Vec<Vec<f64>>,
}

impl Regime {
    /// Returns `v` times a power of the covariance of the inputs. The power is `1/2` for inputs and `-1/2` for draws of weights. The covariance has
    /// two eigenspaces.
    fn root(&self, mut v: Vec<f64>, power: f64) -> Vec<f64> {
        let size = self.dimension as f64;
        let along = (1.0 + (size - 1.0) * self.correlation).powf(power);
        let across = (1.0 - self.correlation).powf(power);
        let mean = v.iter().sum::<f64>() / size;
        v.iter_mut()
            .for_each(|x| *x = across * (*x - mean) + along * mean);
        v
    }

    fn trial(&self, number: usize, draws: usize) -> Trial {
        let normals = |site: &str, draw: usize| -> Vec<f64> {
            let at = [draw as u32, number as u32, 0];
            (0..self.dimension)
                .map(|element| normal(key(0, site), at, element as u64))
                .collect()
        };
        let inputs = normals("inputs", 0);
        // With x = C^(1/2) z for standard normals z, S^(1/2) x = C^(-1/2) C^(1/2) z = z. So the standard deviation of f is the length of z.
        let length = inputs.iter().map(|x| x * x).sum::<f64>().sqrt();
        let inputs = self
            .root(inputs, 0.5)
            .into_iter()
            .map(|x| x * self.ratio / length)
            .collect();
        let draws = (0..draws)
            .map(|draw| self.root(normals("weights", draw), -0.5))
            .collect();
        Trial { inputs, draws }
    }

    /// Returns the log density of the true predictive distribution.
    fn truth(&self, y: f64) -> f64 {
        gaussian(y, (1.0 + self.ratio * self.ratio).sqrt())
    }
}

/// Returns the log density of a normal distribution with mean 0.
fn gaussian(y: f64, sd: f64) -> f64 {
    -0.5 * (y / sd).powi(2) - (sd * std::f64::consts::TAU.sqrt()).ln()
}

/// An approximate predictive distribution: its log density, and an interval with nearly all of its mass.
type Predictive = (Box<dyn Fn(f64) -> f64>, (f64, f64));

impl Trial {
    /// Returns the predictive distribution from the first `count` draws.
    fn predictive(&self, way: Way, count: usize, noise: ObservationNoise) -> Predictive {
        let draws = &self.draws[..count];
        let reach = match noise {
            ObservationNoise::Normal { sd } => 9.0 * sd,
            ObservationNoise::Triangular { radius, .. } => radius,
        };
        match way {
            Way::MonteCarlo => {
                let along =
                    |draw: &Vec<f64>| -> f64 { draw.iter().zip(&self.inputs).map(|(w, x)| w * x).sum() };
                let means: Vec<f64> = draws.iter().map(along).collect();
                let law = Law::new(&Network::default(), noise);
                let low = means.iter().copied().fold(f64::INFINITY, f64::min) - reach;
                let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max) + reach;
                let density = move |y: f64| log_mean_exp(means.iter().map(|mean| law.log_density(y - mean)));
                (Box::new(density), (low, high))
            }
            Way::Collapsed(extent) => {
                let weight =
                    |(at, slope): (usize, &f64)| term(*slope, draws.iter().map(move |draw| draw[at]), extent);
                let terms: Vec<_> = self.inputs.iter().enumerate().map(weight).collect();
                let end = |sign: f64| -> f64 {
                    let ends = terms
                        .iter()
                        .map(|term| [term.slope * term.lower, term.slope * term.upper]);
                    ends.map(|[a, b]| sign * (sign * a).max(sign * b)).sum::<f64>() + sign * reach
                };
                let ends = (end(-1.0), end(1.0));
                let law = Law::new(
                    &Network {
                        terms,
                        ..Network::default()
                    },
                    noise,
                );
                (Box::new(move |y| law.log_density(y)), ends)
            }
        }
    }
}

/// Returns the KL divergence of a distribution on an interval from another distribution, by the trapezoidal rule.
fn divergence(
    (low, high): (f64, f64),
    points: usize,
    of: impl Fn(f64) -> f64,
    from: impl Fn(f64) -> f64,
) -> f64 {
    let step = (high - low) / points as f64;
    let at = |y: f64| match of(y) {
        log if log > -700.0 => log.exp() * (log - from(y)),
        _ => 0.0,
    };
    step * (0..=points)
        .map(|index| at(low + step * index as f64))
        .sum::<f64>()
}

/// Returns one KL divergence for each trial: the KL divergence of the true distribution from the predicted distribution. With triangular noise, it
/// is the KL divergence of the predicted distribution from the true distribution.
fn divergences(regime: Regime, way: Way, count: usize, trials: &[Trial]) -> Vec<f64> {
    let of = |trial: &Trial| {
        let (density, ends) = trial.predictive(way, count, regime.noise);
        match regime.noise {
            ObservationNoise::Normal { .. } => {
                let reach = 9.0 * (1.0 + regime.ratio * regime.ratio).sqrt();
                let points = (2.0 * reach / 0.2) as usize;
                divergence((-reach, reach), points, |y| regime.truth(y), density)
            }
            ObservationNoise::Triangular { .. } => divergence(ends, 1000, density, |y| regime.truth(y)),
        }
    };
    trials.iter().map(of).collect()
}

/// The KL divergences of all methods, for each number of draws.
struct Found {
    regime: Regime,
    curves: Vec<Vec<(usize, Vec<f64>)>>,
}

fn found(regime: Regime, trials: usize) -> Found {
    let most = COUNTS.into_iter().max().unwrap_or(MOST);
    let trials: Vec<Trial> = (0..trials).map(|number| regime.trial(number, most)).collect();
    let curve = |(way, _): (Way, &str)| {
        let counts = COUNTS
            .into_iter()
            .filter(|count| way == Way::MonteCarlo || *count <= MOST);
        counts
            .map(|count| (count, divergences(regime, way, count, &trials)))
            .collect()
    };
    Found {
        regime,
        curves: WAYS.map(curve).to_vec(),
    }
}

fn table(title: &str, all: &[Found]) {
    println!(
        "\n{title}\n\n| d | t | draws | Monte Carlo | range | moments | range - Monte Carlo | moments - Monte Carlo |\n|---|---|---|---|---|---|---|---|"
    );
    for Found { regime, curves } in all {
        for (at, (count, plain)) in curves[0].iter().enumerate() {
            let others: Vec<&Vec<f64>> = curves[1..]
                .iter()
                .filter_map(|curve| Some(&curve.get(at)?.1))
                .collect();
            let mut cells = vec![cell(plain)];
            cells.extend(others.iter().map(|values| cell(values)));
            cells.extend(others.iter().map(|values| cell(&differences(values, plain))));
            cells.resize(5, String::new());
            println!(
                "| {} | {} | {count} | {} |",
                regime.dimension,
                regime.ratio,
                cells.join(" | ")
            );
        }
    }
}

fn plot(found: &Found, is_first: bool) -> Plot {
    let regime = found.regime;
    let title = format!(
        "{} weight{}, t = {}",
        regime.dimension,
        if regime.dimension == 1 { "" } else { "s" },
        regime.ratio
    );
    let (x, y) = (
        PlotAxis::between("log10 of the draws", 0.2, 2.4),
        PlotAxis::between("log10 of the divergence", -3.6, 1.1),
    );
    let mut plot = Plot::new(&title, SIZE, x, y);
    for ((curve, class), (_, name)) in found.curves.iter().zip(CURVES).zip(WAYS) {
        let place = |(count, values): &(usize, Vec<f64>)| {
            let (mean, error) = mean_and_standard_error(values);
            ((*count as f64).log10(), mean, error.unwrap_or(0.0))
        };
        plot.line(
            class,
            curve.iter().map(place).map(|(x, mean, _)| (x, mean.log10())),
        );
        let bars = curve
            .iter()
            .map(place)
            .map(|(x, mean, error)| (x, (mean - error).log10(), (mean + error).log10()));
        plot.bars(class, bars);
        if is_first {
            plot.legend(Swatch::Line, class, name);
        }
    }
    plot
}

/// Prints the KL divergences of all regimes, and plots those for uncorrelated inputs.
///
/// # Errors
/// This function does not fail.
pub fn picture(trials: usize) -> Result<String, String> {
    let normal = ObservationNoise::Normal { sd: 1.0 };
    let triangular = ObservationNoise::Triangular {
        radius: ALPHA_VARIANCE,
        floor: 0.0,
    };
    let all = |dimensions: &[usize], correlation: f64, noise: ObservationNoise| -> Vec<Found> {
        let regimes = dimensions
            .iter()
            .flat_map(|dimension| RATIOS.map(|ratio| (*dimension, ratio)));
        let run = |(dimension, ratio)| {
            found(
                Regime {
                    ratio,
                    dimension,
                    correlation,
                    noise,
                },
                trials,
            )
        };
        regimes.map(run).collect()
    };
    let [none, strong] = CORRELATIONS;
    let first = all(&DIMENSIONS, none, normal);
    table(
        &format!("KL(truth || predictive), {trials} trials, Normal noise, inputs without correlation"),
        &first,
    );
    let correlated = all(&DIMENSIONS[1..], strong, normal);
    table(
        &format!("KL(truth || predictive), {trials} trials, Normal noise, inputs with correlation {strong}"),
        &correlated,
    );
    let reverse = all(&DIMENSIONS, none, triangular);
    table(
        &format!("KL(predictive || truth), {trials} trials, triangular noise, inputs without correlation"),
        &reverse,
    );
    let plots: Vec<Plot> = first
        .iter()
        .enumerate()
        .map(|(at, found)| plot(found, at == 0))
        .collect();
    let title =
        "Bayesian linear regression: divergence of the true predictive from Monte Carlo and collapsed ones";
    Ok(figure::page(title, &plots, SIZE, RATIOS.len()))
}
