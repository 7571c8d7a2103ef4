//! The generalised Pareto distribution: its fit by the method of Zhang and Stephens, and Pareto smoothing of importance ratios.

/// The generalised Pareto distribution, with the distribution function `F(x) = 1 - (1 + k x / scale)^(-1/k)` for `x > 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// The shape `k`. If the shape is positive, moments of order `1 / k` and above are infinite.
    pub shape: f64,
    /// The scale.
    pub scale: f64,
}

impl Pareto {
    /// Returns the quantile at the probability `p`.
    pub fn quantile(self, p: f64) -> f64 {
        let log = -(-p).ln_1p();
        if self.shape == 0.0 {
            self.scale * log
        } else {
            self.scale * (self.shape * log).exp_m1() / self.shape
        }
    }

    /// Fits sorted positive values. The parameter `theta = -k / scale` is estimated by its posterior mean over a grid, with the prior of Zhang and
    /// Stephens (2009). The shape is shrunk towards 1/2 with the weight of ten additional values (Vehtari et al. 2024). Returns `None` if the first
    /// quartile is not positive, the largest value is not finite, or the fit is not finite.
    pub fn fit(sorted: &[f64]) -> Option<Pareto> {
        let count = sorted.len();
        let largest = *sorted.last()?;
        let quarter = sorted[((count as f64 / 4.0 + 0.5) as usize).checked_sub(1)?];
        if !(quarter > 0.0 && largest.is_finite()) {
            return None;
        }
        let grid = 30 + count.isqrt();
        let theta = |at: usize| {
            let prior = 1.0 - (grid as f64 / (at as f64 + 0.5)).sqrt();
            1.0 / largest + prior / (3.0 * quarter)
        };
        // Two running sums over the grid: the sum of the weights, and the sum of theta times its weight. A weight is exp(log likelihood - largest so
        // far).
        let (mut total, mut weighted, mut highest) = (0.0, 0.0, f64::NEG_INFINITY);
        for at in 0..grid {
            let theta = theta(at);
            let shape = shape_at(theta, sorted);
            let likelihood = count as f64 * ((-theta / shape).ln() - shape - 1.0);
            if likelihood > highest {
                let shrink = (highest - likelihood).exp();
                (total, weighted, highest) = (total * shrink, weighted * shrink, likelihood);
            }
            let weight = (likelihood - highest).exp();
            total += weight;
            weighted += weight * theta;
        }
        let theta = weighted / total;
        let shape = shape_at(theta, sorted);
        let scale = -shape / theta;
        let count = count as f64;
        let shape = (shape * count + 5.0) / (count + 10.0);
        (shape.is_finite() && scale.is_finite() && scale > 0.0).then_some(Pareto { shape, scale })
    }
}

/// Returns the maximum-likelihood estimate of the shape for a known `theta`.
fn shape_at(theta: f64, values: &[f64]) -> f64 {
    values.iter().map(|value| (-theta * value).ln_1p()).sum::<f64>() / values.len() as f64
}

/// Returns how many of `draws` ratios belong to the tail. All ratios together are equivalent to `draws * efficiency` independent ratios (Vehtari et
/// al. 2024, as implemented in the R package loo).
pub fn tail_length(draws: usize, efficiency: f64) -> usize {
    let draws = draws as f64;
    f64::min(0.2 * draws, 3.0 * (draws / efficiency).sqrt()).ceil() as usize
}

/// Smooths the tails of importance ratios, and reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct Smoother {
    order: Vec<u32>,
    tail: Vec<f64>,
}

impl Smoother {
    /// Fits a generalised Pareto distribution to the tail, the `length` largest log ratios. Replaces these log ratios by the logarithms of quantiles
    /// of this distribution, which are limited to at most 0 (Vehtari et al. 2024, algorithm 1). The largest log ratio must be 0.
    /// Returns the shape of the distribution. If the tail cannot be fitted, all ratios keep their values, and the result is infinity. If all ratios
    /// are equal, the result is minus infinity.
    pub fn smooth(&mut self, log_ratios: &mut [f64], length: usize) -> f64 {
        if log_ratios.iter().all(|ratio| *ratio == 0.0) {
            return f64::NEG_INFINITY;
        }
        if length < 5 || length >= log_ratios.len() {
            return f64::INFINITY;
        }
        self.order.clear();
        self.order.extend((0..).take(log_ratios.len()));
        let by_ratio =
            |one: &u32, other: &u32| log_ratios[*one as usize].total_cmp(&log_ratios[*other as usize]);
        let below = self.order.len() - length - 1;
        let (_, cutoff, tail) = self.order.select_nth_unstable_by(below, by_ratio);
        tail.sort_unstable_by(by_ratio);
        let cutoff = log_ratios[*cutoff as usize].exp();
        self.tail.clear();
        let excesses = tail.iter().map(|at| log_ratios[*at as usize].exp() - cutoff);
        self.tail.extend(excesses);
        let Some(pareto) = Pareto::fit(&self.tail) else {
            return f64::INFINITY;
        };
        for (place, at) in tail.iter().enumerate() {
            let p = (place as f64 + 0.5) / length as f64;
            log_ratios[*at as usize] = (pareto.quantile(p) + cutoff).ln().min(0.0);
        }
        pareto.shape
    }
}
