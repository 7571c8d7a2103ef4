//! One invalid program per situation, with its diagnostics: posteriors, inference blocks, data, comparisons.

use super::check;

wrong! {
    an_unknown_site: r#"model N(x: real[d]) -> y: real {
  h1 = Dense(3)
  out = Dense(1)
  y ~ Normal(out(tanh(h1(x)))[0], 1)
}

posterior Q of N {
  h2.* ~ Normal(scale = 0.1)
}"# => r#"E0251 8:3 the model `N` has no parameter `h2.*` | 1:1 the model is declared here"#;

    a_layer_named_without_its_sites: r#"model N(x: real[d]) -> y: real {
  h1 = Dense(3)
  out = Dense(1)
  y ~ Normal(out(tanh(h1(x)))[0], 1)
}

posterior Q of N {
  h1 ~ Normal(scale = 0.1)
}"# => r#"E0251 8:3 `h1` is a layer, not a parameter | help: write `h1.*` for all its parameters"#;

    a_site_given_twice: r#"model N(x: real[d]) -> y: real {
  h1 = Dense(3)
  out = Dense(1)
  y ~ Normal(out(tanh(h1(x)))[0], 1)
}

posterior Q of N {
  h1.* ~ Normal(scale = 0.1)
  h1.w ~ Point
}"# => r#"E0252 9:3 the parameter `h1.w` is given twice | given again here | 8:3 first given here"#;

    a_negative_start_value: r#"model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

posterior Q of M {
  w, b ~ Normal(scale = -0.1)
}"# => r#"E0214 8:25 `scale` must be positive, but this is -0.1 | this is -0.1"#;

    a_misspelt_family_parameter: r#"model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

posterior Q of M {
  w, b ~ Normal(sigma = 0.1)
}"# => r#"E0216 8:17 `Normal` has no parameter `sigma` | help: did you mean `scale`?"#;

    sites_without_a_family: r#"data d = csv("d.csv")

model N(x: real[d]) -> y: real {
  h1 = Dense(3)
  out = Dense(1)
  y ~ Normal(out(tanh(h1(x)))[0], 1)
}

posterior Q of N {
  h1.* ~ Normal(scale = 0.1)
}

infer q = vi(Q, d)"# => r#"E0253 13:14 `vi` needs a family for every parameter, but `out.w`, `out.b` have no family | 9:1 `Q` is declared here | help: add `out.w, out.b ~ Normal(scale = 0.1)`, or another family"#;

    a_subnetwork_without_a_size: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}

infer a = laplace(M, d) { over = subnetwork() }"# => r#"E0258 8:34 `over` must be `subnetwork(size, by = score)`"#;

    a_subnetwork_of_nothing: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}

infer a = laplace(M, d) { over = subnetwork(0) }"# => r#"E0258 8:34 `over` must be a whole number of weights, or a fraction of them below 1, found 0"#;

    a_subnetwork_by_nobody: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}

infer a = laplace(M, d) { over = subnetwork(1, by = diagnal) }"# => r#"E0258 8:53 `by` must be one of `diagonal`, `marginal`, `magnitude`, `random`, found `diagnal` | help: did you mean `diagonal`?"#;

    weights_by_a_number: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}

infer a = laplace(M, d) { over = 3 }"# => r#"E0258 8:34 `over` must be `all`, `last_layer`, names in brackets, or `subnetwork(size, by = score)`"#;

    a_precision_of_zero: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}

infer a = laplace(M, d) { prior_precision = 0 }"# => r#"E0258 8:45 `prior_precision` must be a number from 1e-8 to 1e8 or one of `marginal_likelihood`, `validation`, found 0"#;

    a_precision_that_is_huge: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}

infer a = laplace(M, d) { prior_precision = 1e9 }"# => r#"E0258 8:45 `prior_precision` must be a number from 1e-8 to 1e8 or one of `marginal_likelihood`, `validation`, found 1000000000"#;

    a_start_from_no_file: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}

infer a = map(M, d) { start = safetensors(3) }"# => r#"E0258 8:31 `start` must be the name of an inference, or a file as in `safetensors("weights.safetensors")`"#;

    a_misspelt_method: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = mpa(M, d)"# => r#"E0254 9:11 unknown method `mpa` | help: did you mean `map`?"#;

    a_model_for_vi: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = vi(M, d)"# => r#"E0256 9:14 expected a posterior, found a model | 3:7 it is declared here | help: declare one: `posterior Q of Model { .. }`"#;

    data_that_are_a_model: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, M)"# => r#"E0256 9:18 expected data, found a model | 3:7 it is declared here"#;

    a_misspelt_option: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epocs = 10 }"# => r#"E0257 9:23 `map` has no option `epocs` | help: did you mean `epochs`?"#;

    an_option_of_another_kind: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = many }"# => r#"E0258 9:32 `epochs` must be an integer from 1 to 1000000000000"#;

    an_option_out_of_range: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 0 }"# => r#"E0258 9:32 `epochs` must be an integer from 1 to 1000000000000, found 0"#;

    an_unknown_word: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { precision = f16 }"# => r#"E0258 9:35 `precision` must be one of `f32`, `f64`, found `f16`"#;

    an_unknown_schedule: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { schedule = cosin }"# => r#"E0258 9:34 `schedule` must be one of `constant`, `cooldown`, `cosine`, `linear`, `step`, `steps`, `swa`, `warmup`, found `cosin` | help: did you mean `cosine`?"#;

    a_schedule_with_too_few_numbers: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { schedule = step(0.5) }"# => r#"E0258 9:34 `schedule` must be `step(fraction, factor)`, found 1 argument"#;

    milestones_that_do_not_increase: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 300, schedule = steps([225, 150], 0.1) }"# => r#"E0258 9:54 `schedule` must be `steps` where `milestones` are increasing positive numbers in brackets, such as `[150, 225]`"#;

    a_milestone_without_brackets: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 300, schedule = steps(150, 0.1) }"# => r#"E0258 9:54 `schedule` must be `steps` where `milestones` are increasing positive numbers in brackets, such as `[150, 225]`"#;

    a_negative_factor_of_a_schedule: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 300, schedule = steps([150], -0.1) }"# => r#"E0258 9:61 `schedule` must be `steps` where `factor` is a number of at least 0"#;

    a_schedule_with_an_unknown_argument: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 300, schedule = swa(begin = 161, final = 0.2) }"# => r#"E0258 9:48 `schedule` must be `swa` with the arguments `start`, `final`"#;

    a_warm_up_without_a_schedule: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 300, schedule = warmup(5, 0.1) }"# => r#"E0258 9:58 `schedule` must be one of `constant`, `cooldown`, `cosine`, `linear`, `step`, `steps`, `swa`, `warmup`"#;

    fractions_out_of_range: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

posterior Q of M {
  w, b ~ Normal(scale = 0.1)
}

infer a = vi(Q, d) { prune = [-0.1, 0.5, 1] }"# => r#"E0258 13:31 `prune` must be fractions from 0 to below 1, found -0.1
E0258 13:42 `prune` must be fractions from 0 to below 1, found 1"#;

    fractions_without_brackets: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

posterior Q of M {
  w, b ~ Normal(scale = 0.1)
}

infer a = vi(Q, d) { prune = 0.5 }"# => r#"E0258 13:30 `prune` must be fractions in brackets, such as `[0.5, 0.9]`"#;

    an_optimiser_without_a_rate: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { optimiser = Adam() }"# => r#"E0215 9:35 `Adam` needs `rate` | missing here"#;

    an_option_given_twice: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 10, epochs = 20 }"# => r#"E0259 9:36 the option `epochs` is given twice | given again here | 9:23 first given here"#;

    a_misspelt_format: r#"data d = cvs("d.csv")"# => r#"E0261 1:10 expected a call of `cifar`, `csv`, `idx`, `images`, `json`, `npy`, `parquet`, such as `csv("file.csv")` | help: did you mean `csv`?"#;

    a_misspelt_data_option: r#"data d = csv("d.csv") { tarket = y }"# => r#"E0257 1:25 data has no option `tarket` | help: did you mean `target`?"#;

    a_fraction_above_one: r#"data d = csv("d.csv") { test = fraction(2) }"# => r#"E0258 1:41 `fraction` must be between 0 and 1, found 2"#;

    a_turn_of_more_than_a_circle: r#"data d = idx("a", "b") { test = idx("c", "d"), rotate = [0, 400] }"# => r#"E0258 1:61 `rotate` must be degrees between -360 and 360, found 400"#;

    rows_of_a_table_turned: r#"data d = csv("d.csv") { test = fraction(0.1), rotate = 45 }"# => r#"E0258 1:1 `rotate` must be used with images (`cifar`, `idx`, `images`, `npy`), not `csv`"#;
    channels_and_columns: r#"data d = idx("x", "y") { normalise = channels, standardise = inputs }"# => r#"E0258 1:1 `normalise` must be used without `standardise = inputs`, because both scale the inputs"#;
    channels_by_another_word: r#"data d = idx("x", "y") { normalise = rows }"# => r#"E0258 1:38 `normalise` must be `channels`, found `rows`"#;

    no_test_images_to_turn: r#"data d = idx("a", "b") { rotate = 45 }"# => r#"E0258 1:1 `rotate` must be given together with `test`, because it changes test images"#;

    outliers_of_another_format: r#"data d = idx("a", "b") { outliers = csv("c") }"# => r#"E0258 1:37 `outliers` must be `idx("file")`, one file of inputs, or `shuffled(pixels)`, the test images in pieces"#;

    outliers_without_test_images: r#"data d = idx("a", "b") { outliers = shuffled(7) }"# => r#"E0258 1:1 `outliers = shuffled(..)` must be given together with `test`, because it changes test images"#;

    a_shift_with_a_misspelt_name: r#"data d = idx("a", "b") { test = idx("c", "d"), shifts = [fogg(3)] }"# => r#"E0258 1:58 `shifts` must be one of `gaussian_noise`, `shot_noise`, `impulse_noise`, `defocus_blur`, `glass_blur`, `motion_blur`, `zoom_blur`, `snow`, `frost`, `fog`, `brightness`, `contrast`, `elastic`, `pixelate`, `jpeg`, found `fogg` | help: did you mean `fog`?"#;

    a_severity_above_five: r#"data d = idx("a", "b") { test = idx("c", "d"), shifts = [fog(6)] }"# => r#"E0258 1:62 `fog` must be given a severity, an integer from 1 to 5, found 6"#;

    a_severity_between_integers: r#"data d = idx("a", "b") { test = idx("c", "d"), shifts = [snow(1.5)] }"# => r#"E0258 1:63 `snow` must be given a severity, an integer from 1 to 5, found 1.5"#;

    a_shift_that_is_given_twice: r#"data d = idx("a", "b") { test = idx("c", "d"), shifts = [fog, fog(2)] }"# => r#"E0258 1:63 `shifts` must be a list with each shift once, found `fog(2)` again"#;

    a_shift_that_is_a_number: r#"data d = idx("a", "b") { test = idx("c", "d"), shifts = [3] }"# => r#"E0258 1:58 `shifts` must be corruptions in brackets, such as `[fog(3), jpeg]`, or `all`"#;

    corrupted_rows_of_a_table: r#"data d = csv("d.csv") { test = fraction(0.1), shifts = all }"# => r#"E0258 1:1 `shifts` must be used with images (`cifar`, `idx`, `images`, `npy`), not `csv`"#;

    no_test_images_to_corrupt: r#"data d = idx("a", "b") { shifts = [fog] }"# => r#"E0258 1:1 `shifts` must be given together with `test`, because it changes test images"#;

    pieces_without_a_size: r#"data d = idx("a", "b") { outliers = shuffled(0) }"# => r#"E0258 1:46 `shuffled` must be an integer of at least 1, found 0"#;

    test_rows_of_another_format: r#"data d = csv("d.csv") { test = idx("a", "b") }"# => r#"E0258 1:32 `test` must be `splits("file")`, `fraction(0.1)` or `csv("file")`"#;

    an_unknown_column_function: r#"data d = csv("d.csv") { inputs = [age, zscor(age)] }"# => r#"E0262 1:40 `zscor` is not a function of one column | help: did you mean `zscore`?"#;

    a_misspelt_metric: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d)

compare a by rsme"# => r#"E0263 11:14 unknown metric `rsme` | help: did you mean `rmse`?"#;

    a_level_that_is_not_measured: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d)

compare a by coverage(0.8)"# => r#"E0258 11:14 `coverage` must be `coverage(0.5)`, `coverage(0.9)` or `coverage(0.95)`"#;

    a_number_of_bins_that_is_not_measured: r#"data d = csv("d.csv")

model M(x: real) -> y: bool {
  w ~ Normal(0, 1)
  y ~ Bernoulli(logit = w * x)
}

infer a = map(M, d)

compare a by ece(12)"# => r#"E0258 10:14 `ece` must be `ece`, `ece(10)` or `ece(20)`"#;

    a_metric_of_no_output: r#"data d = csv("d.csv")

model M(x: real) -> y: real, z: bool {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
  z ~ Bernoulli(w * x)
}

infer a = map(M, d)

compare a by z.accuracy, w.rmse"# => r#"E0258 11:26 `by` must be a metric of an output (`y`, `z`), but found `w`"#;

    a_metric_of_the_only_output: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
}

infer a = map(M, d)

compare a by y.rmse, w.rmse"# => r#"E0258 10:14 `by` must be a metric without the name of an output, because `y` is the only output
E0258 10:22 `by` must be a metric without the name of an output; `w` is not an output"#;

    a_metric_of_an_output_under_a_misspelt_method: r#"data d = csv("d.csv")

model M(x: real) -> y: real, z: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
  z ~ Normal(w, 1)
}

infer a = mapp(M, d)

compare a by y.rmse"# => r#"E0254 9:11 unknown method `mapp` | help: did you mean `map`?"#;

    a_metric_of_an_output_of_an_unknown_model: r#"data d = csv("d.csv")

infer a = map(M, d)

compare a by y.rmse"# => r#"E0202 3:15 unknown name `M` | not declared here"#;

    a_metric_of_an_output_of_an_unknown_inference: r#"data d = csv("d.csv")

model M(x: real) -> y: real, z: real {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
  z ~ Normal(w, 1)
}

infer a = map(M, d)

compare f by y.rmse"# => r#"E0202 11:9 unknown name `f` | not declared here"#;

    the_time_of_an_output: r#"data d = csv("d.csv")

model M(x: real) -> y: real, z: bool {
  w ~ Normal(0, 1)
  y ~ Normal(w * x, 1)
  z ~ Bernoulli(w * x)
}

infer a = map(M, d)

compare a by y.time"# => r#"E0258 11:14 `by` must be `time` of a whole inference"#;

    a_comparison_of_models: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

compare M by rmse"# => r#"E0204 9:9 expected an inference, but `M` is a model | expected an inference | 3:7 `M` is declared here"#;
}
