//! Tests of the pass `hoist`. The tests check which values the pass moves out of the programs of
//! samplers, and which values it leaves there. Hoisting does not change the results of the
//! programs.
#![allow(clippy::unwrap_used)]

use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_driver::infer::Compilation;
use bnnc_driver::options::CompileOptions;
use bnnc_driver::{compile, program};
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::Function;
use bnnc_graph::tensor::Tensor;
use bnnc_rewrite::methods::sample::SamplingPrograms;
use bnnc_run::RunResult;
use bnnc_tests::compile::{options, run, text};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

const ROWS: usize = 12;

/// Returns a folder with `rows.csv`. This file has the inputs `a` to `d` and three targets: a real,
/// a count, and one of three classes.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(written)
}

fn written() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("bnnc-hoist-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut lines = String::from("a,b,c,d,y,count,class\n");
    for row in 0..ROWS {
        let cell = |column: usize| ((row * 7 + column) as f64 * 0.618_034).fract() - 0.5;
        let inputs: Vec<String> = (0..5).map(|column| format!("{:.4}", cell(column))).collect();
        lines.push_str(&format!("{},{},{}\n", inputs.join(","), row * 5 % 7, row % 3));
    }
    std::fs::write(folder.join("rows.csv"), lines).unwrap();
    folder
}

/// Returns the sampling programs of the last inference block of a program.
fn sampled(source: &str, without: &[&str]) -> SamplingPrograms {
    let path = folder().join("model.bnn");
    let options = CompileOptions {
        without: without.iter().map(|rewrite| (*rewrite).to_owned()).collect(),
        ..CompileOptions::default()
    };
    let program = program::load(&path.display().to_string(), source, &options);
    assert!(!program.has_errors(), "{:#?}", program.diagnostics);
    let spec = compile::data(&program, &options).unwrap().remove(0);
    let schema = bnnc_data::schema(&spec).unwrap();
    let id = program.module.infers.ids().last().unwrap();
    let mut compilation = Compilation::new(&program, id, &options);
    let elaborated = compilation.elaborate(&schema).unwrap();
    let densities = compilation.density(&elaborated.model).unwrap();
    compilation.sampled(elaborated.problem(&densities)).unwrap()
}

/// Returns the results of a function, by name. A parameter that is not in `known` gets numbers that
/// depend only on its name.
fn results(function: &Function, known: &HashMap<String, Tensor>) -> HashMap<String, Tensor> {
    let sizes = Sizes::default().with(Symbol::Batch, ROWS);
    let argument = |name: &str, shape: Vec<usize>| {
        let seed: usize = name.bytes().map(usize::from).sum();
        let element = |at: usize| match name {
            "count" | "class" => (at % 3) as f64,
            "$scale" | "sigma" => 1.7,
            _ => ((seed + 31 * at) as f64 * 0.618_034).fract() - 0.4,
        };
        let data = (0..shape.iter().product()).map(element).collect();
        Tensor::new(shape, data)
    };
    let params = function.params.iter().map(|param| {
        let name = function.param_name(*param).unwrap();
        let shape = function.ty(*param).shape.resolve(&sizes);
        known
            .get(&**name)
            .cloned()
            .unwrap_or_else(|| argument(name, shape))
    });
    let params: Vec<Tensor> = params.collect();
    let values = evaluate(function, &params, &sizes);
    let names = function.results.iter().map(|(name, _)| name.to_string());
    names.zip(values).collect()
}

/// Checks that hoisting does not change the results. Returns the shapes of the hoisted values.
fn hoisted(source: &str) -> Vec<String> {
    let (with, without) = (sampled(source, &[]), sampled(source, &["hoist"]));
    assert!(without.prepare.is_none());
    let once = with
        .prepare
        .as_ref()
        .map_or(HashMap::new(), |prepare| results(prepare, &HashMap::new()));
    for (with, without) in [(&with.density, &without.density), (&with.rows, &without.rows)] {
        let (found, wanted) = (results(with, &once), results(without, &HashMap::new()));
        assert_eq!(found.len(), wanted.len());
        for (name, wanted) in &wanted {
            assert_eq!(found[name].shape, wanted.shape, "{name}");
            for (found, wanted) in found[name].data.iter().zip(&wanted.data) {
                let error = (found - wanted).abs() / wanted.abs().max(1.0);
                assert!(error < 1e-12, "{name}: {found} is not {wanted}");
            }
        }
    }
    let shapes = with.prepare.iter().flat_map(|prepare| {
        let all = prepare.results.iter();
        all.map(|(_, value)| prepare.ty(*value).shape.to_string())
    });
    shapes.collect()
}

fn has_param(function: &Function, name: &str) -> bool {
    function
        .params
        .iter()
        .any(|param| &**function.param_name(*param).unwrap() == name)
}

/// Returns a classifier that has one hidden layer with `units` units. The first layer of the
/// classifier is fixed to the result of the inference block `mode`.
fn network(units: usize) -> String {
    format!(
        "use layers::Dense
data rows = csv(\"rows.csv\") {{ inputs = [a, b, c, d], target = class }}
model Net(x: real[k]) -> class: index(3) {{
  first = Dense({units}, prior = Normal(0, 0.5))
  last  = Dense(3)
  class ~ Categorical(logits = last(relu(first(x))))
}}
infer mode = map(Net, rows) {{ epochs = 1 }}
posterior Last of Net {{ first.* = mode.first.* }}
infer chain = nuts(Last, rows) {{ start = mode }}
"
    )
}

#[test]
fn fixed_layers_are_computed_once() {
    assert_eq!(hoisted(&network(20)), ["[batch, 20]"]);
    let found = sampled(&network(20), &[]);
    for program in [&found.density, &found.rows] {
        assert!(!has_param(program, "x"), "the inputs are not needed any more");
        assert!(has_param(program, "class"));
    }
}

/// The outputs of a very wide layer would need more memory than the inputs that they replace. Only
/// the log prior of the layer is hoisted, which is one number.
#[test]
fn wide_layers_are_not_hoisted() {
    assert_eq!(hoisted(&network(400)), ["[]"]);
}

/// If a narrow layer comes before a wide layer, the outputs of the narrow layer are still hoisted.
#[test]
fn a_narrow_layer_before_a_wide_one_is_hoisted() {
    let source = network(20)
        .replace("  last ", "  wide  = Dense(400)\n  last ")
        .replace("relu(first(x))", "relu(wide(relu(first(x))))")
        .replace("= mode.first.* }", "= mode.first.*\n  wide.* = mode.wide.* }");
    assert_eq!(hoisted(&source), ["[]", "[batch, 20]"]);
}

/// The value `log(count!)` depends only on data, so it is computed once. The same holds for the
/// logarithm of a standard deviation that is a column of the data.
#[test]
fn functions_of_data_are_computed_once() {
    let poisson = "data rows = csv(\"rows.csv\") { inputs = [a, b], target = count }
model Counts(x: real[k]) -> count: count {
  w: real[k] ~ Normal(0, 1)
  count ~ Poisson(exp(dot(w, x)))
}
infer chain = nuts(Counts, rows)
";
    assert_eq!(hoisted(poisson), ["[batch]"]);
    let path = bnnc_tests::root().join("examples/posteriors/eight-schools.bnn");
    let schools = std::fs::read_to_string(path).unwrap();
    let folder = bnnc_tests::root()
        .join("examples/posteriors")
        .display()
        .to_string();
    let schools = schools.replace("\"data/", &format!("\"{folder}/data/"));
    assert!(!hoisted(&schools).is_empty());
}

/// In a plain regression, nothing is hoisted. Every operation depends on a parameter that moves, or
/// costs less than reading its result from memory.
#[test]
fn nothing_is_hoisted_where_everything_moves() {
    let line = "data rows = csv(\"rows.csv\") { inputs = [a, b, c, d], target = y }
model Line(x: real[k]) -> y: real {
  w: real[k] ~ Normal(0, 1)
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(dot(w, x), sigma)
}
infer chain = nuts(Line, rows)
";
    assert_eq!(hoisted(line), Vec::<String>::new());
    let squares = line
        .replace("dot(w, x)", "w[0] * a * a - w[1]")
        .replace("x: real[k]", "a: real")
        .replace("real[k] ~", "real[2] ~");
    assert_eq!(hoisted(&squares), Vec::<String>::new());
    let whole = network(20)
        .replace("posterior Last of Net { first.* = mode.first.* }\n", "")
        .replace("(Last,", "(Net,");
    assert_eq!(hoisted(&whole), Vec::<String>::new());
}

/// The first axis of a hoisted value is the axis of the rows.
#[test]
fn hoisted_values_have_their_rows_first() {
    let found = sampled(&network(20), &[]).prepare.unwrap();
    let (_, value) = &found.results[0];
    assert_eq!(found.ty(*value).dims()[0], Dim::Symbol(Symbol::Batch));
}

/// Returns the mean, the standard deviation and the MCSE of the slope and of the intercept. The
/// model is a conjugate regression on `tanh(2 x)` with noise 0.3.
fn means(result: &RunResult) -> [(f64, f64, f64); 2] {
    let outcome = result.outcomes.last().unwrap();
    let quantities = &outcome.diagnosis.as_ref().unwrap().quantities;
    ["slope", "level"].map(|name| {
        let (_, found) = quantities.iter().find(|(known, _)| known == name).unwrap();
        (found.mean, found.sd, found.mcse_mean)
    })
}

#[test]
fn hoisted_programs_sample_the_exact_posterior() {
    let xs: Vec<f64> = (0..10).map(|row| f64::from(row) * 0.25 - 1.0).collect();
    let ys: Vec<f64> = xs.iter().map(|x| 0.4 + 0.8 * x + 0.1 * (5.0 * x).sin()).collect();
    let lines: String = xs.iter().zip(&ys).map(|(x, y)| format!("{x},{y}\n")).collect();
    let path = folder().join("line.bnn");
    std::fs::write(folder().join("line.csv"), format!("x,y\n{lines}")).unwrap();
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        let each = xs.iter().zip(&ys).map(|(x, y)| of((2.0 * x).tanh(), *y));
        each.sum::<f64>() / 0.09
    };
    let (ss, sl, ll) = (1.0 + sum(&|f, _| f * f), sum(&|f, _| f), 1.0 + sum(&|_, _| 1.0));
    let (rs, rl) = (sum(&|f, y| f * y), sum(&|_, y| y));
    let determinant = ss * ll - sl * sl;
    let wanted = [
        (ll * rs - sl * rl) / determinant,
        (ss * rl - sl * rs) / determinant,
    ];
    for infer in [
        "nuts(Fixed, rows) { draws = 1000 }",
        "penalty(Fixed, rows) { batch = 0, proposal = mala(1e-2), warmup = 500, draws = 1000, thin = 10 }",
    ] {
        let source = format!(
            "data rows = csv(\"line.csv\") {{ target = y }}
model Line(x: real) -> y: real {{
  bend ~ Normal(0, 1)
  slope ~ Normal(0, 1)
  level ~ Normal(0, 1)
  y ~ Normal(level + slope * tanh(bend * x), 0.3)
}}
posterior Fixed of Line {{ bend ~ Point(fixed(2.0)) }}
infer chain = {infer}
"
        );
        let compiled = text(&path, &source, &options("cranelift", None));
        let sampling = compiled.manifest.infers[0].sampling().unwrap();
        let columns = &sampling.prepare.as_ref().unwrap().columns;
        assert!(
            columns.len() == 1 && columns[0].of_row && columns[0].width == 1,
            "{columns:?}"
        );
        for ((mean, sd, error), wanted) in means(&run(&compiled.manifest, 2)).into_iter().zip(wanted) {
            assert!(
                error < 0.1 * sd && (mean - wanted).abs() < 5.0 * error,
                "{infer}: {mean} is not {wanted}"
            );
        }
    }
}
