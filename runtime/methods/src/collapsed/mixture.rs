//! Mixtures of distributions with equal weights: their moments, their distribution functions, and
//! their quantiles.

use bnnc_piecewise::Law;

/// The tolerance for interpolation of the distribution function. An interval is divided if, in its
/// middle, the function deviates from a straight line by more than this fraction of the interval's
/// probability.
const BENT: f64 = 0.02;
/// Two points count as equal if their distance, in standard deviations, is at most this value.
const NEAR: f64 = 1e-9;
/// The accuracy of exact quantiles, in standard deviations.
const EXACT: f64 = 1e-12;
/// The largest number of steps of the root finder.
const STEPS: usize = 200;

/// A mixture of distributions with equal weights.
#[derive(Clone, Debug)]
pub struct Mixture {
    parts: Vec<Law>,
    /// The mean of the mixture.
    pub mean: f64,
    /// The standard deviation of the mixture.
    pub sd: f64,
}

impl Mixture {
    /// Builds the mixture of at least one distribution.
    pub fn new(parts: Vec<Law>) -> Mixture {
        let count = parts.len().max(1) as f64;
        let mean = parts.iter().map(Law::mean).sum::<f64>() / count;
        // The variance of a mixture: the mean of the variances plus the variance of the means.
        let spread = parts
            .iter()
            .map(|part| part.variance() + (part.mean() - mean).powi(2));
        let sd = (spread.sum::<f64>() / count).max(0.0).sqrt();
        // The mean of equal means may have a rounding error. This error does not count as spread.
        let sd = if sd <= 8.0 * f64::EPSILON * mean.abs() {
            0.0
        } else {
            sd
        };
        Mixture { parts, mean, sd }
    }

    /// Returns the components of the mixture.
    pub fn parts(&self) -> &[Law] {
        &self.parts
    }

    /// Returns the distribution function at `y`.
    pub fn cdf(&self, y: f64) -> f64 {
        self.parts.iter().map(|part| part.cdf(y)).sum::<f64>() / self.parts.len().max(1) as f64
    }

    /// Returns an interval that contains all quantiles whose probabilities lie between the two
    /// given probabilities (Cantelli's inequality).
    fn bracket(&self, first: f64, last: f64) -> (f64, f64) {
        let reach = |odds: f64| self.sd * odds.sqrt() * (1.0 + 1e-9);
        (
            self.mean - reach((1.0 - first) / first),
            self.mean + reach(last / (1.0 - last)),
        )
    }

    /// Returns the quantiles for ascending probabilities. The quantiles are interpolated between
    /// points of the distribution function, so they are not exact.
    pub fn quantiles(&self, probabilities: &[f64]) -> QuantileTable {
        let mut table = QuantileTable {
            quantiles: vec![self.mean; probabilities.len()],
            knots: Vec::new(),
        };
        let (Some(first), Some(last)) = (probabilities.first(), probabilities.last()) else {
            return table;
        };
        if self.sd > 0.0 {
            let (low, high) = self.bracket(*first, *last);
            let ends = [low, high].map(|y| (y, self.cdf(y)));
            table.knots.push(ends[0]);
            self.divide(ends, probabilities, 0, &mut table);
            table.knots.push(ends[1]);
        }
        table
    }

    /// Finds the quantiles for `probabilities`. All of them lie between the two points in `ends`.
    /// `first` is the index of the first of these probabilities.
    fn divide(&self, ends: [(f64, f64); 2], probabilities: &[f64], first: usize, table: &mut QuantileTable) {
        let [(low, below), (high, above)] = ends;
        if probabilities.is_empty() {
            return;
        }
        let width = high - low;
        if width <= NEAR * self.sd {
            table.quantiles[first..first + probabilities.len()].fill(high);
            return;
        }
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            table.quantiles[first..first + probabilities.len()].fill(high);
            return;
        }
        let inside = self.cdf(middle);
        let bend = (inside - 0.5 * (below + above)).abs();
        if bend <= BENT * (above - below) && width <= self.sd {
            table.knots.push((middle, inside));
            for (at, probability) in probabilities.iter().enumerate() {
                table.quantiles[first + at] =
                    inverse([(low, below), (middle, inside), (high, above)], *probability);
            }
            return;
        }
        let split = probabilities.partition_point(|probability| *probability <= inside);
        let (left, right) = probabilities.split_at(split);
        self.divide([(low, below), (middle, inside)], left, first, table);
        table.knots.push((middle, inside));
        self.divide([(middle, inside), (high, above)], right, first + split, table);
    }

    /// Returns a quantile that is exact up to rounding. `knots` are ascending points with their
    /// probabilities. The knots bracket the quantile.
    pub fn quantile(&self, probability: f64, knots: &[(f64, f64)]) -> f64 {
        if self.sd <= 0.0 {
            return self.mean;
        }
        let wide = self.bracket(probability, probability);
        let at = knots.partition_point(|(_, found)| *found < probability);
        let low = at.checked_sub(1).and_then(|at| knots.get(at)).copied();
        let high = knots.get(at).copied();
        let low = low.unwrap_or_else(|| (wide.0, self.cdf(wide.0)));
        let high = high.unwrap_or_else(|| (wide.1, self.cdf(wide.1)));
        let off = |(y, found): (f64, f64)| (y, found - probability);
        root(
            &|y| self.cdf(y) - probability,
            off(low),
            off(high),
            EXACT * self.sd,
        )
    }
}

/// Quantiles, and the evaluated points of the distribution function.
#[derive(Clone, Debug, Default)]
pub struct QuantileTable {
    /// The quantiles for the requested probabilities.
    pub quantiles: Vec<f64>,
    /// The points, in ascending order, and the value of the distribution function at each.
    pub knots: Vec<(f64, f64)>,
}

/// Interpolates the inverse of a monotone function at `value`, from three points of the function.
/// The interpolation is quadratic, and the result is clamped to the interval between the two
/// neighbouring points. If the function has the same value at two of the points, the interpolation
/// is linear.
fn inverse(points: [(f64, f64); 3], value: f64) -> f64 {
    let [(x0, f0), (x1, f1), (x2, f2)] = points;
    let ((xa, fa), (xb, fb)) = if value <= f1 {
        ((x0, f0), (x1, f1))
    } else {
        ((x1, f1), (x2, f2))
    };
    if fb <= fa {
        return xb;
    }
    let line = xa + (value - fa) / (fb - fa) * (xb - xa);
    if f1 <= f0 || f2 <= f1 {
        return line.clamp(xa, xb);
    }
    // Newton's form through (f0, x0), (f1, x1), (f2, x2).
    let (first, second) = ((x1 - x0) / (f1 - f0), (x2 - x1) / (f2 - f1));
    let bend = (second - first) / (f2 - f0);
    let quadratic = x0 + (value - f0) * (first + (value - f1) * bend);
    quadratic.clamp(xa, xb)
}

/// Returns the root of an increasing function. The function must be at most 0 at the start of the interval,
/// and at least 0 at the end. Uses Chandrupatla's method (1997): inverse quadratic interpolation if it is
/// safe, otherwise bisection.
fn root(of: &dyn Fn(f64) -> f64, low: (f64, f64), high: (f64, f64), near: f64) -> f64 {
    let ((mut a, mut fa), (mut b, mut fb)) = (high, low);
    if fa == 0.0 || fa.signum() == fb.signum() {
        // The values at the ends may have rounding errors. These errors may put the root outside
        // the interval. The best approximation is then the end where the function is closer to
        // zero.
        return if fa.abs() <= fb.abs() { a } else { b };
    }
    let mut part = 0.5;
    for _ in 0..STEPS {
        let x = a + part * (b - a);
        let fx = of(x);
        let (c, fc) = match fx.signum() == fa.signum() {
            true => (a, fa),
            false => {
                let before = (b, fb);
                (b, fb) = (a, fa);
                before
            }
        };
        (a, fa) = (x, fx);
        let best = if fa.abs() < fb.abs() { a } else { b };
        let tolerance = near.max(4.0 * f64::EPSILON * best.abs());
        let limit = tolerance / (b - c).abs().max(f64::MIN_POSITIVE);
        if fa == 0.0 || (b - a).abs() <= 2.0 * tolerance {
            return best;
        }
        let (xi, phi) = ((a - b) / (c - b), (fa - fb) / (fc - fb));
        let is_safe = phi * phi < xi && (1.0 - phi).powi(2) < 1.0 - xi;
        part = match is_safe {
            true => fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb),
            false => 0.5,
        };
        let limit = limit.min(0.5);
        part = part.clamp(limit, 1.0 - limit);
    }
    if fa.abs() < fb.abs() { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_piecewise::{Network, ObservationNoise, UniformTerm};

    fn law(offset: f64, width: f64, sd: f64) -> Law {
        let term = UniformTerm {
            slope: 1.0,
            lower: 0.0,
            upper: width,
        };
        let network = Network {
            offset,
            terms: vec![term],
            units: Vec::new(),
        };
        Law::new(&network, ObservationNoise::Normal { sd })
    }

    /// The distribution function of a mixture of two distant uniform distributions is linear on
    /// both intervals, and constant between them.
    #[test]
    fn quantiles_of_distant_uniforms_match_their_closed_form() {
        let mixture = Mixture::new(vec![law(0.0, 1.0, 0.0), law(10.0, 2.0, 0.0)]);
        assert!((mixture.mean - 5.75).abs() < 1e-12);
        let variance = (1.0 / 12.0 + 4.0 / 12.0) / 2.0 + 5.25f64.powi(2);
        assert!((mixture.sd - variance.sqrt()).abs() < 1e-12);
        let probabilities: Vec<f64> = (0..50).map(|at| (f64::from(at) + 0.5) / 50.0).collect();
        let table = mixture.quantiles(&probabilities);
        for (p, got) in probabilities.iter().zip(&table.quantiles) {
            let want = if *p < 0.5 { 2.0 * p } else { 10.0 + 4.0 * (p - 0.5) };
            assert!((got - want).abs() < 0.02, "{p}: {got} is not {want}");
            let exact = mixture.quantile(*p, &table.knots);
            assert!((exact - want).abs() < 1e-10, "{p}: {exact} is not {want}");
            let alone = mixture.quantile(*p, &[]);
            assert!((alone - want).abs() < 1e-10, "{p}: {alone} is not {want}");
        }
    }

    /// The distribution function of a mixture of points is a step function.
    #[test]
    fn quantiles_of_points_are_the_points() {
        let mixture = Mixture::new(vec![law(-1.0, 0.0, 0.0), law(3.0, 0.0, 0.0), law(3.0, 0.0, 0.0)]);
        let table = mixture.quantiles(&[0.1, 0.3, 0.4, 0.9]);
        for (got, want) in table.quantiles.iter().zip([-1.0, -1.0, 3.0, 3.0]) {
            assert!((got - want).abs() < 1e-6, "{got} is not {want}");
        }
        // The mean of equal numbers may differ from them by a rounding error.
        let same = Mixture::new(vec![law(0.1, 0.0, 0.0); 3]);
        assert_eq!(same.quantiles(&[0.05, 0.5]).quantiles, [same.mean; 2]);
        assert_eq!(same.quantile(0.95, &[]), same.mean);
        let single = Mixture::new(vec![law(2.0, 0.0, 0.0)]);
        assert_eq!(single.quantiles(&[0.5]).quantiles, [2.0]);
        assert_eq!(single.quantile(0.05, &[]), 2.0);
    }

    /// The 0.95 quantile of the standard Normal is 1.6448536269514722.
    #[test]
    fn quantiles_of_a_normal_match_its_table() {
        let mixture = Mixture::new(vec![law(1.0, 0.0, 2.0); 3]);
        let want = 1.0 + 2.0 * 1.644_853_626_951_472_2;
        assert!((mixture.quantile(0.95, &[]) - want).abs() < 1e-10);
        let table = mixture.quantiles(&[0.05, 0.5, 0.95]);
        assert!((table.quantiles[2] - want).abs() < 5e-3, "{:?}", table.quantiles);
    }
}
