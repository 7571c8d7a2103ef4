//! A network on twenty rows of a cubic. There are three kinds of predictions: from 2000 draws, from ten of these draws, and from the same ten
//! draws with the last layer integrated over the box of these draws.

use crate::figure::{self, CURVES};
use crate::runs::{Done, Wish};
use crate::{Extent, cell, differences, term};
use bnnc_math::philox::{key, uniform};
use bnnc_math::special::erf;
use bnnc_piecewise::{Law, Network, ObservationNoise, UniformTerm};
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// The standard deviation of the noise in `cubic.bnn`.
const NOISE: f64 = 3.0;
/// The number of draws in a subset.
const TEN: usize = 10;
/// The inputs of the data lie between `-DATA` and `DATA`.
const DATA: f64 = 4.0;

const SIZE: (f64, f64) = (400.0, 320.0);

/// A method of prediction from ten draws.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// The mixture of the normal distributions of the draws.
    Plain,
    /// The *n* most influential weights of the last layer (0: all) are uniform over the box of all ten draws.
    Collapsed(usize, Extent),
}

const WAYS: [(Way, &str); 5] = [
    (Way::Plain, "ten draws"),
    (Way::Collapsed(0, Extent::Range), "the ten, last layer collapsed"),
    (Way::Collapsed(0, Extent::Moments), "the same, box of moments"),
    (Way::Collapsed(2, Extent::Range), "two weights collapsed"),
    (Way::Collapsed(1, Extent::Range), "one weight collapsed"),
];

/// Indices of the methods that the figure shows in addition to the long run.
const DRAWN: [usize; 3] = [0, 1, 4];

/// The draws of all chains, separately for each element of the parameters.
struct Draws {
    /// For each hidden unit, the draws of its slope, its bias and its output weight.
    units: Vec<[Vec<f64>; 3]>,
    bias: Vec<f64>,
}

impl Draws {
    fn read(done: &Done) -> Result<Draws, String> {
        let column = |site: &str| done.columns("long", site);
        let (slopes, biases, outgoing) = (column("hidden.w")?, column("hidden.b")?, column("out.w")?);
        let units = slopes.into_iter().zip(biases).zip(outgoing);
        let units = units
            .map(|((slope, bias), outgoing)| [slope, bias, outgoing])
            .collect();
        Ok(Draws {
            units,
            bias: done.draws("long", "out.b")?,
        })
    }

    /// Returns the activations of the hidden units at `x` for one draw.
    fn active(&self, draw: usize, x: f64) -> impl Iterator<Item = f64> + '_ {
        self.units
            .iter()
            .map(move |[slope, bias, _]| (slope[draw] * x + bias[draw]).max(0.0))
    }

    /// Returns the value of the network at `x` for one draw.
    fn value(&self, draw: usize, x: f64) -> f64 {
        let terms = self.active(draw, x).zip(&self.units);
        self.bias[draw]
            + terms
                .map(|(active, [.., outgoing])| active * outgoing[draw])
                .sum::<f64>()
    }

    /// Returns the distribution of the target at `x` for each draw. The prediction is the mixture of these distributions.
    fn laws(&self, way: Way, draws: &[usize], x: f64) -> Vec<Law> {
        let noise = ObservationNoise::Normal { sd: NOISE };
        let law = |draw: &usize| {
            let mut network = Network {
                offset: self.value(*draw, x),
                ..Network::default()
            };
            if let Way::Collapsed(count, extent) = way {
                let weights = self
                    .active(*draw, x)
                    .zip(self.units.iter().map(|[.., outgoing]| outgoing));
                let weights = weights.chain([(1.0, &self.bias)]);
                let terms = weights.map(|(active, values)| {
                    let of = term(active, draws.iter().map(move |draw| values[*draw]), extent);
                    (of, active * values[*draw])
                });
                let mut terms: Vec<(UniformTerm, f64)> = terms.collect();
                let moves = |term: &UniformTerm| term.slope * (term.upper - term.lower);
                terms.sort_by(|(a, _), (b, _)| moves(b).total_cmp(&moves(a)));
                terms.truncate(if count == 0 { terms.len() } else { count });
                network.offset -= terms.iter().map(|(_, fixed)| fixed).sum::<f64>();
                network.terms = terms.into_iter().map(|(term, _)| term).collect();
            }
            Law::new(&network, noise)
        };
        draws.iter().map(law).collect()
    }
}

/// The prediction of the long run at one `x`: density and CDF of the target on a grid, in units of the noise.
struct Exact {
    x: f64,
    first: i32,
    density: Vec<f64>,
    cdf: Vec<f64>,
}

impl Exact {
    fn new(draws: &Draws, x: f64) -> Exact {
        let means: Vec<f64> = (0..draws.bias.len()).map(|draw| draws.value(draw, x)).collect();
        let low = means.iter().copied().fold(f64::INFINITY, f64::min) - 9.0 * NOISE;
        let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 9.0 * NOISE;
        let (first, last) = ((low / NOISE).floor() as i32, (high / NOISE).ceil() as i32);
        let count = means.len() as f64;
        let mean = |y: i32, of: &dyn Fn(f64) -> f64| {
            means
                .iter()
                .map(|mean| of(f64::from(y) - mean / NOISE))
                .sum::<f64>()
                / count
        };
        let density = |z: f64| (-0.5 * z * z).exp() / (NOISE * std::f64::consts::TAU.sqrt());
        let below = |z: f64| 0.5 * (1.0 + erf(z / std::f64::consts::SQRT_2));
        Exact {
            x,
            first,
            density: (first..=last).map(|y| mean(y, &density)).collect(),
            cdf: (first..=last).map(|y| mean(y, &below)).collect(),
        }
    }

    /// Compares the prediction of the long run with a mixture of distributions. Returns the KL divergence of the long run from the mixture, and their
    /// 1-Wasserstein distance, by the trapezoidal rule on the grid.
    fn distances(&self, laws: &[Law]) -> (f64, f64) {
        let count = laws.len() as f64;
        let points = (self.first..).zip(&self.density).filter(|(_, p)| **p > 1e-12);
        let terms = points.map(|(at, p)| {
            let y = f64::from(at) * NOISE;
            let q = laws.iter().map(|law| law.density(y)).sum::<f64>() / count;
            p * (p / q.max(f64::MIN_POSITIVE)).ln()
        });
        let divergence = NOISE * terms.sum::<f64>();
        let end = |sign: f64| {
            let ends = laws
                .iter()
                .map(|law| (law.mean() + sign * 8.0 * law.variance().sqrt()) / NOISE);
            sign * ends.map(|end| sign * end).fold(f64::NEG_INFINITY, f64::max)
        };
        let first = self.first.min(end(-1.0).floor() as i32);
        let last = (self.first + self.cdf.len() as i32).max(end(1.0).ceil() as i32);
        let exact = |at: i32| match usize::try_from(at - self.first) {
            Ok(at) => self.cdf.get(at).copied().unwrap_or(1.0),
            Err(_) => 0.0,
        };
        let below = |at: i32| laws.iter().map(|law| law.cdf(f64::from(at) * NOISE)).sum::<f64>() / count;
        let between = (first..=last).map(|at| (below(at) - exact(at)).abs());
        (divergence, NOISE * between.sum::<f64>())
    }
}

/// Returns the indices of ten different draws of one chain.
fn subset(seed: usize, chains: usize, draws: usize) -> Vec<usize> {
    let length = draws / chains.max(1);
    let start = seed % chains.max(1) * length;
    let mut chosen: Vec<usize> = Vec::new();
    let mut element = 0;
    while chosen.len() < TEN.min(length) {
        let place = uniform(key(seed as u64, "subset"), [0; 3], element) * length as f64;
        element += 1;
        if !chosen.contains(&(start + place as usize)) {
            chosen.push(start + place as usize);
        }
    }
    chosen
}

/// The mean KL divergence and the mean Wasserstein distance. Each has two means: over the `x` inside the range of the data, and over the `x` outside
/// this range.
type Distances = [[f64; 2]; 2];

fn distances(draws: &Draws, exact: &[Exact], way: Way, chosen: &[usize]) -> Distances {
    let mut sums = [[0.0; 2]; 2];
    let mut counts = [0.0; 2];
    for exact in exact {
        let place = usize::from(exact.x.abs() > DATA);
        let (divergence, wasserstein) = exact.distances(&draws.laws(way, chosen, exact.x));
        sums[place][0] += divergence;
        sums[place][1] += wasserstein;
        counts[place] += 1.0;
    }
    [0, 1].map(|place| sums[place].map(|sum| sum / counts[place]))
}

fn table(seeds: usize, found: &[Vec<Distances>]) {
    println!(
        "distance to the long run, means over {seeds} subsets of {TEN} draws: divergence KL(long || few), and 1-Wasserstein distance W\n"
    );
    println!(
        "| | \\|x\\| <= 4: KL | W | W - ten draws | 4 < \\|x\\| <= 6: KL | W | W - ten draws |\n|---|---|---|---|---|---|---|"
    );
    let pick = |all: &[Distances], place: usize, which: usize| -> Vec<f64> {
        all.iter().map(|distances| distances[place][which]).collect()
    };
    for ((_, name), all) in WAYS.iter().zip(found) {
        let cells = [0, 1].map(|place| {
            let wasserstein = pick(all, place, 1);
            let paired = differences(&wasserstein, &pick(&found[0], place, 1));
            format!(
                "{} | {} | {}",
                cell(&pick(all, place, 0)),
                cell(&wasserstein),
                cell(&paired)
            )
        });
        println!("| {name} | {} |", cells.join(" | "));
    }
}

/// Returns the mean and the standard deviation of a mixture of normal distributions.
fn moments(laws: &[(f64, f64)]) -> (f64, f64) {
    let count = laws.len() as f64;
    let mean = laws.iter().map(|(mean, _)| mean).sum::<f64>() / count;
    let square = laws
        .iter()
        .map(|(at, variance)| variance + (at - mean).powi(2))
        .sum::<f64>()
        / count;
    (mean, square.sqrt())
}

fn panel(title: &str, x: &[f64], bands: &[(f64, f64)], rows: &[(f64, f64)]) -> Plot {
    let mut plot = Plot::new(
        title,
        SIZE,
        PlotAxis::between("x", -6.0, 6.0),
        PlotAxis::between("y", -200.0, 200.0),
    );
    for (class, factor) in [("band90", 2.0), ("band50", 1.0)] {
        let ends =
            |sign: f64| -> Vec<f64> { bands.iter().map(|(mean, sd)| mean + sign * factor * sd).collect() };
        plot.band(class, x, &ends(-1.0), &ends(1.0));
    }
    plot.line(CURVES[1], x.iter().map(|x| (*x, x * x * x)));
    plot.line("mean", x.iter().copied().zip(bands.iter().map(|(mean, _)| *mean)));
    plot.dots("data", rows.iter().map(|(x, y)| (*x, *y, 2.5)));
    plot
}

/// Plots the bands of the first subset, and prints the table over all subsets.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn picture(wish: Wish, seeds: usize) -> Result<String, String> {
    let done = Wish {
        program: "collapsed/cubic.bnn",
        only: vec!["long".to_owned()],
        ..wish
    }
    .run()?;
    let draws = Draws::read(&done)?;
    let (_, outcome) = done.infer("long")?;
    let sampled = outcome
        .splits
        .last()
        .and_then(|split| split.found.sampled())
        .ok_or("nothing was sampled")?;
    let (chains, count) = (sampled.chains.len(), draws.bias.len());
    let exact: Vec<Exact> = (-6..=6).map(|x| Exact::new(&draws, f64::from(x))).collect();
    let subsets: Vec<Vec<usize>> = (0..seeds.max(1))
        .map(|seed| subset(seed, chains, count))
        .collect();
    let of = |(way, _): &(Way, &str)| {
        subsets
            .iter()
            .map(|chosen| distances(&draws, &exact, *way, chosen))
            .collect()
    };
    let found: Vec<Vec<Distances>> = WAYS.iter().map(of).collect();
    table(seeds, &found);

    let x: Vec<f64> = (-120..=120).map(|x| 0.05 * f64::from(x)).collect();
    let train = &outcome.dataset.train;
    let y = train.original("y").map_err(|found| found.message)?;
    let rows: Vec<(f64, f64)> = train.inputs.reals().iter().copied().zip(y).collect();
    let long = |x: &f64| {
        let at = |draw| (draws.value(draw, *x), NOISE * NOISE);
        moments(&(0..count).map(at).collect::<Vec<_>>())
    };
    let mut first = panel(
        &format!("{count} draws"),
        &x,
        &x.iter().map(long).collect::<Vec<_>>(),
        &rows,
    );
    first.legend(Swatch::Box, "band50", "1 sd");
    first.legend(Swatch::Box, "band90", "2 sd");
    first.legend(Swatch::Line, CURVES[1], "cubic");
    let mut plots = vec![first];
    for at in DRAWN {
        let (way, name) = WAYS[at];
        let band = |x: &f64| {
            let laws = draws.laws(way, &subsets[0], *x);
            moments(
                &laws
                    .iter()
                    .map(|law| (law.mean(), law.variance()))
                    .collect::<Vec<_>>(),
            )
        };
        plots.push(panel(name, &x, &x.iter().map(band).collect::<Vec<_>>(), &rows));
    }
    Ok(figure::page(
        "A cubic: 2000 draws, ten of them, and the ten collapsed",
        &plots,
        SIZE,
        2,
    ))
}
