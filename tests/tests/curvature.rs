//! The programs of Laplace approximations, evaluated by the reference backend. Outputs, Jacobians,
//! and the derivatives of likelihoods and priors agree with closed forms and finite differences.
#![allow(clippy::unwrap_used)]

use bnnc_abi::methods::laplace::Likelihood;
use bnnc_base::shape::{Sizes, Symbol};
use bnnc_driver::infer::{Compilation, CompileFailure};
use bnnc_driver::options::CompileOptions;
use bnnc_driver::program::{self, CheckedProgram};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::methods::laplace::Approximation;
use std::collections::HashMap;

/// The value of each port by name, as a tensor.
type Ports = HashMap<String, Tensor>;

fn port(sizes: &[usize], values: &[f64]) -> Tensor {
    Tensor::new(sizes.to_vec(), values.to_vec())
}

/// Returns the programs of the only inference block in `text`. The data of this inference block are
/// the rows of `csv`.
fn approximation(name: &str, text: &str, csv: &str) -> Approximation {
    match attempt(name, text, csv) {
        Ok(found) => found,
        Err(failure) => panic!("{name}: {failure:#?}"),
    }
}

fn attempt(name: &str, text: &str, csv: &str) -> Result<Approximation, CompileFailure> {
    let folder = std::env::temp_dir().join(format!("bnnc-curvature-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("rows.csv"), csv).unwrap();
    let path = folder.join("m.bnn");
    let options = CompileOptions::default();
    let text = format!("use layers::Dense\ndata rows = csv(\"rows.csv\") {{ target = y }}\n{text}");
    let program: CheckedProgram = program::load(&path.display().to_string(), &text, &options);
    assert!(!program.has_errors(), "{:#?}", program.diagnostics);
    let spec = bnnc_driver::compile::data(&program, &options).unwrap();
    let schema = bnnc_data::schema(&spec[0]).unwrap();
    let id = program.module.infers.ids().next().unwrap();
    let mut compilation = Compilation::new(&program, id, &options);
    let elaborated = compilation.elaborate(&schema).unwrap();
    let densities = compilation.density(&elaborated.model).unwrap();
    let options = compilation.laplace_options().unwrap();
    compilation.approximation(elaborated.problem(&densities), &options)
}

/// Returns the results of a function, by name.
fn results(function: &Function, ports: &Ports, sizes: &Sizes) -> Ports {
    let args: Vec<Tensor> = function
        .params
        .iter()
        .map(|param| {
            let name = function.param_name(*param).unwrap();
            match ports.get(&**name) {
                Some(value) => value.clone(),
                None => panic!("no value for `{name}`"),
            }
        })
        .collect();
    let found = evaluate(function, &args, sizes);
    function
        .results
        .iter()
        .map(|(name, _)| name.to_string())
        .zip(found)
        .collect()
}

fn close(found: &[f64], wanted: &[f64], error: f64) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        let bound = error * (1.0 + wanted.abs());
        assert!((found - wanted).abs() < bound, "{found} is not {wanted}");
    }
}

const TANH: &str = "
model Net(x: real) -> y: real {
  w1: real[2] ~ Normal(0, sqrt(0.5))
  b1: real[2] ~ Normal(0, sqrt(0.5))
  w2: real[2] ~ Normal(0, sqrt(0.5))
  b2 ~ Normal(0, sqrt(0.5))
  y ~ Normal(dot(w2, tanh(x * w1 + b1)) + b2, 0.5)
}
infer l = laplace(Net, rows)
";

/// Returns values for the ports of the tanh network with one input, two hidden units and one
/// output.
fn tanh_ports() -> Ports {
    let states = [
        ("w1/loc", port(&[2], &[0.8, -0.5])),
        ("b1/loc", port(&[2], &[0.1, 0.2])),
        ("w2/loc", port(&[2], &[1.5, -1.0])),
        ("b2/loc", port(&[], &[0.3])),
        ("x", port(&[3], &[-1.0, 0.5, 2.0])),
        ("y", port(&[3], &[-0.7, 1.1, 2.0])),
    ];
    states
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The outputs agree with the published values in all digits. The derivatives of a normal
/// likelihood and of a normal prior agree with their closed forms.
#[test]
fn a_network_with_normal_noise_has_the_published_digits() {
    let found = approximation("tanh", TANH, "x,y\n-1,-0.7\n0.5,1.1\n2,2\n");
    assert_eq!((found.outputs, found.parameters), (1, 7));
    assert_eq!(found.likelihood, Likelihood::Normal);
    assert!(found.independent);
    let ports = tanh_ports();
    let sizes = Sizes::default().with(Symbol::Batch, 3);
    let rows = results(&found.rows, &ports, &sizes);
    let f = [-1.210_919_44, 1.043_134_11, 2.367_150_38];
    close(&rows["$outputs"].data, &f, 1e-8);
    let residuals: Vec<f64> = [-0.7, 1.1, 2.0]
        .iter()
        .zip(&rows["$outputs"].data)
        .map(|(y, f)| y - f)
        .collect();
    let slopes: Vec<f64> = residuals.iter().map(|r| r / 0.25).collect();
    close(&rows["$slope"].data, &slopes, 1e-12);
    close(&rows["$curvature"].data, &[4.0; 3], 1e-12);
    close(
        &[rows["$log_likelihood"].data.iter().sum()],
        &[-1.475_517_67],
        1e-8,
    );
    let prior = results(&found.prior, &ports, &sizes);
    close(&prior["w1/loc/$slope"].data, &[-1.6, 1.0], 1e-12);
    for state in ["w1/loc", "b1/loc", "w2/loc", "b2/loc"] {
        assert!(
            prior[&format!("{state}/$precision")]
                .data
                .iter()
                .all(|value| (value - 2.0).abs() < 1e-12)
        );
    }
    let w = [0.8, -0.5, 0.1, 0.2, 1.5, -1.0, 0.3];
    let log_prior: f64 = w
        .iter()
        .map(|w| -w * w - 0.5 * (std::f64::consts::TAU / 2.0).ln())
        .sum();
    close(&prior["$log_prior"].data, &[log_prior], 1e-12);
}

/// The Jacobian agrees with its closed form: `d f / d w1 = w2 (1 - tanh^2) x`, and similar terms
/// for the other weights.
#[test]
fn the_jacobian_of_a_network_has_its_closed_form() {
    let found = approximation("jacobian", TANH, "x,y\n-1,-0.7\n0.5,1.1\n2,2\n");
    let mut ports = tanh_ports();
    ports.insert(
        "$cotangents".to_owned(),
        port(&[3, 2, 1], &[1.0, -2.0, 1.0, -2.0, 1.0, -2.0]),
    );
    let sizes = Sizes::default().with(Symbol::Batch, 3).with(Symbol::Columns, 2);
    let jacobian = results(found.jacobian.as_ref().unwrap(), &ports, &sizes);
    let (w1, b1, w2) = ([0.8, -0.5], [0.1, 0.2], [1.5, -1.0]);
    for (row, x) in [-1.0f64, 0.5, 2.0].into_iter().enumerate() {
        for (column, factor) in [1.0, -2.0].into_iter().enumerate() {
            for unit in 0..2 {
                let h: f64 = (x * w1[unit] + b1[unit]).tanh();
                let at = (row * 2 + column) * 2 + unit;
                let inner = factor * w2[unit] * (1.0 - h * h);
                close(&[jacobian["w1/loc/$jacobian"].data[at]], &[inner * x], 1e-12);
                close(&[jacobian["b1/loc/$jacobian"].data[at]], &[inner], 1e-12);
                close(&[jacobian["w2/loc/$jacobian"].data[at]], &[factor * h], 1e-12);
            }
            close(
                &[jacobian["b2/loc/$jacobian"].data[row * 2 + column]],
                &[factor],
                1e-12,
            );
        }
    }
}

/// If the covariance of the weights is the identity, the variance of the output is the sum of the
/// squared elements of the Jacobian. The derivatives of the output and of this variance with
/// respect to the input agree with finite differences.
#[test]
fn derivatives_in_the_inputs_match_differences() {
    let found = approximation("inputs", TANH, "x,y\n-1,-0.7\n0.5,1.1\n2,2\n");
    let mut ports = tanh_ports();
    let sizes = Sizes::default().with(Symbol::Batch, 3);
    ports.insert("$cotangents".to_owned(), port(&[3, 1, 1], &[1.0; 3]));
    let at = |xs: &[f64]| -> (Ports, Vec<f64>) {
        let mut ports = ports.clone();
        ports.insert("x".to_owned(), port(&[3], xs));
        let jacobian = results(found.jacobian.as_ref().unwrap(), &ports, &sizes);
        let f = results(&found.rows, &ports, &sizes)["$outputs"].data.clone();
        (jacobian, f)
    };
    let variance = |jacobian: &Ports, row: usize| -> f64 {
        let of = |tensor: &Tensor| {
            let width = tensor.data.len() / 3;
            tensor.data[row * width..][..width]
                .iter()
                .map(|x| x * x)
                .sum::<f64>()
        };
        jacobian.values().map(of).sum()
    };
    let xs = [-1.0, 0.5, 2.0];
    let (jacobian, _) = at(&xs);
    let mut with_vectors = ports.clone();
    for (name, value) in &jacobian {
        with_vectors.insert(name.replace("/$jacobian", "/$vector"), value.clone());
    }
    let inputs = results(&found.inputs, &with_vectors, &sizes);
    let step = 1e-5;
    let (above, f_above) = at(&xs.map(|x| x + step));
    let (below, f_below) = at(&xs.map(|x| x - step));
    for row in 0..3 {
        let slope = (f_above[row] - f_below[row]) / (2.0 * step);
        close(&[inputs["x/$slope"].data[row]], &[slope], 1e-8);
        let bend = (variance(&above, row) - variance(&below, row)) / (2.0 * step);
        close(&[2.0 * inputs["x/$bend"].data[row]], &[bend], 1e-8);
    }
}

/// The curvature of a softmax is `diag(p) - p p'`, and its slope is `p - onehot`.
#[test]
fn the_curvature_of_classes_has_its_closed_form() {
    let text = "
model Net(a: real, b: real) -> y: index(3) {
  w: real[3, 2] ~ Normal(0, 1)
  y ~ Categorical(w @ [a, b])
}
infer l = laplace(Net, rows)
";
    let found = approximation("classes", text, "a,b,y\n1,0,0\n0,1,1\n1,1,2\n-1,0.5,0\n");
    assert_eq!((found.outputs, found.likelihood), (3, Likelihood::Categorical));
    let w = [1.0, -0.5, 0.2, 0.4, -0.6, 0.3];
    let ports: Ports = [
        ("w/loc", port(&[3, 2], &w)),
        ("a", port(&[1], &[2.0])),
        ("b", port(&[1], &[-1.0])),
        ("y", port(&[1], &[1.0])),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    let rows = results(&found.rows, &ports, &Sizes::default());
    close(&rows["$outputs"].data, &[2.5, 0.0, -1.5], 1e-12);
    let p = [0.908_759_92, 0.074_595_56, 0.016_644_52];
    close(&rows["$slope"].data, &[-p[0], 1.0 - p[1], -p[2]], 1e-7);
    let curvature: Vec<f64> = (0..9)
        .map(|at| f64::from(at / 3 == at % 3) * p[at / 3] - p[at / 3] * p[at % 3])
        .collect();
    close(&rows["$curvature"].data, &curvature, 1e-7);
}

/// A case consists of a name, the statements of the model, the type of the output, the number of
/// elements of `f`, and a value of the output.
const CASES: [(&str, &str, &str, usize, &str); 5] = [
    (
        "poisson",
        "w ~ Normal(0, 1)\n  y ~ Poisson(exp(w * x))",
        "count",
        1,
        "2",
    ),
    (
        "noisy",
        "w ~ Normal(0, 1)\n  v ~ Normal(0, 1)\n  y ~ Normal(w * x, softplus(v * x))",
        "real",
        2,
        "0.8",
    ),
    (
        "heavy",
        "w ~ Normal(0, 1)\n  y ~ StudentT(4, w * x, 0.7)",
        "real",
        1,
        "0.8",
    ),
    (
        "shape",
        "w ~ Normal(0, 1)\n  y ~ Gamma(exp(w * x), 2)",
        "positive",
        1,
        "0.8",
    ),
    (
        "logit",
        "w ~ Normal(0, 1)\n  y ~ Bernoulli(w * x)",
        "bool",
        1,
        "1",
    ),
];

/// A positive argument of a distribution becomes an output on the logarithmic scale. The
/// derivatives of the likelihood agree with finite differences.
#[test]
fn derivatives_of_likelihoods_match_differences() {
    for (name, body, ty, outputs, y) in CASES {
        let text = format!("model M(x: real) -> y: {ty} {{\n  {body}\n}}\ninfer l = laplace(M, rows)\n");
        let found = approximation(name, &text, &format!("x,y\n1,{y}\n2,{y}\n"));
        assert_eq!(found.outputs, outputs, "{name}");
        let functions = &found.functions;
        let y: f64 = y.parse().unwrap();
        let mut ports: Ports = [
            ("w/loc", port(&[], &[0.4])),
            ("v/loc", port(&[], &[-0.3])),
            ("x", port(&[1], &[1.3])),
            ("y", port(&[1], &[y])),
            ("$draw0", port(&[], &[0.0])),
            ("$row0", port(&[], &[0.0])),
            ("$step", port(&[], &[0.0])),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
        let sizes = Sizes::default();
        let rows = results(&found.rows, &ports, &sizes);
        let f = rows["$outputs"].data.clone();
        let mut likelihood = |f: &[f64]| {
            ports.insert("$outputs".to_owned(), port(&[1, 1, outputs], f));
            results(functions, &ports, &sizes)["$log_likelihood"].data[0]
        };
        close(&[likelihood(&f)], &rows["$log_likelihood"].data, 1e-12);
        let step = 1e-4;
        let moved = |by: &[(usize, f64)]| {
            let mut f = f.clone();
            by.iter().for_each(|(at, by)| f[*at] += by);
            f
        };
        for i in 0..outputs {
            let slope = (likelihood(&moved(&[(i, step)])) - likelihood(&moved(&[(i, -step)]))) / (2.0 * step);
            close(&[rows["$slope"].data[i]], &[slope], 1e-6);
            for j in 0..outputs {
                let corner = |a: f64, b: f64| moved(&[(i, a * step), (j, b * step)]);
                let corners = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)].map(|(a, b)| corner(a, b));
                let [pp, pm, mp, mm] = corners.map(|f| likelihood(&f));
                let second = (pp - pm - mp + mm) / (4.0 * step * step);
                close(&[rows["$curvature"].data[i * outputs + j]], &[-second], 1e-5);
            }
        }
    }
}

/// A closed form is chosen by the density of a distribution, not by its name.
#[test]
fn likelihoods_are_recognised_by_their_densities() {
    let of = |name: &str, items: &str, ty: &str, observed: &str| {
        let text = format!(
            "{items}\nmodel M(x: real) -> y: {ty} {{\n  w ~ Normal(0, 1)\n  s: positive ~ HalfNormal(1)\n  y ~ {observed}\n}}\ninfer l = laplace(M, rows)\n"
        );
        approximation(name, &text, "x,y\n1,1\n2,0\n").likelihood
    };
    let gaussian = "dist Gaussian(centre: real, spread: positive) on real {
  log_density(x) = -0.5 * ((x - centre) / spread) ^ 2 - log(spread) - 0.5 * log(2 * 3.141592653589793)
  draw = centre + spread * standard_normal()
  mean = centre
}";
    let shadow = "dist Normal(loc: real, scale: positive) on real {
  log_density(x) = -abs(x - loc) / scale - log(2 * scale)
  mean = loc
}";
    assert_eq!(
        of("own", gaussian, "real", "Gaussian(w * x, s)"),
        Likelihood::Normal
    );
    assert_eq!(
        of("shadow", shadow, "real", "Normal(w * x, s)"),
        Likelihood::Other
    );
    assert_eq!(
        of("logit", "", "bool", "Bernoulli(w * x + 0 * s)"),
        Likelihood::Bernoulli
    );
    assert_eq!(of("laplace", "", "real", "Laplace(w * x, s)"), Likelihood::Other);
    assert_eq!(
        of("noisy", "", "real", "Normal(w * x, s * exp(x))"),
        Likelihood::Other
    );
}

/// The noise level is not a weight. A parameter that affects only the prior is not a weight either.
/// The option `over` selects weights by name, or selects the weights of the last layer.
#[test]
fn noise_levels_are_not_weights_and_names_select_weights() {
    let text = |options: &str| {
        format!(
            "model Net(x: real) -> y: real {{
  sigma: positive ~ HalfNormal(1)
  hidden = Dense(4)
  out = Dense(1)
  y ~ Normal(out(tanh(hidden([x])))[0], sigma)
}}
infer l = laplace(Net, rows) {{ {options} }}
"
        )
    };
    let csv = "x,y\n1,2\n2,3\n";
    let sites = |name: &str, options: &str| -> Vec<String> {
        let found = approximation(name, &text(options), csv);
        assert_eq!(found.parameters, 13);
        found.weights.into_iter().map(|weights| weights.site).collect()
    };
    assert_eq!(sites("all", ""), ["hidden.w", "hidden.b", "out.w", "out.b"]);
    assert_eq!(sites("last", "over = last_layer"), ["out.w", "out.b"]);
    assert_eq!(
        sites("named", "over = [hidden, out.b]"),
        ["hidden.w", "hidden.b", "out.b"]
    );
    let rejected = |name: &str, options: &str| match attempt(name, &text(options), csv) {
        Err(CompileFailure::Program(diagnostics)) => diagnostics[0].code.id,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(rejected("sigma", "over = [sigma]"), "E0313");
}
