//! Tests how models are split: hierarchies, transformed sites, observations in loops, and every diagnostic.

use super::inputs::evaluate;
use super::library::{
    approximation, declared, exponential, laplace, normal, point, posterior, regression, settings, sgd,
    spike_and_slab,
};
use crate::density::{Densities, density};
use crate::diagnostics;
use crate::methods::plan::InferenceProblem;
use crate::methods::task::RewriteError;
use crate::methods::train::{Objective, objective};
use crate::pass::PassContext;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::fault::Fault;
use bnnc_base::shape::{Shape, Sizes, Symbol};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::dist::{Instance, Support};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::model::{ApproximatePosterior, Input, Model, Site};
use bnnc_graph::ops;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use std::sync::Arc;

const POSITIVE: Support = Support::Interval(0.0, f64::INFINITY);

fn scalar() -> Shape {
    Shape::scalar()
}

fn product(b: &mut Builder, sites: &[Value], x: Value) -> Value {
    b.mul(sites[0], x)
}

fn input(name: &str, ty: Type) -> Input {
    Input {
        name: name.into(),
        ty,
        support: Support::Real,
        row: false,
    }
}

fn sample(b: &mut Builder, prior: Instance, params: &[Value], site: &str) -> Value {
    b.apply(
        &ops::sample::SAMPLE,
        params,
        vec![Attr::Dist(Arc::new(prior)), Attr::name(site)],
    )
}

fn observe(b: &mut Builder, mean: Value, sd: Value, value: Value) -> Value {
    let attrs = vec![Attr::Dist(Arc::new(normal(&Shape::scalar()))), Attr::name("y")];
    b.apply(&ops::observe::OBSERVE, &[mean, sd, value], attrs)
}

fn site(name: &str, support: Support) -> Site {
    Site {
        name: name.into(),
        ty: Type::scalar(),
        support,
        local: false,
        start: None,
    }
}

/// The model `level ~ Normal(0, 1)`, `a ~ Normal(level, 1)`, `sigma: positive ~ Exponential(1)`,
/// `y ~ Normal(a * x, sigma)`.
fn hierarchy() -> Model {
    let mut b = Builder::new("hierarchy");
    let (x, y) = (b.param("x", Type::scalar()), b.param("y", Type::scalar()));
    let (zero, one) = (b.real(0.0), b.real(1.0));
    let level = sample(&mut b, normal(&scalar()), &[zero, one], "level");
    let a = sample(&mut b, normal(&scalar()), &[level, one], "a");
    let sigma = sample(&mut b, exponential(&scalar()), &[], "sigma");
    let mean = b.mul(a, x);
    observe(&mut b, mean, sigma, y);
    Model {
        name: "hierarchy".into(),
        function: b.finish(Vec::new()),
        shared: Vec::new(),
        inputs: vec![input("x", Type::scalar())],
        outputs: vec![input("y", Type::scalar())],
        sites: vec![
            site("level", Support::Real),
            site("a", Support::Real),
            site("sigma", POSITIVE),
        ],
        running: Vec::new(),
        derived: Vec::new(),
    }
}

fn call(function: &Function, values: &[(&str, f64)]) -> Vec<f64> {
    let value = |param: &Value| {
        let name = crate::nodes::param_name(function, *param);
        Tensor::scalar(values.iter().find(|(n, _)| *n == name).unwrap().1)
    };
    let inputs: Vec<Tensor> = function.params.iter().map(value).collect();
    evaluate(function, &inputs)
        .iter()
        .map(|tensor| tensor.data[0])
        .collect()
}

fn log_normal(z: f64, sd: f64) -> f64 {
    -0.5 * (z / sd) * (z / sd) - sd.ln() - 0.918_938_533_204_672_7
}

fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance,
        "{got} is not {want} to {tolerance}"
    );
}

#[test]
fn a_hierarchy_splits_into_densities() {
    let densities = density(&hierarchy()).unwrap();
    let depends: Vec<Option<&str>> = densities
        .priors
        .iter()
        .map(|prior| prior.depends_on.as_deref())
        .collect();
    assert_eq!(depends, [None, Some("level"), None]);
    let at = [
        ("level", 0.3),
        ("a", -0.4),
        ("sigma", 0.7),
        ("x", 1.5),
        ("y", 0.2),
    ];
    let priors = [log_normal(0.3, 1.0), log_normal(-0.7, 1.0), -0.7];
    for (got, want) in call(&densities.log_priors, &at).iter().zip(priors) {
        close(*got, want, 1e-12);
    }
    close(call(&densities.log_prior, &at)[0], priors.iter().sum(), 1e-12);
    let likelihood = log_normal(0.2 + 0.6, 0.7);
    close(call(&densities.row_log_likelihood, &at)[0], likelihood, 1e-12);
    let arguments = call(&densities.likelihood_arguments, &at);
    let names: Vec<&str> = densities
        .likelihood_arguments
        .results
        .iter()
        .map(|(name, _)| &**name)
        .collect();
    assert_eq!(
        (names, arguments.as_slice()),
        (vec!["0/loc", "0/scale"], &[-0.6000000000000001, 0.7][..])
    );
    let at = [("0/loc", arguments[0]), ("0/scale", arguments[1]), ("y", 0.2)];
    close(call(&densities.log_likelihood, &at)[0], likelihood, 1e-12);
}

fn signature(function: &Function) -> Vec<&str> {
    function
        .params
        .iter()
        .map(|param| crate::nodes::param_name(function, *param))
        .collect()
}

#[test]
fn functions_have_only_the_parameters_they_need() {
    let Densities {
        log_prior,
        likelihood_arguments,
        log_likelihood,
        row_log_likelihood,
        ..
    } = density(&hierarchy()).unwrap();
    assert_eq!(signature(&log_prior), ["level", "a", "sigma"]);
    assert_eq!(signature(&likelihood_arguments), ["level", "a", "sigma", "x"]);
    assert_eq!(signature(&log_likelihood), ["y", "0/loc", "0/scale"]);
    assert_eq!(signature(&row_log_likelihood), ["level", "a", "sigma", "x", "y"]);
}

/// The closed form for the transformed scale uses `E e^z = exp(m + s^2 / 2)`. The closed form for
/// the hierarchy uses second moments.
#[test]
fn divergence_of_a_hierarchy_with_a_transformed_scale_agrees_with_its_closed_form() {
    const DRAWS: usize = 20_000;
    let family = || normal(&scalar());
    let (level, a, z) = ((0.2, 0.3), (0.5, 0.4), (-0.1, 0.25));
    let approximations = vec![
        approximation("level", family(), &[level.0, level.1]),
        approximation("a", family(), &[a.0, a.1]),
        approximation("sigma", family(), &[z.0, z.1]),
    ];
    let model = hierarchy();
    let objective = compile(&model, &posterior(approximations), DRAWS).unwrap();
    let sentences: Vec<&str> = objective.reports.iter().map(|report| &*report.kl).collect();
    assert!(sentences[0].starts_with("exact: "), "{sentences:?}");
    assert!(sentences[1].starts_with("exact: "), "{sentences:?}");
    assert!(
        sentences[1].ends_with(", given each draw of `level`"),
        "{sentences:?}"
    );
    assert!(sentences[2].starts_with("direct: "), "{sentences:?}");
    assert!(
        sentences[2]
            .ends_with("no closed form: a bijection transforms `Normal` from the reals to the support"),
        "{sentences:?}"
    );
    let minus_entropy = |sd: f64| -(sd.ln() + 1.418_938_533_204_672_7);
    let exact_level =
        minus_entropy(level.1) + 0.918_938_533_204_672_7 + 0.5 * (level.0 * level.0 + level.1 * level.1);
    let offset = a.0 - level.0;
    let spread = offset * offset + a.1 * a.1 + level.1 * level.1;
    let child = minus_entropy(a.1) + 0.918_938_533_204_672_7 + 0.5 * spread;
    let scale = minus_entropy(z.1) + (z.0 + 0.5 * z.1 * z.1).exp() - z.0;
    // For each draw, `(a - level)^2 / 2` has a variance of about 0.19, and `e^z - z` has a variance
    // of about 0.01.
    let error = (0.2_f64 / DRAWS as f64).sqrt();
    close(
        loss(&objective, DRAWS, 0.0),
        exact_level + child + scale,
        4.0 * error,
    );
}

fn compile(
    model: &Model,
    posterior: &ApproximatePosterior,
    samples: usize,
) -> Result<Objective, RewriteError> {
    let densities = density(model)?;
    let optimiser = sgd(0.0);
    let settings = settings(&optimiser, samples);
    let problem = InferenceProblem {
        densities: &densities,
        model,
        posterior,
    };
    objective(problem, settings, &mut PassContext::default())
}

/// Returns the loss at the starting values, for one row `x = 1`, `y = 0`.
fn loss(objective: &Objective, draws: usize, scale: f64) -> f64 {
    let sizes = Sizes::default().with(Symbol::Batch, 1).with(Symbol::Draws, draws);
    let train = &objective.train;
    let input = |param: &Value| {
        let name = crate::nodes::param_name(train, *param);
        let start = objective
            .states
            .iter()
            .find(|state| state.name == name)
            .map(|state| &state.init);
        let value = match (start, name) {
            (Some(bnnc_abi::manifest::Init::Constant(value)), _) => *value,
            (_, "x" | "$kl_weight") => 1.0,
            (_, "$scale") => scale,
            _ => 0.0,
        };
        Tensor::from_fn(train.ty(*param).shape.resolve(&sizes), |_| value)
    };
    let inputs: Vec<Tensor> = train.params.iter().map(input).collect();
    bnnc_graph::eval::evaluate(train, &inputs, &sizes)[0].data[0]
}

/// The initial value of a point estimate of a positive parameter is given on the declared scale. The density of a point estimate does not have a
/// Jacobian term.
#[test]
fn a_positive_point_starts_at_its_declared_value() {
    let mut model = regression(
        Type::scalar(),
        vec![declared("w", exponential(&scalar()), &[])],
        1.0,
        product,
    );
    model.sites[0].support = POSITIVE;
    let objective = compile(
        &model,
        &posterior(vec![approximation("w", point(&scalar()), &[0.3])]),
        1,
    )
    .unwrap();
    close(loss(&objective, 1, 0.0), 0.3, 1e-12);
    assert_eq!(objective.variational_parameters, 1);
}

/// The model is a time series whose elements are observed inside a loop over positions.
#[test]
fn observations_in_a_loop_are_summed() {
    let mut each = Builder::new("each");
    let y = each.param("y", Type::scalar());
    let mean = each.param("mean", Type::scalar());
    let one = each.real(1.0);
    let term = observe(&mut each, mean, one, y);
    let each = Arc::new(each.finish(vec![("term".into(), term)]));
    let mut b = Builder::new("series");
    let ty = Type::real(Shape::fixed(&[3]));
    let y = b.param("y", ty.clone());
    let (zero, one) = (b.real(0.0), b.real(1.0));
    let mean = sample(&mut b, normal(&scalar()), &[zero, one], "mean");
    b.map(&each, &[y, mean], &[true, false]);
    let model = Model {
        name: "series".into(),
        function: b.finish(Vec::new()),
        shared: Vec::new(),
        inputs: Vec::new(),
        outputs: vec![input("y", ty)],
        sites: vec![site("mean", Support::Real)],
        running: Vec::new(),
        derived: Vec::new(),
    };
    let densities = density(&model).unwrap();
    let y = [0.3, -0.5, 1.2];
    let wanted: f64 = y.iter().map(|y| log_normal(y - 0.4, 1.0)).sum();
    let inputs = [Tensor::scalar(0.4), Tensor::new(vec![3], y.into())];
    close(
        evaluate(&densities.row_log_likelihood, &inputs)[0].data[0],
        wanted,
        1e-12,
    );
    let terms = evaluate(&densities.likelihood_arguments, &inputs);
    close(
        evaluate(&densities.log_likelihood, &[inputs[1].clone(), terms[0].clone()])[0].data[0],
        wanted,
        1e-12,
    );
    let approximations = posterior(vec![approximation("mean", normal(&scalar()), &[0.0, 1.0])]);
    assert!(compile(&model, &approximations, 1).is_ok());
}

fn assert_code(result: Result<Objective, RewriteError>, code: &'static Code) {
    match result {
        Err(RewriteError::Program(diagnostics)) => {
            let codes: Vec<&str> = diagnostics.iter().map(|d: &Diagnostic| d.code.id).collect();
            assert_eq!(codes, [code.id]);
        }
        other => panic!("expected {}, found {other:?}", code.id),
    }
}

/// A graph that the checker should have rejected must be reported as a bug.
#[track_caller]
fn assert_bug(result: Result<Objective, RewriteError>, text: &str) {
    match result {
        Err(RewriteError::Fault(Fault::Bug(why))) => assert!(why.contains(text), "{why}"),
        other => panic!("expected a bug, found {other:?}"),
    }
}

fn line(prior: Instance, support: Support) -> Model {
    let params = vec![0.5; prior.params.len()];
    let mut model = regression(Type::scalar(), vec![declared("w", prior, &params)], 1.0, product);
    model.sites[0].support = support;
    model
}

#[test]
fn every_code_is_raised() {
    let plain = || posterior(vec![approximation("w", normal(&scalar()), &[0.0, 1.0])]);
    let real = || line(normal(&scalar()), Support::Real);

    let mut local = real();
    local.sites[0].local = true;
    assert_code(compile(&local, &plain(), 1), &diagnostics::LOCAL_SITE);

    let positive = || posterior(vec![approximation("w", exponential(&scalar()), &[])]);
    let unit = line(laplace(&scalar()), Support::Interval(0.0, 1.0));
    assert_code(compile(&unit, &positive(), 1), &diagnostics::INFINITE_KL);

    let unsampled = posterior(vec![approximation("w", spike_and_slab(&scalar()), &[])]);
    assert_code(compile(&real(), &unsampled, 1), &diagnostics::NO_SAMPLER);

    assert_bug(compile(&real(), &posterior(Vec::new()), 1), "no family for `w`");

    let mut implicit = laplace(&scalar());
    let mut b = Builder::new("log_density");
    for name in ["loc", "scale", "x"] {
        b.param(name, Type::scalar());
    }
    let nothing = b.real(0.0);
    implicit.log_density = Arc::new(b.finish(vec![("value".into(), nothing)]));
    let implicit = posterior(vec![approximation("w", implicit, &[0.0, 1.0])]);
    assert_code(compile(&real(), &implicit, 1), &diagnostics::NO_DENSITY);

    let mut silent = real();
    let mut b = Builder::new("silent");
    let (x, y) = (b.param("x", Type::scalar()), b.param("y", Type::scalar()));
    sample(&mut b, normal(&scalar()), &[x, y], "w");
    silent.function = b.finish(Vec::new());
    assert_code(compile(&silent, &plain(), 1), &diagnostics::NO_OUTPUT);

    let mut dependent = real();
    let mut b = Builder::new("dependent");
    let (x, y) = (b.param("x", Type::scalar()), b.param("y", Type::scalar()));
    let one = b.real(1.0);
    let w = sample(&mut b, normal(&scalar()), &[x, one], "w");
    observe(&mut b, w, one, y);
    dependent.function = b.finish(Vec::new());
    assert_bug(compile(&dependent, &plain(), 1), "depends on one example");

    let simplex = {
        let shape = Shape::fixed(&[3]);
        let sum = |b: &mut Builder, sites: &[Value], x: Value| {
            let total = b.reduce_sum_all(sites[0]);
            b.mul(total, x)
        };
        let mut model = regression(
            Type::scalar(),
            vec![declared("w", normal(&shape), &[0.0, 1.0])],
            1.0,
            sum,
        );
        model.sites[0].support = Support::Simplex;
        model
    };
    let wide = posterior(vec![approximation("w", normal(&Shape::fixed(&[3])), &[0.0, 1.0])]);
    assert_bug(compile(&simplex, &wide, 1), "has values real[3], not real[2]");
    let narrow = posterior(vec![approximation("w", normal(&Shape::fixed(&[2])), &[0.0, 1.0])]);
    assert!(compile(&simplex, &narrow, 1).is_ok());

    assert_bug(compile(&looping(), &plain(), 1), "inside a loop");

    let curved = |b: &mut Builder, sites: &[Value], x: Value| {
        let positive = b.softplus(sites[0]);
        let curvature = b.trigamma(positive);
        b.mul(curvature, x)
    };
    let curved = regression(
        Type::scalar(),
        vec![declared("w", normal(&scalar()), &[0.0, 1.0])],
        1.0,
        curved,
    );
    assert_code(compile(&curved, &plain(), 1), &diagnostics::NO_DERIVATIVE);
    // Other tests raise the remaining diagnostics. The tests `likelihood`, `noncentre` and
    // `separation` raise four. The tests of `bnnc-tests` raise three, about dropout and the Laplace
    // approximation. The tests of the command line raise `UNKNOWN_KL` and `NOT_LINEAR`.
    assert_eq!(diagnostics::CODES.len(), 15);
}

/// An observation inside a recurrence depends on the carry, so it cannot be moved out of the loop.
fn looping() -> Model {
    let mut step = Builder::new("step");
    let carry = step.param("carry", Type::scalar());
    let x = step.param("x", Type::scalar());
    let one = step.real(1.0);
    let term = observe(&mut step, carry, one, x);
    let step = Arc::new(step.finish(vec![("carry".into(), term)]));
    let mut model = line(normal(&scalar()), Support::Real);
    let ty = Type::real(Shape::fixed(&[3]));
    let mut b = Builder::new("looping");
    let x = b.param("x", ty.clone());
    let y = b.param("y", Type::scalar());
    let one = b.real(1.0);
    let w = sample(&mut b, normal(&scalar()), &[one, one], "w");
    b.apply(
        &ops::scan::SCAN,
        &[w, x],
        vec![Attr::Function(step), Attr::Int(1)],
    );
    observe(&mut b, w, one, y);
    model.function = b.finish(Vec::new());
    model.inputs[0].ty = ty;
    model
}
