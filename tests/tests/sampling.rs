//! Tests of samplers on compiled models. For conjugate models on every kind of support, the
//! samplers find the exact posteriors. Fixed sites keep their values, and chains start at the point
//! that the program gives. Results do not depend on the number of threads.
#![allow(clippy::unwrap_used)]

use bnnc_driver::options::CompileOptions;
use bnnc_inference::chains::SamplingResult;
use bnnc_run::RunResult;
use bnnc_tests::compile::{self, Compiled, options};
use std::path::PathBuf;

/// Creates a folder for one test. The data file has the columns `x` and `y`.
fn folder(name: &str, rows: &[(f64, f64)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-sampling-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let lines: String = rows.iter().map(|(x, y)| format!("{x},{y}\n")).collect();
    std::fs::write(folder.join("rows.csv"), format!("x,y\n{lines}")).unwrap();
    folder
}

fn compiled(name: &str, rows: &[(f64, f64)], program: &str) -> Compiled {
    let path = folder(name, rows).join("rows.bnn");
    let program = format!("data rows = csv(\"rows.csv\") {{ target = y }}\n{program}");
    compile::text(
        &path,
        &program,
        &CompileOptions {
            ..options("cranelift", None)
        },
    )
}

fn sampled(result: &RunResult, infer: &str) -> std::sync::Arc<bnnc_core::states::StateValues> {
    let outcome = result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == infer)
        .unwrap();
    outcome.splits[0].found.values().clone()
}

/// Compares a quantity with its exact mean and standard deviation. The differences must be at most
/// five Monte Carlo standard errors, and these errors must be small.
fn assert_exact(result: &RunResult, infer: &str, name: &str, (mean, sd): (f64, f64)) {
    let outcome = result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == infer)
        .unwrap();
    let diagnosis = outcome.diagnosis.as_ref().unwrap();
    let (_, found) = diagnosis
        .quantities
        .iter()
        .find(|(known, _)| known == name)
        .unwrap();
    assert!(found.mcse_mean < 0.06 * sd, "{infer} {name}: {found:?}");
    let z = (found.mean - mean) / found.mcse_mean;
    assert!(
        z.abs() < 5.0,
        "{infer} {name}: mean {} is not {mean} ({z})",
        found.mean
    );
    let z = (found.sd - sd) / found.mcse_sd;
    assert!(z.abs() < 5.0, "{infer} {name}: sd {} is not {sd} ({z})", found.sd);
}

/// Eight points around a straight line. The noise has the standard deviation 0.3. The intercept and
/// the slope have the prior `N(0, 1)`.
const POINTS: [(f64, f64); 8] = [
    (-1.5, -0.9),
    (-1.0, -0.8),
    (-0.4, 0.1),
    (0.0, 0.25),
    (0.3, 0.35),
    (0.8, 1.0),
    (1.2, 1.05),
    (1.9, 1.7),
];

const LINE: &str = "
model Line(x: real) -> y: real {
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(a + b * x, 0.3)
}
";

/// Returns the mean and the standard deviation of the intercept, and the same for the slope. All
/// four numbers are computed from the normal equations. The likelihood is raised to the power
/// `1 / temperature`.
fn line(temperature: f64) -> [(f64, f64); 2] {
    let ([a, b], [va, vb, _]) = normal_equations(&POINTS, temperature);
    [(a, va.sqrt()), (b, vb.sqrt())]
}

/// Returns the posterior means of the intercept and the slope, followed by their variances and
/// their covariance.
fn normal_equations(points: &[(f64, f64)], temperature: f64) -> ([f64; 2], [f64; 3]) {
    let weight = 1.0 / (0.09 * temperature);
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(*x, *y)).sum::<f64>();
    let (n, sx, sxx) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|x, _| x * x));
    let (sy, sxy) = (sum(&|_, y| y), sum(&|x, y| x * y));
    let (aa, ab, bb) = (1.0 + weight * n, weight * sx, 1.0 + weight * sxx);
    let determinant = aa * bb - ab * ab;
    let (va, vb, vab) = (bb / determinant, aa / determinant, -ab / determinant);
    let (ra, rb) = (weight * sy, weight * sxy);
    ([va * ra + vab * rb, vab * ra + vb * rb], [va, vb, vab])
}

/// For these points, the closed form gives the published numbers.
#[test]
fn the_closed_form_gives_the_published_numbers() {
    let [(a, sa), (b, sb)] = line(1.0);
    assert!((a - 0.214_804_89).abs() < 1e-8 && (b - 0.778_637_25).abs() < 1e-8);
    assert!((sa * sa - 0.011_381_04).abs() < 1e-8 && (sb * sb - 0.009_921_62).abs() < 1e-8);
}

#[test]
fn every_exact_sampler_finds_the_line() {
    let infers = [
        "nuts(Line, rows) { draws = 1500 }",
        "nuts(Line, rows) { draws = 1500, metric = dense }",
        "hmc(Line, rows) { draws = 1500, steps = 5 }",
        "mala(Line, rows) { draws = 6000 }",
        "random_walk(Line, rows) { draws = 12000 }",
        "penalty(Line, rows) { draws = 12000, batch = 0, proposal = random_walk(0.005), jitter = 0.5 }",
        "nuts(Line, rows) { draws = 1500, temperature = 4 }",
    ];
    let lines = infers.iter().enumerate();
    let program: String = lines
        .map(|(at, infer)| format!("infer i{at} = {infer}\n"))
        .collect();
    let result = compile::run(
        &compiled("line", &POINTS, &(LINE.to_owned() + &program)).manifest,
        2,
    );
    for at in 0..infers.len() {
        let temperature = if at == 6 { 4.0 } else { 1.0 };
        let [a, b] = line(temperature);
        assert_exact(&result, &format!("i{at}"), "a", a);
        assert_exact(&result, &format!("i{at}"), "b", b);
    }
}

/// The predictive density of a left-out row is Normal. This density follows from the normal
/// equations of the other rows. The leave-one-out estimates use all draws, although predictions use
/// only a few.
#[test]
fn left_out_rows_have_their_exact_densities() {
    let point = |at: usize| {
        let x = -1.5 + 0.1 * at as f64;
        (x, 0.2 + 0.8 * x + 0.4 * (7.0 * at as f64).sin())
    };
    let points: Vec<(f64, f64)> = (0..30).map(point).collect();
    let density = |out: usize| {
        let mut others = points.clone();
        let (x, y) = others.remove(out);
        let ([a, b], [va, vb, vab]) = normal_equations(&others, 1.0);
        let variance = va + 2.0 * x * vab + x * x * vb + 0.09;
        -0.5 * ((y - a - b * x).powi(2) / variance + (std::f64::consts::TAU * variance).ln())
    };
    let exact: f64 = (0..points.len()).map(density).sum();
    let program =
        format!("{LINE}infer all = nuts(Line, rows) {{ chains = 3, draws = 1500, predictive_draws = 50 }}\n");
    let result = compile::run(&compiled("left", &points, &program).manifest, 2);
    let left_out = result.outcomes[0].left_out.as_ref().unwrap();
    assert_eq!(left_out.draws, 4500);
    let (found, error) = (left_out.total.elpd().sum, left_out.total.mcse());
    assert!(
        error < 0.1 && (found - exact).abs() < 5.0 * error,
        "{found} ± {error} is not {exact}"
    );
}

/// Without an acceptance step, the bias of a sampler is proportional to its step size. With small
/// steps, the samplers come close to the exact posterior.
#[test]
fn samplers_without_acceptance_come_close() {
    let program = format!(
        "{LINE}
infer langevin = sgld(Line, rows) {{ batch = 0, step_size = 1e-3, warmup = 2000, draws = 20000, jitter = 0 }}
infer momentum = sghmc(Line, rows) {{ batch = 0, step_size = 1e-3, friction = 0.3, warmup = 2000, draws = 20000, jitter = 0 }}
"
    );
    let result = compile::run(&compiled("close", &POINTS, &program).manifest, 2);
    for infer in ["langevin", "momentum"] {
        let outcome = result
            .outcomes
            .iter()
            .find(|outcome| outcome.name == infer)
            .unwrap();
        let diagnosis = outcome.diagnosis.as_ref().unwrap();
        for (name, (mean, sd)) in ["a", "b"].into_iter().zip(line(1.0)) {
            let (_, found) = diagnosis
                .quantities
                .iter()
                .find(|(known, _)| known == name)
                .unwrap();
            assert!(
                (found.mean - mean).abs() < 0.1 * sd,
                "{infer} {name}: {} {mean}",
                found.mean
            );
            assert!(
                (found.sd / sd - 1.0).abs() < 0.1,
                "{infer} {name}: {} {sd}",
                found.sd
            );
        }
    }
}

/// The four sites are a rate, a probability, a number in an interval, and the shares of three
/// classes. Each kind of support has its own bijector, with its own Jacobian.
#[test]
fn constrained_sites_have_their_exact_posteriors() {
    let program = "
model M(x: real) -> y: real {
  rate: positive ~ Gamma(2, 1)
  p: unit ~ Beta(3, 2)
  low: real(-1, 3) ~ Uniform(-1, 3)
  shares: simplex(3) ~ Dirichlet([2, 3, 5])
  y ~ Normal(0 * x, 1)
}
infer prior = nuts(M, rows) { draws = 4000 }
";
    let result = compile::run(&compiled("supports", &POINTS, program).manifest, 2);
    // The data do not inform these sites, so their posteriors equal their priors.
    assert_exact(&result, "prior", "rate", (2.0, f64::sqrt(2.0)));
    assert_exact(&result, "prior", "p", (0.6, f64::sqrt(0.04)));
    assert_exact(&result, "prior", "low", (1.0, 4.0 / f64::sqrt(12.0)));
    for (at, share) in [0.2, 0.3, 0.5].into_iter().enumerate() {
        let sd = f64::sqrt(share * (1.0 - share) / 11.0);
        assert_exact(&result, "prior", &format!("shares[{at}]"), (share, sd));
    }
}

/// A site that a posterior fixes keeps its value. The other sites have their posterior given the
/// fixed values. Chains begin at the point in the option `start`.
#[test]
fn fixed_sites_keep_their_values() {
    let program = format!(
        "{LINE}
infer point = map(Line, rows) {{ epochs = 3000, batch = 0, optimiser = Adam(1e-2), precision = f64 }}
posterior Slope of Line {{
  a = point.a
}}
infer slope = nuts(Slope, rows) {{ start = point, draws = 2000 }}
"
    );
    let result = compile::run(&compiled("fixed", &POINTS, &program).manifest, 2);
    let values = sampled(&result, "slope");
    let [(a, _), _] = line(1.0);
    assert_eq!(values["a/loc"].len(), 1);
    assert!((values["a/loc"][0] - a).abs() < 1e-4, "{:?}", values["a/loc"]);
    let weight = 1.0 / 0.09;
    let (sxx, sxy) = POINTS
        .iter()
        .fold((0.0, 0.0), |(xx, xy), (x, y)| (xx + x * x, xy + x * (y - a)));
    let variance = 1.0 / (1.0 + weight * sxx);
    assert_exact(&result, "slope", "b", (variance * weight * sxy, variance.sqrt()));
}

fn positions(sampled: &SamplingResult) -> Vec<Vec<f64>> {
    let count = sampled.chains[0].store.len();
    sampled
        .chains
        .iter()
        .map(|chain| chain.store.records(0..count).unwrap())
        .collect()
}

/// Draws depend on the seed but not on the number of threads. Different chains have different
/// draws.
#[test]
fn threads_change_no_draw() {
    let program = format!(
        "{LINE}
infer nuts = nuts(Line, rows) {{ chains = 3, warmup = 100, draws = 50 }}
infer penalty = penalty(Line, rows) {{ chains = 3, warmup = 100, draws = 50, batch = 2, batches = 3, proposal = mala(1e-3) }}
infer sgld = sgld(Line, rows) {{ chains = 3, warmup = 100, draws = 50, batch = 3, step_size = 1e-3 }}
"
    );
    let compiled = compiled("threads", &POINTS, &program);
    let of = |threads| {
        let result = compile::run(&compiled.manifest, threads);
        let found =
            |outcome: &bnnc_run::InferenceOutcome| positions(outcome.splits[0].found.sampled().unwrap());
        result.outcomes.iter().map(found).collect::<Vec<_>>()
    };
    let one = of(1);
    for chains in &one {
        assert_ne!(chains[0], chains[1]);
    }
    assert_eq!(one, of(2));
    assert_eq!(one, of(5));
}

/// If a site was sampled in the non-centred parameterisation, later inference blocks get the value
/// of the site, not its noise.
#[test]
fn non_centered_sites_give_their_values_to_later_inferences() {
    let program = "
model M(x: real) -> y: real {
  mu ~ Normal(10, 1)
  theta ~ Normal(mu, 0.5)
  y ~ Normal(theta + 0 * x, 1)
}
infer noise = nuts(M, rows) { non_centered = [theta], draws = 500, report = [theta] }
posterior Given of M { theta = noise.theta }
infer given = nuts(Given, rows) { draws = 2000 }
";
    let result = compile::run(&compiled("taken", &POINTS, program).manifest, 2);
    let diagnosis = result.outcomes[0].diagnosis.as_ref().unwrap();
    let (_, theta) = diagnosis
        .quantities
        .iter()
        .find(|(name, _)| name == "theta")
        .unwrap();
    let taken = sampled(&result, "given")["theta/loc"][0];
    assert!((taken - theta.mean).abs() < 1e-9, "{taken} is not {}", theta.mean);
    // Given `theta`, the mean of `mu` is the average of the prior mean and `theta`. The weights are
    // the precisions 1 and 4.
    assert_exact(
        &result,
        "given",
        "mu",
        ((10.0 + 4.0 * taken) / 5.0, f64::sqrt(0.2)),
    );
}

/// A prior scale counts as unknown if it depends on a parameter in any way. An unknown location
/// does not make the scale unknown. A constant scale is known.
#[test]
fn any_scale_that_depends_on_a_parameter_makes_a_centred_hierarchy() {
    let scales = [
        "tau",
        "2 * tau",
        "exp(lt)",
        "sqrt(v)",
        "exp(0.5 * lt) * tau",
        "1",
        "exp(0.5)",
    ];
    let infers = scales.iter().enumerate().map(|(at, scale)| {
        format!(
            "model M{at}(x: real) -> y: real {{
  mu: positive ~ HalfNormal(1)
  tau: positive ~ HalfNormal(1)
  lt ~ Normal(0, 1)
  v: positive ~ InverseGamma(2, 1)
  theta ~ Normal(mu, {scale})
  y ~ Normal(theta + (tau + lt + v) * x, 1)
}}
infer f{at} = nuts(M{at}, rows) {{ draws = 10 }}
"
        )
    });
    let compiled = compiled("scales", &POINTS, &infers.collect::<String>());
    let all = compiled.manifest.infers.iter().map(|infer| {
        let sampling = infer.sampling().unwrap();
        sampling.centred.iter().any(|site| site == "theta")
    });
    let found: Vec<bool> = all.collect();
    assert_eq!(found, [true, true, true, true, true, false, false]);
}

/// The sites of a layer are diagnosed by norms and predictions, even if they are small. If `report`
/// names such a site, its elements are diagnosed instead. The sites of the model itself are
/// diagnosed by their elements.
#[test]
fn weights_of_layers_are_diagnosed_on_request() {
    let program = "
use layers::Dense
model Net(x: real) -> y: real {
  hidden = Dense(2)
  out = Dense(1)
  sigma ~ HalfNormal(1)
  y ~ Normal(out(tanh(hidden([x])))[0], sigma)
}
infer automatic = nuts(Net, rows) { chains = 2, warmup = 50, draws = 20 }
infer named = nuts(Net, rows) { chains = 2, warmup = 50, draws = 20, report = [hidden.b] }
";
    let result = compile::run(&compiled("layers", &POINTS, program).manifest, 2);
    let names = |at: usize| -> Vec<&str> {
        let quantities = &result.outcomes[at].diagnosis.as_ref().unwrap().quantities;
        quantities.iter().map(|(name, _)| name.as_str()).collect()
    };
    let automatic = names(0);
    let (predictions, others): (Vec<&str>, Vec<&str>) =
        automatic.iter().partition(|name| name.starts_with("mean(row "));
    assert_eq!(predictions.len(), POINTS.len());
    assert_eq!(
        others,
        [
            "sigma",
            "norm(hidden.w)",
            "norm(hidden.b)",
            "norm(out.w)",
            "norm(out.b)",
            "lp",
        ]
    );
    let named = names(1);
    assert!(
        named.contains(&"hidden.b[0]") && named.contains(&"hidden.b[1]"),
        "{named:?}"
    );
    assert!(
        !named.contains(&"norm(hidden.b)") && named.contains(&"norm(hidden.w)"),
        "{named:?}"
    );
}
