//! Tests of the programs of collapsed inference. The location of the observation is an affine
//! function of the chosen weights, is affine between kinks, or does not have one of these two
//! forms. The derivatives of the location agree with finite differences.

use super::setup::{assert_close, compiled, inputs, network, number, on_model, results};
use bnnc_abi::methods::collapsed::LocationForm;
use bnnc_abi::methods::laplace::Likelihood;
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::methods::collapse::{Collapse, collapse};
use bnnc_rewrite::methods::laplace::choice::OverWeights;
use std::collections::HashMap;
use std::sync::Arc;

const ROWS: usize = 3;
const SELECTED: usize = 5;

fn collapsed(text: &str, over: OverWeights<'_>) -> Collapse {
    let width = if text.contains("real[3]") { 3 } else { 2 };
    on_model("collapsed", text, width, |densities, elaborated, context| {
        collapse(elaborated.problem(densities), over, context).unwrap()
    })
}

fn sites(found: &Collapse) -> Vec<&str> {
    found.weights.iter().map(|weights| &*weights.site).collect()
}

fn named(name: &str) -> [Arc<str>; 1] {
    [name.into()]
}

/// A network with two output layers: one for the mean, and one for the standard deviation of the
/// noise.
const TWO_HEADS: &str = "use layers::Dense
data rows = csv(\"rows.csv\") { target = y }
model Net(x: real[d]) -> y: real {
  hidden = Dense(4)
  mean   = Dense(1)
  noise  = Dense(1)
  units  = relu(hidden(x))
  y ~ Normal(mean(units)[0], 0.1 + softplus(noise(units)[0]))
}
infer fit = map(Net, rows) { epochs = 1 }
";

/// A network that has two hidden layers.
const DEEP: &str = "use layers::Dense
data rows = csv(\"rows.csv\") { target = y }
model Net(x: real[d]) -> y: real {
  first  = Dense(3)
  second = Dense(4)
  out    = Dense(1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(out(relu(second(relu(first(x)))))[0], sigma)
}
infer fit = map(Net, rows) { epochs = 1 }
";

#[test]
fn the_last_layer_is_affine() {
    let net = network(4, 1, "tanh", "real", "Normal(f[0], sigma)");
    let found = collapsed(&net, OverWeights::LastLayer);
    assert_eq!(sites(&found), ["last.w", "last.b"]);
    assert_eq!(
        (&found.form, found.likelihood),
        (&LocationForm::Affine, Likelihood::Normal)
    );
    assert!(!found.held);
    let classes = network(4, 3, "relu", "index(3)", "Categorical(logits = f)");
    let found = collapsed(&classes, OverWeights::LastLayer);
    assert_eq!((&found.form, found.outputs), (&LocationForm::Affine, 3));
    assert_eq!(found.likelihood, Likelihood::Categorical);
}

/// The weights of the output layer for the noise are not integrated over. If the noise depends on
/// other weights that are integrated over, the integral uses the value of the noise at the iterate.
#[test]
fn a_head_for_the_noise_is_held() {
    let found = collapsed(TWO_HEADS, OverWeights::LastLayer);
    assert_eq!((sites(&found), found.held), (vec!["mean.w", "mean.b"], false));
    let found = collapsed(TWO_HEADS, OverWeights::Names(&named("hidden")));
    assert_eq!((sites(&found), found.held), (vec!["hidden.w", "hidden.b"], true));
    let form = LocationForm::Piecewise { kinks: 4, direct: 4 };
    assert_eq!(found.form, form);
}

#[test]
fn kinks_behind_kinks_are_counted_separately() {
    let kinks = |name: &str| match collapsed(DEEP, OverWeights::Names(&named(name))).form {
        LocationForm::Piecewise { kinks, direct } => (kinks, direct),
        other => panic!("{other:?}"),
    };
    assert_eq!(kinks("second"), (4, 4));
    assert_eq!(kinks("first"), (7, 3));
}

#[test]
fn networks_without_an_exact_form_are_sampled() {
    let reason = |text: &str, over: OverWeights<'_>| match collapsed(text, over).form {
        LocationForm::Sampled(reason) => reason,
        other => panic!("{other:?}"),
    };
    let tanh = network(4, 1, "tanh", "real", "Normal(f[0], sigma)");
    assert_eq!(
        reason(&tanh, OverWeights::Names(&named("hidden"))),
        "the weights pass through `tanh`"
    );
    assert_eq!(
        reason(DEEP, OverWeights::All),
        "the weights multiply or divide each other"
    );
    let heavy = network(4, 1, "relu", "real", "StudentT(4, f[0], sigma)");
    assert_eq!(
        reason(&heavy, OverWeights::LastLayer),
        "an observation that is `StudentT` has no exact integral"
    );
}

fn sizes() -> Sizes {
    Sizes::default()
        .with(Symbol::Batch, ROWS)
        .with(Symbol::Selected, SELECTED)
}

/// Returns a choice of five columns: the elements 1, 0 and 3 of the first state, followed by the
/// elements 0 and 2 of the second state. An index beyond the end of a state is replaced by the
/// index of its last element.
fn picked(found: &Collapse) -> HashMap<String, Tensor> {
    let mut given = HashMap::new();
    for (at, weights) in found.weights.iter().enumerate() {
        let (index, chosen) = match at {
            0 => ([1.0, 0.0, 3.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0, 0.0]),
            _ => ([0.0, 0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0, 1.0]),
        };
        let index: Vec<f64> = index
            .iter()
            .map(|at: &f64| at.min(weights.elements as f64 - 1.0))
            .collect();
        let tensor = |values: &[f64]| Tensor::new(vec![SELECTED], values.to_vec());
        given.insert(format!("{}/$index", weights.state), tensor(&index));
        given.insert(format!("{}/$chosen", weights.state), tensor(&chosen));
    }
    given
}

/// Returns the states after one column has been increased by `by`.
fn shifted(
    found: &Collapse,
    given: &HashMap<String, Tensor>,
    column: usize,
    by: f64,
) -> HashMap<String, Tensor> {
    let function = found.local.as_ref().unwrap();
    let names = function
        .params
        .iter()
        .map(|param| function.param_name(*param).unwrap());
    let all: HashMap<String, Tensor> = names
        .map(|name| name.to_string())
        .zip(inputs(function, &sizes(), given))
        .collect();
    let mut moved = given.clone();
    for weights in &found.weights {
        let index = given[&format!("{}/$index", weights.state)].data[column] as usize;
        let chosen = given[&format!("{}/$chosen", weights.state)].data[column];
        let mut state = all[&weights.state].clone();
        state.data[index] += chosen * by;
        moved.insert(weights.state.clone(), state);
    }
    moved
}

/// The derivatives of the location and of the kinks agree with finite differences, both in the
/// interpreter and in machine code.
#[test]
fn slopes_match_differences() {
    let cases = [
        (network(4, 1, "tanh", "real", "Normal(f[0], sigma)"), "last"),
        (
            network(4, 3, "relu", "index(3)", "Categorical(logits = f)"),
            "last",
        ),
        (TWO_HEADS.to_owned(), "hidden"),
        (DEEP.to_owned(), "second"),
        (DEEP.to_owned(), "first"),
    ];
    for (text, layer) in &cases {
        let found = collapsed(text, OverWeights::Names(&named(layer)));
        let function = found.local.as_ref().unwrap();
        let given = picked(&found);
        let base = results(function, &sizes(), &given);
        let code = compiled(function, Precision::F64, &sizes(), &given);
        for (name, value) in &base {
            assert_close(&code[name], &value.data, 1e-9, &format!("{layer} {name}"));
        }
        let has_kinks = found.form != LocationForm::Affine;
        assert_eq!(base.contains_key("$kinks"), has_kinks);
        for name in ["$location", "$kinks"].iter().take(1 + usize::from(has_kinks)) {
            let value = &base[*name];
            let width = value.data.len() / ROWS;
            for column in 0..SELECTED {
                let step = 1e-6;
                let [up, down] = [step, -step].map(|by| {
                    results(function, &sizes(), &shifted(&found, &given, column, by))[*name].clone()
                });
                let pairs = up.data.iter().zip(&down.data);
                let want: Vec<f64> = pairs.map(|(up, down)| (up - down) / (2.0 * step)).collect();
                let slopes = &base[&format!("{name}/$slope")].data;
                let got: Vec<f64> = (0..ROWS * width)
                    .map(|at| slopes[at * SELECTED + column])
                    .collect();
                assert_close(&got, &want, 1e-7, &format!("{layer} {name} {column}"));
            }
        }
    }
}

/// The port `moves` changes the weights separately for each row. The port `moves` does not change
/// the noise and the target.
#[test]
fn rows_have_moves_of_their_own() {
    let found = collapsed(TWO_HEADS, OverWeights::Names(&named("hidden")));
    let function = found.local.as_ref().unwrap();
    let mut given = picked(&found);
    given.insert("$moves".to_owned(), Tensor::zeros(vec![ROWS, SELECTED]));
    let still = results(function, &sizes(), &given);
    let shift = |row: usize, column: usize| number("shift", row * SELECTED + column);
    let moves = (0..ROWS * SELECTED).map(|at| shift(at / SELECTED, at % SELECTED));
    given.insert(
        "$moves".to_owned(),
        Tensor::new(vec![ROWS, SELECTED], moves.collect()),
    );
    let moved = results(function, &sizes(), &given);
    for name in ["$scale", "$target"] {
        assert_eq!(moved[name], still[name]);
    }
    for row in 0..ROWS {
        let mut own = picked(&found);
        own.insert("$moves".to_owned(), Tensor::zeros(vec![ROWS, SELECTED]));
        for column in 0..SELECTED {
            own = shifted(&found, &own, column, shift(row, column));
        }
        let alone = results(function, &sizes(), &own);
        for name in ["$location", "$kinks"] {
            let width = moved[name].data.len() / ROWS;
            let part = |values: &Tensor| values.data[row * width..(row + 1) * width].to_vec();
            assert_close(&part(&moved[name]), &part(&alone[name]), 1e-12, name);
        }
    }
}
