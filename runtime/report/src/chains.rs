//! The plots of Markov chains. The plots show traces and ranks of the quantities that mixed worst. They also show the energy, the acceptance rate,
//! the tree depth, and pairs of quantities with their divergences.

use crate::histogram::Histogram;
use crate::svg::{Plot, PlotAxis, Swatch};
use bnnc_core::context::Stop;
use bnnc_data::metrics::extent;
use bnnc_inference::chains::{Diagnosis, Quantity, SamplingResult};
use bnnc_mcmc::diagnostics::QuantitySummary;
use std::cmp::Ordering;

const TRACE: (f64, f64) = (640.0, 250.0);
const RANKS: (f64, f64) = (370.0, 250.0);
const SMALL: (f64, f64) = (480.0, 300.0);
const SQUARE: (f64, f64) = (480.0, 420.0);

/// The maximum number of quantities whose traces and ranks are drawn.
const SHOWN: usize = 12;

/// If a chain has more draws than this, its trace is drawn as an outline.
const TRACE_POINTS: usize = 400;

/// The number of bins of a rank histogram.
const RANK_BINS: usize = 20;

/// The height of a bar with the expected count in a rank histogram, as a fraction of the vertical distance between the histograms of
/// neighbouring chains.
const EXPECTED: f64 = 0.6;

/// The maximum number of quantities for which scatter plots of pairs are drawn.
const PAIRED: usize = 3;

/// A scatter plot shows about this number of dots. Divergent draws are always shown.
const DOTS: usize = 1500;

/// The style classes for the lines and areas of the chains. If there are more chains than classes, the classes repeat.
pub const CHAINS: [(&str, &str); 6] = [
    ("chain0", "ranks0"),
    ("chain1", "ranks1"),
    ("chain2", "ranks2"),
    ("chain3", "ranks3"),
    ("chain4", "ranks4"),
    ("chain5", "ranks5"),
];

/// The data in the plots of the chains of an inference block.
#[derive(Clone, Debug)]
pub struct ChainReport<'a> {
    /// The quantities with their summaries, ordered by R-hat and then by bulk ESS. The worst come first.
    pub quantities: Vec<(&'a Quantity, QuantitySummary)>,
    /// For each chain, one number per iteration that states whether the iteration diverged. The vector is empty if the sampler does not detect
    /// divergences.
    pub diverging: Vec<Vec<f64>>,
    /// The energies of each chain. The vector is empty if the sampler does not record an energy.
    pub energy: Vec<Vec<f64>>,
    /// The acceptance rates of each chain. The vector is empty if the sampler never rejects.
    pub acceptance: Vec<Vec<f64>>,
    /// The tree depths of each chain. The vector is empty if the sampler does not build trees.
    pub depth: Vec<Vec<f64>>,
    /// The E-BFMI of each chain.
    pub missing_information: &'a [f64],
}

/// The number of draws per chain that are plotted if the draws are only on disk. These are the last
/// draws of the chain.
const LATEST: usize = 1 << 16;

/// Returns a sampler statistic for each chain. If the draws are only on disk, only the last [`LATEST`] draws are included. The result is empty if the
/// sampler does not record the statistic.
fn latest(sampled: &SamplingResult, name: &str) -> Result<Vec<Vec<f64>>, Stop> {
    let mut found = Vec::new();
    if !sampled.stats().contains(&name) {
        return Ok(found);
    }
    for chain in &sampled.chains {
        let first = match chain.store.is_in_memory() {
            true => 0,
            false => chain.store.len().saturating_sub(LATEST),
        };
        let (mut at, mut values) = (0, Vec::with_capacity(chain.store.len() - first));
        sampled.visit(name, chain, |value| {
            if at >= first {
                values.push(value);
            }
            at += 1;
        })?;
        found.push(values);
    }
    Ok(found)
}

impl<'a> ChainReport<'a> {
    /// Reads the data that the plots show.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn new(
        sampled: &SamplingResult,
        quantities: &'a [Quantity],
        diagnosis: &'a Diagnosis,
    ) -> Result<ChainReport<'a>, Stop> {
        let stat = |name: &str| latest(sampled, name);
        let summaries = diagnosis.quantities.iter().map(|(_, summary)| *summary);
        let mut quantities: Vec<_> = quantities.iter().zip(summaries).collect();
        quantities.sort_by(|one, other| worse(&one.1, &other.1));
        Ok(ChainReport {
            quantities,
            diverging: stat("diverging")?,
            energy: stat("energy")?,
            acceptance: stat("acceptance_rate")?,
            depth: stat("tree_depth")?,
            missing_information: &diagnosis.missing_information,
        })
    }

    /// Returns all plots of the chains.
    pub fn plots(&self) -> Vec<String> {
        // Draws that are only on disk are not read again for the plots.
        let held = self
            .quantities
            .iter()
            .filter(|(quantity, _)| !quantity.chains.is_empty());
        let shown = held.take(SHOWN);
        let mut plots: Vec<String> = shown
            .flat_map(|(quantity, summary)| [self.trace(quantity, summary), ranks(quantity)])
            .collect();
        plots.extend(self.energies());
        plots.extend(self.acceptances());
        plots.extend(self.depths());
        plots.extend(self.pairs());
        plots
    }

    /// Draws the trace of a quantity for every chain.
    fn trace(&self, quantity: &Quantity, summary: &QuantitySummary) -> String {
        let longest = quantity.chains.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let y = PlotAxis::around("", quantity.chains.iter().flatten().copied());
        let mark = y.low + 0.06 * (y.high - y.low);
        let title = match summary.rhat.is_finite() {
            true => format!(
                "{}: R-hat {:.3}, bulk ESS {:.0}",
                quantity.name, summary.rhat, summary.ess_bulk
            ),
            false => format!("{}: does not vary", quantity.name),
        };
        let low = y.low;
        let mut plot = Plot::new(&title, TRACE, PlotAxis::between("draw", 0.0, longest as f64), y);
        for (number, chain) in quantity.chains.iter().enumerate() {
            plot.line(CHAINS[number % CHAINS.len()].0, outline(chain).into_iter());
        }
        for chain in &self.diverging {
            let marks = (0..chain.len()).filter(|draw| chain[*draw] > 0.0);
            plot.bars("divergence", marks.map(|draw| (draw as f64, low, mark)));
        }
        for (number, (class, _)) in CHAINS.iter().enumerate().take(quantity.chains.len()) {
            plot.legend(Swatch::Line, class, &format!("chain {}", number + 1));
        }
        if self.diverging.iter().flatten().any(|is| *is > 0.0) {
            plot.legend(Swatch::Line, "divergence", "diverged");
        }
        plot.render()
    }

    /// Draws the distribution of the energy, and the distribution of the change of the energy from one iteration to the next (Betancourt 2016,
    /// section 3.3). If the changes vary much less than the energy, the chain does not reach the tails of the posterior.
    fn energies(&self) -> Option<String> {
        let mut levels = Vec::new();
        let mut changes = Vec::new();
        for chain in &self.energy {
            let mean = chain.iter().sum::<f64>() / chain.len().max(1) as f64;
            levels.extend(chain.iter().map(|energy| energy - mean));
            changes.extend(chain.windows(2).map(|pair| pair[1] - pair[0]));
        }
        let (levels, changes) = (Histogram::new(&levels)?, Histogram::new(&changes)?);
        let (low, high) = extent(self.missing_information.iter().copied());
        let title = match low <= high {
            true => format!("Energy: E-BFMI {low:.2} to {high:.2}"),
            false => "Energy".to_owned(),
        };
        let ends = [levels.low, levels.high(), changes.low, changes.high()];
        let x = PlotAxis::around("energy", ends.into_iter());
        let top = levels.top().max(changes.top());
        let mut plot = Plot::new(&title, SMALL, x, PlotAxis::between("density", 0.0, 1.08 * top));
        levels.draw(&mut plot, "ranks0");
        changes.draw(&mut plot, "ranks1");
        plot.legend(Swatch::Box, "ranks0", "minus its mean");
        plot.legend(Swatch::Box, "ranks1", "change per iteration");
        Some(plot.render())
    }

    fn acceptances(&self) -> Option<String> {
        let all: Vec<f64> = self.acceptance.iter().flatten().copied().collect();
        let found = Histogram::between(&all, 0.0, 1.0)?;
        let mean = all.iter().filter(|rate| rate.is_finite()).sum::<f64>() / all.len().max(1) as f64;
        let title = format!("Acceptance: {mean:.3} on average");
        let x = PlotAxis::between("acceptance rate", -0.02, 1.02);
        let y = PlotAxis::between("density", 0.0, 1.08 * found.top());
        let mut plot = Plot::new(&title, SMALL, x, y);
        found.draw(&mut plot, "ranks0");
        Some(plot.render())
    }

    /// Draws a bar for each tree depth. The bar shows the fraction of draws with this depth.
    fn depths(&self) -> Option<String> {
        let depths = self.depth.iter().flatten().filter(|depth| depth.is_finite());
        let largest = depths.clone().copied().fold(f64::NEG_INFINITY, f64::max).max(1.0);
        let counts = depths
            .clone()
            .fold(vec![0.0; largest.min(64.0) as usize + 1], |mut counts, depth| {
                if let Some(count) = counts.get_mut(*depth as usize) {
                    *count += 1.0;
                }
                counts
            });
        let all = depths.count() as f64;
        if all == 0.0 {
            return None;
        }
        let top = counts.iter().copied().fold(0.0, f64::max) / all;
        let x = PlotAxis::between("doublings of a trajectory", -0.6, counts.len() as f64 - 0.4);
        let mut plot = Plot::new(
            "Tree depth",
            SMALL,
            x,
            PlotAxis::between("share of draws", 0.0, 1.08 * top),
        );
        for (depth, count) in counts.iter().enumerate() {
            let sides = [depth as f64 - 0.4, depth as f64 + 0.4];
            plot.band("ranks0", &sides, &[0.0; 2], &[count / all; 2]);
        }
        Some(plot.render())
    }

    /// Draws scatter plots for pairs of the quantities that mixed worst.
    fn pairs(&self) -> Vec<String> {
        let varying =
            |quantity: &&(&Quantity, QuantitySummary)| quantity.0.name != "lp" && quantity.1.sd > 0.0;
        let worst: Vec<&Quantity> = self
            .quantities
            .iter()
            .filter(varying)
            .take(PAIRED)
            .map(|(quantity, _)| *quantity)
            .collect();
        let pairs = worst
            .iter()
            .enumerate()
            .flat_map(|(at, up)| worst[..at].iter().map(move |across| (*across, *up)));
        pairs.map(|(across, up)| self.pair(across, up)).collect()
    }

    fn pair(&self, across: &Quantity, up: &Quantity) -> String {
        let all = |quantity: &Quantity| quantity.chains.iter().flatten().copied().collect::<Vec<f64>>();
        let (xs, ys) = (all(across), all(up));
        let diverged: Vec<bool> = self.diverging.iter().flatten().map(|is| *is > 0.0).collect();
        let is_diverged = |at: &usize| diverged.get(*at).copied().unwrap_or(false);
        let title = format!("{} and {}", across.name, up.name);
        let x = PlotAxis::around(&across.name, xs.iter().copied());
        let y = PlotAxis::around(&up.name, ys.iter().copied());
        let mut plot = Plot::new(&title, SQUARE, x, y);
        let count = xs.len().min(ys.len());
        let kept = (0..count).step_by(count.div_ceil(DOTS).max(1));
        let others = kept.filter(|at| !is_diverged(at));
        plot.dots("faint", others.map(|at| (xs[at], ys[at], 1.8)));
        plot.dots(
            "data",
            (0..count).filter(is_diverged).map(|at| (xs[at], ys[at], 2.6)),
        );
        plot.legend(Swatch::Dot, "faint", "draws");
        if diverged.contains(&true) {
            plot.legend(Swatch::Dot, "data", "diverged");
        }
        plot.render()
    }
}

/// Orders quantities by the quality of their mixing. The quantity that mixed worst comes first, and quantities that do not vary come last.
fn worse(one: &QuantitySummary, other: &QuantitySummary) -> Ordering {
    let known = |summary: &QuantitySummary| summary.rhat.is_finite();
    let by_rhat = other.rhat.total_cmp(&one.rhat);
    let by_draws = one.ess_bulk.total_cmp(&other.ess_bulk);
    match (known(one), known(other)) {
        (true, true) => by_rhat.then(by_draws),
        (one, other) => other.cmp(&one),
    }
}

/// Returns the points of a trace. A long trace is divided into segments. Only the lowest and the highest draw of each segment are returned.
pub fn outline(chain: &[f64]) -> Vec<(f64, f64)> {
    if chain.len() <= TRACE_POINTS {
        return chain
            .iter()
            .enumerate()
            .map(|(at, value)| (at as f64, *value))
            .collect();
    }
    let stretch = chain.len().div_ceil(TRACE_POINTS / 2);
    let mut points = Vec::with_capacity(TRACE_POINTS);
    for (number, values) in chain.chunks(stretch).enumerate() {
        let finite = || values.iter().enumerate().filter(|(_, value)| value.is_finite());
        let low = finite().min_by(|a, b| a.1.total_cmp(b.1));
        let high = finite().max_by(|a, b| a.1.total_cmp(b.1));
        let mut ends: Vec<_> = low.into_iter().chain(high).collect();
        ends.sort_unstable_by_key(|(at, _)| *at);
        points.extend(
            ends.into_iter()
                .map(|(at, value)| ((number * stretch + at) as f64, *value)),
        );
    }
    points
}

/// Ranks the draws of all chains together, and divides the ranks into bins of equal width. Returns the number of draws in each bin, for each chain
/// (Vehtari et al. 2021, section 4.2). Equal draws all get the mean of their ranks.
fn rank_counts(chains: &[Vec<f64>]) -> Vec<[f64; RANK_BINS]> {
    let values = chains
        .iter()
        .enumerate()
        .flat_map(|(chain, values)| values.iter().map(move |v| (*v, chain)));
    let mut sorted: Vec<(f64, usize)> = values.collect();
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all = sorted.len() as f64;
    let mut counts = vec![[0.0; RANK_BINS]; chains.len()];
    let mut first = 0;
    for ties in sorted.chunk_by(|one, other| one.0 == other.0) {
        let middle = first as f64 + 0.5 * ties.len() as f64;
        let bin = ((middle / all * RANK_BINS as f64) as usize).min(RANK_BINS - 1);
        ties.iter().for_each(|(_, chain)| counts[*chain][bin] += 1.0);
        first += ties.len();
    }
    counts
}

/// Draws one histogram per chain. The histogram shows the ranks of the draws of this chain
/// among the draws of all chains. The histograms are flat if the
/// chains agree.
fn ranks(quantity: &Quantity) -> String {
    let counts = rank_counts(&quantity.chains);
    let x = PlotAxis::between("rank among all draws", 0.0, 1.0);
    let y = PlotAxis::between("chain", 0.95, counts.len() as f64 + 0.95);
    let mut plot = Plot::new("Ranks", RANKS, x, y);
    let edges: Vec<f64> = (0..RANK_BINS)
        .flat_map(|bin| [bin, bin + 1])
        .map(|edge| edge as f64 / RANK_BINS as f64)
        .collect();
    for (number, bins) in counts.iter().enumerate() {
        let floor = (number + 1) as f64;
        let draws = bins.iter().sum::<f64>().max(1.0);
        let share = 1.0 / RANK_BINS as f64;
        let height = |count: f64| floor + (EXPECTED * count / (draws * share)).min(0.92);
        let spread = 1.645 * (draws * share * (1.0 - share)).sqrt();
        let step =
            |of: &dyn Fn(f64) -> f64| -> Vec<f64> { bins.iter().flat_map(|count| [of(*count); 2]).collect() };
        plot.band(
            "chance",
            &[0.0, 1.0],
            &[height(draws * share - spread); 2],
            &[height(draws * share + spread); 2],
        );
        let class = CHAINS[number % CHAINS.len()].1;
        plot.band(class, &edges, &step(&|_| floor), &step(&height));
    }
    plot.legend(Swatch::Box, "chance", "90 % of independent draws");
    plot.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_chain_below_another_are_in_the_lower_bins() {
        let low: Vec<f64> = (0..100).map(f64::from).collect();
        let high: Vec<f64> = (100..200).map(f64::from).collect();
        let counts = rank_counts(&[high, low]);
        assert_eq!(counts[1][..10], [10.0; 10]);
        assert_eq!(counts[1][10..], [0.0; 10]);
        assert_eq!(counts[0][10..], [10.0; 10]);
    }

    #[test]
    fn chains_that_interleave_have_flat_ranks_and_ties_share_theirs() {
        let every = |start: usize| (start..400).step_by(2).map(|at| at as f64).collect::<Vec<_>>();
        for counts in rank_counts(&[every(0), every(1)]) {
            assert_eq!(counts, [10.0; RANK_BINS]);
        }
        let tied = rank_counts(&[vec![1.0; 50], vec![1.0; 50]]);
        assert_eq!(
            (tied[0][RANK_BINS / 2], tied[1].iter().sum::<f64>()),
            (50.0, 50.0)
        );
    }

    #[test]
    fn an_outline_keeps_the_extremes_in_order() {
        let mut chain: Vec<f64> = (0..10_000).map(|at| f64::from(at % 7)).collect();
        chain[1234] = 50.0;
        chain[1230] = -50.0;
        let points = outline(&chain);
        assert!(points.len() <= TRACE_POINTS && points.is_sorted_by(|a, b| a.0 <= b.0));
        assert!(points.contains(&(1230.0, -50.0)) && points.contains(&(1234.0, 50.0)));
        assert_eq!(outline(&[3.0, 1.0]), [(0.0, 3.0), (1.0, 1.0)]);
    }

    #[test]
    fn the_worst_come_first_and_constants_last() {
        let summary = |rhat: f64, ess_bulk: f64| QuantitySummary {
            mean: 0.0,
            sd: 1.0,
            median: 0.0,
            mad: 1.0,
            q05: -1.0,
            q95: 1.0,
            mcse_mean: 0.1,
            mcse_sd: 0.1,
            ess_bulk,
            ess_tail: ess_bulk,
            rhat,
        };
        let mut all = [
            summary(f64::NAN, f64::NAN),
            summary(1.0, 400.0),
            summary(1.2, 30.0),
            summary(1.0, 100.0),
        ];
        all.sort_by(worse);
        let order: Vec<f64> = all.iter().map(|summary| summary.ess_bulk).collect();
        assert_eq!(order[..3], [30.0, 100.0, 400.0]);
        assert!(order[3].is_nan());
    }
}
