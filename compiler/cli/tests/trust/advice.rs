//! Tests that after following the advice of a diagnostic, the program has the right result and the
//! diagnostic disappears.

use crate::support::rendered::hold;
use crate::support::trial::Trial;
use serde_json::Value;

/// Returns a pseudo-random uniform number in `[0, 1)`. Numbers at neighbouring positions are
/// unrelated.
fn scattered(at: u32) -> f64 {
    ((f64::from(at) * 12.9898).sin() * 43_758.545_3).rem_euclid(1.0)
}

/// Returns a number from a nearly normal distribution.
fn normal(at: u32) -> f64 {
    (0..12).map(|k| scattered(12 * at + k) - 0.5).sum()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Returns the help lines below the first diagnostic with this code.
fn help(stderr: &str, code: &str) -> Vec<String> {
    let lines = stderr
        .lines()
        .skip_while(|line| !line.contains(&format!("[{code}]")));
    let below = lines.skip(1).take_while(|line| line.starts_with([' ', '-']));
    below
        .filter_map(|line| line.trim_start().strip_prefix("= help: "))
        .map(str::to_owned)
        .collect()
}

const GROUPS: &str = r#"
data rows = csv("rows.csv")
model Groups(group: index(J), s: positive) -> y: real {
  mu ~ Normal(0, 5)
  tau: positive ~ HalfCauchy(5)
  extra: positive ~ Gamma(0.3, 1)
  theta: real[J] ~ Normal(mu, tau)
  y ~ Normal(theta[group] + 0 * extra, s)
}
infer fit = nuts(Groups, rows) { OPTIONS }
"#;

/// The posterior of the eight schools model is a funnel. The warning about divergences advises only
/// the non-centred parameterisation, which removes the divergences. If each group has forty rows,
/// the posterior is not a funnel, and another parameter causes the divergences. In this case, the
/// warning advises smaller steps first, which remove the divergences.
#[test]
fn the_advice_on_divergences_depends_on_their_cause() {
    let schools = [28, 8, -3, 7, -1, 1, 18, 12]
        .into_iter()
        .zip([15, 10, 16, 11, 9, 11, 10, 18]);
    let schools: String = schools
        .enumerate()
        .map(|(at, (y, s))| format!("s{at},{s},{y}\n"))
        .collect();
    let many = (0..320).map(|i| format!("g{},1,{:.3}\n", i / 40, normal(1000 + i / 40) + normal(i)));
    let many: String = many.collect();
    for (rows, extra, first, options) in [
        (
            schools,
            false,
            "non_centered = [theta], target_acceptance = 0.95",
            "non_centered = [theta], target_acceptance = 0.95",
        ),
        (
            many,
            true,
            "raise `target_acceptance` from 0.8",
            "target_acceptance = 0.95",
        ),
    ] {
        let program = match extra {
            true => GROUPS.to_owned(),
            false => GROUPS
                .replace("  extra: positive ~ Gamma(0.3, 1)\n", "")
                .replace(" + 0 * extra", ""),
        };
        let trial = Trial::new()
            .file("rows.csv", format!("group,s,y\n{rows}"))
            .program(&program.replace("OPTIONS", ""));
        let output = trial.bnnc("run", &[]);
        output.assert_warning("E0520", &[]);
        let advice = help(&output.stderr, "E0520");
        assert!(advice[0].contains(first), "{advice:?}");
        let trial = trial.program(&program.replace("OPTIONS", options));
        for seed in ["0", "1", "2"] {
            let output = trial.bnnc("run", &["--seed", seed]);
            for code in ["E0520", "E0521", "E0523"] {
                assert!(!output.stderr.contains(code), "seed {seed}: {}", output.stderr);
            }
        }
    }
}

const LINE: &str = r#"
data rows = csv("rows.csv") DATA
model Line(x: real[d]) -> y: real {
  a ~ Normal(0, 10)
  b: real[d] ~ Normal(0, 10)
  sigma: positive ~ HalfNormal(10)
  y ~ Normal(a + dot(b, x), sigma)
}
infer fit = map(Line, rows) { OPTIONS }
"#;

fn line() -> Trial {
    let rows = (0..60).map(|i| {
        let x = 4.0 * scattered(i) - 2.0;
        format!("{x:.3},{:.3}\n", 30.0 + 2.0 * x + 0.3 * normal(500 + i))
    });
    Trial::new().file("rows.csv", format!("x,y\n{}", rows.collect::<String>()))
}

/// A warning about a short training run does not advise a larger learning rate if the rate is
/// already large, or standardisation if the data are already standardised.
#[test]
fn short_trainings_get_the_advice_that_they_lack() {
    let own = "optimiser Plain(rate: positive) {\n  step = -rate * gradient\n}\n";
    for (data, options, wanted) in [
        (
            "",
            "steps = 200",
            vec![
                "`steps = 400`",
                "`optimiser = Adam(0.01)`",
                "`standardise = [inputs, target]`",
            ],
        ),
        (
            "{ standardise = [inputs] }",
            "steps = 200",
            vec![
                "`steps = 400`",
                "`optimiser = Adam(0.01)`",
                "`standardise = [target]`",
            ],
        ),
        (
            "",
            "steps = 200, optimiser = Adam(0.02)",
            vec!["`steps = 400`", "`standardise = [inputs, target]`"],
        ),
        (
            "",
            "steps = 200, optimiser = Adam(1e-3)",
            vec![
                "`steps = 400`",
                "in `optimiser` than 0.001",
                "`standardise = [inputs, target]`",
            ],
        ),
        (
            "",
            "steps = 200, optimiser = Plain(1e-6)",
            vec![
                "`steps = 400`",
                "in `optimiser` than 1e-6",
                "`standardise = [inputs, target]`",
            ],
        ),
    ] {
        let program = LINE.replace("DATA", data).replace("OPTIONS", options);
        let trial = line().program(&format!("{own}{program}"));
        let output = trial.bnnc("run", &[]);
        output.assert_warning("E0533", &[]);
        let advice = help(&output.stderr, "E0533");
        assert_eq!(advice.len(), wanted.len(), "{options}: {advice:?}");
        for (line, text) in advice.iter().zip(&wanted) {
            assert!(line.contains(text), "{options}: {advice:?}");
        }
    }
    let program = LINE.replace("DATA", "{ standardise = [inputs, target] }");
    let trial = line().program(&program.replace("OPTIONS", "steps = 400, optimiser = Adam(0.01)"));
    let output = trial.bnnc("run", &[]);
    assert!(
        !output.stderr.contains("standardise =") && !output.stderr.contains("rate"),
        "{}",
        output.stderr
    );
    let trial = trial.program(&program.replace("OPTIONS", "steps = 4000, optimiser = Adam(0.01)"));
    trial.bnnc("run", &[]).assert_silent();
}

/// If intervals have the wrong coverage, the help names the missing part of the model. After adding
/// this part, the intervals have the right coverage.
#[test]
fn wrong_coverage_is_fixed_by_the_advised_part_of_the_model() {
    let normals = (0..80).map(|i| f64::from(i % 2) + 5.0 * normal(i));
    let counts = (0..80).map(|i| {
        if i % 3 == 0 {
            40.0 + f64::from(i)
        } else {
            f64::from(i % 2)
        }
    });
    let real = |likelihood: &str| format!("-> y: real {{\n  a ~ Normal(0, 10)\n  {likelihood}\n}}");
    let count = |likelihood: &str| format!("-> y: count {{\n  a ~ Normal(0, 3)\n  {likelihood}\n}}");
    let normals: Vec<f64> = normals.collect();
    let counts: Vec<f64> = counts.collect();
    for (values, wrong, texts, absent, right) in [
        (
            normals.clone(),
            real("y ~ Normal(a + 0 * x, 0.2)"),
            vec!["estimate the noise", "`StudentT`"],
            "NegativeBinomial",
            real("sigma: positive ~ HalfNormal(10)\n  y ~ Normal(a + 0 * x, sigma)"),
        ),
        (
            normals.clone(),
            real("sigma: positive ~ HalfNormal(0.01)\n  y ~ Normal(a + 0 * x, sigma)"),
            vec!["the prior of the noise allows values as large", "`StudentT`"],
            "estimate",
            real("sigma: positive ~ HalfNormal(10)\n  y ~ Normal(a + 0 * x, sigma)"),
        ),
        (
            normals,
            real("y ~ StudentT(30, a + 0 * x, 0.2)"),
            vec!["estimate the noise"],
            "`StudentT`",
            real("sigma: positive ~ HalfNormal(10)\n  y ~ StudentT(30, a + 0 * x, sigma)"),
        ),
        (
            counts,
            count("y ~ Poisson(a + 0 * x)"),
            vec!["use `NegativeBinomial`"],
            "estimate",
            count("r: positive ~ Gamma(2, 1)\n  y ~ NegativeBinomial(r, a + 0 * x)"),
        ),
    ] {
        let rows: String = values.iter().map(|y| format!("1,{y}\n")).collect();
        let program = |model: &str| {
            format!(
                "data rows = csv(\"rows.csv\")\nmodel M(x: real) {model}\n\
                 infer fit = nuts(M, rows) {{ chains = 2, warmup = 300, draws = 300 }}"
            )
        };
        let trial = Trial::new()
            .file("rows.csv", format!("x,y\n{rows}"))
            .program(&program(&wrong));
        let output = trial.bnnc("run", &[]);
        output.assert_warning("E0586", &texts);
        assert!(
            !help(&output.stderr, "E0586").join("\n").contains(absent),
            "{}",
            output.stderr
        );
        let trial = trial.program(&program(&right));
        let (output, result) = trial.run(&[]);
        assert!(!output.stderr.contains("E0586"), "{}", output.stderr);
        let held = number(&result["infer"]["fit"]["metrics"]["coverage_90"]);
        assert!(held > 0.75, "{right}: {held}");
    }
}

/// If the program sets a start where the density is not finite, the help does not suggest setting a
/// start.
#[test]
fn a_start_is_not_advised_where_one_is_given() {
    let trial = |a: f64, options: &str| {
        let header = br#"{"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}"#;
        let length = (header.len() as u64).to_le_bytes();
        let file = [&length[..], &header[..], &a.to_le_bytes()[..]].concat();
        Trial::new()
            .file("rows.csv", "x,y\n1,2\n2,3\n")
            .file("start.safetensors", file)
            .program(&format!(
                "data rows = csv(\"rows.csv\")\n\
                 model M(x: real) -> y: real {{\n  a ~ Normal(0, 1)\n  y ~ Normal(log(a - 3) + x, 1)\n}}\n\
                 infer fit = nuts(M, rows) {{ {options} }}"
            ))
    };
    let file = "start = safetensors(\"start.safetensors\")";
    let output = trial(-10.0, "chains = 2").bnnc("run", &[]);
    output.assert_error("E0506", 1, &["`start = mode` here"]);
    for (options, text) in [
        (file.to_owned(), "the density at its start is not finite"),
        (format!("{file}, jitter = 0.1"), "`jitter = 0.001`"),
    ] {
        let output = trial(-10.0, &options).bnnc("run", &[]);
        output.assert_error("E0506", 1, &[text]);
        assert!(!output.stderr.contains("start ="), "{}", output.stderr);
    }
    // The start lies inside the support, at a distance of 0.001 from its end. With a jitter of
    // 0.0001, every chain therefore starts inside the support, too.
    let output = trial(
        3.001,
        &format!("{file}, jitter = 0.0001, warmup = 10, draws = 10"),
    )
    .bnnc("run", &[]);
    assert!(!output.stderr.contains("E0506"), "{}", output.stderr);
}

/// If an option is out of range, the message shows the number as the program contains it.
#[test]
fn messages_print_numbers_as_the_program_wrote_them() {
    for (options, code, text) in [
        ("steps = 1e300", "E0258", "found 1e300\n"),
        ("steps = -2.5", "E0258", "found -2.5\n"),
        ("optimiser = Adam(-1e300)", "E0214", "this is -1e300\n"),
    ] {
        let program = LINE.replace("DATA", "").replace("OPTIONS", options);
        let trial = line().program(&program);
        trial.bnnc("check", &[]).assert_error(code, 1, &[text]);
    }
}

const WAVE: &str = r#"
data rows = csv("rows.csv") { standardise = [inputs, target] }
model Net(x: real[d]) -> y: real {
  first  = Dense(UNITS, prior = Normal(0, 1))
  second = Dense(UNITS, prior = Normal(0, 1))
  out    = Dense(1, prior = Normal(0, 1))
  sigma: positive ~ HalfNormal(1)
  y ~ Normal(out(tanh(second(tanh(first(x)))))[0], sigma)
}
posterior Field of Net {
  first.*, second.*, out.* ~ Normal(scale = START)
  sigma ~ LogNormal(loc = -1, scale = 0.1)
}
infer best = map(Net, rows) { steps = 4000 }
infer fit = METHOD
"#;

/// The data are a wave with noise of standard deviation 0.09. Two fits are constant functions: `vi`
/// on a network with many units, and `vi` on a network of 10 units with a large initial `scale`.
/// Two other fits follow the wave: a Laplace approximation of the large network, and `vi` on a
/// network of 10 units with a small initial `scale`.
#[test]
fn a_variational_posterior_that_fell_back_to_the_prior_is_reported() {
    let run = |units: &str, start: &str, method: &str, of: &dyn Fn(f64) -> f64| {
        let rows = (0..160).map(|i| {
            let x = 6.0 * scattered(i) - 3.0;
            format!("{x:.4},{:.4}\n", of(x) + 0.3 * (scattered(9000 + i) - 0.5))
        });
        let program = WAVE
            .replace("UNITS", units)
            .replace("START", start)
            .replace("METHOD", method);
        let trial = Trial::new()
            .file("rows.csv", format!("x,y\n{}", rows.collect::<String>()))
            .program(&program);
        let (output, result) = trial.run(&[]);
        (output, number(&result["infer"]["fit"]["metrics"]["rmse"]))
    };
    let wave = |x: f64| (2.0 * x).sin();
    for (units, start) in [("40", "0.05"), ("15", "1")] {
        let (output, rmse) = run(units, start, "vi(Field, rows)", &wave);
        hold("E0657", &output.stderr, true);
        output.assert_warning(
            "E0657",
            &[
                "`fit` fell back to the prior",
                "the target has a standard deviation of 0.7",
                "`laplace`",
                "`Normal(scale = 0.05)`",
            ],
        );
        assert!(rmse > 0.6, "{units} {start}: {rmse}");
    }
    for (units, start, method) in [
        ("40", "0.05", "laplace(Net, rows) { start = best }"),
        ("10", "0.05", "vi(Field, rows) { restarts = 4 }"),
    ] {
        let (output, rmse) = run(units, start, method, &wave);
        assert!(!output.stderr.contains("E0657"), "{}", output.stderr);
        assert!(rmse < 0.25, "{units} {method}: {rmse}");
    }
    // If the target does not depend on the inputs, a constant function is the correct fit.
    let (output, _) = run("40", "0.05", "vi(Field, rows)", &|x| {
        3.0 * (scattered((x * 1e4).abs() as u32) - 0.5)
    });
    assert!(!output.stderr.contains("E0657"), "{}", output.stderr);
}
