//! Tests linear predictors whose coefficients are selected by index inputs, or belong to the classes of a categorical distribution.
//!
//! In `mu + a[g]`, the data determine only the sums. In a softmax layer, they determine only differences between classes. Only the priors then bound
//! the other directions, in which the posterior is much wider than a variational family with independent elements.

use super::blocks::Blocks;
use super::collinear::Columns;
use super::inflation::{LEAST, MOST, Matrix, SAME};
use super::orthogonal::dot;
use super::scales::is_independent;
use crate::diagnostics::scales;
use bnnc_abi::design::{ColumnFormula, LinearSum, PredictorLink};
use bnnc_abi::manifest::{Output, OutputKind};
use bnnc_base::diagnostic::Diagnostic;
use std::collections::{BTreeMap, HashSet};

/// The largest number of coefficients per level, and of coefficients outside the levels.
const PER_LEVEL: usize = 64;
const OUTSIDE: usize = 256;

/// The largest number of products of the rows, and of the blocks of all levels.
const PRODUCTS: usize = 100_000_000;

/// The number of passes over the coefficients that estimate the noise and unknown scales of priors.
const PASSES: usize = 50;

/// A term of a predictor: a coefficient, or one coefficient for each level of an index input.
struct Term<'a> {
    name: &'a str,
    selection: Option<&'a ColumnFormula>,
    /// The column, one value per row.
    values: Vec<f64>,
    /// The level that each row selects. 0 in all rows without a selection.
    places: Vec<usize>,
    levels: usize,
    /// The prior precision, or zero if it is not known.
    prior: f64,
}

/// Returns the warning about the coefficient with the largest variance inflation in a linear predictor. Returns `None` for a predictor without
/// selections and classes, which other checks cover.
pub(super) fn correlated(columns: &Columns<'_>, sum: &LinearSum) -> Option<Diagnostic> {
    let is_classes = sum.link == Some(PredictorLink::Classes);
    let has_levels = sum.terms.iter().any(|term| term.selection.is_some());
    if !sum.is_predictor() || !(is_classes || has_levels) {
        return None;
    }
    let output = columns.infer.only_output()?;
    let targets = columns.targets(output)?;
    let terms = sum.terms.iter().map(|term| {
        let name = columns.infer.design.coefficients.get(term.coefficient)?;
        let selected = term.selection.as_ref();
        let (places, levels) = match selected {
            Some(position) => levels(&columns.of(position))?,
            None => (vec![0; targets.len()], 1),
        };
        let values = columns.of(&term.column);
        values.iter().all(|value| value.is_finite()).then_some(Term {
            name,
            selection: selected,
            values,
            places,
            levels,
            prior: columns.prior(name),
        })
    });
    let mut terms: Vec<Term> = terms.collect::<Option<_>>()?;
    let weights = match output.kind {
        OutputKind::Classes(classes) if is_classes => of_classes(&targets, classes),
        _ if is_classes => return None,
        _ => vec![vec![noise(&mut terms, &targets, (output, sum.link?))?.recip()]],
    };
    Layout::new(&terms, weights)?.report(columns)
}

/// Numbers the positions that occur, from 0. Returns the number of each row, and their count. Returns `None` if a position is not a whole number of at
/// least 0.
fn levels(positions: &[f64]) -> Option<(Vec<usize>, usize)> {
    let mut known: BTreeMap<u64, usize> = BTreeMap::new();
    let mut places = Vec::new();
    for position in positions {
        let is_position = *position >= 0.0 && position.fract() == 0.0;
        let next = known.len();
        places.push(
            *known
                .entry(is_position.then_some(*position as u64)?)
                .or_insert(next),
        );
    }
    Some((places, known.len()))
}

/// Returns the Fisher information of the logits of one row, at the frequencies of the classes.
fn of_classes(targets: &[f64], classes: usize) -> Vec<Vec<f64>> {
    let mut shares = vec![0.0; classes];
    for target in targets {
        if let Some(share) = shares.get_mut(*target as usize) {
            *share += 1.0 / targets.len() as f64;
        }
    }
    let row = |at: usize| {
        let of =
            |(other, share): (usize, &f64)| f64::from(u8::from(at == other)) * share - shares[at] * share;
        shares.iter().enumerate().map(of).collect()
    };
    (0..classes).map(row).collect()
}

/// Returns an estimate of the variance of the noise of one row on the scale of the predictor, and fills in unknown precisions of priors of levels. The
/// estimates come from a coordinate-wise fit with the precisions of the priors as penalties. Each pass updates the scales as the EM algorithm does.
/// For Booleans and counts, the fit is to the first step of iteratively reweighted least squares, and the variance is known.
fn noise(terms: &mut [Term<'_>], targets: &[f64], (output, link): (&Output, PredictorLink)) -> Option<f64> {
    let count = targets.len() as f64;
    let mean = targets.iter().sum::<f64>() / count;
    let known = match (&output.kind, link) {
        (OutputKind::Bool, _) => Some(mean * (1.0 - mean)),
        (OutputKind::Count, _) => Some(mean),
        (OutputKind::Real, PredictorLink::Identity | PredictorLink::Log) => None,
        _ => return None,
    };
    let response = |target: &f64| match (known, link) {
        (Some(information), _) => (target - mean) / information,
        (None, PredictorLink::Log) => target.ln(),
        (None, _) => *target,
    };
    let mut rest: Vec<f64> = targets.iter().map(response).collect();
    let centre = rest.iter().sum::<f64>() / count;
    let spread = rest.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / count;
    let mut variance = known.map_or(spread, f64::recip);
    let unknown: Vec<bool> = terms
        .iter()
        .map(|term| term.prior == 0.0 && term.selection.is_some())
        .collect();
    for (term, is_unknown) in terms.iter_mut().zip(&unknown) {
        if *is_unknown {
            term.prior = spread.recip();
        }
    }
    let mut effects: Vec<Vec<f64>> = terms.iter().map(|term| vec![0.0; term.levels]).collect();
    let squares: Vec<Vec<f64>> = terms.iter().map(|term| per_level(term, &term.values)).collect();
    for _ in 0..PASSES {
        let mut freedom = count;
        for (at, term) in terms.iter_mut().enumerate() {
            let penalty = term.prior * variance;
            let products = per_level(term, &rest);
            let steps = (0..term.levels).map(|level| {
                let own = products[level] - penalty * effects[at][level];
                own / (squares[at][level] + penalty).max(f64::MIN_POSITIVE)
            });
            let steps: Vec<f64> = steps.collect();
            for ((rest, value), place) in rest.iter_mut().zip(&term.values).zip(&term.places) {
                *rest -= value * steps[*place];
            }
            effects[at]
                .iter_mut()
                .zip(&steps)
                .for_each(|(own, step)| *own += step);
            let left = |square: &f64| (square + penalty).max(f64::MIN_POSITIVE).recip();
            freedom -= squares[at]
                .iter()
                .map(|square| square * left(square))
                .sum::<f64>();
            if unknown[at] {
                let posterior = squares[at].iter().map(|square| variance * left(square));
                let second: f64 = posterior
                    .zip(&effects[at])
                    .map(|(own, effect)| own + effect * effect)
                    .sum();
                term.prior = term.levels as f64 / second;
            }
        }
        if known.is_none() {
            variance = dot(&rest, &rest) / freedom;
        }
    }
    (variance.is_finite() && variance > 0.0).then_some(variance)
}

/// Returns, for each level, the sum of the products of the column of a term and other values.
fn per_level(term: &Term<'_>, values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; term.levels];
    let rows = term.places.iter().zip(term.values.iter().zip(values));
    rows.for_each(|(place, (one, other))| sums[*place] += one * other);
    sums
}

/// Assigns the coefficients of terms, levels and classes to the blocks of the precision.
struct Layout<'a, 't> {
    terms: &'a [Term<'t>],
    /// The information of one row about the predictor, one row and column per class.
    weights: Vec<Vec<f64>>,
    /// For each term, its first position in a block if it belongs to the selection with the most levels, or its first position in the border.
    starts: Vec<usize>,
    /// For each term, whether it belongs to the selection with the most levels.
    is_blocked: Vec<bool>,
    size: usize,
    rest: usize,
}

impl<'a, 't> Layout<'a, 't> {
    /// Returns `None` if there are too many coefficients.
    fn new(terms: &'a [Term<'t>], weights: Vec<Vec<f64>>) -> Option<Layout<'a, 't>> {
        let selected = terms.iter().filter(|term| term.selection.is_some());
        let largest = selected
            .max_by_key(|term| term.levels)
            .and_then(|term| term.selection);
        let is_blocked = terms
            .iter()
            .map(|term| largest.is_some() && term.selection == largest);
        let is_blocked: Vec<bool> = is_blocked.collect();
        let (mut starts, mut size, mut rest) = (Vec::new(), 0, 0);
        for (term, is_blocked) in terms.iter().zip(&is_blocked) {
            let (next, count) = match is_blocked {
                true => (&mut size, weights.len()),
                false => (&mut rest, term.levels * weights.len()),
            };
            starts.push(*next);
            *next += count;
        }
        let rows = terms.first()?.values.len();
        let products = rows.saturating_mul((terms.len() * weights.len()).saturating_pow(2));
        let levels = terms
            .iter()
            .zip(&is_blocked)
            .filter(|(_, is_blocked)| **is_blocked);
        let levels = levels.map(|(term, _)| term.levels).max().unwrap_or(0);
        let elements = levels.saturating_mul((size + rest).saturating_pow(2));
        let fits = size <= PER_LEVEL && rest <= OUTSIDE && products.max(elements) <= PRODUCTS;
        fits.then_some(Layout {
            terms,
            weights,
            starts,
            is_blocked,
            size,
            rest,
        })
    }

    /// Returns the position of a coefficient in its block or in the border.
    fn position(&self, term: usize, level: usize, class: usize) -> usize {
        let level = if self.is_blocked[term] { 0 } else { level };
        self.starts[term] + level * self.weights.len() + class
    }

    /// Returns the posterior precision.
    fn precision(&self) -> Blocks {
        let blocked = self.is_blocked.iter().position(|is_blocked| *is_blocked);
        let levels = blocked.map_or(0, |term| self.terms[term].levels);
        let mut found = Blocks::zero(levels, self.size, self.rest);
        let rows = self.terms[0].values.len();
        for (a, one) in self.terms.iter().enumerate() {
            for (b, other) in self.terms.iter().enumerate() {
                if self.is_blocked[b] && !self.is_blocked[a] {
                    continue;
                }
                for row in 0..rows {
                    let product = one.values[row] * other.values[row];
                    let places = [one.places[row], other.places[row]];
                    self.add(&mut found, [a, b], places, product);
                }
            }
            for level in 0..one.levels {
                for class in 0..self.weights.len() {
                    let at = self.position(a, level, class);
                    let matrix = match self.is_blocked[a] {
                        true => &mut found.levels[level].own,
                        false => &mut found.rest,
                    };
                    matrix[at][at] += one.prior;
                }
            }
        }
        found
    }

    fn add(&self, found: &mut Blocks, [a, b]: [usize; 2], places: [usize; 2], product: f64) {
        let matrix = match (self.is_blocked[a], self.is_blocked[b]) {
            (true, true) => &mut found.levels[places[0]].own,
            (true, false) => &mut found.levels[places[0]].border,
            (false, _) => &mut found.rest,
        };
        for (class, weights) in self.weights.iter().enumerate() {
            let row = &mut matrix[self.position(a, places[0], class)];
            for (other, weight) in weights.iter().enumerate() {
                row[self.position(b, places[1], other)] += weight * product;
            }
        }
    }

    /// Returns the largest factor of the coefficients of a term.
    fn largest(&self, at: usize, (of_levels, of_rest): &(Matrix, Vec<f64>)) -> f64 {
        let places = (0..self.terms[at].levels).flat_map(|level| {
            (0..self.weights.len()).map(move |class| (level, self.position(at, level, class)))
        });
        let factors = places.map(|(level, position)| match self.is_blocked[at] {
            true => of_levels[level][position],
            false => of_rest[position],
        });
        factors.fold(0.0, f64::max).sqrt()
    }

    /// Returns the warning about the terms with large factors. The message contains the largest factor.
    fn report(&self, columns: &Columns<'_>) -> Option<Diagnostic> {
        let factors = self.precision().factors()?;
        let mut found: Vec<(&Term<'_>, f64)> = Vec::new();
        for (at, term) in self.terms.iter().enumerate() {
            let factor = self.largest(at, &factors);
            if factor > LEAST && factor < MOST && is_independent(columns.infer, term.name) {
                found.push((term, factor));
            }
        }
        let largest = found.iter().map(|(_, factor)| *factor).reduce(f64::max)?;
        // Factors that differ only by rounding errors are the same. The first term is reported.
        let (own, factor) = *found.iter().find(|(_, factor)| *factor > SAME * largest)?;
        if self.weights.len() > 1 {
            return Some(scales::correlated_classes(own.name, factor));
        }
        let partner = self.partner(own)?;
        let is_named = |term: &&Term<'_>| {
            term.name == partner.name || found.iter().any(|(other, _)| other.name == term.name)
        };
        let mut names: Vec<&str> = self.terms.iter().filter(is_named).map(|term| term.name).collect();
        let mut known = HashSet::new();
        names.retain(|name| known.insert(*name));
        Some(scales::correlated_effects(&names, own.name, factor))
    }

    /// Returns the other term whose column has the largest cosine with the column of a term.
    fn partner(&self, own: &Term<'_>) -> Option<&'a Term<'t>> {
        let cosine = |other: &Term<'_>| {
            let size = dot(&other.values, &other.values).sqrt();
            dot(&own.values, &other.values).abs() / size.max(f64::MIN_POSITIVE)
        };
        let others = self.terms.iter().filter(|other| !std::ptr::eq(*other, own));
        others.max_by(|a, b| cosine(a).total_cmp(&cosine(b)))
    }
}
