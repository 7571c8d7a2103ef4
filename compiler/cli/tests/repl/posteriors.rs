//! Tests values of posteriors, and comparisons of inferences.

use crate::{LINE, answers};

/// The value from `map` is combined with every draw of another posterior. If posteriors have different numbers of draws, a note states how many
/// draws are used.
#[test]
fn posteriors_with_different_numbers_of_draws_are_combined() {
    let typed = ":run fit
infer m = map(Line, rows)
infer s = nuts(Line, rows) { draws = 100 }
mean(fit.w - m.w)
sd(fit.w - m.w)
mean(fit.w > m.w)
y ~ Normal(fit.w, m.w / m.w)
fit.w - s.w
mean(fit.w - s.w)
";
    let (_, output) = answers(typed, &[LINE]);
    let results: Vec<&str> = output.lines().rev().take(8).collect();
    let number = |at: usize| results[at].parse::<f64>().unwrap_or_else(|_| panic!("{output}"));
    // The mode and the mean of the posterior are equal, and its standard deviation is 1 / sqrt(22).
    assert!(
        number(7).abs() < 0.02 && (number(6) - 0.2132).abs() < 0.014,
        "{output}"
    );
    assert!((number(5) - 0.5).abs() < 0.05, "{output}");
    assert!(
        results[4].starts_with("y: real = mean 1.3") && results[4].ends_with("(4000 draws)"),
        "{output}"
    );
    let note = "note: this uses 400 of the 4000 draws of `fit.w`, because another value has only 400 draws";
    assert_eq!((results[3], results[1]), (note, note), "{output}");
    assert!(results[2].ends_with("(400 draws)"), "{output}");
}

#[test]
fn parameters_of_layers_are_values() {
    let typed = "data rows = csv(\"compiler/cli/tests/conjugate/line.csv\") { target = y }
model Net(x: real[d]) -> y: real {
  hidden = Dense(2)
  out = Dense(1)
  y ~ Normal(out(tanh(hidden(x)))[0], 1)
}
infer net = map(Net, rows) { epochs = 20 }
:shape net.hidden.w
:type net.out.b
:plot prior net.hidden.w
net.hidden
";
    let (status, output) = answers(typed, &[]);
    assert_eq!(status, Some(0));
    for part in [
        "[2, 1]\nreal[1]\n",
        "prior net.hidden.w\no mean   - 90 % interval\n",
        "`net.hidden.w`, `net.hidden.b`",
    ] {
        assert!(output.contains(part), "{part}\n{output}");
    }
}

/// The exact mean of `counts` is `exp(30.35 / 22 + 1 / 44)`, because `w` has the posterior
/// `Normal(30.35 / 22, 1 / sqrt(22))`.
#[test]
fn a_draw_at_each_posterior_draw_takes_little_time() {
    let before = std::time::Instant::now();
    let (_, output) = answers(":run\n", &[LINE]);
    let of_run = before.elapsed();
    assert!(output.contains("4 x 1000"), "{output}");
    let before = std::time::Instant::now();
    let (_, output) = answers(":run\ncounts ~ Poisson(rate = exp(fit.w))\n", &[LINE]);
    // Elaborating the distribution at each of the 4000 draws took 10 to 30 seconds.
    let seconds = before.elapsed().saturating_sub(of_run).as_secs_f64();
    assert!(seconds < 8.0, "{seconds}");
    let line = output.lines().last().unwrap_or_default();
    let mean = line
        .strip_prefix("counts: count = mean ")
        .and_then(|rest| rest.split(',').next());
    let mean: f64 = mean
        .and_then(|mean| mean.parse().ok())
        .unwrap_or_else(|| panic!("{output}"));
    // The variance of a count is the mean of the count plus the variance of `exp(w)`: 2.2 ^ 2 in
    // total. The bound is four standard errors at an ESS of 1900.
    assert!(
        (mean - (30.35f64 / 22.0 + 1.0 / 44.0).exp()).abs() < 0.2,
        "{output}"
    );
}

/// A comparison at the prompt shows the values of earlier runs, and runs only the inference blocks that have not run yet.
#[test]
fn a_comparison_is_shown_when_it_is_entered() {
    let typed = "model Flat(x: real) -> y: real {
  a ~ Normal(0, 2)
  y ~ Normal(a, 1)
}
infer flat = nuts(Flat, rows) { draws = 500 }
compare fit, flat by rmse, elpd_loo
compare flat, fit by accuracy
infer flat = nuts(Flat, rows) { draws = 600 }
:list
";
    let (status, output) = answers(typed, &[LINE]);
    assert_eq!(status, Some(0));
    let count = |part: &str| output.lines().filter(|line| line.starts_with(part)).count();
    assert_eq!((count("flat = nuts"), count("fit = nuts")), (2, 1), "{output}");
    // The comparison is shown when it is entered, and again after the new run of `flat`.
    let tables: Vec<&str> = output.split("\ncompare ").collect();
    let values = |name: &str, table: &str| -> Vec<f64> {
        let line = table.lines().find(|line| line.starts_with(&format!("{name} ")));
        let words = line
            .unwrap_or_else(|| panic!("{output}"))
            .split_whitespace()
            .skip(1);
        words.map(|word| word.parse().unwrap()).collect()
    };
    assert!(tables[1].trim_start().starts_with("elpd_loo"), "{output}");
    let (fit, flat) = (values("fit", tables[1]), values("flat", tables[1]));
    let of_run = output
        .lines()
        .find_map(|line| line.strip_prefix("  elpd by PSIS-LOO"))
        .unwrap();
    let of_run: Vec<&str> = of_run.split_whitespace().collect();
    assert!(
        tables[0].contains("elpd by PSIS-LOO") && fit[0] > flat[0],
        "{of_run:?} {output}"
    );
    assert_eq!(values("fit", tables[2]), fit, "{output}");
    assert_ne!(values("flat", tables[2]), flat, "{output}");
    // A comparison by a metric that does not apply changes nothing.
    assert!(
        output.contains("error[E0566]: `accuracy` does not apply to `flat`"),
        "{output}"
    );
    assert!(
        output.contains("note: the comparison was not added to the program"),
        "{output}"
    );
    let listed = output
        .lines()
        .filter(|line| line.starts_with("compare fit, flat by rmse"));
    assert_eq!(listed.count(), 1, "{output}");
}

/// The line is complete without `by`: the table has the log likelihood.
#[test]
fn a_comparison_without_metrics_is_shown_at_once() {
    let typed = "model Flat(x: real) -> y: real {
  a ~ Normal(0, 2)
  y ~ Normal(a, 1)
}
infer flat = nuts(Flat, rows) { draws = 500 }
compare fit, flat
:list
";
    let (status, output) = answers(typed, &[LINE]);
    assert_eq!(status, Some(0), "{output}");
    assert!(!output.contains("error["), "{output}");
    let table = output.lines().skip_while(|line| !line.starts_with("compare  "));
    let table: Vec<&str> = table.take(3).collect();
    assert!(
        table[0].contains("log_likelihood") || table[0].contains("elpd_loo"),
        "{output}"
    );
    assert!(
        table[1].starts_with("fit ") && table[2].starts_with("flat "),
        "{output}"
    );
    assert!(output.lines().any(|line| line == "compare fit, flat"), "{output}");
}

/// The comparison starts the run of `fit`, and then fails for `flat`, whose output does not have a mean. A later run does not repeat its error.
#[test]
fn a_comparison_that_fails_after_its_own_run_is_removed() {
    let typed = "model Flat(x: real) -> y: real {
  a ~ Normal(0, 2)
  y ~ Cauchy(a, 1)
}
infer flat = nuts(Flat, rows) { draws = 500 }
compare fit, flat by rmse
:run flat
:list
";
    let (status, reported) = answers(typed, &[LINE]);
    assert_eq!(status, Some(0));
    let runs = |name: &str| reported.matches(&format!("\n{name} = nuts")).count();
    assert_eq!((runs("fit"), runs("flat")), (1, 2), "{reported}");
    let note = "note: the comparison was not added to the program";
    assert_eq!(reported.matches(note).count(), 1, "{reported}");
    assert_eq!(reported.matches("error[E0566]").count(), 1, "{reported}");
    assert!(
        !reported.lines().any(|line| line.starts_with("compare fit, flat")),
        "{reported}"
    );
}
