//! Tests of the option `non_centered` with the distributions of the library. The tests check which
//! distributions have a non-centred parameterisation. For every location and scale, the density of
//! its noise is the standard density of the distribution.
#![allow(clippy::unwrap_used)]

use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_driver::infer::{Compilation, CompileFailure};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::{compile, program};
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::model::Model;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_hir::elaborate;
use bnnc_math::special::lgamma;
use bnnc_rewrite::density::{Densities, density};
use bnnc_rewrite::methods::sample::SamplingPrograms;
use bnnc_rewrite::methods::sample::noncentre;
use bnnc_rewrite::nodes::Scope;
use bnnc_rewrite::simplify::simplify;
use std::collections::HashMap;
use std::f64::consts::{LN_2, PI};

/// Returns a model and its densities. The text `theta` declares a site that depends on `mu` and
/// `tau`. The text `items` stands before the model.
fn model(items: &str, theta: &str) -> (Model, Densities) {
    let body = format!("mu ~ Normal(0, 5)\n  tau: positive ~ HalfNormal(1)\n  {theta}");
    let likelihood = "y ~ Normal(mu + tau + sum(theta) + 0 * x, 1)";
    let text = format!("{items}\nmodel M(x: real) -> y: real {{\n  {body}\n  {likelihood}\n}}\n");
    let program = program::load("m.bnn", &text, &CompileOptions::default());
    assert!(!program.has_errors(), "{theta}: {:#?}", program.diagnostics);
    let id = program.module.models.ids().next().unwrap();
    let model = elaborate::model::elaborate(&program.module, id, &HashMap::new()).unwrap();
    let densities = density(&model).unwrap();
    (model, densities)
}

/// Returns the function `(mu, tau, z) -> log p(theta) + log |d theta / d z|, theta`.
fn in_noise(densities: &Densities) -> Function {
    let prior = densities
        .priors
        .iter()
        .find(|prior| &*prior.site == "theta")
        .unwrap();
    let mut b = Builder::new("in_noise");
    let mut scope = Scope::default();
    for site in ["mu", "tau"] {
        let value = b.param(site, Type::scalar());
        scope.set(site, value);
    }
    let z = b.param("z", Type::real(Shape::fixed(&[2])));
    let (theta, log_jacobian) = noncentre::value(&mut b, prior, &scope, z).unwrap();
    scope.set("theta", theta);
    let each = scope.call(&mut b, &densities.log_priors);
    let log_prior = each.iter().find(|(name, _)| &**name == "theta").unwrap().1;
    let sum = b.add(log_prior, log_jacobian);
    b.finish(vec![("$log_density".into(), sum), ("theta".into(), theta)])
}

fn check(items: &str, prior: &str, place: fn(f64, f64, f64) -> f64, standard: &dyn Fn(f64) -> f64) {
    let (model, densities) = model(items, &format!("theta: real[2] ~ {prior}"));
    let site = model.sites.iter().find(|site| &*site.name == "theta").unwrap();
    let of_theta = densities
        .priors
        .iter()
        .find(|prior| prior.site == site.name)
        .unwrap();
    assert!(noncentre::rejection(site, of_theta, true).is_none(), "{prior}");
    let function = in_noise(&densities);
    let z = [0.35, -1.7];
    let want: f64 = z.iter().map(|z| standard(*z)).sum();
    for (mu, tau) in [(0.0, 1.0), (2.5, 0.03), (-30.0, 7.0)] {
        let at = [
            Tensor::scalar(mu),
            Tensor::scalar(tau),
            Tensor::new(vec![2], z.to_vec()),
        ];
        for function in [&function, &simplify(&function).unwrap()] {
            let found = evaluate(function, &at, &Sizes::default());
            let got = found[0].data[0];
            assert!(
                (got - want).abs() < 1e-10,
                "{prior} at {mu}, {tau}: {got} is not {want}"
            );
            for (theta, z) in found[1].data.iter().zip(z) {
                let want = place(mu, tau, z);
                assert!(
                    (theta - want).abs() < 1e-12,
                    "{prior}: theta is {theta}, not {want}"
                );
            }
        }
    }
}

fn around(mu: f64, tau: f64, z: f64) -> f64 {
    mu + tau * z
}

fn student_t(df: f64) -> impl Fn(f64) -> f64 {
    let mass = lgamma(0.5 * (df + 1.0)) - lgamma(0.5 * df) - 0.5 * (df * PI).ln();
    move |z| mass - 0.5 * (df + 1.0) * (z * z / df).ln_1p()
}

#[test]
fn the_noise_of_families_has_the_standard_distribution() {
    check("", "Normal(mu, tau)", around, &|z| {
        -0.5 * z * z - 0.5 * (2.0 * PI).ln()
    });
    check("", "StudentT(4, mu, tau)", around, &student_t(4.0));
    check("", "Cauchy(mu, tau)", around, &|z| -PI.ln() - (z * z).ln_1p());
    check("", "Laplace(mu, tau)", around, &|z| -z.abs() - LN_2);
    check("", "Logistic(mu, tau)", around, &|z| {
        -z - 2.0 * (-z).exp().ln_1p()
    });
    // For the shape two, the normalised density exp(-|z|^(2 / shape) / 2) is the Laplace
    // distribution with scale two.
    check("", "Error(mu, tau, 2)", around, &|z| -0.5 * z.abs() - 4f64.ln());
}

/// The location and the scale may be functions of other sites, and one of them may be a number. The
/// program may define the family itself.
#[test]
fn locations_and_scales_are_any_functions_of_other_sites() {
    let standard = |z: f64| -0.5 * z * z - 0.5 * (2.0 * PI).ln();
    check(
        "",
        "Normal(2 * mu + tau, exp(-tau))",
        |mu, tau, z| 2.0 * mu + tau + (-tau).exp() * z,
        &standard,
    );
    check("", "Normal(0, tau)", |_, tau, z| tau * z, &standard);
    check("", "Normal(mu, 3)", |mu, _, z| mu + 3.0 * z, &standard);
    let gumbel = "dist Gumbel(loc: real, scale: positive) on real {
  log_density(x) = -(x - loc) / scale - exp(-(x - loc) / scale) - log(scale)
  draw = loc - scale * log(-log(standard_uniform()))
}";
    check(gumbel, "Gumbel(mu, tau)", around, &|z| -z - (-z).exp());
}

/// If the degrees of freedom are a site, they remain a parameter of the noise.
#[test]
fn a_shape_that_moves_stays_in_the_noise() {
    let at = |tau: f64| move |z: f64| student_t(tau)(z);
    let (_, densities) = model("", "theta: real[2] ~ StudentT(tau, mu, tau)");
    let function = in_noise(&densities);
    let inputs = [
        Tensor::scalar(1.5),
        Tensor::scalar(3.5),
        Tensor::new(vec![2], vec![0.4, -2.0]),
    ];
    let got = evaluate(&function, &inputs, &Sizes::default())[0].data[0];
    let want = at(3.5)(0.4) + at(3.5)(-2.0);
    assert!((got - want).abs() < 1e-11, "{got} is not {want}");
}

#[test]
fn sites_without_a_noise_are_rejected_with_the_reason() {
    let cases = [
        ("theta: real[2] ~ Flat", "no `draw`"),
        ("theta: positive[2] ~ Normal(mu, tau)", "constrained"),
        ("theta: positive[2] ~ LogNormal(mu, tau)", "constrained"),
        ("theta: ordered(2) ~ Normal(mu, tau)", "constrained"),
        (
            "theta: real[2] ~ MultivariateNormal([mu, mu], tau * eye(2))",
            "depend on each other",
        ),
        (
            "theta: real[2] ~ Mixture(0.5, Normal(mu, tau), Normal(0, 1))",
            "is not `loc + scale * noise`",
        ),
    ];
    for (theta, why) in cases {
        let (model, densities) = model("", theta);
        let site = model.sites.iter().find(|site| &*site.name == "theta").unwrap();
        let prior = densities
            .priors
            .iter()
            .find(|prior| prior.site == site.name)
            .unwrap();
        let rejection = noncentre::rejection(site, prior, true).unwrap();
        assert_eq!(rejection.code.id, "E0312");
        assert!(rejection.message.contains(why), "{theta}: {}", rejection.message);
        assert!(rejection.help[0].contains("`theta`"), "{:?}", rejection.help);
    }
}

/// Returns the sampling programs of the inference block `gold` in an example.
fn gold(name: &str, settings: &[&str], without: &[&str]) -> Result<SamplingPrograms, CompileFailure> {
    let path = bnnc_tests::root().join(format!("examples/posteriors/{name}.bnn"));
    let text = std::fs::read_to_string(&path).unwrap();
    let options = CompileOptions {
        settings: settings.iter().map(|setting| (*setting).to_owned()).collect(),
        without: without.iter().map(|rewrite| (*rewrite).to_owned()).collect(),
        ..CompileOptions::default()
    };
    let program = program::load(&path.display().to_string(), &text, &options);
    assert!(!program.has_errors(), "{:#?}", program.diagnostics);
    let spec = compile::data(&program, &options).unwrap().remove(0);
    let schema = bnnc_data::schema(&spec).unwrap();
    let mut ids = program.module.infers.ids();
    let id = ids
        .find(|id| &*program.module.infers[*id].name == "gold")
        .unwrap();
    let mut compilation = Compilation::new(&program, id, &options);
    let elaborated = compilation.elaborate(&schema)?;
    let densities = compilation.density(&elaborated.model)?;
    compilation.sampled(elaborated.problem(&densities))
}

/// Returns the log density and its gradient at `mu = 1.3`, `tau = exp(-0.7)` and eight values of
/// the noise. The argument `noise` is the name of the port for the noise.
fn at_a_position(sampled: &SamplingPrograms, noise: &str) -> Vec<f64> {
    let noises = vec![0.3, -1.1, 0.8, 2.0, -0.4, 0.0, 1.6, -2.3];
    let schools = Tensor::new(vec![8], (0..8).map(f64::from).collect());
    let errors = Tensor::new(vec![8], vec![15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
    let effects = Tensor::new(vec![8], vec![28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
    let function = &sampled.density;
    let argument = |param| match &**function.param_name(param).unwrap() {
        "mu/loc" => Tensor::scalar(1.3),
        "tau/loc" => Tensor::scalar(-0.7),
        "school" => schools.clone(),
        "sigma" => errors.clone(),
        "y" => effects.clone(),
        "$scale" => Tensor::scalar(1.0),
        name if name == noise => Tensor::new(vec![8], noises.clone()),
        name => panic!("no value for `{name}`"),
    };
    let arguments: Vec<Tensor> = function.params.iter().map(|param| argument(*param)).collect();
    let results = evaluate(function, &arguments, &Sizes::default().with(Symbol::Batch, 8));
    let names = [
        "$log_density",
        "mu/loc/$gradient",
        "tau/loc/$gradient",
        &format!("{noise}/$gradient"),
    ];
    let of = |name: &&str| {
        let at = function.results.iter().position(|(result, _)| &**result == *name);
        results[at.unwrap()].data.clone()
    };
    names.iter().flat_map(of).collect()
}

/// The compiler transforms the centred program into the program that was written by hand in the
/// non-centred parameterisation.
#[test]
fn the_rewrite_gives_the_program_by_hand() {
    let (by_rewrite, by_hand) = (
        gold("eight-schools-centred", &[], &["hoist"]).unwrap(),
        gold("eight-schools", &[], &["hoist"]).unwrap(),
    );
    let found = at_a_position(&by_rewrite, "theta/loc");
    let wanted = at_a_position(&by_hand, "eta/loc");
    assert_eq!(found.len(), 11);
    for (found, wanted) in found.iter().zip(&wanted) {
        assert!((found - wanted).abs() < 1e-12, "{found} is not {wanted}");
    }
}

/// Returns the sentence of the report that describes how a site is sampled.
fn sentence(sampled: &SamplingPrograms, site: &str) -> String {
    let report = sampled.reports.iter().find(|report| report.name == site);
    report.unwrap().kl.clone()
}

#[test]
fn the_rewrite_can_be_switched_off() {
    let on = gold("eight-schools-centred", &[], &[]).unwrap();
    let off = gold("eight-schools-centred", &[], &["noncentre"]).unwrap();
    assert!(sentence(&on, "theta").contains("non-centred"));
    assert!(!sentence(&on, "mu").contains("non-centred"));
    assert!(!sentence(&off, "theta").contains("non-centred"));
}

#[test]
fn naming_a_site_without_a_noise_is_an_error() {
    for (value, why) in [("[tau]", "constrained"), ("[thetas]", "which is not a parameter")] {
        let setting = format!("gold.noncentre={value}");
        let failure = gold("eight-schools-centred", &[&setting], &[]).unwrap_err();
        let CompileFailure::Program(diagnostics) = failure else {
            panic!("{failure:?}")
        };
        assert_eq!(diagnostics[0].code.id, "E0312");
        assert!(diagnostics[0].message.contains(why), "{}", diagnostics[0].message);
    }
}
