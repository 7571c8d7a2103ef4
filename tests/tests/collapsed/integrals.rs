//! The integrals over the box of the iterates against closed forms and brute force.

use crate::setup::{
    Done, FAR, LINE, SD, UNIT, X, Y, brute, close, collected, column, density, done, mean, midpoints,
};
use bnnc_base::dtype::Precision;
use bnnc_core::predict::PROBABILITIES;
use bnnc_math::special::erf;

/// A model with one unit in the first layer and two units in the second layer. The kinks of the
/// second layer depend on the unit in the first layer, through its kink and its weights.
const DEEP: &str = "model M(x: real[1]) -> y: real {
  hidden = Dense(1, prior = Normal(1, 1))
  second = Dense(2, prior = Normal(0.5, 1))
  out    = Dense(1)
  y ~ Normal(out(relu(second(relu(hidden(x)))))[0], 0.5)
}
";

fn normal_cdf(z: f64) -> f64 {
    0.5 * (1.0 + erf(z / std::f64::consts::SQRT_2))
}

/// The test uses one weight on an interval, with Normal noise. The results have closed forms:
/// differences of the Normal distribution function, and differences of the integral of this
/// function.
#[test]
fn one_weight_has_a_closed_form() {
    let done = done(
        "one",
        &format!("{LINE}infer c = collapsed(M, d) {{ weights = 1, {FAR} }}\n"),
        "c",
    );
    assert_eq!(done.found.draws, 5);
    let weights = done.range("out.w", 0);
    let biases = done.range("out.b", 0);
    for row in 0..X.len() {
        let by_weight = (weights.1 - weights.0) * X[row].abs() >= biases.1 - biases.0;
        let ends: Vec<(f64, f64)> = done
            .site("out.w")
            .iter()
            .zip(done.site("out.b"))
            .map(|(w, b)| match by_weight {
                true => {
                    let (p, q) = (b[0] + weights.0 * X[row], b[0] + weights.1 * X[row]);
                    (p.min(q), p.max(q))
                }
                false => (w[0] * X[row] + biases.0, w[0] * X[row] + biases.1),
            })
            .collect();
        let law = |(low, high): &(f64, f64), y: f64| {
            (normal_cdf((y - low) / SD) - normal_cdf((y - high) / SD)) / (high - low)
        };
        let want = mean(ends.iter().map(|ends| law(ends, Y[row]))).ln();
        close(done.predictive.log_likelihood[row], want, 1e-10);
        let middle = mean(ends.iter().map(|(low, high)| 0.5 * (low + high)));
        let square = ends
            .iter()
            .map(|(low, high)| (high - low).powi(2) / 12.0 + (0.5 * (low + high) - middle).powi(2));
        close(done.predictive.epistemic[row], mean(square).sqrt(), 1e-10);
        close(done.predictive.aleatoric[row], SD, 1e-12);
        let draws = done.predictive.draws;
        let of_row = (0..draws).map(|draw| done.predictive.mean[draw * X.len() + row]);
        close(mean(of_row), middle, 1e-10);
        let below = |(low, high): &(f64, f64), y: f64| {
            let integral = |t: f64| t * normal_cdf(t) + density(t);
            SD * (integral((y - low) / SD) - integral((y - high) / SD)) / (high - low)
        };
        for (values, probability) in done.predictive.quantiles.iter().zip(PROBABILITIES) {
            close(
                mean(ends.iter().map(|ends| below(ends, values[row]))),
                probability,
                1e-9,
            );
        }
        for draw in 0..draws {
            let y = done.predictive.draw[draw * X.len() + row];
            let want = (draw as f64 + 0.5) / draws as f64;
            close(mean(ends.iter().map(|ends| below(ends, y))), want, 2e-3);
        }
        // The table of predictions contains the same numbers. The error estimates in the table are
        // as small as rounding errors, but they are not 0.
        close(column(&done, "log_density")[row], want, 1e-10);
        close(
            column(&done, "cdf")[row],
            mean(ends.iter().map(|ends| below(ends, Y[row]))),
            1e-10,
        );
        for name in ["error", "log_density_error"] {
            let error = column(&done, name)[row];
            assert!(error > 0.0 && error < 1e-9, "{name}: {error}");
        }
    }
}

/// The integral over both weights agrees with brute force over the sum of two uniform variables.
/// The integral is the same for every iterate, because the model does not have other weights.
#[test]
fn all_weights_of_a_line_match_brute_force() {
    for (noise, options) in [
        ("normal", ""),
        ("triangular", ", noise = triangular, alpha = l2, floor = 0"),
    ] {
        let text = format!("{LINE}infer c = collapsed(M, d) {{ {FAR}{options} }}\n");
        let done = done(&format!("all-{noise}"), &text, "c");
        let (weights, biases) = (
            midpoints(done.range("out.w", 0), 1500),
            midpoints(done.range("out.b", 0), 1500),
        );
        for row in 0..X.len() {
            let of = |f: f64| match noise {
                "normal" => density((Y[row] - f) / SD) / SD,
                _ => {
                    let radius = 2.297_003_764_578_612_6 * SD;
                    (1.0 - (Y[row] - f).abs() / radius).max(0.0) / radius
                }
            };
            let want = mean(
                weights
                    .iter()
                    .flat_map(|w| biases.iter().map(move |b| w * X[row] + b))
                    .map(of),
            );
            close(done.predictive.log_likelihood[row], want.ln(), 1e-6);
        }
    }
}

#[test]
fn one_hidden_unit_matches_brute_force() {
    let text = format!("{UNIT}infer c = collapsed(M, d) {{ over = [hidden], {FAR} }}\n");
    let done = done("unit", &text, "c");
    let (outgoing, offsets) = (done.site("out.w"), done.site("out.b"));
    for row in 0..X.len() {
        let location = |iterate: usize, unit: f64| outgoing[iterate][0] * unit + offsets[iterate][0];
        let (likelihood, middle) = brute(&done, row, &location);
        close(done.predictive.log_likelihood[row], likelihood.ln(), 1e-5);
        let draws = done.predictive.draws;
        let of_row = (0..draws).map(|draw| done.predictive.mean[draw * X.len() + row]);
        close(mean(of_row), middle, 1e-5);
    }
    let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
    assert!(tally.units > 0, "no kink was crossed: {tally:?}");
    assert_eq!(tally.integrals(), (X.len() * done.found.draws) as u64);
}

/// If kinks depend on other kinks, the integral is computed piece by piece.
#[test]
fn units_behind_units_match_brute_force() {
    let text = format!("{DEEP}infer c = collapsed(M, d) {{ over = [hidden], {FAR} }}\n");
    let done = done("deep", &text, "c");
    let names = ["second.w", "second.b", "out.w", "out.b"];
    let [second, shifts, outgoing, offsets] = names.map(|name| done.site(name));
    for row in 0..X.len() {
        let location = |iterate: usize, unit: f64| {
            let of = |at: usize| {
                (second[iterate][at] * unit + shifts[iterate][at]).max(0.0) * outgoing[iterate][at]
            };
            of(0) + of(1) + offsets[iterate][0]
        };
        let (likelihood, middle) = brute(&done, row, &location);
        close(done.predictive.log_likelihood[row], likelihood.ln(), 1e-5);
        let draws = done.predictive.draws;
        let of_row = (0..draws).map(|draw| done.predictive.mean[draw * X.len() + row]);
        close(mean(of_row), middle, 1e-5);
    }
    let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
    assert!(tally.pieces > 0, "{tally:?}");
}

/// After training in single precision, the integrals are still finite, because they use double
/// precision and distinguish the pieces.
#[test]
fn single_precision_training_keeps_integrals_finite() {
    let text = format!("{DEEP}infer c = collapsed(M, d) {{ over = [hidden], precision = f32, {FAR} }}\n");
    let done = done("single", &text, "c");
    assert_eq!(done.infer.precision, Precision::F32);
    assert!(
        done.predictive
            .log_likelihood
            .iter()
            .all(|value| value.is_finite())
    );
}

/// The model applies a second rectifier, which does not change any value. The kink of the second
/// rectifier depends on the first rectifier, so the integral uses pieces instead of units. Pieces
/// and units must give the same result.
#[test]
fn pieces_and_units_agree() {
    let twice = UNIT.replace("relu(hidden(x))", "relu(relu(hidden(x)) - 0.1)");
    let once = UNIT.replace("relu(hidden(x))", "relu(hidden(x) - 0.1)");
    let of = |model: &str, name: &str| {
        let text = format!(
            "{model}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}\ninfer c = collapsed(M, d) {{ over = [hidden], iterates = s }}\n"
        );
        done(name, &text, "c")
    };
    let (one, other) = (of(&once, "once"), of(&twice, "twice"));
    let tally = |done: &Done| done.result.outcomes[1].splits[0].tally.clone().unwrap();
    assert!(
        tally(&one).pieces == 0 && tally(&one).units > 0,
        "{:?}",
        tally(&one)
    );
    assert!(tally(&other).pieces > 0, "{:?}", tally(&other));
    for (one, other) in one
        .predictive
        .log_likelihood
        .iter()
        .zip(&other.predictive.log_likelihood)
    {
        close(*one, *other, 1e-9);
    }
}

/// If the box has width zero, the predictions equal the predictions at the iterate, and a warning
/// is reported.
#[test]
fn a_box_of_width_zero_predicts_like_the_iterate() {
    let text = format!(
        "{UNIT}infer s = swag(M, d) {{ covariance = snapshots, {FAR} }}
infer last = swag(M, d) {{ iterates = s, keep = 1, covariance = point }}
infer c = collapsed(M, d) {{ iterates = s, keep = 1 }}\n"
    );
    let done = done("point", &text, "c");
    assert_eq!(done.found.draws, 1);
    assert!(done.codes().contains(&"E0563"), "{:?}", done.codes());
    let (w1, b1, w2, b2) = (
        done.site("hidden.w"),
        done.site("hidden.b"),
        done.site("out.w"),
        done.site("out.b"),
    );
    for row in 0..X.len() {
        let f = w2[0][0] * (w1[0][0] * X[row] + b1[0][0]).max(0.0) + b2[0][0];
        close(
            done.predictive.log_likelihood[row],
            (density((Y[row] - f) / SD) / SD).ln(),
            1e-10,
        );
    }
    let values = |name: &str| {
        let outcome = done
            .result
            .outcomes
            .iter()
            .find(|outcome| outcome.name == name)
            .unwrap();
        collected(&outcome.splits[0].found).values.clone()
    };
    let snapshots = &values("s")["hidden.w/loc"];
    assert_eq!(values("last")["hidden.w/loc"], snapshots[snapshots.len() - 1..]);
    assert_eq!(values("c")["hidden.w/loc"], snapshots[snapshots.len() - 1..]);
}

/// The maximum of several units is an affine function between kinks. The integral over its pieces
/// agrees with brute force.
#[test]
fn the_maximum_of_units_matches_brute_force() {
    let model = "model M(x: real[1]) -> y: real {
  hidden = Dense(3, prior = Normal(0, 1))
  y ~ Normal(max(hidden(x)), 0.5)
}
";
    let text = format!("{model}infer c = collapsed(M, d) {{ over = [hidden.w], {FAR} }}\n");
    let done = done("largest", &text, "c");
    let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
    assert!(tally.pieces > 0 && tally.drawn == 0, "{tally:?}");
    let weights = [0, 1, 2].map(|at| midpoints(done.range("hidden.w", at), 60));
    let biases = done.site("hidden.b");
    for row in 0..X.len() {
        let mut all = Vec::new();
        for bias in &biases {
            for a in &weights[0] {
                for b in &weights[1] {
                    for c in &weights[2] {
                        let units = [a * X[row] + bias[0], b * X[row] + bias[1], c * X[row] + bias[2]];
                        let f = units.into_iter().fold(f64::NEG_INFINITY, f64::max);
                        all.push(density((Y[row] - f) / SD) / SD);
                    }
                }
            }
        }
        close(
            done.predictive.log_likelihood[row],
            mean(all.into_iter()).ln(),
            1e-3,
        );
    }
}
