//! A test of whether a training run has converged. At the end of the training, the test compares
//! the slope of the loss with the noise of the loss.
//!
//! Time is measured as the sum of the learning rates of the steps, because a step with a tenth of the
//! rate moves the parameters a tenth as far. Over the last fifth of the time, a line is fitted to the
//! medians of blocks of losses. The slope of this line predicts how far the loss would fall in
//! another training run of the same length. A decreasing rate also lowers the loss, because the
//! iterates then scatter less. The part of the loss that scatter causes is roughly proportional to
//! the square of the rate and to the number of weights. If the rate decreases, the
//! rate and its square are further regressors of the fit. Only the part of the slope that these
//! regressors do not explain then counts.
//!
//! The constants were chosen with the examples and with 840 training runs whose best possible loss
//! is known. These are training runs of seven models (linear, logistic, Poisson,
//! hierarchical, three networks) by `map` and `vi`, with 200 to 40,000 steps, three rates, and
//! constant and cosine schedules. The test does not detect plateaus. It also does not detect
//! training runs that are slightly too short if the rate decreases.

use super::descent::dot;
use super::history::History;
use bnnc_abi::manifest::RatePlan;

/// A training run counts as not converged if the loss could still fall by more than the largest of three
/// limits. The limits are one nat in total, `PER_ROW` nats per row, and `PER_WEIGHT` nats per weight. `laplace`
/// uses the same limit per weight to decide whether a point is a maximum. The limit per weight is needed
/// because the longer a network is trained, the better it fits its training rows. The limit per weight
/// is at most `MOST_PER_ROW` nats per row.
const PER_ROW: f64 = 0.02;
const PER_WEIGHT: f64 = 0.1;
const MOST_PER_ROW: f64 = 0.25;

/// If the rate is constant at first, and decreases only after at least this fraction of the time, the
/// losses at the constant rate are tested too. The training then counts as unfinished only if these losses
/// are falling too.
const CONSTANT: f64 = 0.4;

/// Under a decreasing rate, the slope has two parts. Usually, only the part that the rate does not
/// explain counts. The whole slope counts in two cases. In the first case, the slope predicts a
/// fall of more than `CLEAR` times the smallest relevant fall, and the squared residuals of the
/// line are less than `BETTER` times those of a fit to the rate and its square. In the second case,
/// the predicted fall per weight is above `STEEP`: scatter cannot explain such a fall.
const CLEAR: f64 = 5.0;
const BETTER: f64 = 0.5;
const STEEP: f64 = 5.0;

/// At a constant rate, a slope counts if it exceeds its standard error by this factor.
const ERRORS: f64 = 3.0;
/// Under a decreasing rate, a slope counts if it exceeds its standard error by this factor.
const MORE_ERRORS: f64 = 4.0;

/// The loss is too noisy for the test if the standard error of the predicted fall is larger than
/// this number of nats per row.
const NOISY: f64 = 0.5;

/// A line is fitted to this number of blocks of losses, if there are enough losses.
const BLOCKS: usize = 20;
/// The minimum number of blocks of losses. With fewer blocks, no line is fitted.
const FEWEST: usize = 5;

/// The line is fitted to the losses of the last part of the training. This part takes this fraction
/// of the time.
const LAST: f64 = 0.2;
/// If a training run has fewer than [`FEW`] losses, the line is fitted to this fraction of the
/// time.
const LAST_OF_FEW: f64 = 0.5;
/// A training run with fewer losses than this uses [`LAST_OF_FEW`] instead of [`LAST`].
const FEW: usize = 150;

/// The reason why a training run does not count as converged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unfinished {
    /// The expected fall of the loss in another training run of the same length, in nats.
    Falling(f64),
    /// The noise of the loss is so large that it would hide a fall by this number of nats.
    Noisy(f64),
}

/// The numbers that the test of convergence depends on.
#[derive(Clone, Copy, Debug)]
pub struct TrainingSize {
    /// The number of weights of the model.
    pub weights: usize,
    /// The number of parameters that the optimiser changes: two per weight for a mean-field
    /// posterior, and many more for a family that models all weights jointly.
    pub moved: usize,
    /// The number of training rows.
    pub rows: usize,
}

/// Returns the smallest relevant fall of the loss for these numbers of weights and rows, in nats.
pub fn material(weights: usize, rows: usize) -> f64 {
    let rows = rows as f64;
    let of_weights = (PER_WEIGHT * weights as f64).min(MOST_PER_ROW * rows);
    of_weights.max(PER_ROW * rows).max(1.0)
}

/// A block of consecutive losses, summarised by their median.
struct Block {
    loss: f64,
    /// The time at the middle of the block. The whole training takes the time 1; the time of a step
    /// is proportional to its learning rate.
    time: f64,
    /// The mean learning rate in the block, as a fraction of the rate at the start.
    rate: f64,
}

/// Returns the reason why a complete training run does not count as converged, or `None` if its losses do
/// not show such a reason.
pub fn unfinished(history: &History, rates: RatePlan<'_>, size: TrainingSize) -> Option<Unfinished> {
    let rows = size.rows;
    let least = material(size.weights, rows);
    // Every trained parameter scatters. A weight counts only once, even if it has a mean and a
    // standard deviation.
    let steep = STEEP * size.weights.max(size.moved / 2).max(1) as f64;
    let found = judge(&blocks(history.means(), rates, 1.0)?, (least, steep), rows)?;
    match constant(history.means().len(), rates) {
        // While the rate was constant, the scatter of the iterates was constant too. Scatter therefore does not explain a fall of these losses.
        // The training counts as unfinished only if these losses fall too.
        Some(end) => judge(&blocks(history.means(), rates, end)?, (least, steep), rows).and(Some(found)),
        None => Some(found),
    }
}

/// Returns the time when the rate begins to decrease. Returns `None` if the rate was constant for less than the time
/// [`CONSTANT`] before the decrease.
fn constant(count: usize, rates: RatePlan<'_>) -> Option<f64> {
    let rate = |at: usize| rates.factor((at as f64 + 0.5) / count as f64);
    let all: f64 = (0..count).map(rate).sum();
    let first = (0..count).take_while(|at| rate(*at) == rate(0)).count();
    let end = first as f64 * rate(0) / all;
    (CONSTANT..1.0).contains(&end).then_some(end)
}

/// Tests whether the blocks show a falling loss. `least` is the smallest relevant fall. `steep` is
/// the smallest fall that scatter cannot explain.
fn judge(blocks: &[Block], (least, steep): (f64, f64), rows: usize) -> Option<Unfinished> {
    let of = |part: fn(&Block) -> f64| -> Vec<f64> { blocks.iter().map(part).collect() };
    let (times, rates, losses) = (of(|b| b.time), of(|b| b.rate), of(|b| b.loss));
    let ones = vec![1.0; blocks.len()];
    let line = Line::new(&times, &losses, std::slice::from_ref(&ones))?;
    let (fall, error) = (-line.slope, line.error);
    let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let is_constant = rates.iter().all(|rate| rate - lowest < 1e-6);
    if is_constant && error > NOISY * rows.max(1) as f64 && fall + ERRORS * error > least {
        return Some(Unfinished::Noisy(error));
    }
    if fall <= least || fall <= ERRORS * error {
        return None;
    }
    let falling = Some(Unfinished::Falling(fall));
    if is_constant || fall > steep.max(least) {
        return falling;
    }
    let squares = rates.iter().map(|rate| rate * rate).collect();
    let beside = Line::new(&times, &losses, &[ones, rates, squares])?;
    if fall > CLEAR * least && fall > MORE_ERRORS * error && line.residual < BETTER * beside.without {
        return falling;
    }
    // The slope has a part that the rate does not explain. If this part is larger than twice the whole slope,
    // scatter is not proportional to the square of the rate in this training run. The slope then does
    // not count.
    let (own, error) = (-beside.slope, beside.error);
    let counts = own > least && own > MORE_ERRORS * error && own < 2.0 * fall;
    counts.then_some(Unfinished::Falling(own))
}

/// Divides the last part of a training run into blocks. This part ends at the time `end`.
fn blocks(losses: &[f64], rates: RatePlan<'_>, end: f64) -> Option<Vec<Block>> {
    let count = losses.len();
    let rate = |at: usize| rates.factor((at as f64 + 0.5) / count as f64);
    let all: f64 = (0..count).map(rate).sum();
    let last = if count < FEW { LAST_OF_FEW } else { LAST };
    let (mut first, mut before) = (0, 0.0);
    while first < count && before + 0.5 * rate(first) < (1.0 - last) * end * all {
        before += rate(first);
        first += 1;
    }
    let (mut stop, mut until) = (first, before);
    while stop < count && until + 0.5 * rate(stop) < end * all {
        until += rate(stop);
        stop += 1;
    }
    let used = stop - first;
    let blocks = BLOCKS.min(used);
    if blocks < FEWEST {
        return None;
    }
    let one = |number: usize| {
        let from = first + used * number / blocks;
        let to = first + used * (number + 1) / blocks;
        let mut own = losses[from..to].to_vec();
        let loss = median(&mut own);
        let rates: f64 = (from..to).map(rate).sum();
        let block = Block {
            loss,
            time: (before + 0.5 * rates) / all,
            rate: rates / (to - from) as f64,
        };
        before += rates;
        block
    };
    Some((0..blocks).map(one).collect())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values[middle],
        _ => 0.5 * (values[middle - 1] + values[middle]),
    }
}

/// A least-squares fit to the losses of blocks. The regressors are the time and some other
/// functions of the block.
struct Line {
    slope: f64,
    /// The standard error of the slope of the line.
    error: f64,
    /// Two sums of squared residuals: for the fit, and for a fit without the time.
    residual: f64,
    without: f64,
}

impl Line {
    fn new(times: &[f64], losses: &[f64], others: &[Vec<f64>]) -> Option<Line> {
        // Gram-Schmidt: computes the components of the times and the losses that are orthogonal to
        // the other regressors.
        let mut basis: Vec<Vec<f64>> = Vec::with_capacity(others.len());
        for other in others {
            let mut left = beside(other, &basis);
            let norm = dot(&left, &left).sqrt();
            if norm <= 1e-9 * dot(other, other).sqrt() {
                return None;
            }
            left.iter_mut().for_each(|value| *value /= norm);
            basis.push(left);
        }
        let (time, loss) = (beside(times, &basis), beside(losses, &basis));
        let tt = dot(&time, &time);
        let slope = dot(&time, &loss) / tt;
        let without = dot(&loss, &loss);
        let residual = (without - slope * slope * tt).max(0.0);
        let freedom = times
            .len()
            .checked_sub(others.len() + 1)
            .filter(|left| *left > 0)?;
        let error = (residual / freedom as f64 / tt).sqrt();
        slope.is_finite().then_some(Line {
            slope,
            error,
            residual,
            without,
        })
    }
}

/// Returns the component of a vector that is orthogonal to all vectors of an orthonormal basis.
fn beside(vector: &[f64], basis: &[Vec<f64>]) -> Vec<f64> {
    let mut left = vector.to_vec();
    for axis in basis {
        let along = dot(&left, axis);
        left.iter_mut()
            .zip(axis)
            .for_each(|(left, axis)| *left -= along * axis);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_abi::manifest::RateSchedule;

    const CONSTANT: RatePlan<'_> = RatePlan::new(&RateSchedule::Constant, 1.0);
    const COSINE: RatePlan<'_> = RatePlan::new(&RateSchedule::Cosine, 1.0);
    const COOLDOWN: RatePlan<'_> = RatePlan::new(&RateSchedule::Cooldown, 1.0);
    use bnnc_math::philox;

    fn size(weights: usize, rows: usize) -> TrainingSize {
        TrainingSize {
            weights,
            moved: weights,
            rows,
        }
    }

    /// Returns the losses of a training run of 1000 epochs. Each loss is the sum of normal noise
    /// and a function of the completed fraction of the training.
    fn history(noise: f64, loss: impl Fn(f64) -> f64) -> History {
        let mut history = History::new(1, 1000);
        for epoch in 0..1000 {
            let normal = philox::normal(philox::key(3, "losses"), [0, 0, 0], epoch);
            history.push(loss(epoch as f64 / 1000.0) + noise * normal);
        }
        history
    }

    #[test]
    fn a_slope_above_its_noise_is_found_and_extrapolated() {
        let falling = history(5.0, |done| 500.0 - 100.0 * done);
        let Some(Unfinished::Falling(fall)) = unfinished(&falling, CONSTANT, size(3, 100)) else {
            panic!("the loss falls");
        };
        // The noise of a loss has the variance 25. A median of 10 losses has 0.14 times this
        // variance. The line is fitted to 20 medians, which cover 0.2 of the training. The standard
        // error of its slope is therefore 7.
        assert!((fall - 100.0).abs() < 35.0, "{fall}");
        let flat = history(5.0, |_| 400.0);
        assert_eq!(unfinished(&flat, CONSTANT, size(3, 100)), None);
        // A slope below the noise is not detected. A fall of less than one nat is not relevant.
        assert_eq!(
            unfinished(&history(0.0, |done| -0.9 * done), CONSTANT, size(3, 40)),
            None
        );
    }

    #[test]
    fn scatter_that_falls_with_the_rate_is_not_a_slope() {
        let scatter = |done: f64| 400.0 + 30.0 * COSINE.factor(done);
        assert_eq!(unfinished(&history(1.0, scatter), COSINE, size(400, 200)), None);
        let scatter = |done: f64| 400.0 + 30.0 * COOLDOWN.factor(done);
        assert_eq!(unfinished(&history(1.0, scatter), COOLDOWN, size(400, 200)), None);
    }

    #[test]
    fn noise_that_hides_any_slope_is_reported() {
        let noisy = history(20_000.0, |_| 400.0);
        let found = unfinished(&noisy, CONSTANT, size(3, 100));
        assert!(matches!(found, Some(Unfinished::Noisy(_))), "{found:?}");
    }
}
