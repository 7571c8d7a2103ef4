//! Tests the names of parameters and their elements.

use crate::support::trial::Trial;
use serde_json::Value;

const CITIES: &str = "y,age,log income,city,kind\n1.2,0.1,0.3,Oslo,benign\n0.4,-0.2,0.1,Rome,malignant\n0.9,0.5,-0.4,Oslo,benign
2.1,1.1,0.2,Bonn,malignant\n0.1,-0.7,0.9,Rome,benign\n1.7,0.8,0.5,Bonn,malignant\n0.3,0.2,0.2,Oslo,benign\n1.1,-0.1,-0.5,Rome,benign\n";

/// All outputs contain the names of columns, levels and classes: the table, `result.json`, Zarr,
/// Stan CSV, predictions and the report.
#[test]
fn elements_have_the_names_of_columns_and_levels() {
    let trial = Trial::new().file("d.csv", CITIES).program(
        "data d = csv(\"d.csv\") { inputs = [age, exp(age)], target = y }
data e = csv(\"d.csv\") { target = y }
model Slopes(x: real[k]) -> y: real {\n  beta: real[k] ~ Normal(0, 1)\n  y ~ Normal(dot(beta, x), 1)\n}
model Cities(city: index(J)) -> y: real {\n  alpha: real[J] ~ Normal(0, 1)\n  y ~ Normal(alpha[city], 1)\n}
infer slopes = nuts(Slopes, d) { chains = 1, warmup = 100, draws = 100 }
infer cities = nuts(Cities, e) { chains = 1, warmup = 100, draws = 100 }
infer mode = map(Cities, e)",
    );
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    for name in [
        "beta[age]",
        "beta[exp(age)]",
        "alpha[Oslo]",
        "alpha[Rome]",
        "alpha[Bonn]",
    ] {
        assert!(output.stdout.contains(name), "{name}: {}", output.stdout);
        assert!(read("report.html").contains(name), "{name}");
        assert!(read("result.json").contains(name), "{name}");
    }
    assert!(!output.stdout.contains("[0]"), "{}", output.stdout);
    let result: Value = serde_json::from_str(&read("result.json")).unwrap();
    let names = &result["infer"]["mode"]["parameters"]["alpha"]["names"];
    assert_eq!(*names, serde_json::json!([["Oslo", "Rome", "Bonn"]]));
    let quantities = &result["infer"]["slopes"]["diagnostics"]["quantities"];
    assert!(quantities["beta[age]"]["mean"].is_number());
    let stan = read("stan/cities_1.csv");
    assert!(stan.contains("# alpha.1 is alpha[Oslo]\n"), "{stan}");
    assert!(
        stan.lines().any(|line| line.ends_with("alpha.1,alpha.2,alpha.3")),
        "{stan}"
    );
    let labels = read("posterior.slopes.zarr/posterior/k/.zarray");
    assert!(
        labels.contains("<U8"),
        "the longest name has eight letters: {labels}"
    );
}

#[test]
fn classes_have_the_names_of_their_levels() {
    let trial = Trial::new().file("d.csv", CITIES).program(
        "data d = csv(\"d.csv\") { inputs = [age], target = kind }
model M(x: real[d]) -> kind: index(K) {\n  w: real[K, d] ~ Normal(0, 1)\n  kind ~ Categorical(w @ x)\n}
infer fit = map(M, d)",
    );
    let out = trial.path("out");
    let output = trial.bnnc("run", &["--out", out.to_str().unwrap()]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stdout.contains("w[malignant,age]"), "{}", output.stdout);
    let predictions = std::fs::read_to_string(out.join("predictions.csv")).unwrap();
    let mut lines = predictions.lines();
    let head = lines.next().unwrap();
    assert!(head.contains("p[benign],p[malignant]"), "{head}");
    assert!(lines.next().unwrap().contains("benign"), "{predictions}");
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(report.contains(">malignant</text>") && report.contains("true class"));
}

#[test]
fn parameters_of_layers_follow_those_of_the_program_in_one_line() {
    let trial = Trial::new().file("d.csv", CITIES).program(
        "data d = csv(\"d.csv\") { inputs = [age], target = y }
model M(x: real[d]) -> y: real {
  hidden = Dense(16)
  out = Dense(1)
  sigma ~ HalfNormal(1)
  o = out(tanh(hidden(x)))
  y ~ Normal(o[0], sigma)
}
infer fit = map(M, d)",
    );
    let output = trial.bnnc("run", &[]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let at = |text: &str| {
        output
            .stdout
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {}", output.stdout))
    };
    assert!(at("  sigma ") < at("  hidden.b "));
    assert!(at("16 values: ") > 0 && !output.stdout.contains("hidden.b["));
}

/// In the table, a parameter of a layer has one line, or one line per element if the option `report` names
/// it.
#[test]
fn parameters_that_report_names_have_a_line_for_each_element() {
    let trial = Trial::new().file("d.csv", CITIES).program(
        "data d = csv(\"d.csv\") { inputs = [age], target = y }
model M(x: real[d]) -> y: real {
  out = Dense(2)
  o = out(x)
  y ~ Normal(o[0] + o[1], 1)
}
infer fit = nuts(M, d) { chains = 2, warmup = 100, draws = 50, report = [out.w] }",
    );
    let output = trial.bnnc("run", &[]);
    for element in ["out.w[0,age]", "out.w[1,age]"] {
        assert!(output.stdout.contains(element), "{element}: {}", output.stdout);
    }
    assert!(!output.stdout.contains("\n  out.b"), "{}", output.stdout);
}

#[test]
fn parameters_without_a_summary_are_listed() {
    let rows: String = (0..80).map(|at| format!("{},g{at}\n", at % 7)).collect();
    let trial = Trial::new().file("d.csv", format!("y,g\n{rows}")).program(
        "data d = csv(\"d.csv\") { target = y }
model M(g: index(J)) -> y: real {\n  alpha: real[J] ~ Normal(0, 1)\n  y ~ Normal(alpha[g], 1)\n}
infer fit = map(M, d)",
    );
    let output = trial.bnnc("run", &[]);
    for text in ["alpha", "80 values, not summarised", "--out DIR"] {
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
    }
}
