//! Tests links, parameterisations, and scales that can be negative.

use super::{CSV, assert_alike, likelihood, number, trial};
use crate::support::trial::Trial;

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
