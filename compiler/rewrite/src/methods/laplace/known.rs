//! Recognises likelihoods with closed predictive forms. The likelihoods are recognised by their
//! densities, not by their names.

use bnnc_abi::methods::laplace::Likelihood;
use bnnc_base::shape::Sizes;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::eval::evaluate;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;

/// The largest relative difference with which two log densities are treated as equal.
const ERROR: f64 = 1e-9;

/// Returns the form of an observed distribution, as a function of its first argument.
pub fn likelihood(observation: &Instance) -> Likelihood {
    let ranks: Vec<usize> = observation.params.iter().map(|(_, ty)| ty.rank()).collect();
    let rank = observation.value.rank();
    match (observation.support, ranks.as_slice()) {
        (Support::Real, [first, second])
            if *first == rank && (*second == rank || *second == 0) && is_normal(observation) =>
        {
            Likelihood::Normal
        }
        (Support::Integers(_), [1]) if rank == 0 && is_softmax(observation) => Likelihood::Categorical,
        (Support::Integers(2), [0]) if rank == 0 && is_logistic(observation) => Likelihood::Bernoulli,
        _ => Likelihood::Other,
    }
}

/// Returns whether the distribution consists of independent normal variates whose mean is the first
/// argument. The second argument is the standard deviation. It is either one number per element or
/// one for all elements.
fn is_normal(observation: &Instance) -> bool {
    let counts = [
        &observation.params[0].1,
        &observation.params[1].1,
        &observation.value,
    ]
    .map(count);
    let (Some(size), Some(scales)) = (counts[0].filter(|_| counts[0] == counts[2]), counts[1]) else {
        return false;
    };
    if scales != size && scales != 1 {
        return false;
    }
    let sequence = |count: usize, from: f64, step: f64| {
        (0..count)
            .map(|at| from + step * (at % 7) as f64)
            .collect::<Vec<f64>>()
    };
    let cases = [(0.0, 1.0, 0.0), (0.3, 0.7, -1.1), (-2.0, 3.0, 9.0)];
    cases.iter().all(|(loc, scale, x)| {
        let (loc, x) = (sequence(size, *loc, 0.2), sequence(size, *x, -0.3));
        let scale = sequence(scales, *scale, 0.1);
        let terms = loc
            .iter()
            .zip(scale.iter().cycle())
            .zip(&x)
            .map(|((loc, scale), x)| {
                let z = (x - loc) / scale;
                -0.5 * z * z - scale.ln() - 0.5 * std::f64::consts::TAU.ln()
            });
        agrees(observation, &[&loc, &scale, &x], terms.sum())
    })
}

/// Returns whether the log density is the log softmax of the first argument.
fn is_softmax(observation: &Instance) -> bool {
    let Some(classes) = count(&observation.params[0].1).filter(|classes| *classes > 1) else {
        return false;
    };
    let logits: Vec<f64> = (0..classes).map(|at| 0.4 * ((at * 5) % 7) as f64 - 0.9).collect();
    let total = logits.iter().map(|logit| logit.exp()).sum::<f64>().ln();
    [0, 1, classes - 1]
        .iter()
        .all(|class| agrees(observation, &[&logits, &[*class as f64]], logits[*class] - total))
}

/// Returns whether this is the distribution of a Boolean whose logit is the first argument.
fn is_logistic(observation: &Instance) -> bool {
    [-1.7, 0.0, 0.6].iter().all(|logit: &f64| {
        let yes = -(-logit).exp().ln_1p();
        let no = -logit.exp().ln_1p();
        agrees(observation, &[&[*logit], &[1.0]], yes) && agrees(observation, &[&[*logit], &[0.0]], no)
    })
}

fn count(ty: &Type) -> Option<usize> {
    ty.shape.static_sizes().map(|sizes| sizes.iter().product())
}

/// Returns whether the log density equals `wanted`. The last of `values` is the observed value; the
/// others are the arguments of the distribution.
fn agrees(observation: &Instance, values: &[&[f64]], wanted: f64) -> bool {
    let function = &observation.log_density;
    let args: Vec<Tensor> = function
        .params
        .iter()
        .zip(values)
        .map(|(param, values)| {
            let sizes = function.ty(*param).shape.static_sizes().unwrap_or_default();
            Tensor::new(sizes, values.to_vec())
        })
        .collect();
    let found = evaluate(function, &args, &Sizes::default());
    let found = found.first().and_then(|value| value.data.first());
    found.is_some_and(|found| (found - wanted).abs() <= ERROR * (1.0 + wanted.abs()))
}
