//! Arithmetic on slices. Sums use a fixed number of lanes, so that they compile to vector instructions and have the same result on every
//! machine.

/// The number of partial sums that a sum over elements is split into.
const LANES: usize = 16;

/// Returns the dot product of two slices.
pub fn dot(left: &[f64], right: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (lefts, rights) = (left.chunks_exact(LANES), right.chunks_exact(LANES));
    let rest: f64 = lefts
        .remainder()
        .iter()
        .zip(rights.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (left, right) in lefts.zip(rights) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Adds `factor * from` to `to`.
pub fn add_scaled(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// Writes `base + factor * from` to `out`.
pub fn sum_scaled(out: &mut [f64], base: &[f64], factor: f64, from: &[f64]) {
    for ((out, base), from) in out.iter_mut().zip(base).zip(from) {
        *out = base + factor * from;
    }
}

/// Writes the elementwise product of two slices to `out`.
pub fn product(out: &mut [f64], left: &[f64], right: &[f64]) {
    for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
        *out = left * right;
    }
}

/// Returns `log(exp(left) + exp(right))`.
pub fn log_sum(left: f64, right: f64) -> f64 {
    let (low, high) = if left < right {
        (left, right)
    } else {
        (right, left)
    };
    if low == f64::NEG_INFINITY {
        high
    } else {
        high + (low - high).exp().ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_products_include_every_element() {
        for length in 0..20 {
            let left: Vec<f64> = (0..length).map(f64::from).collect();
            let ones = vec![1.0; left.len()];
            assert_eq!(dot(&left, &ones), f64::from(length * (length - 1) / 2));
        }
    }

    #[test]
    fn log_sums_do_not_overflow() {
        assert!((log_sum(1000.0, 1000.0) - (1000.0 + 2.0_f64.ln())).abs() < 1e-12);
        assert_eq!(log_sum(f64::NEG_INFINITY, 3.0), 3.0);
        assert_eq!(log_sum(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
    }
}
