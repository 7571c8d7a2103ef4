//! Ranks, their normal scores, and quantiles.

use super::halves::Halves;

/// Computes the ranks of draws and the normal scores of these ranks, and reuses its memory.
#[derive(Clone, Debug, Default)]
pub struct Ranks {
    order: Vec<(f64, u32)>,
    /// The normal scores of all ranks, beginning with rank 1.
    scores: Vec<f64>,
}

impl Ranks {
    /// Replaces each of `S` values by the standard normal quantile at the probability `(r - 3/8) / (S + 1/4)`, where `r` is the rank of the
    /// value (Vehtari et al. 2021, equation 14; Blom 1958). Equal values have their average rank. The values must be finite.
    pub fn normal_scores(&mut self, halves: &mut Halves) {
        let values = halves.values_mut();
        self.order.clear();
        let numbered = values.iter().zip(0..).map(|(value, at)| (*value, at));
        self.order.extend(numbered);
        self.order
            .sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let all = values.len();
        let score = |rank: f64| normal_quantile((rank - 0.375) / (all as f64 + 0.25));
        if self.scores.len() != all {
            self.scores.clear();
            self.scores.extend((1..=all).map(|rank| score(rank as f64)));
        }
        let mut before = 0;
        for equal in self.order.chunk_by(|one, other| one.0 == other.0) {
            let score = match equal.len() {
                1 => self.scores[before],
                count => score(before as f64 + (count + 1) as f64 / 2.0),
            };
            for (_, at) in equal {
                values[*at as usize] = score;
            }
            before += equal.len();
        }
    }
}

/// Returns the quantile of sorted values at the probability `p`, interpolated linearly between order statistics (Hyndman and Fan 1996, type 7).
/// Returns NaN for an empty slice.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let position = p.clamp(0.0, 1.0) * last as f64;
    let below = position.floor();
    let (low, high) = (sorted[below as usize], sorted[(below as usize + 1).min(last)]);
    low + (position - below) * (high - low)
}

/// Returns the median of sorted values. For an even number of values, the median is the mean of the two middle values. Returns NaN if the list
/// of values is empty.
pub fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[half],
        _ => (sorted[half - 1] + sorted[half]) / 2.0,
    }
}

/// Returns the quantile of the standard normal distribution, with a relative error of about 1e-16 (Wichura 1988, algorithm AS 241, PPND16). The
/// result is infinite if `p` is 0 or 1, and NaN if `p` is outside this range.
pub fn normal_quantile(p: f64) -> f64 {
    let centred = p - 0.5;
    if centred.abs() <= 0.425 {
        let square = 0.180625 - centred * centred;
        return centred * ratio(&CENTRE, square);
    }
    let tail = if centred < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 {
        let end = if tail == 0.0 { f64::INFINITY } else { f64::NAN };
        return end.copysign(centred);
    }
    let root = (-tail.ln()).sqrt();
    let size = if root <= 5.0 {
        ratio(&MIDDLE, root - 1.6)
    } else {
        ratio(&FAR, root - 5.0)
    };
    size.copysign(centred)
}

/// Returns the ratio of two polynomials. The coefficients of each polynomial begin with the constant.
fn ratio([above, below]: &[[f64; 8]; 2], x: f64) -> f64 {
    let value = |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c);
    value(above) / value(below)
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];

const MIDDLE: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];
