//! Computes powers, logarithms, exponentials, absolute values and choices of separated forms.

use super::{Algebra, MOST_POWERS, MOST_TERMS, Monomial, SeparatedForm, SeparatedTerm};
use crate::nodes;
use bnnc_graph::function::Value;

impl Algebra<'_> {
    /// Returns the form of `x ^ exponent`; the node `value` is this power.
    pub fn pow(&mut self, value: Value, x: &SeparatedForm, exponent: f64) -> SeparatedForm {
        let is_whole = exponent.fract() == 0.0;
        if let Some(term) = x.only_term().cloned() {
            return self.pow_of_term(value, x, &term, exponent);
        }
        if is_whole && (2.0..=MOST_POWERS).contains(&exponent) && !x.summed {
            let mut power = x.clone();
            for _ in 1..exponent as usize {
                if power.terms.len() * x.terms.len() > MOST_TERMS {
                    return self.power_of_atom(value, x.value, exponent);
                }
                let node = self.builder.mul(power.value, x.value);
                power = self.mul(node, &power, x);
            }
            power.value = value;
            return power;
        }
        self.power_of_atom(value, x.value, exponent)
    }

    fn pow_of_term(
        &mut self,
        value: Value,
        x: &SeparatedForm,
        term: &SeparatedTerm,
        exponent: f64,
    ) -> SeparatedForm {
        let is_whole = exponent.fract() == 0.0;
        let positive = if is_whole { None } else { self.without_signs(term) };
        let Some(term) = positive.or_else(|| is_whole.then(|| term.clone())) else {
            return self.power_of_atom(value, x.value, exponent);
        };
        let all_split = is_whole
            || term
                .monomial
                .0
                .iter()
                .all(|(atom, _)| self.is_non_negative(*atom));
        let factors = if all_split {
            term.monomial
                .0
                .iter()
                .map(|(atom, power)| (*atom, power * exponent))
                .collect()
        } else {
            vec![(self.monomial_value(&term.monomial), exponent)]
        };
        let coefficient = self.power_of(term.coefficient, exponent);
        self.product_of(value, coefficient, factors)
    }

    /// Returns the form of a value that is a single product.
    fn product_of(&self, value: Value, coefficient: Value, factors: Vec<(Value, f64)>) -> SeparatedForm {
        let monomial = self.normal(factors);
        SeparatedForm::of(
            value,
            vec![SeparatedTerm {
                coefficient,
                monomial,
            }],
        )
    }

    /// Returns an equal product with a non-negative coefficient. Returns `None` if the sign of the
    /// coefficient is not known.
    fn without_signs(&mut self, term: &SeparatedTerm) -> Option<SeparatedTerm> {
        let range = self.range(term.coefficient);
        if range.lo >= 0.0 {
            return Some(term.clone());
        }
        (range.hi <= 0.0 && !term.monomial.0.is_empty()).then(|| {
            let monomial = self.monomial_value(&term.monomial);
            SeparatedTerm {
                coefficient: self.builder.neg(term.coefficient),
                monomial: Monomial(vec![(self.builder.neg(monomial), 1.0)]),
            }
        })
    }

    fn power_of_atom(&mut self, value: Value, atom: Value, exponent: f64) -> SeparatedForm {
        if !self.varies(atom) {
            let power = self.power_of(atom, exponent);
            let mut form = self.whole(power);
            form.value = value;
            return form;
        }
        let one = self.builder.like(1.0, atom);
        SeparatedForm::of(
            value,
            vec![SeparatedTerm {
                coefficient: one,
                monomial: Monomial(vec![(atom, exponent)]),
            }],
        )
    }

    /// Builds `x ^ exponent` for a constant exponent, with the cheapest op.
    pub fn power_of(&mut self, x: Value, exponent: f64) -> Value {
        let power = self.unfolded_power(x, exponent);
        self.folded(power)
    }

    fn unfolded_power(&mut self, x: Value, exponent: f64) -> Value {
        if exponent == 1.0 || self.is_constant(x, 1.0) {
            x
        } else if exponent == -1.0 {
            self.builder.reciprocal(x)
        } else if exponent == 2.0 {
            self.builder.square(x)
        } else if exponent == 0.5 {
            self.builder.sqrt(x)
        } else {
            let exponent = self.builder.like(exponent, x);
            self.builder.pow(x, exponent)
        }
    }

    /// Builds the product of all atoms, each raised to its power. The monomial must have at least
    /// one atom.
    pub fn monomial_value(&mut self, monomial: &Monomial) -> Value {
        let mut product = None;
        for (atom, power) in &monomial.0 {
            let factor = self.power_of(*atom, *power);
            product = Some(product.map_or(factor, |product| self.builder.mul(product, factor)));
        }
        product.unwrap_or_else(|| unreachable!("a monomial without atoms has no value of its own"))
    }

    /// Returns the form of `log x`; the node `value` is this logarithm.
    pub fn log(&mut self, value: Value, x: &SeparatedForm) -> SeparatedForm {
        let term = x.only_term().filter(|term| !term.monomial.0.is_empty()).cloned();
        let Some(term) = term.and_then(|term| self.without_signs(&term)) else {
            return self.whole(value);
        };
        let log = self.builder.log(term.coefficient);
        let log = self.folded(log);
        let mut sum = self.whole(log);
        for (atom, power) in self.positive_factors(&term.monomial) {
            let log = self.log_of_atom(atom);
            let power = self.builder.like(power, log.value);
            let power = self.whole(power);
            let node = self.builder.mul(log.value, power.value);
            let scaled = self.mul(node, &log, &power);
            let node = self.builder.add(sum.value, scaled.value);
            sum = self.add(node, &sum, &scaled);
        }
        sum.value = value;
        sum
    }

    /// Returns the factors of a monomial if none of its atoms can be negative. Otherwise returns
    /// the whole product as one factor.
    fn positive_factors(&mut self, monomial: &Monomial) -> Vec<(Value, f64)> {
        if monomial.0.iter().all(|(atom, _)| self.is_non_negative(*atom)) {
            monomial.0.clone()
        } else {
            vec![(self.monomial_value(monomial), 1.0)]
        }
    }

    fn log_of_atom(&mut self, atom: Value) -> SeparatedForm {
        if let Some(form) = self.logarithms.get(&atom) {
            return form.clone();
        }
        let log = self.builder.log(atom);
        self.whole(log)
    }

    /// Returns the form of `exp x`; the node `value` is this exponential. The exponential of the terms that
    /// do not vary becomes the coefficient, and the exponential of the noise terms becomes an atom.
    pub fn exp(&mut self, value: Value, x: &SeparatedForm) -> SeparatedForm {
        if x.summed {
            return self.whole(value);
        }
        let (fixed, varying): (Vec<SeparatedTerm>, Vec<SeparatedTerm>) = x
            .terms
            .iter()
            .cloned()
            .partition(|term| term.monomial.0.is_empty());
        let (noise, mixed): (Vec<SeparatedTerm>, Vec<SeparatedTerm>) =
            varying.into_iter().partition(|term| {
                let is_number = nodes::constant_of(self.builder, term.coefficient).is_some();
                is_number && term.monomial.0.iter().all(|(atom, _)| !self.moves(*atom))
            });
        let one = self.builder.like(1.0, value);
        let coefficient = fixed
            .first()
            .map_or(one, |term| self.builder.exp(term.coefficient));
        let mut factors = Vec::new();
        for part in [noise, mixed].into_iter().filter(|part| !part.is_empty()) {
            let sum = self.sum_of(&part);
            let atom = self.builder.exp(sum);
            let logarithm = SeparatedForm::of(sum, part);
            self.logarithms.insert(atom, logarithm);
            factors.push((atom, 1.0));
        }
        self.product_of(value, coefficient, factors)
    }

    /// Builds the sum of the terms. The list must have at least one term.
    pub fn sum_of(&mut self, terms: &[SeparatedTerm]) -> Value {
        let mut sum = None;
        for term in terms {
            let value = self.term_value(term);
            sum = Some(sum.map_or(value, |sum| self.builder.add(sum, value)));
        }
        sum.unwrap_or_else(|| unreachable!("a sum has terms"))
    }

    /// Builds the product of a term's coefficient and monomial.
    pub fn term_value(&mut self, term: &SeparatedTerm) -> Value {
        if term.monomial.0.is_empty() {
            return term.coefficient;
        }
        let monomial = self.monomial_value(&term.monomial);
        self.product(term.coefficient, monomial)
    }

    /// Returns the form of `|x|`; the node `value` is this absolute value. For a single term, the
    /// absolute value is taken factor by factor. Any other form is multiplied by the sign of its
    /// value. Gradients do not flow through this sign. This does not change the derivative, because
    /// the derivative of the sign is zero almost everywhere.
    pub fn abs(&mut self, value: Value, x: &SeparatedForm) -> SeparatedForm {
        if self.is_non_negative(x.value) {
            return x.clone();
        }
        if x.summed || !self.moves(x.value) {
            return self.whole(value);
        }
        if let Some(term) = x.only_term().cloned() {
            let coefficient = self.builder.abs(term.coefficient);
            let mut factors = Vec::new();
            for (atom, power) in &term.monomial.0 {
                let atom = if self.is_non_negative(*atom) {
                    *atom
                } else {
                    self.builder.abs(*atom)
                };
                factors.push((atom, *power));
            }
            return self.product_of(value, coefficient, factors);
        }
        let sign = self.sign(x.value);
        self.mul(value, &sign, x)
    }

    /// Returns the stop-gradient sign of a value as an atom of noise.
    pub fn sign(&mut self, x: Value) -> SeparatedForm {
        let sign = self.builder.sign(x);
        self.detached = true;
        self.signs.insert(sign);
        self.whole(sign)
    }

    /// Returns the form of `if condition { x } else { y }` for `x` and `y` that are polynomials of noise; the
    /// node `value` is this choice. The form is `y + indicator * (x - y)`, with the stop-gradient indicator
    /// of the condition.
    pub fn select(
        &mut self,
        value: Value,
        condition: Value,
        x: &SeparatedForm,
        y: &SeparatedForm,
    ) -> SeparatedForm {
        let is_tame = [x, y].into_iter().all(|form| self.is_polynomial(form));
        if !is_tame || !self.moves(value) {
            return self.whole(value);
        }
        let holds = self.builder.to_real(condition);
        self.detached = true;
        self.indicators.insert(holds);
        let holds = self.whole(holds);
        let difference = self.builder.sub(x.value, y.value);
        let minus = self.builder.neg(y.value);
        let minus = self.neg(minus, y);
        let difference = self.add(difference, x, &minus);
        let extra = self.builder.mul(holds.value, difference.value);
        let extra = self.mul(extra, &holds, &difference);
        self.add(value, y, &extra)
    }

    /// Returns whether all terms are products of positive whole powers of noise, and all constant
    /// coefficients are finite. With other terms, the branch that is not taken could make the sum
    /// NaN.
    fn is_polynomial(&mut self, form: &SeparatedForm) -> bool {
        let is_tame = |this: &mut Self, term: &SeparatedTerm| {
            nodes::constant_of(this.builder, term.coefficient).is_none_or(f64::is_finite)
                && term
                    .monomial
                    .0
                    .iter()
                    .all(|(atom, power)| !this.moves(*atom) && *power > 0.0 && power.fract() == 0.0)
        };
        !form.summed && form.terms.iter().all(|term| is_tame(self, term))
    }
}
