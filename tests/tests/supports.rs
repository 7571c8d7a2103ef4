//! Sites on simplexes and sites that are ordered vectors, from the source to the posterior.
//! Densities integrate to one over the declared type. Restrictions with an unknown normalising
//! constant are rejected. Inference finds posteriors that are known exactly.
#![allow(clippy::unwrap_used)]

use bnnc_base::shape::Sizes;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::elaborate;
use bnnc_run::RunResult;
use bnnc_tests::compile;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::path::PathBuf;

/// Returns the log prior of a model whose sites are in `body`. Returns the message of the error
/// instead if the model is rejected.
fn log_prior(body: &str) -> Result<Function, String> {
    let text = format!("model M(x: real) -> y: real {{\n  {body}\n  y ~ Normal(x, 1)\n}}\n");
    let program = program::load("m.bnn", &text, &CompileOptions::default());
    if program.has_errors() {
        return Err(format!("{:?}", program.diagnostics));
    }
    let id = program.module.models.ids().next().unwrap();
    let model = elaborate::model::elaborate(&program.module, id, &HashMap::new())
        .map_err(|diagnostic| format!("{}: {}", diagnostic.code.id, diagnostic.message))?;
    Ok(bnnc_rewrite::density::density(&model).unwrap().log_prior)
}

fn at(function: &Function, sizes: &[usize], values: &[f64]) -> f64 {
    let x = Tensor::new(sizes.to_vec(), values.to_vec());
    evaluate(function, &[x], &Sizes::default())[0].data[0]
}

fn close(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance,
        "{what}: {got} is not {want} to {tolerance}"
    );
}

/// Returns the total probability of increasing pairs, computed by the midpoint rule. The densities
/// are smooth, and the probability outside the square of the rule is below 1e-9.
fn mass_of_pairs(log_density: &dyn Fn(f64, f64) -> f64) -> f64 {
    let (low, step, count) = (-11.0, 0.05, 440);
    let point = |i: usize| low + step * (i as f64 + 0.5);
    let mut sum = 0.0;
    for i in 0..count {
        for j in i..count {
            let weight = if i == j { 0.5 } else { 1.0 };
            // The diagonal divides this cell of the grid into two halves. Because of the shift, the
            // midpoint of the cell lies inside the support.
            sum += weight * log_density(point(i), point(j) + 1e-12).exp();
        }
    }
    sum * step * step
}

#[test]
fn increasing_vectors_have_a_normalised_density() {
    for prior in ["Normal(0.3, 1.2)", "Logistic(0, 0.5)"] {
        let function = log_prior(&format!("_c: ordered(2) ~ {prior}")).unwrap();
        let mass = mass_of_pairs(&|a, b| at(&function, &[2], &[a, b]));
        close(prior, mass, 1.0, 1e-4);
    }
}

/// Three elements have six possible orders. The log density of four ordered vectors is therefore
/// the log density of independent elements plus `4 log 6`.
#[test]
fn each_vector_of_an_array_is_normalised() {
    let values: Vec<f64> = (0..12)
        .map(|i| f64::from(i % 3) - 0.4 * f64::from(i / 3))
        .collect();
    let ordered = log_prior("_c: ordered(3)[2, 2] ~ Normal(0, 5)").unwrap();
    let free = log_prior("_c: real[2, 2, 3] ~ Normal(0, 5)").unwrap();
    let more = at(&ordered, &[2, 2, 3], &values) - at(&free, &[2, 2, 3], &values);
    close("four vectors", more, 4.0 * 6f64.ln(), 1e-12);
}

#[test]
fn a_flat_prior_is_flat_on_every_support() {
    for (ty, values) in [("ordered(3)", [-1.0, 0.5, 2.0]), ("simplex(3)", [0.2, 0.3, 0.5])] {
        let function = log_prior(&format!("_c: {ty} ~ Flat()")).unwrap();
        close(ty, at(&function, &[3], &values), 0.0, 0.0);
    }
}

/// The density of the Dirichlet distribution is `Gamma(sum a) / prod Gamma(a) prod x ^ (a - 1)`
/// (Ferguson). The parameters are integers here, so the normalising constant is
/// `9! / (0! 2! 1! 3!)`.
#[test]
fn arrays_of_simplexes_are_independent() {
    let normaliser = (362_880f64 / 12.0).ln();
    let rows = [[0.1, 0.2, 0.3, 0.4], [0.25, 0.4, 0.3, 0.05]];
    let one = |x: &[f64; 4]| normaliser + 2.0 * x[1].ln() + x[2].ln() + 3.0 * x[3].ln();
    let prior = "Dirichlet([1.0, 3.0, 2.0, 4.0])";
    let function = log_prior(&format!("_p: simplex(4) ~ {prior}")).unwrap();
    close("one", at(&function, &[4], &rows[0]), one(&rows[0]), 1e-9);
    let function = log_prior(&format!("_p: simplex(4)[2] ~ {prior}")).unwrap();
    let both = at(&function, &[2, 4], &rows.concat());
    close("two", both, one(&rows[0]) + one(&rows[1]), 1e-9);
}

#[test]
fn restrictions_of_unknown_mass_are_rejected() {
    for (body, why) in [
        ("_p: simplex(3) ~ Normal(0, 1)", "no density on a simplex"),
        (
            "_c: ordered(2) ~ Normal([0.0, 1.0], 1)",
            "differ between elements",
        ),
        (
            "_c: ordered(2) ~ MultivariateNormal([0.0, 0.0], eye(2))",
            "is a joint distribution",
        ),
        (
            "_s: positive[2] ~ MultivariateNormal([0.0, 0.0], eye(2))",
            "is a joint distribution",
        ),
    ] {
        let rejected = log_prior(body).unwrap_err();
        assert!(
            rejected.starts_with("E0290") && rejected.contains(why),
            "{body}: {rejected}"
        );
    }
}

const COUNTS: [usize; 4] = [23, 71, 66, 40];

/// Runs a program whose data are categories, observed `COUNTS` times. The probabilities of the
/// categories have a Dirichlet prior. The posterior is a Dirichlet distribution, whose parameters
/// are the sums of counts and prior concentrations.
fn categories(name: &str, program: &str) -> RunResult {
    let folder = std::env::temp_dir().join(format!("bnnc-supports-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let words = ["a", "b", "c", "d"];
    let rows = words
        .iter()
        .zip(COUNTS)
        .flat_map(|(word, count)| vec![format!("0,{word}\n"); count]);
    std::fs::write(folder.join("c.csv"), format!("x,y\n{}", rows.collect::<String>())).unwrap();
    let text = format!(
        "data d = csv(\"c.csv\")
model M(x: real) -> y: index(4) {{
  p: simplex(4) ~ Dirichlet([1.0, 2.0, 1.0, 1.0])
  y ~ Categorical(log(p) + 0 * x)
}}
{program}"
    );
    run(folder.join("c.bnn"), &text)
}

fn run(path: PathBuf, text: &str) -> RunResult {
    let compiled = compile::text(&path, text, &compile::options("cranelift", None));
    compile::run(&compiled.manifest, 1)
}

/// Returns the parameters of the posterior, which are the counts plus the prior concentrations.
fn posterior() -> [f64; 4] {
    [24.0, 73.0, 67.0, 41.0]
}

fn summary(result: &RunResult, infer: &str, site: &str) -> Vec<(f64, f64)> {
    let outcome = result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == infer)
        .unwrap();
    let site = outcome.sites.iter().find(|found| found.name == site).unwrap();
    site.elements.iter().map(|s| (s.mean, s.sd)).collect()
}

/// The mode of the posterior is `(n + a - 1) / (N + sum (a - 1))`. If a posterior fixes the site,
/// the site keeps this value.
#[test]
fn map_finds_the_mode_on_the_simplex() {
    let result = categories(
        "mode",
        "infer mode = map(M, d) { epochs = 500, batch = 0, optimiser = Adam(3e-2), precision = f64 }
posterior K of M { p = mode.p }
infer kept = vi(K, d) { epochs = 1, batch = 0, precision = f64 }
",
    );
    for infer in ["mode", "kept"] {
        let found = summary(&result, infer, "p");
        for ((mean, sd), a) in found.iter().zip(posterior()) {
            close(infer, *mean, (a - 1.0) / 201.0, 1e-4);
            close(infer, *sd, 0.0, 1e-12);
        }
    }
}

/// Variational families on three reals are transformed to the simplex of four shares. The means are
/// correct up to two errors: the Monte Carlo error of 1000 draws, and the error of the family,
/// whose skewness differs from the skewness of the posterior. The standard deviations of the joint
/// family are also correct.
#[test]
fn families_on_the_reals_are_transformed_to_the_simplex() {
    let result = categories(
        "transformed",
        "posterior N of M { p ~ Normal(scale = 0.1) }
posterior L of M { p ~ LowRankNormal(rank = 2) }
infer apart = vi(N, d) { epochs = 2000, batch = 0, optimiser = Adam(3e-2), samples = 8, schedule = cosine }
infer joint = vi(L, d) { epochs = 2000, batch = 0, optimiser = Adam(3e-2), samples = 8, schedule = cosine }
",
    );
    let a = posterior();
    let total: f64 = a.iter().sum();
    for infer in ["apart", "joint"] {
        let found = summary(&result, infer, "p");
        close("the sum", found.iter().map(|(mean, _)| mean).sum(), 1.0, 1e-5);
        for ((mean, sd), a) in found.iter().zip(a) {
            let exact = (a * (total - a) / (total * total * (total + 1.0))).sqrt();
            close(infer, *mean, a / total, 0.15 * exact);
            if infer == "joint" {
                close(infer, *sd, exact, 0.1 * exact);
            }
        }
    }
}

/// If the family is `Dirichlet`, the optimum is the exact posterior.
#[test]
fn a_family_on_the_simplex_finds_the_posterior() {
    let result = categories(
        "dirichlet",
        "posterior Q of M { p ~ Dirichlet(concentration = 30) }
infer fit = vi(Q, d) { epochs = 4000, batch = 0, optimiser = Adam(5e-1), samples = 32, schedule = cosine }
",
    );
    let a = posterior();
    let total: f64 = a.iter().sum();
    for ((mean, sd), a) in summary(&result, "fit", "p").into_iter().zip(a) {
        let exact = (a * (total - a) / (total * total * (total + 1.0))).sqrt();
        close("mean", mean, a / total, 0.15 * exact);
        close("sd", sd, exact, 0.1 * exact);
    }
}

/// The standard deviations are those of the textbooks. `HalfNormal` is normal only on half of the line, and `StudentT` with three degrees of freedom
/// has heavier tails.
#[test]
fn reports_distinguish_normal_priors_from_others_with_known_moments() {
    let folder = std::env::temp_dir().join(format!("bnnc-moments-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("d.csv"), "y\n1\n2\n3\n").unwrap();
    let text = "data d = csv(\"d.csv\")
        model M() -> y: real {
          a ~ Normal(3, 2)
          b: real[2] ~ Normal(0, 0.5)
          c ~ StudentT(3, 1, 2)
          e ~ Laplace(0, 1)
          f ~ Uniform(-1, 5)
          g: positive ~ Normal(0, 1)
          h: positive ~ HalfNormal(1)
          i ~ Cauchy(0, 1)
          y ~ Normal(a + sum(b) + c + e + f + g + h + i, 1)
        }
        posterior Q of M { a = best.a\n b, c, e, f, g, h, i ~ Point() }
        infer drawn = nuts(M, d)
        infer best = map(M, d)
        infer given = map(Q, d)";
    let compiled = compile::text(&folder.join("c.bnn"), text, &compile::options("cranelift", None));
    let half = (1.0 - 2.0 / PI).sqrt();
    for infer in &compiled.manifest.infers {
        for (name, is_normal, moments) in [
            ("a", true, Some((3.0, 2.0))),
            ("b", true, Some((0.0, 0.5))),
            ("c", false, Some((1.0, 12.0_f64.sqrt()))),
            ("e", false, Some((0.0, 2.0_f64.sqrt()))),
            ("f", false, None),
            ("h", false, Some(((2.0 / PI).sqrt(), half))),
            ("i", false, None),
        ] {
            let report = infer.reports.iter().find(|report| report.name == name).unwrap();
            let last = report.shape.resolve(&Sizes::default()).iter().product::<usize>() - 1;
            let found = report.prior.moments(last);
            assert_eq!(found.is_some(), moments.is_some(), "{name}");
            for (found, wanted) in found.into_iter().zip(moments) {
                close(name, found.0, wanted.0, 1e-9);
                close(name, found.1, wanted.1, 1e-9);
            }
            assert_eq!(report.prior.normal(last), found.filter(|_| is_normal), "{name}");
            assert_eq!(report.is_fixed, name == "a" && infer.name == "given", "{name}");
        }
        let truncated = infer.reports.iter().find(|report| report.name == "g").unwrap();
        assert_eq!(truncated.prior.normal(0), None);
    }
    let _ = std::fs::remove_dir_all(folder);
}
