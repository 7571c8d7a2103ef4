//! Tests the check of convergence for joint families, for series under `integrate`, and for networks with running means.

use super::support::trial::Trial;

/// Returns a number in `[-1, 1)` that looks random.
fn random(at: usize) -> f64 {
    2.0 * (((at as f64 + 1.0) * 12.9898).sin().abs() * 43_758.545_3 % 1.0) - 1.0
}

/// Two inputs with a correlation of 0.97, the coefficients of a regression on them, and noise with the standard deviation 0.5. Returns the table, and the
/// posterior standard deviation of the first coefficient under flat priors: `0.5 / sqrt(S (1 - r^2))`, where `S` is the sum of the squares of the first
/// column around its mean, and `r` the correlation.
fn correlated(noise: f64) -> (String, f64) {
    let rows = 150;
    let u: Vec<f64> = (0..rows).map(random).collect();
    let v: Vec<f64> = (0..rows).map(|at| u[at] + noise * random(1000 + at)).collect();
    let table = (0..rows).map(|at| {
        format!(
            "{},{},{}\n",
            u[at],
            v[at],
            0.3 + 0.6 * u[at] + 0.9 * random(2000 + at)
        )
    });
    let table = std::iter::once("u,v,y\n".to_owned()).chain(table).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / rows as f64;
    let product = |a: &[f64], b: &[f64]| {
        let (one, other) = (mean(a), mean(b));
        a.iter().zip(b).map(|(a, b)| (a - one) * (b - other)).sum::<f64>()
    };
    let squares = product(&u, &u);
    let correlation = product(&u, &v) / (squares * product(&v, &v)).sqrt();
    (table, 0.5 / (squares * (1.0 - correlation.powi(2))).sqrt())
}

/// After a short training, a joint family has standard deviations that are too small. The training is reported whatever the seed is.
#[test]
fn a_joint_family_with_wrong_standard_deviations_is_reported() {
    let mut reported = 0;
    for noise in [0.25, 0.12] {
        let (table, exact) = correlated(noise);
        for seed in 1..8 {
            let program = "data d = csv(\"d.csv\") { inputs = [u, v], target = y }
                model M(u: real, v: real) -> y: real {
                  a ~ Normal(0, 30)
                  b ~ Normal(0, 30)
                  c ~ Normal(0, 30)
                  y ~ Normal(a + b * u + c * v, 0.5)
                }
                posterior Q of M { a, b, c ~ FullRankNormal() }
                infer fit = vi(Q, d)";
            let trial = Trial::new().file("d.csv", table.as_str()).program(program);
            let (output, result) = trial.run(&["--seed", &seed.to_string()]);
            let found = &result["infer"]["fit"]["parameters"]["b"]["sd"];
            let ratio = found.as_f64().expect("a number") / exact;
            let is_right = (0.75..1.3).contains(&ratio);
            let is_reported = output.stderr.contains("E0533");
            assert!(is_right || is_reported, "noise {noise}, seed {seed}: {ratio}");
            reported += usize::from(is_reported);
        }
    }
    assert!(reported > 0);
}

/// The Taylor polynomial of `ln sigmoid` of order 4 has the leading term `x^4 / 192`, so that large weights have an arbitrarily large expected value. The
/// polynomial of order 6 has the leading term `-x^6 / 2880`.
#[test]
fn a_series_without_an_upper_bound_is_named() {
    let rows: String = (0..120)
        .map(|at| {
            let x = 3.0 * random(at);
            format!("{x},{}\n", u8::from(random(500 + at) < 0.5 * x))
        })
        .collect();
    let run = |series: &str| {
        let program = format!(
            "data d = csv(\"d.csv\") {{ target = y }}
            model M(x: real[k]) -> y: bool {{
              o = Dense(1, prior = Normal(0, 0.5))
              y ~ Bernoulli(o(x)[0])
            }}
            posterior Q of M {{ o.* ~ Normal(scale = 0.1) }}
            infer fit = vi(Q, d) {{ integrate = [o]{series} }}"
        );
        let trial = Trial::new().file("d.csv", format!("x,y\n{rows}"));
        trial.program(&program).bnnc("run", &[])
    };
    run("").assert_warning("E0533", &["use `series = 6`", "order 4 grows without bound"]);
    let bounded = run(", series = 6");
    assert!(!bounded.stderr.contains("without bound"), "{}", bounded.stderr);
}

/// bnnc has no test for such a short training of a network with running means.
#[test]
fn one_epoch_with_running_means_is_not_called_converged() {
    let rows: String = (0..60)
        .map(|at| format!("{},{}\n", random(at), random(at) + 0.1 * random(200 + at)))
        .collect();
    let trial = Trial::new().file("d.csv", format!("x,y\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y }
        model M(x: real[k]) -> y: real {
          h = Dense(8)
          n = BatchNorm()
          o = Dense(1)
          y ~ Normal(o(relu(flatten(n(reshape(h(x), 8, 1, 1)))))[0], 0.1)
        }
        infer fit = map(M, d) { batch = 12, epochs = 1 }",
    );
    let found = &trial.result(&[])["infer"]["fit"]["diagnostics"]["converged"];
    assert_ne!(found, true);
}

/// Returns 40 rows with an image `x`, a vector `v` and a target that depends on `v` only.
fn images_and_vectors() -> String {
    let image = |row: usize| {
        let pixel = |at: usize| random(4 * row + at);
        format!("[[[{}, {}], [{}, {}]]]", pixel(0), pixel(1), pixel(2), pixel(3))
    };
    let vector = |row: usize| format!("[{}, {}]", random(500 + row), random(900 + row));
    let images: Vec<String> = (0..40).map(image).collect();
    let vectors: Vec<String> = (0..40).map(vector).collect();
    let targets: Vec<f64> = (0..40).map(|row| random(500 + row) - random(900 + row)).collect();
    format!(
        "{{\"x\": [{}], \"v\": [{}], \"y\": {targets:?}}}",
        images.join(", "),
        vectors.join(", ")
    )
}

/// The running mean depends on the vector only, so the program that computes it again for the averaged weights does not read the images. No descent
/// tests the end of an augmented training, so it is never called converged.
#[test]
fn images_that_no_running_mean_depends_on_are_augmented() {
    let program = "data d = json(\"d.json\") { target = y }
        model M(x: real[1, 2, 2], v: real[2]) -> y: real {
          a = Dense(2)
          b = Dense(2)
          norm = BatchNorm()
          out = Dense(1)
          y ~ Normal(out(concat(a(flatten(x)), flatten(norm(reshape(b(v), 2, 1, 1)))))[0], 0.5)
        }
        model Linear(x: real[1, 2, 2], v: real[2]) -> y: real {
          w: real[2] ~ Normal(0, 1)
          p: real[4] ~ Normal(0, 1)
          y ~ Normal(dot(w, v) + dot(p, flatten(x)), 0.5)
        }
        infer average = swag(M, d) { epochs = 40, batch = 10, augment = [flip] }
        infer long = map(Linear, d) { steps = 4000, augment = [flip] }
        infer still = map(Linear, d) { steps = 4000, augment = [] }";
    let trial = Trial::new().file("d.json", images_and_vectors()).program(program);
    let (output, result) = trial.run(&[]);
    let converged = |infer: &str| result["infer"][infer]["diagnostics"]["converged"].clone();
    assert_eq!(converged("long"), serde_json::Value::Null, "{}", output.stderr);
    assert_eq!(converged("still"), true, "{}", output.stderr);
}
