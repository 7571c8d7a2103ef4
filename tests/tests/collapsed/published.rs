//! The published density.

use crate::setup::{
    DIGIT, Done, FAR, LINE, SD, UNIT, X, attempt, close, column, done, mean, midpoints, published, scored,
};
use bnnc_base::diagnostic::Place;
use bnnc_driver::infer::CompileFailure;

/// Compares a run on standardised rows with sums over a grid of points in the box. `places` returns
/// the locations at the grid points around an iterate, for one value of the input.
fn check_published(done: &Done, smoothing: f64, places: &dyn Fn(usize, f64) -> Vec<f64>, tolerance: f64) {
    let dataset = &done.result.outcomes[0].dataset;
    let (x, y) = (dataset.train.inputs.reals(), dataset.train.reals("y").unwrap());
    let ends = (
        y.iter().copied().fold(f64::INFINITY, f64::min) - 1e-3,
        y.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 1e-3,
    );
    for row in 0..X.len() {
        let all: Vec<Vec<f64>> = (0..done.found.draws)
            .map(|iterate| places(iterate, x[row]))
            .collect();
        let (densities, below): (Vec<f64>, Vec<f64>) = all
            .iter()
            .map(|places| published(places, y[row], ends, smoothing))
            .unzip();
        let want = mean(densities.into_iter()).ln();
        close(done.predictive.log_likelihood[row], want, tolerance);
        let original = want - dataset.preparation.target.sd.ln();
        close(column(done, "log_density")[row], original, tolerance);
        close(column(done, "cdf")[row], mean(below.into_iter()), tolerance);
        let error = column(done, "log_density_error")[row];
        assert!(error > 0.0 && error < 1e-9, "{error}");
        // The mean of the predictions equals the mean of the location.
        let middle = mean(all.iter().flatten().copied());
        let draws = done.predictive.draws;
        let of_row = (0..draws).map(|draw| done.predictive.mean[draw * X.len() + row]);
        close(mean(of_row), middle, tolerance);
        let variance = (2.45 * SD).powi(2) / 6.0;
        close(done.predictive.aleatoric[row], variance.sqrt(), 1e-12);
    }
    assert!(done.codes().contains(&"E0565"), "{:?}", done.codes());
    let json = bnnc_report::result::json(&done.compiled.manifest, &done.result);
    let reported = &json["infer"]["c"]["diagnostics"]["published"];
    close(reported["interval"][0].as_f64().unwrap(), ends.0, 1e-12);
    close(reported["interval"][1].as_f64().unwrap(), ends.1, 1e-12);
    assert_eq!(
        (&reported["alpha"], &reported["smoothing"]),
        (&2.45.into(), &smoothing.into())
    );
}

/// The integral covers the bias and the two weights of the last layer that affect a row most. The
/// results agree with the definition of the published density.
#[test]
fn the_published_density_holds_for_a_last_layer() {
    let text = format!(
        "{}infer c = collapsed(M, std) {{ weights = 2, always = [out.b], compat = published, smoothing = 0.02, {FAR} }}\n",
        scored()
    );
    let done = done("published-last", &text, "c");
    let [w1, b1, w2] = ["hidden.w", "hidden.b", "out.w"].map(|name| done.site(name));
    let biases = midpoints(done.range("out.b", 0), 50);
    let places = |iterate: usize, x: f64| {
        let units = [0, 1, 2].map(|at| (w1[iterate][at] * x + b1[iterate][at]).max(0.0));
        let width = |at: usize| (done.range("out.w", at).1 - done.range("out.w", at).0) * units[at];
        let least = (0..3).min_by(|a, b| width(*a).total_cmp(&width(*b))).unwrap();
        let grids: Vec<Vec<f64>> = (0..3)
            .filter(|at| *at != least)
            .map(|at| {
                midpoints(done.range("out.w", at), 50)
                    .into_iter()
                    .map(|w| w * units[at])
                    .collect()
            })
            .collect();
        let kept = w2[iterate][least] * units[least];
        let mut all = Vec::new();
        for one in &grids[0] {
            for other in &grids[1] {
                all.extend(biases.iter().map(|bias| kept + one + other + bias));
            }
        }
        all
    };
    check_published(&done, 0.02, &places, 1e-4);
}

/// The integral covers only the weight and the bias of the first unit, even if another unit has a
/// larger effect on the outputs.
#[test]
fn the_published_density_holds_for_one_unit() {
    let text = format!(
        "{}infer c = collapsed(M, std) {{ over = [hidden], units = 1, weights = 1, always = [hidden.b], compat = published, {FAR} }}\n",
        scored()
    );
    let done = done("published-unit", &text, "c");
    // The sites `hidden.w` and `hidden.b` have three elements each.
    assert_eq!(done.choice.columns, [0, 3]);
    let [w1, b1, w2, b2] = ["hidden.w", "hidden.b", "out.w", "out.b"].map(|name| done.site(name));
    let (weights, biases) = (done.range("hidden.w", 0), done.range("hidden.b", 0));
    let (weights, biases) = (midpoints(weights, 300), midpoints(biases, 300));
    let places = |iterate: usize, x: f64| {
        let unit = |at: usize| w2[iterate][at] * (w1[iterate][at] * x + b1[iterate][at]).max(0.0);
        let kept = unit(1) + unit(2) + b2[iterate][0];
        let first = |w: f64, b: f64| kept + w2[iterate][0] * (w * x + b).max(0.0);
        let all = weights.iter().flat_map(|w| biases.iter().map(move |b| (*w, *b)));
        all.map(|(w, b)| first(w, b)).collect()
    };
    // The second argument is the default of `smoothing`.
    check_published(&done, 1e-3, &places, 1e-4);
}

/// A bias that has the same value at all iterates gets a narrow box. Other weights that have the
/// same value at all iterates do not get a box.
#[test]
fn a_bias_with_equal_iterates_has_the_published_box() {
    let text = format!(
        "{}infer c = collapsed(M, std) {{ weights = 2, always = [out.b], keep = 1, compat = published, {FAR} }}\n",
        scored()
    );
    let done = done("published-point", &text, "c");
    // The index of the bias is 3, because three weights come before it.
    assert_eq!(done.choice.columns, [3]);
    let [w1, b1, w2, b2] = ["hidden.w", "hidden.b", "out.w", "out.b"].map(|name| done.site(name)[0].clone());
    let biases = midpoints((b2[0] - 5e-5, b2[0] + 5e-5), 200);
    let places = |_: usize, x: f64| {
        let unit = |at: usize| w2[at] * (w1[at] * x + b1[at]).max(0.0);
        let kept = unit(0) + unit(1) + unit(2);
        biases.iter().map(|bias| kept + bias).collect()
    };
    check_published(&done, 1e-3, &places, 1e-8);
}

/// Options that contradict the published density are rejected. The error points at the option.
#[test]
fn options_against_the_published_density_are_rejected() {
    let rejected = |name: &str, text: &str, option: &str, why: &str| {
        let found = match attempt(name, text) {
            Err(CompileFailure::Program(found)) => found,
            other => panic!("{name}: {:?}", other.err()),
        };
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!(only.code.id, "E0614", "{only:?}");
        assert!(only.message.contains(why), "{name}: {}", only.message);
        let Place::Span(span) = only.at else {
            panic!("{only:?}")
        };
        let whole = format!("use layers::Dense\ndata d = csv(\"d.csv\")\n{text}");
        let before = &whole[..span.start as usize];
        assert!(before.ends_with(&format!("{option} = ")), "{name}: {before}");
    };
    let with = |model: &str, options: &str| format!("{model}infer c = collapsed(M, d) {{ {options} }}\n");
    let compat = "compat = published";
    for (at, (options, option, why)) in [
        (
            "noise = normal, compat = published",
            "noise",
            "triangular noise instead of Normal noise",
        ),
        ("floor = 0.1, compat = published", "floor", "a uniform"),
        ("smoothing = 0.1", "smoothing", "requires `compat = published`"),
        (
            "noise = triangular, smoothing = 0.1, compat = none",
            "smoothing",
            "requires `compat = published`",
        ),
        (
            "always = [out.b]",
            "always",
            "all weights are already integrated over",
        ),
        (
            "weights = 1, always = [hidden]",
            "always",
            "`always` names `hidden`",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        rejected(&format!("apart{at}"), &with(LINE, options), option, why);
    }
    let smooth = UNIT.replace("relu", "tanh");
    let drawn = format!("over = [hidden], {compat}");
    rejected(
        "apart-drawn",
        &with(&smooth, &drawn),
        "compat",
        "sampled from their box",
    );
    let classes =
        format!("data classes = csv(\"c.csv\")\n{DIGIT}infer c = collapsed(M, classes) {{ {compat} }}\n");
    rejected("apart-classes", &classes, "compat", "is a class");
    let two = "data two = npy(\"x.npy\", \"y.npy\")
model M(x: real[1]) -> y: real[2] {
  out = Dense(2)
  y ~ Normal(out(x), 0.5)
}
";
    let two = format!("{two}infer c = collapsed(M, two) {{ {compat} }}\n");
    rejected("apart-two", &two, "compat", "one number per row");
}
