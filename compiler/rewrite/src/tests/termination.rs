//! Proves that the rules whose replacements are terms terminate, by an interpretation of terms as
//! numbers. See Note [Termination] in `rule.rs`.
//!
//! A term stands for a positive number. This number is a linear function of the numbers of its
//! variables. The number of an application grows with the number of each operand, so a smaller
//! operand makes every term around it smaller. If the replacement of each case is smaller than its
//! pattern for all numbers of the variables, every application of a case makes the function
//! smaller, so the sequence of applications must end (Baader and Nipkow 1998, section 5.3).

use crate::rules;
use crate::term::{A, P, ROW, Term, X, Y, exp, log, repeat, sum};
use bnnc_graph::op::Op;
use bnnc_graph::ops;

/// A linear function of the variables `X`, `Y` and `ROW`: their coefficients, and the constant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Linear {
    of: [u64; 3],
    constant: u64,
}

impl Linear {
    fn number() -> Linear {
        Linear {
            constant: 1,
            ..Linear::default()
        }
    }

    /// Returns this function plus `factor` times another function.
    fn plus(self, factor: u64, other: Linear) -> Linear {
        Linear {
            of: std::array::from_fn(|at| self.of[at] + factor * other.of[at]),
            constant: self.constant + factor * other.constant,
        }
    }

    /// Returns whether this function is smaller than another function for all positive values of
    /// the variables.
    fn is_below(self, other: Linear) -> bool {
        let no_faster = self.of.iter().zip(other.of).all(|(own, other)| *own <= other);
        // The smallest value of a variable is 1, because a constant stands for the number 1.
        let at_one = |linear: Linear| linear.of.iter().sum::<u64>() + linear.constant;
        no_faster && at_one(self) < at_one(other)
    }
}

/// Returns the weight and the factors of an op. The number of an application is the weight of the
/// op plus the sum, over its operands, of the factor times the number of the operand. The factors
/// are at least 1.
///
/// A product must count less than a repetition, because a rule replaces a sum of a repetition by a
/// product. A sum counts its operand twice, so that moving a factor out of the sum makes the number
/// smaller. A quotient counts its divisor twice, so that moving a repetition out of the divisor
/// makes the number smaller. A power counts its base as many times as the base occurs in the
/// product that replaces the power.
fn interpretation(op: Op) -> (u64, [u64; 3]) {
    let sums = [&ops::reduce_sum::REDUCE_SUM, &ops::reduce_max::REDUCE_MAX];
    if op.is(&ops::broadcast::BROADCAST) {
        (4, [1, 1, 1])
    } else if op.is(&ops::div::DIV) {
        (1, [1, 2, 1])
    } else if op.is(&ops::pow::POW) {
        (3, [3, 1, 1])
    } else if op.is(&ops::contract::CONTRACT) || op.is_one_of(&sums) {
        (1, [2, 2, 1])
    } else {
        (1, [1, 1, 1])
    }
}

/// Returns the number of a term. If `folds` is true, operations on numbers are folded into one
/// constant, as in a replacement.
fn measure(term: &Term, folds: bool) -> Linear {
    match term {
        Term::Value(at) => Linear {
            of: std::array::from_fn(|other| u64::from(other == *at)),
            constant: 0,
        },
        Term::Constant(_) | Term::Number(_) | Term::Size(..) => Linear::number(),
        Term::Apply(op, terms, _) => {
            let operands: Vec<Linear> = terms.iter().map(|term| measure(term, folds)).collect();
            let are_numbers = operands.iter().all(|operand| *operand == Linear::number());
            if folds && op.is_elementwise() && are_numbers {
                return Linear::number();
            }
            let (weight, factors) = interpretation(*op);
            let start = Linear {
                constant: weight,
                ..Linear::default()
            };
            let pairs = operands.into_iter().zip(factors);
            pairs.fold(start, |sum, (operand, factor)| sum.plus(factor, operand))
        }
    }
}

#[test]
fn every_replacement_by_a_term_is_smaller_than_its_pattern() {
    let mut checked = 0;
    for rule in rules::ALL.iter() {
        for case in (rule.cases)() {
            let Some((pattern, result)) = case.terms() else {
                continue;
            };
            let (before, after) = (measure(&pattern, false), measure(result, true));
            assert!(
                after.is_below(before),
                "{}: {after:?} is not below {before:?}\n{pattern:?}\n{result:?}",
                rule.name
            );
            checked += 1;
        }
    }
    assert!(checked >= 50, "{checked}");
}

/// The proof detects rules that could be applied for ever, because their replacements are not
/// smaller than their patterns.
#[test]
fn replacements_that_undo_themselves_or_grow_are_not_smaller() {
    let endless = [
        (X + Y, Y + X),
        (X, log(exp(X))),
        (X * (Y + ROW), X * Y + X * ROW),
        (sum(X, P) * A, sum(X * A, P)),
        (repeat(X, P) * Y, repeat(X * Y, P)),
    ];
    for (pattern, result) in endless {
        let (before, after) = (measure(&pattern, false), measure(&result, true));
        assert!(!after.is_below(before), "{pattern:?}");
    }
}

/// Every rule that computes its replacement states the reason in one line.
#[test]
fn replacements_that_are_computed_have_a_reason() {
    let mut computed = Vec::new();
    for rule in rules::ALL.iter() {
        let cases = (rule.cases)();
        let reasons: Vec<&str> = cases.iter().filter_map(|case| case.reason()).collect();
        for reason in &reasons {
            assert!((10..90).contains(&reason.len()), "{}: {reason}", rule.name);
        }
        if !reasons.is_empty() {
            computed.push(rule.name);
        }
    }
    assert_eq!(
        computed,
        [
            "constant-folding",
            "elementwise-of-broadcast",
            "sum-of-outer-product",
            "contract-of-outer-product",
            "selection-of-product",
        ]
    );
}
