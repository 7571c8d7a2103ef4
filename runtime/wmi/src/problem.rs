//! Problems of weighted model integration, and the three notations that they are read from.
//!
//! A problem consists of a formula over Booleans and reals, whose atoms compare piecewise linear terms, and of a weight, which is a piecewise
//! polynomial. The value of a problem is the integral of the weight over the reals that satisfy the formula, summed over both values of every
//! declared Boolean, whether the Boolean is used or not. A strict and a weak comparison differ, and an equation has a
//! positive measure, only where both sides are equal on a region, as those of `(relu x) = 0` are.
//!
//! * An **instance** (`wmi-instances/1`): a JSON object with `reals` (name, lower bound or null, upper
//!   bound or null), `bools`, `defs` (names of terms, which are substituted), `given` (values of reals
//!   that are not integrated), `formula` and `weight`, both in prefix form; or an object with a list of
//!   instances under `instances`.
//! * A **density** of pywmi or wmpy: a JSON object with `domain`, `formula`, `weights` and `queries`, the
//!   last three as S-expressions. Each query is a separate problem, in which both the formula and the query
//!   hold.
//! * **SMT-LIB 2**: `declare-fun` and `declare-const` of `Real` and `Bool`, `define-fun` without parameters, `assert`. The weight is the
//!   definition called `weight` of sort `Real`, or an asserted term, as pywmi writes it. If there is neither, the weight is 1.
//!
//! Numbers have exactly the value that is written: `0.1` is a tenth.

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
    /// The name of the problem in its file; empty if it has no name.
    pub name: String,
    /// The line and column where the problem begins, counted from 1; 0 if the problem is the whole file.
    pub at: (usize, usize),
    /// The variables that are integrated over.
    pub reals: Vec<String>,
    /// The variables that are summed over.
    pub bools: Vec<String>,
    /// The store that holds the formula and the weight.
    pub store: TermStore,
    /// The formula that must hold, including the bounds of the variables.
    pub formula: FormulaId,
    /// The integrand.
    pub weight: TermId,
}

/// Reads the problems of a text, whose notation is detected. Messages call the text `file`.
///
/// # Errors
///
/// The first mistake, with its line and column.
pub fn read(file: &str, text: &str) -> Result<Vec<Problem>, Box<Diagnostic>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let problems = if text.trim_start().starts_with(['{', '[']) {
        json(text)
    } else {
        smtlib::read(text).map(|problem| vec![problem])
    };
    problems.map_err(|flaw| flaw.diagnostic(file))
}

/// Reads a JSON object in the form that its keys indicate.
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
            return Err(Flaw::problem(
                list.at,
                "expected an instance in the list, found none",
            ));
        }
        return parts.iter().map(instance::read).collect();
    }
    if tree.key("domain").is_some() {
        return density::read(&tree);
    }
    if tree.key("formula").is_some() || tree.key("reals").is_some() {
        return Ok(vec![instance::read(&tree)?]);
    }
    let text = "expected an object with `instances`, with `reals`, `formula` and `weight`, or with `domain`, `formula` and `weights`";
    Err(Flaw::problem(tree.at, format!("{text}; found {}", tree.shown())))
}

/// Returns the parts of `lower <= variable <= upper`.
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
