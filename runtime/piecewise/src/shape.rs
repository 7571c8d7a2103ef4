//! The distribution of a sum of independent uniforms and a Normal, in the representation that makes evaluations cheap for the given widths.

use super::bernstein::MOST_DEGREE;
use super::blend::Blend;
use super::cumulant::{Mass, Summands};
use super::grid;
use super::measure::Measure;
use super::series::Series;
use super::twofold::Twofold;
use std::f64::consts::PI;

/// The representation of a distribution.
#[derive(Clone, Debug)]
pub enum Representation {
    /// Exact pieces, and the standard deviation of Normal noise that is added at every evaluation. With a standard deviation of 0, the distribution
    /// does not have noise.
    Pieces(Measure, f64),
    /// A Fourier series around `centre`. In the tails, densities are computed by a tilted series.
    Series {
        /// An estimate of the relative error of the distributions that were added up.
        accuracy: f64,
        /// The position of the origin of `summands`.
        centre: Twofold,
        /// The independent summands whose sum the series describes.
        summands: Summands,
        /// The series without a tilt.
        series: Series,
    },
    /// Exact pieces for the wide uniforms, and a Fourier series for all other summands.
    Blend(Box<Blend>),
    /// A distribution with very many pieces, and Normal noise. The density is computed from the series where most of the mass is, and from the pieces
    /// in the tails.
    Tabulated {
        /// An estimate of the relative error of the point masses from which the series was computed.
        accuracy: f64,
        /// The distribution without noise.
        measure: Measure,
        /// The standard deviation of the Normal noise.
        sd: f64,
        /// The origin of the series.
        centre: Twofold,
        /// The series of the distribution with noise.
        series: Series,
    },
    /// Exact pieces, and the radius of triangular noise.
    Triangular(Measure, f64),
}

/// [`Representation::new`] tries to represent at most this number of wide uniforms by pieces, and the remaining uniforms by a series. If no such
/// split is possible, all uniforms become pieces, or the sum is computed on a grid.
const MOST_WIDE: usize = 13;
/// A sum with more pieces than this is not represented by exact pieces.
const MOST_PIECES: f64 = 8192.0;
/// A series is used only if computing it takes at most this number of multiplications of a mass and a term.
const MOST_INNER: f64 = 1e7;
/// The panels of a quadrature rule are so short that the phase of an oscillating factor changes by at most this angle (in radians) over a panel. A
/// rule with 16 more nodes than the polynomial needs is then accurate up to rounding.
const RESOLVED: f64 = 8.6;
/// The estimated accuracy of a quadrature with an oscillating factor, relative to the density.
const QUADRATURE: f64 = 1e-14;
/// If a distribution has more pieces than this, a series is cheaper to evaluate.
const MANY: usize = 400;
/// Densities below this fraction of the maximum are computed by a tilted series, because a tilted density at its centre is at least this fraction of
/// its own maximum.
const TAIL: f64 = 1e-3;

impl Representation {
    /// Computes the distribution of a sum of independent variables: a variable with the distribution `base`, uniforms on `[0, width]`, and a
    /// `Normal(0, sd)`.
    pub fn new(base: Measure, mut widths: Vec<f64>, sd: f64) -> Representation {
        widths.retain(|&width| width > 0.0);
        widths.sort_by(|a, b| b.total_cmp(a));
        let knots = base.atoms.len() + 2 * base.pieces.len();
        let single = knots == 1 && base.pieces.is_empty();
        let best = (0..=widths.len().min(MOST_WIDE))
            .filter_map(|wide| Some((wide, cost(&widths, wide, sd, (!single).then_some(knots))?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let degree = base.pieces.iter().map(|piece| piece.degree()).max().unwrap_or(0);
        let many =
            pieces(&widths).max(1.0) * knots as f64 > MOST_PIECES || degree + widths.len() > MOST_DEGREE;
        if best.is_none() && many {
            return Representation::smoothed(grid::sum(&[base], &widths), sd);
        }
        let wide = best.map_or(widths.len(), |(wide, _)| wide);
        let smooth = wide < widths.len();
        let series = smooth.then(|| {
            let narrow = summands(&widths[wide..], sd);
            Series::new(&narrow, 0.0).map(|series| (narrow, series))
        });
        let half_of = |widths: &[f64]| {
            widths
                .iter()
                .fold(Twofold::default(), |sum, width| sum + Twofold::from(0.5 * width))
        };
        let add =
            |measure: Measure, widths: &[f64]| widths.iter().fold(measure, |sum, &w| sum.plus_uniform(w));
        match series.flatten() {
            Some((summands, series)) if single && wide == 0 => Representation::Series {
                accuracy: 0.0,
                centre: base.atoms[0].at + half_of(&widths),
                summands,
                series,
            },
            Some((narrow, kernel)) => {
                let origin = Twofold::from(base.moments().0);
                let length = base.support().1 - base.support().0;
                let mut all = self::summands(&widths, sd);
                all.masses = vec![base.masses(origin, length.max(f64::MIN_POSITIVE), 2)];
                let centre = origin + half_of(&widths);
                // In the kernel, the narrow uniforms are centred at 0, so their half-widths are added to the positions of the pieces.
                let measure = add(base.shifted(half_of(&widths[wide..])), &widths[..wide]);
                Representation::Blend(Box::new(Blend {
                    measure,
                    narrow,
                    kernel,
                    all,
                    centre,
                }))
            }
            None if many => Representation::smoothed(grid::sum(&[base], &widths), sd),
            None => Representation::Pieces(add(base, &widths), sd),
        }
    }

    /// Adds an independent `Normal(0, sd)` to a variable with the distribution `base`. A series is used if there are very many pieces, `sd` is
    /// positive, and the series is short.
    pub fn smoothed(base: Measure, sd: f64) -> Representation {
        if sd > 0.0 && base.pieces.len() > MANY {
            let centre = Twofold::from(base.moments().0);
            if let Some((_, series)) = series(std::slice::from_ref(&base), &[centre], (&[], sd), MOST_INNER) {
                return Representation::Tabulated {
                    accuracy: base.accuracy + QUADRATURE,
                    measure: base,
                    sd,
                    centre,
                    series,
                };
            }
        }
        Representation::Pieces(base, sd)
    }

    /// Computes the distribution of a sum of independent variables: variables with the distributions `laws`, uniforms on `[0, width]`, and a Normal.
    /// The result is a series whose coefficients are products of the variables' characteristic functions. Returns `None` if this takes more than
    /// `most` multiplications of a mass and a term, or if the series would be infinite because the uniforms and the Normal do not make its terms
    /// decrease.
    pub fn of_many(laws: &[Measure], widths: &[f64], sd: f64, most: f64) -> Option<Representation> {
        let origins: Vec<Twofold> = laws.iter().map(|law| Twofold::from(law.moments().0)).collect();
        let (summands, series) = series(laws, &origins, (widths, sd), most)?;
        let centre = widths
            .iter()
            .map(|width| Twofold::from(0.5 * width))
            .chain(origins)
            .fold(Twofold::default(), |sum, next| sum + next);
        Some(Representation::Series {
            accuracy: laws.iter().map(|law| law.accuracy).sum::<f64>() + QUADRATURE,
            centre,
            summands,
            series,
        })
    }

    /// Computes the density at `y`. At an atom, the density is infinite.
    pub fn density(&self, y: f64) -> f64 {
        let position = Twofold::from(y);
        match self {
            Representation::Pieces(measure, sd) if *sd > 0.0 => {
                measure.smoothed_log_density(position, *sd).exp()
            }
            Representation::Pieces(measure, _) if measure.has_atom(position) => f64::INFINITY,
            Representation::Pieces(measure, _) => measure.density(position),
            Representation::Triangular(measure, radius) => measure.triangular_density(position, *radius),
            Representation::Series { .. } | Representation::Blend(_) | Representation::Tabulated { .. } => {
                let density = self.plain_density(y);
                if self.is_central(density) {
                    density
                } else {
                    self.log_density(y).exp()
                }
            }
        }
    }

    /// Returns a function that computes the density at many points near a position. All of these evaluations use the same tilted series.
    pub fn near(&self, y: f64) -> impl Fn(f64) -> f64 + '_ {
        let tilted = match self {
            Representation::Series {
                centre,
                summands,
                series,
                ..
            } => {
                let position = (Twofold::from(y) - *centre).value();
                let central = self.is_central(series.density(position - series.centre));
                let theta = if central { None } else { summands.saddle(position) };
                theta.and_then(|theta| Some((*centre, Series::new(summands, theta)?)))
            }
            Representation::Pieces(..)
            | Representation::Triangular(..)
            | Representation::Blend(_)
            | Representation::Tabulated { .. } => None,
        };
        move |y| {
            if let Some((centre, series)) = &tilted {
                let x = (Twofold::from(y) - *centre).value() - series.centre;
                let density = series.density(x);
                if density * series.period() > TAIL {
                    return density * (series.log_scale - series.theta * x).exp();
                }
            }
            self.density(y)
        }
    }

    /// Computes the density at `y` without a tilt. The absolute error is small, but the relative error can be large in the tails.
    pub fn plain_density(&self, y: f64) -> f64 {
        let position = Twofold::from(y);
        match self {
            Representation::Pieces(..) | Representation::Triangular(..) => self.density(y),
            Representation::Series { centre, series, .. }
            | Representation::Tabulated { centre, series, .. } => {
                series.density((position - *centre).value() - series.centre)
            }
            Representation::Blend(blend) => blend.density(position),
        }
    }

    /// Computes the log density at `y`.
    pub fn log_density(&self, y: f64) -> f64 {
        let position = Twofold::from(y);
        let outside = f64::NEG_INFINITY;
        match self {
            Representation::Pieces(measure, sd) if *sd > 0.0 => measure.smoothed_log_density(position, *sd),
            Representation::Pieces(..) | Representation::Triangular(..) => self.density(y).ln(),
            Representation::Tabulated { measure, sd, .. } => {
                let density = self.plain_density(y);
                if self.is_central(density) {
                    density.ln()
                } else {
                    measure.smoothed_log_density(position, *sd)
                }
            }
            Representation::Series {
                centre,
                summands,
                series,
                ..
            } => {
                let from_centre = (position - *centre).value();
                let density = series.density(from_centre - series.centre);
                if self.is_central(density) {
                    return density.ln();
                }
                let tilted = summands
                    .saddle(from_centre)
                    .and_then(|theta| Series::new(summands, theta));
                tilted.map_or(outside, |series| series.log_density(from_centre - series.centre))
            }
            Representation::Blend(blend) => {
                let density = blend.density(position);
                if self.is_central(density) {
                    return density.ln();
                }
                blend.log_density(position).unwrap_or(outside)
            }
        }
    }

    /// Computes the distribution function at `y`.
    pub fn below(&self, y: f64) -> f64 {
        let position = Twofold::from(y);
        match self {
            Representation::Pieces(measure, sd) if *sd > 0.0 => measure.smoothed_below(position, *sd),
            Representation::Pieces(measure, _) => measure.below(position),
            Representation::Triangular(measure, radius) => measure.triangular_below(position, *radius),
            Representation::Series { centre, series, .. }
            | Representation::Tabulated { centre, series, .. } => {
                series.mass_below((position - *centre).value() - series.centre)
            }
            Representation::Blend(blend) => blend.below(position),
        }
    }

    /// Estimates the error of `density`, the computed density at `y`. The estimate includes rounding errors, the truncation of series, and the
    /// known errors of distributions that were interpolated or discretised.
    pub fn error(&self, y: f64, density: f64) -> f64 {
        match self {
            Representation::Pieces(measure, _) | Representation::Triangular(measure, _) => {
                let degree = measure
                    .pieces
                    .iter()
                    .map(|piece| piece.degree())
                    .max()
                    .unwrap_or(0) as f64;
                (measure.accuracy + 64.0 * (degree + 4.0) * f64::EPSILON) * density
            }
            Representation::Series { accuracy, series, .. }
            | Representation::Tabulated { accuracy, series, .. }
                if self.is_central(density) =>
            {
                accuracy * density + series.error()
            }
            Representation::Blend(blend) if self.is_central(density) => {
                blend.measure.accuracy * density + blend.error(y)
            }
            // In the tails, the rounding error of the exponent also matters.
            Representation::Series { .. } | Representation::Blend(_) | Representation::Tabulated { .. } => {
                // If underflow makes the density 0, it is replaced by the smallest positive number, so that the logarithm is finite.
                let log = density.max(f64::MIN_POSITIVE).ln().abs();
                (self.accuracy() + 1e-11 + 32.0 * f64::EPSILON * log) * density + f64::MIN_POSITIVE
            }
        }
    }

    /// Returns an estimate of the relative error of the distributions that were added up.
    pub fn accuracy(&self) -> f64 {
        match self {
            Representation::Pieces(measure, _) | Representation::Triangular(measure, _) => measure.accuracy,
            Representation::Series { accuracy, .. } | Representation::Tabulated { accuracy, .. } => *accuracy,
            Representation::Blend(blend) => blend.measure.accuracy,
        }
    }

    /// Returns whether a density that was computed without a tilt is large enough to have a small relative error.
    fn is_central(&self, density: f64) -> bool {
        let spread = match self {
            Representation::Pieces(..) | Representation::Triangular(..) => return true,
            Representation::Tabulated { series, .. } => series.spread(),
            Representation::Series { summands, .. } => summands.slopes(0.0).1.sqrt(),
            Representation::Blend(blend) => blend.all.slopes(0.0).1.sqrt(),
        };
        density * spread > TAIL
    }
}

/// Computes the series of a sum of three kinds of variables: variables with these distributions (relative to their origins), uniforms around 0, and a
/// Normal. The distributions are discretised finely enough for the highest frequency of the series. Returns `None` if this takes more than `most`
/// multiplications.
fn series(
    laws: &[Measure],
    origins: &[Twofold],
    (widths, sd): (&[f64], f64),
    most: f64,
) -> Option<(Summands, Series)> {
    let masses = |length: f64, extra: usize| -> Vec<Vec<Mass>> {
        laws.iter()
            .zip(origins)
            .map(|(law, origin)| law.masses(*origin, length, extra))
            .collect()
    };
    let mut all = summands(widths, sd);
    all.masses = masses(f64::INFINITY, 4);
    let (terms, period) = Series::size_needed(&all)?;
    // Over a panel of this length, the phase of the highest frequency changes by the angle for which a rule with 16 more nodes is accurate.
    let length = RESOLVED * period / (2.0 * PI * terms as f64);
    let nodes = |law: &Measure| law.count_masses(length, 16);
    if terms as f64 * laws.iter().map(nodes).sum::<f64>() > most {
        return None;
    }
    all.masses = masses(length, 16);
    let series = Series::new(&all, 0.0)?;
    Some((all, series))
}

/// Returns uniforms of these widths around 0 and a `Normal(0, sd)` as summands.
fn summands(widths: &[f64], sd: f64) -> Summands {
    Summands {
        halves: widths.iter().map(|width| 0.5 * width).collect(),
        sd,
        masses: Vec::new(),
    }
}

/// Estimates the cost of one density, in nanoseconds, if the first `wide` widths become pieces. The widths are in decreasing order. `knots` is the
/// number of knots of the distribution that the uniforms are added to, or `None` for a single point. Returns `None` if this split is not possible.
fn cost(widths: &[f64], wide: usize, sd: f64, knots: Option<usize>) -> Option<f64> {
    let pieces = pieces(&widths[..wide]).max(1.0) * knots.unwrap_or(1) as f64;
    if wide > 0 && pieces > MOST_PIECES {
        return None;
    }
    let narrow = &widths[wide..];
    if narrow.is_empty() && (wide > 0 || knots.is_some()) {
        return Some(if sd > 0.0 { 300.0 * pieces } else { 5.0 * pieces });
    }
    let kernel = summands(narrow, sd);
    let terms = Series::size_needed(&kernel)?.0 as f64;
    // A density in a tail needs a separate tilted series, so the cost of computing this series is added.
    let making = 0.5 * terms * narrow.len() as f64;
    if wide == 0 && knots.is_none() {
        return Some(3.0 * terms + making);
    }
    let smooth = sd > 0.05 * kernel.slopes(0.0).1.sqrt() || narrow.len() >= 10;
    smooth.then_some(pieces.min(40.0) * 300.0 * terms + making)
}

/// Returns the number of pieces of the box spline with these widths. Equal widths share knots.
fn pieces(widths: &[f64]) -> f64 {
    let groups = widths.chunk_by(|a, b| a == b);
    groups.map(|group| group.len() as f64 + 1.0).product::<f64>() - 1.0
}
