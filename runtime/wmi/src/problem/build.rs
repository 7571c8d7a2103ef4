//! Converts parsed trees to terms and formulas. At this point, the notations differ only in the names of operators, so all of
//! them share one table of operators.

mod formulas;
mod operators;
mod terms;

use super::diagnostics::{Flaw, NOT_LINEAR};
use super::form::LinearForm;
use super::number;
use super::store::{FormulaId, TermId, TermStore};
use super::tree::{Node, Position, Tree, short};
use bnnc_base::nearest::nearest;
use operators::{Call, OPERATORS, Operator};
use std::collections::BTreeMap;

/// Terms and formulas are rejected if they are nested deeper than this. The depth is counted as if each definition were written
/// out wherever it is used.
const DEEPEST: u32 = 400;

/// The meaning of a name or a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The meaning is a real term.
    Term(TermId),
    /// The meaning is a formula.
    Formula(FormulaId),
}

/// Builds terms and formulas from trees, and adds them to a store.
#[derive(Default)]
pub(super) struct Builder {
    /// The store to which terms and formulas are added.
    pub store: TermStore,
    /// The defined names. The names are in alphabetical order, so that the suggestion for a misspelt name is always the same.
    names: BTreeMap<String, Meaning>,
    /// The names that are defined by enclosing `let` expressions. The innermost name comes last.
    local: Vec<(String, Meaning)>,
    depth: u32,
}

impl Builder {
    /// Defines a name. Returns an error if the name is invalid or already defined.
    pub(super) fn define(&mut self, name: &str, at: Position, meaning: Meaning) -> Result<(), Flaw> {
        if number::looks_like_number(name) || name.is_empty() || matches!(name, "true" | "false") {
            let text = format!("expected a name, found `{}`", short(name));
            return Err(Flaw::problem(at, text));
        }
        match self.names.insert(name.to_owned(), meaning) {
            None => Ok(()),
            Some(_) => Err(Flaw::problem(at, format!("`{}` is declared twice", short(name)))),
        }
    }

    /// Returns the meaning of a real variable: the linear form of this variable alone.
    pub(super) fn real(&mut self, variable: usize) -> Meaning {
        Meaning::Term(self.store.linear(LinearForm::variable(variable)))
    }

    /// Builds a term from a tree.
    pub(super) fn term(&mut self, tree: &Tree) -> Result<TermId, Flaw> {
        match self.value(tree)? {
            Meaning::Term(id) => Ok(id),
            Meaning::Formula(_) => {
                let text = format!("expected a term, found {}, which is a formula", described(tree));
                Err(Flaw::problem(tree.at, text))
            }
        }
    }

    /// Builds a formula from a tree.
    pub(super) fn formula(&mut self, tree: &Tree) -> Result<FormulaId, Flaw> {
        match self.value(tree)? {
            Meaning::Formula(id) => Ok(id),
            Meaning::Term(_) => {
                let text = format!("expected a formula, found {}, which is a term", described(tree));
                Err(Flaw::problem(tree.at, text))
            }
        }
    }

    /// Builds the inner formula of `(! formula :named name ..)`. The annotations are only meant for solvers, and are ignored.
    fn annotated(&mut self, tree: &Tree, arguments: &[Tree]) -> Result<Meaning, Flaw> {
        let is_key = |tree: &Tree| tree.word().is_some_and(|word| word.starts_with(':'));
        match arguments.split_first() {
            Some((inner, [key, ..])) if is_key(key) && !is_key(inner) => {
                if self.depth >= DEEPEST {
                    return Err(too_deep(tree.at));
                }
                self.depth += 1;
                let value = self.value(inner);
                self.depth -= 1;
                value
            }
            _ => {
                let text = "expected `(! formula :named name)`";
                Err(Flaw::problem(tree.at, text))
            }
        }
    }

    /// Builds a term or a formula from a tree.
    pub(super) fn value(&mut self, tree: &Tree) -> Result<Meaning, Flaw> {
        let parts = match &tree.node {
            Node::Word(word) => return self.word(word, tree.at),
            Node::List(parts) => parts,
            Node::Null | Node::Table(_) => {
                let text = format!("expected a term or a formula, found {}", tree.shown());
                return Err(Flaw::problem(tree.at, text));
            }
        };
        let Some((head, arguments)) = parts.split_first() else {
            let fault = Flaw::problem(tree.at, "expected a term or a formula, found an empty list");
            return Err(fault);
        };
        let Some(name) = head.word() else {
            let text = format!("expected the name of an operator, found {}", head.shown());
            return Err(Flaw::problem(head.at, text));
        };
        if name == "!" {
            return self.annotated(tree, arguments);
        }
        let Some((_, operator)) = OPERATORS.iter().find(|(known, _)| *known == name) else {
            return Err(unknown_operator(name, head.at));
        };
        if self.depth >= DEEPEST {
            return Err(too_deep(tree.at));
        }
        self.depth += 1;
        let at = tree.at;
        let value = self.apply(*operator, Call { name, at, arguments });
        self.depth -= 1;
        let value = value?;
        let depth = match value {
            Meaning::Term(id) => self.store.term_depth(id),
            Meaning::Formula(id) => self.store.formula_depth(id),
        };
        if depth > DEEPEST {
            return Err(too_deep(tree.at));
        }
        Ok(value)
    }

    fn word(&mut self, word: &str, at: Position) -> Result<Meaning, Flaw> {
        let local = self.local.iter().rev().find(|(name, _)| name == word);
        if let Some(meaning) = local.map(|(_, meaning)| meaning).or(self.names.get(word)) {
            return Ok(*meaning);
        }
        match word {
            "true" | "True" => Ok(Meaning::Formula(self.store.constant(true))),
            "false" | "False" => Ok(Meaning::Formula(self.store.constant(false))),
            _ if number::looks_like_number(word) => {
                let number = number::read(word, at)?;
                Ok(Meaning::Term(self.store.number(number)))
            }
            _ => Err(self.unknown_name(word, at)),
        }
    }

    fn unknown_name(&self, word: &str, at: Position) -> Flaw {
        let flaw = Flaw::problem(at, format!("`{}` is not declared", short(word)));
        match nearest(word, self.names.keys().map(String::as_str)) {
            Some(name) => flaw.help(format!("did you mean `{name}`?")),
            None => flaw,
        }
    }

    fn apply(&mut self, operator: Operator, call: Call<'_>) -> Result<Meaning, Flaw> {
        match operator {
            Operator::Add
            | Operator::Subtract
            | Operator::Negate
            | Operator::Multiply
            | Operator::Divide
            | Operator::Power
            | Operator::Relu
            | Operator::Absolute
            | Operator::Largest
            | Operator::Smallest => self.arithmetic(operator, call).map(Meaning::Term),
            Operator::And
            | Operator::Or
            | Operator::Not
            | Operator::Implies
            | Operator::Same
            | Operator::Different
            | Operator::AtMost
            | Operator::Below
            | Operator::AtLeast
            | Operator::Above => self.logic(operator, call).map(Meaning::Formula),
            Operator::Equal => self.equal(call).map(Meaning::Formula),
            Operator::Distinct => self.distinct(call).map(Meaning::Formula),
            Operator::Choose => self.choose(call),
            Operator::Boolean => match call.arguments {
                [name] => self.formula(name).map(Meaning::Formula),
                _ => Err(call.wants("the name of a Boolean")),
            },
            Operator::Constant | Operator::Variable => self.typed(operator, call),
            Operator::Itself => match call.arguments {
                [inner] => self.term(inner).map(Meaning::Term),
                _ => Err(call.wants("one term")),
            },
            Operator::Let => self.bind(call),
        }
    }

    /// Builds `(const real 0.5)`, `(const bool True)`, `(var real x)` or `(var bool a)`.
    fn typed(&mut self, operator: Operator, call: Call<'_>) -> Result<Meaning, Flaw> {
        let [sort, name] = call.arguments else {
            return Err(call.wants("`real` or `bool`, and a value"));
        };
        if operator == Operator::Constant && sort.word() == Some("real") {
            let number = number::read(name.word().unwrap_or_default(), name.at)?;
            return Ok(Meaning::Term(self.store.number(number)));
        }
        match sort.word() {
            Some("real") => self.term(name).map(Meaning::Term),
            Some("bool") => self.formula(name).map(Meaning::Formula),
            _ => Err(Flaw::problem(
                sort.at,
                format!("expected `real` or `bool`, found {}", sort.shown()),
            )),
        }
    }

    fn choose(&mut self, call: Call<'_>) -> Result<Meaning, Flaw> {
        let [condition, one, other] = call.arguments else {
            return Err(call.wants("a formula and two values"));
        };
        let condition = self.formula(condition)?;
        match self.value(one)? {
            Meaning::Term(one) => {
                let other = self.term(other)?;
                Ok(Meaning::Term(self.store.choose(condition, one, other)))
            }
            Meaning::Formula(one) => {
                let other = self.formula(other)?;
                let chosen = self.store.choose_formula(condition, one, other);
                Ok(Meaning::Formula(chosen))
            }
        }
    }

    /// Builds `(let ((name value) ..) body)`. Nested `let` expressions are read in a loop, because generated files contain long
    /// chains of `let`.
    fn bind(&mut self, call: Call<'_>) -> Result<Meaning, Flaw> {
        let before = self.local.len();
        let mut arguments = call.arguments;
        let result = loop {
            let [bindings, body] = arguments else {
                break Err(call.wants("bindings and a body"));
            };
            if let Err(flaw) = self.bindings(bindings) {
                break Err(flaw);
            }
            match body.list() {
                Some([head, rest @ ..]) if head.word() == Some("let") => arguments = rest,
                _ => break self.value(body),
            }
        };
        self.local.truncate(before);
        result
    }

    fn bindings(&mut self, tree: &Tree) -> Result<(), Flaw> {
        let expected = |tree: &Tree| {
            let text = format!("expected bindings `((name value) ..)`, found {}", tree.shown());
            Flaw::problem(tree.at, text)
        };
        let mut bound = Vec::new();
        for binding in tree.list().ok_or_else(|| expected(tree))? {
            let Some([name, value]) = binding.list() else {
                return Err(expected(binding));
            };
            let name = name.word().ok_or_else(|| expected(name))?;
            bound.push((name.to_owned(), self.value(value)?));
        }
        self.local.extend(bound);
        Ok(())
    }
}

fn described(tree: &Tree) -> String {
    match tree.list() {
        Some([head, ..]) => format!("`({} ..)`", head.word().map_or_else(String::new, short)),
        _ => tree.shown(),
    }
}

fn too_deep(at: Position) -> Flaw {
    Flaw::large(at, format!("nested more than {DEEPEST} deep"))
}

fn unknown_operator(name: &str, at: Position) -> Flaw {
    if matches!(
        name,
        "exp" | "log" | "ln" | "sqrt" | "sin" | "cos" | "tanh" | "sigmoid"
    ) {
        let text = format!("`{name}` is not a polynomial");
        return Flaw::new(&NOT_LINEAR, at, text).help("only piecewise polynomials have an exact integral");
    }
    let flaw = Flaw::problem(at, format!("there is no operator `{}`", short(name)));
    match nearest(name, OPERATORS.iter().map(|(known, _)| *known)) {
        Some(known) => flaw.help(format!("did you mean `{known}`?")),
        None => flaw,
    }
}
