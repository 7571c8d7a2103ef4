//! Reads SMT-LIB 2 scripts.

use super::Problem;
use super::build::{Builder, Meaning};
use super::diagnostics::{BAD_PROBLEM, Flaw};
use super::instance::{expected, name};
use super::store::{FormulaId, TermId};
use super::symbols::{self, Words};
use super::tree::{Position, Tree, short};
use crate::rational::Rational;

/// Commands that do not change the problem. The reader ignores them.
const IGNORED: &[&str] = &[
    "set-logic",
    "set-info",
    "set-option",
    "check-sat",
    "get-model",
    "get-value",
    "get-info",
    "get-assertions",
    "echo",
    "exit",
];

/// The declarations and assertions of a script that have been read so far.
#[derive(Default)]
struct Script {
    builder: Builder,
    reals: Vec<String>,
    bools: Vec<String>,
    asserted: Vec<FormulaId>,
    weight: Option<TermId>,
}

/// Reads a script as one problem.
pub(super) fn read(text: &str) -> Result<Problem, Flaw> {
    let start = Position { line: 1, column: 1 };
    let commands = symbols::read(text, start, Words::Quoted)?;
    if commands.is_empty() {
        let fault = Flaw::problem(start, "expected a JSON object or SMT-LIB commands, found nothing");
        return Err(fault);
    }
    let mut script = Script::default();
    for command in &commands {
        script.command(command)?;
    }
    let Script { mut builder, .. } = script;
    let formula = builder.store.all(&script.asserted);
    let weight = script
        .weight
        .unwrap_or_else(|| builder.store.number(Rational::ONE));
    Ok(Problem {
        name: String::new(),
        at: (0, 0),
        reals: script.reals,
        bools: script.bools,
        store: builder.store,
        formula,
        weight,
    })
}

impl Script {
    fn command(&mut self, tree: &Tree) -> Result<(), Flaw> {
        let Some([head, arguments @ ..]) = tree.list() else {
            return Err(expected("a command such as `(assert ..)`", tree));
        };
        match (head.word().unwrap_or_default(), arguments) {
            ("declare-fun", [name, parameters, sort]) => {
                no_parameters(parameters)?;
                self.declare(name, sort)
            }
            ("declare-const", [name, sort]) => self.declare(name, sort),
            ("define-fun", [name, parameters, sort, body]) => {
                no_parameters(parameters)?;
                self.define(name, sort, body)
            }
            ("define-const", [name, sort, body]) => self.define(name, sort, body),
            ("assert", [body]) => match self.builder.value(body)? {
                Meaning::Formula(id) => {
                    self.asserted.push(id);
                    Ok(())
                }
                Meaning::Term(id) => self.set_weight(id, body),
            },
            ("declare-fun" | "declare-const" | "define-fun" | "define-const" | "assert", _) => {
                let text = format!(
                    "`{}` does not take {} arguments",
                    head.word().unwrap_or_default(),
                    arguments.len()
                );
                Err(Flaw::problem(tree.at, text))
            }
            (word, _) if IGNORED.contains(&word) => Ok(()),
            _ => Err(expected(
                "`declare-fun`, `define-fun` or `assert`; other commands are not supported",
                head,
            )),
        }
    }

    fn declare(&mut self, at: &Tree, sort: &Tree) -> Result<(), Flaw> {
        let meaning = match is_bool(sort)? {
            true => {
                self.bools.push(name(at)?.to_owned());
                Meaning::Formula(self.builder.store.boolean(self.bools.len() - 1))
            }
            false => {
                self.reals.push(name(at)?.to_owned());
                self.builder.real(self.reals.len() - 1)
            }
        };
        self.builder.define(name(at)?, at.at, meaning)
    }

    fn define(&mut self, at: &Tree, sort: &Tree, body: &Tree) -> Result<(), Flaw> {
        let meaning = match is_bool(sort)? {
            true => Meaning::Formula(self.builder.formula(body)?),
            false => Meaning::Term(self.builder.term(body)?),
        };
        if let (Some("weight"), Meaning::Term(id)) = (at.word(), meaning) {
            self.set_weight(id, at)?;
        }
        self.builder.define(name(at)?, at.at, meaning)
    }

    fn set_weight(&mut self, id: TermId, at: &Tree) -> Result<(), Flaw> {
        match self.weight.replace(id) {
            None => Ok(()),
            Some(_) => Err(Flaw::problem(at.at, "a second weight")
                .help("the weight is `(define-fun weight () Real ..)` or one asserted term")),
        }
    }
}

fn no_parameters(tree: &Tree) -> Result<(), Flaw> {
    match tree.list() {
        Some([]) => Ok(()),
        _ => Err(Flaw::new(
            &BAD_PROBLEM,
            tree.at,
            "expected `()`: functions with parameters are not supported",
        )
        .help("write the body where the function is used; repeated terms are stored once")),
    }
}

fn is_bool(tree: &Tree) -> Result<bool, Flaw> {
    match tree.word() {
        Some("Bool") => Ok(true),
        Some("Real") => Ok(false),
        Some(other) => Err(Flaw::problem(
            tree.at,
            format!("expected the sort `Real` or `Bool`, found `{}`", short(other)),
        )),
        None => Err(expected("the sort `Real` or `Bool`", tree)),
    }
}
