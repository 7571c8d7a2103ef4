//! Tests warnings about runs that are too short or too coarse, or that produce too few results for reliable diagnostics.

use crate::tables::{counts, csv, each, line, normal, votes};
use crate::{Folder, mistakes};

/// Returns a table of rows around a straight line. The input has the mean 2000 and the standard
/// deviation 5.
fn years() -> String {
    let (x, e) = (normal(1, 60), normal(2, 60));
    let year = each(60, |row| 2000.0 + 5.0 * x[row]);
    let y = each(60, |row| 300.0 + 40.0 * x[row] + 5.0 * e[row]);
    csv(&[("year", year), ("y", y)])
}

/// Returns a thousand rows around 1 with a standard deviation of 6.17. The posterior standard deviation is then 6.17 / sqrt(1000) = 0.195.
fn spread() -> String {
    let e = normal(3, 1000);
    csv(&[("y", each(1000, |row| 1.0 + 6.17 * e[row]))])
}

/// Returns a program that fits the mean of [`spread`] with these options.
fn mean(options: &str) -> String {
    format!(
        "data d = csv(\"d.csv\")
        model M() -> y: real {{
          a ~ Normal(0, 10)
          y ~ Normal(a, 6.17)
        }}
        posterior Q of M {{ a ~ FullRankNormal() }}
        infer fit = vi(Q, d) {{ {options} }}"
    )
}

/// Returns a program that fits a line with these options.
pub fn fitted(infer: &str) -> String {
    format!(
        "data d = csv(\"d.csv\")
        model M(x: real) -> y: real {{
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          y ~ Normal(a + b * x, 0.5)
        }}
        infer fit = {infer}"
    )
}

/// A scale that has converged equals the closed form. Small batches do not prevent convergence.
#[test]
fn scales_that_have_grown_are_not_reported() {
    for options in ["", "batch = 32", "optimiser = Adam(3e-3), steps = 3000"] {
        let folder = Folder::of(&[("d.csv", spread())], &mean(options));
        let (status, text) = folder.bnnc(&["run", "program.bnn"]);
        assert_eq!(status, Some(0), "{text}");
        assert!(!text.contains("E0533"), "{options}: {text}");
        let line = text.lines().find(|line| line.starts_with("  a "));
        let sd = line.and_then(|line| line.split_whitespace().nth(2)?.parse::<f64>().ok());
        let exact = 6.17 / (1000.0 + 6.17_f64.powi(2) / 100.0).sqrt();
        assert!(
            sd.is_some_and(|sd| (sd / exact - 1.0).abs() < 0.15),
            "{options}: {text}"
        );
    }
}

/// If a training run did not move because its gradients are clipped, the advice names `clip`.
#[test]
fn a_tiny_limit_of_the_gradient_is_named_as_the_cause() {
    let program = fitted("map(M, d) { steps = 2000, clip = 1e-300 }");
    let (_, text) = Folder::of(&[("d.csv", line(60, 0.5))], &program).bnnc(&["run", "program.bnn"]);
    assert!(
        text.contains("E0533") && text.contains("raise `clip = 1e-300`"),
        "{text}"
    );
}

/// The schedule reaches its last milestone one step before the end.
#[test]
fn a_schedule_that_ends_with_the_training_is_not_reported() {
    let program = fitted("map(M, d) { steps = 2000, schedule = warmup(100, steps([1000, 1999], 0.1)) }");
    let (_, text) = Folder::of(&[("d.csv", line(60, 0.5))], &program).bnnc(&["run", "program.bnn"]);
    assert!(!text.contains("E0721"), "{text}");
}

/// Returns a program in which a second training run starts from parameters of a first one. Both models centre their inputs in a layer without
/// parameters.
fn centred(posterior: &str) -> String {
    format!(
        "data d = csv(\"d.csv\")
        layer Centred()(x: real) -> real {{
          centre = running_mean(x, 0.1, 0)
          return x - centre
        }}
        layer Net()(x: real) -> real {{
          norm = Centred()
          b ~ Normal(0, 10)
          return b * norm(x)
        }}
        model First(x: real) -> y: real {{
          a ~ Normal(0, 10)
          body = Net()
          y ~ Normal(a + body(x), 0.5)
        }}
        model Second(x: real) -> y: real {{
          a ~ Normal(0, 10)
          net = Net()
          mean = running_mean(x, 0.1, 0)
          y ~ Normal(a + net(x) + 0 * mean, 0.5)
        }}
        posterior Q of Second {{ {posterior} }}
        infer first = map(First, d) {{ epochs = 500, batch = 0 }}
        infer other = map(First, d) {{ epochs = 500, batch = 0 }}
        infer fit = map(Q, d) {{ epochs = 500, batch = 0 }}"
    )
}

/// The mean of the renamed layer is taken. The mean of the model belongs to a network with a trained parameter.
#[test]
fn means_that_are_taken_or_trained_are_not_reported() {
    let program = centred("net.* = first.body.*\n a ~ Normal()");
    let (status, text) = Folder::of(&[("d.csv", line(60, 0.5))], &program).bnnc(&["check", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains("E0325"), "{text}");
}

/// One family covers the parameter of the network and the intercept, so no state has the name of the network. Only the layer around the network
/// takes its parameter from another training.
#[test]
fn a_mean_of_a_network_that_is_trained_by_a_joint_family_is_not_reported() {
    let program = centred("").replace(
        "model Second",
        "dist Coupled(factor: real[n, n]) on real[n] {
          log_density(x) = -0.5 * squared_norm(solve_lower(eye(n) + lower(factor), x)) - 0.9189385332046727 * n
          tails          = exponential(1, 2)
          draw           = (eye(n) + lower(factor)) @ standard_normal(n)
          mean           = zeros(n)
        }
        fn lower(a: real[n, n]) -> real[n, n] {
          position = cumsum(ones(n))
          return if outer(ones(n), position) < outer(position, ones(n)) { a } else { 0 }
        }
        layer Shifted()(x: real) -> real {
          inner = Net()
          c ~ Normal(0, 10)
          return c + inner(x)
        }
        model Second",
    );
    let program = program
        .replace("net = Net()\n          mean", "net = Shifted()\n          mean")
        .replace(
            "Q of Second {  }",
            "Q of Second { a, net.inner.b ~ Coupled()\n net.c = first.a }",
        )
        .replace("fit = map(Q, d) { epochs", "fit = vi(Q, d) { epochs");
    assert!(
        program.contains("Coupled()") && program.contains("net = Shifted()"),
        "{program}"
    );
    let (status, text) = Folder::of(&[("d.csv", line(60, 0.5))], &program).bnnc(&["check", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains("E0325"), "{text}");
}

mistakes! {
    a_fixed_network_without_the_mean_of_its_model: ["E0325"], [("d.csv", line(60, 0.5))],
        &centred("a = first.a\n net.* = first.body.*");

    a_mean_of_a_network_from_two_trainings: ["E0325"], [("d.csv", line(60, 0.5))],
        &centred("a = other.a\n net.* = first.body.*");

    a_scale_that_is_still_a_third_of_its_value: ["E0533"], [("d.csv", spread())],
        &mean("steps = 3000, batch = 0, optimiser = SGD(1e-4)");

    a_scale_that_is_still_two_thirds_of_its_value: ["E0533"], [("d.csv", spread())],
        &mean("steps = 700, optimiser = Adam(3e-3)");

    a_warmup_longer_than_the_training: ["E0721"], [("d.csv", line(60, 0.5))],
        &fitted("map(M, d) { epochs = 500, batch = 0, schedule = warmup(1000, constant) }");

    milestones_after_the_end_of_the_training: ["E0721"], [("d.csv", line(60, 0.5))],
        &fitted("map(M, d) { steps = 5000, schedule = steps([10000, 15000], 0.1) }");

    a_momentum_without_friction: ["E0722"], [("d.csv", line(60, 0.5))],
        &fitted("map(M, d) { optimiser = Nesterov(1e-3, momentum = 1) }");

    moments_that_never_move: ["E0722"], [("d.csv", line(60, 0.5))],
        &fitted("map(M, d) { optimiser = Adam(1e-3, beta1 = 1) }");

    /// The step of a zero gradient is 0 / 0.
    a_normalised_step_of_a_zero_gradient: ["E0722"], [("d.csv", line(60, 0.5))],
        &format!("optimiser Normalised(rate: positive) {{
          step = -rate * gradient / abs(gradient)
        }}
        {}", fitted("map(M, d) { optimiser = Normalised(1e-3) }"));

    a_normalisation_over_rows_in_a_model_of_whole_columns: ["E0538"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M() -> y: real[T] {
          w: real[2] ~ Normal(0, 1)
          norm = BatchNorm()
          z = flatten(norm(reshape(w, 1, 2, 1)))
          for t in 0..T { y[t] ~ Normal(z[0], 1) }
        }
        infer fit = map(M, d)";

    quantiles_from_five_predictions_of_members: ["E0581"], [("d.csv", line(60, 0.5))],
        &fitted("ensemble(M, d) { members = 5, predictive_draws = 5 }");

    a_laplace_approximation_away_from_the_maximum: ["E0546"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = laplace(M, d) { epochs = 20 }";

    a_learning_rate_that_is_too_large: ["E0501", "E0532"], [("d.csv", years())], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          h = Dense(5)
          o = Dense(1)
          y ~ Normal(o(relu(h(x)))[0], 1)
        }
        infer fit = map(M, d) { optimiser = SGD(0.1) }";

    too_few_draws: ["E0522"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 25 }";

    no_warm_up: ["E0521", "E0522", "E0525"], [("d.csv", years())], "
        data d = csv(\"d.csv\")
        model M(year: real) -> y: real {
          a ~ Normal(0, 1000)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(50)
          y ~ Normal(a + b * year, sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 0, draws = 200, max_depth = 6 }";

    a_single_chain: ["E0580"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 1, warmup = 500, draws = 2000 }";

    a_step_size_that_is_too_large: ["E0520", "E0525"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 100, draws = 200, step_size = 3 }";

    a_step_size_that_is_too_small: ["E0521", "E0522", "E0525"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = hmc(M, d) { chains = 2, warmup = 100, draws = 200, step_size = 1e-4 }";

    trajectories_that_are_cut_short: ["E0524"], [("d.csv", years())], "
        data d = csv(\"d.csv\")
        model M(year: real) -> y: real {
          a ~ Normal(0, 1000)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(50)
          y ~ Normal(a + b * year, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 300, draws = 300, max_depth = 2, metric = unit }";

    random_walks_that_are_too_short: ["E0521", "E0522"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          h = Dense(8)
          o = Dense(1)
          sigma: positive ~ HalfNormal(1)
          y ~ Normal(o(tanh(h(x)))[0], sigma)
        }
        infer fit = random_walk(M, d) { chains = 2, warmup = 200, draws = 300 }";

    stochastic_gradients_with_tiny_steps: ["E0521", "E0522"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          y ~ Normal(a + b * x, 0.5)
        }
        infer fit = sgld(M, d) { chains = 2, warmup = 100, draws = 500, step_size = 1e-7 }";

    stochastic_gradients_with_huge_steps: ["E0501", "E0506", "E0528", "E0529", "E0521"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          y ~ Normal(a + b * x, 0.5)
        }
        infer fit = sgld(M, d) { chains = 2, warmup = 100, draws = 500, step_size = 1 }";

    quantiles_from_ten_predictive_draws: ["E0581"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 500, predictive_draws = 10 }";

    an_ensemble_of_one: ["E0584"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real[d]) -> y: real {
          h = Dense(3)
          o = Dense(1)
          y ~ Normal(o(tanh(h(x)))[0], 0.5)
        }
        infer fit = ensemble(M, d) { members = 1, epochs = 3000, optimiser = Adam(1e-2), batch = 0, schedule = cosine }";

    the_accuracy_of_a_regression: ["E0566"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          y ~ Normal(a * x, 1)
        }
        infer one = nuts(M, d) { chains = 2, warmup = 200, draws = 400 }
        compare one by accuracy";

    the_error_of_a_classification: ["E0566"], [("d.csv", votes(60))], "
        data d = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real) -> y: bool {
          a ~ Normal(0, 10)
          y ~ Bernoulli(a * x)
        }
        infer one = nuts(M, d) { chains = 2, warmup = 200, draws = 400 }
        compare one by crps";

    patience_without_validation_rows: ["E0609"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          y ~ Normal(a * x, 1)
        }
        infer fit = map(M, d) { patience = 10 }";

    a_row_that_the_posterior_hangs_on: ["E0526"],
        [("d.csv", csv(&[("x", each(20, |row| if row == 0 { 10.0 } else { 0.01 * row as f64 })), ("y", each(20, |row| if row == 0 { 40.0 } else { 0.1 * (row % 3) as f64 }))]))], "
        data d = csv(\"d.csv\") { inputs = [x] }
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          y ~ Normal(a + b * x, 0.1)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 500 }";

    a_dropout_rate_of_zero: ["E0258"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          h = Dense(3)
          o = Dense(1)
          y ~ Normal(o(tanh(h(x)))[0], 0.5)
        }
        infer fit = dropout(M, d) { rate = 0 }";

    a_penalty_from_two_noisy_batches: ["E0527", "E0521", "E0522"], [("d.csv", counts(200))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: count {
          a ~ Normal(0, 1)
          b ~ Normal(0, 1)
          y ~ Poisson(a + b * x)
        }
        infer fit = penalty(M, d) { chains = 2, warmup = 200, draws = 1000, batch = 5, batches = 3, loss = data, proposal = random_walk(0.3) }";

    too_few_steps_of_map: ["E0533"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        infer fit = map(M, d) { steps = 100, optimiser = Adam(1e-3) }";

    a_rate_at_which_a_network_diverges: ["E0533"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real[n]) -> y: real {
          hidden = Dense(10)
          out = Dense(1)
          y ~ Normal(out(tanh(hidden(x)))[0], 0.1)
        }
        infer fit = map(M, d) { epochs = 10, batch = 30, optimiser = SGD(0.1), precision = f64 }";

    too_few_steps_of_vi: ["E0533"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + b * x, sigma)
        }
        posterior Q of M { a, b, sigma ~ Normal(0, 1) }
        infer fit = vi(Q, d) { steps = 200, optimiser = Adam(1e-3), schedule = constant }";

    validation_rows_that_nothing_uses: ["E0609", "E0258", "E0257"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          y ~ Normal(a * x, 1)
        }
        infer fit = nuts(M, d) { patience = 10 }";

    metrics_compared_on_other_test_rows: ["E0577"], [("d.csv", line(60, 0.5))], "
        data d = csv(\"d.csv\") { test = fraction(0.3) }
        data e = csv(\"d.csv\") { test = fraction(0.2) }
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          y ~ Normal(a * x, 1)
        }
        infer one = laplace(M, d)
        infer two = laplace(M, e)
        compare one, two by rmse";

    metrics_compared_of_other_targets: ["E0577"], [("d.csv", "x,y,z\n1,2,20\n2,4,40\n3,5,50\n4,9,90\n5,9,90\n6,13,130\n".to_owned())], "
        data d = csv(\"d.csv\") { inputs = [x], target = y }
        data e = csv(\"d.csv\") { inputs = [x], target = z }
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          y ~ Normal(a * x, 1)
        }
        model N(x: real) -> z: real {
          a ~ Normal(0, 10)
          z ~ Normal(a * x, 1)
        }
        infer one = laplace(M, d)
        infer two = laplace(N, e)
        compare one, two by rmse";

    models_compared_on_other_rows: ["E0568"], [("d.csv", line(60, 0.5)), ("e.csv", line(50, 0.7))], "
        data d = csv(\"d.csv\")
        data e = csv(\"e.csv\")
        model M(x: real) -> y: real {
          a ~ Normal(0, 10)
          y ~ Normal(a * x, 1)
        }
        infer one = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }
        infer two = nuts(M, e) { chains = 2, warmup = 200, draws = 300 }
        compare one, two by elpd_loo";
}
