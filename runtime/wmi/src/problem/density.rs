//! Reads the densities that pywmi (`Density.to_file`) and wmpy write. The two formats differ in the `domain`.

use super::build::{Builder, Meaning};
use super::diagnostics::Flaw;
use super::instance::{bound, expected, list, name, required};
use super::store::FormulaId;
use super::symbols::{self, Words};
use super::tree::{Node, Position, Tree};
use super::{Problem, between};
use crate::rational::Rational;

/// A variable that the domain declares.
struct Variable<'a> {
    name: &'a str,
    at: Position,
    is_bool: bool,
    bounds: Option<&'a Tree>,
}

/// Reads a density. Returns the problem without queries, and then one problem for each query. Skips queries that are just `true`.
pub(super) fn read(tree: &Tree) -> Result<Vec<Problem>, Flaw> {
    let mut builder = Builder::default();
    let mut parts: Vec<FormulaId> = Vec::new();
    let (mut reals, mut bools) = (Vec::new(), Vec::new());
    for variable in domain(required(tree, "domain")?)? {
        let meaning = if variable.is_bool {
            bools.push(variable.name.to_owned());
            Meaning::Formula(builder.store.boolean(bools.len() - 1))
        } else {
            let (lower, upper) = variable.bounds.map_or(Ok((None, None)), bounds)?;
            reals.push(variable.name.to_owned());
            parts.extend(between(&mut builder.store, reals.len() - 1, lower, upper));
            builder.real(reals.len() - 1)
        };
        builder.define(variable.name, variable.at, meaning)?;
    }
    parts.push(builder.formula(&expression(required(tree, "formula")?)?)?);
    let formula = builder.store.all(&parts);
    let weight = match tree.key("weights") {
        Some(weight) => builder.term(&expression(weight)?)?,
        None => builder.store.number(Rational::ONE),
    };
    let mut named = vec![(String::new(), tree.at, formula)];
    for (at, text) in list(tree, "queries")?.iter().enumerate() {
        let query = builder.formula(&expression(text)?)?;
        if builder.store.as_constant(query) != Some(true) {
            let both = builder.store.all(&[formula, query]);
            named.push((format!("query {}", at + 1), text.at, both));
        }
    }
    let problem = |(name, at, formula): (String, Position, FormulaId)| Problem {
        name,
        at: at.into(),
        reals: reals.clone(),
        bools: bools.clone(),
        store: builder.store.clone(),
        formula,
        weight,
    };
    Ok(named.into_iter().map(problem).collect())
}

/// Reads the variables of the domain. In wmpy's format, the domain is a list of `[name, sort, bounds]`. In pywmi's format, the domain
/// is an object with `variables`, `var_types` and `var_domains`.
fn domain(tree: &Tree) -> Result<Vec<Variable<'_>>, Flaw> {
    let mut variables = Vec::new();
    if let Some(entries) = tree.list() {
        for entry in entries {
            let (at, sort, bounds) = match entry.list() {
                Some([at, sort]) => (at, sort, None),
                Some([at, sort, bounds]) => (at, sort, Some(bounds)),
                _ => return Err(expected("a variable `[name, sort, bounds]`", entry)),
            };
            variables.push(variable(at, sort, bounds)?);
        }
        return Ok(variables);
    }
    let (sorts, domains) = (required(tree, "var_types")?, tree.key("var_domains"));
    for at in list(tree, "variables")? {
        let sort = required(sorts, name(at)?)?;
        variables.push(variable(
            at,
            sort,
            domains.and_then(|domains| domains.key(name(at).unwrap_or_default())),
        )?);
    }
    Ok(variables)
}

fn variable<'a>(at: &'a Tree, sort: &Tree, bounds: Option<&'a Tree>) -> Result<Variable<'a>, Flaw> {
    let is_bool = match sort.word() {
        Some("bool") => true,
        Some("real") => false,
        _ => return Err(expected("the sort `real` or `bool`", sort)),
    };
    Ok(Variable {
        name: name(at)?,
        at: at.at,
        is_bool,
        bounds,
    })
}

/// Reads the bounds of a variable: `null`, or `[lower, upper]`. Each bound is a number or `null`.
fn bounds(tree: &Tree) -> Result<(Option<Rational>, Option<Rational>), Flaw> {
    match &tree.node {
        Node::Null => Ok((None, None)),
        Node::List(parts) => match parts.as_slice() {
            [lower, upper] => Ok((bound(lower)?, bound(upper)?)),
            _ => Err(expected("bounds `[lower, upper]`", tree)),
        },
        Node::Word(_) | Node::Table(_) => Err(expected("bounds `[lower, upper]` or `null`", tree)),
    }
}

/// Reads the S-expression in a JSON string. Error positions are computed from the position of the string's opening quote.
fn expression(tree: &Tree) -> Result<Tree, Flaw> {
    let text = tree
        .word()
        .ok_or_else(|| expected("an S-expression in a string", tree))?;
    let start = Position {
        line: tree.at.line,
        column: tree.at.column + 1,
    };
    let mut parts = symbols::read(text, start, Words::Plain)?;
    match (parts.pop(), parts.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(expected("one S-expression", tree)),
    }
}
