//! Polynomials for the elimination of variables, stored sparsely: problems have many variables, but a polynomial contains only a few of them.

use crate::polynomial::{Polynomial, add_term};
use crate::problem::form::LinearForm;
use crate::problem::store::{RealTerm, TermId, TermStore};
use crate::rational::{Rational, bits};
use crate::region::echelon::Echelon;
use dashu_int::IBig;
use std::collections::{BTreeMap, BTreeSet};

/// A product or power is not computed if it would have more monomials than this.
const MOST_TERMS: usize = 20_000;

/// A power is not computed if its coefficients need more multiplications of machine words than this, which take one or two seconds.
const MOST_WORDS: u64 = 1 << 31;

/// A form with several terms is substituted for a variable if all powers of the variable are below this number, or if only one power of the
/// variable occurs.
const MOST_POWERS: usize = 1024;

/// Powers of forms are not expanded if the polynomial then has at most this number of monomials (including divisors), even if expansion would
/// give fewer monomials.
const FEW_KEPT: u64 = 2000;

/// The index of the first form that is kept as a variable. This index is larger than the index of any real variable.
const FIRST_FORM: usize = usize::MAX / 2;

/// The variables of a monomial with their powers, ordered by variable. All powers are positive.
type Monomial = Vec<(usize, u32)>;

/// A polynomial: the coefficient of each monomial. All coefficients differ from zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sparse(BTreeMap<Monomial, Rational>);

impl Sparse {
    /// Creates the polynomial of a linear form.
    pub(super) fn linear(form: &LinearForm) -> Sparse {
        let mut terms = BTreeMap::new();
        if !form.constant.is_zero() {
            terms.insert(Vec::new(), form.constant.clone());
        }
        for (variable, coefficient) in &form.coefficients {
            terms.insert(vec![(*variable, 1)], coefficient.clone());
        }
        Sparse(terms)
    }

    /// Returns the constant polynomial 1.
    pub(super) fn one() -> Sparse {
        Sparse::linear(&LinearForm::number(Rational::ONE))
    }

    /// Expands a term into monomials. Returns `None` if the term has conditions or too many monomials.
    pub(super) fn of(store: &TermStore, id: TermId) -> Option<Sparse> {
        Sparse::expanded(store, id, None)
    }

    /// Expands a term without conditions into monomials. If `kept` is given, powers of linear forms with several terms are not expanded. Such
    /// forms become separate variables.
    fn expanded(store: &TermStore, id: TermId, mut kept: Option<&mut Vec<LinearForm>>) -> Option<Sparse> {
        match store.term(id) {
            RealTerm::Linear(form) => Some(Sparse::linear(form)),
            RealTerm::Sum(form, rest) => {
                let mut sum = Sparse::linear(form);
                for (factor, part) in rest {
                    sum.add(factor, &Sparse::expanded(store, *part, kept.as_deref_mut())?);
                }
                Some(sum)
            }
            RealTerm::Product(parts) => {
                let mut product = Sparse::one();
                for (part, power) in parts {
                    let base = match (store.term(*part), kept.as_deref_mut()) {
                        (RealTerm::Linear(form), Some(kept)) if *power > 1 && !form.is_single() => {
                            Sparse::form(form, kept)
                        }
                        (_, kept) => Sparse::expanded(store, *part, kept)?,
                    };
                    product = product.times(&base.power(*power)?)?;
                }
                Some(product)
            }
            RealTerm::Choice(..) => None,
        }
    }

    /// Returns a linear form as a separate variable. The index of the variable follows the indices of the forms in `kept`.
    fn form(form: &LinearForm, kept: &mut Vec<LinearForm>) -> Sparse {
        let known = kept.iter().position(|other| other == form);
        let at = known.unwrap_or(kept.len());
        if known.is_none() {
            kept.push(form.clone());
        }
        Sparse::linear(&LinearForm::variable(FIRST_FORM + at))
    }

    /// Converts a term without conditions to a polynomial. The variables of the polynomial are the `reals`, and linear forms in the `reals`.
    /// Returns `None` if the polynomial has too many monomials. The polynomial will be integrated over a polytope. Each row of this polytope
    /// contains variables of only one of the `blocks`. A block is a list of indices into `reals`.
    ///
    /// If a form contains variables of two blocks, keeping it as a variable would join the two blocks. The joined block has as many faces as
    /// the product of the face numbers of the two blocks. Such forms are therefore expanded if possible. Other forms are kept if the
    /// polynomial then has few monomials, or fewer than after expansion.
    pub(super) fn composed(
        store: &TermStore,
        id: TermId,
        reals: &[usize],
        blocks: &[Vec<usize>],
    ) -> Option<(Polynomial, Vec<Polynomial>)> {
        let mut forms = Vec::new();
        let kept = Sparse::expanded(store, id, Some(&mut forms));
        let is_within = |form: &LinearForm| {
            let mentioned =
                |block: &&Vec<usize>| block.iter().any(|&at| form.coefficient(reals[at]).is_some());
            blocks.iter().filter(mentioned).count() <= 1
        };
        let is_small = |kept: &Sparse| {
            let all = combinations(u32::try_from(kept.degree()).unwrap_or(u32::MAX), reals.len() + 1);
            let divisors = kept.divisors();
            forms.iter().all(is_within) && (divisors <= FEW_KEPT || divisors as f64 <= all)
        };
        let sparse = match kept {
            Some(kept) if is_small(&kept) => kept,
            kept => match Sparse::of(store, id) {
                Some(expanded) => {
                    forms.clear();
                    expanded
                }
                None => kept?,
            },
        };
        let places: Vec<usize> = reals
            .iter()
            .copied()
            .chain((0..forms.len()).map(|form| FIRST_FORM + form))
            .collect();
        let forms = forms.iter().map(|form| Sparse::linear(form).polynomial(reals));
        Some((sparse.polynomial(&places), forms.collect()))
    }

    /// Returns an upper bound on the number of different monomials that divide a monomial of the polynomial.
    fn divisors(&self) -> u64 {
        let of = |monomial: &Monomial| {
            let factors = monomial.iter().map(|(_, power)| u64::from(*power) + 1);
            factors.fold(1, u64::saturating_mul)
        };
        self.0.keys().map(of).fold(0, u64::saturating_add)
    }

    /// Returns the number of monomials with non-zero coefficients.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds `factor * other` to this polynomial.
    pub(super) fn add(&mut self, factor: &Rational, other: &Sparse) {
        for (monomial, coefficient) in &other.0 {
            add_term(&mut self.0, monomial.clone(), factor * coefficient);
        }
    }

    /// Multiplies two polynomials. Returns `None` if the product has too many monomials.
    pub(super) fn times(&self, other: &Sparse) -> Option<Sparse> {
        let mut terms = BTreeMap::new();
        for (one, left) in &self.0 {
            for (two, right) in &other.0 {
                add_term(&mut terms, joined(one, two), left * right);
                if terms.len() > MOST_TERMS {
                    return None;
                }
            }
        }
        Some(Sparse(terms))
    }

    /// Returns a power of this polynomial. Returns `None` if the power has too many monomials.
    pub(super) fn power(&self, power: u32) -> Option<Sparse> {
        let terms: Vec<_> = self.0.iter().collect();
        // The time for reducing a coefficient to lowest terms grows with the square of its length.
        let words = (self.0.values().map(bits).max().unwrap_or(0)).saturating_mul(u64::from(power)) / 64;
        if terms.len() > 1 && words.saturating_mul(words).saturating_mul(u64::from(power)) > MOST_WORDS {
            return None;
        }
        match terms.as_slice() {
            [(monomial, coefficient)] => {
                let coefficient = coefficient.pow(power as isize);
                Some(Sparse(BTreeMap::from([(raised(monomial, power), coefficient)])))
            }
            [one, other] => binomial(*one, *other, power),
            _ if combinations(power, terms.len()) > MOST_TERMS as f64 && self.is_independent() => None,
            _ => (0..power).try_fold(Sparse::one(), |product, _| product.times(self)),
        }
    }

    /// Returns whether the exponent vectors of the monomials are affinely independent. If they are, two different products with the same
    /// number of monomials are never equal.
    fn is_independent(&self) -> bool {
        let variables: BTreeSet<usize> = self.0.keys().flatten().map(|(variable, _)| *variable).collect();
        let exponents = |monomial: &Monomial| -> Vec<IBig> {
            let of = |variable: &usize| monomial.iter().find(|(other, _)| other == variable);
            let powers = variables
                .iter()
                .map(|variable| of(variable).map_or(0, |(_, power)| *power));
            std::iter::once(1).chain(powers).map(IBig::from).collect()
        };
        let extend = |echelon: Echelon, monomial| {
            let reduced = echelon.reduce(&exponents(monomial))?;
            Some(echelon.with(reduced))
        };
        self.0.len() <= variables.len() + 1 && self.0.keys().try_fold(Echelon::default(), extend).is_some()
    }

    /// Returns the degree: the largest sum of the powers in a monomial.
    fn degree(&self) -> u64 {
        let of = |monomial: &Monomial| monomial.iter().map(|(_, power)| u64::from(*power)).sum();
        self.0.keys().map(of).max().unwrap_or(0)
    }

    /// Returns false if this is certainly not a polynomial of degree `degree` in a single linear form with `variables` variables. Such a
    /// polynomial has the degree `degree`, and has at least as many monomials as the form to the power `degree`.
    pub(super) fn may_be_along(&self, degree: usize, variables: usize) -> bool {
        self.degree() == degree as u64 && combinations(degree as u32, variables).round() <= self.len() as f64
    }

    /// Regards the polynomial as a polynomial in one variable. Returns its coefficients, beginning with the power 0.
    fn by_power(&self, variable: usize) -> Vec<Sparse> {
        let mut parts = Vec::new();
        for (monomial, coefficient) in &self.0 {
            let (own, rest): (Monomial, Monomial) =
                monomial.iter().partition(|(other, _)| *other == variable);
            let power = own.first().map_or(0, |(_, power)| *power as usize);
            if parts.len() <= power {
                parts.resize(power + 1, Sparse::default());
            }
            parts[power].0.insert(rest, coefficient.clone());
        }
        parts
    }

    /// Sets all variables except one to 0. Returns the coefficients of the remaining polynomial, beginning with the constant.
    pub(super) fn on_axis(&self, variable: usize) -> Vec<Rational> {
        let constant = |part: Sparse| part.0.get(&Vec::new()).cloned().unwrap_or_default();
        self.by_power(variable).into_iter().map(constant).collect()
    }

    /// Integrates over a variable from `lower` to `upper`. Both limits are linear forms in the other variables. Returns `None` if the
    /// result has too many monomials.
    pub(super) fn integral(&self, variable: usize, lower: &LinearForm, upper: &LinearForm) -> Option<Sparse> {
        let mut antiderivative = vec![Sparse::default()];
        for (power, part) in self.by_power(variable).into_iter().enumerate() {
            let mut scaled = Sparse::default();
            scaled.add(&(Rational::ONE / Rational::from(power as u64 + 1)), &part);
            antiderivative.push(scaled);
        }
        let at = |form: &LinearForm| {
            let form = Sparse::linear(form);
            let parts = antiderivative.iter().enumerate();
            let mut parts = parts.filter(|(_, part)| part.len() > 0);
            if form.len() <= 1 {
                return parts.try_fold(Sparse::default(), |mut sum, (power, part)| {
                    sum.add(&Rational::ONE, &part.times(&form.power(power as u32)?)?);
                    Some(sum)
                });
            }
            if antiderivative.len() > MOST_POWERS && parts.clone().count() > 1 {
                return None;
            }
            // The loop applies Horner's rule, but only to the powers that occur.
            let (mut sum, mut above) = (Sparse::default(), 0);
            for (power, part) in parts.rev() {
                sum = sum.times(&form.power(above.max(power as u32) - power as u32)?)?;
                sum.add(&Rational::ONE, part);
                above = power as u32;
            }
            sum.times(&form.power(above)?)
        };
        let mut integral = at(upper)?;
        integral.add(&Rational::from(-1), &at(lower)?);
        Some(integral)
    }

    /// Converts the polynomial to a term of the store.
    pub(super) fn term(&self, store: &mut TermStore) -> TermId {
        let mut parts = Vec::with_capacity(self.0.len());
        for (monomial, coefficient) in &self.0 {
            let mut powers = Vec::with_capacity(monomial.len());
            for (variable, power) in monomial {
                powers.push((store.linear(LinearForm::variable(*variable)), *power));
            }
            parts.push((coefficient.clone(), store.product(&powers)));
        }
        store.sum(LinearForm::default(), &parts)
    }

    /// Converts this polynomial to a polynomial in `variables`. All variables that occur must be in this list.
    pub(super) fn polynomial(&self, variables: &[usize]) -> Polynomial {
        let mut terms = BTreeMap::new();
        for (monomial, coefficient) in &self.0 {
            let mut exponents = vec![0; variables.len()];
            for (variable, power) in monomial {
                if let Ok(at) = variables.binary_search(variable) {
                    exponents[at] = *power;
                }
            }
            terms.insert(exponents, coefficient.clone());
        }
        Polynomial {
            variables: variables.len(),
            terms,
        }
    }
}

/// Returns a power of a monomial.
fn raised(monomial: &[(usize, u32)], power: u32) -> Monomial {
    let raised = monomial
        .iter()
        .map(|(variable, inner)| (*variable, inner.saturating_mul(power)));
    raised.filter(|(_, power)| *power > 0).collect()
}

/// Returns a power of a sum of two terms with different monomials.
fn binomial(
    (one, a): (&Monomial, &Rational),
    (other, b): (&Monomial, &Rational),
    power: u32,
) -> Option<Sparse> {
    if power as usize >= MOST_TERMS {
        return None;
    }
    let (mut choices, mut of_a) = (Rational::ONE, Rational::ONE);
    let mut of_b: Vec<Rational> = vec![Rational::ONE];
    for at in 0..power as usize {
        of_b.push(&of_b[at] * b);
    }
    let mut terms = BTreeMap::new();
    for count in 0..=power {
        let rest = power - count;
        let coefficient = &choices * &of_a * &of_b[rest as usize];
        terms.insert(joined(&raised(one, count), &raised(other, rest)), coefficient);
        of_a *= a;
        choices *= Rational::from(rest) / Rational::from(count + 1);
    }
    Some(Sparse(terms))
}

/// Returns the approximate number of ways to write `power` as a sum of `parts` non-negative integers. A power of a sum has this number of
/// terms.
fn combinations(power: u32, parts: usize) -> f64 {
    let factor = |at: usize| (f64::from(power) + at as f64) / at as f64;
    (1..parts).map(factor).product()
}

fn joined(one: &[(usize, u32)], two: &[(usize, u32)]) -> Monomial {
    let mut powers: BTreeMap<usize, u32> = one.iter().copied().collect();
    for (variable, power) in two {
        let sum = powers.entry(*variable).or_default();
        *sum = sum.saturating_add(*power);
    }
    powers.into_iter().collect()
}
