//! Dropout masks on the inputs of layers.

use crate::setup::{LINE, NET, X, Y, compiled, dropped, rejected};
use bnnc_core::states::StateValues;
use bnnc_tests::compile as compiling;
use bnnc_tests::step::{Steps, predictions};
use bnnc_training::TrainingResult;

fn named<'a>(outputs: &'a [(&'static str, Vec<f64>)], name: &str) -> &'a [f64] {
    &outputs.iter().find(|(found, _)| *found == name).unwrap().1
}

/// If `x` has masks, `w x + b` has the mean `w x + b` and the variance `p / (1 - p) sum (w x)^2` in
/// every row. Rows are independent.
#[test]
fn a_linear_layer_keeps_its_mean_under_masks() {
    const DRAWS: usize = 20_000;
    const RATE: f64 = 0.3;
    let text = format!("{LINE}infer fit = dropout(Line, d) {{ layers = [out], rate = {RATE} }}\n");
    let (compiled, mut states) = dropped("linear", &text);
    let (w, b) = ([0.8, -1.1, 0.4], 0.25);
    states.insert("out.w/loc".into(), w.to_vec());
    states.insert("out.b/loc".into(), vec![b]);
    let infer = &compiled.manifest.infers[0];
    assert!(infer.reports.iter().any(|site| site.likelihood.contains("0.3")));
    let outputs = predictions(infer, &compiled.dataset("d"), &states, (Y.len(), DRAWS));
    let found = named(&outputs, "$mean");
    let n = DRAWS as f64;
    let mut deviations = vec![Vec::new(); Y.len()];
    for (row, x) in X.iter().enumerate() {
        let terms: Vec<f64> = w.iter().zip(x).map(|(w, x)| w * x).collect();
        let mean = b + terms.iter().sum::<f64>();
        let variances: Vec<f64> = terms.iter().map(|t| t * t * RATE / (1.0 - RATE)).collect();
        let variance: f64 = variances.iter().sum();
        let own: Vec<f64> = (0..DRAWS)
            .map(|draw| found[draw * Y.len() + row] - mean)
            .collect();
        let z = own.iter().sum::<f64>() / n / (variance / n).sqrt();
        assert!(z.abs() < 4.5, "row {row}: mean off by {z} standard errors");
        // The fourth moment of a sum of independent variables. Each variable has two possible
        // values.
        let two = |t: &f64| t.powi(4) * (RATE + (1.0 - RATE) * (RATE / (1.0 - RATE)).powi(4));
        let squares: f64 = variances.iter().map(|v| v * v).sum();
        let fourth = terms.iter().map(two).sum::<f64>() + 3.0 * (variance * variance - squares);
        let got = own.iter().map(|d| d * d).sum::<f64>() / n;
        let z = (got - variance) / ((fourth - variance * variance) / n).sqrt();
        assert!(z.abs() < 4.5, "row {row}: variance {got} is not {variance} ({z})");
        deviations[row] = own.iter().map(|d| d / variance.sqrt()).collect();
    }
    for row in 1..Y.len() {
        let product = deviations[row - 1].iter().zip(&deviations[row]);
        let z = product.map(|(a, b)| a * b).sum::<f64>() / n.sqrt();
        assert!(z.abs() < 4.5, "rows {} and {row} share their masks: {z}", row - 1);
    }
    // The likelihood of a row uses the same mask as the mean of the row.
    let likelihood = named(&outputs, "$log_likelihood");
    for at in 0..20 {
        let z = (Y[at % Y.len()] - found[at]) / 0.5;
        let own = -0.5 * z * z - 0.5f64.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
        assert!((likelihood[at] - own).abs() < 1e-9);
    }
}

/// A window slides over the inputs. An input has the same mask at all positions of the window, so
/// two windows over three inputs have three masks, not four.
#[test]
fn windows_of_an_input_share_its_mask() {
    const DRAWS: usize = 20_000;
    let text = "data d = csv(\"d.csv\")
model Slide(x: real[3]) -> y: real {
  k: real[1, 2] ~ Normal(0, 1)
  z = [tanh((k @ [x[i], x[i + 1]])[0]) for i in 0..2]
  y ~ Normal(sum(z), 0.5)
}
infer fit = dropout(Slide, d) { layers = [k], rate = 0.25 }
";
    let (compiled, mut states) = dropped("windows", text);
    let k: [f64; 2] = [0.7, -0.4];
    states.insert("k/loc".into(), k.to_vec());
    let outputs = predictions(
        &compiled.manifest.infers[0],
        &compiled.dataset("d"),
        &states,
        (Y.len(), DRAWS),
    );
    let found = named(&outputs, "$mean");
    let n = DRAWS as f64;
    for (row, x) in X.iter().enumerate() {
        // A moment is the sum over all masks, weighted by the probabilities of the masks.
        let moments = |power: i32, centre: f64| -> f64 {
            let of_mask = |mask: usize| {
                let kept = |at: usize| mask >> at & 1 == 1;
                let probability: f64 = (0..3).map(|at| if kept(at) { 0.75 } else { 0.25 }).product();
                let input = |at: usize| if kept(at) { x[at] / 0.75 } else { 0.0 };
                let window = |at: usize| (k[0] * input(at) + k[1] * input(at + 1)).tanh();
                probability * (window(0) + window(1) - centre).powi(power)
            };
            (0..8).map(of_mask).sum()
        };
        let mean = moments(1, 0.0);
        let (variance, fourth) = (moments(2, mean), moments(4, mean));
        let own = (0..DRAWS).map(|draw| found[draw * Y.len() + row] - mean);
        let (sum, squares) = own.fold((0.0, 0.0), |(sum, squares), d| (sum + d, squares + d * d));
        let z = sum / n / (variance / n).sqrt();
        assert!(z.abs() < 4.5, "row {row}: mean off by {z} standard errors");
        let z = (squares / n - variance) / ((fourth - variance * variance) / n).sqrt();
        assert!(z.abs() < 4.5, "row {row}: variance off by {z} standard errors");
    }
}

/// The masks of one row do not depend on the other rows. By default, masks apply to the inputs of
/// all layers except the first layer.
#[test]
fn masks_do_not_depend_on_other_rows() {
    let text = format!("{NET}infer fit = dropout(Net, d) {{ rate = 0.5 }}\n");
    let (compiled, states) = dropped("rows", &text);
    let infer = &compiled.manifest.infers[0];
    let dataset = compiled.dataset("d");
    let few = predictions(infer, &dataset, &states, (2, 3));
    let all = predictions(infer, &dataset, &states, (Y.len(), 3));
    for draw in 0..3 {
        for row in 0..2 {
            let (a, b) = (
                named(&few, "$mean")[draw * 2 + row],
                named(&all, "$mean")[draw * Y.len() + row],
            );
            assert_eq!(a, b);
        }
    }
    let sentence = |name: &str| {
        let site = infer.reports.iter().find(|site| site.name == name).unwrap();
        site.likelihood.clone()
    };
    assert!(sentence("out.w").contains("dropped"));
    assert_eq!(sentence("hidden.w"), "shared draw");
    assert_eq!(sentence("out.b"), "shared draw");
}

/// A step follows the gradient of its own loss, because the masks of the step do not depend on the
/// values of the weights.
#[test]
fn the_gradient_matches_the_masked_loss() {
    let text = format!(
        "{NET}infer fit = dropout(Net, d) {{ layers = [hidden, out], rate = 0.4, batch = 0, optimiser = SGD(1) }}\n"
    );
    let (compiled, states) = dropped("gradient", &text);
    let infer = &compiled.manifest.infers[0];
    let dataset = compiled.dataset("d");
    let rows: Vec<u32> = (0..Y.len() as u32).collect();
    let mut steps = Steps::new(infer, &dataset, &states, 1);
    let mut loss = |states: &StateValues, step: i32| {
        steps.set(states);
        let loss = steps.step(&rows, step);
        (loss, steps.states())
    };
    let (first, after) = loss(&states, 5);
    assert_ne!(first, loss(&states, 6).0, "the masks of two steps are the same");
    for state in ["hidden.w/loc", "out.w/loc", "out.b/loc", "sigma/loc"] {
        for at in 0..states[state].len().min(6) {
            let gradient = states[state][at] - after[state][at];
            let h = 1e-5;
            let mut moved = |by: f64| {
                let mut states = states.clone();
                states.get_mut(state).unwrap()[at] += by;
                loss(&states, 5).0
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            assert!(
                (gradient - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                "{state}[{at}]: {gradient} is not {slope}"
            );
        }
    }
}

#[test]
fn invalid_dropout_layers_are_rejected() {
    let unknown = format!("{NET}infer fit = dropout(Net, d) {{ layers = [hiden] }}\n");
    let diagnostic = rejected("unknown", &unknown);
    assert_eq!(diagnostic.code.id, "E0320");
    assert!(
        diagnostic.help.iter().any(|help| help.contains("hidden")),
        "{diagnostic:?}"
    );
    let nothing = format!("{LINE}infer fit = dropout(Line, d)\n");
    let diagnostic = rejected("nothing", &nothing);
    assert_eq!(diagnostic.code.id, "E0322");
    assert!(
        diagnostic.help.iter().any(|help| help.contains("layers = [out]")),
        "{diagnostic:?}"
    );
    let bias = format!("{NET}infer fit = dropout(Net, d) {{ layers = [out.b] }}\n");
    assert_eq!(rejected("bias", &bias).code.id, "E0322");
}

/// Training with masks runs to its end, and predictions average over masks.
#[test]
fn dropout_trains_to_the_end() {
    let text = format!(
        "{NET}infer fit = dropout(Net, d) {{ epochs = 400, batch = 0, optimiser = Adam(1e-2), rate = 0.05 }}\n"
    );
    let compiled = compiled("trains", &text);
    let result = compiling::run(&compiled.manifest, 1);
    let fitted: &TrainingResult = result.outcomes[0].splits[0]
        .found
        .fitted()
        .expect("dropout trains");
    let average = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    let losses = fitted.history.means();
    assert!(average(&losses[380..]) < average(&losses[..20]));
}
