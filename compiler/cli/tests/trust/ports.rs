//! Tests parameters and columns whose names are also names of ports: inputs and results that the
//! compiler adds to programs.

use crate::support::trial::Trial;
use bnnc_abi::ports::PortName;
use serde_json::Value;
use std::fmt::Write;

/// Returns the names of all ports that are not names of types in the language.
fn names() -> Vec<&'static str> {
    let all = PortName::ALL.iter();
    let names: Vec<&str> = all.map(|port| port.text().trim_start_matches('$')).collect();
    assert!(names.iter().all(|name| !name.contains('$')));
    names.into_iter().filter(|name| *name != "index").collect()
}

/// Fits a line by four methods. The arguments are the names of the input, the output, the slope, the intercept and the standard deviation.
fn fitted([x, y, slope, intercept, sd]: [&str; 5]) -> Value {
    let mut data = format!("{x},{y}\n");
    for at in 0..20 {
        let at = f64::from(at);
        let value = 1.0 + 0.5 * at + 0.3 * (2.0 * at).sin();
        writeln!(data, "{at},{value}").expect("a string takes all text");
    }
    let program = format!(
        "data d = csv(\"d.csv\") {{ target = {y} }}
model M({x}: real) -> {y}: real {{
  {slope} ~ Normal(0, 2)
  {intercept} ~ Normal(0, 2)
  {sd}: positive ~ LogNormal(0, 1)
  {y} ~ Normal({intercept} + {slope} * {x}, {sd})
}}
posterior Q of M {{
  {slope}, {intercept} ~ Normal(scale = 0.1)
  {sd} ~ LogNormal(loc = 0, scale = 0.1)
}}
posterior Known of M {{
  {sd} ~ Point(fixed(0.5))
}}
infer vi = vi(Q, d) {{ steps = 500, optimiser = Adam(0.05) }}
infer mode = map(M, d) {{ steps = 500, optimiser = Adam(0.05) }}
infer curve = laplace(Known, d) {{ steps = 500, optimiser = Adam(0.05) }}
infer chain = nuts(M, d) {{ draws = 20, warmup = 20, chains = 1 }}
"
    );
    let trial = Trial::new().file("d.csv", data).program(&program);
    let mut result = trial.result(&["--seed", "5"]);
    result["infer"].take()
}

/// Returns the metrics of an inference.
fn metrics<'a>(result: &'a Value, infer: &str) -> &'a Value {
    let metrics = &result[infer]["metrics"];
    assert!(metrics["log_likelihood"].is_number(), "{result}");
    metrics
}

#[test]
fn columns_may_have_the_names_of_ports() {
    let plain = fitted(["x", "y", "a", "b", "s"]);
    let names = names();
    for pair in names.chunks(2) {
        let (x, y) = (pair[0], *pair.last().expect("a chunk is not empty"));
        let y = if x == y { "y" } else { y };
        let found = fitted([x, y, "a", "b", "s"]);
        for infer in ["vi", "mode", "curve", "chain"] {
            assert_eq!(
                metrics(&found, infer),
                metrics(&plain, infer),
                "{x}, {y}: {infer}"
            );
        }
    }
}

/// The name of a random stream contains the name of its parameter. With other names, only methods without random numbers therefore compute
/// the same digits.
#[test]
fn parameters_may_have_the_names_of_ports() {
    let plain = fitted(["x", "y", "a", "b", "s"]);
    let mut names = names();
    names.extend(["a", "b"]);
    for three in names.chunks_exact(3) {
        let found = fitted(["x", "y", three[0], three[1], three[2]]);
        assert_eq!(metrics(&found, "chain"), metrics(&plain, "chain"), "{three:?}");
        for infer in ["vi", "mode", "curve"] {
            let error = |of: &Value| metrics(of, infer)["rmse"].as_f64().expect("a number");
            assert!((error(&found) - error(&plain)).abs() < 0.1, "{three:?}: {infer}");
        }
    }
}
