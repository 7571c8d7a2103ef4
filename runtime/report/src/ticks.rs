//! Chooses round numbers for the ticks of an axis.

/// The ticks of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticks {
    /// The values of the ticks.
    pub values: Vec<f64>,
    /// The number of decimals that the labels need to distinguish the ticks.
    pub decimals: usize,
}

/// Returns about `wanted` ticks between two values. The ticks are multiples of 1, 2 or 5 times a
/// power of ten.
pub fn ticks(low: f64, high: f64, wanted: usize) -> Ticks {
    let span = high - low;
    if !(span.is_finite() && span > 0.0) {
        return Ticks {
            values: vec![low],
            decimals: 2,
        };
    }
    let rough = span / wanted.max(2) as f64;
    let power = 10f64.powi(rough.log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough * 0.8)
        .unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    let decimals = (-(step * 1.000_001).log10().floor()).max(0.0) as usize;
    Ticks {
        values: (first..=last).map(|at| at as f64 * step).collect(),
        decimals,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_one_two_or_five() {
        assert_eq!(ticks(0.0, 1.0, 5).values.len(), 6);
        let found = ticks(-7.2, 7.2, 7);
        assert_eq!(
            found.values,
            [-6.0, -4.0, -2.0, 0.0, 2.0, 4.0, 6.0].map(|x| x + 0.0)
        );
        assert_eq!(found.decimals, 0);
        let found = ticks(0.0, 0.043, 4);
        assert_eq!((found.values.len(), found.decimals), (5, 2));
    }

    #[test]
    fn ticks_lie_inside_and_are_few() {
        for (low, high) in [(-3.0, 1e9), (1e-9, 2e-9), (5.0, 5.1), (-1e-3, 4.0)] {
            let found = ticks(low, high, 6).values;
            assert!(found.len() >= 2 && found.len() <= 8, "{low} {high}: {found:?}");
            let room = 1e-6 * (high - low);
            assert!(found.iter().all(|tick| (low - room..=high + room).contains(tick)));
        }
    }

    #[test]
    fn a_span_of_zero_has_one_tick() {
        assert_eq!(ticks(2.0, 2.0, 5).values, [2.0]);
    }
}
