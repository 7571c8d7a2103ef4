//! Factors on the prior and noise levels that maximise the marginal likelihood.

use crate::setup::{
    SEARCH, approximated, close, combined, compiled, compiled_in, factors, folder, log_normal, maximum,
    normals,
};
use bnnc_base::dtype::Precision;
use bnnc_kernels::pool::Pool;
use bnnc_laplace::marginal::LARGEST_FACTOR;
use bnnc_run::RunResult;
use bnnc_tests::compile;
use std::f64::consts::PI;

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.ln()).collect()
}

/// Returns the log density of the logarithm of a noise level. The noise level has a half-normal
/// prior of scale 1.
fn log_half_normal(log: f64) -> f64 {
    0.5 * (2.0 / PI).ln() - 0.5 * (2.0 * log).exp() + log
}

/// The model has two groups of weights and a noise level. For every form without approximation, the
/// search ends at the maximum of the marginal likelihood times the prior density of the noise.
#[test]
fn factors_of_layers_and_noise_maximise_the_marginal_likelihood() {
    let x: Vec<Vec<f64>> = (0..5).map(normals).collect();
    let terms = [
        (1.5, &x[0][..]),
        (-2.0, &x[1]),
        (0.7, &x[2]),
        (0.1, &x[3]),
        (-0.06, &x[4]),
    ];
    let clean = combined(&terms);
    let y = combined(&[(1.0, &clean), (0.4, &normals(5))]);
    let columns = [
        ("u", &x[0][..]),
        ("v", &x[1]),
        ("w", &x[2]),
        ("p", &x[3]),
        ("q", &x[4]),
        ("y", &y),
    ];
    let folder = folder("layers", &columns);
    let forms = ["full", "functional", "low_rank(5)"];
    let infer = |(at, form): (usize, &&str)| {
        format!(
            "infer l{at} = laplace(Line, rows) {{ {SEARCH}, prior_structure = layer, structure = {form} }}\n"
        )
    };
    let infers: String = forms.iter().enumerate().map(infer).collect();
    let model = "
data rows = csv(\"rows.csv\") { target = y }
model Line(u: real, v: real, w: real, p: real, q: real) -> y: real {
  a: real[3] ~ Normal(0, 1)
  b: real[2] ~ Normal(0, 0.5)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(a[0] * u + a[1] * v + a[2] * w + b[0] * p + b[1] * q, sigma)
}
";
    let result = compile::run(&compiled(&folder, &format!("{model}{infers}")).manifest, 1);
    let evidence = |at: &[f64]| {
        let [first, second] = [(-at[0]).exp(), 0.25 * (-at[1]).exp()];
        let parts: Vec<(f64, &[f64])> = [first, first, first, second, second]
            .into_iter()
            .zip(x.iter().map(Vec::as_slice))
            .collect();
        log_normal(&y, (2.0 * at[2]).exp(), &parts)
    };
    let best = maximum(&[0.0, 0.0, -1.0], |at| evidence(at) + log_half_normal(at[2]));
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    let place = |result: &RunResult, infer: &str| {
        let mut place = logs(&factors(result, infer));
        place.push(approximated(result, infer).values["sigma/loc"][0]);
        place
    };
    for at in 0..forms.len() {
        let name = format!("l{at}");
        close(&place(&result, &name), &best, 1e-3);
        let facts = &approximated(&result, &name).members[0].facts;
        // This error is of second order in the distance from the maximum.
        close(
            &[facts.log_marginal_likelihood.unwrap()],
            &[evidence(&best)],
            1e-4,
        );
    }
    // In single precision, the derivative with respect to the noise is a finite difference with the
    // step 0.02. The error of this finite difference is of second order.
    let single = compiled_in(Precision::F32, &folder, &format!("{model}{infers}"));
    let result = compile::run(&single.manifest, 1);
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
    close(&place(&result, "l0"), &best, 5e-3);
}

/// If each weight has its own factor, an input without information is removed. The factors of the
/// other weights equal the result of cyclic maximisation in closed form (Tipping and Faul 2003,
/// "Fast marginal likelihood maximisation for sparse Bayesian models", section 3).
#[test]
fn a_factor_for_each_weight_removes_uninformative_inputs() {
    let x: Vec<Vec<f64>> = (0..4).map(normals).collect();
    let clean = combined(&[(1.2, &x[0]), (-0.5, &x[1])]);
    // The noise is made orthogonal to the last input, so that this input carries no information.
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let noise = normals(6);
    let share = product(&noise, &x[3]) / product(&x[3], &x[3]);
    let y = combined(&[(1.0, &clean), (0.3, &noise), (-0.3 * share, &x[3])]);
    let folder = folder(
        "each",
        &[("u", &x[0]), ("v", &x[1]), ("w", &x[2]), ("p", &x[3]), ("y", &y)],
    );
    let text = format!(
        "
data rows = csv(\"rows.csv\") {{ target = y }}
model Line(u: real, v: real, w: real, p: real) -> y: real {{
  a: real[4] ~ Normal(0, 1)
  y ~ Normal(a[0] * u + a[1] * v + a[2] * w + a[3] * p, 0.3)
}}
infer full = laplace(Line, rows) {{ {SEARCH}, prior_structure = diagonal }}
"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    let part = |variances: &[f64]| -> Vec<(f64, Vec<f64>)> {
        variances.iter().copied().zip(x.iter().cloned()).collect()
    };
    let evidence = |variances: &[f64]| {
        let parts = part(variances);
        let parts: Vec<(f64, &[f64])> = parts.iter().map(|(v, x)| (*v, x.as_slice())).collect();
        log_normal(&y, 0.09, &parts)
    };
    // If the variances of the other weights are fixed, the best variance of one weight has a closed
    // form.
    let mut variances = vec![1.0; 4];
    for _ in 0..2000 {
        for at in 0..4 {
            let mut others = variances.clone();
            others[at] = 0.0;
            let parts = part(&others);
            let parts: Vec<(f64, &[f64])> = parts.iter().map(|(v, x)| (*v, x.as_slice())).collect();
            let (s, q) = forms(&x[at], &y, 0.09, &parts);
            variances[at] = ((q * q - s) / (s * s)).max(0.0);
        }
    }
    assert!(
        variances[0].min(variances[1]) > 0.0 && variances[3] == 0.0,
        "{variances:?}"
    );
    let found = approximated(&result, "full");
    let facts = &found.members[0].facts;
    close(
        &[facts.log_marginal_likelihood.unwrap()],
        &[evidence(&variances)],
        1e-3,
    );
    let [(_, lowest), (_, highest)] = &facts.prior_precision[..] else {
        panic!("{facts:?}");
    };
    let greatest = variances
        .iter()
        .fold(0.0, |greatest: f64, variance| greatest.max(*variance));
    close(&logs(&[*lowest]), &logs(&[1.0 / greatest]), 1e-2);
    assert!(*highest > 1e-3 * LARGEST_FACTOR, "{highest}");
    assert!(found.values["a/loc"][3].abs() < 1e-3);
}

/// Returns `x' C^-1 x` and `x' C^-1 y` for the covariance `C` of [`log_normal`], by conjugate gradients.
fn forms(x: &[f64], y: &[f64], noise: f64, parts: &[(f64, &[f64])]) -> (f64, f64) {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let apply = |vector: &[f64]| -> Vec<f64> {
        let mut product: Vec<f64> = vector.iter().map(|value| noise * value).collect();
        for (variance, column) in parts {
            let share = variance * dot(column, vector);
            product
                .iter_mut()
                .zip(*column)
                .for_each(|(sum, value)| *sum += share * value);
        }
        product
    };
    let (mut solved, mut residual) = (vec![0.0; x.len()], x.to_vec());
    let mut direction = residual.clone();
    for _ in 0..20 {
        let (product, before) = (apply(&direction), dot(&residual, &residual));
        if before < 1e-28 {
            break;
        }
        let step = before / dot(&direction, &product);
        for (at, value) in solved.iter_mut().enumerate() {
            *value += step * direction[at];
            residual[at] -= step * product[at];
        }
        let ratio = dot(&residual, &residual) / before;
        direction = direction
            .iter()
            .zip(&residual)
            .map(|(d, r)| r + ratio * d)
            .collect();
    }
    (dot(x, &solved), dot(y, &solved))
}

/// The model has two outputs, each with its own noise level, and one factor for all weights. The
/// first output has two weights.
#[test]
fn several_noise_levels_are_tuned_together() {
    let x: Vec<Vec<f64>> = (0..2).map(normals).collect();
    let [y, z] = [(1.3, 0, 0.5, 7), (-0.6, 1, 0.2, 8)]
        .map(|(weight, input, noise, own)| combined(&[(weight, &x[input]), (noise, &normals(own))]));
    let folder = folder("noises", &[("u", &x[0]), ("v", &x[1]), ("y", &y), ("z", &z)]);
    let text = format!(
        "
data rows = csv(\"rows.csv\") {{ inputs = [u, v] }}
model Two(u: real, v: real) -> y: real, z: real {{
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  sigma: positive[2] ~ HalfNormal(1)
  y ~ Normal(a * u, sigma[0])
  z ~ Normal(b * v, sigma[1])
}}
infer l = laplace(Two, rows) {{ {SEARCH} }}
"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    let evidence = |at: &[f64]| {
        let variance = (-at[0]).exp();
        let one = |y: &[f64], log: f64, x: &[f64]| {
            log_normal(y, (2.0 * log).exp(), &[(variance, x)]) + log_half_normal(log)
        };
        one(&y, at[1], &x[0]) + one(&z, at[2], &x[1])
    };
    let best = maximum(&[0.0, -1.0, -1.0], evidence);
    let found = approximated(&result, "l");
    let place: Vec<f64> = logs(&factors(&result, "l"))
        .into_iter()
        .chain(found.values["sigma/loc"].iter().copied())
        .collect();
    close(&place, &best, 1e-3);
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
}

/// The noise level is given, and the temperature is 2. Let `t` be the tuned factor and `a` the
/// maximum of the untempered density, `x'y / (h + t)`. The effective number of parameters under the
/// square root of the likelihood equals `t a^2`: `1 - t / (h / 2 + t) = t a^2`.
#[test]
fn a_temperature_changes_the_tuned_factor() {
    let x = normals(0);
    let y = combined(&[(0.8, &x), (1.0, &normals(1))]);
    let folder = folder("tempered", &[("x", &x), ("y", &y)]);
    let text = format!(
        "
data rows = csv(\"rows.csv\") {{ target = y }}
model Line(x: real) -> y: real {{
  a ~ Normal(0, 1)
  y ~ Normal(a * x, 1)
}}
infer l = laplace(Line, rows) {{ {SEARCH}, temperature = 2 }}
"
    );
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (h, xy) = (dot(&x, &x), dot(&x, &y));
    let a = |t: f64| xy / (h + t);
    let excess = |t: f64| 1.0 - t / (0.5 * h + t) - t * a(t).powi(2);
    let (mut low, mut high) = (1e-3, 100.0);
    assert!(excess(low) > 0.0 && excess(high) < 0.0);
    while high - low > 1e-12 {
        let middle = 0.5 * (low + high);
        match excess(middle) > 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    close(&logs(&factors(&result, "l")), &logs(&[low]), 1e-3);
    close(&[approximated(&result, "l").values["a/loc"][0]], &[a(low)], 1e-3);
    let covariance = approximated(&result, "l").members[0]
        .posterior
        .variances(&Pool::new(1));
    close(&covariance, &[1.0 / (0.5 * h + low)], 1e-4);
}

/// The report of the search describes the epoch whose states are kept. A search that ends at this
/// epoch gives the same result.
#[test]
fn the_kept_epoch_is_reported() {
    let x = normals(0);
    let y = combined(&[(0.8, &x), (0.5, &normals(1))]);
    let folder = folder("kept", &[("x", &x), ("y", &y)]);
    let search = |epochs: usize| {
        let text = format!(
            "
data rows = csv(\"rows.csv\") {{ target = y }}
model Line(x: real) -> y: real {{
  a ~ Normal(0, 1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(a * x, sigma)
}}
infer l = laplace(Line, rows) {{ epochs = {epochs}, batch = 0, optimiser = Adam(0.7), schedule = constant, online = true }}
"
        );
        let compiled = compiled(&folder, &text);
        let result = compile::run(&compiled.manifest, 1);
        let reported =
            bnnc_report::result::json(&compiled.manifest, &result)["infer"]["l"]["diagnostics"].clone();
        (approximated(&result, "l").clone(), reported)
    };
    let (whole, reported) = search(20);
    let best = whole.fitted.best_epoch;
    assert!(best > 0 && best < 20, "{best}");
    assert_eq!(reported["best_epoch"].as_u64(), Some(best as u64));
    assert_eq!(reported["epochs"].as_u64(), Some(20));
    assert!(
        reported["loss"].is_null() && reported["log_marginal_likelihood"].is_f64(),
        "{reported}"
    );
    let (until, _) = search(best);
    assert_eq!(until.fitted.best_epoch, best);
    assert_eq!(until.values, whole.values);
}
