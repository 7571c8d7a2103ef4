//! Joint variational families over several sites (groups). The density of a group is the product of
//! the densities of its members. A full covariance finds a Gaussian posterior exactly. Results use
//! the names of the sites.
#![allow(clippy::unwrap_used)]

use bnnc_base::shape::Sizes;
use bnnc_core::states::StateValues;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program;
use bnnc_graph::eval::evaluate;
use bnnc_graph::tensor::Tensor;
use bnnc_hir::elaborate;
use bnnc_hir::elaborate::posterior::Rest;
use bnnc_run::RunResult;
use bnnc_tests::compile;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::path::PathBuf;

fn close(what: &str, got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance,
        "{what}: {got} is not {want} to {tolerance}"
    );
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-groups-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn log_normal(x: f64, mean: f64, sd: f64) -> f64 {
    -0.5 * ((x - mean) / sd).powi(2) - sd.ln() - 0.5 * (2.0 * PI).ln()
}

/// A group that has a member of every kind. The members are in the order of the posterior's list.
/// Inside the group, `tau` is the scale of `w`. Outside the group, `m` depends on the group, and
/// `v` depends on `m`.
const MIXED: &str = "
model M(x: real) -> y: real {
  tau: positive ~ HalfNormal(2)
  w: real[2, 2] ~ Normal(0.5, tau)
  c: ordered(2) ~ Normal(0, 3)
  m             ~ Normal(tau, 1)
  v: real[2]    ~ Normal(m, 0.5)
  u: unit       ~ Uniform(0, 1)
  y ~ Normal(sum(w) + sum(c) + sum(v) + u * x, 1)
}
posterior Q of M {
  v, w, c, tau, u ~ FullRankNormal()
  m ~ Normal()
}
";

/// At the coordinates of a group, the prior density is a product. The factors of this product are
/// the prior densities of the members, and the Jacobians of `exp`, of the increments of an ordered
/// vector, and of the sigmoid.
#[test]
fn the_prior_of_a_group_is_the_product_with_the_jacobians() {
    let program = program::load("m.bnn", MIXED, &CompileOptions::default());
    assert!(!program.has_errors(), "{:?}", program.diagnostics);
    let module = &program.module;
    let model =
        elaborate::model::elaborate(module, module.models.ids().next().unwrap(), &HashMap::new()).unwrap();
    let of = module.posteriors.ids().next().unwrap();
    let posterior = elaborate::posterior::elaborate(module, of, &model, Rest::Rejected).unwrap();
    let densities = bnnc_rewrite::density::density(&model).unwrap();
    let (densities, model) = bnnc_rewrite::group::group(densities, model, &posterior);
    let names: Vec<&str> = model.sites.iter().map(|site| &*site.name).collect();
    assert_eq!(names, ["v+w+c+tau+u", "m"]);

    let z: [f64; 10] = [0.3, -0.8, 0.1, 0.9, -1.2, 0.4, -0.7, 0.6, -0.35, 1.1];
    let (v, w, free_c, log_tau, free_u) = (&z[..2], &z[2..6], &z[6..8], z[8], z[9]);
    let (tau, m) = (log_tau.exp(), 0.2);
    let c = [free_c[0], free_c[0] + free_c[1].exp()];
    let u = 1.0 / (1.0 + (-free_u).exp());
    let mut want = v.iter().map(|v| log_normal(*v, m, 0.5)).sum::<f64>();
    want += w.iter().map(|w| log_normal(*w, 0.5, tau)).sum::<f64>();
    want += c.iter().map(|c| log_normal(*c, 0.0, 3.0)).sum::<f64>() + 2f64.ln() + free_c[1];
    want += 2f64.ln() + log_normal(tau, 0.0, 2.0) + log_tau;
    want += (u * (1.0 - u)).ln();
    let prior = densities
        .priors
        .iter()
        .find(|prior| &*prior.site == "v+w+c+tau+u")
        .unwrap();
    assert_eq!(prior.depends_on.as_deref(), Some("m"));
    let inputs = [Tensor::new(vec![], vec![m]), Tensor::new(vec![10], z.to_vec())];
    let got = evaluate(&prior.distribution.log_density, &inputs, &Sizes::default());
    close("the prior", got[0].data[0], want, 1e-9);

    // A prior outside the group that depends on a member is now recorded as depending on the group.
    let prior = densities.priors.iter().find(|prior| &*prior.site == "m").unwrap();
    assert_eq!(prior.depends_on.as_deref(), Some("v+w+c+tau+u"));
    let got = evaluate(&prior.arguments, &[inputs[1].clone()], &Sizes::default());
    close("the scale outside", got[0].data[0], tau, 1e-12);

    let row = &densities.row_log_likelihood;
    let value = |param: &bnnc_graph::function::Value| match &**row.param_name(*param).unwrap() {
        "v+w+c+tau+u" => inputs[1].clone(),
        "x" => Tensor::new(vec![], vec![1.5]),
        _ => Tensor::new(vec![], vec![-0.4]),
    };
    let at: Vec<Tensor> = row.params.iter().map(value).collect();
    let mean = w.iter().chain(v).sum::<f64>() + c[0] + c[1] + 1.5 * u;
    let got = evaluate(row, &at, &Sizes::default())[0].data[0];
    close("the likelihood", got, log_normal(-0.4, mean, 1.0), 1e-9);
}

/// Returns rows `x1, x2, y` whose inputs are correlated, so that the posterior has strong
/// correlations. The numbers are given by a formula and do not come from a random generator.
fn rows() -> Vec<[f64; 3]> {
    (0..40)
        .map(|i| {
            let t = f64::from(i);
            let (a, b) = ((0.7 * t).sin(), (1.9 * t).cos());
            let x = [a + 0.3 * b, a - 0.3 * b];
            [
                x[0],
                x[1],
                0.8 * x[0] - 1.1 * x[1] + 0.5 + 0.5 * (2.3 * t + 1.0).sin(),
            ]
        })
        .collect()
}

const NOISE: f64 = 0.4;
const PRIOR: [f64; 3] = [1.0, 1.0, 2.0];

/// The exact Gaussian posterior of `(w1, w2, b)` and the log evidence.
struct Exact {
    mean: [f64; 3],
    covariance: [[f64; 3]; 3],
    log_evidence: f64,
}

fn exact() -> Exact {
    let mut precision = [[0.0; 3]; 3];
    let mut h = [0.0; 3];
    let mut squares = 0.0;
    for [x1, x2, y] in rows() {
        let x = [x1, x2, 1.0];
        for i in 0..3 {
            h[i] += x[i] * y / (NOISE * NOISE);
            for j in 0..3 {
                precision[i][j] += x[i] * x[j] / (NOISE * NOISE);
            }
        }
        squares += y * y / (NOISE * NOISE);
    }
    for (i, sd) in PRIOR.iter().enumerate() {
        precision[i][i] += 1.0 / (sd * sd);
    }
    let covariance = inverse(precision);
    let mean = covariance.map(|row| row.iter().zip(h).map(|(c, h)| c * h).sum::<f64>());
    let n = rows().len() as f64;
    let log_evidence = -0.5 * n * (2.0 * PI * NOISE * NOISE).ln() - 0.5 * squares
        + 0.5 * mean.iter().zip(h).map(|(m, h)| m * h).sum::<f64>()
        - 0.5 * determinant(precision).ln()
        - PRIOR.iter().map(|sd| sd.ln()).sum::<f64>();
    Exact {
        mean,
        covariance,
        log_evidence,
    }
}

fn determinant(a: [[f64; 3]; 3]) -> f64 {
    (0..3)
        .map(|i| {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            a[0][i] * (a[1][j] * a[2][k] - a[1][k] * a[2][j])
        })
        .sum()
}

/// Returns the inverse of a matrix, computed from cofactors.
fn inverse(a: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let determinant = determinant(a);
    let mut result = [[0.0; 3]; 3];
    for (i, row) in result.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            let (r, s) = ((j + 1) % 3, (j + 2) % 3);
            let (p, q) = ((i + 1) % 3, (i + 2) % 3);
            *entry = (a[r][p] * a[s][q] - a[r][q] * a[s][p]) / determinant;
        }
    }
    result
}

/// Returns the evidence lower bound for a Gaussian: the log evidence minus the KL divergence from
/// this Gaussian to the posterior.
fn bound(exact: &Exact, mean: [f64; 3], covariance: [[f64; 3]; 3]) -> f64 {
    let precision = inverse(exact.covariance);
    let mut kl = -3.0;
    for i in 0..3 {
        for j in 0..3 {
            kl += precision[i][j] * covariance[j][i];
            kl += (mean[i] - exact.mean[i]) * precision[i][j] * (mean[j] - exact.mean[j]);
        }
    }
    kl += (determinant(exact.covariance) / determinant(covariance)).ln();
    exact.log_evidence - 0.5 * kl
}

const LINEAR: &str = "
data d = csv(\"d.csv\")
model L(x: real[2]) -> y: real {
  w: real[2] ~ Normal(0, 1)
  b ~ Normal(0, 2)
  y ~ Normal(dot(w, x) + b, 0.4)
}
posterior Full of L { w, b ~ FullRankNormal(scale = 0.1) }
posterior Low of L { w, b ~ LowRankNormal(scale = 0.1) }
posterior Apart of L { w, b ~ Normal(scale = 0.1) }
posterior Bias of L {
  w ~ Normal(scale = 0.1)
  b = full.b
}
";

fn run(name: &str, infers: &str) -> RunResult {
    let folder = folder(name);
    let lines: String = rows().iter().map(|[a, b, y]| format!("{a},{b},{y}\n")).collect();
    std::fs::write(folder.join("d.csv"), format!("p,q,y\n{lines}")).unwrap();
    let text = format!("{LINEAR}{infers}");
    let compiled = compile::text(&folder.join("d.bnn"), &text, &compile::options("cranelift", None));
    compile::run(&compiled.manifest, 1)
}

fn values(result: &RunResult, infer: &str) -> StateValues {
    let outcome = result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == infer)
        .unwrap();
    outcome.splits[0].found.values().as_ref().clone()
}

fn joined(values: &StateValues, name: &str) -> Vec<f64> {
    [
        values[&format!("w/{name}")].clone(),
        values[&format!("b/{name}")].clone(),
    ]
    .concat()
}

fn softplus(x: f64) -> f64 {
    x.exp().ln_1p()
}

fn mean_of(values: &StateValues) -> [f64; 3] {
    joined(values, "loc").try_into().unwrap()
}

/// Returns `l transpose(l)`.
fn of_factor(l: &[Vec<f64>]) -> [[f64; 3]; 3] {
    let mut covariance = [[0.0; 3]; 3];
    for (i, row) in covariance.iter_mut().enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            *entry = l[i].iter().zip(&l[j]).map(|(a, b)| a * b).sum();
        }
    }
    covariance
}

fn full_covariance(values: &StateValues) -> [[f64; 3]; 3] {
    let (scale, factor) = (joined(values, "scale"), joined(values, "factor"));
    let entry = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => softplus(scale[i]),
        std::cmp::Ordering::Greater => softplus(scale[i]) * factor[3 * i + j] / 3f64.sqrt(),
    };
    of_factor(
        &(0..3)
            .map(|i| (0..3).map(|j| entry(i, j)).collect())
            .collect::<Vec<_>>(),
    )
}

fn low_covariance(values: &StateValues, rank: usize) -> [[f64; 3]; 3] {
    let (scale, factor) = (joined(values, "scale"), joined(values, "factor"));
    let row = |i: usize| {
        let mut row = vec![0.0; 3 + rank];
        row[i] = softplus(scale[i]);
        row[3..].copy_from_slice(&factor[rank * i..rank * (i + 1)]);
        row
    };
    of_factor(&(0..3).map(row).collect::<Vec<_>>())
}

/// With a full covariance, the optimum is the posterior. The mean and the covariance have the known
/// values, and the bound equals the log evidence. The bound of the low-rank family is closer to the
/// log evidence than the bound of independent normals. The best bound of independent normals is
/// known too. Each of their precisions equals a diagonal element of the posterior precision.
#[test]
fn a_full_covariance_over_two_sites_is_the_posterior() {
    let options =
        "epochs = 4000, batch = 0, optimiser = Adam(2e-2), schedule = cosine, samples = 32, precision = f64";
    let result = run(
        "linear",
        &format!(
            "infer full = vi(Full, d) {{ {options} }}
infer low = vi(Low, d) {{ {options} }}
infer apart = vi(Apart, d) {{ {options} }}
"
        ),
    );
    let exact = exact();
    let full = values(&result, "full");
    let (mean, covariance) = (mean_of(&full), full_covariance(&full));
    let sds = [0, 1, 2].map(|i| exact.covariance[i][i].sqrt());
    for (i, sd) in sds.iter().enumerate() {
        close("mean", mean[i], exact.mean[i], 0.02 * sd);
        for (j, other) in sds.iter().enumerate() {
            let (got, want) = (covariance[i][j], exact.covariance[i][j]);
            close("covariance", got, want, 0.02 * sd * other);
        }
    }
    let of_full = bound(&exact, mean, covariance);
    close("the bound", of_full, exact.log_evidence, 1e-3);

    let apart = values(&result, "apart");
    let precision = inverse(exact.covariance);
    let mut best = [[0.0; 3]; 3];
    let mut found = [[0.0; 3]; 3];
    for (i, scale) in joined(&apart, "scale").into_iter().enumerate() {
        best[i][i] = 1.0 / precision[i][i];
        found[i][i] = softplus(scale).powi(2);
    }
    let of_apart = bound(&exact, mean_of(&apart), found);
    close("independent", of_apart, bound(&exact, exact.mean, best), 5e-3);

    let low = values(&result, "low");
    let of_low = bound(&exact, mean_of(&low), low_covariance(&low, 1));
    assert!(of_low > of_apart + 0.3, "{of_low} is not above {of_apart}");
    assert!(of_low < exact.log_evidence + 1e-9);
}

/// States, summaries and reports use the names of the sites, not of the group. Therefore, an
/// inference block with a group can start from a block without a group and fix its sites. A block
/// without a group can also start from a block with a group.
#[test]
fn groups_keep_the_names_of_their_sites() {
    let options = "batch = 0, optimiser = Adam(1e-2), precision = f64";
    let result = run(
        "names",
        &format!(
            "infer apart = vi(Apart, d) {{ epochs = 200, {options} }}
infer full = vi(Full, d) {{ epochs = 1, {options}, start = apart }}
infer bias = vi(Bias, d) {{ epochs = 1, {options}, start = full }}
"
        ),
    );
    let full = values(&result, "full");
    let mut names: Vec<&str> = full.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["b/factor", "b/loc", "b/scale", "w/factor", "w/loc", "w/scale"]
    );
    assert_eq!((full["w/loc"].len(), full["w/factor"].len()), (2, 6));
    assert_eq!((full["b/loc"].len(), full["b/factor"].len()), (1, 3));
    // One step of Adam changes each parameter by the learning rate.
    for (infer, start) in [("full", "apart"), ("bias", "full")] {
        let (found, from) = (values(&result, infer), values(&result, start));
        for (now, before) in found["w/loc"].iter().zip(&from["w/loc"]) {
            close(infer, *now, *before, 0.0101);
        }
    }
    assert_eq!(values(&result, "bias")["b/loc"], full["b/loc"]);
    let outcome = result
        .outcomes
        .iter()
        .find(|outcome| outcome.name == "full")
        .unwrap();
    let sites: Vec<(&str, usize)> = outcome
        .sites
        .iter()
        .map(|site| (&*site.name, site.elements.len()))
        .collect();
    assert_eq!(sites, [("w", 2), ("b", 1)]);
}

fn divergences(family: &str) -> String {
    let text = format!(
        "data d = csv(\"d.csv\")
model L(x: real[2]) -> y: real {{
  w: real[2] ~ Normal(0, 1)
  b ~ Normal(0, 2)
  y ~ Normal(dot(w, x) + b, 0.4)
}}
posterior Q of L {{ w, b ~ {family} }}
infer fit = vi(Q, d) {{ epochs = 1 }}
"
    );
    let folder = folder("families");
    std::fs::write(folder.join("d.csv"), "p,q,y\n1,2,3\n2,1,0\n").unwrap();
    let compiled = compile::text(&folder.join("d.bnn"), &text, &compile::options("cranelift", None));
    let reports = compiled.manifest.infers[0].reports.iter();
    reports
        .map(|report| format!("{}: {}\n", report.name, report.kl))
        .collect()
}

/// The sites on one line share a family `on real[n]` if the family does not declare that it is not
/// shared. Sites never share an elementwise family.
#[test]
fn families_declare_whether_they_are_shared() {
    let shared = "one family and one divergence for `w`, `b`";
    for family in ["FullRankNormal()", "LowRankNormal(rank = 2)"] {
        let report = divergences(family);
        assert_eq!(report.matches(shared).count(), 2, "{report}");
        assert!(
            report.contains("w: exact") && report.contains("b: exact"),
            "{report}"
        );
    }
    for family in ["Radial()", "Normal()"] {
        assert!(!divergences(family).contains("one family"), "{family}");
    }
}

/// All sites of a hierarchical model are in one group. The values of constrained sites stay within
/// their supports.
#[test]
fn constrained_members_have_bijectors_of_their_own() {
    let folder = folder("mixed");
    std::fs::write(folder.join("d.csv"), "x,y\n0.5,1\n-1,0.3\n2,1.4\n0.1,0.9\n").unwrap();
    let text = format!(
        "data d = csv(\"d.csv\")
{MIXED}infer fit = vi(Q, d) {{ epochs = 300, batch = 0, optimiser = Adam(2e-2), precision = f64 }}
"
    );
    let compiled = compile::text(&folder.join("d.bnn"), &text, &compile::options("cranelift", None));
    let result = compile::run(&compiled.manifest, 1);
    let site = |name: &str| {
        let mut sites = result.outcomes[0].sites.iter();
        sites.find(|site| site.name == name).unwrap().clone()
    };
    assert_eq!(site("w").shape, [2, 2]);
    assert!(site("tau").elements[0].q05 > 0.0);
    let u = &site("u").elements[0];
    assert!(u.q05 > 0.0 && u.q95 < 1.0);
    let c = site("c").elements;
    assert!(c[0].mean < c[1].mean && c[0].q05 < c[1].q05 && c[0].q95 < c[1].q95);
    assert!(
        result.outcomes[0].splits[0]
            .found
            .fitted()
            .is_some_and(|fitted| fitted.loss.is_finite())
    );
}

/// The full covariance of 305300 weights would take 373 GB. Before memory is allocated, an error is
/// reported that recommends a remedy.
#[test]
fn a_full_covariance_beyond_the_memory_is_rejected() {
    let text = "
model N(x: real[4]) -> y: real {
  h1 = Dense(1000)
  h2 = Dense(300)
  y ~ Normal(sum(h2(tanh(h1(x)))), 0.5)
}
posterior Q of N { h1.*, h2.* ~ FullRankNormal() }
";
    let program = program::load("n.bnn", text, &CompileOptions::default());
    let module = &program.module;
    let model =
        elaborate::model::elaborate(module, module.models.ids().next().unwrap(), &HashMap::new()).unwrap();
    let of = module.posteriors.ids().next().unwrap();
    let rejected = elaborate::posterior::elaborate(module, of, &model, Rest::Rejected).unwrap_err();
    assert_eq!(rejected.code.id, "E0294");
    assert!(
        rejected.message.contains("305300 x 305300 numbers: 373 GB"),
        "{}",
        rejected.message
    );
    assert!(rejected.help[0].contains("LowRankNormal(rank = 5)"));
}
