//! Tests factorised KL divergences with known noise. The tests cover the values, the gradients, and
//! the choice of the computation.

use super::library::{
    approximation, declared, exponential, laplace, logistic, normal, posterior, regression, settings, sgd,
};
use crate::density::density;
use crate::diagnostics;
use crate::kl::{Estimator, KlOptions, Statistics};
use crate::methods::divergence::{Divergence, divergence};
use crate::methods::plan::InferenceProblem;
use crate::methods::task::TrainingSettings;
use crate::pass::PassContext;
use bnnc_abi::manifest::Init;
use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

const XI: [f64; 4] = [-1.2, 0.3, 0.7, 2.0];
const POSITIVE: [f64; 4] = [0.2, 0.9, 1.4, 3.1];

fn scalar() -> Shape {
    Shape::scalar()
}

/// Builds a sampler `draw(parameters.., noise)` whose noise comes from a table.
fn tabulated(
    params: &[&str],
    table: &[f64],
    draw: fn(&mut Builder, &[Value], Value) -> Value,
) -> Arc<Function> {
    let mut b = Builder::new("draw");
    let params: Vec<Value> = params.iter().map(|name| b.param(name, Type::scalar())).collect();
    let [at, _, _] = ["$draw", "$example", "$step"].map(|name| b.param(name, Type::int(scalar())));
    let table = b.literal(&[table.len()], table);
    let noise = b.gather(table, at, 0);
    let value = draw(&mut b, &params, noise);
    Arc::new(b.finish(vec![("value".into(), value)]))
}

/// The normal family, with noise from the tables.
fn normal_of_table() -> Instance {
    let mut family = normal(&scalar());
    family.draw = Some(tabulated(&["loc", "scale"], &XI, |b, p, noise| {
        let scaled = b.mul(p[1], noise);
        b.add(p[0], scaled)
    }));
    family
}

struct Found {
    divergence: Divergence,
    values: HashMap<String, f64>,
    warnings: Vec<String>,
}

/// Returns the KL divergence over the four draws of a table, and its gradient with respect to the declared parameters.
fn found(family: Instance, starts: &[f64], prior: Instance, params: &[f64], kl: KlOptions) -> Found {
    let first = |b: &mut Builder, sites: &[Value], x: Value| b.mul(sites[0], x);
    let model = regression(Type::scalar(), vec![declared("w", prior, params)], 1.0, first);
    let posterior = posterior(vec![approximation("w", family, starts)]);
    let densities = density(&model).unwrap();
    let optimiser = sgd(0.0);
    let settings = TrainingSettings {
        kl_draws: 4,
        kl,
        ..settings(&optimiser, 1)
    };
    let mut context = PassContext::default();
    let problem = InferenceProblem {
        densities: &densities,
        model: &model,
        posterior: &posterior,
    };
    let divergence = divergence(problem, settings, &mut context).unwrap();
    let sizes = Sizes::default().with(Symbol::KlDraws, 4);
    let state = |name: &str| {
        let state = divergence.states.iter().find(|state| state.name == name).unwrap();
        match state.init {
            Init::Constant(start) => start,
            _ => unreachable!("tests start from constants"),
        }
    };
    let inputs: Vec<Tensor> = divergence
        .gradient
        .params
        .iter()
        .map(
            |param| match crate::nodes::param_name(&divergence.gradient, *param) {
                "$step" => Tensor::scalar(0.0),
                name => Tensor::scalar(state(name)),
            },
        )
        .collect();
    let results = evaluate(&divergence.gradient, &inputs, &sizes);
    let mut values = HashMap::new();
    for ((name, _), tensor) in divergence.gradient.results.iter().zip(results) {
        let mut value = tensor.data[0];
        if name.ends_with("scale") {
            // The state is the inverse softplus of the scale, so the derivative of the scale with
            // respect to the state is sigmoid(state).
            value /= bnnc_math::special::sigmoid(state(name));
        }
        values.insert(name.to_string(), value);
    }
    let warnings = context
        .warnings
        .iter()
        .map(|warning| warning.message.clone())
        .collect();
    Found {
        divergence,
        values,
        warnings,
    }
}

fn sampled() -> KlOptions {
    KlOptions {
        estimator: Estimator::Sampled,
        statistics: Statistics::Sums,
        taylor: 0,
    }
}

fn direct() -> KlOptions {
    KlOptions {
        estimator: Estimator::Direct,
        ..sampled()
    }
}

fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance,
        "{got} is not {want} to {tolerance}"
    );
}

fn way(found: &Found) -> &str {
    &found.divergence.reports[0].kl
}

/// The entropy of the normal distribution with scale 0.5.
const ENTROPY: f64 = 0.725_791_352_644_727_4;

#[test]
fn polynomials_of_a_location_scale_sampler_separate() {
    let tuple = found(
        normal_of_table(),
        &[0.3, 0.5],
        normal(&scalar()),
        &[0.1, 0.8],
        sampled(),
    );
    assert!(
        way(&tuple).starts_with("tuple: 2 means of noise per element, averaged"),
        "{}",
        way(&tuple)
    );
    close(tuple.values["$kl"], 1.091_302_79 - ENTROPY, 1e-8);
    // The derivatives of the means are d mean w^2 = (1.05, 1.775) and d mean w = (1, 0.45). The log
    // prior is -log p = (w - 0.1)^2 / 1.28 + ... The derivative of the entropy is d entropy / d
    // scale = 1 / 0.5.
    close(tuple.values["w/loc"], (1.05 - 0.2) / 1.28, 1e-12);
    close(tuple.values["w/scale"], (1.775 - 0.2 * 0.45) / 1.28 - 2.0, 1e-12);
}

#[test]
fn absolute_values_separate_by_stop_gradient_signs() {
    let signs = found(
        normal_of_table(),
        &[0.3, 0.5],
        laplace(&scalar()),
        &[0.1, 0.8],
        sampled(),
    );
    assert!(
        way(&signs).starts_with("signs: 2 means of noise under stop-gradient signs"),
        "{}",
        way(&signs)
    );
    close(signs.values["$kl"], 1.251_253_63 - ENTROPY, 1e-8);
    close(signs.values["w/loc"], 0.625, 1e-12);
    close(signs.values["w/scale"], 1.3125 - 2.0, 1e-12);
}

/// A positive family with one scale. Its noise comes from the tables.
fn scaled_table() -> Instance {
    let mut family = exponential(&scalar());
    family.params = vec![("scale".into(), Type::scalar())];
    family.draw = Some(tabulated(&["scale"], &POSITIVE, |b, p, noise| {
        let positive = b.abs(noise);
        b.mul(p[0], positive)
    }));
    let mut b = Builder::new("entropy");
    let scale = b.param("scale", Type::scalar());
    let entropy = b.log(scale);
    family.entropy = Some(Arc::new(b.finish(vec![("value".into(), entropy)])));
    family.log_density = positive_density(&["scale"], |b, p| {
        // This is the log density of a gamma variate with shape 3, up to a constant. For this
        // shape, the mean E[1 / w] exists.
        let ratio = b.div(p[1], p[0]);
        let log = b.log(ratio);
        let log = b.scale(log, 2.0);
        let log_scale = b.log(p[0]);
        let density = b.sub(log, ratio);
        b.sub(density, log_scale)
    });
    family.log_density_elements = Some(family.log_density.clone());
    family.mean = None;
    family.variance = None;
    family
}

fn positive_density(params: &[&str], density: impl Fn(&mut Builder, &[Value]) -> Value) -> Arc<Function> {
    let mut b = Builder::new("log_density");
    let names = params.iter().chain(&["x"]);
    let values: Vec<Value> = names.map(|name| b.param(name, Type::scalar())).collect();
    let value = density(&mut b, &values);
    Arc::new(b.finish(vec![("value".into(), value)]))
}

/// A prior without parameters on the positive reals.
fn positive_prior(density: impl Fn(&mut Builder, &[Value]) -> Value) -> Instance {
    let mut prior = exponential(&scalar());
    prior.params = Vec::new();
    prior.log_density = positive_density(&[], density);
    prior.log_density_elements = Some(prior.log_density.clone());
    prior
}

#[test]
fn powers_and_logarithms_of_a_scale_sampler_separate() {
    // The log density of Gamma(2, 1) is log w - w.
    let gamma = positive_prior(|b, p| {
        let log = b.log(p[0]);
        b.sub(log, p[0])
    });
    let tuple = found(scaled_table(), &[0.5], gamma, &[], sampled());
    assert!(way(&tuple).starts_with("tuple: 2 means"), "{}", way(&tuple));
    close(tuple.values["$kl"], 1.454_878_20 - 0.5f64.ln(), 1e-8);
    close(tuple.values["w/scale"], -0.6 - 2.0, 1e-12);
    // The log density of the inverse Gaussian distribution with mean and shape one is -(log(2 pi) +
    // 3 log w + (w - 1)^2 / w) / 2.
    let inverse_gaussian = positive_prior(|b, p| {
        let log = b.log(p[0]);
        let log = b.scale(log, 3.0);
        let offset = b.shift(p[0], -1.0);
        let square = b.square(offset);
        let ratio = b.div(square, p[0]);
        let sum = b.add(log, ratio);
        let sum = b.shift(sum, 1.837_877_066_409_345_5);
        b.scale(sum, -0.5)
    });
    let found = found(scaled_table(), &[0.5], inverse_gaussian, &[], sampled());
    assert!(way(&found).starts_with("tuple: "), "{}", way(&found));
    close(found.values["$kl"], 0.923_615_60 - 0.5f64.ln(), 1e-8);
}

/// A factorised KL divergence and the plain mean over the same noise have the same value and the
/// same gradient.
#[test]
fn separated_divergences_equal_direct_ones() {
    for (prior, params) in [
        (normal(&scalar()), &[0.1, 0.8][..]),
        (laplace(&scalar()), &[0.1, 0.8]),
        (logistic(&scalar()), &[0.1, 0.8]),
    ] {
        let family = || normal_of_table();
        let best = found(family(), &[0.3, 0.5], prior.clone(), params, sampled());
        let plain = found(family(), &[0.3, 0.5], prior, params, direct());
        assert!(way(&plain).starts_with("direct: "));
        for (name, value) in &best.values {
            close(*value, plain.values[name], 1e-13);
        }
    }
}

/// The prior has the log density `-log w`. The family is normal with mean about 1.1 and scale 0.1,
/// and its noise comes from the tables. The gradient is computed by finite differences.
#[test]
fn the_taylor_series_of_the_logarithm_is_within_its_remainder() {
    let family = || {
        let mut family = normal_of_table();
        family.support = Support::Interval(0.0, f64::INFINITY);
        family
    };
    // The logarithm of a draw does not factorise, because the draw is a sum.
    let prior = || {
        positive_prior(|b, p| {
            let log = b.log(p[0]);
            b.neg(log)
        })
    };
    let entropy = 0.1f64.ln() + 1.418_938_533_204_672_7;
    let exact: f64 = XI.iter().map(|xi| (1.1 + 0.1 * xi).ln()).sum::<f64>() / 4.0;
    let mut before = f64::INFINITY;
    for order in [1, 2, 3, 4, 6, 10] {
        let options = KlOptions {
            taylor: order,
            ..sampled()
        };
        let series = found(family(), &[1.1, 0.1], prior(), &[], options);
        assert!(way(&series).starts_with("taylor: "), "{}", way(&series));
        assert!(series.warnings.is_empty());
        // This bound is the remainder of a series: the series of the logarithm around 1.1, at a
        // distance of at most 0.2.
        let remainder = (0.2f64 / 1.1).powi(order as i32 + 1) / (order as f64 + 1.0) / (1.0 - 0.2 / 1.1);
        let error = (series.values["$kl"] + entropy - exact).abs();
        assert!(
            error <= remainder && error < before,
            "order {order}: {error}, {remainder}"
        );
        before = error;
    }
    let wide = KlOptions {
        taylor: 4,
        ..sampled()
    };
    let wide = found(family(), &[1.1, 0.9], prior(), &[], wide);
    assert_eq!(wide.warnings.len(), 1, "{:?}", wide.warnings);
    assert_eq!(diagnostics::SERIES_RANGE.id, "E0311");
}

/// The radius of convergence of the logistic log density is pi, because its nearest singularities
/// are at `+-i pi`.
#[test]
fn the_radius_of_the_logistic_series_is_pi() {
    let prior = logistic(&scalar());
    let mut b = Builder::new("log_density");
    let x = b.param("x", Type::scalar());
    let (zero, one) = (b.real(0.0), b.real(1.0));
    let value = b.inline(prior.log_density_elements.as_ref().unwrap(), &[zero, one, x])[0];
    let function = crate::kl::closed::prepared(&b.finish(vec![("value".into(), value)])).unwrap();
    let series = crate::kl::taylor::series(&function, 0.0, 4).unwrap();
    close(series.radius, std::f64::consts::PI, 0.4);
    let at = |x: f64| evaluate(&series.polynomial, &[Tensor::scalar(x)], &Sizes::default())[0].data[0];
    // Uses the series -x - 2 log(1 + e^-x) = -2 log 2 - x^2 / 4 + x^4 / 96 - ...
    close(at(0.5), -2.0 * 2f64.ln() - 0.25 / 4.0 + 0.0625 / 96.0, 1e-12);
}

/// If a power of a sum of several noises has too many terms, it becomes one atom. It must not be counted twice.
#[test]
fn powers_of_sums_of_noise_are_counted_once() {
    let family = || {
        let mut family = normal(&scalar());
        family.draw = Some(tabulated(&["loc", "scale"], &XI, |b, p, noise| {
            let mut sum = noise;
            for power in 2..=5 {
                // The algebra does not decompose these functions of the noise.
                let scaled = b.scale(noise, f64::from(power));
                let next = b.sin(scaled);
                sum = b.add(sum, next);
            }
            let exponent = b.like(4.0, sum);
            let fourth = b.pow(sum, exponent);
            let scaled = b.mul(p[1], fourth);
            b.add(p[0], scaled)
        }));
        family
    };
    let sum = |x: &f64| x + (2..=5).map(|k| (f64::from(k) * x).sin()).sum::<f64>();
    let mean: f64 = XI
        .iter()
        .map(|x| -0.5 * (0.3 + 0.5 * sum(x).powi(4)).powi(2) - 0.918_938_533_204_672_7)
        .sum::<f64>()
        / 4.0;
    let best = found(family(), &[0.3, 0.5], normal(&scalar()), &[0.0, 1.0], sampled());
    assert!(way(&best).starts_with("tuple: "), "{}", way(&best));
    close(best.values["$kl"], -ENTROPY - mean, 1e-10 * mean.abs());
}

/// Around zero, `-log(1 + w^4)` has the series `-w^4 + w^8 / 2 - ..`. The radius of convergence of
/// this series is one.
#[test]
fn the_series_of_a_power_around_zero_has_radius_one() {
    let mut b = Builder::new("log_density");
    let x = b.param("x", Type::scalar());
    let exponent = b.real(4.0);
    let fourth = b.pow(x, exponent);
    let log = b.log1p(fourth);
    let value = b.neg(log);
    let function = b.finish(vec![("value".into(), value)]);
    let series = crate::kl::taylor::series(&function, 0.0, 8).unwrap();
    close(series.radius, 1.0, 0.2);
    let at = |x: f64| evaluate(&series.polynomial, &[Tensor::scalar(x)], &Sizes::default())[0].data[0];
    close(at(0.5), -0.0625 + 0.5 * 0.0625 * 0.0625, 1e-15);
}
