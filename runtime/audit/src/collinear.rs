//! Checks for coefficients that the data cannot distinguish. This happens if columns of the linear part of a model are linearly dependent.

use super::coefficients::{COMPARED, Coefficient, groups};
use super::combination::{ROUNDING, combination};
use super::{COLUMNS, Column, columns_of, inflation, levels, relation, scales::is_independent};
use crate::diagnostics::data::{self as codes, ColumnTerm};
use crate::diagnostics::scales;
use bnnc_abi::data::DataSpec;
use bnnc_abi::design::{ColumnFormula, PredictorLink};
use bnnc_abi::manifest::{Binding, DataSource, InferenceBlock, Output, OutputKind};
use bnnc_abi::names::layer_of;
use bnnc_abi::schema::Elements;
use bnnc_base::diagnostic::Diagnostic;
use bnnc_core::feed;
use bnnc_data::Dataset;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Dependences are first searched in about this number of rows. A dependence that is found is then verified on all rows.
const SOUGHT: usize = 1000;

/// If the columns have more values in total than this, they are not compared.
const CELLS: usize = 20_000_000;

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
pub(super) struct Columns<'a> {
    pub(super) infer: &'a InferenceBlock,
    spec: &'a DataSpec,
    dataset: &'a Dataset,
    sources: Vec<Source<'a>>,
    bindings: Vec<&'a Binding>,
    rows: usize,
}

/// Returns the warnings about coefficients whose columns depend on each other.
pub(super) fn warnings(infer: &InferenceBlock, spec: &DataSpec, dataset: &Dataset) -> Vec<Diagnostic> {
    let design = &infer.design;
    let Some(columns) = Columns::new(infer, spec, dataset) else {
        return Vec::new();
    };
    let groups = groups(design).into_iter();
    groups
        .flat_map(|(coefficients, sums)| {
            let exact = columns.group(&coefficients, &sums, false);
            if !exact.is_empty() {
                return exact;
            }
            let of_levels = match (&sums[..], infer.maximises_bound()) {
                ([sum], true) => levels::correlated(&columns, &design.sums[*sum]),
                _ => None,
            };
            match of_levels {
                Some(of_levels) => vec![of_levels],
                None => columns.group(&coefficients, &sums, true),
            }
        })
        .collect()
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
            let binding = infer.binding(port)?;
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

    /// Returns the values of a formula in all rows.
    pub(super) fn of(&self, formula: &ColumnFormula) -> Vec<f64> {
        (0..self.rows).map(|row| self.value(formula, row)).collect()
    }

    /// Returns the values of an output, one per row. Returns `None` if a row has several values.
    pub(super) fn targets(&self, output: &Output) -> Option<Cow<'a, [f64]>> {
        let mut bindings = self.infer.bindings.iter();
        let binding = bindings.find(|binding| binding.port == output.name)?;
        let targets = feed::column(binding, true, &self.dataset.train, self.dataset).ok()?;
        (targets.len() == self.rows).then_some(targets)
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

    /// Returns the warnings about linear dependences between the columns of these coefficients. Correlations are examined if `with_correlations`.
    fn group(
        &self,
        coefficients: &[Coefficient<'_>],
        sums: &[usize],
        with_correlations: bool,
    ) -> Vec<Diagnostic> {
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
        // The weights in the hidden layers of a network are not examined individually.
        let is_layer = coefficients.iter().any(|one| layer_of(one.name).is_some());
        let is_predictor = || sums.iter().all(|sum| self.infer.design.sums[*sum].is_predictor());
        if dependent.is_empty() && !is_layer {
            found.extend(combination(&values, &all).map(|parts| self.combined(coefficients, &parts)));
        }
        if with_correlations
            && found.is_empty()
            && self.infer.maximises_bound()
            && (!is_layer || is_predictor())
        {
            let information = self.information(&values, step, sums);
            found.extend(self.correlated(coefficients, &values, information));
        }
        found
    }

    /// Returns the warning about the coefficient with the largest variance inflation. A variational family with independent elements makes the
    /// standard deviation of this coefficient too small. `information` is the result of [`Columns::information`].
    fn correlated(
        &self,
        coefficients: &[Coefficient<'_>],
        values: &[Vec<f64>],
        information: f64,
    ) -> Option<Diagnostic> {
        // If there were few values, other columns would explain a column by chance.
        if values.first()?.len() < 2 * values.len() {
            return None;
        }
        let first = usize::from(coefficients[0].is_intercept);
        let priors = coefficients[first..].iter();
        let priors: Vec<f64> = priors.map(|one| self.prior(one.name) / information).collect();
        let predictor = inflation::Predictor {
            columns: &values[first..],
            intercept: values[..first].first().map(Vec::as_slice),
            priors: &priors,
        };
        let is_candidate = |at: usize| is_independent(self.infer, coefficients[first + at].name);
        let found = predictor.largest(&is_candidate)?;
        let both = [found.column, found.partner].map(|at| &coefficients[first + at]);
        let names = both.map(|one| one.name);
        Some(scales::correlated(
            &both.map(|one| self.term(one)),
            names,
            found.factor,
        ))
    }

    /// Returns the prior precision of the elements of a parameter. If the elements have different precisions, returns the smallest. If a precision
    /// is not known, returns zero. A prior that is not
    /// normal counts as the normal distribution with the same variance.
    pub(super) fn prior(&self, site: &str) -> f64 {
        let report = self.infer.report(site);
        let moments = report.into_iter().flat_map(|report| &report.prior.moments);
        let widest = moments.map(|(_, sd)| *sd).reduce(f64::max);
        widest.map_or(0.0, |sd| sd.powi(-2))
    }

    /// Returns an estimate of the precision that a single value of a linear predictor gives to a coefficient whose column is 1. Only every
    /// `step`-th row is used, so each value stands for `step` rows. `values` are the columns in these rows. For a real target, the estimate is the
    /// inverse of the variance that remains after a least-squares fit to the target. Under a logarithmic link, the logarithm of the target is
    /// fitted instead. Under an unknown link, the larger of these two variances is used, which gives the priors more influence. For classes and
    /// counts, the estimate is the variance of the target, as under a logistic or logarithmic link. If the model has several outputs or several
    /// predictors per row, returns infinity. Priors then have no influence.
    fn information(&self, values: &[Vec<f64>], step: usize, sums: &[usize]) -> f64 {
        let (Some(output), [sum]) = (self.infer.only_output(), sums) else {
            return f64::INFINITY;
        };
        let Some(targets) = self.targets(output) else {
            return f64::INFINITY;
        };
        let mean = targets.iter().sum::<f64>() / targets.len() as f64;
        let one = match output.kind {
            OutputKind::Real => {
                let some: Vec<f64> = targets.iter().step_by(step).copied().collect();
                let logarithms: Vec<f64> = some.iter().map(|value| value.ln()).collect();
                let [plain, logarithmic] =
                    [some, logarithms].map(|targets| inflation::left_over(values, targets));
                let variance = match self.infer.design.sums[*sum].link {
                    Some(PredictorLink::Identity) => plain,
                    Some(PredictorLink::Log) if logarithmic.is_finite() => logarithmic,
                    _ if logarithmic.is_finite() => plain.max(logarithmic),
                    _ => plain,
                };
                variance.recip()
            }
            OutputKind::Bool => mean * (1.0 - mean),
            OutputKind::Classes(_) => 0.25,
            OutputKind::Count => mean,
        };
        // Only every `step`-th row is used, so each of these rows stands for `step` rows.
        match one > 0.0 {
            true => one * step as f64,
            false => f64::INFINITY,
        }
    }

    /// If an input has the same value in all rows, returns its name and this value, in original units. A column that the model sees as zeros is
    /// ignored, because its weight has no effect. This includes standardised columns, which have a separate warning (`E0430`).
    fn constant(&self, coefficient: &Coefficient<'_>) -> Option<(String, f64)> {
        let (port, at) = coefficient.element()?;
        if self.sources[port].element(0, at) == 0.0 {
            return None;
        }
        let column = self.column(port, at)?;
        let value = *column.train.first()?;
        let is_constant = column.train.len() > 1 && column.train.iter().all(|other| *other == value);
        is_constant.then_some((column.name, value))
    }

    /// Returns the values of a column as they are in the file.
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
        let is_apart = |first: &usize| !coefficients[*first].is_normalised_with(&coefficients[at]);
        earlier.filter(is_apart).find_map(|first| {
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

    /// Returns the warning about columns of which a linear combination is zero or a constant.
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
