//! Weights that are drawn instead of integrated, and the errors of these draws.

use crate::setup::{
    DIGIT, Done, FAR, SD, UNIT, WIDE, X, Y, close, column, density, done, mean, midpoints, moments,
};
use bnnc_math::philox;

/// Integrals over twelve weights before two layers would have too many pieces, so the weights are
/// drawn instead. The difference from a result with more draws is within the reported error.
#[test]
fn too_many_pieces_are_drawn() {
    let with =
        |options: &str| format!("{WIDE}infer c = collapsed(M, d) {{ over = [hidden], {FAR}{options} }}\n");
    let done = done("pieces", &with(""), "c");
    assert!(done.codes().contains(&"E0562"), "{:?}", done.codes());
    let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
    assert!(tally.drawn > 0 && tally.drawn_rows > 0, "{tally:?}");
    // The program for draws does not compute derivatives.
    let plain = &done.part().plain.as_ref().unwrap().plan;
    let has = |name: &str| plain.port(name).is_some();
    assert!(has("$location") && !has("$location/$slope") && !has("$kinks/$slope"));
    let table = bnnc_report::result::table(&done.compiled.manifest, &done.result);
    for part in [
        "sampled rows",
        "1000 draws per iterate",
        "error of integrals",
        "of the iterates, not of the box",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let json = bnnc_report::result::json(&done.compiled.manifest, &done.result);
    let diagnostics = &json["infer"]["c"]["diagnostics"];
    assert_eq!(diagnostics["sampled"]["draws"], 1000);
    let rows = ["exact", "sampled"].map(|name| diagnostics["rows"][name].as_u64().unwrap());
    assert_eq!((rows[0] + rows[1], rows[1]), (X.len() as u64, tally.drawn_rows));
    assert!(diagnostics["log_density_error"].as_f64().unwrap() > 1e-6);
    let names = ["hidden.w", "hidden.b", "second.w", "second.b", "out.w", "out.b"];
    let [w1, b1, w2, b2, w3, b3] = names.map(|name| done.site(name));
    let boxes: Vec<(f64, f64)> = (0..12)
        .map(|at| match at {
            0..6 => done.range("hidden.w", at),
            _ => done.range("hidden.b", at - 6),
        })
        .collect();
    // The weights between the two hidden layers may be stored in either order of their axes.
    let place = |from: usize, to: usize| {
        if second_is_inputs_first(&done) {
            from * 6 + to
        } else {
            to * 6 + from
        }
    };
    assert_eq!((w1[0].len(), b1[0].len()), (6, 6));
    let key = philox::key(3, "brute");
    let count = 4000;
    for row in 0..X.len() {
        let mut densities = Vec::new();
        for iterate in 0..done.found.draws {
            for draw in 0..count {
                let at = |number: usize| {
                    let (low, high) = boxes[number];
                    low + (high - low)
                        * philox::uniform(key, [draw, row as u32, iterate as u32], number as u64)
                };
                let first: Vec<f64> = (0..6)
                    .map(|unit| (at(unit) * X[row] + at(6 + unit)).max(0.0))
                    .collect();
                let second = |unit: usize| {
                    let sum: f64 = (0..6)
                        .map(|from| w2[iterate][place(from, unit)] * first[from])
                        .sum();
                    (sum + b2[iterate][unit]).max(0.0)
                };
                let f: f64 = (0..6).map(|unit| w3[iterate][unit] * second(unit)).sum();
                densities.push(density((Y[row] - f - b3[iterate][0]) / SD) / SD);
            }
        }
        let want = mean(densities.iter().copied());
        let spread = mean(densities.iter().map(|density| (density - want).powi(2)));
        let own = (spread / densities.len() as f64).sqrt() / want;
        let reported = done.predictive.integrated.log_density_error[row];
        let off = (done.predictive.log_likelihood[row] - want.ln()).abs();
        assert!(
            off < 4.5 * own.hypot(reported) + 1e-9,
            "row {row}: {off}, {own} and {reported}"
        );
    }
}

/// Returns whether the shape of the weights between the two hidden layers is `[inputs, units]`. The
/// weights of all layers have the same order of axes.
fn second_is_inputs_first(done: &Done) -> bool {
    let site = done
        .infer
        .reports
        .iter()
        .find(|site| site.name == "out.w")
        .unwrap();
    site.shape.resolve(&Default::default()) == [6, 1]
}

/// If fewer weights or fewer units are integrated over, the integral is exact. The option `units`
/// limits the number of units whose incoming weights are integrated over.
#[test]
fn fewer_weights_or_units_are_exact() {
    let with =
        |options: &str| format!("{WIDE}infer c = collapsed(M, d) {{ over = [hidden], {FAR}{options} }}\n");
    for (name, options, columns) in [("fewer", ", weights = 2", 12), ("two-units", ", units = 2", 4)] {
        let done = done(name, &with(options), "c");
        let tally = done.result.outcomes[0].splits[0].tally.clone().unwrap();
        assert_eq!(
            (tally.drawn, done.choice.columns.len()),
            (0, columns),
            "{name}: {tally:?}"
        );
        assert!(!done.codes().contains(&"E0562"), "{:?}", done.codes());
        let likelihoods = &done.predictive.log_likelihood;
        assert!(likelihoods.iter().all(|value| value.is_finite()));
    }
}

/// If the outputs are smooth functions of the weights, the weights are drawn from the box.
#[test]
fn smooth_weights_are_drawn_from_the_box() {
    let model = UNIT.replace("relu", "tanh");
    let text = format!("{model}infer c = collapsed(M, d) {{ over = [hidden], draws = 400, {FAR} }}\n");
    let done = done("drawn", &text, "c");
    assert_eq!(done.predictive.draws, 2000);
    let (outgoing, offsets) = (done.site("out.w"), done.site("out.b"));
    for (row, x) in X.iter().enumerate() {
        let mut all = Vec::new();
        for w in midpoints(done.range("hidden.w", 0), 100) {
            for b in midpoints(done.range("hidden.b", 0), 100) {
                let unit = (w * x + b).tanh();
                all.extend(outgoing.iter().zip(&offsets).map(|(v, c)| v[0] * unit + c[0]));
            }
        }
        let middle = mean(all.iter().copied());
        let sd = mean(all.iter().map(|f| (f - middle).powi(2))).sqrt();
        let of_row = (0..2000).map(|draw| done.predictive.mean[draw * X.len() + row]);
        // The mean of n draws has the standard deviation sd / sqrt(n).
        assert!((mean(of_row) - middle).abs() < 4.5 * sd / 2000f64.sqrt() + 1e-9);
    }
}

/// Returns the values of a unit `tanh(w x + b)` at the points of a grid over the box.
fn smooth_units(done: &Done, x: f64) -> Vec<f64> {
    let (weights, biases) = (done.range("hidden.w", 0), done.range("hidden.b", 0));
    let biases = midpoints(biases, 100);
    let all = midpoints(weights, 100).into_iter();
    all.flat_map(|w| biases.iter().map(move |b| (w * x + b).tanh()))
        .collect()
}

/// The reported errors of draws from the box are standard errors. The draws around each iterate are
/// independent. If a distribution has the kurtosis k, a variance that is estimated from n draws has
/// the relative standard error sqrt((k - 1) / n). The test computes the kurtosis and the variance
/// on a grid over the box.
#[test]
fn errors_of_draws_are_their_standard_errors() {
    let model = UNIT.replace("relu", "tanh");
    let with = |draws: usize| {
        let text =
            format!("{model}infer c = collapsed(M, d) {{ over = [hidden], draws = {draws}, {FAR} }}\n");
        done(&format!("drawn-errors-{draws}"), &text, "c")
    };
    let count = 400.0;
    let done = with(400);
    let (outgoing, offsets) = (done.site("out.w"), done.site("out.b"));
    let iterates = outgoing.len() as f64;
    for (row, x) in X.iter().enumerate() {
        let units = smooth_units(&done, *x);
        let (mut of_mean, mut of_density, mut likelihood, mut kurtosis) = (0.0, 0.0, 0.0, 1.0f64);
        for (v, c) in outgoing.iter().zip(&offsets) {
            let places: Vec<f64> = units.iter().map(|unit| v[0] * unit + c[0]).collect();
            let densities: Vec<f64> = places.iter().map(|f| density((Y[row] - f) / SD) / SD).collect();
            let (place, dense) = (moments(&places), moments(&densities));
            of_mean += place.1 / (count * iterates * iterates);
            of_density += dense.1 / (count * iterates * iterates);
            likelihood += dense.0 / iterates;
            kurtosis = kurtosis.max(place.2).max(dense.2);
        }
        let relative = of_density.sqrt() / likelihood;
        let near = 4.5 * (kurtosis - 1.0).sqrt() / count.sqrt() + 9.0 * relative;
        let [error, off] = ["error", "log_density_error"].map(|name| column(&done, name)[row]);
        assert!(
            (error.powi(2) / of_mean - 1.0).abs() < near,
            "row {row}: {error}, {of_mean}"
        );
        assert!(
            (off / relative).powi(2) - 1.0 < near,
            "row {row}: {off}, {relative}"
        );
        assert!(
            1.0 - (off / relative).powi(2) < near,
            "row {row}: {off}, {relative}"
        );
        let found = column(&done, "log_density")[row];
        close(
            found,
            bnnc_data::metrics::log_mean_exp(
                (0..2000).map(|draw| done.predictive.log_likelihood[draw * X.len() + row]),
            ),
            1e-12,
        );
        assert!(
            (found - likelihood.ln()).abs() < 4.5 * off + 1e-6,
            "row {row}: {found}"
        );
    }
    let json = bnnc_report::result::json(&done.compiled.manifest, &done.result);
    let diagnostics = &json["infer"]["c"]["diagnostics"];
    assert_eq!(diagnostics["rows"]["sampled"], X.len());
    let largest = column(&done, "error").into_iter().fold(0.0, f64::max);
    assert_eq!(diagnostics["error"], largest);
    let table = bnnc_report::result::table(&done.compiled.manifest, &done.result);
    assert!(
        table.contains("draws per iterate") && table.contains("of a log density"),
        "{table}"
    );
    // The error cannot be estimated from a single draw per iterate, even if predictions repeat this
    // draw.
    let alone = with(1);
    assert!(alone.predictive.draws > alone.found.draws);
    for name in ["error", "log_density_error"] {
        assert!(
            column(&alone, name).iter().all(|error| *error == f64::INFINITY),
            "{name}"
        );
    }
}

/// The reported error of class probabilities from draws is the largest error of any class.
#[test]
fn errors_of_drawn_classes_are_the_largest_of_the_classes() {
    let model = DIGIT.replace("Dense(2, prior", "Dense(1, prior");
    let text = format!("{model}infer c = collapsed(M, classes) {{ over = [hidden], draws = 400, {FAR} }}\n");
    let done = done("drawn-classes", &text, "c");
    let (outgoing, offsets) = (done.site("out.w"), done.site("out.b"));
    let (count, iterates) = (400.0, outgoing.len() as f64);
    for (row, x) in X.iter().enumerate() {
        let units = smooth_units(&done, *x);
        let (mut of_classes, mut kurtosis) = ([0.0; 3], 1.0f64);
        for (v, c) in outgoing.iter().zip(&offsets) {
            let probability = |unit: &f64, class: usize| {
                let power = |class: usize| (v[class] * unit + c[class]).exp();
                power(class) / (0..3).map(power).sum::<f64>()
            };
            for (class, sum) in of_classes.iter_mut().enumerate() {
                let all: Vec<f64> = units.iter().map(|unit| probability(unit, class)).collect();
                let (_, variance, fourth) = moments(&all);
                *sum += variance / (count * iterates * iterates);
                kurtosis = kurtosis.max(fourth);
            }
        }
        let want = of_classes.into_iter().fold(0.0, f64::max);
        let near = 4.5 * (kurtosis - 1.0).sqrt() / count.sqrt();
        let error = column(&done, "error")[row];
        assert!(
            (error.powi(2) / want - 1.0).abs() < near,
            "row {row}: {error}, {want}"
        );
    }
}
