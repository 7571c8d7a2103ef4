//! Sums of squares that neither overflow nor underflow (Blue 1978). Without scaling, the square of
//! a number below 1e-162 would be zero.

/// Numbers outside `[1 / BOUND, BOUND]` are scaled before they are squared.
const BOUND: f64 = f64::from_bits((1023 + 500) << 52);

/// A power of two that scales numbers outside the bound.
const SCALE: f64 = f64::from_bits((1023 + 600) << 52);

/// The sum of the squares of the values that have been added so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Squares {
    small: f64,
    medium: f64,
    large: f64,
    count: f64,
}

impl Squares {
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Squares {
        let mut squares = Squares::default();
        values.for_each(|value| squares.add(value));
        squares
    }

    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        match value.abs() {
            size if size > BOUND => self.large += (value / SCALE).powi(2),
            size if size < 1.0 / BOUND => self.small += (value * SCALE).powi(2),
            _ => self.medium += value.powi(2),
        }
    }

    /// Returns the square root of the mean square, or `None` without values.
    pub(super) fn root_mean(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.root(self.count))
    }

    /// Divides the sum of squares by `divisor`, and returns the square root of the result.
    pub(super) fn root(self, divisor: f64) -> f64 {
        if self.large > 0.0 {
            return ((self.large + self.medium / SCALE / SCALE) / divisor).sqrt() * SCALE;
        }
        if self.medium == 0.0 {
            return (self.small / divisor).sqrt() / SCALE;
        }
        ((self.medium + self.small / SCALE / SCALE) / divisor).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_squares_that_do_not_fit_are_right() {
        for size in [1e-310, 1e-199, 1e-150, 1e-3, 1.0, 1e150, 1e151, 1e200, 1e307] {
            let squares = Squares::of([3.0 * size, 4.0 * size].into_iter());
            let exact = 5.0 * size;
            assert!((squares.root(1.0) / exact - 1.0).abs() < 1e-10, "{size}");
            assert!((squares.root_mean().unwrap() / (exact / 2.0_f64.sqrt()) - 1.0).abs() < 1e-10);
        }
        assert_eq!(Squares::of([0.0, 0.0].into_iter()).root(2.0), 0.0);
        assert_eq!(
            Squares::of([1.0, f64::INFINITY].into_iter()).root(2.0),
            f64::INFINITY
        );
        assert!(Squares::of([1.0, f64::NAN].into_iter()).root(2.0).is_nan());
        assert_eq!(Squares::default().root_mean(), None);
    }

    #[test]
    fn ordinary_roots_are_those_of_the_plain_sum() {
        let values = [0.3, -1.7, 1e-200, 12.5];
        let plain = values.iter().map(|value: &f64| value.powi(2)).sum::<f64>();
        assert_eq!(Squares::of(values.into_iter()).root(3.0), (plain / 3.0).sqrt());
    }
}
