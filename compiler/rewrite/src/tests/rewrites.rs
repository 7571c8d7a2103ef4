//! Checks that every rule fires on its examples and preserves values and gradients.

use super::inputs::{Numbers, assert_close, evaluate, real_params, with_loss};
use crate::differentiate::gradient;
use crate::rule::{self, RuleSet};
use crate::rules;
use crate::simplify;
use crate::term::{Term, X, broadcast, example, exp, log, sum, transpose};
use bnnc_graph::function::Function;
use bnnc_graph::op::Interval;
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;

fn operands(function: &Function) -> Vec<Tensor> {
    let mut numbers = Numbers::new(2);
    let interval = Interval::new(-1.5, 2.0);
    function
        .params
        .iter()
        .map(|param| numbers.tensor(function.ty(*param), interval))
        .collect()
}

fn assert_same(before: &Function, after: &Function, context: &str) {
    let operands = operands(before);
    let (before, after) = (with_loss(before), with_loss(after));
    let of = |function: &Function| {
        evaluate(
            &gradient(function, "$loss", &real_params(function)).unwrap(),
            &operands,
        )
    };
    for (got, want) in of(&after).iter().zip(&of(&before)) {
        assert_close(got, want, 1e-12, context);
    }
}

#[test]
fn rules_fire_and_keep_value_and_gradient() {
    for rule in rules::ALL.iter().copied() {
        let examples = (rule.examples)();
        assert!(!examples.is_empty(), "{} has no example", rule.name);
        for (at, example) in examples.iter().enumerate() {
            let context = format!("{}, example {at}", rule.name);
            let mut trace = Vec::new();
            let after = rule::rewrite(example, &RuleSet::new([rule]), Some(&mut trace)).unwrap();
            assert!(
                trace.iter().any(|firing| firing.rule == rule.name),
                "{context} does not fire"
            );
            assert_same(example, &after, &context);
        }
    }
}

#[test]
fn all_rules_together_keep_value_and_gradient() {
    for rule in rules::ALL.iter().copied() {
        for example in (rule.examples)() {
            assert_same(&example, &simplify::simplify(&example).unwrap(), rule.name);
        }
    }
}

#[test]
fn names_of_rules_are_unique() {
    let mut names: Vec<&str> = rules::ALL.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn without_disables_a_rule() {
    let example = &example(log(exp(X)));
    let count = |function: &Function| {
        let is_log = |value| function.op(value).is_some_and(|op| op.is(&ops::log::LOG));
        function.nodes.ids().filter(|value| is_log(*value)).count()
    };
    assert_eq!(count(&simplify::simplify(example).unwrap()), 0);
    let without = simplify::simplify_with(example, &["log-of-exp".to_owned()], None).unwrap();
    assert_eq!(count(&without), 1);
}

#[test]
fn a_firing_is_recorded_as_text() {
    let mut trace = Vec::new();
    simplify::simplify_with(&example(log(exp(X))), &[], Some(&mut trace)).unwrap();
    assert_eq!(
        (trace[0].rule, &*trace[0].before, &*trace[0].after),
        ("log-of-exp", "log(exp(x))", "x")
    );
}

/// A round rewrites operands before the nodes that use them, so a deep term does not need more
/// rounds than a flat term. Otherwise, `simplify` would fail.
#[test]
fn rounds_do_not_grow_with_depth() {
    let steps: [fn(Term) -> Term; 6] = [
        |x| log(exp(-x)),
        |x| 0.5 + (x - 2.0),
        |x| -x * 3.0 / 2.0,
        |x| transpose(transpose(x, &[1, 0]), &[1, 0]),
        |x| broadcast(sum(broadcast(sum(-x, &[0]), &[2, 3], &[1]), &[0]), &[2, 3], &[1]),
        |x| X + x - X,
    ];
    let deep = (0..300).fold(X, |x, at| steps[at % steps.len()](x));
    let simple = simplify::simplify(&example(deep)).unwrap();
    assert!(simple.nodes.len() < 300, "{} nodes", simple.nodes.len());
}
