//! Reads instances in the format `wmi-instances/1`.

use super::build::{Builder, Meaning};
use super::diagnostics::Flaw;
use super::store::FormulaId;
use super::tree::{Node, Tree, short};
use super::{Problem, between, number};
use crate::rational::Rational;
use bnnc_base::nearest::nearest;

/// The keys that an instance may have. The values of purely descriptive keys are not read.
const KEYS: [&str; 12] = [
    "id", "category", "note", "reals", "bools", "defs", "given", "formula", "weight", "policy", "smt2",
    "expected",
];

/// A real variable that the instance declares.
struct Declared<'a> {
    name: &'a str,
    at: &'a Tree,
    lower: Option<Rational>,
    upper: Option<Rational>,
}

/// Reads one instance.
pub(super) fn read(tree: &Tree) -> Result<Problem, Flaw> {
    let Node::Table(entries) = &tree.node else {
        return Err(expected("an instance, which is an object", tree));
    };
    if let Some((key, value)) = entries.iter().find(|(key, _)| !KEYS.contains(&key.as_str())) {
        let flaw = Flaw::problem(value.at, format!("an instance has no `{}`", short(key)));
        return Err(match nearest(key, KEYS.iter().copied()) {
            Some(known) => flaw.help(format!("did you mean `{known}`?")),
            None => flaw.help(format!("its keys are {}", KEYS.join(", "))),
        });
    }
    let mut builder = Builder::default();
    let given = given(tree)?;
    let mut parts: Vec<FormulaId> = Vec::new();
    let mut reals = Vec::new();
    let all = declared(tree)?;
    for (name, _, at) in &given {
        if all.iter().all(|declared| declared.name != *name) {
            let text = format!("`{}` is given but not among `reals`", short(name));
            return Err(Flaw::problem(at.at, text));
        }
    }
    for declared in all {
        let value = given.iter().find(|(name, ..)| *name == declared.name);
        let meaning = match value {
            Some((_, value, _)) => {
                let inside = declared.lower.as_ref().is_none_or(|lower| lower <= value)
                    && declared.upper.as_ref().is_none_or(|upper| value <= upper);
                parts.push(builder.store.constant(inside));
                Meaning::Term(builder.store.number(value.clone()))
            }
            None => {
                let variable = reals.len();
                reals.push(declared.name.to_owned());
                parts.extend(between(
                    &mut builder.store,
                    variable,
                    declared.lower,
                    declared.upper,
                ));
                builder.real(variable)
            }
        };
        builder.define(declared.name, declared.at.at, meaning)?;
    }
    let mut bools = Vec::new();
    for entry in list(tree, "bools")? {
        let name = name(entry)?;
        let boolean = builder.store.boolean(bools.len());
        builder.define(name, entry.at, Meaning::Formula(boolean))?;
        bools.push(name.to_owned());
    }
    for entry in list(tree, "defs")? {
        let Some([name_tree, term]) = entry.list() else {
            return Err(expected("a definition `[name, term]`", entry));
        };
        let meaning = builder.value(term)?;
        builder.define(name(name_tree)?, name_tree.at, meaning)?;
    }
    let formula = builder.formula(required(tree, "formula")?)?;
    parts.push(formula);
    let formula = builder.store.all(&parts);
    let weight = match tree.key("weight") {
        Some(weight) => builder.term(weight)?,
        None => builder.store.number(Rational::ONE),
    };
    Ok(Problem {
        name: tree.key("id").and_then(Tree::word).unwrap_or_default().to_owned(),
        at: tree.at.into(),
        reals,
        bools,
        store: builder.store,
        formula,
        weight,
    })
}

fn declared(tree: &Tree) -> Result<Vec<Declared<'_>>, Flaw> {
    let mut declared = Vec::new();
    for entry in list(tree, "reals")? {
        let Some([at, lower, upper]) = entry.list() else {
            return Err(expected("a real `[name, lower, upper]`", entry));
        };
        declared.push(Declared {
            name: name(at)?,
            at,
            lower: bound(lower)?,
            upper: bound(upper)?,
        });
    }
    Ok(declared)
}

/// Reads the values of the reals that are not integrated. Each value is returned with its tree,
/// which error messages need.
fn given(tree: &Tree) -> Result<Vec<(&str, Rational, &Tree)>, Flaw> {
    let Some(given) = tree.key("given") else {
        return Ok(Vec::new());
    };
    let Node::Table(entries) = &given.node else {
        return Err(expected("an object of names and numbers", given));
    };
    let mut values = Vec::new();
    for (name, value) in entries {
        let word = value.word().ok_or_else(|| expected("a number", value))?;
        values.push((name.as_str(), number::read(word, value.at)?, value));
    }
    Ok(values)
}

/// Reads a bound. The value `null` means that the variable is unbounded on this side.
pub(super) fn bound(tree: &Tree) -> Result<Option<Rational>, Flaw> {
    match &tree.node {
        Node::Null => Ok(None),
        Node::Word(word) => number::read(word, tree.at).map(Some),
        Node::List(_) | Node::Table(_) => Err(expected("a number or `null`", tree)),
    }
}

/// Returns the value of a required key.
pub(super) fn required<'a>(tree: &'a Tree, key: &str) -> Result<&'a Tree, Flaw> {
    tree.key(key)
        .ok_or_else(|| Flaw::problem(tree.at, format!("expected the key `{key}` in this object")))
}

/// Returns the list under a key. If the key is absent, the list is empty.
pub(super) fn list<'a>(tree: &'a Tree, key: &str) -> Result<&'a [Tree], Flaw> {
    match tree.key(key) {
        None => Ok(&[]),
        Some(value) => value
            .list()
            .ok_or_else(|| expected(&format!("a list under `{key}`"), value)),
    }
}

/// Returns the word if the tree is a word. Otherwise returns an error.
pub(super) fn name(tree: &Tree) -> Result<&str, Flaw> {
    tree.word().ok_or_else(|| expected("a name", tree))
}

/// Creates the error for a tree that does not have the expected form.
pub(super) fn expected(what: &str, tree: &Tree) -> Flaw {
    Flaw::problem(tree.at, format!("expected {what}, found {}", tree.shown()))
}
