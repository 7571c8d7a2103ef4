//! Compares KL divergences with known values.

use super::{ROWS, Run, close, network, network_posterior, product, run, scalar, softplus};
use crate::tests::library::{
    approximation, declared, laplace, logistic, normal, posterior, radial, regression, sgd, spike_and_slab,
};
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Shape;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::Instance;
use bnnc_graph::function::{Node, NodeKind, Value};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;

/// Returns a model of one site and one row. With scale 0 for the likelihood, the loss is the KL
/// divergence.
fn divergence(family: Instance, starts: &[f64], prior: Instance, params: &[f64], draws: usize) -> Run {
    let shape = prior.value.shape.clone();
    let first = move |b: &mut Builder, sites: &[Value], x: Value| {
        let sum = b.reduce_sum_all(sites[0]);
        b.mul(sum, x)
    };
    assert_eq!(shape, family.value.shape);
    let model = regression(Type::scalar(), vec![declared("w", prior, params)], 1.0, first);
    let posterior = posterior(vec![approximation("w", family, starts)]);
    let mut run = run(&model, &posterior, &sgd(0.0), draws, 0, (&[0.0], &[0.0]));
    run.set(PortName::Scale.text(), 0.0);
    run
}

#[test]
fn exact_divergences_equal_known_values() {
    let exact = |run: &Run| {
        assert!(
            run.objective.reports[0].kl.starts_with("exact: "),
            "{}",
            run.objective.reports[0].kl
        )
    };
    let run = divergence(normal(&scalar()), &[0.3, 0.5], normal(&scalar()), &[0.0, 1.0], 1);
    exact(&run);
    close(run.loss(), 0.363_147_18, 1e-8);
    let run = divergence(
        logistic(&scalar()),
        &[0.3, 0.5],
        normal(&scalar()),
        &[0.0, 1.0],
        1,
    );
    exact(&run);
    close(run.loss(), 0.068_319_23, 1e-8);
    let pair = Shape::fixed(&[2]);
    let mut run = divergence(radial(2), &[0.3, 0.5], normal(&pair), &[0.0, 1.0], 1);
    exact(&run);
    run.values
        .insert("w/loc".into(), Tensor::new(vec![2], vec![0.3, -0.2]));
    let rho = crate::constrain::inverse_parameter(
        bnnc_graph::dist::Support::Interval(0.0, f64::INFINITY),
        1,
        &[0.5, 0.8],
    );
    run.values.insert("w/scale".into(), Tensor::new(vec![2], rho));
    close(run.loss(), 1.113_180_80, 1e-8);
}

/// Fails if the estimate differs from the known value by more than four standard errors. The standard error is estimated from the
/// draws.
fn check_sampled(
    way: &str,
    family: Instance,
    (prior, params): (Instance, &[f64]),
    known: f64,
    log_p: fn(f64) -> f64,
) {
    const DRAWS: usize = 20_000;
    let run = divergence(family, &[0.3, 0.5], prior, params, DRAWS);
    let sentence = &run.objective.reports[0].kl;
    assert!(sentence.starts_with(way), "{sentence}");
    let draws = &run.call(&run.objective.sites)["w"];
    assert_eq!(draws.shape, [DRAWS]);
    let terms: Vec<f64> = draws.data.iter().map(|w| -log_p(*w)).collect();
    let mean = terms.iter().sum::<f64>() / DRAWS as f64;
    let variance = terms.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>() / DRAWS as f64;
    let error = (variance / DRAWS as f64).sqrt();
    assert!(error < 0.02);
    close(run.loss(), known, 4.0 * error);
}

#[test]
fn sampled_divergences_agree_with_known_values() {
    check_sampled(
        "signs: ",
        normal(&scalar()),
        (laplace(&scalar()), &[0.0, 1.0]),
        0.436_028_56,
        |w| -w.abs() - 2f64.ln(),
    );
    check_sampled(
        "direct: ",
        normal(&scalar()),
        (logistic(&scalar()), &[0.0, 1.0]),
        0.742_370_96,
        |w| -softplus(w) - softplus(-w),
    );
    check_sampled(
        "direct: ",
        normal(&scalar()),
        (spike_and_slab(&scalar()), &[]),
        1.008_896_51,
        |w| {
            let slab = (-0.5 * w * w).exp();
            let spike = (-0.5 * w * w * 12f64.exp() + 6.0).exp();
            (0.5 * (slab + spike) / (2.0 * std::f64::consts::PI).sqrt()).ln()
        },
    );
    check_sampled(
        "direct: ",
        logistic(&scalar()),
        (logistic(&scalar()), &[0.0, 1.0]),
        0.283_208_57,
        |w| -softplus(w) - softplus(-w),
    );
}

/// Separate draws give another estimate of the same KL divergence, and do not change the draws of the likelihood.
#[test]
fn divergences_may_use_separate_draws() {
    let model = regression(
        Type::scalar(),
        vec![declared("w", laplace(&scalar()), &[0.0, 1.0])],
        1.0,
        product,
    );
    let posterior = posterior(vec![approximation("w", normal(&scalar()), &[0.3, 0.5])]);
    let (optimiser, rows) = (sgd(0.0), (&[1.0][..], &[0.4][..]));
    let own = run(&model, &posterior, &optimiser, 1, 20_000, rows);
    let mut without = run(&model, &posterior, &optimiser, 1, 0, rows);
    without.set(PortName::KlWeight.text(), 0.0);
    let streams: std::collections::BTreeSet<&str> =
        own.objective.train.nodes.iter().filter_map(noise_site).collect();
    assert_eq!(streams.into_iter().collect::<Vec<_>>(), ["kl/w/z", "w/z"]);
    // Under the approximation, the standard deviation of |w| is smaller than the standard deviation of w.
    close(
        own.loss() - without.loss(),
        0.436_028_56,
        4.0 * 0.5 / 20_000f64.sqrt(),
    );
}

fn noise_site(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Apply { op, attrs, .. } if op.name == "noise" => Some(bnnc_graph::ops::noise::site(attrs)),
        NodeKind::Apply { .. } | NodeKind::Param(_) => None,
    }
}

/// The graph does not grow with the number of draws.
#[test]
fn graph_size_does_not_depend_on_the_number_of_draws() {
    let sizes = |kl_draws: usize| {
        let rows = (&ROWS.0[..], &ROWS.1[..]);
        let objective = run(&network(), &network_posterior(), &sgd(0.0), 1, kl_draws, rows).objective;
        (objective.gradient_nodes, objective.train.nodes.len())
    };
    let few = sizes(2);
    assert!(few.0 > 0 && few.0 < few.1);
    assert_eq!(few, sizes(10));
    assert_eq!(few, sizes(1000));
}
