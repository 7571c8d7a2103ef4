//! Tests the reported factor by which the standard deviations of coefficients are too small under `vi` with independent families.
//!
//! For two coefficients with the posterior precision `[[a, b], [b, c]]`, the factor is `1 / sqrt(1 - b^2 / (a c))`. The posterior precision is the
//! prior precision plus the products of the columns, divided by the variance of the noise.

use super::support::trial::Trial;

const ROWS: usize = 200;
const NOISE: f64 = 1.0;

/// Returns numbers with mean zero and variance one, which look random.
fn random(seed: usize) -> Vec<f64> {
    let of = |at: usize| ((at * 7 + seed * 1009 + 1) as f64 * 12.9898).sin().abs() * 43_758.545_3 % 1.0;
    let values: Vec<f64> = (0..ROWS)
        .map(|at| (0..4).map(|part| of(4 * at + part)).sum())
        .collect();
    let mean = values.iter().sum::<f64>() / ROWS as f64;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / ROWS as f64;
    values
        .iter()
        .map(|value| (value - mean) / square.sqrt())
        .collect()
}

/// Returns two correlated columns.
fn columns() -> [Vec<f64>; 2] {
    let (a, e) = (random(1), random(2));
    let b = a.iter().zip(&e).map(|(a, e)| a + 0.04 * e).collect();
    [a, b]
}

/// Returns the factor for columns after subtracting their means, if both priors have this precision.
fn exact(noise: f64, prior: f64) -> f64 {
    let columns = columns().map(|column| {
        let mean = column.iter().sum::<f64>() / ROWS as f64;
        column.iter().map(|value| value - mean).collect::<Vec<f64>>()
    });
    let product = |i: usize, j: usize| -> f64 {
        let pairs = columns[i].iter().zip(&columns[j]);
        pairs.map(|(a, b)| a * b).sum::<f64>() / noise.powi(2)
    };
    let [a, b, c] = [product(0, 0) + prior, product(0, 1), product(1, 1) + prior];
    (1.0 - b * b / (a * c)).powf(-0.5)
}

/// Returns the factor in the warning of a run, if there is a warning. `of` computes the target from a linear predictor with noise.
fn reported(prior: &str, likelihood: &str, centre: f64, noise: f64, of: fn(f64) -> f64) -> Option<f64> {
    let [a, b] = columns();
    let e = random(3);
    let row = |at: usize| {
        let target = of(centre + 0.2 * noise * (a[at] - b[at]) + noise * e[at]);
        format!("{},{},{target}\n", a[at], b[at])
    };
    let rows: String = (0..ROWS).map(row).collect();
    let kind = if likelihood.starts_with("Normal") {
        "real"
    } else {
        "positive"
    };
    let program = format!(
        "data d = csv(\"d.csv\")
        model M(a: real, b: real) -> y: {kind} {{
          p ~ {prior}
          q ~ {prior}
          c ~ Normal({centre}, 10)
          f = c + p * a + q * b
          y ~ {likelihood}
        }}
        posterior Q of M {{ p, q ~ Normal()\n c ~ Normal() }}
        infer fit = vi(Q, d) {{ steps = 20 }}"
    );
    factor(&format!("a,b,y\n{rows}"), &program)
}

/// Returns the factor in the warning of a run, if there is a warning.
fn factor(table: &str, program: &str) -> Option<f64> {
    let output = Trial::new()
        .file("d.csv", table)
        .program(program)
        .bnnc("run", &[]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let text = output.stderr;
    let (_, rest) = text.split_once("warning[E0674]")?;
    let (_, rest) = rest.split_once(" about ").expect("a factor");
    let (factor, _) = rest.split_once(" times").expect("a factor");
    Some(factor.parse().expect("a number"))
}

#[track_caller]
fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a warning");
    // The variance of the noise is estimated from the rows, and the message has three digits.
    assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
}

/// The logarithm of a target around 1000 varies much less than the target.
#[test]
fn the_noise_of_a_normal_target_is_that_of_the_target_itself() {
    for centre in [0.0, 1000.0] {
        let found = reported("Normal(0, 1)", "Normal(f, 30)", centre, 30.0, |f| f);
        assert!(exact(30.0, 1.0) < 1.2);
        assert_eq!(found, None, "{centre}");
        let expected = exact(NOISE, 0.01);
        assert!(expected > 6.0);
        let found = reported("Normal(0, 10)", "Normal(f, 1)", centre, NOISE, |f| f);
        close(found, expected);
    }
}

/// Under a logarithmic link, the noise is that of the logarithm. The target itself has a standard deviation of about 100.
#[test]
fn the_noise_under_a_logarithmic_link_is_that_of_the_logarithm() {
    let expected = exact(0.1, 1.0);
    for likelihood in [
        "LogNormal(f, 0.1)",
        "Gamma(100, 100 / exp(f))",
        "Gamma(100, 100 * exp(-f))",
        "Normal(exp(f), 100)",
    ] {
        let found = reported("Normal(0, 1)", likelihood, 7.0, 0.1, f64::exp);
        close(found, expected);
    }
}

/// A prior that is not normal is treated as the normal distribution with the same variance. The variance of `StudentT(3, 0, 1)` is
/// `3 / (3 - 2)`, and that of `Laplace(0, 0.5)` is `2 * 0.5^2`. A prior without a variance is treated as flat.
#[test]
fn priors_that_are_not_normal_count_with_their_variances() {
    for (prior, variance) in [
        ("Normal(0, 0.5)", 0.25),
        ("Cauchy(0, 1)", f64::INFINITY),
        ("StudentT(3, 0, 1)", 3.0),
        ("Laplace(0, 0.5)", 0.5),
    ] {
        let expected = exact(NOISE, 1.0 / variance);
        assert!(expected > 3.3);
        close(reported(prior, "Normal(f, 1)", 0.0, NOISE, |f| f), expected);
    }
    assert!(exact(NOISE, 0.5 * 0.05_f64.powi(-2)) < 2.5);
    assert_eq!(
        reported("Laplace(0, 0.05)", "Normal(f, 1)", 0.0, NOISE, |f| f),
        None
    );
}

/// The number of groups in the next tests. Each has the same number of rows.
const GROUPS: usize = 5;

/// Returns the factor of a mean `mu + a[g]`, with normal priors. Given the effects, the precision of the mean is `ROWS + p`, where `p` is the precision
/// of its prior. After integration over the effects, it is `p + GROUPS n q / (n + q)`, where `n` is the number of rows of a group, and `q` the
/// precision of the prior of an effect. The noise has the variance 1.
fn of_mean(sd: f64, sd_of_effects: f64) -> f64 {
    let [p, q] = [sd, sd_of_effects].map(|sd| sd.powi(-2));
    let n = (ROWS / GROUPS) as f64;
    ((ROWS as f64 + p) / (p + GROUPS as f64 * n * q / (n + q))).sqrt()
}

/// Returns the targets of the rows. The row `at` belongs to the group `at % GROUPS`. The effects of the groups are -2, -1, 0, 1 and 2.
fn targets() -> Vec<f64> {
    let noise = random(3);
    (0..ROWS)
        .map(|at| (at % GROUPS) as f64 - 2.0 + noise[at])
        .collect()
}

/// Returns the factor in the warning about a model with groups. `predictor` contains `a[g]`.
fn of_groups(parameters: &str, predictor: &str, posterior: &str) -> Option<f64> {
    let targets = targets();
    let row = |at: usize| format!("g{},{}\n", at % GROUPS, targets[at]);
    let rows: String = (0..ROWS).map(row).collect();
    let program = format!(
        "data d = csv(\"d.csv\") {{ target = y }}
        model M(g: index(J)) -> y: real {{
          {parameters}
          y ~ Normal({predictor}, 1)
        }}
        posterior Q of M {{ {posterior} }}
        infer fit = vi(Q, d) {{ steps = 20 }}"
    );
    factor(&format!("g,y\n{rows}"), &program)
}

#[test]
fn a_mean_and_effects_of_groups_are_reported_with_the_factor_of_the_mean() {
    for (sd, sd_of_effects) in [(10.0, 10.0), (10.0, 1.0), (3.0, 2.0)] {
        let parameters = format!("mu ~ Normal(0, {sd})\n a: real[J] ~ Normal(0, {sd_of_effects})");
        let found = of_groups(&parameters, "mu + a[g]", "mu, a ~ Normal()");
        close(found, of_mean(sd, sd_of_effects));
    }
}

/// If all groups have the same number of rows `n`, the maximum likelihood estimate of the variance of the effects is the mean square of the deviations of
/// the group means, minus `v / n`, where `v` is the variance within groups (Searle, Casella and McCulloch 1992).
#[test]
fn effects_whose_scale_is_a_parameter_are_reported() {
    let (targets, n) = (targets(), (ROWS / GROUPS) as f64);
    let of_group = |group: usize| targets.iter().skip(group).step_by(GROUPS);
    let means: Vec<f64> = (0..GROUPS)
        .map(|group| of_group(group).sum::<f64>() / n)
        .collect();
    let within = |group: usize| of_group(group).map(|y| (y - means[group]).powi(2)).sum::<f64>();
    let noise = (0..GROUPS).map(within).sum::<f64>() / (ROWS - GROUPS) as f64;
    let mean = means.iter().sum::<f64>() / GROUPS as f64;
    let between = means.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / GROUPS as f64;
    // In units of the noise, all variances are divided by its variance.
    let of_effects = ((between - noise / n) / noise).sqrt();
    let expected = of_mean(10.0 / noise.sqrt(), of_effects);
    let parameters = "mu ~ Normal(0, 10)\n t: positive ~ HalfNormal(3)\n a: real[J] ~ Normal(0, t)";
    close(
        of_groups(parameters, "mu + a[g]", "mu, a ~ Normal()\n t ~ LogNormal()"),
        expected,
    );
}

#[test]
fn effects_that_are_well_identified_are_not_reported() {
    let narrow = "mu ~ Normal(0, 10)\n a: real[J] ~ Normal(0, 0.3)";
    assert!(of_mean(10.0, 0.3) < 2.2);
    assert_eq!(of_groups(narrow, "mu + a[g]", "mu, a ~ Normal()"), None);
    let wide = "mu ~ Normal(0, 10)\n a: real[J] ~ Normal(0, 10)";
    assert_eq!(of_groups(wide, "mu + a[g]", "mu, a ~ FullRankNormal()"), None);
    let alone = "a: real[J] ~ Normal(0, 10)";
    assert_eq!(of_groups(alone, "a[g]", "a ~ Normal()"), None);
}

/// Returns the factor in the warning about three classes with the same number of rows, which do not depend on an input with the variance 1.
fn of_classes(layers: &str, logits: &str, posterior: &str) -> Option<f64> {
    let likelihood = format!("Categorical({logits})");
    of_likelihood("", layers, &likelihood, posterior)
}

/// Like [`of_classes`], for any distribution of the classes. `declared` holds items of the program.
fn of_likelihood(declared: &str, layers: &str, likelihood: &str, posterior: &str) -> Option<f64> {
    let x = random(1);
    let rows: String = (0..ROWS).map(|at| format!("{},{}\n", x[at], at % 3)).collect();
    let program = format!(
        "{declared}
        data d = csv(\"d.csv\") {{ target = y }}
        model M(x: real[k]) -> y: index(3) {{
          {layers}
          y ~ {likelihood}
        }}
        posterior Q of M {{ {posterior} }}
        infer fit = vi(Q, d) {{ steps = 20 }}"
    );
    factor(&format!("x,y\n{rows}"), &program)
}

/// The information of one row about the logits of three equally frequent classes is `1 / 3` times the projection on differences, whose diagonal
/// elements are `2 / 3`. With `ROWS` rows and the precision `p` of the prior, a coefficient has the precision `2 / 9 ROWS + p` given the others. Its
/// variance is `1 / (3 p)` from the sum of the classes, plus `2 / 3 / (ROWS / 3 + p)` from the differences.
#[test]
fn classes_whose_logits_can_rise_together_are_reported() {
    for sd in [1.0, 5.0_f64] {
        let (p, rows) = (sd.powi(-2), ROWS as f64);
        let variance = 1.0 / (3.0 * p) + 2.0 / 3.0 / (rows / 3.0 + p);
        let expected = ((2.0 / 9.0 * rows + p) * variance).sqrt();
        let layer = format!("o = Dense(3, prior = Normal(0, {sd}))");
        close(of_classes(&layer, "o(x)", "o.* ~ Normal()"), expected);
    }
}

/// A class without coefficients bounds the logits of the others. The biases behind a hidden layer are not examined.
#[test]
fn classes_with_a_reference_or_a_hidden_layer_are_not_reported() {
    let reference = "a: real[2] ~ Normal(0, 5)\n b: real[2] ~ Normal(0, 5)";
    let logits = "logits = [0, a[0] + b[0] * x[0], a[1] + b[1] * x[0]]";
    assert_eq!(of_classes(reference, logits, "a, b ~ Normal()"), None);
    let hidden = "h = Dense(4)\n o = Dense(3)";
    assert_eq!(of_classes(hidden, "o(tanh(h(x)))", "h.*, o.* ~ Normal()"), None);
    let joint = "o = Dense(3, prior = Normal(0, 5))";
    assert_eq!(of_classes(joint, "o(x)", "o.* ~ FullRankNormal()"), None);
}

/// The density of a distribution determines if the logits can rise together. Its name does not.
#[test]
fn distributions_of_classes_are_recognised_by_their_density() {
    let declared = |name: &str, more: &str| {
        format!(
            "dist {name}(logits: real[k]) on index(k) {{
          log_density(x) = log_softmax(logits)[x]{more}
          draw = class_at(softmax(logits), standard_uniform())
        }}"
        )
    };
    let layer = "o = Dense(3, prior = Normal(0, 5))";
    let found = |name: &str, more: &str| {
        let likelihood = format!("{name}(o(x))");
        of_likelihood(&declared(name, more), layer, &likelihood, "o.* ~ Normal()")
    };
    let expected = of_classes(layer, "o(x)", "o.* ~ Normal()").expect("a warning");
    close(found("Klass", ""), expected);
    assert_eq!(found("Categorical", " - sum(logits * logits)"), None);
}
