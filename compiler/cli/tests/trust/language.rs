//! Tests how programs are understood: their names, scales, links and types.

use super::support::trial::Trial;
use serde_json::Value;
use std::fmt::Write;

/// Returns sixty positive numbers. The numbers resemble absolute values of draws from a normal
/// distribution with mean one and standard deviation one.
fn outcomes() -> Vec<f64> {
    // The fractional parts of multiples of the golden ratio are evenly spread probabilities. The
    // quantile function of the logistic distribution is close to the quantile function of the
    // normal distribution.
    let quantile = |at: usize| (at as f64 * 0.618_033_988_749_895 + 0.31).fract();
    (0..60)
        .map(|at| {
            let u = quantile(at);
            (1.0 + (u / (1.0 - u)).ln() / 1.7).abs()
        })
        .collect()
}

/// Returns a table: `x` alternates between 0 and 1, `g` is an integer from 1 to 3, and `event` is 0
/// or 1.
fn table() -> String {
    let mut text = "x,g,event,y\n".to_owned();
    for (at, y) in outcomes().iter().enumerate() {
        writeln!(text, "{},{},{},{y}", at % 2, at % 3 + 1, at % 2).expect("a string takes any text");
    }
    text
}

fn arrays() -> String {
    serde_json::json!({ "y": outcomes() }).to_string()
}

fn trial(program: &str) -> Trial {
    Trial::new()
        .file("d.csv", table())
        .file("d.json", arrays())
        .program(program)
}

fn number(value: &Value, path: &[&str]) -> f64 {
    let found = path.iter().fold(value, |value, key| &value[*key]);
    found.as_f64().unwrap_or_else(|| panic!("{path:?} is {found}"))
}

/// Returns the mean and the standard deviation of a density on an interval, by the midpoint rule.
fn moments((low, high): (f64, f64), log_density: impl Fn(f64) -> f64) -> (f64, f64) {
    let at = |step: usize| low + (high - low) * (step as f64 + 0.5) / 4000.0;
    let points: Vec<f64> = (0..4000).map(at).collect();
    let highest = points
        .iter()
        .map(|x| log_density(*x))
        .fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = points.iter().map(|x| (log_density(*x) - highest).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mean_of =
        |f: &dyn Fn(f64) -> f64| points.iter().zip(&weights).map(|(x, w)| f(*x) * w).sum::<f64>() / total;
    let mean = mean_of(&|x| x);
    (mean, mean_of(&|x| (x - mean).powi(2)).sqrt())
}

#[test]
fn a_dist_of_the_program_called_point_keeps_its_entropy() {
    let program = "data d = json(\"d.json\")

dist Point(loc: real, scale: positive) on real {
  log_density(x) = Normal(loc, scale).log_density(x)
  draw           = loc + scale * standard_normal()
  mean           = loc
  variance       = scale * scale
  entropy        = Normal(loc, scale).entropy
}

model M() -> y: real[n] {
  mu ~ Normal(0, 10)
  y ~ Normal(mu, 1)
}

posterior Q of M {
  mu ~ Point(scale = 0.1)
}

infer f = vi(Q, d) { epochs = 2000, optimiser = Adam(1e-2) }
";
    let result = trial(program).result(&[]);
    let exact = (1.0_f64 / (60.0 + 0.01)).sqrt();
    let found = number(&result, &["infer", "f", "parameters", "mu", "sd"]);
    // If the entropy were missing from the objective, the scale would shrink below 0.02.
    assert!((found / exact - 1.0).abs() < 0.2, "sd {found}, exact {exact}");
}

/// The prior is truncated far from the data, so that its normalisation matters. The distribution is
/// proper, whatever its name is. If it were treated as the library's `Flat`, its density would not
/// be normalised over the positive numbers. The location could then hardly fall below zero, and its
/// standard deviation would be 6.04 instead of 10.
#[test]
fn a_dist_of_the_program_called_flat_is_proper() {
    let program = "data d = csv(\"d.csv\") { inputs = [x], target = y }

dist Flat(loc: real, scale: positive) on real {
  log_density(x)  = Normal(loc, scale).log_density(x)
  log_cdf(x)      = Normal(loc, scale).log_cdf(x)
  log_survival(x) = Normal(loc, scale).log_survival(x)
}

model M(x: real) -> y: real {
  mu ~ Normal(0, 10)
  _w: positive ~ Flat(mu, 1)
  y ~ Normal(0 * x, 1)
}

infer f = random_walk(M, d) { draws = 20000, warmup = 2000, thin = 10, report = [mu] }
";
    let result = trial(program).result(&["--seed", "3"]);
    let found = |name: &str| number(&result, &["infer", "f", "parameters", "mu", name]);
    let ess = number(&result, &["infer", "f", "diagnostics", "ess_bulk"]);
    assert!(ess > 2000.0, "{ess}");
    // The standard error of a standard deviation is about `sd / sqrt(2 ess)`.
    let bound = 4.0 * 10.0 / (2.0 * ess).sqrt();
    assert!((found("sd") - 10.0).abs() < bound, "{}, ESS {ess}", found("sd"));
}

/// The posterior under a constant prior on the positive numbers is a truncated normal distribution.
/// The program declares no cumulative function, which a proper distribution would need here.
#[test]
fn a_dist_of_the_program_is_improper_where_it_says_so() {
    let program = "data d = json(\"d.json\")

dist Even() on real {
  improper       = true
  tails          = power(-1)
  log_density(x) = 0 * x
}

model M() -> y: real[n] {
  mu: positive ~ Even()
  y ~ Normal(mu, 20)
}

infer f = nuts(M, d) { chains = 2, warmup = 300, draws = 2000 }
";
    let result = trial(program).result(&[]);
    let data = outcomes();
    let exact = moments((0.0, 30.0), |mu| {
        data.iter().map(|y| -0.5 * ((y - mu) / 20.0).powi(2)).sum()
    });
    let found = |name: &str| number(&result, &["infer", "f", "parameters", "mu", name]);
    let ess = number(&result, &["infer", "f", "diagnostics", "ess_bulk"]);
    assert!(ess > 400.0, "{ess}");
    let error = 5.0 * exact.1 / ess.sqrt();
    assert!(
        (found("mean") - exact.0).abs() < error,
        "{}, {exact:?}",
        found("mean")
    );
    assert!(
        (found("sd") - exact.1).abs() < error,
        "{}, {exact:?}",
        found("sd")
    );
    trial(&program.replace("  improper       = true\n", ""))
        .bnnc("run", &[])
        .assert_error("E0290", 1, &["`Even` has no `cdf`"]);
}

#[test]
fn a_point_needs_a_value_without_noise() {
    let noisy = "dist P(loc: real) on real {\n  point = true\n  draw  = loc + standard_normal()\n}\n";
    trial(noisy)
        .bnnc("check", &[])
        .assert_error("E0235", 1, &["cannot have `noise`"]);
    let dense = "dist P(loc: real) on real {\n  point          = true\n  log_density(x) = x - loc\n}\n";
    let output = trial(dense).bnnc("check", &[]);
    output.assert_error("E0235", 1, &["needs `draw`", "cannot have `log_density`"]);
}

#[test]
fn a_narrower_type_of_an_output_truncates_its_distribution() {
    let program = "data d = csv(\"d.csv\")

model M(x: real) -> y: positive {
  mu ~ Normal(0, 1)
  y ~ Normal(mu + 0 * x, 1)
}

infer f = nuts(M, d) { chains = 2, warmup = 300, draws = 1000 }
";
    let result = trial(program).result(&[]);
    let data = outcomes();
    let exact = moments((-2.0, 3.0), |mu| {
        // `mass` is the probability of the positive reals under a normal distribution with mean
        // `mu`.
        let mass = 0.5 * bnnc_math::special::erfc(-mu / 2.0_f64.sqrt());
        let terms: f64 = data.iter().map(|y| -0.5 * (y - mu).powi(2) - mass.ln()).sum();
        terms - 0.5 * mu * mu
    });
    let (mean, sd) = (
        number(&result, &["infer", "f", "parameters", "mu", "mean"]),
        number(&result, &["infer", "f", "parameters", "mu", "sd"]),
    );
    // The effective sample size of the 2,000 draws is about 500. The bound is five standard errors.
    assert!(
        (mean - exact.0).abs() < 5.0 * exact.1 / 500.0_f64.sqrt(),
        "{mean}, exact {exact:?}"
    );
    assert!(
        (sd / exact.1 - 1.0).abs() < 5.0 / 1000.0_f64.sqrt(),
        "{sd}, exact {exact:?}"
    );
}

#[test]
fn branches_that_are_not_taken_do_not_reach_the_gradient() {
    let program = "data d = csv(\"d.csv\")

model M(x: real) -> y: real {
  p: unit ~ Beta(2, 2)
  y ~ Normal(if x > 0 { log(1 - p ^ x) } else { p }, 1)
}

infer f = nuts(M, d) { chains = 2, warmup = 300, draws = 1000 }
";
    let data = outcomes();
    let exact = moments((0.0, 1.0), |p| {
        let terms = data.iter().enumerate().map(|(at, y)| {
            let mean = if at % 2 == 1 { (1.0 - p).ln() } else { p };
            -0.5 * (y - mean).powi(2)
        });
        terms.sum::<f64>() + p.ln() + (1.0 - p).ln()
    });
    for backend in ["cranelift", "reference"] {
        let result = trial(program).result(&["--backend", backend, "--precision", "f64"]);
        let mean = number(&result, &["infer", "f", "parameters", "p", "mean"]);
        let bound = 5.0 * exact.1 / 300.0_f64.sqrt();
        assert!(
            (mean - exact.0).abs() < bound,
            "{backend}: {mean}, exact {exact:?}"
        );
    }
}

/// Trains two forms of one model, and checks that the site `site` has the same final value in both.
fn assert_alike(data: &str, first: &str, second: &str, site: &str) {
    let found = [first, second].map(|model| {
        let program = format!(
            "{data}\n{model}\ninfer f = map(M, d) {{ epochs = 30, batch = 60, optimiser = Adam(0.1) }}\n"
        );
        let result = trial(&program).result(&["--precision", "f64"]);
        number(&result, &["infer", "f", "parameters", site, "mean"])
    });
    // The two forms differ only in the order of summation.
    assert!((found[0] - found[1]).abs() < 1e-6, "{found:?}\n{first}\n{second}");
}

const CSV: &str = "data d = csv(\"d.csv\")\n";
const JSON: &str = "data d = json(\"d.json\")\n";

#[test]
fn vectors_of_a_dist_are_observed_inside_for() {
    let mixture = "dist Two(p: real[k], mu: real[k], s: positive) on real {
  log_density(x) = logsumexp(p[i] + Normal(mu[i], s).log_density(x) for i in 0..k)
}
";
    let whole = format!(
        "{JSON}{mixture}model M() -> y: real[n] {{
  a ~ Normal(0, 1)
  for i in 0..n {{
    y[i] ~ Two([-0.5, -0.9], [a, 2 * a], 0.7)
  }}
}}
"
    );
    let rows = format!(
        "{CSV}{mixture}model M(x: real) -> y: real {{
  a ~ Normal(0, 1)
  y ~ Two([-0.5, -0.9], [a, 2 * a], 0.7 + 0 * x)
}}
"
    );
    assert_alike("", &whole, &rows, "a");
}

#[test]
fn a_dist_of_dists_is_observed_inside_for() {
    let model =
        |likelihood: &str| format!("model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  {likelihood}\n}}\n");
    let each = model("for i in 0..n {\n    y[i] ~ Mixture(0.3, Normal(a, 1), Normal(i / n, 2))\n  }");
    let all = model("y ~ Mixture(0.3, Normal(a, 1), Normal([i / n for i in 0..n], 2))");
    assert_alike(JSON, &each, &all, "a");
}

#[test]
fn a_boolean_parameter_of_a_dist_is_a_condition() {
    let model = |ty: &str, condition: &str| {
        format!(
            "dist Censored(loc: real, event: {ty}) on real {{
  log_density(x) = if {condition} {{ Normal(loc, 1).log_density(x) }} else {{ log(1 - Normal(loc, 1).cdf(x)) }}
}}

model M(x: real, event: {ty}) -> y: real {{
  b ~ Normal(0, 1)
  y ~ Censored(b * x, event)
}}
"
        )
    };
    assert_alike(CSV, &model("bool", "event"), &model("real", "event > 0.5"), "b");
}

#[test]
fn integers_stay_indices_through_parameters_and_extrema() {
    let direct = "model M(g: int) -> y: real {\n  w: real[3] ~ Normal(0, 1)\n  y ~ Normal(w[g - 1], 1)\n}\n";
    let clipped = "model M(g: int) -> y: real {\n  w: real[3] ~ Normal(0, 1)\n  y ~ Normal(w[min(max(g - 1, 0), 2)], 1)\n}\n";
    let passed = "dist Of(w: real[k], j: index(k)) on real {
  log_density(x) = Normal(w[j], 1).log_density(x)
}

model M(g: int) -> y: real {
  w: real[3] ~ Normal(0, 1)
  y ~ Of(w, if g > 2 { 2 } else { g - 1 })
}
";
    for other in [clipped, passed] {
        assert_alike_in_sum(direct, other);
    }
}

fn assert_alike_in_sum(first: &str, second: &str) {
    let found = [first, second].map(|model| {
        let program = format!(
            "{CSV}{model}\ninfer f = map(M, d) {{ epochs = 20, batch = 60, optimiser = Adam(0.1) }}\n"
        );
        let result = trial(&program).result(&["--precision", "f64"]);
        let metrics = &result["infer"]["f"]["metrics"];
        number(metrics, &["log_likelihood"])
    });
    assert!((found[0] - found[1]).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_sum_may_end_at_a_counter() {
    let model = |before: &str, last: &str| {
        format!(
            "model M() -> y: real[n] {{
  a ~ Normal(0, 1)
  {before}
  for t in 1..n {{
    y[t] ~ Normal(a * {last} / t, 1)
  }}
}}
"
        )
    };
    let sums = model("", "sum(y[s] for s in 0..t)");
    let running = model("past = cumsum(y)", "past[t - 1]");
    assert_alike(JSON, &sums, &running, "a");
    let means = model("", "t * mean(y[s] for s in 0..t)");
    assert_alike(JSON, &means, &running, "a");
}

#[test]
fn ranges_of_a_counter_that_run_backwards_are_rejected() {
    for backwards in [
        "sum(y[s] for s in t..0)",
        "sum(y[t..0])",
        "prod(y[s] for s in t + 1..t)",
    ] {
        let model = format!(
            "model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  for t in 1..n {{\n    y[t] ~ Normal(a * {backwards}, 1)\n  }}\n}}\n"
        );
        let output = trial(&format!("{JSON}{model}infer f = map(M, d)\n")).bnnc("check", &[]);
        output.assert_error("E0214", 1, &["the end of a range", "this is below it"]);
    }
}

#[test]
fn reductions_that_need_an_element_have_one_for_every_counter() {
    let check = |range: &str, mean: &str| {
        let model = format!(
            "model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  for t in {range} {{\n    y[t] ~ Normal(a * {mean}, 1)\n  }}\n}}\n"
        );
        trial(&format!("{JSON}{model}infer f = map(M, d)\n")).bnnc("check", &[])
    };
    for mean in [
        "mean(y[0..t - 1])",
        "max(y[0..t - 1])",
        "min(y[s] for s in 1..t)",
        "mean([y[s] for s in 1..t])",
        "(if a > 0 { mean(y[0..t - 1]) } else { 0 })",
    ] {
        let name = ["mean", "max", "min"]
            .into_iter()
            .find(|name| mean.contains(name))
            .expect("a name");
        check("1..n", mean).assert_error(
            "E0214",
            1,
            &[
                &format!("`{name}` needs at least one element"),
                "start the counter at a value",
                "`if t > 1 {",
            ],
        );
        // The programs that follow the advice are correct.
        check("2..n", mean).assert_sound();
        check("1..n", &format!("(if t > 1 {{ {mean} }} else {{ 0 }})")).assert_sound();
    }
    check("1..n", "sum(y[0..t - 1])").assert_sound();
    check("1..n", "mean(y[0..t])").assert_sound();
}

#[test]
fn slices_and_lists_that_end_at_a_counter_are_reduced() {
    let model = |last: &str| {
        format!(
            "model M() -> y: real[n] {{\n  a ~ Normal(0, 1)\n  for t in 2..n {{\n    y[t] ~ Normal(a * {last}, 1)\n  }}\n}}\n"
        )
    };
    for (slice, written) in [
        ("sum(y[0..t])", "sum(y[s] for s in 0..t)"),
        ("mean(y[1..t])", "mean(y[s] for s in 1..t)"),
        ("logsumexp(y[0..t])", "log(sum(exp(y[s]) for s in 0..t))"),
        ("sum([2 * y[s] for s in 0..t])", "2 * sum(y[s] for s in 0..t)"),
    ] {
        assert_alike(JSON, &model(slice), &model(written), "a");
    }
    // The slices in these models extend to the end of the array `b`. A slice of `y` could not
    // extend to the end of `y`, because it would then contain the observed element itself.
    let level = |last: &str| model(last).replace("  for t", "  b: real[n] ~ Normal(0, 1)\n  for t");
    assert_alike(
        JSON,
        &level("max(b[t - 1..n])"),
        &level("max(b[s] for s in t - 1..n)"),
        "a",
    );
    let beyond = trial(&format!(
        "{JSON}{}infer f = map(M, d)\n",
        model("sum(y[t - 3..t])")
    ));
    let texts = ["program.bnn:5:", "this slice runs from -1", "outside an axis of"];
    beyond.bnnc("check", &[]).assert_error("E0290", 1, &texts);
}

#[test]
fn windows_of_a_constant_length_move_with_a_counter() {
    let model = |last: &str| {
        format!(
            "model M() -> y: real[n] {{\n  a: real[2] ~ Normal(0, 1)\n  b ~ Normal(0, 1)\n  for t in 2..n {{\n    y[t] ~ Normal(b * ({last}), 1)\n  }}\n}}\n"
        )
    };
    let written = model("a[0] * y[t - 2] + a[1] * y[t - 1]");
    for window in [
        "dot(a, y[t - 2..t])",
        "sum(a * y[t - 2..t])",
        "dot(a, [y[s] for s in t - 2..t])",
    ] {
        assert_alike(JSON, &model(window), &written, "b");
    }
}

#[test]
fn unsupported_expressions_are_reported_at_their_line() {
    let program = format!(
        "{JSON}model M() -> y: real[n] {{
  a ~ Normal(0, 1)
  for t in 1..n {{
    past = [y[s] for s in 0..t]
    y[t] ~ Normal(a * past[0], 1)
  }}
}}
infer f = map(M, d)
"
    );
    let output = trial(&program).bnnc("check", &[]);
    let texts = [
        "program.bnn:5:",
        "its length changes from step to step",
        "sum(y[0..t])",
    ];
    output.assert_error("E0287", 1, &texts);
    assert!(!output.stderr.contains("library/"), "{}", output.stderr);
}

#[test]
fn outputs_that_double_sixty_times_are_checked_at_once() {
    let mut program = "model M(x: real) -> y: real, z: real {\n  a0 = y\n".to_owned();
    for at in 1..60 {
        writeln!(program, "  a{at} = a{} + a{}", at - 1, at - 1).unwrap();
    }
    program += "  y ~ Normal(x, 1)\n  z ~ Normal(a59 / 1e18, 1)\n}\n";
    let start = std::time::Instant::now();
    trial(&program).bnnc("check", &[]).assert_silent();
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn constants_that_double_sixty_times_are_checked_at_once() {
    let mut program = "const C0 = 1\n".to_owned();
    for at in 1..60 {
        writeln!(program, "const C{at} = C{} + C{}", at - 1, at - 1).unwrap();
    }
    program += "model M(x: real) -> y: real {\n  y ~ Normal(x / C59, 1)\n}\n";
    let start = std::time::Instant::now();
    trial(&program).bnnc("check", &[]).assert_silent();
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn huge_arrays_are_rejected_at_their_line() {
    let of = |line: &str, value: &str| {
        let text = format!(
            "{CSV}model M(x: real[d]) -> y: real {{\n  {line}\n  y ~ Normal({value}, 1)\n}}\ninfer f = map(M, d)\n"
        );
        trial(&text).bnnc("check", &[])
    };
    let long = "has an axis of more than 2147483647 elements";
    of("h = Dense(4294967296)", "h(x)[0]").assert_error(
        "E0290",
        1,
        &["`h.w` of shape", long, "program.bnn:4:"],
    );
    of("w: real[4294967296] ~ Normal(0, 1)", "w[4294967295]").assert_error(
        "E0290",
        1,
        &["`w` of shape", long],
    );
    of("w ~ Normal(0, 1)", "repeat(w, 4611686018427387905, 2)[5, 1]").assert_error("E0290", 1, &[long]);
    of("w ~ Normal(0, 1)", "w + sum(repeat(1.0, 2000000, 2000000))").assert_error(
        "E0290",
        1,
        &["has more than 1099511627776 elements"],
    );
    let start = std::time::Instant::now();
    of("o: ordered(2000000000) ~ Normal(0, 5)", "o[0]");
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

fn likelihood(output: &str, likelihood: &str) -> Trial {
    trial(&format!(
        "model M(x: real, w: real[3]) -> y: {output} {{\n  b ~ Normal(0, 1)\n  a: positive ~ HalfNormal(1)\n  y ~ {likelihood}\n}}\n"
    ))
}

#[test]
fn a_link_that_is_applied_twice_is_a_warning() {
    let cases = [
        (
            "bool",
            "Bernoulli(sigmoid(a + b * x + sum(w)))",
            "`Bernoulli` expects `logit`",
            "write `Bernoulli(p = ..)`",
        ),
        (
            "count",
            "Poisson(exp(a + b * x + sum(w)))",
            "`Poisson` expects `log_rate`",
            "write `Poisson(rate = ..)`",
        ),
        (
            "count",
            "Poisson(log_rate = a + relu(b * x + sum(w)))",
            "`Poisson` expects `log_rate`",
            "is at least 0",
        ),
        (
            "count",
            "Poisson(a * square(b * x + sum(w)))",
            "`Poisson` expects `log_rate`",
            "at least 0",
        ),
        (
            "count",
            "NegativeBinomial(softplus(b * x + sum(w)), a)",
            "expects `log_mean`",
            "`NegativeBinomial(mean = ..)`",
        ),
        (
            "index(3)",
            "Categorical(softmax(a * b * x * w))",
            "`Categorical` expects `logits`",
            "`Categorical(probabilities = ..)`",
        ),
        (
            "count",
            "Binomial(7, sigmoid(a + b * x + sum(w)))",
            "`Binomial` expects `logit`",
            "`Binomial(p = ..)`",
        ),
        (
            "bool",
            "Bernoulli(1 / (1 + exp(-(a + b * x + sum(w)))))",
            "between 0 and 1",
            "`Bernoulli(p = ..)`",
        ),
        (
            "bool",
            "Bernoulli(exp(a + b * x + sum(w)) / (1 + exp(a + b * x + sum(w))))",
            "between 0 and 1",
            "`Bernoulli(p = ..)`",
        ),
        (
            "bool",
            "Bernoulli(logit = Normal(0, 1).cdf(a + b * x + sum(w)))",
            "between 0 and 1",
            "`Bernoulli(p = ..)`",
        ),
        (
            "index(3)",
            "Categorical(exp(a * b * x * w) / sum(exp(a * b * x * w)))",
            "`Categorical` expects `logits`",
            "`Categorical(probabilities = ..)`",
        ),
    ];
    for (output, call, message, help) in cases {
        let output = likelihood(output, call).bnnc("check", &[]);
        output.assert_warning("E0270", &[message, help, "program.bnn:4:"]);
    }
}

#[test]
fn a_link_through_a_name_is_seen() {
    let text =
        "model M(x: real) -> y: bool {\n  b ~ Normal(0, 1)\n  p = sigmoid(b * x)\n  y ~ Bernoulli(p)\n}\n";
    trial(text)
        .bnnc("check", &[])
        .assert_warning("E0270", &["between 0 and 1"]);
}

#[test]
fn a_link_in_a_function_or_layer_is_seen() {
    let function = "fn inverse_logit(t: real) -> real {\n  e = exp(-t)\n  return 1 / (1 + e)\n}\n";
    let layer =
        "layer Net()(x: real) -> real {\n  w ~ Normal(0, 1)\n  e = exp(w * x)\n  return e / (e + 1)\n}\n";
    for (item, call) in [(function, "inverse_logit(b * x)"), (layer, "net(b * x)")] {
        let made = if call.starts_with("net") {
            "  net = Net()\n"
        } else {
            ""
        };
        let model = format!(
            "{item}model M(x: real) -> y: bool {{\n  b ~ Normal(0, 1)\n{made}  y ~ Bernoulli({call})\n}}\n"
        );
        trial(&model)
            .bnnc("check", &[])
            .assert_warning("E0270", &["between 0 and 1"]);
    }
}

#[test]
fn arguments_on_their_own_scale_are_silent() {
    let cases = [
        ("bool", "Bernoulli(a + b * x + sum(w))"),
        ("bool", "Bernoulli(p = sigmoid(a + b * x + sum(w)))"),
        ("bool", "Bernoulli(logit = tanh(a + b * x + sum(w)))"),
        ("count", "Poisson(log(a) + b * x + sum(w))"),
        ("count", "Poisson(rate = exp(a + b * x + sum(w)))"),
        ("index(3)", "Categorical(logits = a * b * x * w)"),
        ("index(3)", "Categorical(probabilities = softmax(a * b * x * w))"),
        (
            "count",
            "NegativeBinomial(mean = exp(b * x + sum(w)), dispersion = a)",
        ),
    ];
    for (output, call) in cases {
        likelihood(output, call).bnnc("check", &[]).assert_silent();
    }
}

#[test]
fn parameters_of_two_parameterisations_are_not_mixed() {
    likelihood("bool", "Bernoulli(logit = a + b * x + sum(w), p = 0.5)")
        .bnnc("check", &[])
        .assert_error("E0272", 1, &["`Bernoulli(logit)`, `Bernoulli(p)`"]);
    likelihood("bool", "Bernoulli(prob = sigmoid(a + b * x + sum(w)))")
        .bnnc("check", &[])
        .assert_error("E0216", 1, &["did you mean `p`?"]);
}

#[test]
fn a_dist_of_the_program_has_parameterisations_too() {
    let program = "dist Gap(scale: positive) on positive {
  log_density(x) = -x / scale - log(scale)
}

/// As above, by the logarithm.
dist Gap(log_scale: real) on positive {
  log_density(x) = Gap(exp(log_scale)).log_density(x)
}
";
    let model = |call: &str| {
        format!("{program}model M(x: real) -> y: positive {{\n  b ~ Normal(0, 1)\n  y ~ {call}\n}}\n")
    };
    assert_alike(
        CSV,
        &model("Gap(exp(b * x))"),
        &model("Gap(log_scale = b * x)"),
        "b",
    );
    let twice = "dist D(a: real) on real {\n  log_density(x) = x - a\n}\n\ndist D(a: real) on real {\n  log_density(x) = a - x\n}\n";
    trial(twice)
        .bnnc("check", &[])
        .assert_error("E0201", 1, &["`D` is declared twice"]);
}

/// Each likelihood has two equivalent forms: one with a transformed parameter, such as a logit, and
/// one with the parameter itself.
#[test]
fn parameterisations_are_one_distribution() {
    let cases = [
        (
            "bool",
            "event",
            "Bernoulli(2 * b)",
            "Bernoulli(p = sigmoid(2 * b))",
        ),
        ("count", "g", "Poisson(b)", "Poisson(rate = exp(b))"),
        (
            "count",
            "g",
            "NegativeBinomial(b, 2)",
            "NegativeBinomial(mean = exp(b), dispersion = 2)",
        ),
        (
            "count",
            "g",
            "Binomial(4, b)",
            "Binomial(trials = 4, p = sigmoid(b))",
        ),
        (
            "index(4)",
            "g",
            "Categorical([0, b, 1, -b])",
            "Categorical(probabilities = softmax([0, b, 1, -b]))",
        ),
    ];
    for (ty, column, first, second) in cases {
        let model = |call: &str| {
            format!("model M(x: real) -> {column}: {ty} {{\n  b ~ Normal(0 , 1)\n  {column} ~ {call}\n}}\n")
        };
        let data = format!("data d = csv(\"d.csv\") {{ inputs = [x], target = {column} }}\n");
        assert_alike(&data, &model(first), &model(second), "b");
    }
}

#[test]
fn probabilities_and_rates_at_their_ends_have_densities_and_slopes() {
    // At x = 0, the probability is exactly 0 or 1, or the rate is exactly 0. The outcomes agree
    // with these values. At other values of x, the probability and the rate depend on the
    // parameter.
    let cases = [
        ("bool", "n", "Bernoulli(p = if x > 0 { a } else { 0 * a })"),
        ("bool", "m", "Bernoulli(p = if x > 0 { a } else { 1 - 0 * a })"),
        ("count", "n", "Poisson(rate = a * x)"),
        ("count", "n", "NegativeBinomial(mean = a * x, dispersion = 2)"),
        ("count", "n", "Binomial(trials = 1, p = a * x)"),
        ("index(2)", "n", "Categorical(probabilities = [1 - a * x, a * x])"),
    ];
    let table = "x,n,m\n0,0,1\n0,0,1\n1,1,0\n1,0,1\n1,1,1\n0,0,1\n1,1,0\n1,0,0\n";
    for (ty, column, call) in cases {
        let program = format!(
            "data d = csv(\"e.csv\") {{ inputs = [x], target = {column} }}\nmodel M(x: real) -> {column}: {ty} {{\n  a: unit ~ Beta(2, 2)\n  {column} ~ {call}\n}}\ninfer f = map(M, d) {{ epochs = 300, optimiser = Adam(0.05) }}\n"
        );
        let trial = Trial::new().file("e.csv", table).program(&program);
        let result = trial.result(&[]);
        let a = number(&result, &["infer", "f", "parameters", "a", "mean"]);
        // The maximum of each posterior lies between the maxima of the prior and of the likelihood.
        assert!((0.3..0.75).contains(&a), "{call}: {a}");
    }
}

#[test]
fn a_scale_that_can_be_negative_is_a_warning() {
    let of = |line: &str, scale: &str| {
        trial(&format!(
            "model M(x: real[3]) -> y: real {{\n  {line}\n  y ~ Normal(sum(x), {scale})\n}}\n"
        ))
        .bnnc("check", &[])
    };
    of("sigma ~ Normal(0, 1)", "sigma").assert_warning(
        "E0271",
        &[
            "`scale` must be positive, but `sigma` is a real",
            "declare `sigma: positive`",
        ],
    );
    let sum = [
        "sum of real parameters can be negative",
        "`softplus(..)` or `exp(..)`",
    ];
    of("b ~ Normal(0, 1)", "1 + b * x[0]").assert_warning("E0271", &sum);
    of("h = Dense(2)", "h(x)[1]").assert_warning("E0271", &sum);
    of("sigma ~ Uniform(-1, 10)", "sigma").assert_warning("E0271", &["`sigma` is a real"]);
    of("sigma ~ Uniform(0, 10)", "sigma").assert_silent();
    of("sigma ~ Uniform(0, 10)", "1 + 2 * sigma").assert_silent();
    let run = trial(
        "data d = csv(\"d.csv\")\nmodel M(x: real[3]) -> y: real {\n  sigma ~ Normal(1, 0.1)\n  y ~ Normal(sum(x), sigma)\n}\ninfer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 200 }\n",
    );
    run.bnnc("run", &[])
        .assert_warning("E0271", &["`sigma: positive`"]);
    of("sigma: positive ~ Normal(0, 1)", "sigma").assert_silent();
    of("h = Dense(2)", "softplus(h(x)[1])").assert_silent();
    of("b ~ Normal(0, 1)", "0.1 + square(b * x[0])").assert_silent();
}

fn message(program: &str, code: &str, texts: &[&str]) {
    trial(program).bnnc("check", &[]).assert_error(code, 1, texts);
}

fn in_model(line: &str) -> String {
    format!("model M(x: real[3]) -> y: real {{\n  {line}\n  y ~ Normal(x[0], 1)\n}}\n")
}

#[test]
fn constructs_of_other_languages_get_the_equivalent_as_help() {
    let misspelt = "modle Lin(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}\ninfer f = nuts(Lin, d)\n";
    message(misspelt, "E0109", &["did you mean `model`?"]);
    message("def f(x):\n  return x\n", "E0109", &["`fn f(x: real) -> real {"]);
    message(
        &in_model("f = lambda a: a + 1"),
        "E0109",
        &["`fn f(x: real) -> real {"],
    );
    message(
        &in_model("sigma: real<lower=0> ~ Normal(0, 1)"),
        "E0108",
        &["`positive`, `unit`"],
    );
    message(
        &in_model("vector[k] beta ~ Normal(0, 1)"),
        "E0108",
        &["`beta: real[k]`"],
    );
    message(
        "model M(x: real) -> y: real:\n  y ~ Normal(x, 1)\n",
        "E0108",
        &["put the body into braces"],
    );
    message(
        &in_model("for i in range(10) {\n    s = x[i]\n  }"),
        "E0108",
        &["write the range as `a..b`"],
    );
    message(&in_model("x += 1"), "E0108", &["give the sum a new name"]);
    message(
        &in_model("print(x)"),
        "E0108",
        &["the report shows named quantities"],
    );
    message(
        "model M(x: real) -> (y: real, z: real) {\n}\n",
        "E0108",
        &["`-> y1: real, y2: real`"],
    );
    message(&in_model("z = x.tanh()"), "E0223", &["`tanh(..)`"]);
}

#[test]
fn a_vector_instead_of_a_number_gets_help_with_the_names_of_the_program() {
    let of = |line: &str, likelihood: &str| {
        format!("model M(x: real[d]) -> y: real {{\n  {line}\n  y ~ {likelihood}\n}}\n")
    };
    let product = of("beta: real[d] ~ Normal(0, 1)", "Normal(beta * x, 1)");
    message(&product, "E0211", &["`dot(beta, x)`"]);
    message(
        &of("out = Dense(1)", "Normal(out(x), 1)"),
        "E0211",
        &["`out(..)[0]`"],
    );
    message(
        &of("beta: real[d] ~ Normal(0, 1)", "Normal(beta, 1)"),
        "E0211",
        &["`beta[0]`"],
    );
}

#[test]
fn a_syntax_error_causes_no_further_errors() {
    let misspelt =
        format!("{CSV}modle Lin(x: real) -> y: real {{\n  y ~ Normal(x, 1)\n}}\ninfer f = nuts(Lin, d)\n");
    let unused = "model M(x: real, z: real) -> y: real {\n  y ~ Normal(x % z, 1)\n}\n";
    let bounded = in_model("sigma: real<lower=0> ~ Normal(0, 1)\n  z = sigma + 1");
    let number = "model M(x: real) -> y: real {\n  y ~ Normal(x, .5)\n}\n";
    for program in [misspelt.as_str(), unused, &bounded, number] {
        let output = trial(program).bnnc("check", &[]);
        assert_eq!(output.stderr.matches("error[").count(), 1, "{}", output.stderr);
        assert!(!output.stderr.contains("warning["), "{}", output.stderr);
    }
}

#[test]
fn words_of_other_tools_get_the_equivalent_as_help() {
    let cases = [
        ("w ~ Normal(mu = 0, scale = 1)", "`loc`"),
        ("w ~ Normal(0, sd = 1)", "`scale`"),
        ("w ~ Normal(0, std = 1)", "`scale`"),
        ("w: float ~ Normal(0, 1)", "`real`"),
        ("w: vector ~ Normal(0, 1)", "`beta: real[k]`"),
        ("w = matmul(x, x)", "`a @ b`"),
        ("h = Dense(3, activation = relu)", "`relu(h(x))`"),
        ("w ~ Gaussian(0, 1)", "`Normal`"),
        ("w = expit(x[0])", "`sigmoid`"),
    ];
    for (line, help) in cases {
        let output = trial(&in_model(line)).bnnc("check", &[]);
        assert!(
            output.stderr.contains(help) && output.status == 1,
            "{line}\n{}",
            output.stderr
        );
    }
    let options = [
        ("nuts", "num_samples = 10", "`draws`"),
        ("nuts", "iter = 10", "`draws`"),
        ("nuts", "burn_in = 10", "`warmup`"),
        ("map", "epoch = 10", "`epochs`"),
        ("map", "optimiser = Adam(lr = 0.1)", "`rate`"),
        ("map", "batch_size = 10", "`batch`"),
        ("map", "shuffle = 1", "shuffled in every epoch"),
    ];
    for (method, option, help) in options {
        let program = format!(
            "{CSV}{}infer f = {method}(M, d) {{ {option} }}\n",
            in_model("w ~ Normal(0, 1)")
        );
        let output = trial(&program).bnnc("check", &[]);
        assert!(
            output.stderr.contains(help) && output.status == 1,
            "{option}\n{}",
            output.stderr
        );
    }
}

#[test]
fn a_discrete_prior_gets_help_on_continuous_parameters() {
    let output = trial(&in_model("sigma: positive ~ Poisson(0.5)")).bnnc("check", &[]);
    output.assert_error("E0242", 1, &["`sigma`"]);
    assert!(!output.stderr.contains("declare it count"), "{}", output.stderr);
}

#[test]
fn a_list_of_targets_gets_help_on_several_outputs() {
    let program =
        "data d = csv(\"d.csv\") { target = [y, x] }\nmodel M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}\n";
    message(program, "E0262", &["`-> y1: real, y2: real`"]);
}

#[test]
fn an_unknown_option_gets_help_on_set() {
    let trial = trial(&in_model("w ~ Normal(0, 1)"));
    let output = trial.bnnc("run", &["--epochs", "10"]);
    assert!(
        output.stderr.contains("--set NAME.epochs=VALUE"),
        "{}",
        output.stderr
    );
    assert_eq!(output.status, 2);
    let output = trial.bnnc("run", &["--set", "epochs=10"]);
    output.assert_error("E0601", 2, &["--set NAME.epochs=10"]);
    let output = super::support::run(["missing.bn"]);
    assert!(
        output.stderr.contains("`missing.bn` does not exist"),
        "{}",
        output.stderr
    );
    assert_eq!(output.status, 2);
}

#[test]
fn control_characters_of_a_program_do_not_reach_the_terminal() {
    let program = "data d = csv(\"\u{1b}[2J\u{202e}x.csv\") { target = \u{1b}[31m }\n";
    for arguments in [&[][..], &["--json"]] {
        let output = trial(program).bnnc("check", arguments);
        assert_ne!(output.status, 0);
        let hidden = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        let is_json = !arguments.is_empty();
        assert!(is_json || !output.stderr.contains(hidden), "{:?}", output.stderr);
        assert!(!output.stderr.contains('\u{1b}'), "{:?}", output.stderr);
    }
    let explained = crate::support::run(["explain", "\u{1b}[31mE0999"]);
    assert!(
        explained.status != 0 && !explained.stderr.contains('\u{1b}'),
        "{:?}",
        explained.stderr
    );
    let set = trial("const A = 1\n").bnnc("check", &["--set", "m.\u{1b}[31mfoo=1"]);
    assert!(
        set.status != 0 && !set.stderr.contains('\u{1b}'),
        "{:?}",
        set.stderr
    );
}

#[test]
fn large_and_broken_texts_are_checked_at_once() {
    let doc = "/// A line.\n".repeat(400_000) + "const A = 1\n";
    let brackets = ")".repeat(1_000_000);
    let zeros = "\0".repeat(5_000_000);
    let name = format!("const A = {}\n", "a".repeat(1_000_000));
    let duplicates = "const A = 1\n".repeat(10_000);
    let chain: String = (1..10_000)
        .map(|at| format!("const C{at} = C{} + 1\n", at - 1))
        .collect();
    let chain = format!("const C0 = 1\n{chain}");
    for (what, text) in [
        ("doc", doc),
        ("brackets", brackets),
        ("zeros", zeros),
        ("name", name),
        ("duplicates", duplicates),
        ("chain", chain),
    ] {
        let start = std::time::Instant::now();
        let output = trial(&text).bnnc("check", &[]);
        let seconds = start.elapsed().as_secs_f64();
        assert!(seconds < 8.0, "{what}: {seconds} s");
        assert!(
            output.stderr.len() < 4_000_000,
            "{what}: {} bytes",
            output.stderr.len()
        );
        assert!([0, 1].contains(&output.status), "{what}: {}", output.status);
    }
}

#[test]
fn a_line_with_a_syntax_error_declares_no_names_for_others() {
    for line in ["vector[k] beta", "x[k] k"] {
        let program = format!(
            "fn total(v: real[k]) -> real {{
               return sum(v)
             }}
             model M(x: real[3]) -> y: real {{
               {line}
               y ~ Normal(total(x), 1)
             }}"
        );
        let output = trial(&program).bnnc("check", &[]);
        assert_eq!(output.stderr.matches("error[").count(), 1, "{}", output.stderr);
        assert!(output.stderr.contains("E0108"), "{}", output.stderr);
    }
}
