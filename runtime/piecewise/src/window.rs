//! Adds an independent uniform variable to another variable. The density of the sum at a position is the average of the variable's density
//! over a window at this position.
//!
//! Every coefficient of the result is a sum of non-negative terms, so that no digits cancel. Integrals from an end of a piece are computed
//! as running sums, and de Casteljau's algorithm restricts a piece to an interval. If the window is inside one piece, a Gauss-Legendre
//! rule averages over the positions in the window.

use super::bernstein::{Piece, elevated};
use super::measure::Measure;
use super::quadrature::{nodes_for_degree, rule};
use super::twofold::Twofold;

impl Measure {
    /// Computes the distribution of the sum of this variable and an independent uniform on `[0, width]`.
    pub fn plus_uniform(&self, width: f64) -> Measure {
        if width <= 0.0 {
            return self.clone();
        }
        let knots = self
            .knots()
            .flat_map(|knot| [knot, knot + Twofold::from(width)])
            .collect();
        let knots = merged(knots);
        let degree = self
            .pieces
            .iter()
            .map(|piece| piece.degree() + 1)
            .max()
            .unwrap_or(0);
        let mut sources: Vec<Source> = self.pieces.iter().map(Source::new).collect();
        sources.sort_by(|a, b| a.piece.start.order(b.piece.start));
        let mut first = 0;
        let mut pieces = Vec::with_capacity(knots.len());
        for ends in knots.windows(2) {
            let middle = ends[0].midpoint(ends[1]);
            let window = Window {
                from: ends[0],
                to: ends[1],
                middle,
                width,
            };
            while sources
                .get(first)
                .is_some_and(|source| window.passed(source.piece.end))
            {
                first += 1;
            }
            if let Some(coefficients) = self.average(&sources[first..], &window, degree) {
                pieces.push(Piece::new(ends[0], ends[1], coefficients));
            }
        }
        Measure {
            atoms: Vec::new(),
            pieces,
            accuracy: self.accuracy,
        }
    }

    /// Returns the positions where the density is not smooth, in any order.
    pub fn knots(&self) -> impl Iterator<Item = Twofold> + '_ {
        let ends = self.pieces.iter().flat_map(|piece| [piece.start, piece.end]);
        self.atoms.iter().map(|atom| atom.at).chain(ends)
    }

    /// Computes the average density over the window, as a function of the window's position. Returns the coefficients of a polynomial of
    /// this degree, or `None` if the window does not contain an atom or a piece.
    fn average(&self, sources: &[Source], window: &Window, degree: usize) -> Option<Vec<f64>> {
        let mut sums = vec![0.0; degree + 1];
        let mut reached = false;
        for atom in &self.atoms {
            if window.reached(atom.at) && !window.passed(atom.at) {
                reached = true;
                sums.iter_mut().for_each(|sum| *sum += atom.mass);
            }
        }
        for source in sources {
            if !window.reached(source.piece.start) {
                break;
            }
            if window.passed(source.piece.end) {
                continue;
            }
            reached = true;
            source.add(window, &mut sums);
        }
        sums.iter_mut().for_each(|sum| *sum /= window.width);
        reached.then_some(sums)
    }
}

/// A range `from..to` of positions for the leading end of a window. While the leading end is within this range, neither end of the window
/// crosses a knot.
struct Window {
    from: Twofold,
    to: Twofold,
    middle: Twofold,
    width: f64,
}

impl Window {
    /// Returns whether the leading end of the window is to the right of a knot.
    fn reached(&self, knot: Twofold) -> bool {
        (self.middle - knot).value() > 0.0
    }

    /// Returns whether the trailing end of the window is to the right of a knot.
    fn passed(&self, knot: Twofold) -> bool {
        (self.middle - (knot + Twofold::from(self.width))).value() > 0.0
    }
}

/// A piece together with its mass and its integrals, which are used many times.
struct Source<'a> {
    piece: &'a Piece,
    mass: f64,
    from_start: Vec<f64>,
    to_end: Vec<f64>,
}

impl<'a> Source<'a> {
    fn new(piece: &'a Piece) -> Source<'a> {
        Source {
            piece,
            mass: piece.mass(),
            from_start: piece.from_start(),
            to_end: piece.to_end(),
        }
    }

    /// Adds the mass of the piece inside the window, as a polynomial in the window's position.
    fn add(&self, window: &Window, sums: &mut [f64]) {
        let piece = self.piece;
        let back = |position: Twofold| position - Twofold::from(window.width);
        match (window.reached(piece.end), window.passed(piece.start)) {
            (true, false) => sums.iter_mut().for_each(|sum| *sum += self.mass),
            (false, false) => {
                let part = piece.restrict(&self.from_start, window.from, window.to);
                add(sums, &part, 1.0);
            }
            (true, true) => {
                let part = piece.restrict(&self.to_end, back(window.from), back(window.to));
                add(sums, &part, 1.0);
            }
            (false, true) => {
                for node in rule(nodes_for_degree(piece.degree())) {
                    let offset = Twofold::from(window.width * node.at);
                    let part = piece.restrict(&piece.coefficients, window.from - offset, window.to - offset);
                    add(sums, &part, node.weight * window.width);
                }
            }
        }
    }
}

/// Raises the degree of `coefficients` to the degree of `sums`, and adds `factor` times the result to `sums`.
fn add(sums: &mut [f64], coefficients: &[f64], factor: f64) {
    let raised = elevated(coefficients, sums.len() - 1);
    sums.iter_mut()
        .zip(raised)
        .for_each(|(sum, coefficient)| *sum += factor * coefficient);
}

/// Sorts knots and removes duplicates. Knots that differ only in the last digits of their positions are duplicates.
pub fn merged(mut knots: Vec<Twofold>) -> Vec<Twofold> {
    const DIGITS: f64 = 1e-29;
    knots.sort_by(|a, b| a.order(*b));
    let size = knots.iter().map(|knot| knot.value().abs()).fold(0.0, f64::max);
    knots.dedup_by(|right, left| (*right - *left).value() <= DIGITS * size);
    knots
}
