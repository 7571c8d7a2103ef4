//! Tests warnings about Laplace approximations whose curvature leaves out a relevant part of the
//! second derivative.

use crate::support::trial::Trial;

/// The number of rows, and the standard deviation of the noise.
const ROWS: f64 = 20.0;
const NOISE: f64 = 0.5;

/// Returns a program whose rows have the mean `mean`. The model of this mean is `exp(k)`, and the
/// prior of `k` has the standard deviation `prior`.
fn exponential(mean: f64, prior: f64, options: &str) -> Trial {
    let rows: String = (0..20)
        .map(|row| format!("{}\n", mean + 0.1 * (f64::from(row) - 9.5)))
        .collect();
    let program = format!(
        "data d = csv(\"d.csv\")
model M() -> y: real {{
  k ~ Normal(0, {prior})
  y ~ Normal(exp(k), {NOISE})
}}
infer fit = laplace(M, d) {{ {options} }}
"
    );
    Trial::new().file("d.csv", format!("y\n{rows}")).program(&program)
}

/// Returns the maximum of the posterior and two standard deviations of `k`. The first standard
/// deviation follows from the Gauss-Newton matrix, and the second from the whole second derivative.
fn exact(mean: f64, prior: f64) -> (f64, f64, f64) {
    let weight = ROWS / NOISE.powi(2);
    let slope = |k: f64| weight * (mean - k.exp()) * k.exp() - k / prior.powi(2);
    let (mut low, mut high) = (0.0, mean.ln());
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        match slope(middle) > 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    let gauss_newton = weight * (2.0 * low).exp() + prior.powi(-2);
    let whole = gauss_newton - weight * (mean - low.exp()) * low.exp();
    (low, gauss_newton.sqrt().recip(), whole.sqrt().recip())
}

/// The prior keeps `k` far below the logarithm of the mean, so that the residuals do not cancel.
#[test]
fn a_curvature_without_the_residuals_is_reported_where_it_makes_a_deviation_too_small() {
    let (mean, prior) = (10.0, 0.03);
    let (maximum, narrow, whole) = exact(mean, prior);
    let ratio = whole / narrow;
    assert!(ratio > 1.4, "{maximum} {ratio}");
    for options in [
        "",
        "precision = f64",
        "structure = diagonal",
        "structure = kronecker",
    ] {
        let trial = exponential(mean, prior, options);
        let output = trial.bnnc("run", &[]);
        let factor = format!("at least {:.3} times", ratio);
        let factor = factor.replace(
            &format!("{ratio:.3}"),
            &format!("{}", (ratio * 10.0).round() / 10.0),
        );
        output.assert_warning(
            "E0671",
            &[
                "`k` in `fit`",
                "`curvature = ggn`",
                "curvature = hessian`",
                &factor,
            ],
        );
        let sd = trial.result(&[])["infer"]["fit"]["parameters"]["k"]["sd"]
            .as_f64()
            .expect("a number");
        assert!((sd / narrow - 1.0).abs() < 0.01, "{sd} {narrow}");
    }
    let trial = exponential(mean, prior, "curvature = hessian");
    let output = trial.bnnc("run", &[]);
    output.assert_sound();
    assert!(!output.stderr.contains("E0671"), "{}", output.stderr);
    let sd = trial.result(&[])["infer"]["fit"]["parameters"]["k"]["sd"]
        .as_f64()
        .expect("a number");
    assert!((sd / whole - 1.0).abs() < 0.01, "{sd} {whole}");
}

/// If the prior lets `k` reach the logarithm of the mean, both curvatures agree.
#[test]
fn a_curvature_without_the_residuals_is_not_reported_where_the_model_fits() {
    let (_, narrow, whole) = exact(6.0, 3.0);
    assert!((whole / narrow - 1.0).abs() < 0.01, "{narrow} {whole}");
    for options in ["", "precision = f64"] {
        let output = exponential(6.0, 3.0, options).bnnc("run", &[]);
        output.assert_sound();
        assert!(!output.stderr.contains("E0671"), "{}", output.stderr);
    }
}
