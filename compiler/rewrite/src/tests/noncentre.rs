//! Compares the log density of `z`, the noise of a non-centred site, with formulas for several
//! locations and scales.

use super::inputs::{assert_close, differences, evaluate};
use super::library::{declared, exponential, laplace, logistic, normal, radial, regression, spike_and_slab};
use crate::density::{Densities, SitePrior, density};
use crate::diagnostics;
use crate::differentiate::gradient;
use crate::methods::sample::noncentre;
use crate::nodes::{self, Scope};
use crate::simplify::simplify;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Shape;
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::Function;
use bnnc_graph::model::{Model, Site};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::f64::consts::{LN_2, PI};
use std::sync::Arc;

const SIZE: usize = 3;

/// The model `mu`, `log_tau`, `theta ~ prior(mu, exp log_tau)` with three elements,
/// `y ~ Normal(x * sum theta, 1)`.
fn hierarchy(prior: Instance) -> Model {
    let mut model = regression(
        Type::scalar(),
        vec![
            declared("mu", normal(&Shape::scalar()), &[0.0, 1.0]),
            declared("log_tau", normal(&Shape::scalar()), &[0.0, 1.0]),
        ],
        1.0,
        |b, sites, x| {
            let shape = Shape::fixed(&[SIZE]);
            let tau = b.exp(sites[1]);
            let (mu, tau) = (b.broadcast_to(sites[0], &shape), b.broadcast_to(tau, &shape));
            let attrs = vec![Attr::Dist(Arc::new(prior)), Attr::name("theta")];
            let theta = b.apply(&ops::sample::SAMPLE, &[mu, tau], attrs);
            let sum = b.reduce_sum_all(theta);
            b.mul(sum, x)
        },
    );
    model.sites.push(theta(Support::Real));
    model
}

fn theta(support: Support) -> Site {
    Site {
        name: "theta".into(),
        ty: Type::real(Shape::fixed(&[SIZE])),
        support,
        local: false,
        start: None,
    }
}

fn prior_of(densities: &Densities) -> &SitePrior {
    let mut priors = densities.priors.iter();
    priors.find(|prior| &*prior.site == "theta").unwrap()
}

/// Returns `(mu, log_tau, z) -> log p(theta | mu, tau) + log |d theta / d z|`.
fn in_noise(densities: &Densities) -> Function {
    let mut b = Builder::new("in_noise");
    let mut scope = Scope::default();
    for site in ["mu", "log_tau"] {
        let value = b.param(site, Type::scalar());
        scope.set(site, value);
    }
    let z = b.param("z", theta(Support::Real).ty);
    let (value, log_jacobian) = noncentre::value(&mut b, prior_of(densities), &scope, z).unwrap();
    scope.set("theta", value);
    let each = scope.call(&mut b, &densities.log_priors);
    let of_theta = each.iter().find(|(name, _)| &**name == "theta").unwrap().1;
    let sum = b.add(of_theta, log_jacobian);
    b.finish(vec![(PortName::LogDensity.into(), sum)])
}

/// Fails if the log density of `z` is not the sum of `standard` over the elements of `z`, or if it depends on other values.
fn check(prior: Instance, standard: fn(f64) -> f64) {
    let name = prior.name.clone();
    let densities = density(&hierarchy(prior)).unwrap();
    let function = in_noise(&densities);
    let z = [0.4, -1.3, 2.2];
    let by_hand = |z: &[f64]| z.iter().map(|z| standard(*z)).sum::<f64>();
    for (mu, log_tau) in [(0.0, 0.0), (3.5, -2.0), (-40.0, 1.5)] {
        let at = [
            Tensor::scalar(mu),
            Tensor::scalar(log_tau),
            Tensor::new(vec![SIZE], z.to_vec()),
        ];
        let want = Tensor::scalar(by_hand(&z));
        assert_close(&evaluate(&function, &at)[0], &want, 1e-11, &name);
        let slopes = gradient(&function, "$log_density", &["mu", "log_tau", "z"]).unwrap();
        let found = evaluate(&slopes, &at);
        let of = |param: &str| {
            let result = slopes
                .results
                .iter()
                .position(|(result, _)| result.contains(param));
            &found[result.unwrap()]
        };
        // The density of the noise does not depend on the location and the scale.
        for param in ["mu", "log_tau"] {
            assert_close(of(param), &Tensor::scalar(0.0), 1e-9, &name);
        }
        let numeric = differences(|at| by_hand(&at[0].data), &at[2..], 0);
        assert_close(of("z"), &numeric, 1e-7, &name);
    }
}

#[test]
fn the_density_of_the_noise_is_that_of_the_standard_distribution() {
    check(normal(&Shape::fixed(&[SIZE])), |z| {
        -0.5 * z * z - 0.5 * (2.0 * PI).ln()
    });
    check(laplace(&Shape::fixed(&[SIZE])), |z| -z.abs() - LN_2);
    check(logistic(&Shape::fixed(&[SIZE])), |z| {
        -z - 2.0 * (-z).exp().ln_1p()
    });
}

/// A sampler may subtract its noise, as in `theta = mu - tau log(-log u)`. The position is still
/// `(theta - mu) / tau`.
#[test]
fn a_sampler_may_subtract_its_noise() {
    let ty = Type::real(Shape::fixed(&[SIZE]));
    let mut gumbel = normal(&Shape::fixed(&[SIZE]));
    gumbel.name = "Gumbel".into();
    let mut b = Builder::new("log_density");
    let [loc, scale, x] = ["loc", "scale", "x"].map(|name| b.param(name, ty.clone()));
    let offset = b.sub(x, loc);
    let z = b.div(offset, scale);
    let minus = b.neg(z);
    let (e, log) = (b.exp(minus), b.log(scale));
    let rest = b.add(e, log);
    let each = b.sub(minus, rest);
    let total = b.reduce_sum_all(each);
    gumbel.log_density = Arc::new(b.finish(vec![("value".into(), total)]));
    let normal_draw = gumbel.draw.clone().unwrap();
    let mut b = Builder::new("draw");
    let params = nodes::params_of(&mut b, &normal_draw);
    let draw = b.inline(&normal_draw, &params)[0];
    let noise = b.sub(draw, params[0]);
    let value = b.sub(params[0], noise);
    gumbel.draw = Some(Arc::new(b.finish(vec![("value".into(), value)])));
    check(gumbel, |z| -z - (-z).exp());
}

/// The noise keeps its prior: `(loc + scale z - loc) / scale` is simplified to `z`, so no digits
/// are lost to rounding.
#[test]
fn location_and_scale_cancel_without_rounding() {
    let densities = density(&hierarchy(normal(&Shape::fixed(&[SIZE])))).unwrap();
    let simple = simplify(&in_noise(&densities)).unwrap();
    let has = |name: &str| {
        let mut values = simple.nodes.ids();
        values.any(|value| simple.op(value).is_some_and(|op| op.name == name))
    };
    assert!(!has("div") && !has("exp"), "{simple}");
    // Without the simplification, `z` would have only four correct digits, because the scale is
    // 1e-12 and the location is 1.
    let at = [
        Tensor::scalar(1.0),
        Tensor::scalar(1e-12f64.ln()),
        Tensor::new(vec![SIZE], vec![0.4, -1.3, 2.2]),
    ];
    let want = -0.5 * (0.16 + 1.69 + 4.84) - 1.5 * (2.0 * PI).ln();
    assert_close(
        &evaluate(&simple, &at)[0],
        &Tensor::scalar(want),
        1e-13,
        "small scale",
    );
}

/// Returns the error message for the site `theta` with the prior `prior`, in a model without free
/// parameters.
fn rejected(prior: Instance, params: &[f64], support: Support, moves: bool) -> Option<String> {
    let mut site = declared("theta", prior, params);
    site.support = support;
    let shape = site.prior.value.shape.clone();
    let model = regression(Type::scalar(), vec![site], 1.0, |b, sites, x| {
        let sum = b.reduce_sum_all(sites[0]);
        b.mul(sum, x)
    });
    assert_eq!(shape, Shape::fixed(&[SIZE]));
    let densities = density(&model).unwrap();
    let rejection = noncentre::rejection(&model.sites[0], prior_of(&densities), moves)?;
    assert!(std::ptr::eq(rejection.code, &diagnostics::NO_NOISE));
    Some(rejection.message)
}

#[test]
fn unsupported_sites_are_rejected_with_a_reason() {
    let shape = Shape::fixed(&[SIZE]);
    let positive = Support::Interval(0.0, f64::INFINITY);
    let reals = Support::Real;
    assert_eq!(rejected(normal(&shape), &[0.5, 2.0], reals, true), None);
    let cases = [
        (rejected(exponential(&shape), &[], positive, true), "constrained"),
        (
            rejected(normal(&shape), &[0.0, 1.0], Support::Ordered, true),
            "constrained",
        ),
        (
            rejected(radial(SIZE), &[0.0, 1.0], reals, true),
            "depend on each other",
        ),
        (rejected(spike_and_slab(&shape), &[], reals, true), "no `draw`"),
        (rejected(normal(&shape), &[0.0, 1.0], reals, false), "fixes"),
    ];
    for (message, why) in cases {
        let message = message.unwrap();
        assert!(
            message.starts_with("`theta`") && message.contains(why),
            "{message}"
        );
    }
    let unknown = diagnostics::unknown_noise("tehta", ["theta"].into_iter());
    assert!(unknown.message.contains("tehta") && unknown.help == ["did you mean `theta`?"]);
}

/// A draw `exp(loc + scale noise)` is not the sum of a location and scaled noise.
#[test]
fn a_draw_without_location_and_scale_is_rejected() {
    let shape = Shape::fixed(&[SIZE]);
    let mut instance = normal(&shape);
    let draw = instance.draw.clone().unwrap();
    let mut b = Builder::new("draw");
    let params = nodes::params_of(&mut b, &draw);
    let exponent = b.inline(&draw, &params)[0];
    let value = b.exp(exponent);
    instance.draw = Some(Arc::new(b.finish(vec![("value".into(), value)])));
    let message = rejected(instance, &[0.0, 1.0], Support::Real, true).unwrap();
    assert!(message.contains("is not `loc + scale * noise`"), "{message}");
}
