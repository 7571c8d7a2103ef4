//! Samplers with pathwise derivatives: the mean of the derivatives of the draws equals the
//! derivative of their expectation.

use super::probe::{Probe, coordinates, module, named};
use super::scalars::all;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::differentiate::gradient;
use std::sync::Arc;

/// The number of draws whose derivatives are summed in one batch.
const DRAWS: usize = 500;
/// The number of batches.
const BATCHES: usize = 40;

/// Parameters that do not have a pathwise derivative of the draws.
const CHOICES: &[(&str, &str)] = &[
    // The choice of the component is not a continuous function of the weight.
    ("Mixture", "weight"),
];

/// Returns a function with the inputs of the sampler. The function computes the sum of the draws,
/// or the sum of their logarithms.
fn total(draw: &Function, logarithm: bool) -> Function {
    let mut builder = Builder::new("total");
    let params: Vec<_> = draw
        .params
        .iter()
        .map(|param| {
            let name = draw.param_name(*param).cloned().unwrap_or_else(|| "".into());
            builder.param(&name, draw.ty(*param).clone())
        })
        .collect();
    let drawn = builder.inline(draw, &params)[0];
    let value = if logarithm { builder.log(drawn) } else { drawn };
    let sum = builder.reduce_sum_all(value);
    builder.finish(vec![("total".into(), sum)])
}

fn slopes(function: &Function, result: &str, names: &[&str], inputs: &[Tensor]) -> Result<Vec<f64>, String> {
    let gradient = gradient(function, result, names).map_err(|fault| fault.to_string())?;
    let results = evaluate(&gradient, inputs, &Default::default());
    Ok(results[1..].iter().map(|slope| slope.data[0]).collect())
}

/// Returns the expectation whose derivative is compared. If the mean of the logarithm is declared,
/// it is this mean, because the logarithm has light tails. If the mean of the logarithm is not
/// declared, returns the mean if the variance is finite. The second value is true if the
/// expectation is the mean of the logarithm.
fn expected(probe: &Probe<'_>, instance: &Instance) -> Option<(Arc<Function>, bool)> {
    if let Some(log_mean) = &instance.log_mean {
        return Some((log_mean.clone(), true));
    }
    let is_finite = probe.scalar(|i| &i.variance).is_some_and(f64::is_finite);
    let mean = instance.mean.clone().filter(|_| is_finite)?;
    Some((mean, false))
}

fn unbiased(probe: &Probe<'_>) -> Result<(), String> {
    let instance = probe.instance(&[]);
    if let Support::Integers(_) = instance.support {
        return Ok(());
    }
    let Some((expected, logarithm)) = expected(probe, &instance) else {
        return Ok(());
    };
    let Some(draw) = probe.instance(&[DRAWS]).draw else {
        return Ok(());
    };
    let names: Vec<&str> = instance.params.iter().map(|(name, _)| &**name).collect();
    let result = expected.results[0].0.clone();
    let expected = slopes(&expected, &result, &names, probe.parameters())?;
    let total = total(&draw, logarithm);
    let mut found = vec![Vec::new(); names.len()];
    for batch in 0..BATCHES {
        let inputs: Vec<Tensor> = probe
            .parameters()
            .iter()
            .cloned()
            .chain(coordinates(batch))
            .collect();
        let sums = slopes(&total, "total", &names, &inputs)?;
        for (all, sum) in found.iter_mut().zip(sums) {
            all.push(sum / DRAWS as f64);
        }
    }
    for ((name, found), expected) in names.iter().zip(&found).zip(expected) {
        if CHOICES.contains(&(&*probe.item().name, *name)) {
            continue;
        }
        let n = found.len() as f64;
        let mean = found.iter().sum::<f64>() / n;
        let spread = found.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        // If a derivative does not vary between batches, it is compared up to rounding errors.
        let error = (spread / n).sqrt().max(1e-9 * expected.abs().max(1.0));
        if mean.is_nan() || (mean - expected).abs() > 5.5 * error {
            return Err(format!(
                "slope by `{name}`: {mean}, expected {expected}, error {error}"
            ));
        }
    }
    Ok(())
}

#[test]
fn mean_slopes_are_slopes_of_means() {
    all(unbiased);
}

/// This test checks that a wrong derivative is detected. The sampler chooses between two values,
/// and its parameter is the probability of this choice. The derivative of the draws with respect to
/// this parameter is zero, which is wrong for the expectation.
#[test]
fn a_hidden_slope_is_detected() {
    let module = module(
        "dist Folded(shape: positive) on positive {
           log_density(x) = -x / shape - log(shape)
           draw           = if standard_uniform() < shape { 1.0 } else { 2.0 }
           log_mean       = 0.6931471805599453 * (1 - shape)
         }",
    );
    assert!(unbiased(&Probe::new(&module, named(&module, "Folded"), 1)).is_err());
    assert_eq!(
        unbiased(&Probe::new(&module, named(&module, "Normal"), 1)),
        Ok(())
    );
}
