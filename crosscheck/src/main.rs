//! Compares our no-U-turn sampler with the sampler of `nuts-rs` on the same densities. Run it with
//! `cargo run --release -- [DENSITY..]` in this folder. This folder is a separate package, because
//! a build of `nuts-rs` takes longer than building and testing the whole crate of our samplers.
//!
//! The exit status is 1 if the results of the two samplers differ.
//!
//! For each density, the program checks that the means and the standard deviations agree within
//! their standard errors. The program also prints the bulk effective sample size per thousand
//! gradients, which is the smallest over the elements of the position. It prints this number once
//! without and once with the gradients of the warm-up.

mod densities;
mod other;
mod own;

use bnnc_abi::methods::sampling::MetricKind;
use bnnc_mcmc::diagnostics::effective;
use densities::{DENSITIES, Law};
use std::process::ExitCode;

/// The number of warm-up iterations of each chain, and its number of draws.
pub const WARMUP: usize = 1000;
pub const DRAWS: usize = 1000;
const CHAINS: usize = 8;

/// The largest accepted difference between the samplers, in standard errors. The largest absolute
/// value of seven hundred standard normal numbers exceeds this bound in one of 2500 runs.
const ALLOWED: f64 = 5.0;

/// The result of a chain: its draws after the warm-up, the number of gradients during the warm-up,
/// and the number of gradients after it.
pub struct Chain {
    pub draws: Vec<Vec<f64>>,
    pub gradients: [usize; 2],
    pub divergences: usize,
}

/// The estimates for one element of the position, from several chains.
struct Estimate {
    mean: f64,
    sd: f64,
    size: f64,
}

fn estimates(chains: &[Chain]) -> Vec<Estimate> {
    let dimension = chains[0].draws[0].len();
    (0..dimension)
        .map(|at| {
            let columns: Vec<Vec<f64>> = chains
                .iter()
                .map(|chain| chain.draws.iter().map(|draw| draw[at]).collect())
                .collect();
            let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let all: Vec<f64> = columns.concat();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let variance =
                all.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (all.len() - 1) as f64;
            let squares: Vec<Vec<f64>> = columns
                .iter()
                .map(|column| column.iter().map(|value| (value - mean).powi(2)).collect())
                .collect();
            let squares: Vec<&[f64]> = squares.iter().map(Vec::as_slice).collect();
            Estimate {
                mean,
                sd: variance.sqrt(),
                size: effective::bulk(&slices).min(effective::bulk(&squares)),
            }
        })
        .collect()
}

/// Returns the largest difference between the estimates of two samplers, in combined standard
/// errors. It compares the means and the logarithms of the standard deviations.
fn disagreement(left: &[Estimate], right: &[Estimate]) -> f64 {
    left.iter().zip(right).fold(0.0, |largest: f64, (left, right)| {
        let inverse = 1.0 / left.size + 1.0 / right.size;
        let means = (left.mean - right.mean).abs() / (left.sd * inverse.sqrt());
        // The difference of the logarithms is divided by its standard error for a normal
        // distribution. If the tails are heavier, the standard error is larger, but the bound
        // leaves room for this.
        let spreads = (left.sd / right.sd).ln().abs() / (0.5 * inverse).sqrt();
        largest.max(means).max(spreads)
    })
}

fn report(name: &str, law: &Law, chains: &[Chain]) -> Vec<Estimate> {
    let estimates = estimates(chains);
    let size = estimates
        .iter()
        .map(|estimate| estimate.size)
        .fold(f64::INFINITY, f64::min);
    let gradients = |part: usize| {
        chains
            .iter()
            .map(|chain| chain.gradients[part] as f64)
            .sum::<f64>()
    };
    let (warmup, drawing) = (gradients(0), gradients(1));
    let divergences: usize = chains.iter().map(|chain| chain.divergences).sum();
    println!(
        "{:12} {name:10} {size:8.0} {:10.0} {:10.0} {:10.1} {:10.1} {divergences:6}",
        law.name,
        warmup / chains.len() as f64,
        drawing / chains.len() as f64,
        1000.0 * size / drawing,
        1000.0 * size / (warmup + drawing),
    );
    estimates
}

fn main() -> ExitCode {
    let mut status = ExitCode::SUCCESS;
    println!("density      sampler    smallest   gradients of a chain     effective per 1000    diverged");
    println!("                       effective   warm-up      draws      draws        all");
    let only: Vec<String> = std::env::args().skip(1).collect();
    for law in DENSITIES
        .iter()
        .filter(|law| only.is_empty() || only.iter().any(|only| law.name == only))
    {
        let chains = |metric| {
            (0..CHAINS)
                .map(|chain| own::chain(law, metric, chain))
                .collect::<Vec<_>>()
        };
        let own = report("diagonal", law, &chains(MetricKind::Diagonal));
        report("windowed", law, &chains(MetricKind::Windowed));
        report("dense", law, &chains(MetricKind::Dense));
        report("windowed d", law, &chains(MetricKind::WindowedDense));
        let other: Vec<Chain> = (0..CHAINS).map(|chain| other::chain(law, chain as u64)).collect();
        let other = report("nuts-rs", law, &other);
        let disagreement = disagreement(&own, &other);
        println!(
            "{:12} means and spreads differ by {disagreement:.1} standard errors",
            law.name
        );
        if disagreement.is_nan() || disagreement > ALLOWED {
            status = ExitCode::FAILURE;
        }
    }
    status
}
