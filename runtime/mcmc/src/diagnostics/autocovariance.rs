//! Autocovariances. The first lags are computed by their definition, all others by the fast Fourier transform.

use super::effective::average;
use super::halves::Halves;
use std::f64::consts::TAU;

/// Lags below this number are summed directly. Chains that mix well need only a few lags, and summing these directly costs no more than a transform
/// for all lags.
const SUMMED: usize = 32;

/// Computes the autocovariances of the halves of chains, and reuses its memory.
///
/// Note \[Pairs\]. Two real sequences `a` and `b` are transformed together as one complex sequence `a + ib`. The real part of its autocovariance is
/// the sum of the autocovariances of `a` and `b`. Only the mean over all sequences is needed. The power spectra are therefore added up, and the sum
/// is transformed back once. The forward transform leaves its result in bit-reversed order. The backward transform reads this order, so the values
/// need not be reordered.
#[derive(Clone, Debug, Default)]
pub struct Autocovariance {
    /// The halves of the chains, each minus its mean.
    centred: Halves,
    /// The roots of unity for each stage of the transform, from the widest stage to the narrowest: first the real parts, then the imaginary parts.
    roots: [Vec<f64>; 2],
    /// The real and imaginary parts of the sequence that is transformed.
    values: [Vec<f64>; 2],
    power: Vec<f64>,
    /// True if the real parts in `values` hold the autocovariances of `centred` at all lags.
    transformed: bool,
}

impl Autocovariance {
    /// Replaces the halves of the chains.
    pub fn take(&mut self, halves: &Halves) {
        self.centred.fill_with(halves, |value| value);
        for half in self.centred.each_mut() {
            let mean = average(half);
            half.iter_mut().for_each(|value| *value -= mean);
        }
        self.transformed = false;
    }

    /// Returns the autocovariance at a lag, averaged over all halves. For one half, it is the sum of products of deviations from the half's mean,
    /// divided by the length of the half (Geyer 1992, section 3). The first call with a lag of 32 or more takes time
    /// `O(n log n)`; later calls take constant time.
    pub fn at(&mut self, lag: usize) -> f64 {
        if lag >= SUMMED {
            if !self.transformed {
                self.transform();
            }
            return self.values[0][lag];
        }
        let products = self.centred.each().map(|half| product(half, &half[lag..]));
        products.sum::<f64>() / self.centred.values().len() as f64
    }

    /// Computes the autocovariances at all lags, and writes them to the real parts of `values`.
    fn transform(&mut self) {
        let length = self.centred.length();
        // The sequence is padded with zeros, so that the transform does not wrap around.
        let size = (2 * length).next_power_of_two();
        self.plan(size);
        self.power.clear();
        self.power.resize(size, 0.0);
        let pair = 2 * length;
        for from in (0..self.centred.values().len()).step_by(pair) {
            let halves = self.centred.values()[from..from + pair].chunks_exact(length);
            for (to, half) in self.values.iter_mut().zip(halves) {
                to[..length].copy_from_slice(half);
                to[length..].fill(0.0);
            }
            self.forward();
            let [real, imaginary] = &self.values;
            for ((power, re), im) in self.power.iter_mut().zip(real).zip(imaginary) {
                *power += re * re + im * im;
            }
        }
        self.values[0].copy_from_slice(&self.power);
        self.values[1].fill(0.0);
        self.backward();
        let scale = 1.0 / (size as f64 * self.centred.values().len() as f64);
        let lags = self.values[0].iter_mut().take(length);
        lags.for_each(|value| *value *= scale);
        self.transformed = true;
    }

    fn plan(&mut self, size: usize) {
        if self.power.len() == size {
            return;
        }
        for part in 0..2 {
            self.values[part].resize(size, 0.0);
            self.roots[part].clear();
        }
        let mut half = size / 2;
        while half > 0 {
            for at in 0..half {
                let (sine, cosine) = (-TAU * at as f64 / (2 * half) as f64).sin_cos();
                self.roots[0].push(cosine);
                self.roots[1].push(sine);
            }
            half /= 2;
        }
    }

    /// Transforms in place by decimation in frequency (Gentleman and Sande 1966). The input has natural order, and the output has bit-reversed order.
    fn forward(&mut self) {
        let [reals, imaginaries] = &mut self.values;
        let mut half = reals.len() / 2;
        let mut start = 0;
        while half > 0 {
            let cosines = &self.roots[0][start..start + half];
            let sines = &self.roots[1][start..start + half];
            let blocks = reals.chunks_exact_mut(2 * half);
            for (re, im) in blocks.zip(imaginaries.chunks_exact_mut(2 * half)) {
                let ((re0, re1), (im0, im1)) = (re.split_at_mut(half), im.split_at_mut(half));
                for at in 0..half {
                    let (re, im) = (re0[at] - re1[at], im0[at] - im1[at]);
                    re0[at] += re1[at];
                    im0[at] += im1[at];
                    re1[at] = re * cosines[at] - im * sines[at];
                    im1[at] = re * sines[at] + im * cosines[at];
                }
            }
            start += half;
            half /= 2;
        }
    }

    /// Transforms back in place, by decimation in time with the conjugate roots of unity (Cooley and Tukey 1965). The input has bit-reversed order,
    /// and the output has natural order. The output is `size` times the inverse transform.
    fn backward(&mut self) {
        let [reals, imaginaries] = &mut self.values;
        let size = reals.len();
        let mut half = 1;
        let mut start = self.roots[0].len();
        while half < size {
            start -= half;
            let cosines = &self.roots[0][start..start + half];
            let sines = &self.roots[1][start..start + half];
            let blocks = reals.chunks_exact_mut(2 * half);
            for (re, im) in blocks.zip(imaginaries.chunks_exact_mut(2 * half)) {
                let ((re0, re1), (im0, im1)) = (re.split_at_mut(half), im.split_at_mut(half));
                for at in 0..half {
                    let re = re1[at] * cosines[at] + im1[at] * sines[at];
                    let im = im1[at] * cosines[at] - re1[at] * sines[at];
                    (re0[at], re1[at]) = (re0[at] + re, re0[at] - re);
                    (im0[at], im1[at]) = (im0[at] + im, im0[at] - im);
                }
            }
            half *= 2;
        }
    }
}

/// Returns the dot product. If one slice is longer, its remaining elements are ignored.
fn product(one: &[f64], other: &[f64]) -> f64 {
    let one = &one[..one.len().min(other.len())];
    let (ones, others) = (one.chunks_exact(4), other.chunks_exact(4));
    let rest = ones
        .remainder()
        .iter()
        .zip(&other[one.len() - ones.remainder().len()..]);
    let rest: f64 = rest.map(|(one, other)| one * other).sum();
    let mut sums = [0.0; 4];
    for (one, other) in ones.zip(others) {
        for lane in 0..4 {
            sums[lane] += one[lane] * other[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes the autocovariances by their definition.
    fn naive(halves: &Halves) -> Vec<f64> {
        let length = halves.length();
        let mut lags = vec![0.0; length];
        for half in halves.each() {
            let mean = half.iter().sum::<f64>() / length as f64;
            for (lag, sum) in lags.iter_mut().enumerate() {
                let pairs = half.iter().zip(&half[lag..]);
                *sum += pairs
                    .map(|(one, other)| (one - mean) * (other - mean))
                    .sum::<f64>();
            }
        }
        let scale = (length * halves.each().len()) as f64;
        lags.iter().map(|sum| sum / scale).collect()
    }

    #[test]
    fn sums_and_transform_agree_with_the_definition() {
        let mut found = Autocovariance::default();
        for length in [2_usize, 3, 7, 16, 33, 100, 6] {
            let chain = |chain: usize| {
                (0..2 * length).map(move |at| ((at * at + 7 * chain) as f64).sin() + chain as f64)
            };
            let chains: Vec<Vec<f64>> = (0..3).map(|number| chain(number).collect()).collect();
            let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
            let halves = Halves::new(&chains);
            found.take(&halves);
            for (lag, want) in naive(&halves).into_iter().enumerate() {
                assert!(
                    (found.at(lag) - want).abs() < 1e-15,
                    "{length}, {lag}: {} {want}",
                    found.at(lag)
                );
                found.transform();
                assert!(
                    (found.values[0][lag] - want).abs() < 1e-15,
                    "{length}, {lag}, transformed"
                );
            }
        }
    }
}
