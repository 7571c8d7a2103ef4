//! Two figures of a straight line that is fitted to batches of two rows: its predictive bands, and the spread of the draws as a function of the step
//! size.

use crate::runs::{Done, Wish};
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// The number of rows in a batch, and the standard deviation of the noise, as in `penalty.bnn`.
const BATCH: f64 = 2.0;
const NOISE: f64 = 0.3;

/// A bivariate normal distribution of the intercept and the slope.
struct Law {
    mean: [f64; 2],
    variance: [f64; 2],
    covariance: f64,
}

impl Law {
    /// Returns the posterior with its likelihood raised to the power batch / rows.
    fn of(rows: &[(f64, f64)]) -> Law {
        let weight = BATCH / rows.len() as f64 / (NOISE * NOISE);
        let sum = |of: fn(f64, f64) -> f64| weight * rows.iter().map(|(x, y)| of(*x, *y)).sum::<f64>();
        let (p, q, r) = (1.0 + sum(|_, _| 1.0), sum(|x, _| x), 1.0 + sum(|x, _| x * x));
        let linear = [sum(|_, y| y), sum(|x, y| x * y)];
        let determinant = p * r - q * q;
        let (variance, covariance) = ([r / determinant, p / determinant], -q / determinant);
        Law {
            mean: [
                variance[0] * linear[0] + covariance * linear[1],
                covariance * linear[0] + variance[1] * linear[1],
            ],
            variance,
            covariance,
        }
    }

    /// Returns the mean and the standard deviation of the line at `x`.
    fn at(&self, x: f64) -> (f64, f64) {
        let variance = self.variance[0] + 2.0 * x * self.covariance + x * x * self.variance[1];
        (self.mean[0] + x * self.mean[1], variance.sqrt())
    }

    /// Returns the root mean square distance of the draws from the mean, in standard deviations of the distribution. It is about 1 for draws from the
    /// distribution itself.
    fn spread(&self, draws: &[Vec<f64>; 2]) -> f64 {
        let of = |at: usize| -> f64 {
            let squares = draws[at].iter().map(|draw| (draw - self.mean[at]).powi(2));
            squares.sum::<f64>() / draws[at].len() as f64 / self.variance[at]
        };
        ((of(0) + of(1)) / 2.0).sqrt()
    }
}

fn rows(done: &Done, infer: &str) -> Result<Vec<(f64, f64)>, String> {
    let (_, outcome) = done.infer(infer)?;
    let train = &outcome.dataset.train;
    let column = |name: &str| train.original(name).map_err(|found| found.message);
    Ok(column("x")?.into_iter().zip(column("y")?).collect())
}

fn draws(done: &Done, infer: &str) -> Result<[Vec<f64>; 2], String> {
    Ok([done.draws(infer, "a")?, done.draws(infer, "b")?])
}

/// Returns the 5 % and 95 % quantiles of the line at each `x`.
fn quantiles([a, b]: &[Vec<f64>; 2], x: &[f64]) -> [Vec<f64>; 2] {
    let every = (a.len() / 20_000).max(1);
    let mut found = [Vec::new(), Vec::new()];
    for x in x {
        let mut values: Vec<f64> = a.iter().zip(b).step_by(every).map(|(a, b)| a + b * x).collect();
        values.sort_by(f64::total_cmp);
        for (into, share) in found.iter_mut().zip([0.05, 0.95]) {
            into.push(values[(share * (values.len() - 1) as f64).round() as usize]);
        }
    }
    found
}

/// Plots three bands of the line: without a penalty, with the penalty, and from the exact posterior.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn bands(wish: Wish) -> Result<String, String> {
    let done = Wish {
        program: "penalty/penalty.bnn",
        only: ["naive", "penalised", "mean"].map(str::to_owned).to_vec(),
        ..wish
    };
    let done = done.run()?;
    let data = rows(&done, "penalised")?;
    let law = Law::of(&data);
    let x: Vec<f64> = (0..=92).map(|at| f64::from(at) / 20.0 - 2.3).collect();
    let mut plot = Plot::new(
        "A line from batches of two rows: 90 % bands",
        (720.0, 440.0),
        PlotAxis::between("x", -2.3, 2.3),
        PlotAxis::between("y", -3.1, 3.6),
    );
    for (infer, class, words) in [
        ("naive", "other90", "no penalty"),
        ("penalised", "band50", "penalty"),
    ] {
        let [low, high] = quantiles(&draws(&done, infer)?, &x);
        plot.band(class, &x, &low, &high);
        plot.legend(Swatch::Box, class, words);
    }
    for sign in [-1.645, 0.0, 1.645] {
        plot.line(
            "exact",
            x.iter().map(|x| {
                let (mean, deviation) = law.at(*x);
                (*x, mean + sign * deviation)
            }),
        );
    }
    plot.legend(Swatch::Line, "exact", "exact");
    plot.dots("data", data.iter().map(|(x, y)| (*x, *y, 2.2)));
    plot.legend(Swatch::Dot, "data", "the 100 rows");
    println!("root mean square distance from the mean, in standard deviations of the exact posterior:");
    for infer in ["naive", "penalised", "mean"] {
        println!("{infer:>10} {:.3}", law.spread(&draws(&done, infer)?));
    }
    Ok(plot.render())
}

/// Plots the spread of the draws as a function of the step size, for two methods: stochastic gradients without an acceptance step, and the penalty
/// method.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn steps(wish: Wish) -> Result<String, String> {
    let powers: Vec<f64> = (0..=10).map(|at| f64::from(at) / 2.0 - 6.0).collect();
    let curves = [
        ("langevin", "other", "SGLD"),
        ("gradient", "mean", "penalty, Langevin proposals"),
        ("walk", "third", "penalty, random walk"),
    ];
    let mut plot = Plot::new(
        "Spread of the draws by the step size",
        (720.0, 420.0),
        PlotAxis::between("log10 of the step", -6.1, -0.9),
        PlotAxis::between("standard deviations of the exact posterior", 0.0, 3.0),
    );
    plot.line("guide", [(-8.0, 1.0), (0.0, 1.0)].into_iter());
    println!("{:>10} {:>9} {:>9}", "infer", "step", "spread");
    for (infer, class, words) in curves {
        let mut points = Vec::new();
        for power in &powers {
            let step = 10f64.powf(*power);
            let option = match infer {
                "langevin" => format!("langevin.step_size={step}"),
                "gradient" => format!("gradient.proposal=mala({step})"),
                _ => format!("walk.proposal=random_walk({step})"),
            };
            let done = Wish {
                program: "penalty/steps.bnn",
                only: vec![infer.to_owned()],
                settings: [wish.settings.clone(), vec![option]].concat(),
                ..wish.clone()
            };
            let spread = match done.run() {
                Ok(done) => Law::of(&rows(&done, infer)?).spread(&draws(&done, infer)?),
                // A chain that diverged does not have draws.
                Err(why) => {
                    eprintln!("{infer}, step {step:.1e}: {why}");
                    continue;
                }
            };
            println!("{infer:>10} {step:>9.1e} {spread:>9.3}");
            if spread.is_finite() {
                points.push((*power, spread));
            }
        }
        plot.line(class, points.into_iter());
        plot.legend(Swatch::Line, class, words);
    }
    Ok(plot.render())
}
