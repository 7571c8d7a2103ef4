//! Tests the default start values of posterior families: training starts with a finite loss and
//! reaches the posterior.

use super::support::trial::Trial;

/// Returns the mean and the standard deviation of a parameter in the result of `fit`.
fn posterior(trial: &Trial, name: &str) -> (f64, f64) {
    let result = trial.result(&[]);
    let part = |part: &str| result["infer"]["fit"]["parameters"][name][part].as_f64();
    part("mean").zip(part("sd")).expect("two numbers")
}

/// Compares moments of about 1000 draws with exact ones. The standard error of the mean is then 0.03
/// standard deviations, and that of the standard deviation is at most 0.04 of them. The tolerance 0.15
/// is four to five standard errors.
fn assert_near(found: (f64, f64), exact: (f64, f64), family: &str) {
    let off = (found.0 - exact.0).abs().max((found.1 - exact.1).abs());
    assert!(off < 0.15 * exact.1, "{family}: {found:?}, exactly {exact:?}");
}

/// The counts 1, 3 and 2, whose rate has a gamma prior.
fn rate(family: &str, steps: u32) -> Trial {
    let program = format!(
        "data d = csv(\"d.csv\")
model M() -> y: count {{
  r ~ Gamma(2, 1)
  y ~ Poisson(rate = r)
}}
posterior Q of M {{ r ~ {family}() }}
infer fit = vi(Q, d) {{ steps = {steps}, optimiser = Adam(1e-2), schedule = cosine, samples = 8 }}
"
    );
    Trial::new().file("d.csv", "y\n1\n3\n2\n").program(&program)
}

/// The gamma prior is conjugate: the posterior has shape `2 + 6` and rate `1 + 3`.
#[test]
fn a_gamma_family_reaches_the_conjugate_posterior_from_its_default_start() {
    let (shape, rate_of) = (8.0f64, 4.0);
    let exact = (shape / rate_of, shape.sqrt() / rate_of);
    assert_near(posterior(&rate("Gamma", 20000), "r"), exact, "Gamma");
}

/// With a tail index of 0.05, these families have no mean, or some of their draws underflow to zero.
#[test]
fn families_with_power_tails_start_with_a_finite_loss() {
    let families = [
        "Gamma",
        "InverseGamma",
        "Weibull",
        "HalfStudentT",
        "Chi2",
        "Pareto",
    ];
    let positive = families.into_iter().map(|family| rate(family, 200));
    for trial in positive.chain([centre("StudentT", 200)]) {
        let output = trial.bnnc("run", &[]);
        assert!(!output.stderr.contains("error["), "{}", output.stderr);
        output.assert_sound();
    }
}

/// The mean of a Gaussian with known standard deviation one and a Gaussian prior.
fn centre(family: &str, steps: u32) -> Trial {
    let program = format!(
        "data d = csv(\"d.csv\")
model M() -> y: real {{
  a ~ Normal(0, 2)
  y ~ Normal(a, 1)
}}
posterior Q of M {{ a ~ {family}() }}
infer fit = vi(Q, d) {{ steps = {steps}, optimiser = Adam(1e-2), schedule = cosine, samples = 8 }}
"
    );
    Trial::new()
        .file("d.csv", "y\n0.5\n1.5\n2.0\n1.0\n")
        .program(&program)
}

/// The KL divergence
/// of an interval of width `2 w` from a Gaussian posterior with standard deviation `s` is
/// `w^2 / (6 s^2) - log(2 w)` plus a constant. At its minimum `w = sqrt(3) s`, the interval has the mean
/// and the standard deviation of the posterior.
#[test]
fn a_uniform_family_starts_with_an_interval_and_reaches_its_optimum() {
    let precision: f64 = 0.25 + 4.0;
    let exact = (5.0 / precision, precision.sqrt().recip());
    assert_near(posterior(&centre("Uniform", 5000), "a"), exact, "Uniform");
}

/// The locations of a matrix start at random, so that units differ. The ends of an interval then
/// enclose a random interval with a positive width.
#[test]
fn the_ends_of_a_uniform_family_of_a_matrix_are_in_order() {
    let rows: String = (0..40)
        .map(|row| {
            let x = f64::from(row % 9) / 4.0 - 1.0;
            format!("{x},{}\n", (2.0 * x).sin())
        })
        .collect();
    let program = "data d = csv(\"d.csv\") { target = y }
model M(x: real[k]) -> y: real {
  hidden = Dense(8)
  o = Dense(1)
  y ~ Normal(o(tanh(hidden(x)))[0], 0.3)
}
posterior Q of M {
  hidden.*, o.* ~ Uniform()
}
infer fit = vi(Q, d) { steps = 400 }
";
    let trial = Trial::new()
        .file("d.csv", format!("x,y\n{rows}"))
        .program(program);
    trial.bnnc("run", &[]).assert_sound();
}

/// With a normal family, the bound at the optimum is the log evidence: the outputs have the
/// covariance `1 + 4 j`, where all elements of `j` are one. Its determinant is `1 + 4 n`.
#[test]
fn the_printed_bound_is_the_evidence_within_its_error() {
    let result = centre("Normal", 5000).result(&[]);
    let diagnostics = &result["infer"]["fit"]["diagnostics"];
    let number = |name: &str| diagnostics[name].as_f64().expect(name);
    let y = [0.5f64, 1.5, 2.0, 1.0];
    let (n, sum, squares) = (4.0, y.iter().sum::<f64>(), y.iter().map(|y| y * y).sum::<f64>());
    let determinant: f64 = 1.0 + 4.0 * n;
    let square = squares - 4.0 * sum * sum / determinant;
    let evidence = -0.5 * (n * std::f64::consts::TAU.ln() + determinant.ln() + square) / n;
    let (bound, error) = (number("elbo_per_row"), number("elbo_per_row_error"));
    assert!(
        (bound - evidence).abs() < 5.0 * error,
        "{bound} ± {error}, exactly {evidence}"
    );
    assert!(error < 0.01, "{error}");
}

/// The `draw` of a family determines its starts. Here, a program declares another `Uniform`, with a centre and a
/// width, and a `Box` that is the same distribution.
#[test]
fn starts_are_drawn_by_the_draw_of_their_distribution() {
    for name in ["Uniform", "Box"] {
        let program = format!(
            "dist {name}(centre: real, width: positive) on real {{
  log_density(x) = if abs(x - centre) < width {{ -log(2 * width) }} else {{ -1e30 }}
  draw           = centre + width * (2 * standard_uniform() - 1)
}}
data d = csv(\"d.csv\")
model M() -> y: real {{
  w: real[40] ~ Normal(0, 1)
  y ~ Normal(sum(w), 1)
}}
posterior Q of M {{ w ~ Normal(loc = {name}(100, 1), scale = 0.001) }}
infer fit = vi(Q, d) {{ steps = 1, optimiser = SGD(1e-30) }}
"
        );
        let trial = Trial::new().file("d.csv", "y\n0.5\n1.5\n").program(&program);
        let result = trial.result(&[]);
        let means = &result["infer"]["fit"]["parameters"]["w"]["mean"];
        let means = means.as_array().expect("forty means");
        let means: Vec<f64> = means.iter().filter_map(|mean| mean.as_f64()).collect();
        // The means of 1000 draws are within 5 standard errors, 0.0002, of the locations.
        assert!(
            means.iter().all(|mean| (mean - 100.0).abs() < 1.001),
            "{name}: {means:?}"
        );
        let ends = means
            .iter()
            .fold((f64::INFINITY, -f64::INFINITY), |(low, high), mean| {
                (low.min(*mean), high.max(*mean))
            });
        // Of 40 uniform draws, all are in one half with a probability of 2e-12.
        assert!(ends.0 < 100.0 && ends.1 > 100.0, "{name}: {ends:?}");
    }
}

/// The product of two variates is neither normal nor uniform.
#[test]
fn starts_that_are_not_linear_in_a_variate_are_rejected() {
    let program = "dist Product(scale: positive) on real {
  log_density(x) = -abs(x) / scale
  draw           = scale * standard_normal() * standard_normal()
}
data d = csv(\"d.csv\")
model M() -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w, 1)
}
posterior Q of M { w ~ Normal(loc = Product(1)) }
infer fit = vi(Q, d)
";
    let trial = Trial::new().file("d.csv", "y\n0.5\n1.5\n").program(program);
    let output = trial.bnnc("check", &[]);
    output.assert_error(
        "E0290",
        1,
        &[
            "starts cannot be drawn from `Product`",
            "use `Normal` or `Uniform`",
        ],
    );
}

/// A value outside the range of an argument has no finite position on the scale on which starts are drawn.
#[test]
fn starts_outside_the_range_of_their_argument_are_rejected() {
    for (kind, family, text) in [
        (
            "real",
            "Normal(loc = 0, scale = Uniform(0, 0.1))",
            "`scale` must be positive",
        ),
        (
            "real",
            "Normal(loc = 0, scale = Normal(-3, 0.1))",
            "drawn around -3",
        ),
        (
            "positive",
            "Point(Uniform(0, 1))",
            "must be positive, but this is drawn from 0 to 1",
        ),
        ("unit", "Point(Uniform(0, 1))", "must be between 0 and 1"),
    ] {
        let program = format!(
            "data d = csv(\"d.csv\")
model M() -> y: real {{
  w: {kind} ~ Normal(0.5, 1)
  y ~ Normal(w, 1)
}}
posterior Q of M {{ w ~ {family} }}
infer fit = vi(Q, d)
"
        );
        let trial = Trial::new().file("d.csv", "y\n0.5\n1.5\n").program(&program);
        trial.bnnc("check", &[]).assert_error("E0214", 1, &[text]);
    }
}
