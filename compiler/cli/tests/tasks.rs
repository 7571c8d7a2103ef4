//! Tests programs that a new user might write as a first attempt at common modelling tasks. Each program either runs, or
//! fails with a message that explains the necessary change.

mod support;

use std::fmt::Write;
use support::Output;
use support::trial::Trial;

/// Returns pseudo-random uniform numbers in (-1, 1), computed from the fractional parts of multiples of the square root
/// of a prime.
fn numbers(seed: usize, count: usize) -> Vec<f64> {
    let root = [2.0_f64, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0][seed % 8].sqrt();
    (1..=count)
        .map(|at| 2.0 * (at as f64 * root + 0.1 * seed as f64).fract() - 1.0)
        .collect()
}

/// Returns a table of 60 rows. Each column has a name and a function that computes its cells.
fn table(columns: &[(&str, &dyn Fn(usize) -> String)]) -> String {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..60 {
        let cells: Vec<String> = columns.iter().map(|(_, of)| of(row)).collect();
        writeln!(text, "{}", cells.join(",")).expect("a string takes any text");
    }
    text
}

/// Returns the bytes of an array in NumPy's format. `kind` is the type of its elements.
fn npy(kind: &str, shape: &str, values: impl Iterator<Item = [u8; 8]>) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    values.for_each(|value| bytes.extend(value));
    bytes
}

/// Returns the bytes of an array of random numbers in NumPy's format.
fn random(seed: usize, rows: usize, columns: usize) -> Vec<u8> {
    let values = numbers(seed, rows * columns);
    npy(
        "<f8",
        &format!("({rows}, {columns})"),
        values.into_iter().map(f64::to_le_bytes),
    )
}

/// Returns one table with the columns of all tasks: measurements, groups, classes, counts, times,
/// and an ordered series.
fn all() -> String {
    let (x, z, e) = (numbers(0, 60), numbers(1, 60), numbers(2, 60));
    let y = |row: usize| 1.0 + 2.0 * x[row] - z[row] + 0.5 * e[row];
    let count = |row: usize| (1.5 + x[row] + 0.5 * e[row]).exp().floor();
    table(&[
        ("x", &|row| x[row].to_string()),
        ("z", &|row| z[row].to_string()),
        ("city", &|row| {
            ["Oslo", "Bergen", "Rome", "Lima"][row % 4].to_owned()
        }),
        ("exposure", &|row| (1.5 + z[row]).to_string()),
        ("event", &|row| (row % 3).min(1).to_string()),
        ("time", &|row| (0.5 * x[row] + 0.3 * e[row]).exp().to_string()),
        ("rating", &|row| {
            ((y(row) + 2.0).clamp(0.0, 3.9) as usize).to_string()
        }),
        ("kind", &|row| {
            ["red", "rose", "white"][(row * 7 + row / 5) % 3].to_owned()
        }),
        ("sick", &|row| u8::from(y(row) > 1.0).to_string()),
        ("claims", &|row| count(row).to_string()),
        ("wins", &|row| {
            (10.0 + 4.0 * x[row] + 3.0 * e[row]).round().to_string()
        }),
        ("other", &|row| (x[row] + z[row] + 0.3 * e[row]).to_string()),
        ("y", &|row| y(row).to_string()),
    ])
}

#[track_caller]
fn attempt(program: &str) -> Output {
    let series: Vec<String> = numbers(3, 60).iter().map(f64::to_string).collect();
    let trial = Trial::new()
        .file("d.csv", all())
        .file("series.csv", format!("y\n{}\n", series.join("\n")))
        .file("series.json", format!("{{\"y\": [{}]}}", series.join(",")))
        .file("gaps.csv", "x,y\n1,2\n,3\n2,\nNA,4\n")
        .file("images.npy", random(4, 60, 64))
        .file(
            "labels.npy",
            npy("<i8", "(60,)", (0..60).map(|row: i64| (row % 3).to_le_bytes())),
        )
        .file("vectors.npy", random(5, 60, 4))
        .program(program);
    trial.bnnc("run", &[])
}

#[track_caller]
fn succeeds(program: &str, shown: &[&str]) {
    let output = attempt(program);
    assert_eq!(output.status, 0, "{}", output.stderr);
    for text in shown {
        assert!(
            output.stdout.contains(text),
            "`{text}` is not in\n{}",
            output.stdout
        );
    }
}

const CHAINS: &str = "{ chains = 2, warmup = 100, draws = 100 }";

#[test]
fn a_linear_regression_shows_the_names_of_its_columns() {
    let program = format!(
        "data d = csv(\"d.csv\") {{ inputs = [x, z], target = y, test = fraction(0.2), standardise = [inputs, target] }}
         model LinReg(x: real[d]) -> y: real {{
           alpha ~ Normal(0, 1)
           beta: real[d] ~ Normal(0, 1)
           sigma: positive ~ HalfNormal(1)
           y ~ Normal(alpha + dot(beta, x), sigma)
         }}
         infer fit = nuts(LinReg, d) {CHAINS}"
    );
    succeeds(&program, &["beta[x]", "beta[z]", "test rmse"]);
}

#[test]
fn logistic_regressions_of_numeric_and_named_classes_run() {
    for (target, kind, likelihood) in [
        ("sick", "bool", "Bernoulli(a + b * x)"),
        ("kind", "index(3)", "Categorical([a, b * x, 0])"),
    ] {
        let program = format!(
            "data d = csv(\"d.csv\") {{ inputs = [x], target = {target} }}
             model M(x: real) -> {target}: {kind} {{
               a ~ Normal(0, 2)
               b ~ Normal(0, 2)
               {target} ~ {likelihood}
             }}
             infer fit = nuts(M, d) {CHAINS}"
        );
        succeeds(&program, &["train accuracy"]);
    }
}

#[test]
fn six_methods_fit_one_heteroscedastic_network() {
    let program = "data d = csv(\"d.csv\") { inputs = [x], target = y, test = fraction(0.2), standardise = [inputs, target] }
         model Het(x: real[d]) -> y: real {
           h = Dense(5)
           o = Dense(2)
           f = o(tanh(h(x)))
           y ~ Normal(f[0], softplus(f[1]) + 1e-2)
         }
         posterior Q of Het { h.*, o.* ~ Normal(scale = 0.01) }
         infer v = vi(Q, d) { steps = 500 }
         infer m = map(Het, d) { steps = 500 }
         infer s = swag(Het, d) { steps = 500, optimiser = SGD(1e-4) }
         infer e = ensemble(Het, d) { members = 3, steps = 500 }
         infer l = laplace(Het, d) { start = m }
         infer n = nuts(Het, d) { chains = 2, warmup = 30, draws = 30, max_depth = 5 }
         compare v, m, s, e, l, n by rmse, log_likelihood";
    succeeds(program, &["compare"]);
}

#[test]
fn an_offset_is_an_expression_of_columns() {
    let program = format!(
        "data d = csv(\"d.csv\") {{ inputs = [x, z = zscore(z), exposure = log(exposure)], target = claims }}
         model Claims(x: real, z: real, exposure: real) -> claims: count {{
           a ~ Normal(0, 2)
           b: real[2] ~ Normal(0, 1)
           claims ~ Poisson(a + b[0] * x + b[1] * z + exposure)
         }}
         infer fit = nuts(Claims, d) {CHAINS}"
    );
    succeeds(&program, &["train rmse"]);
}

#[test]
fn groups_and_slopes_have_the_names_of_their_levels() {
    let program = format!(
        "data d = csv(\"d.csv\") {{ target = y }}
         model Cities(city: index(J), x: real) -> y: real {{
           mu: real[2] ~ Normal(0, 5)
           tau: positive[2] ~ HalfNormal(2)
           alpha: real[J] ~ Normal(mu[0], tau[0])
           beta: real[J]  ~ Normal(mu[1], tau[1])
           sigma: positive ~ HalfNormal(2)
           y ~ Normal(alpha[city] + beta[city] * x, sigma)
         }}
         infer fit = nuts(Cities, d) {CHAINS}"
    );
    succeeds(&program, &["alpha[Oslo]", "beta[Lima]"]);
}

#[test]
fn a_convolution_of_images_runs() {
    let program = "data d = npy(\"images.npy\", \"labels.npy\") { test = fraction(0.2) }
         model Digits(x: real[64]) -> digit: index(3) {
           first = Conv(2, 3, 3)
           out = Dense(3)
           digit ~ Categorical(out(flatten(max_pool(relu(first(reshape(x, 1, 8, 8))), 2))))
         }
         infer fit = map(Digits, d) { steps = 100 }";
    succeeds(program, &["test accuracy"]);
}

#[test]
fn robust_truncated_binomial_and_several_outputs_run() {
    let models = [
        (
            "target = y",
            "x: real) -> y: real { a ~ Normal(0, 5)
           nu: positive ~ Gamma(2, 0.1)
           y ~ StudentT(nu, a * x, 1) }",
        ),
        (
            "target = time",
            "x: real) -> time: positive { a ~ Normal(0, 5)
           time ~ Normal(a + 0 * x, 1) }",
        ),
        (
            "target = wins",
            "x: real) -> wins: count { a ~ Normal(0, 1)
           wins ~ Binomial(20, logit = a * x) }",
        ),
        (
            "inputs = [x, z]",
            "x: real, z: real) -> y: real, other: real { w: real[2] ~ Normal(0, 1)
           y ~ Normal(w[0] * x, 1)
           other ~ Normal(w[1] * z, 1) }",
        ),
    ];
    for (options, model) in models {
        let data = format!("data d = csv(\"d.csv\") {{ {options} }}");
        succeeds(
            &format!("{data}\nmodel M({model}\ninfer fit = nuts(M, d) {CHAINS}"),
            &["posterior"],
        );
    }
    let listed = "data d = csv(\"d.csv\") { inputs = [x], target = [y, other] }
         model M(x: real) -> (y: real, other: real) { y ~ Normal(x, 1) }
         infer fit = nuts(M, d)";
    let output = attempt(listed);
    output.assert_error("E0108", 1, &["`-> y1: real, y2: real`"]);
    let output = attempt(&listed.replace("(y: real, other: real)", "y: real"));
    output.assert_error(
        "E0262",
        1,
        &["`-> y1: real, y2: real` in the model and remove `target`"],
    );
}

#[test]
fn ordinal_and_censored_likelihoods_can_be_defined_in_a_program() {
    let ordinal = format!(
        "fn steps(eta: real, cut: real[m]) -> real[m + 1] {{
           below = sigmoid(cut - eta)
           return concat(below, ones(1)) - concat(zeros(1), below)
         }}
         dist OrderedLogistic(eta: real, cut: real[m]) on index(m + 1) {{
           log_density(y) = log(steps(eta, cut)[y])
           probabilities  = steps(eta, cut)
         }}
         data d = csv(\"d.csv\") {{ inputs = [x], target = rating }}
         model Ord(x: real) -> rating: index(4) {{
           b ~ Normal(0, 2)
           c: ordered(3) ~ Normal(0, 3)
           rating ~ OrderedLogistic(b * x, c)
         }}
         infer fit = nuts(Ord, d) {CHAINS}"
    );
    succeeds(&ordinal, &["c[2]", "train accuracy"]);
    let censored = format!(
        "dist Censored(log_rate: real, shape: positive, event: bool) on positive {{
           log_density(t) = if event {{ log(shape) + log_rate + (shape - 1) * log(t) - exp(log_rate) * t ^ shape }} else {{
             -exp(log_rate) * t ^ shape
           }}
         }}
         data d = csv(\"d.csv\") {{ inputs = [x, event], target = time }}
         model Surv(x: real, event: bool) -> time: positive {{
           a ~ Normal(0, 2)
           k: positive ~ LogNormal(0, 1)
           time ~ Censored(a * x, k, event)
         }}
         infer fit = nuts(Surv, d) {CHAINS}"
    );
    succeeds(&censored, &["log_likelihood"]);
}

#[test]
fn whole_arrays_come_from_a_table_or_from_json() {
    let series = |data: &str| {
        format!(
            "data s = {data}
             model Series() -> y: real[T] {{
               b: real[2] ~ Normal(0, 1)
               sigma: positive ~ HalfNormal(1)
               for t in 2..T {{ y[t] ~ Normal(b[0] * y[t - 1] + b[1] * y[t - 2], sigma) }}
             }}
             infer fit = nuts(Series, s) {CHAINS}
             infer lap = laplace(Series, s) {{ steps = 500 }}"
        )
    };
    succeeds(&series("csv(\"series.csv\")"), &["lap = laplace"]);
    succeeds(&series("json(\"series.json\")"), &["lap = laplace"]);
    let mixture = format!(
        "dist NM(p: simplex(2), mu: real[2], s: positive[2]) on real {{
           log_density(y) = log_add_exp(
             log(p[0]) + Normal(mu[0], s[0]).log_density(y),
             log(p[1]) + Normal(mu[1], s[1]).log_density(y))
         }}
         data s = csv(\"series.csv\")
         model Mix() -> y: real[n] {{
           p: simplex(2) ~ Dirichlet([1, 1])
           mu: ordered(2) ~ Normal(0, 5)
           s: positive[2] ~ HalfNormal(2)
           for i in 0..n {{ y[i] ~ NM(p, mu, s) }}
         }}
         infer fit = nuts(Mix, s) {CHAINS}"
    );
    succeeds(&mixture, &["mu[1]"]);
    let process = "data d = csv(\"d.csv\") { inputs = [x], target = y }
         model GP(x: real[n])() -> y: real[n] {
           ell: positive ~ LogNormal(0, 1)
           s: positive ~ HalfNormal(1)
           K = [[exp(-(x[i] - x[j]) ^ 2 / (2 * ell ^ 2)) for j in 0..n] for i in 0..n]
           y ~ MultivariateNormal(zeros(n), cholesky(K + diag(repeat(s ^ 2 + 1e-6, n))))
         }
         infer fit = nuts(GP, d) { chains = 1, warmup = 20, draws = 20, max_depth = 4 }";
    succeeds(process, &["ell"]);
}

#[test]
fn missing_values_are_named_by_row() {
    let output = attempt(
        "data d = csv(\"gaps.csv\")
         model M(x: real) -> y: real { a ~ Normal(0, 1)
           y ~ Normal(a * x, 1) }
         infer fit = nuts(M, d)",
    );
    output.assert_error(
        "E0408",
        3,
        &[
            "gaps.csv:3:1",
            "gaps.csv:4:2",
            "gaps.csv:5:1",
            "missing data are not supported",
        ],
    );
}

#[test]
fn embeddings_latents_recurrences_and_attention_run() {
    let networks = [
        "data d = csv(\"d.csv\") { inputs = [x], target = y }
         model M(city: index(c), x: real) -> y: real {
           e = Embedding(c, 2)
           o = Dense(1)
           y ~ Normal(o(concat(e(city), [x]))[0], 1)
         }",
        "data d = npy(\"vectors.npy\", \"vectors.npy\")
         model M(i: index(n) = row) -> y: real[k] {
           z = Embedding(n, 2)
           o = Dense(k)
           y ~ Normal(o(tanh(z(i))), 0.5)
         }",
        "data d = npy(\"vectors.npy\", \"labels.npy\")
         model M(x: real[4]) -> y: index(3) {
           cell = Dense(3)
           o = Dense(3)
           h1 = tanh(cell(concat(zeros(3), [x[0]])))
           h2 = tanh(cell(concat(h1, [x[1]])))
           y ~ Categorical(o(h2))
         }",
        "layer Attention(k: int)(x: real[n, d]) -> real[n, k] {
           q: real[d, k] ~ Normal(0, 0.5)
           s: real[d, k] ~ Normal(0, 0.5)
           v: real[d, k] ~ Normal(0, 0.5)
           return softmax((x @ q) @ transpose(x @ s) / sqrt(k)) @ (x @ v)
         }
         data d = npy(\"vectors.npy\", \"labels.npy\")
         model M(x: real[4]) -> y: index(3) {
           a = Attention(2)
           o = Dense(3)
           y ~ Categorical(o(reshape(a(reshape(x, 4, 1)), 8)))
         }",
    ];
    for network in networks {
        succeeds(
            &format!("{network}\ninfer fit = map(M, d) {{ steps = 100 }}"),
            &["fit = map"],
        );
    }
    let output = attempt(
        "data d = npy(\"vectors.npy\", \"vectors.npy\")
         model M(x: real[k]) -> y: real[k] {
           local z: real[2] ~ Normal(0, 1)
           o = Dense(k)
           y ~ Normal(o(z) + x, 0.5)
         }
         infer fit = map(M, d)",
    );
    output.assert_error(
        "E0301",
        1,
        &["`z` is local to each example", "give it one element per group"],
    );
}

#[test]
fn the_short_example_of_the_readme_names_the_file_that_is_missing() {
    let output = attempt(
        "data yacht = csv(\"data/yacht.csv\")
         model M(x: real[d]) -> y: real { a: real[d] ~ Normal(0, 1)
           y ~ Normal(dot(a, x), 1) }
         infer fit = map(M, yacht)",
    );
    output.assert_error("E0401", 3, &["data/yacht.csv", "does not exist"]);
}
