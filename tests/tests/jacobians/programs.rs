//! Jacobians agree with finite differences of the outputs, and all other programs agree with the
//! Jacobians. Second derivatives agree with finite differences of gradients.

use super::setup::{ALL, approximated, assert_close, compiled, inputs, network, number, results, tried};
use bnnc_base::dtype::Precision;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::diagnostics;
use bnnc_rewrite::methods::laplace::{Approximation, OptionalPrograms};
use bnnc_rewrite::methods::task::RewriteError;
use std::collections::HashMap;

const ROWS: usize = 3;
const COLUMNS: usize = 2;
const SELECTED: usize = 7;

fn sizes() -> Sizes {
    Sizes::default()
        .with(Symbol::Batch, ROWS)
        .with(Symbol::Columns, COLUMNS)
        .with(Symbol::Selected, SELECTED)
}

/// Returns a network with these sites, whose mean is `f`.
fn shared(sites: &str, f: &str) -> String {
    format!(
        "data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real[3]) -> y: real {{
{sites}
  sigma: positive ~ HalfNormal(1)
  y ~ Normal({f}, sigma)
}}
infer fit = map(Net, rows) {{ epochs = 1 }}
"
    )
}

/// Returns a network with these sites, whose mean is `f`. The input of this network is an image of
/// 3 x 4 pixels.
fn images(sites: &str, f: &str) -> String {
    let sites = format!("{sites}\n  image = reshape(x, 1, 3, 4)");
    shared(&sites, &format!("sum(tanh({f}))")).replace("real[3])", "real[12])")
}

/// Returns the networks. A network is a name, a text, and the number of inputs.
fn networks() -> Vec<(&'static str, String, usize)> {
    vec![
        (
            "classes",
            network(4, 3, "tanh", "index(3)", "Categorical(logits = f)"),
            3,
        ),
        ("normal", network(5, 1, "relu", "real", "Normal(f[0], sigma)"), 2),
        (
            "twice",
            shared(
                "  w: real[3, 3] ~ Normal(0, 1)\n  v: real[3] ~ Normal(0, 1)",
                "sum(v * tanh(w @ tanh(w @ x)))",
            ),
            3,
        ),
        (
            "positions",
            shared(
                "  w: real[2, 3] ~ Normal(0, 1)\n  v: real[4, 2] ~ Normal(0, 1)",
                "sum(sum(tanh(v @ tanh(w @ (x * (t + 1))))) for t in 0..3)",
            ),
            3,
        ),
        (
            "dependent",
            shared(
                "  w: real[2, 3] ~ Normal(0, 1)\n  v: real[2] ~ Normal(tanh(sum(w)), exp(w[0, 0]))",
                "sum(v * tanh(w @ x))",
            ),
            3,
        ),
        (
            "convolutions",
            images(
                "  a: real[2, 1, 2, 3] ~ Normal(0, 1)\n  b: real[2, 2, 2, 2] ~ Normal(0, 1)",
                "conv(tanh(conv(pad(image, 1), a)), b, stride = 2)",
            ),
            12,
        ),
        (
            "pools",
            images(
                "  a: real[2, 1, 2, 2] ~ Normal(0, 1)\n  b: real[2] ~ Normal(0, 1)",
                "max_pool(mean_pool(add_to_channels(conv(pad(image, 1), a), b), 2, 1), 2)",
            ),
            12,
        ),
        (
            "lookups",
            "data rows = csv(\"rows.csv\") { target = y }
model Net(x0: index(3)) -> y: real {
  e: real[3, 4] ~ Normal(0, 1)
  w: real[2, 4] ~ Normal(0, 1)
  y ~ Normal(sum(tanh(w @ tanh(e[x0]))), 1)
}
infer fit = map(Net, rows) { epochs = 1 }
"
            .to_owned(),
            1,
        ),
        (
            "positive",
            shared(
                "  w: positive[2, 3] ~ Gamma(2, 2)\n  v: real[2] ~ Normal(0, 1)",
                "sum(v * tanh(w @ x))",
            ),
            3,
        ),
    ]
}

/// Returns `cotangents . df/dw`, computed by finite differences of the outputs. The shape is
/// `[batch, columns, elements]` for each state.
fn differences(found: &Approximation, cotangents: &Tensor) -> Vec<Tensor> {
    let outputs = |moved: &HashMap<String, Tensor>| results(&found.rows, &sizes(), moved)["$outputs"].clone();
    let mut jacobians = Vec::new();
    for weights in &found.weights {
        let start = state(&found.rows, &weights.state);
        let mut jacobian = Tensor::zeros(vec![ROWS, COLUMNS, weights.elements]);
        for element in 0..weights.elements {
            let at = |offset: f64| {
                let mut moved = start.clone();
                moved.data[element] += offset;
                outputs(&HashMap::from([(weights.state.clone(), moved)]))
            };
            let (up, down, step) = (at(1e-5), at(-1e-5), 2e-5);
            for row in 0..ROWS {
                for column in 0..COLUMNS {
                    let slope = |k: usize| {
                        let offset = row * found.outputs + k;
                        (up.data[offset] - down.data[offset]) / step * cotangents.at(&[row, column, k])
                    };
                    let sum = (0..found.outputs).map(slope).sum();
                    let offset = jacobian.offset(&[row, column, element]);
                    jacobian.data[offset] = sum;
                }
            }
        }
        jacobians.push(jacobian);
    }
    jacobians
}

fn state(function: &Function, name: &str) -> Tensor {
    let values = inputs(function, &sizes(), &HashMap::new());
    let at = function
        .params
        .iter()
        .position(|param| **function.param_name(*param).unwrap() == *name);
    values[at.unwrap()].clone()
}

fn cotangents(found: &Approximation) -> Tensor {
    let mut at = 0;
    Tensor::from_fn(vec![ROWS, COLUMNS, found.outputs], |_| {
        at += 1;
        number("$cotangents", at)
    })
}

fn given(pairs: impl IntoIterator<Item = (String, Tensor)>) -> HashMap<String, Tensor> {
    pairs.into_iter().collect()
}

#[test]
fn jacobians_match_differences_and_other_programs_match_jacobians() {
    for (name, text, width) in networks() {
        let found = approximated(name, &text, width, ALL);
        let cotangents = cotangents(&found);
        let slopes = differences(&found, &cotangents);
        let base = given([("$cotangents".to_owned(), cotangents)]);
        jacobian(name, &found, &base, &slopes);
        selected(name, &found, &base, &slopes);
        squares(name, &found, &base, &slopes);
        spread(name, &found, &base, &slopes);
        factors(name, &found, &base, &slopes);
    }
}

fn check(name: &str, function: &Function, port: &str, input: &HashMap<String, Tensor>, want: &[f64]) {
    let got = &results(function, &sizes(), input)[port];
    assert_close(&got.data, want, 2e-8, &format!("{port} of {name}"));
    let got = &compiled(function, Precision::F64, &sizes(), input)[port];
    assert_close(got, want, 2e-8, &format!("compiled {port} of {name}"));
}

fn jacobian(name: &str, found: &Approximation, base: &HashMap<String, Tensor>, slopes: &[Tensor]) {
    let function = found.jacobian.as_ref().unwrap();
    for (weights, slope) in found.weights.iter().zip(slopes) {
        check(
            name,
            function,
            &format!("{}/$jacobian", weights.state),
            base,
            &slope.data,
        );
    }
}

/// Checks the Jacobian with respect to seven selected columns. The columns are spread over the
/// states. The columns include the first and the last element of each state.
fn selected(name: &str, found: &Approximation, base: &HashMap<String, Tensor>, slopes: &[Tensor]) {
    let states = found.weights.len();
    let pick = |column: usize| {
        let state = column % states;
        let elements = found.weights[state].elements;
        let element = match column / states {
            0 => elements - 1,
            1 => 0,
            other => (other * 5) % elements,
        };
        (state, element)
    };
    let mut input = base.clone();
    for (at, weights) in found.weights.iter().enumerate() {
        let of = |value: &dyn Fn(usize) -> f64| {
            Tensor::from_fn(vec![SELECTED], |column| match pick(column[0]) {
                (state, element) if state == at => value(element),
                _ => 0.0,
            })
        };
        input.insert(format!("{}/$index", weights.state), of(&|element| element as f64));
        input.insert(format!("{}/$chosen", weights.state), of(&|_| 1.0));
    }
    let want = Tensor::from_fn(vec![ROWS, COLUMNS, SELECTED], |at| {
        let (state, element) = pick(at[2]);
        slopes[state].at(&[at[0], at[1], element])
    });
    check(
        name,
        found.selected.as_ref().unwrap(),
        "$jacobian",
        &input,
        &want.data,
    );
}

fn squares(name: &str, found: &Approximation, base: &HashMap<String, Tensor>, slopes: &[Tensor]) {
    for (weights, slope) in found.weights.iter().zip(slopes) {
        let sum = |element: usize| {
            slope
                .data
                .iter()
                .skip(element)
                .step_by(weights.elements)
                .map(|x| x * x)
                .sum()
        };
        let want: Vec<f64> = (0..weights.elements).map(sum).collect();
        let port = format!("{}/$squares", weights.state);
        check(name, found.squares.as_ref().unwrap(), &port, base, &want);
    }
}

fn spread(name: &str, found: &Approximation, base: &HashMap<String, Tensor>, slopes: &[Tensor]) {
    let mut input = base.clone();
    for weights in &found.weights {
        let variance = |at: &[usize]| number(&weights.state, 100 + at[0]).abs();
        let variance = Tensor::from_fn(vec![weights.elements], variance);
        input.insert(format!("{}/$variance", weights.state), variance);
    }
    let want = Tensor::from_fn(vec![ROWS, COLUMNS, COLUMNS], |at| {
        let of = |(weights, slope): (&bnnc_abi::methods::laplace::Weights, &Tensor)| {
            let variance = &input[&format!("{}/$variance", weights.state)];
            let term =
                |d: usize| slope.at(&[at[0], at[1], d]) * variance.data[d] * slope.at(&[at[0], at[2], d]);
            (0..weights.elements).map(term).sum::<f64>()
        };
        found.weights.iter().zip(slopes).map(of).sum()
    });
    check(
        name,
        found.spread.as_ref().unwrap(),
        "$spread",
        &input,
        &want.data,
    );
}

/// Checks that the Kronecker product of the two factors equals the outer product of the Jacobian
/// with itself. If a factor is a whole block, the check uses several rows and several columns. All
/// other factors are checked with one row and one column. Networks whose gradient is then not a
/// single outer product are left out.
fn factors(name: &str, found: &Approximation, base: &HashMap<String, Tensor>, slopes: &[Tensor]) {
    let function = found.factors.as_ref().unwrap();
    let exact = !matches!(name, "twice" | "positions" | "convolutions" | "pools");
    let whole: Vec<&str> = found
        .blocks
        .iter()
        .filter(|block| block.left == 1)
        .map(|block| &*found.weights[block.weights].state)
        .collect();
    match name {
        "classes" | "normal" => assert_eq!(whole, ["hidden.b/loc", "last.b/loc"], "{name}"),
        "twice" | "dependent" => assert_eq!(whole, ["v/loc"], "{name}"),
        "positions" | "convolutions" | "lookups" => assert!(whole.is_empty(), "{whole:?}"),
        "pools" => assert_eq!(whole, ["b/loc"]),
        _ => assert_eq!(whole, ["w/loc", "v/loc"]),
    }
    let all = results(function, &sizes(), base);
    for block in found.blocks.iter().filter(|block| block.left == 1) {
        let slope = &slopes[block.weights];
        let size = block.right;
        let gram = Tensor::from_fn(vec![size, size], |at| {
            let rows = slope.data.chunks(size);
            rows.map(|row| row[at[0]] * row[at[1]]).sum()
        });
        let port = format!("{}/$right", block.name);
        assert_close(&all[&port].data, &gram.data, 2e-8, &format!("{port} of {name}"));
    }
    if name == "positions" {
        // The network applies the layer three times: to the inputs of the row, to twice these
        // inputs, and to three times these inputs.
        let x = state(function, "x");
        let left = Tensor::from_fn(vec![3, 3], |at| {
            let rows = x.data.chunks(3);
            14.0 / 3.0 * rows.map(|row| row[at[0]] * row[at[1]]).sum::<f64>()
        });
        let block = found.blocks.iter().find(|block| block.left == 3).unwrap();
        let port = format!("{}/$left", block.name);
        assert_close(&all[&port].data, &left.data, 1e-12, &port);
    }
    let one = sizes().with(Symbol::Batch, 1).with(Symbol::Columns, 1);
    let found_factors = results(function, &one, &HashMap::new());
    let jacobian = results(found.jacobian.as_ref().unwrap(), &one, &HashMap::new());
    for block in found.blocks.iter().filter(|block| block.left > 1 && exact) {
        let slope = &jacobian[&format!("{}/$jacobian", found.weights[block.weights].state)].data;
        let left = &found_factors[&format!("{}/$left", block.name)];
        let right = &found_factors[&format!("{}/$right", block.name)];
        assert_eq!(block.left * block.right, slope.len(), "{name}");
        let place = |i: usize, j: usize| match block.swapped {
            true => j * block.left + i,
            false => i * block.right + j,
        };
        for (i, j) in (0..block.left).flat_map(|i| (0..block.right).map(move |j| (i, j))) {
            for (k, l) in (0..block.left).flat_map(|k| (0..block.right).map(move |l| (k, l))) {
                let got = left.at(&[i, k]) * right.at(&[j, l]);
                let want = slope[place(i, j)] * slope[place(k, l)];
                assert_close(&[got], &[want], 1e-10, &format!("{} of {name}", block.name));
            }
        }
    }
    let got = compiled(function, Precision::F64, &sizes(), base);
    for (port, want) in &all {
        assert_close(
            &got[port],
            &want.data,
            1e-10,
            &format!("compiled {port} of {name}"),
        );
    }
}

/// Second derivatives agree with finite differences of first derivatives. First derivatives agree
/// with finite differences of the log likelihood and of the log prior.
#[test]
fn hessian_products_match_differences_of_gradients() {
    for (name, text, width) in networks() {
        let found = approximated(name, &text, width, ALL);
        let value = |moved: &HashMap<String, Tensor>| {
            let rows = &results(&found.rows, &sizes(), moved)["$log_likelihood"];
            rows.data.iter().sum::<f64>()
        };
        product(name, &found, found.products.as_ref().unwrap(), &value);
        let value =
            |moved: &HashMap<String, Tensor>| results(&found.prior, &sizes(), moved)["$log_prior"].data[0];
        match &found.prior_products {
            Some(function) => product(name, &found, function, &value),
            None => assert!(found.independent, "{name}"),
        }
    }
}

fn product(
    name: &str,
    found: &Approximation,
    function: &Function,
    value: &dyn Fn(&HashMap<String, Tensor>) -> f64,
) {
    let mut input = HashMap::new();
    for weights in &found.weights {
        let vectors = |at: &[usize]| number(&weights.site, at[0] * weights.elements + at[1]);
        let vectors = Tensor::from_fn(vec![COLUMNS, weights.elements], vectors);
        input.insert(format!("{}/$vector", weights.state), vectors);
    }
    let starts: HashMap<&str, Tensor> = found
        .weights
        .iter()
        .map(|weights| (&*weights.state, state(&found.rows, &weights.state)))
        .collect();
    // Evaluates the function at one of the points of a mixed finite difference. One direction is a
    // single element, and the other direction is a vector.
    let at = |column: usize, along: f64, element: Option<(usize, usize, f64)>| {
        let mut moved = HashMap::new();
        for (number, weights) in found.weights.iter().enumerate() {
            let mut values = starts[&*weights.state].clone();
            let vectors = &input[&format!("{}/$vector", weights.state)];
            for (d, x) in values.data.iter_mut().enumerate() {
                *x += along * vectors.at(&[column, d]);
                if let Some((state, place, offset)) = element
                    && (state, place) == (number, d)
                {
                    *x += offset;
                }
            }
            moved.insert(weights.state.clone(), values);
        }
        value(&moved)
    };
    let values = evaluate(function, &inputs(function, &sizes(), &input), &sizes());
    let machine = compiled(function, Precision::F64, &sizes(), &input);
    for (number, weights) in found.weights.iter().enumerate() {
        let port = format!("{}/$product", weights.state);
        let place = function
            .results
            .iter()
            .position(|(known, _)| **known == *port)
            .unwrap();
        let step = 1e-3;
        let mixed = |column: usize, element: usize, step: f64| {
            let f = |x: f64, y: f64| at(column, x, Some((number, element, y)));
            (f(step, step) - f(step, -step) - f(-step, step) + f(-step, -step)) / (4.0 * step * step)
        };
        let want = Tensor::from_fn(vec![COLUMNS, weights.elements], |at| {
            let (coarse, fine) = (mixed(at[0], at[1], step), mixed(at[0], at[1], step / 2.0));
            -(4.0 * fine - coarse) / 3.0
        });
        let context = format!("{port} of {name}");
        assert_close(&values[place].data, &want.data, 3e-6, &context);
        assert_close(
            &machine[&port],
            &values[place].data,
            1e-10,
            &format!("compiled {context}"),
        );
    }
}

/// The gradient of a weight matrix that enters through a logarithm is not an outer product, so
/// Kronecker factors do not exist.
#[test]
fn a_large_site_without_factors_is_rejected() {
    let text = "data rows = csv(\"rows.csv\") { target = y }
model Net(x: real[65]) -> y: real {
  w: positive[65, 65] ~ Gamma(2, 2)
  y ~ Normal(sum(tanh(w @ x)), 1)
}
infer fit = map(Net, rows) { epochs = 1 }
";
    let wanted = OptionalPrograms {
        factors: true,
        ..OptionalPrograms::default()
    };
    let Err(RewriteError::Program(diagnostics)) = tried("behind", text, 65, wanted) else {
        panic!("a block of 4225 elements is too large")
    };
    let codes: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect();
    assert_eq!(codes, [diagnostics::NO_FACTORS.id]);
    assert!(
        diagnostics[0].message.contains("`w`"),
        "{}",
        diagnostics[0].message
    );
}
