//! Tests warnings about Laplace approximations whose curvature leaves out a relevant part of the
//! second derivative.

use crate::support::trial::Trial;

/// The number of rows, and the standard deviation of the noise.
const ROWS: f64 = 20.0;
const NOISE: f64 = 0.5;

/// Returns a program whose rows have the mean `mean`. The model represents this mean as `exp(k)`,
/// and the prior of `k` has the standard deviation `prior`.
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

/// Returns the maximum of the posterior, and the standard deviation of `k` by two formulas: from
/// the Gauss-Newton matrix, and from the whole second derivative.
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
        let (output, result) = trial.run(&[]);
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
        let sd = result["infer"]["fit"]["parameters"]["k"]["sd"]
            .as_f64()
            .expect("a number");
        assert!((sd / narrow - 1.0).abs() < 0.01, "{sd} {narrow}");
    }
    let trial = exponential(mean, prior, "curvature = hessian");
    let (output, result) = trial.run(&[]);
    output.assert_sound();
    assert!(!output.stderr.contains("E0671"), "{}", output.stderr);
    let sd = result["infer"]["fit"]["parameters"]["k"]["sd"]
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

/// Returns a program whose outputs fall with `x`, while the slope `b * b` of its model cannot be
/// negative. The maximum of the posterior has `b` at 0, where the outputs do not depend on `b` to
/// first order.
fn square(options: &str) -> Trial {
    let rows: String = inputs().iter().map(|x| format!("{x},{}\n", -x)).collect();
    let program = format!(
        "data d = csv(\"d.csv\") {{ target = y }}
model M(x: real) -> y: real {{
  a ~ Normal(0, 3)
  b ~ Normal(0, 3)
  y ~ Normal(a + b * b * x, {NOISE})
}}
infer fit = laplace(M, d) {{ {options} }}
"
    );
    Trial::new()
        .file("d.csv", format!("x,y\n{rows}"))
        .program(&program)
}

/// Returns the inputs of [`square`], with the mean 0.
fn inputs() -> Vec<f64> {
    (0..20).map(|row| 0.2 * (f64::from(row) - 9.5)).collect()
}

/// Without the second derivatives of the outputs, only the prior remains along `b`. The residuals
/// `-x` at `b = 0` add `2 sum(x^2) / noise^2` to the curvature.
#[test]
fn a_curvature_without_the_residuals_is_reported_where_it_makes_a_deviation_too_large() {
    let squares: f64 = inputs().iter().map(|x| x * x).sum();
    let prior: f64 = 3.0_f64.powi(-2);
    let whole = (prior + 2.0 * squares / NOISE.powi(2)).sqrt().recip();
    let wide = prior.sqrt().recip();
    for options in ["", "precision = f64", "structure = kronecker"] {
        let trial = square(options);
        let (output, result) = trial.run(&[]);
        output.assert_warning("E0671", &["`b` in `fit` is too large", "`curvature = "]);
        let factor = output.stderr.split("too large: it is ").nth(1);
        let factor: f64 = factor
            .and_then(|rest| rest.split(' ').next()?.parse().ok())
            .expect("the warning contains the factor");
        // The factor has two digits.
        assert!(
            (factor * whole / wide - 1.0).abs() < 0.06,
            "{factor} {wide} {whole}"
        );
        let sd = result["infer"]["fit"]["parameters"]["b"]["sd"]
            .as_f64()
            .expect("a number");
        assert!((sd / wide - 1.0).abs() < 0.02, "{sd} {wide}");
    }
    let trial = square("curvature = hessian");
    let (output, result) = trial.run(&[]);
    output.assert_sound();
    assert!(!output.stderr.contains("E0671"), "{}", output.stderr);
    let sd = result["infer"]["fit"]["parameters"]["b"]["sd"]
        .as_f64()
        .expect("a number");
    assert!((sd / whole - 1.0).abs() < 0.02, "{sd} {whole}");
}

/// The inputs and outputs of [`shared_scale`].
fn pairs() -> Vec<(f64, f64)> {
    let pair = |row: u32| {
        let x = 0.1 * f64::from(row % 20) - 0.5;
        (x, 1.0 + 0.7 * x + 0.7 * (f64::from(row * 37 % 60) / 30.0 - 1.0))
    };
    (0..60).map(pair).collect()
}

/// Returns a program in which `s` is a slope and the scale of the noise. The scale is the same in
/// all rows.
fn shared_scale(options: &str) -> Trial {
    let rows: String = pairs().iter().map(|(x, y)| format!("{x},{y}\n")).collect();
    let program = format!(
        "data d = csv(\"d.csv\") {{ target = y }}
model M(x: real) -> y: real {{
  a ~ Normal(0, 1000)
  s: positive ~ Exponential(10000)
  y ~ Normal(a + s * x, s)
}}
posterior Q of M {{ a, s ~ FullRankNormal() }}
infer fit = laplace(M, d) {{ {options} }}
"
    );
    Trial::new()
        .file("d.csv", format!("x,y\n{rows}"))
        .program(&program)
}

/// With the inverse scale `u` and flat priors, the log posterior of `a` and `log s` is
/// `(n - 1) log u - sum((u (y - a) - x)^2) / 2`, with the Jacobian of `log s`. Maximised over `a`,
/// it depends on the centred `x` and `y` only, and its maximum solves a quadratic equation. There,
/// its negative second derivative is `[n u^2, u sum x; u sum x, sum w^2 + n - 1]` with
/// `w = u (y - a)`.
#[test]
fn a_parameter_of_an_argument_that_is_the_same_in_all_rows_gets_its_whole_curvature() {
    let pairs = pairs();
    let rows = pairs.len() as f64;
    let (of_x, of_y): (f64, f64) = pairs
        .iter()
        .fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let (mean_x, mean_y) = (of_x / rows, of_y / rows);
    let sum = |term: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|(x, y)| term(x - mean_x, y - mean_y)).sum()
    };
    let (yy, xy) = (sum(&|_, y| y * y), sum(&|x, y| x * y));
    let inverse = (xy + (xy * xy + 4.0 * (rows - 1.0) * yy).sqrt()) / (2.0 * yy);
    let scale = inverse.recip();
    let (of_a, across) = (rows * inverse.powi(2), inverse * of_x);
    // At the maximum, the mean of `w` is the mean of `x`.
    let of_log = inverse.powi(2) * yy + rows * mean_x * mean_x + rows - 1.0;
    let determinant = of_a * of_log - across * across;
    let (sd_of_a, sd_of_log) = ((of_log / determinant).sqrt(), (of_a / determinant).sqrt());
    // The Gaussian of `log s` is a log-normal distribution of `s`.
    let spread = sd_of_log.powi(2);
    let sd_of_s = scale * (0.5 * spread).exp() * (spread.exp() - 1.0).sqrt();
    // The rows follow the model, so the residuals nearly cancel under `ggn`.
    for (options, error) in [("curvature = hessian, precision = f64", 0.02), ("", 0.25)] {
        let result = shared_scale(options).result(&[]);
        let parameters = &result["infer"]["fit"]["parameters"];
        let close = |name: &str, part: &str, expected: f64, error: f64| {
            let found = parameters[name][part].as_f64().expect("a number");
            assert!((found / expected - 1.0).abs() < error, "{expected}\n{parameters}");
        };
        close("a", "mean", mean_y - scale * mean_x, 0.01);
        close("a", "sd", sd_of_a, error);
        close("s", "sd", sd_of_s, error);
    }
}
