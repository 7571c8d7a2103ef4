//! Means and standard deviations of training rows.

use serde::{Deserialize, Serialize};

/// An affine map to mean 0 and standard deviation 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standardisation {
    /// The mean over the training rows.
    pub mean: f64,
    /// The standard deviation over the training rows (divides by n).
    pub sd: f64,
}

impl Standardisation {
    /// The map that changes nothing.
    pub const IDENTITY: Standardisation = Standardisation { mean: 0.0, sd: 1.0 };

    /// Mean and standard deviation of some values; `None` where they do not vary (or overflow).
    pub fn fit(values: impl Iterator<Item = f64> + Clone) -> Option<Standardisation> {
        let (sum, count) = values
            .clone()
            .fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
        let mean = sum / count;
        let first = values.clone().next()?;
        let sd = (values.clone().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        let varies = values.clone().any(|x| x != first);
        (varies && mean.is_finite() && sd.is_finite() && sd > 0.0).then_some(Standardisation { mean, sd })
    }

    /// The standardised value.
    pub fn apply(self, value: f64) -> f64 {
        (value - self.mean) / self.sd
    }

    /// The value in original units.
    pub fn undo(self, value: f64) -> f64 {
        value * self.sd + self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_by_n() {
        let fitted = Standardisation::fit([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter());
        assert_eq!(fitted, Some(Standardisation { mean: 5.0, sd: 2.0 }));
    }

    #[test]
    fn undo_inverts_apply() {
        let map = Standardisation { mean: 3.0, sd: 0.5 };
        assert_eq!((map.apply(4.0), map.undo(2.0)), (2.0, 4.0));
    }

    #[test]
    fn constant_values_have_none() {
        assert_eq!(Standardisation::fit([0.1; 7].into_iter()), None);
        assert_eq!(Standardisation::fit(std::iter::empty()), None);
    }
}
