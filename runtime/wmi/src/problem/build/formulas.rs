//! Builds formulas from operators and their arguments.

use super::super::diagnostics::{Flaw, NOT_LINEAR};
use super::super::store::{FormulaId, TermId};
use super::super::tree::Tree;
use super::operators::{Call, Operator};
use super::{Builder, Meaning, described};

impl Builder {
    /// Builds the formula of an operator. The arguments are formulas, or terms that the operator compares.
    pub(super) fn logic(&mut self, operator: Operator, call: Call<'_>) -> Result<FormulaId, Flaw> {
        let comparisons = [
            Operator::AtMost,
            Operator::Below,
            Operator::AtLeast,
            Operator::Above,
        ];
        if comparisons.contains(&operator) {
            return self.comparison(operator, call);
        }
        let mut parts = Vec::with_capacity(call.arguments.len());
        for argument in call.arguments {
            parts.push(self.formula(argument)?);
        }
        match (operator, parts.as_slice()) {
            (Operator::And, _) => Ok(self.store.all(&parts)),
            (Operator::Or, _) => Ok(self.store.any(&parts)),
            (Operator::Not, [one]) => Ok(self.store.not(*one)),
            (Operator::Not, _) => Err(call.wants("one formula")),
            // The expression `a => b => c` means `a => (b => c)`.
            (Operator::Implies, [premises @ .., last]) if !premises.is_empty() => {
                let negated: Vec<_> = premises.iter().map(|id| self.store.not(*id)).collect();
                let parts = [negated.as_slice(), &[*last]].concat();
                Ok(self.store.any(&parts))
            }
            (Operator::Same, [first, rest @ ..]) if !rest.is_empty() => {
                let pairs: Vec<_> = rest.iter().map(|next| self.same(*first, *next)).collect();
                Ok(self.store.all(&pairs))
            }
            (Operator::Different, [first, rest @ ..]) if !rest.is_empty() => {
                let different = |parity, next: &FormulaId| {
                    let same = self.same(parity, *next);
                    self.store.not(same)
                };
                Ok(rest.iter().fold(*first, different))
            }
            _ => Err(call.wants("at least two formulas")),
        }
    }

    fn same(&mut self, one: FormulaId, other: FormulaId) -> FormulaId {
        let opposite = self.store.not(other);
        self.store.choose_formula(one, other, opposite)
    }

    /// Builds `a <= b <= ..`, or the same chain with `<`, `>=` or `>`. Strict and weak comparisons differ only if both sides are equal on a
    /// region with a volume.
    fn comparison(&mut self, operator: Operator, call: Call<'_>) -> Result<FormulaId, Flaw> {
        let terms = self.compared(call)?;
        let mut parts = Vec::new();
        for pair in terms.windows(2) {
            parts.push(match operator {
                Operator::AtLeast => self.at_most(pair[1], pair[0]),
                Operator::Below => self.below(pair[0], pair[1]),
                Operator::Above => self.below(pair[1], pair[0]),
                _ => self.at_most(pair[0], pair[1]),
            });
        }
        Ok(self.store.all(&parts))
    }

    /// Builds the formula `one < other`.
    fn below(&mut self, one: TermId, other: TermId) -> FormulaId {
        let reversed = self.at_most(other, one);
        self.store.not(reversed)
    }

    /// Builds the formula that states that all arguments differ from each other. The set where two terms are equal, and the formula is therefore
    /// false, may be a region with a volume.
    pub(super) fn distinct(&mut self, call: Call<'_>) -> Result<FormulaId, Flaw> {
        if call.arguments.len() < 2 {
            return Err(call.wants("at least two terms or formulas"));
        }
        let mut parts = Vec::new();
        for (at, first) in call.arguments.iter().enumerate() {
            for second in &call.arguments[at + 1..] {
                let pair = [first.clone(), second.clone()];
                let equal = self.equal(Call {
                    arguments: &pair,
                    ..call
                })?;
                parts.push(self.store.not(equal));
            }
        }
        Ok(self.store.all(&parts))
    }

    /// Returns the two sides of a comparison. Both sides must be terms of degree at most one.
    fn compared(&mut self, call: Call<'_>) -> Result<Vec<TermId>, Flaw> {
        if call.arguments.len() < 2 {
            return Err(call.wants("two terms"));
        }
        let mut terms = Vec::with_capacity(call.arguments.len());
        for argument in call.arguments {
            let id = self.term(argument)?;
            self.check_linear(id, argument)?;
            terms.push(id);
        }
        Ok(terms)
    }

    /// Builds an equation. An equation of formulas holds if both formulas are true or both are false. An equation of terms holds where the terms
    /// are equal, which may be a region with a volume.
    pub(super) fn equal(&mut self, call: Call<'_>) -> Result<FormulaId, Flaw> {
        let [first, rest @ ..] = call.arguments else {
            return Err(call.wants("two terms or two formulas"));
        };
        let mut parts = Vec::new();
        match self.value(first)? {
            _ if rest.is_empty() => return Err(call.wants("two terms or two formulas")),
            Meaning::Formula(one) => {
                for next in rest {
                    let other = self.formula(next)?;
                    parts.push(self.same(one, other));
                }
            }
            Meaning::Term(one) => {
                self.check_linear(one, first)?;
                for next in rest {
                    let other = self.term(next)?;
                    self.check_linear(other, next)?;
                    let difference = self.difference(one, other);
                    parts.push(self.store.zero(difference));
                }
            }
        }
        Ok(self.store.all(&parts))
    }

    fn check_linear(&self, id: TermId, tree: &Tree) -> Result<(), Flaw> {
        if self.store.degree(id) <= 1 {
            return Ok(());
        }
        let text = format!("expected a linear term, found {}", described(tree));
        Err(Flaw::new(&NOT_LINEAR, tree.at, text).help("products of variables are possible in the weight"))
    }
}
