//! Standardisation by the means and standard deviations of the training rows.

use bnnc_abi::data::Divisor;
use serde::{Deserialize, Serialize};

/// An affine map `(value - mean) / sd`. After the transformation, the values that it was fitted to
/// have the mean 0 and the standard deviation 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardisation {
    /// The mean over the training rows.
    pub mean: f64,
    /// The standard deviation over the training rows; 1 if all values are equal.
    pub sd: f64,
}

/// A standardisation that was fitted to some values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedStandardisation {
    /// The fitted standardisation.
    pub map: Standardisation,
    /// True if the values are not all equal. For equal values, the standardisation only subtracts
    /// their mean.
    pub varies: bool,
}

impl Standardisation {
    /// The standardisation that leaves values unchanged.
    pub const IDENTITY: Standardisation = Standardisation { mean: 0.0, sd: 1.0 };

    /// Fits a standardisation to some values. If all values are equal, it only subtracts their
    /// mean. A constant column then becomes zeros for the model.
    pub fn fit(values: impl Iterator<Item = f64> + Clone, divisor: Divisor) -> FittedStandardisation {
        let constant = |mean| FittedStandardisation {
            map: Standardisation { mean, sd: 1.0 },
            varies: false,
        };
        let Some(first) = values.clone().next() else {
            return constant(0.0);
        };
        if values.clone().all(|x| x == first) {
            return constant(first);
        }
        let (sum, count) = values
            .clone()
            .fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
        let divisor = match divisor {
            Divisor::Count => count,
            Divisor::CountLessOne => count - 1.0,
        };
        let (mean, sd) = moments(sum / count, values.clone(), divisor).unwrap_or_else(|| {
            // The square of a value overflows above 1e154 and underflows below 1e-154. Dividing all
            // values by the largest absolute value avoids both.
            let largest = values.clone().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            let scaled = values.map(|x| x / largest);
            let mean = scaled.clone().sum::<f64>() / count;
            let (mean, sd) = moments(mean, scaled, divisor).unwrap_or((mean, 0.0));
            (mean * largest, sd * largest)
        });
        match mean.is_finite() && sd.is_finite() && sd > 0.0 {
            true => FittedStandardisation {
                map: Standardisation { mean, sd },
                varies: true,
            },
            false => constant(first),
        }
    }

    /// Standardises a value.
    pub fn apply(self, value: f64) -> f64 {
        (value - self.mean) / self.sd
    }

    /// Converts a value back to original units.
    pub fn undo(self, value: f64) -> f64 {
        value * self.sd + self.mean
    }
}

/// Computes the mean and the standard deviation. The result is `None` if either of them is not
/// finite, or if the standard deviation is zero.
fn moments(mean: f64, values: impl Iterator<Item = f64>, divisor: f64) -> Option<(f64, f64)> {
    let sd = (values.map(|x| (x - mean).powi(2)).sum::<f64>() / divisor).sqrt();
    (mean.is_finite() && sd.is_finite() && sd > 0.0).then_some((mean, sd))
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f64; 8] = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];

    #[test]
    fn the_divisor_is_n_or_n_minus_1() {
        let by = |divisor| Standardisation::fit(VALUES.into_iter(), divisor).map;
        assert_eq!(by(Divisor::Count), Standardisation { mean: 5.0, sd: 2.0 });
        let expected = Standardisation {
            mean: 5.0,
            sd: (32.0_f64 / 7.0).sqrt(),
        };
        assert_eq!(by(Divisor::CountLessOne), expected);
    }

    #[test]
    fn undo_inverts_apply() {
        let map = Standardisation { mean: 3.0, sd: 0.5 };
        assert_eq!((map.apply(4.0), map.undo(2.0)), (2.0, 4.0));
    }

    #[test]
    fn constant_values_become_zeros() {
        for values in [vec![0.1; 7], vec![288.0], vec![]] {
            let found = Standardisation::fit(values.iter().copied(), Divisor::Count);
            assert!(!found.varies);
            assert!(values.iter().all(|x| found.map.apply(*x) == 0.0), "{values:?}");
        }
    }

    #[test]
    fn tiny_and_huge_values_have_a_scale() {
        for scale in [1e-200, 1e200] {
            let found = Standardisation::fit(VALUES.into_iter().map(|x| x * scale), Divisor::Count);
            assert!(found.varies);
            assert!((found.map.sd / scale - 2.0).abs() < 1e-12);
            assert!((found.map.mean / scale - 5.0).abs() < 1e-12);
        }
    }
}
