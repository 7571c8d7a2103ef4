//! Distributions of sums whose summands have very different scales. A few wide uniforms become exact pieces. All other summands, together with
//! the noise, become a Fourier series.
//!
//! The density is `p(y) = integral m(u) k(y - u) du`. Here, `m` is the density of the pieces, and `k` is the kernel. The series represents
//! `k`. In the tails, both are exponentially tilted by the saddle point of the whole sum, which keeps all terms moderate in size.

use super::bernstein::Piece;
use super::cumulant::Summands;
use super::measure::Measure;
use super::quadrature::rule;
use super::series::Series;
use super::twofold::Twofold;

/// Pieces that are smoothed by a kernel.
#[derive(Clone, Debug)]
pub struct Blend {
    /// The distribution of the wide uniforms, as pieces.
    pub measure: Measure,
    /// The summands whose sum has the kernel as its density.
    pub narrow: Summands,
    /// The Fourier series of `narrow`, without a tilt.
    pub kernel: Series,
    /// All summands, centred at 0, which determine the saddle point.
    pub all: Summands,
    /// The centre of the distribution of the sum.
    pub centre: Twofold,
}

impl Blend {
    /// Computes the density at a position. The absolute error is small. In the tails, however, the relative error can be
    /// large.
    pub fn density(&self, position: Twofold) -> f64 {
        let (value, exponent) = self.integral(position, &self.kernel);
        value * exponent.exp()
    }

    /// Estimates the error of [`Blend::density`] at `y`. The estimate is the sum of two parts: the rounding errors, and the error of the
    /// kernel times the mass of all pieces that the kernel at `y` reaches.
    pub fn error(&self, y: f64) -> f64 {
        let reach = Twofold::from(self.kernel.below + self.kernel.above);
        let position = Twofold::from(y);
        let met = self.measure.below(position + reach) - self.measure.below(position - reach);
        met * self.kernel.error() + 256.0 * f64::EPSILON * self.density(position)
    }

    /// Computes the log density at a position. The density has a small relative error. Returns `None` if the position is outside the support.
    /// Also returns `None` if the kernel needs too many terms.
    pub fn log_density(&self, position: Twofold) -> Option<f64> {
        let theta = self.all.saddle((position - self.centre).value())?;
        let kernel = Series::new(&self.narrow, theta)?;
        let (value, exponent) = self.integral(position, &kernel);
        Some(kernel.log_scale + exponent + value.ln())
    }

    /// Computes the integral of the pieces times the kernel, without the kernel's scale factor. Returns a value and an exponent: the integral
    /// is the value times `exp` of the exponent.
    fn integral(&self, position: Twofold, kernel: &Series) -> (f64, f64) {
        let origin = position - Twofold::from(kernel.centre);
        let ends = self.pieces_within(origin, kernel);
        let top = ends.map(|(_, from, to)| kernel.theta * if kernel.theta > 0.0 { to } else { from });
        let atoms = self.atoms_within(origin, kernel).map(|(u, _)| kernel.theta * u);
        let exponent = top.chain(atoms).fold(f64::NEG_INFINITY, f64::max);
        if exponent == f64::NEG_INFINITY {
            return (0.0, 0.0);
        }
        let spread = (kernel.below + kernel.above) / 12.0;
        let length = if kernel.theta == 0.0 {
            spread
        } else {
            spread.min(8.0 / kernel.theta.abs())
        };
        let weight = |u: f64| kernel.density(-u) * (kernel.theta * u - exponent).exp();
        let mut sum: f64 = self
            .atoms_within(origin, kernel)
            .map(|(u, mass)| mass * weight(u))
            .sum();
        for (piece, from, to) in self.pieces_within(origin, kernel) {
            sum += panels(piece, origin, from, to, length, weight);
        }
        (sum, exponent)
    }

    /// Returns the pieces that the kernel reaches. For each piece, also returns where the part within reach begins and ends, relative to
    /// `origin`.
    fn pieces_within(&self, origin: Twofold, kernel: &Series) -> impl Iterator<Item = (&Piece, f64, f64)> {
        let (low, high) = (-kernel.above, kernel.below);
        self.measure.pieces.iter().filter_map(move |piece| {
            let from = (piece.start - origin).value().max(low);
            let to = (piece.end - origin).value().min(high);
            (from < to).then_some((piece, from, to))
        })
    }

    /// Returns the position (relative to `origin`) and the mass of each atom that the kernel reaches.
    fn atoms_within(&self, origin: Twofold, kernel: &Series) -> impl Iterator<Item = (f64, f64)> {
        let (low, high) = (-kernel.above, kernel.below);
        self.measure.atoms.iter().filter_map(move |atom| {
            let u = (atom.at - origin).value();
            (low < u && u < high).then_some((u, atom.mass))
        })
    }

    /// Computes the distribution function at `position`.
    pub fn below(&self, position: Twofold) -> f64 {
        let kernel = &self.kernel;
        let origin = position - Twofold::from(kernel.centre);
        let length = (kernel.below + kernel.above) / 12.0;
        let atoms = self.measure.atoms.iter();
        let mut sum: f64 = atoms
            .map(|atom| atom.mass * kernel.mass_below((origin - atom.at).value()))
            .sum();
        for piece in &self.measure.pieces {
            let left = (piece.start - origin).value();
            let right = (piece.end - origin).value();
            if right < -kernel.above {
                sum += piece.mass();
            } else if left < kernel.below {
                let (from, to) = (left.max(-kernel.above), right.min(kernel.below));
                if from > left {
                    sum += piece.mass_below(piece.start + Twofold::from(from - left));
                }
                sum += panels(piece, origin, from, to, length, |u| kernel.mass_below(-u));
            }
        }
        sum.min(1.0)
    }
}

/// Integrates the piece times `of`, a function of the distance from `origin`, over the distances `from..to`. The range is divided into panels
/// that are at most `length` long. Positions are computed relative to `from`, so that a narrow piece does not lose digits. All panels together
/// are never longer than the piece, even if the piece is narrower than the rounding error of a distance.
fn panels(piece: &Piece, origin: Twofold, from: f64, to: f64, length: f64, of: impl Fn(f64) -> f64) -> f64 {
    let whole = (to - from).min(piece.width);
    if whole <= 0.0 {
        return 0.0;
    }
    let count = (whole / length).ceil().max(1.0);
    let panel = whole / count;
    let rule = rule(piece.degree() / 2 + 14);
    let behind = from - (piece.start - origin).value();
    let ahead = (piece.end - origin).value() - from;
    let mut sum = 0.0;
    for index in 0..count as usize {
        for node in rule {
            let along = panel * (index as f64 + node.at);
            let (t, rest) = ((behind + along) / piece.width, (ahead - along) / piece.width);
            sum += node.weight * piece.at(t.clamp(0.0, 1.0), rest.clamp(0.0, 1.0)) * of(from + along);
        }
    }
    sum * panel
}
