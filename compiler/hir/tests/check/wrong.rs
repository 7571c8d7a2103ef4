//! later
#[test]
fn dump() {
    println!("@@two_items_with_one_name\n{}", super::check(r#"const A = 1
fn A(x: real) -> real {
  return x
}"#).text());
    println!("@@a_misspelt_function\n{}", super::check(r#"fn f(x: real) -> real {
  return sofplus(x)
}"#).text());
    println!("@@a_variable_before_its_line\n{}", super::check(r#"fn f(x: real) -> real {
  y = x + z
  z = 1
  return y + z
}"#).text());
    println!("@@a_misspelt_import\n{}", super::check(r#"use layers::Danse"#).text());
    println!("@@an_import_from_the_wrong_folder\n{}", super::check(r#"use optimisers::Dense"#).text());
    println!("@@a_function_after_a_tilde\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ relu
}"#).text());
    println!("@@a_number_after_a_tilde\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ x + 1
}"#).text());
    println!("@@functions_that_call_each_other\n{}", super::check(r#"fn f(x: real) -> real {
  return g(x)
}
fn g(x: real) -> real {
  return f(x)
}"#).text());
    println!("@@an_infer_that_starts_from_itself\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { start = a }"#).text());
    println!("@@a_name_bound_twice\n{}", super::check(r#"fn f(x: real) -> real {
  y = x
  y = 2
  return y
}"#).text());
    println!("@@a_for_that_rebinds\n{}", super::check(r#"model M() -> y: real[T] {
  m = 1
  for t in 0..T {
    m = 2
    y[t] ~ Normal(m, 1)
  }
}"#).text());
    println!("@@an_unused_variable\n{}", super::check(r#"fn f(x: real) -> real {
  y = x
  return x
}"#).text());
    println!("@@a_misspelt_type\n{}", super::check(r#"fn f(x: positve) -> real {
  return x
}"#).text());
    println!("@@an_unbound_dim\n{}", super::check(r#"fn f(x: real) -> real[n] {
  return [x]
}"#).text());
    println!("@@a_vector_against_a_column\n{}", super::check(r#"fn f(x: real[n], y: real[n, 1]) -> real[n] {
  return x - y
}"#).text());
    println!("@@two_names_of_dims\n{}", super::check(r#"fn f(x: real[n], y: real[m]) -> real {
  return dot(x, y)
}"#).text());
    println!("@@a_matrix_with_too_few_columns\n{}", super::check(r#"fn f(w: real[4, 6], x: real[5]) -> real[4] {
  return w @ x
}"#).text());
    println!("@@a_dot_written_as_a_matrix_product\n{}", super::check(r#"fn f(a: real[3], b: real[3]) -> real {
  return a @ b
}"#).text());
    println!("@@a_result_of_another_size\n{}", super::check(r#"fn f(x: real[3]) -> real[4] {
  return 2 * x
}"#).text());
    println!("@@a_negative_scale\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Normal(x, -1)
}"#).text());
    println!("@@a_scale_that_is_never_positive\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Normal(x, -softplus(x))
}"#).text());
    println!("@@a_probability_above_one\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Mixture(3 / 2, Normal(x, 1), Normal(0, 1))
}"#).text());
    println!("@@an_argument_too_many\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Normal(x, 1, 2)
}"#).text());
    println!("@@an_argument_too_few\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ StudentT(3, x)
}"#).text());
    println!("@@a_misspelt_argument\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Normal(x, scael = 1)
}"#).text());
    println!("@@an_argument_by_position_and_name\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Normal(x, 1, loc = 0)
}"#).text());
    println!("@@a_call_of_a_number\n{}", super::check(r#"fn f(x: real) -> real {
  return x(2)
}"#).text());
    println!("@@arrays_of_two_sizes_in_one_call\n{}", super::check(r#"model M(x: real[2], s: positive[3]) -> y: real[2] {
  y ~ Normal(x, s)
}"#).text());
    println!("@@an_index_beyond_the_end\n{}", super::check(r#"model M(x: real[d]) -> y: real {
  out = Dense(2)
  o = out(x)
  y ~ Normal(o[0], softplus(o[2]))
}"#).text());
    println!("@@an_index_into_another_axis\n{}", super::check(r#"model M(a: real[J])(i: index(K)) -> y: real {
  y ~ Normal(a[i], 1)
}"#).text());
    println!("@@an_index_too_many\n{}", super::check(r#"fn f(x: real[2]) -> real {
  return x[0, 1]
}"#).text());
    println!("@@a_dim_that_only_data_know\n{}", super::check(r#"model M(k: int, x: real) -> y: real {
  y ~ Normal(x + sum(zeros(k)), 1)
}"#).text());
    println!("@@a_truth_value_as_a_number\n{}", super::check(r#"model M(x: bool) -> y: real {
  y ~ Normal(2 * x, 1)
}"#).text());
    println!("@@a_number_as_a_condition\n{}", super::check(r#"fn f(x: real) -> real {
  return if x { 1 } else { 0 }
}"#).text());
    println!("@@noise_in_a_function\n{}", super::check(r#"fn f(x: real) -> real {
  return x + standard_normal()
}"#).text());
    println!("@@a_draw_in_a_model\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Normal(x + Normal(0, 1).draw, 1)
}"#).text());
    println!("@@a_constant_that_is_none\n{}", super::check(r#"const A = [1, 2]"#).text());
    println!("@@a_tilde_in_a_function\n{}", super::check(r#"fn f(x: real) -> real {
  z ~ Normal(x, 1)
  return z
}"#).text());
    println!("@@a_return_in_a_model\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Normal(x, 1)
  return x
}"#).text());
    println!("@@a_function_without_return\n{}", super::check(r#"fn f(x: real) -> real {
  y = x
}"#).text());
    println!("@@a_for_in_a_function\n{}", super::check(r#"fn f(x: real[n]) -> real {
  for i in 0..n {
    s = x[i]
  }
  return sum(x)
}"#).text());
    println!("@@an_assigned_element\n{}", super::check(r#"fn f(x: real[3]) -> real {
  x[0] = 1
  return sum(x)
}"#).text());
    println!("@@a_misspelt_definition\n{}", super::check(r#"dist D(loc: real) on real {
  log_denisty(x) = x - loc
}"#).text());
    println!("@@a_mean_with_an_argument\n{}", super::check(r#"dist D(loc: real) on real {
  mean(x) = x + loc
}"#).text());
    println!("@@a_state_without_a_next\n{}", super::check(r#"optimiser O(rate: positive) {
  state m = 0
  step = -rate * m * gradient
}"#).text());
    println!("@@an_array_operation_in_a_scalar_distribution\n{}", super::check(r#"dist D(loc: real) on real {
  log_density(x) = sum([x, loc])
}"#).text());
    println!("@@a_weight_that_depends_on_an_input\n{}", super::check(r#"model M(x: real) -> y: real {
  z = 2 * x
  w ~ Normal(z, 1)
  y ~ Normal(w, 1)
}"#).text());
    println!("@@a_discrete_latent\n{}", super::check(r#"model M(x: real) -> y: real {
  z ~ Bernoulli(0)
  y ~ Normal(if z { x } else { 0 }, 1)
}"#).text());
    println!("@@an_output_without_a_distribution\n{}", super::check(r#"model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  z = w * x
}"#).text());
    println!("@@an_output_with_two_distributions\n{}", super::check(r#"model M(x: real) -> y: real {
  y ~ Normal(x, 1)
  y ~ Normal(0, 1)
}"#).text());
    println!("@@a_whole_output_inside_for\n{}", super::check(r#"model M() -> y: real[T] {
  for t in 0..T {
    y ~ Normal(t, 1)
  }
}"#).text());
    println!("@@a_vector_for_a_scalar_output\n{}", super::check(r#"model M(x: real[d]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x), 1)
}"#).text());
    println!("@@a_real_distribution_for_a_class\n{}", super::check(r#"model M(x: real) -> y: index(3) {
  y ~ Normal(x, 1)
}"#).text());
    println!("@@classes_of_another_number\n{}", super::check(r#"model M(x: real[d]) -> y: index(10) {
  out = Dense(9)
  y ~ Categorical(out(x))
}"#).text());
    println!("@@a_site_wider_than_its_distribution\n{}", super::check(r#"model M(x: real) -> y: real {
  s: real ~ HalfNormal(1)
  y ~ Normal(x, s)
}"#).text());
    println!("@@a_layer_without_a_name\n{}", super::check(r#"model M(x: real[d]) -> y: real {
  y ~ Normal(Dense(1)(x)[0], 1)
}"#).text());
    println!("@@a_layer_that_is_never_called\n{}", super::check(r#"model M(x: real[d]) -> y: real {
  h = Dense(3)
  y ~ Normal(sum(x), 1)
}"#).text());
    println!("@@a_layer_called_with_two_sizes\n{}", super::check(r#"model M(x: real[3], z: real[4]) -> y: real {
  h = Dense(1)
  y ~ Normal(h(x)[0] + h(z)[0], 1)
}"#).text());
    println!("@@a_list_of_layers_with_too_few\n{}", super::check(r#"model M(x: real[d]) -> y: real {
  h = [Dense(3) for l in 0..2]
  y ~ Normal(sum(h[2](h[0](x))), 1)
}"#).text());
    println!("@@a_site_inside_for\n{}", super::check(r#"model M() -> y: real[T] {
  for t in 0..T {
    z ~ Normal(0, 1)
    y[t] ~ Normal(z, 1)
  }
}"#).text());
    println!("@@a_prior_that_is_a_number\n{}", super::check(r#"model M(x: real[d]) -> y: real {
  out = Dense(1, prior = 2)
  y ~ Normal(out(x)[0], 1)
}"#).text());
    println!("@@an_unknown_site\n{}", super::check(r#"model N(x: real[d]) -> y: real {
  h1 = Dense(3)
  out = Dense(1)
  y ~ Normal(out(tanh(h1(x)))[0], 1)
}

posterior Q of N {
  h2.* ~ Normal(scale = 0.1)
}"#).text());
    println!("@@a_layer_named_without_its_sites\n{}", super::check(r#"model N(x: real[d]) -> y: real {
  h1 = Dense(3)
  out = Dense(1)
  y ~ Normal(out(tanh(h1(x)))[0], 1)
}

posterior Q of N {
  h1 ~ Normal(scale = 0.1)
}"#).text());
    println!("@@a_site_given_twice\n{}", super::check(r#"model N(x: real[d]) -> y: real {
  h1 = Dense(3)
  out = Dense(1)
  y ~ Normal(out(tanh(h1(x)))[0], 1)
}

posterior Q of N {
  h1.* ~ Normal(scale = 0.1)
  h1.w ~ Point
}"#).text());
    println!("@@a_negative_start_value\n{}", super::check(r#"model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

posterior Q of M {
  w, b ~ Normal(scale = -0.1)
}"#).text());
    println!("@@a_misspelt_family_parameter\n{}", super::check(r#"model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

posterior Q of M {
  w, b ~ Normal(sigma = 0.1)
}"#).text());
    println!("@@sites_without_a_family\n{}", super::check(r#"data d = csv("d.csv")

model N(x: real[d]) -> y: real {
  h1 = Dense(3)
  out = Dense(1)
  y ~ Normal(out(tanh(h1(x)))[0], 1)
}

posterior Q of N {
  h1.* ~ Normal(scale = 0.1)
}

infer q = vi(Q, d)"#).text());
    println!("@@a_misspelt_method\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = mpa(M, d)"#).text());
    println!("@@a_model_for_vi\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = vi(M, d)"#).text());
    println!("@@data_that_are_a_model\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, M)"#).text());
    println!("@@a_misspelt_option\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epocs = 10 }"#).text());
    println!("@@an_option_of_another_kind\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = many }"#).text());
    println!("@@an_option_out_of_range\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 0 }"#).text());
    println!("@@an_unknown_word\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { precision = f16 }"#).text());
    println!("@@an_unknown_schedule\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { schedule = cosin }"#).text());
    println!("@@a_schedule_with_too_few_numbers\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { schedule = step(0.5) }"#).text());
    println!("@@an_optimiser_without_a_rate\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { optimiser = Adam() }"#).text());
    println!("@@an_option_given_twice\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { epochs = 10, epochs = 20 }"#).text());
    println!("@@a_misspelt_format\n{}", super::check(r#"data d = cvs("d.csv")"#).text());
    println!("@@a_misspelt_data_option\n{}", super::check(r#"data d = csv("d.csv") { tarket = y }"#).text());
    println!("@@a_fraction_above_one\n{}", super::check(r#"data d = csv("d.csv") { test = fraction(2) }"#).text());
    println!("@@test_rows_of_another_format\n{}", super::check(r#"data d = csv("d.csv") { test = idx("a", "b") }"#).text());
    println!("@@an_unknown_column_function\n{}", super::check(r#"data d = csv("d.csv") { inputs = [age, zscor(age)] }"#).text());
    println!("@@a_misspelt_metric\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d)

compare a by rsme"#).text());
    println!("@@a_level_that_is_not_measured\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d)

compare a by coverage(0.8)"#).text());
    println!("@@a_comparison_of_models\n{}", super::check(r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

compare M by rmse"#).text());
    println!("@@a_function_that_does_not_lift\n{}", super::check(r#"fn pair(x: real) -> real {
  return sum([x, 1])
}
fn f(x: real[3]) -> real[3] {
  return pair(x)
}"#).text());
    println!("@@a_part_that_a_distribution_lacks\n{}", super::check(r#"fn f(x: real) -> real {
  return Cauchy(x, 1).mean
}"#).text());
    println!("@@one_mistake_said_once\n{}", super::check(r#"fn f(x: real) -> real {
  y = zz + 1
  z = y * 2
  return z @ x
}"#).text());
}
