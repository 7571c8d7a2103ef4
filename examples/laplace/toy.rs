//! Data in two clusters. The program plots predictive bands for several subsets of random weights. It also computes the uncertainty between the
//! clusters, relative to the uncertainty at the clusters.

use crate::figure;
use crate::runs::{Done, Wish};
use bnnc_data::Rows;
use bnnc_data::metrics::DrawMatrix;
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// The inference blocks with their titles, in the order of the figure.
const PANELS: [(&str, &str); 13] = [
    ("mode", "maximum, its noise alone"),
    ("full", "all 2600 weights"),
    ("diagonal", "all weights, diagonal"),
    ("half", "50 %, by diagonal variance"),
    ("half_marginal", "50 %, by marginal variance"),
    ("half_random", "50 %, at random"),
    ("three", "3 %, by diagonal variance"),
    ("three_marginal", "3 %, by marginal variance"),
    ("three_random", "3 %, at random"),
    ("one", "1 %, by diagonal variance"),
    ("one_marginal", "1 %, by marginal variance"),
    ("one_random", "1 %, at random"),
    ("last", "last layer"),
];

/// The rows of the table: the fraction of the weights that are random, and one inference block per score.
const TABLE: [(&str, [&str; 3]); 3] = [
    ("50 %", ["half", "half_marginal", "half_random"]),
    ("3 %", ["three", "three_marginal", "three_random"]),
    ("1 %", ["one", "one_marginal", "one_random"]),
];

const SIZE: (f64, f64) = (330.0, 260.0);

/// The empty interval between the clusters, and the intervals of the clusters.
const BETWEEN: (f64, f64) = (-0.6, 0.3);
const AT: [(f64, f64); 2] = [(-1.25, -0.7), (0.4, 1.5)];

/// The mean, and the epistemic and the aleatoric standard deviation, on a grid.
struct Band {
    mean: Vec<f64>,
    epistemic: Vec<f64>,
    aleatoric: Vec<f64>,
}

fn grid() -> Vec<f64> {
    (0..=200).map(|at| -2.0 + 0.02 * f64::from(at) * 1.05).collect()
}

fn band(done: &Done, name: &str, x: &[f64]) -> Result<Band, String> {
    let (infer, outcome) = done.infer(name)?;
    let last = outcome.splits.last().ok_or("nothing was found")?;
    let rows = Rows::of(1, x.to_vec(), Vec::new());
    let words = |stop| format!("{stop:?}");
    let how = (infer.predictive_draws(), &done.context);
    let mut forecaster = last
        .found
        .forecaster(infer, (&rows, false), &outcome.dataset, how)
        .map_err(words)?;
    let (mut mean, mut epistemic, mut aleatoric) = (Vec::new(), Vec::new(), Vec::new());
    forecaster
        .run(&mut |_, block| {
            let draws = DrawMatrix::new(&block.mean, block.rows);
            mean.extend((0..block.rows).map(|row| draws.of_row(row).sum::<f64>() / block.draws as f64));
            epistemic.extend_from_slice(&block.epistemic);
            aleatoric.extend_from_slice(&block.aleatoric);
        })
        .map_err(words)?;
    Ok(Band {
        mean,
        epistemic,
        aleatoric,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.is_empty() {
        return f64::NAN;
    }
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

/// Returns two ratios: the median and the largest epistemic standard deviation between the clusters, each divided by the median at the clusters. A
/// ratio of two zeros is NaN.
fn ratios(band: &Band, x: &[f64]) -> [f64; 2] {
    let within = |(low, high): (f64, f64)| {
        let inside = x
            .iter()
            .zip(&band.epistemic)
            .filter(move |(x, _)| (low..=high).contains(*x));
        inside.map(|(_, sd)| *sd)
    };
    let at = median(AT.into_iter().flat_map(within).collect());
    [
        median(within(BETWEEN).collect()),
        within(BETWEEN).fold(0.0, f64::max),
    ]
    .map(|between| between / at)
}

fn panel(done: &Done, (name, title): (&str, &str), x: &[f64]) -> Result<Plot, String> {
    let (_, outcome) = done.infer(name)?;
    let train = &outcome.dataset.train;
    let y = train.original("y").map_err(|found| found.message)?;
    let band = band(done, name, x)?;
    let sigma = match band.aleatoric.first() {
        Some(sigma) => *sigma,
        None => self::band(done, "full", &x[..1])?.aleatoric[0],
    };
    let (low, high) = (
        PlotAxis::between("x", -2.0, 2.2),
        PlotAxis::between("y", -3.2, 3.2),
    );
    let mut plot = Plot::new(title, SIZE, low, high);
    let epistemic = |at: usize| band.epistemic.get(at).copied().unwrap_or(0.0);
    for (class, factor, noise) in [("band90", 2.0, sigma), ("band50", 2.0, 0.0)] {
        let half: Vec<f64> = (0..x.len())
            .map(|at| factor * epistemic(at).hypot(noise))
            .collect();
        let ends = |sign: f64| -> Vec<f64> {
            band.mean
                .iter()
                .zip(&half)
                .map(|(mean, half)| mean + sign * half)
                .collect()
        };
        plot.band(class, x, &ends(-1.0), &ends(1.0));
    }
    let inputs = train.inputs.reals();
    plot.dots(
        "data",
        inputs.iter().zip(&y).step_by(2).map(|(x, y)| (*x, *y, 1.1)),
    );
    plot.line("mean", x.iter().copied().zip(band.mean.iter().copied()));
    if name == "mode" {
        plot.legend(Swatch::Box, "band50", "2 sd of f");
        plot.legend(Swatch::Box, "band90", "and of the noise");
    }
    Ok(plot)
}

/// The ratios of each seed, for each inference block.
type Ratios = Vec<(&'static str, Vec<[f64; 2]>)>;

/// Prints the medians over the seeds.
fn table(ratios: &Ratios, seeds: usize) {
    // The median excludes seeds without a ratio, and the table shows the number of seeds with a ratio. The ratio of a seed does not exist if the
    // weights do not affect the outputs at the data, or if too few weights affect the outputs at all.
    let of = |name: &str| {
        let found = ratios.iter().find(|(known, _)| *known == name);
        let medians = [0, 1].map(|which| {
            let found = found.into_iter().flat_map(|(_, found)| found.iter());
            let known: Vec<f64> = found
                .map(|ratios| ratios[which])
                .filter(|ratio| !ratio.is_nan())
                .collect();
            match known.len() {
                0 => "none".to_owned(),
                count if count == seeds => format!("{:.2}", median(known)),
                count => format!("{:.2} ({count} of {seeds} seeds)", median(known)),
            }
        });
        medians.join(", ")
    };
    println!(
        "standard deviation of f: the median between the clusters, and the largest there, over the median at them; medians over {seeds} seeds\n"
    );
    println!(
        "all weights: full {}; diagonal {}; last layer {}\n",
        of("full"),
        of("diagonal"),
        of("last")
    );
    println!("| weights | by diagonal variance | by marginal variance | at random |\n|---|---|---|---|");
    for (share, infers) in TABLE {
        println!(
            "| {share} | {} | {} | {} |",
            of(infers[0]),
            of(infers[1]),
            of(infers[2])
        );
    }
}

/// Plots the bands of the first seed for which every inference run has its full number of weights. Prints the table over all seeds.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn picture(wish: Wish, seeds: usize) -> Result<String, String> {
    let x = grid();
    let mut ratios: Ratios = ["full", "diagonal", "last"]
        .map(|name| (name, Vec::new()))
        .to_vec();
    ratios.extend(
        TABLE
            .iter()
            .flat_map(|(_, infers)| infers.map(|name| (name, Vec::new()))),
    );
    let mut plots = Vec::new();
    let seeds = seeds.max(1);
    for seed in 0..seeds {
        let some = |only: Vec<String>| {
            let wish = Wish {
                program: "laplace/toy.bnn",
                seed: seed as u64,
                only,
                ..wish.clone()
            };
            wish.run()
        };
        // If more than half of the weights do not affect the outputs, a subnetwork of 50 % does not exist.
        let (halves, others): (Vec<&str>, Vec<&str>) = ratios
            .iter()
            .map(|(name, _)| *name)
            .partition(|name| name.starts_with("half"));
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let runs = [Some(some(owned(&others))?), some(owned(&halves)).ok()];
        let of = |name: &str| runs[usize::from(name.starts_with("half"))].as_ref();
        if plots.is_empty() && runs[1].is_some() {
            let known = PANELS.iter().filter_map(|which| Some((of(which.0)?, *which)));
            let panels = known.map(|(done, which)| panel(done, which, &x));
            plots = panels.collect::<Result<_, String>>()?;
        }
        for (name, found) in &mut ratios {
            if let Some(done) = of(name) {
                found.push(self::ratios(&band(done, name, &x)?, &x));
            }
        }
        eprintln!(
            "seed {seed}: {:.2?}",
            ratios
                .iter()
                .map(|(name, found)| (name, found.last()))
                .collect::<Vec<_>>()
        );
    }
    table(&ratios, seeds);
    Ok(figure::page(
        "Two clusters: which weights are random",
        &plots,
        SIZE,
        3,
    ))
}
