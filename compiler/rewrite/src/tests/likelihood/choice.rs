//! Tests the choice of an estimator for each site, and the errors of this choice.

use super::{SD, compile, flipout, linear, linear_posterior, local, names, network, network_posterior};
use crate::diagnostics;
use crate::methods::likelihood::choice::Layers;
use crate::methods::task::RewriteError;
use crate::tests::library::{approximation, declared, normal, posterior, regression};
use bnnc_base::diagnostic::Code;
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::Value;
use bnnc_graph::model::{ApproximatePosterior, Model};
use bnnc_graph::types::Type;

fn sentences(layers: Layers<'_>) -> Vec<String> {
    let objective = compile(&network(), &network_posterior(), 1, layers).unwrap();
    objective
        .reports
        .into_iter()
        .map(|report| report.likelihood)
        .collect()
}

#[test]
fn reports_name_the_estimator_of_each_site() {
    assert_eq!(sentences(Layers::default()), ["shared draw"; 3]);
    let some = names(&["out"]);
    assert_eq!(
        sentences(local(&some)),
        [
            "local reparameterisation",
            "local reparameterisation, in one draw with `out.w`",
            "shared draw"
        ]
    );
    assert_eq!(
        sentences(flipout(&some)),
        [
            "flipout",
            "flipout: one draw for all examples, with a random sign for every example and element",
            "shared draw"
        ]
    );
    let bias = names(&["out.b"]);
    assert_eq!(
        sentences(local(&bias))[1],
        "local reparameterisation: every example has its own draw"
    );
}

fn rejected(model: &Model, posterior: &ApproximatePosterior, layers: Layers<'_>) -> (&'static Code, String) {
    match compile(model, posterior, 1, layers) {
        Err(RewriteError::Program(diagnostics)) => (diagnostics[0].code, diagnostics[0].message.clone()),
        other => panic!("expected a diagnostic, found {other:?}"),
    }
}

#[test]
fn layers_that_are_unknown_or_named_twice_are_rejected() {
    let unknown = names(&["oot"]);
    let (code, message) = rejected(&linear(), &linear_posterior(), local(&unknown));
    assert_eq!(code.id, diagnostics::UNKNOWN_LAYER.id);
    assert_eq!(
        message,
        "`local` names `oot`, but the model has no such layer or parameter"
    );

    let all = names(&["out"]);
    let both = Layers {
        local: &all,
        flipout: &all,
        ..Layers::default()
    };
    let (code, message) = rejected(&linear(), &linear_posterior(), both);
    assert_eq!(code.id, diagnostics::LAYER_FORM.id);
    assert_eq!(
        message,
        "`flipout` is not possible for `out.w`: `local` also names it"
    );
}

#[test]
fn unsupported_estimators_are_rejected_with_a_reason() {
    let all = names(&["out"]);
    let one = |used: fn(&mut Builder, Value, Value) -> Value| {
        let sites = vec![declared("out.w", normal(&Shape::fixed(&[1, 3])), &[0.0, 1.0])];
        regression(Type::real(Shape::fixed(&[3])), sites, SD, move |b, sites, x| {
            used(b, sites[0], x)
        })
    };
    let plain = || {
        posterior(vec![approximation(
            "out.w",
            normal(&Shape::fixed(&[1, 3])),
            &[0.0, 1.0],
        )])
    };
    let why = |model: &Model, layers| rejected(model, &plain(), layers).1;
    let bent = one(|b, w, x| {
        let bent = b.tanh(w);
        let product = b.contract(bent, x, "ij,j->i");
        b.reduce_sum_all(product)
    });
    assert_eq!(
        why(&bent, local(&all)),
        "`local` is not possible for `out.w`: `tanh` also uses it, so it is not only a factor of products"
    );
    let twice = one(|b, w, x| {
        let first = b.contract(w, x, "ij,j->i");
        let again = b.tanh(x);
        let second = b.contract(w, again, "ij,j->i");
        let sum = b.add(first, second);
        b.reduce_sum_all(sum)
    });
    assert_eq!(
        why(&twice, local(&all)),
        "`local` is not possible for `out.w`: one example uses it several times, so several products share its noise"
    );
    assert!(compile(&twice, &plain(), 1, flipout(&all)).is_ok());
    let several = one(|b, w, x| {
        let pairs = b.broadcast(x, &Shape::fixed(&[2, 3]), &[1]);
        let shifts = b.literal(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let pairs = b.mul(pairs, shifts);
        let product = b.contract(w, pairs, "ij,kj->ki");
        let product = b.tanh(product);
        b.reduce_sum_all(product)
    });
    assert_eq!(
        why(&several, local(&all)),
        "`local` is not possible for `out.w`: one example multiplies it by several vectors, so the products share its noise"
    );
    assert!(compile(&several, &plain(), 1, flipout(&all)).is_ok());

    let mut family = normal(&Shape::fixed(&[1, 3]));
    family.draw = crate::tests::library::logistic(&Shape::fixed(&[1, 3])).draw;
    let skewed = posterior(vec![approximation("out.w", family, &[0.0, 1.0])]);
    let model = one(|b, w, x| {
        let product = b.contract(w, x, "ij,j->i");
        b.reduce_sum_all(product)
    });
    assert_eq!(
        rejected(&model, &skewed, local(&all)).1,
        "`local` is not possible for `out.w`: the elements of a draw of `Normal` are not independent normal variates"
    );
    assert_eq!(
        rejected(&model, &skewed, flipout(&all)).1,
        "`flipout` is not possible for `out.w`: the `draw` of `Normal` does not show that draws are symmetric around a centre, \
         element by element"
    );
}
