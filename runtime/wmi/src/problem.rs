//! Problems of weighted model integration, and the readers of the three notations for problems.
//!
//! A problem consists of a formula and a weight. The formula contains Booleans, and comparisons between piecewise linear terms in real
//! variables. The weight is a piecewise polynomial. The value of a problem is the integral of the weight over all real values that satisfy
//! the formula, summed over both values of every declared Boolean, even if the Boolean is not used. The two sides of a comparison or an
//! equation can be equal on a region with a volume, as in `(relu x) = 0`. Only in this case do `<` and `<=` give different values, and only
//! in this case does an equation hold on a set of positive measure.
//!
//! * An **instance** (`wmi-instances/1`): a JSON object with `reals` (a name, a lower bound or null, an upper bound or null), `bools`, `defs`
//!   (definitions, which are substituted), `given` (values of reals that are not integrated), `formula` and `weight`. The formula and the
//!   weight are in prefix form. A JSON object with a list of instances under `instances` is accepted too.
//! * A **density** of pywmi or wmpy: a JSON object with `domain`, `formula`, `weights` and `queries`. All of these except `domain` are
//!   S-expressions. Each query is a separate problem: both the formula and the query must hold.
//! * **SMT-LIB 2**: `declare-fun` and `declare-const` of `Real` and `Bool`, `define-fun` without parameters, `assert`. The weight is the
//!   definition of sort `Real` with the name `weight`, or an asserted term, as pywmi writes it. Without such a definition or term, the
//!   weight is 1.
//!
//! Numbers are read exactly as they are written: `0.1` is one tenth.

pub mod diagnostics;
pub mod form;
pub mod store;

mod build;
mod density;
mod instance;
mod json;
mod number;
mod smtlib;
mod symbols;
mod tree;

use crate::rational::Rational;
use bnnc_base::diagnostic::Diagnostic;
use diagnostics::Flaw;
use form::{LinearDirection, LinearForm};
use store::{FormulaId, TermId, TermStore};

/// A problem of weighted model integration.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The name that the file gives to the problem; empty if the problem does not have a name.
    pub name: String,
    /// The line and column at which the problem starts, counted from 1. Both are 0 if the problem is the whole file.
    pub at: (usize, usize),
    /// The real variables that the weight is integrated over.
    pub reals: Vec<String>,
    /// The Boolean variables, over whose values the integral is summed.
    pub bools: Vec<String>,
    /// The store that holds the formula and the weight.
    pub store: TermStore,
    /// The formula that must hold, including the bounds of the variables.
    pub formula: FormulaId,
    /// The integrand, a piecewise polynomial.
    pub weight: TermId,
}

/// Reads the problems in a text. The notation is detected from the text. Error messages use `file` as the name of the text.
///
/// # Errors
///
/// Returns the first mistake in the text, with its line and column.
pub fn read(file: &str, text: &str) -> Result<Vec<Problem>, Box<Diagnostic>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let problems = if text.trim_start().starts_with(['{', '[']) {
        json(text)
    } else {
        smtlib::read(text).map(|problem| vec![problem])
    };
    problems.map_err(|flaw| flaw.diagnostic(file))
}

/// Reads a JSON object. The keys determine whether the object is read as an instance, a list of instances or a density.
fn json(text: &str) -> Result<Vec<Problem>, Flaw> {
    let tree = json::read(text)?;
    if let Some(list) = tree.key("instances") {
        if let Some(format) = tree
            .key("format")
            .filter(|format| format.word() != Some("wmi-instances/1"))
        {
            let text = format!("expected the format `wmi-instances/1`, found {}", format.shown());
            return Err(Flaw::problem(format.at, text));
        }
        let parts = list.list().ok_or_else(|| {
            Flaw::problem(
                list.at,
                format!("expected a list of instances, found {}", list.shown()),
            )
        })?;
        if parts.is_empty() {
            let fault = Flaw::problem(list.at, "expected an instance in the list, found none");
            return Err(fault);
        }
        return parts.iter().map(instance::read).collect();
    }
    if tree.key("domain").is_some() {
        return density::read(&tree);
    }
    if tree.key("formula").is_some() || tree.key("reals").is_some() {
        return Ok(vec![instance::read(&tree)?]);
    }
    let text = "expected an object with one of these sets of keys: `instances`; or `reals`, `formula` and `weight`; or `domain`, `formula` and `weights`";
    Err(Flaw::problem(tree.at, format!("{text}; found {}", tree.shown())))
}

/// Returns two formulas, `lower <= variable` and `variable <= upper`. A missing bound does not produce a
/// formula.
fn between(
    store: &mut TermStore,
    variable: usize,
    lower: Option<Rational>,
    upper: Option<Rational>,
) -> Vec<FormulaId> {
    let mut parts = Vec::new();
    if let Some(lower) = lower {
        let form = LinearForm::number(lower).plus(&Rational::from(-1), &LinearForm::variable(variable));
        let term = store.linear(form);
        parts.push(store.not_positive(term));
    }
    if let Some(upper) = upper {
        parts.push(store.at_most(LinearDirection::variable(variable), upper));
    }
    parts
}
