//! Sums of independent distributions, computed on a grid. A grid is used if an exact convolution has too many pieces and no short Fourier series
//! exists. The work depends only on the grid and the number of distributions.
//!
//! Every distribution is replaced by masses at equidistant positions. Each mass is an integral of the distribution times a cubic Lagrange weight.
//! These weights preserve the total mass and the first three moments of the distribution. The order of accuracy of such weights is derived by
//! Monaghan, "Extrapolating B splines for interpolation", 1985. The masses are convolved by the fast Fourier transform. The origin of a distribution
//! is its first atom, so that the atoms of ReLU units stay at exact positions.

use super::bernstein::Piece;
use super::cumulant::Summands;
use super::measure::{Measure, PointMass};
use super::quadrature::{nodes_for_degree, rule};
use super::twofold::Twofold;
use std::f64::consts::PI;

/// The number of positions of the grid.
const POSITIONS: usize = 1 << 13;
/// The grid ends at the positions beyond which the density is below `exp(-CUT)` of its maximum.
const CUT: f64 = 40.0;
/// Masses below this fraction of the largest mass are treated as rounding errors of the transform.
const FAINT: f64 = 1e-15;

/// Computes the distribution of a sum of independent variables: variables with the distributions `laws`, and uniforms on `[0, width]`. The density of
/// the result is linear between the positions of a grid. The result has at most one atom, at the sum of the first atoms of all variables. Nearly
/// everywhere, the error is at most that of a shift by the distance between two positions, which is about a four-hundredth of the standard
/// deviation. Smooth densities are more accurate: the error of the masses is of fourth order in the distance, and the error of the linear
/// interpolation is of second order. Tails below about `1e-15` of the maximum are cut off.
pub fn sum(laws: &[Measure], widths: &[f64]) -> Measure {
    let uniforms = widths
        .iter()
        .map(|&width| Measure::point(Twofold::default()).plus_uniform(width));
    let laws: Vec<Measure> = laws.iter().cloned().chain(uniforms).collect();
    let origins: Vec<Twofold> = laws.iter().map(origin).collect();
    let origin = origins.iter().fold(Twofold::default(), |sum, &next| sum + next);
    let (low, high) = reach(&laws, &origins);
    let step = (high - low) / (POSITIONS - 16) as f64;
    if !(step > 0.0 && step.is_finite()) {
        return Measure::point(origin);
    }
    let first = (low / step).floor() - 8.0;
    let mut product = vec![(1.0, 0.0); POSITIONS];
    for (law, origin) in laws.iter().zip(&origins) {
        let mut masses = vec![(0.0, 0.0); POSITIONS];
        assign(law, *origin, step, &mut masses);
        transform(&mut masses, 1.0);
        product
            .iter_mut()
            .zip(&masses)
            .for_each(|(sum, x)| *sum = (sum.0 * x.0 - sum.1 * x.1, sum.0 * x.1 + sum.1 * x.0));
    }
    transform(&mut product, -1.0);
    let atom = atom(&laws);
    let place = |index: usize| ((first as i64 + index as i64).rem_euclid(POSITIONS as i64)) as usize;
    product[0].0 -= atom * POSITIONS as f64;
    let masses: Vec<f64> = (0..POSITIONS)
        .map(|index| product[place(index)].0 / POSITIONS as f64)
        .collect();
    let mut law = lines(&masses, origin + Twofold::from(first * step), step, 1.0 - atom);
    if atom > 0.0 {
        law.atoms.push(PointMass {
            at: origin,
            mass: atom,
        });
    }
    let spread = law.moments().1.sqrt();
    let rounding: f64 = laws.iter().map(|law| law.accuracy).sum();
    law.accuracy = rounding + laws.len() as f64 * (step / spread) * (step / spread);
    law
}

/// Returns the origin of a distribution, which lies on a grid point: the first atom, or the start of the first piece if the distribution does not
/// have atoms.
fn origin(law: &Measure) -> Twofold {
    let start = law.pieces.first().map(|piece| piece.start);
    law.atoms
        .first()
        .map(|atom| atom.at)
        .or(start)
        .unwrap_or_default()
}

/// Returns the mass of the sum at one position, the sum of the variables' origins. This mass is positive if every distribution has an atom.
fn atom(laws: &[Measure]) -> f64 {
    laws.iter()
        .map(|law| law.atoms.first().map_or(0.0, |atom| atom.mass))
        .product()
}

/// Returns the ends of the grid, relative to the origin of the sum. These are the ends of the support, or of a shorter range outside which the
/// density is below about `exp(-CUT)` of its maximum. The range is at least as long as the support of each distribution.
fn reach(laws: &[Measure], origins: &[Twofold]) -> (f64, f64) {
    let supports: Vec<(f64, f64)> = laws
        .iter()
        .zip(origins)
        .map(|(law, origin)| law.clone().shifted(-*origin).support())
        .collect();
    let (from, to) = supports
        .iter()
        .fold((0.0, 0.0), |sum, ends| (sum.0 + ends.0, sum.1 + ends.1));
    let masses = laws.iter().zip(origins);
    let all = Summands {
        masses: masses
            .map(|(law, origin)| law.masses(*origin, f64::INFINITY, 4))
            .collect(),
        ..Summands::default()
    };
    let here = all.cumulant(0.0);
    if here.variance.is_nan() || here.variance <= 0.0 {
        return (from, to);
    }
    let low = from.max(here.mean - all.reach(0.0, &here, -1.0, CUT));
    let high = to.min(here.mean + all.reach(0.0, &here, 1.0, CUT));
    let longest = supports.iter().map(|ends| ends.1 - ends.0).fold(0.0, f64::max);
    let more = 0.5 * (longest - (high - low)).max(0.0);
    (low - more, high + more)
}

/// Adds the masses of a distribution to the grid, relative to its origin. Positions beyond the end of the grid wrap around.
fn assign(law: &Measure, origin: Twofold, step: f64, masses: &mut [(f64, f64)]) {
    for atom in &law.atoms {
        add((atom.at - origin).value() / step, atom.mass, masses);
    }
    for piece in &law.pieces {
        let start = (piece.start - origin).value();
        let mut from = 0.0;
        while from < piece.width {
            let next = ((start + from) / step).floor() + 1.0;
            let to = (next * step - start).min(piece.width);
            // If the part that ends at this position is very short, it is merged with the next part.
            let to = if to - from > 1e-9 * step {
                to
            } else {
                (to + step).min(piece.width)
            };
            assign_part(piece, start, (from, to), step, masses);
            from = to;
        }
    }
}

/// Adds the part of a piece between two positions of the grid. The positions are relative to the start of the piece.
fn assign_part(piece: &Piece, start: f64, (from, to): (f64, f64), step: f64, masses: &mut [(f64, f64)]) {
    for node in rule(nodes_for_degree(piece.degree() + 3)) {
        let at = from + (to - from) * node.at;
        let t = at / piece.width;
        let mass = node.weight * (to - from) * piece.at(t, (1.0 - t).max(0.0));
        add((start + at) / step, mass, masses);
    }
}

/// Distributes a mass over the four grid positions around it, with cubic weights. `at` is the position of the mass in units of the grid's step.
fn add(at: f64, mass: f64, masses: &mut [(f64, f64)]) {
    let whole = at.floor();
    let t = at - whole;
    let weights = [
        -t * (t - 1.0) * (t - 2.0) / 6.0,
        (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0,
        -(t + 1.0) * t * (t - 2.0) / 2.0,
        (t + 1.0) * t * (t - 1.0) / 6.0,
    ];
    for (offset, weight) in (-1i64..).zip(weights) {
        let place = (whole as i64).saturating_add(offset).rem_euclid(POSITIONS as i64);
        masses[place as usize].0 += weight * mass;
    }
}

/// Builds a density that is linear between equidistant positions. The first position is `start`, and the total mass is `whole`.
fn lines(masses: &[f64], start: Twofold, step: f64, whole: f64) -> Measure {
    let top = masses.iter().copied().fold(0.0, f64::max);
    let value = |index: usize| {
        if masses[index] > FAINT * top {
            masses[index]
        } else {
            0.0
        }
    };
    let total: f64 = (0..masses.len()).map(value).sum();
    let scale = if total > 0.0 { whole / total / step } else { 0.0 };
    let at = |index: usize| start + Twofold::product(index as f64, step);
    let pieces = (0..masses.len() - 1)
        .map(|index| (index, [scale * value(index), scale * value(index + 1)]))
        .filter(|(_, ends)| ends[0] + ends[1] > 0.0);
    Measure {
        pieces: pieces
            .map(|(index, ends)| Piece::new(at(index), at(index + 1), ends.to_vec()))
            .collect(),
        ..Measure::default()
    }
}

/// Computes the discrete Fourier transform in place, without a scale factor (Cooley and Tukey 1965, radix 2). `sign` is the sign of the exponent.
fn transform(values: &mut [(f64, f64)], sign: f64) {
    let count = values.len();
    let bits = count.trailing_zeros();
    for index in 0..count {
        let other = index.reverse_bits() >> (usize::BITS - bits);
        if index < other {
            values.swap(index, other);
        }
    }
    let turns: Vec<(f64, f64)> = (0..count / 2)
        .map(|index| {
            let (sin, cos) = (sign * 2.0 * PI * index as f64 / count as f64).sin_cos();
            (cos, sin)
        })
        .collect();
    let mut half = 1;
    while half < count {
        let stride = count / (2 * half);
        for block in values.chunks_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (index, (a, b)) in low.iter_mut().zip(high).enumerate() {
                let turn = turns[index * stride];
                let moved = (b.0 * turn.0 - b.1 * turn.1, b.0 * turn.1 + b.1 * turn.0);
                (*b, *a) = ((a.0 - moved.0, a.1 - moved.1), (a.0 + moved.0, a.1 + moved.1));
            }
        }
        half *= 2;
    }
}
