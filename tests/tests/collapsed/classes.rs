//! Classes and Boolean outputs.

use crate::setup::{CLASSES, DIGIT, Done, FAR, X, close, done, mean, midpoints};
use bnnc_math::special::sigmoid;

/// For each class, the integral covers one weight. It is the weight with the largest effect on the
/// logit of the class. The expected probability of each class is computed by quadrature. The
/// probabilities are then normalised.
#[test]
fn classes_match_quadrature() {
    let text = DIGIT.to_owned() + &format!("infer c = collapsed(M, classes) {{ {FAR} }}\n");
    let done = done("classes", &text, "c");
    let [w1, b1, w2, b2] = ["hidden.w", "hidden.b", "out.w", "out.b"].map(|name| done.site(name));
    let weights = done
        .part()
        .weights
        .iter()
        .find(|weights| weights.site == "out.w")
        .unwrap();
    assert_eq!(weights.elements, 6);
    // The shape of the weights is `[units, classes]` or `[classes, units]`, depending on the layer.
    let place = |unit: usize, class: usize| {
        if is_units_first(&done) {
            unit * 3 + class
        } else {
            class * 2 + unit
        }
    };
    for row in 0..X.len() {
        let mut raw = [0.0; 3];
        for iterate in 0..done.found.draws {
            let unit = |at: usize| (w1[iterate][at] * X[row] + b1[iterate][at]).tanh();
            let units = [unit(0), unit(1), 1.0];
            let weight = |at: usize, class: usize| {
                if at == 2 {
                    b2[iterate][class]
                } else {
                    w2[iterate][place(at, class)]
                }
            };
            let logit = |class: usize| (0..3).map(|at| weight(at, class) * units[at]).sum::<f64>();
            for (class, raw) in raw.iter_mut().enumerate() {
                let range = |at: usize| match at {
                    2 => done.range("out.b", class),
                    _ => done.range("out.w", place(at, class)),
                };
                let width = |at: usize| (range(at).1 - range(at).0) * units[at].abs();
                let best = (0..3).max_by(|a, b| width(*a).total_cmp(&width(*b))).unwrap();
                let others: f64 = (0..3)
                    .filter(|other| *other != class)
                    .map(|other| logit(other).exp())
                    .sum();
                let rest = logit(class) - weight(best, class) * units[best] - others.ln();
                let all = midpoints(range(best), 4000);
                *raw += mean(all.iter().map(|value| sigmoid(rest + value * units[best])))
                    / done.found.draws as f64;
            }
        }
        let total: f64 = raw.iter().sum();
        for (class, raw) in raw.iter().enumerate() {
            close(done.predictive.probabilities[row * 3 + class], raw / total, 1e-7);
        }
        close(
            done.predictive.log_likelihood[row],
            (raw[CLASSES[row]] / total).ln(),
            1e-7,
        );
    }
    let json = bnnc_report::result::json(&done.compiled.manifest, &done.result);
    let diagnostics = &json["infer"]["c"]["diagnostics"];
    assert!(
        (diagnostics["raw_sum"].as_f64().unwrap() - 1.0).abs() < 0.2,
        "{diagnostics}"
    );
    assert_eq!(diagnostics["others_held"], false);
}

/// Returns whether the weights of a layer are `[inputs, units]`.
fn is_units_first(done: &Done) -> bool {
    let site = done
        .infer
        .reports
        .iter()
        .find(|site| site.name == "out.w")
        .unwrap();
    site.shape.resolve(&Default::default())[0] == 2
}

/// The mean of the sigmoid of one logit agrees with brute force. The logit depends on two weights.
#[test]
fn a_boolean_output_matches_brute_force() {
    let model = "model M(x: real[1]) -> y: bool {
  out = Dense(1)
  y ~ Bernoulli(out(x)[0])
}
";
    let text = format!("{model}infer c = collapsed(M, truths) {{ {FAR} }}\n");
    let done = done("truth", &text, "c");
    let (weights, biases) = (
        midpoints(done.range("out.w", 0), 1000),
        midpoints(done.range("out.b", 0), 1000),
    );
    for row in 0..X.len() {
        let all = weights
            .iter()
            .flat_map(|w| biases.iter().map(move |b| sigmoid(w * X[row] + b)));
        let want = mean(all);
        close(done.predictive.mean[row], want, 1e-7);
        let right = if CLASSES[row] % 2 == 1 { want } else { 1.0 - want };
        close(done.predictive.log_likelihood[row], right.ln(), 1e-7);
    }
}

#[test]
fn classes_that_share_weights_are_normalised() {
    let model = DIGIT.replace("tanh", "relu");
    let text = format!("{model}infer c = collapsed(M, classes) {{ over = [hidden], weights = 0, {FAR} }}\n");
    let done = done("held", &text, "c");
    assert!(done.codes().contains(&"E0564"), "{:?}", done.codes());
    for row in done.predictive.probabilities.chunks_exact(3) {
        close(row.iter().sum(), 1.0, 1e-12);
    }
}
