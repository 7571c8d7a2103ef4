//! Checks for coefficients that the data cannot distinguish, because columns of the linear part of a model are linearly dependent.

use super::orthogonal::dot;
use super::{COLUMNS, Column, columns_of, inflation, relation, scales::is_independent};
use crate::diagnostics::data::{self as codes, ColumnTerm};
use crate::diagnostics::scales;
use bnnc_abi::data::{DataSpec, Elements};
use bnnc_abi::design::{ColumnFormula, Design};
use bnnc_abi::manifest::{Binding, DataSource, InferenceBlock};
use bnnc_abi::names::layer_of;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::feed;
use bnnc_data::Dataset;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Dependences are first searched in about this number of rows. A dependence that is found is then verified on all rows.
const SOUGHT: usize = 1000;

/// At most this number of coefficients is compared.
const COMPARED: usize = 60;

/// If the columns have more values in total than this, they are not compared.
const CELLS: usize = 20_000_000;

/// A column counts as an exact linear combination of other columns if the norm of its residual is at most this fraction of the column's norm. The
/// fraction allows for rounding errors.
const ROUNDING: f64 = 1e-9;

/// The values of an input port in all rows.
struct Source<'a> {
    values: Cow<'a, [f64]>,
    /// The number of elements of the port per row.
    width: usize,
    is_shared: bool,
}

impl Source<'_> {
    fn element(&self, row: usize, at: usize) -> f64 {
        let row = if self.is_shared { 0 } else { row };
        self.values
            .get(row * self.width + at)
            .copied()
            .unwrap_or(f64::NAN)
    }
}

/// The values that determine the columns of a design.
struct Columns<'a> {
    infer: &'a InferenceBlock,
    spec: &'a DataSpec,
    dataset: &'a Dataset,
    sources: Vec<Source<'a>>,
    bindings: Vec<&'a Binding>,
    rows: usize,
}

/// A coefficient, together with its column in each sum that contains it.
struct Coefficient<'a> {
    name: &'a str,
    /// The columns of the coefficient. The key is the index of the sum.
    columns: BTreeMap<usize, &'a ColumnFormula>,
    /// True if the column is the same non-zero number in all sums with the coefficient. The column of a trend differs between sums.
    is_flat: bool,
    /// True if the coefficient is flat and is contained in all sums of its group.
    is_intercept: bool,
    /// True if the column does not depend on the data, and the coefficient is contained in only some sums of its group.
    is_deviation: bool,
}

impl Coefficient<'_> {
    /// Returns the value of the column if it is the same non-zero number in all sums that contain the coefficient. Otherwise returns `None`.
    fn flat(&self) -> Option<f64> {
        let mut numbers = self.columns.values().map(|formula| number(formula));
        let first = numbers.next().flatten().filter(|first| *first != 0.0)?;
        numbers.all(|other| other == Some(first)).then_some(first)
    }

    /// Returns whether no sum contains both coefficients.
    fn is_apart_from(&self, other: &Coefficient<'_>) -> bool {
        other.columns.keys().all(|sum| !self.columns.contains_key(sum))
    }

    /// Returns whether only the priors distinguish this coefficient from another coefficient. The data do not distinguish two coefficients with the
    /// same columns. The data also cannot distinguish a mean from a deviation that is added to it in some sums. The same holds for two such
    /// deviations of the same parameter.
    fn repeats(&self, known: &Coefficient<'_>) -> bool {
        let is_from_mean = known.is_intercept && self.is_flat;
        let are_deviations = known.is_deviation && self.is_deviation && known.name == self.name;
        known.columns == self.columns || is_from_mean || are_deviations
    }

    /// Returns a text that describes the column. `name` returns the names of elements. The text for a trend consists of its first values.
    fn text(&self, name: &dyn Fn(usize, usize) -> String) -> String {
        let numbers = self.columns.values().map(|formula| number(formula));
        let numbers: Option<Vec<f64>> = numbers.take(4).collect();
        match numbers.as_deref() {
            Some([first, second]) => format!("{first}, {second}"),
            Some([first, second, third]) => format!("{first}, {second}, {third}"),
            Some([first, second, third, _]) => format!("{first}, {second}, {third}, .."),
            _ => {
                let text = self.columns.values().next();
                text.map(|formula| formula.text(name)).unwrap_or_default()
            }
        }
    }

    /// Returns the port and the element of the column if it consists of a single element of a port.
    fn element(&self) -> Option<(usize, usize)> {
        let mut columns = self.columns.values();
        match (columns.next(), columns.next()) {
            (Some(ColumnFormula::Element { port, at }), None) => Some((*port, *at)),
            _ => None,
        }
    }
}

/// Returns the value of a formula that does not depend on the data.
fn number(formula: &ColumnFormula) -> Option<f64> {
    formula.is_constant().then(|| formula.value(&|_, _| f64::NAN))
}

/// Returns the warnings about coefficients whose columns depend on each other.
pub(super) fn warnings(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset) -> Vec<Diagnostic> {
    let design = &infer.design;
    let Some(columns) = Columns::new(infer, spec, dataset) else {
        return Vec::new();
    };
    let groups = groups(design).into_iter();
    groups
        .flat_map(|(coefficients, sums)| columns.group(&coefficients, &sums))
        .collect()
}

/// Divides the coefficients into groups: coefficients of one sum share a group. Returns the coefficients and the sums of each group.
fn groups(design: &Design) -> Vec<(Vec<Coefficient<'_>>, Vec<usize>)> {
    let mut parent: Vec<usize> = (0..design.coefficients.len()).collect();
    fn root(parent: &[usize], mut at: usize) -> usize {
        while parent[at] != at {
            at = parent[at];
        }
        at
    }
    for sum in &design.sums {
        for pair in sum.terms.windows(2) {
            let (a, b) = (
                root(&parent, pair[0].coefficient),
                root(&parent, pair[1].coefficient),
            );
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut coefficients: BTreeMap<usize, BTreeMap<usize, Coefficient>> = BTreeMap::new();
    let mut sums: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (at, sum) in design.sums.iter().enumerate() {
        for term in &sum.terms {
            let group = root(&parent, term.coefficient);
            sums.entry(group).or_default().insert(at);
            let of_group = coefficients.entry(group).or_default();
            let own = of_group.entry(term.coefficient).or_insert_with(|| Coefficient {
                name: &design.coefficients[term.coefficient],
                columns: BTreeMap::new(),
                is_flat: false,
                is_intercept: false,
                is_deviation: false,
            });
            own.columns.insert(at, &term.column);
        }
    }
    let mut groups = Vec::new();
    for (group, all) in coefficients {
        let sums: Vec<usize> = sums.get(&group).into_iter().flatten().copied().collect();
        let all = joined(all.into_values()).into_iter().map(|one| {
            let is_flat = one.flat().is_some();
            let is_everywhere = one.columns.len() == sums.len();
            let is_number = one.columns.values().all(|formula| formula.is_constant());
            Coefficient {
                is_flat,
                is_intercept: is_flat && is_everywhere,
                is_deviation: is_number && !is_everywhere,
                ..one
            }
        });
        groups.push((distinct(all.collect()), sums));
    }
    groups
}

/// Joins elements of a parameter that are multiplied by the same number in different sums. For example, the elements `a[j]` for several outputs `j`
/// together form an intercept.
fn joined<'a>(all: impl Iterator<Item = Coefficient<'a>>) -> Vec<Coefficient<'a>> {
    let mut joined: Vec<Coefficient> = Vec::new();
    let mut flat: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
    for one in all {
        let Some(number) = one.flat() else {
            joined.push(one);
            continue;
        };
        let (at, first) = *flat.entry(one.name).or_insert((joined.len(), number));
        match joined.get_mut(at) {
            Some(known) if number == first && known.is_apart_from(&one) => known.columns.extend(one.columns),
            _ => joined.push(one),
        }
    }
    joined
}

/// Removes the coefficients that repeat other coefficients, and puts an intercept first. Stops when more than [`COMPARED`] coefficients are left,
/// because the caller does not compare that many.
fn distinct(mut all: Vec<Coefficient<'_>>) -> Vec<Coefficient<'_>> {
    all.sort_by_key(|one| !one.is_intercept);
    let mut kept: Vec<Coefficient> = Vec::new();
    for one in all {
        if !kept.iter().any(|known| one.repeats(known)) {
            kept.push(one);
        }
        if kept.len() > COMPARED {
            break;
        }
    }
    kept
}

impl<'a> Columns<'a> {
    /// Reads the ports of the design. Returns `None` if the data have too many values.
    fn new(infer: &'a InferenceBlock, spec: &'a DataSpec, dataset: &'a Dataset) -> Option<Columns<'a>> {
        let rows = &dataset.train;
        if rows.width > COLUMNS || rows.count == 0 {
            return None;
        }
        let (mut sources, mut bindings) = (Vec::new(), Vec::new());
        for port in &infer.design.ports {
            let binding = infer.bindings.iter().find(|binding| binding.port == *port)?;
            let is_output = infer.outputs.iter().any(|output| output.name == *port);
            let values = feed::column(binding, is_output, rows, dataset).ok()?;
            let is_shared = binding.from.is_shared();
            let width = if is_shared {
                values.len()
            } else {
                values.len() / rows.count
            };
            sources.push(Source {
                values,
                width,
                is_shared,
            });
            bindings.push(binding);
        }
        Some(Columns {
            infer,
            spec,
            dataset,
            sources,
            bindings,
            rows: feed::examples(&infer.bindings, rows),
        })
    }

    fn value(&self, formula: &ColumnFormula, row: usize) -> f64 {
        formula.value(&|port, at| self.sources[port].element(row, at))
    }

    /// Returns the values of a column in every `step`-th row, one value per sum.
    fn values(&self, coefficient: &Coefficient<'_>, sums: &[usize], step: usize) -> Vec<f64> {
        let of_row = |row: usize| {
            sums.iter().map(move |sum| match coefficient.columns.get(sum) {
                Some(formula) => self.value(formula, row),
                None => 0.0,
            })
        };
        (0..self.rows).step_by(step).flat_map(of_row).collect()
    }

    /// Returns the warnings about linear dependences between the columns of these coefficients.
    fn group(&self, coefficients: &[Coefficient<'_>], sums: &[usize]) -> Vec<Diagnostic> {
        let cells = coefficients
            .len()
            .saturating_mul(self.rows)
            .saturating_mul(sums.len());
        if coefficients.len() < 2 || coefficients.len() > COMPARED || cells > CELLS {
            return Vec::new();
        }
        let step = (self.rows * sums.len()).div_ceil(SOUGHT);
        let values: Vec<Vec<f64>> = coefficients
            .iter()
            .map(|one| self.values(one, sums, step))
            .collect();
        let all = |at: usize| self.values(&coefficients[at], sums, 1);
        if values.iter().flatten().any(|value| !value.is_finite()) {
            return Vec::new();
        }
        let intercept = coefficients.first().filter(|one| one.is_intercept);
        let mut found: Vec<Diagnostic> = Vec::new();
        let mut dependent = BTreeSet::new();
        for at in 1..coefficients.len() {
            let constant = intercept.and_then(|intercept| {
                let (name, value) = self.constant(&coefficients[at])?;
                Some(codes::constant_input(&name, value, intercept.name))
            });
            let pair = || self.pair(coefficients, (&values, &all), at);
            if let Some(diagnostic) = constant.or_else(pair) {
                dependent.insert(at);
                found.push(diagnostic);
            }
        }
        // The weights of a network are not examined individually.
        let is_layer = coefficients.iter().any(|one| layer_of(one.name).is_some());
        if dependent.is_empty() && !is_layer {
            found.extend(combination(&values, &all).map(|parts| self.combined(coefficients, &parts)));
        }
        if found.is_empty() && !is_layer && self.infer.maximises_bound() {
            found.extend(self.correlated(coefficients, &values));
        }
        found
    }

    /// Returns the warning about the coefficient with the largest variance inflation. A variational family with independent elements makes the
    /// standard deviation of this coefficient too small. The component along the intercept is removed first, because `E0650` reports large means.
    fn correlated(&self, coefficients: &[Coefficient<'_>], values: &[Vec<f64>]) -> Option<Diagnostic> {
        let first = usize::from(coefficients[0].is_intercept);
        let columns = inflation::residuals(&values[first..], &values[..first]);
        let is_candidate = |at: usize| is_independent(self.infer, coefficients[first + at].name);
        let found = inflation::largest(&columns, &is_candidate)?;
        let both = [found.column, found.partner].map(|at| &coefficients[first + at]);
        let names = both.map(|one| one.name);
        Some(scales::correlated(
            &both.map(|one| self.term(one)),
            names,
            found.factor,
        ))
    }

    /// Returns the name and the value, in original units, of an input if it is the same in all rows. A column of zeros is ignored, because its weight
    /// does not affect the sum.
    fn constant(&self, coefficient: &Coefficient<'_>) -> Option<(String, f64)> {
        let (port, at) = coefficient.element()?;
        let column = self.column(port, at)?;
        let value = *column.train.first()?;
        let is_constant = column.train.len() > 1 && column.train.iter().all(|other| *other == value);
        (is_constant && value != 0.0).then_some((column.name, value))
    }

    /// Returns a column with the values that the file contains.
    fn column(&self, port: usize, at: usize) -> Option<Column> {
        let binding = self.bindings[port];
        let is_output = self
            .infer
            .outputs
            .iter()
            .any(|output| output.name == binding.port);
        let is_measure = !matches!(binding.elements, Elements::Index(_)) && !is_output;
        let mut columns = is_measure.then(|| columns_of(binding, self.spec, self.dataset))?;
        columns.nth(at)
    }

    /// Returns a warning if an earlier column determines this column exactly or nearly. If one of the two columns is an expression of inputs, the
    /// relation must be exact. The reason is that, for example, `x` and `x ^ 2` are nearly linearly related far from zero.
    fn pair(
        &self,
        coefficients: &[Coefficient<'_>],
        (some, all): (&[Vec<f64>], &dyn Fn(usize) -> Vec<f64>),
        at: usize,
    ) -> Option<Diagnostic> {
        let has_intercept = coefficients[0].is_intercept;
        let is_input = |one: &Coefficient<'_>| one.element().is_some();
        let earlier = usize::from(has_intercept)..at;
        earlier.into_iter().find_map(|first| {
            let both_are_inputs = is_input(&coefficients[first]) && is_input(&coefficients[at]);
            let most = if both_are_inputs {
                relation::NEARLY
            } else {
                ROUNDING
            };
            let rest = |x: &[f64], y: &[f64]| match has_intercept {
                true => relation::unexplained(x, y),
                false => relation::not_multiple(x, y),
            };
            rest(&some[first], &some[at]).filter(|rest| *rest < 100.0 * most)?;
            let rest = rest(&all(first), &all(at)).filter(|rest| *rest < most)?;
            let [first, second] = [first, at].map(|at| self.term(&coefficients[at]));
            Some(codes::redundant(&first, &second, rest))
        })
    }

    /// Returns the warning about columns that have a linear combination of zero or of a constant.
    fn combined(&self, coefficients: &[Coefficient<'_>], parts: &[usize]) -> Diagnostic {
        let intercept = coefficients[parts[0]].is_intercept;
        let (with, terms) = match parts {
            [first, rest @ ..] if intercept => (Some(coefficients[*first].name), rest),
            _ => (None, parts),
        };
        let terms: Vec<ColumnTerm> = terms.iter().map(|at| self.term(&coefficients[*at])).collect();
        codes::combined_inputs(&terms, with)
    }

    /// Returns the description of a column that messages use.
    fn term(&self, coefficient: &Coefficient<'_>) -> ColumnTerm {
        let name = |port: usize, at: usize| {
            let binding = self.bindings[port];
            let columns = &self.dataset.preparation.columns;
            match &binding.from {
                DataSource::Inputs => columns.get(at).cloned(),
                DataSource::Input(at) => columns.get(*at).cloned(),
                DataSource::Field(name) if self.sources[port].width == 1 => Some(name.clone()),
                _ if self.sources[port].width > 1 => Some(format!("{}[{at}]", binding.port)),
                _ => None,
            }
            .unwrap_or_else(|| binding.port.clone())
        };
        let element = coefficient.element();
        ColumnTerm {
            text: coefficient.text(&name),
            is_input: element.is_some_and(|(port, at)| self.column(port, at).is_some()),
        }
    }
}

/// A column, or the part of a column that is orthogonal to other columns.
struct Rest {
    /// The values of the column in the rows that are searched for dependences.
    values: Vec<f64>,
    /// `values` is a weighted sum of the original columns. These are the weights.
    factors: Vec<f64>,
}

impl Rest {
    fn subtract(&mut self, other: &Rest, factor: f64) {
        let values = self.values.iter_mut().zip(&other.values);
        values.for_each(|(value, other)| *value -= factor * other);
        let factors = self.factors.iter_mut().zip(&other.factors);
        factors.for_each(|(own, other)| *own -= factor * other);
    }
}

/// Finds columns that depend linearly on each other: one of them is a linear combination of the others. Returns their indices in ascending order.
/// Pairs of dependent columns are ignored, because they are reported separately. `columns` holds the values in some rows. `all` returns the
/// values of a column in all rows.
fn combination(columns: &[Vec<f64>], all: &dyn Fn(usize) -> Vec<f64>) -> Option<Vec<usize>> {
    // If there were too few values, any column would be a linear combination of the others.
    if columns.first()?.len() < 2 * columns.len() {
        return None;
    }
    let unit = |at: usize| {
        (0..columns.len())
            .map(|other| f64::from(u8::from(other == at)))
            .collect()
    };
    let mut basis: Vec<Rest> = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let mut rest = Rest {
            values: column.clone(),
            factors: unit(at),
        };
        let size = norm(&rest.values);
        // The projections are subtracted twice. After one pass, the remainder of a nearly dependent column is not orthogonal to the basis.
        for other in basis.iter().chain(&basis) {
            let factor = dot(&rest.values, &other.values) / dot(&other.values, &other.values);
            rest.subtract(other, factor);
        }
        if norm(&rest.values) > ROUNDING * size {
            basis.push(rest);
        } else if let Some(parts) = exact((columns, all), at, &rest.factors) {
            return Some(parts);
        }
    }
    None
}

/// Returns the columns of a linear combination if it is zero in all rows.
fn exact(
    (columns, all): (&[Vec<f64>], &dyn Fn(usize) -> Vec<f64>),
    last: usize,
    factors: &[f64],
) -> Option<Vec<usize>> {
    let largest = |column: &Vec<f64>| column.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let sizes: Vec<f64> = columns.iter().map(largest).collect();
    let own = sizes[last];
    let takes_part = |at: &usize| (factors[*at] * sizes[*at]).abs() > 1e-6 * own;
    let parts: Vec<usize> = (0..columns.len()).filter(takes_part).collect();
    if own <= 0.0 || parts.len() < 3 {
        return None;
    }
    let mut sums = vec![0.0; all(last).len()];
    let mut largest: f64 = 0.0;
    for at in &parts {
        for (sum, value) in sums.iter_mut().zip(all(*at)) {
            let term = factors[*at] * value;
            *sum += term;
            largest = largest.max(term.abs());
        }
    }
    let is_zero = |sum: &f64| sum.abs() <= 1e3 * ROUNDING * largest;
    sums.iter().all(is_zero).then_some(parts)
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bnnc_abi::design::{LinearSum, LinearTerm};

    fn column(of: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..60).map(of).collect()
    }

    fn level(level: usize) -> Vec<f64> {
        column(move |row| f64::from(u8::from(row * row % 7 % 3 == level)))
    }

    fn wave(at: f64) -> Vec<f64> {
        column(move |row| (at * row as f64).sin())
    }

    fn parts(columns: &[Vec<f64>]) -> Option<Vec<usize>> {
        combination(columns, &|at| columns[at].clone())
    }

    /// Returns a design with three sums, one for each row of a loop. `columns` holds the column of each coefficient in each sum.
    fn design(columns: &[[Option<ColumnFormula>; 3]]) -> Design {
        let sum = |at: usize| {
            let own = columns.iter().enumerate();
            let terms = own.filter_map(|(coefficient, columns)| {
                let column = columns[at].clone()?;
                Some(LinearTerm { coefficient, column })
            });
            LinearSum {
                terms: terms.collect(),
            }
        };
        Design {
            coefficients: (0..columns.len()).map(|at| format!("c{at}")).collect(),
            ports: vec!["x".to_owned()],
            sums: (0..3).map(sum).collect(),
        }
    }

    /// The design must have a single group. Returns the names of its distinct coefficients, and whether the first one is an intercept.
    fn kept(columns: &[[Option<ColumnFormula>; 3]]) -> (Vec<String>, bool) {
        let design = design(columns);
        let groups = groups(&design);
        assert_eq!(groups.len(), 1);
        let all = &groups[0].0;
        let names = all.iter().map(|one| one.name.to_owned());
        (names.collect(), all[0].is_intercept)
    }

    #[test]
    fn a_trend_is_not_an_intercept() {
        let number = |value: f64| Some(ColumnFormula::Number(value));
        let (ones, trend) = ([1.0; 3].map(number), [0.0, 1.0, 2.0].map(number));
        let series = [0, 1, 2].map(|at| Some(ColumnFormula::Element { port: 0, at }));
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        // The trend is kept in addition to the intercept. Without other coefficients, the trend does not become an intercept.
        let both = [trend.clone(), ones.clone(), series.clone(), ones.clone()];
        assert_eq!(kept(&both), (names(&["c1", "c0", "c2"]), true));
        assert_eq!(kept(&[trend, series.clone()]), (names(&["c0", "c1"]), false));
        // The levels of a loop are deviations from the intercept.
        let level = |own: usize| [0, 1, 2].map(|at| (at == own).then_some(ColumnFormula::Number(1.0)));
        assert_eq!(
            kept(&[level(0), level(1), ones, series.clone()]),
            (names(&["c2", "c3"]), true)
        );
        // A coefficient that is constant in only some sums is not an intercept. A coefficient whose constant is twice as large in one sum is not an
        // intercept either.
        let of_some = [number(1.0), number(1.0), None];
        assert_eq!(kept(&[of_some, series.clone()]), (names(&["c0", "c1"]), false));
        let uneven = [1.0, 1.0, 2.0].map(number);
        assert_eq!(kept(&[uneven, series]), (names(&["c0", "c1"]), false));
    }

    #[test]
    fn the_intercepts_of_several_sums_are_joined() {
        let level = |own: usize| [0, 1, 2].map(|at| (at == own).then_some(ColumnFormula::Number(1.0)));
        let series = [0, 1, 2].map(|at| Some(ColumnFormula::Element { port: 0, at }));
        let mut design = design(&[level(0), level(1), level(2), series]);
        design.coefficients = ["a", "a", "a", "b"].map(str::to_owned).to_vec();
        let of_group = |design: &Design| -> Vec<(String, bool)> {
            let all = groups(design).swap_remove(0).0.into_iter();
            all.map(|one| (one.name.to_owned(), one.is_intercept)).collect()
        };
        let named = |name: &str, is_intercept| (name.to_owned(), is_intercept);
        assert_eq!(of_group(&design), [named("a", true), named("b", false)]);
        design.coefficients[2] = "c".to_owned();
        let apart = [named("a", false), named("c", false), named("b", false)];
        assert_eq!(of_group(&design), apart);
    }

    #[test]
    fn the_search_stops_at_the_number_of_compared_coefficients() {
        let columns: Vec<[Option<ColumnFormula>; 3]> = (0..4096)
            .map(|at| [0; 3].map(|port| Some(ColumnFormula::Element { port, at })))
            .collect();
        assert_eq!(kept(&columns).0.len(), COMPARED + 1);
    }

    #[test]
    fn indicators_of_all_levels_add_up_to_a_constant() {
        let columns = [column(|_| 1.0), wave(1.0), level(0), level(1), level(2)];
        assert_eq!(parts(&columns), Some(vec![0, 2, 3, 4]));
        assert_eq!(parts(&columns[..4]), None);
        assert_eq!(parts(&columns[1..]), None);
    }

    #[test]
    fn a_total_beside_its_parts_is_found_and_nearly_one_is_not() {
        let (a, b) = (wave(1.0), wave(2.0));
        let total = |error: f64| column(|row| 3.0 * a[row] + b[row] + error * (row as f64 * 3.0).cos());
        let with = |total| parts(&[a.clone(), b.clone(), total]).map(|parts| parts.len());
        assert_eq!(with(total(0.0)), Some(3));
        assert_eq!(with(total(1e-3)), None);
    }

    #[test]
    fn columns_per_level_depend_on_the_column_that_they_split() {
        // The columns are `x`, and the products of `x` with the indicators of two levels.
        let x = wave(1.0);
        let of = |level: usize| column(|row| x[row] * f64::from(u8::from(row % 2 == level)));
        assert_eq!(parts(&[x.clone(), of(0), of(1)]), Some(vec![0, 1, 2]));
        assert_eq!(parts(&[column(|_| 1.0), of(0), of(1)]), None);
    }
}
