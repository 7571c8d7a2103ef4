//! One invalid program per situation, with its diagnostics: functions, layers, distributions, models.

use super::check;

wrong! {
    two_items_with_one_name: r#"const A = 1
fn A(x: real) -> real {
  return x
}"# => r#"E0201 2:4 `A` is declared twice | declared again here | 1:7 first declared here"#;

    a_misspelt_function: r#"fn f(x: real) -> real {
  return sofplus(x)
}"# => r#"E0202 2:10 unknown name `sofplus` | not declared here | help: did you mean `softplus`?"#;

    a_variable_before_its_line: r#"fn f(x: real) -> real {
  y = x + z
  z = 1
  return y + z
}"# => r#"E0202 2:11 `z` is used before it is declared | used here | 3:3 declared here"#;

    a_misspelt_import: r#"use layers::Danse"# => r#"E0203 1:5 the library has no `layers::Danse` | help: did you mean `Dense`?"#;

    an_import_from_the_wrong_folder: r#"use optimisers::Dense"# => r#"E0203 1:5 the library has no `optimisers::Dense`"#;

    a_function_after_a_tilde: r#"model M(x: real) -> y: real {
  y ~ relu
}"# => r#"E0204 2:7 expected a distribution, but `relu` is a function | expected a distribution | library `relu` is declared here"#;

    a_number_after_a_tilde: r#"model M(x: real) -> y: real {
  y ~ x + 1
}"# => r#"E0211 2:7 expected a distribution, found real | this is real | help: `=` defines a value, `~` gives a distribution"#;

    functions_that_call_each_other: r#"fn f(x: real) -> real {
  return g(x)
}
fn g(x: real) -> real {
  return f(x)
}"# => r#"E0205 1:4 circular definition: `f` -> `g` -> `f` | 4:4 `g` is declared here"#;

    an_infer_that_starts_from_itself: r#"data d = csv("d.csv")

model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ Normal(w * x + b, 1)
}

infer a = map(M, d) { start = a }"# => r#"E0205 9:7 circular definition: `a` refers to itself | help: an inference cannot start from itself: name another one"#;

    a_name_bound_twice: r#"fn f(x: real) -> real {
  y = x
  y = 2
  return y
}"# => r#"E0206 3:3 `y` already has a value | assigned again here | 2:3 first assigned here | help: give the new value a new name"#;

    a_for_that_rebinds: r#"model M() -> y: real[T] {
  m = 1
  for t in 0..T {
    m = 2
    y[t] ~ Normal(m, 1)
  }
}"# => r#"E0206 4:5 a `for` cannot change `m`, which is assigned outside the loop | assigned again here | 2:3 assigned here | help: use another name; to add up values write `sum(.. for i in a..b)`"#;

    an_unused_variable: r#"fn f(x: real) -> real {
  y = x
  return x
}"# => r#"E0207 2:3 `y` is never used | help: remove it, or rename it to `_y` to keep it unused"#;

    an_unused_input_and_what_belongs_to_rows: r#"model M(x: real, z: real) -> y: real {
  w ~ Normal(0, 1)
  reported = exp(w)
  forgotten = exp(w * x)
  y ~ Normal(w * x, 1)
}"# => r#"E0207 1:18 `z` is never used | help: remove it: a model does not need every column of its data
E0207 4:3 `forgotten` is never used | help: remove it, or rename it to `_forgotten` to keep it unused"#;

    a_misspelt_type: r#"fn f(x: positve) -> real {
  return x
}"# => r#"E0208 1:9 unknown type `positve` | help: did you mean `positive`?"#;

    an_unbound_dim: r#"fn f(x: real) -> real[n] {
  return [x]
}"# => r#"E0209 1:23 unknown dimension `n` | nothing declares this name | help: introduce it in the type of an input, `x: real[n]`, or give it a size: `const n = 3`"#;

    a_vector_against_a_column: r#"fn f(x: real[n], y: real[n, 1]) -> real[n] {
  return x - y
}"# => r#"E0212 2:10 `x - y` needs equal dims, found (n) and (n, 1) | arrays are not broadcast | 2:10 this has dims (n) | 2:14 this has dims (n, 1) | help: select the column or row of the right side by an index: `x[i, 0]`, `x[0]`, or `[x[i, 0] for i in 0..n]`"#;

    two_names_of_dims: r#"fn f(x: real[n], y: real[m]) -> real {
  return dot(x, y)
}"# => r#"E0212 2:10 `dot` needs equal dims, found (n) and (m) | arrays are not broadcast | 2:14 this has dims (n) | 2:17 this has dims (m)"#;

    a_matrix_with_too_few_columns: r#"fn f(w: real[4, 6], x: real[5]) -> real[4] {
  return w @ x
}"# => r#"E0213 2:10 `w @ x` needs 6 rows on the right, found 5 | 2:10 this has 6 columns | 2:14 this has 5 rows"#;

    a_dot_written_as_a_matrix_product: r#"fn f(a: real[3], b: real[3]) -> real {
  return a @ b
}"# => r#"E0213 2:10 `@` needs two matrices, or a matrix and a vector, found real[3] and real[3] | 2:10 this is real[3] | 2:14 this is real[3] | help: for two vectors write `dot(a, b)` or `outer(a, b)`"#;

    a_result_of_another_size: r#"fn f(x: real[3]) -> real[4] {
  return 2 * x
}"# => r#"E0211 2:10 expected real[4], found real[3] | this is real[3] | 1:21 the result is declared here"#;

    a_negative_scale: r#"model M(x: real) -> y: real {
  y ~ Normal(x, -1)
}"# => r#"E0214 2:17 `scale` must be positive, but this is -1 | this is -1"#;

    a_scale_that_is_never_positive: r#"model M(x: real) -> y: real {
  y ~ Normal(x, -softplus(x))
}"# => r#"E0214 2:17 `scale` must be positive, but this is at most 0 | this is at most 0"#;

    a_probability_above_one: r#"model M(x: real) -> y: real {
  y ~ Mixture(3 / 2, Normal(x, 1), Normal(0, 1))
}"# => r#"E0214 2:15 `weight` must be between 0 and 1, but this is 1.5 | this is 1.5"#;

    an_argument_too_many: r#"model M(x: real) -> y: real {
  y ~ Normal(x, 1, 2)
}"# => r#"E0215 2:7 `Normal` takes 2 arguments, found 3"#;

    an_argument_too_few: r#"model M(x: real) -> y: real {
  y ~ StudentT(3, x)
}"# => r#"E0215 2:7 `StudentT` needs `scale` | missing here"#;

    a_misspelt_argument: r#"model M(x: real) -> y: real {
  y ~ Normal(x, scael = 1)
}"# => r#"E0216 2:17 `Normal` has no parameter `scael` | help: did you mean `scale`?"#;

    an_argument_by_position_and_name: r#"model M(x: real) -> y: real {
  y ~ Normal(x, 1, loc = 0)
}"# => r#"E0217 2:20 `loc` is given twice | given again here | 2:14 first given here"#;

    a_call_of_a_number: r#"fn f(x: real) -> real {
  return x(2)
}"# => r#"E0218 2:10 expected a function, a layer or a distribution, found real"#;

    arrays_of_two_sizes_in_one_call: r#"model M(x: real[2], s: positive[3]) -> y: real[2] {
  y ~ Normal(x, s)
}"# => r#"E0212 2:17 `Normal` needs equal dims, found (2) and (3) | arrays are not broadcast | 2:14 this has dims (2) | 2:17 this has dims (3)"#;

    an_index_beyond_the_end: r#"model M(x: real[d]) -> y: real {
  out = Dense(2)
  o = out(x)
  y ~ Normal(o[0], softplus(o[2]))
}"# => r#"E0220 4:31 this index lies outside an axis of size 2 | 4:29 this axis has size 2"#;

    an_index_into_another_axis: r#"model M(a: real[J])(i: index(K)) -> y: real {
  y ~ Normal(a[i], 1)
}"# => r#"E0220 2:16 expected index(J), found index(K) | 2:14 this axis has size J"#;

    an_index_too_many: r#"fn f(x: real[2]) -> real {
  return x[0, 1]
}"# => r#"E0220 2:10 expected at most 1 index, found 2 | 2:10 this is real[2]"#;

    a_dim_that_only_data_know: r#"model M(k: int, x: real) -> y: real {
  y ~ Normal(x + sum(zeros(k)), 1)
}"# => r#"E0221 2:28 a dimension must be known at compile time | not a compile-time constant | help: use a number, a `const`, the name of a dim, an integer parameter or a loop counter"#;

    a_truth_value_as_a_number: r#"model M(x: bool) -> y: real {
  y ~ Normal(2 * x, 1)
}"# => r#"E0211 2:18 expected a number, found bool | this is bool | help: write `if c { 1 } else { 0 }`"#;

    a_number_as_a_condition: r#"fn f(x: real) -> real {
  return if x { 1 } else { 0 }
}"# => r#"E0211 2:13 expected bool, found real | this is real | help: compare it: `x == 1`"#;

    noise_in_a_function: r#"fn f(x: real) -> real {
  return x + standard_normal()
}"# => r#"E0224 2:14 `standard_normal` is allowed only in the `draw` of a distribution | help: declare a random quantity with `~`"#;

    a_draw_in_a_model: r#"model M(x: real) -> y: real {
  y ~ Normal(x + Normal(0, 1).draw, 1)
}"# => r#"E0224 2:18 `draw` is allowed only in the `draw` of a distribution | help: declare a random quantity with `~`"#;

    a_constant_that_is_none: r#"const A = [1, 2]"# => r#"E0226 1:11 `A` must be a constant number"#;

    a_tilde_in_a_function: r#"fn f(x: real) -> real {
  z ~ Normal(x, 1)
  return z
}"# => r#"E0231 2:3 `~` does not belong in a function | help: random quantities belong in models and layers"#;

    a_return_in_a_model: r#"model M(x: real) -> y: real {
  y ~ Normal(x, 1)
  return x
}"# => r#"E0231 3:3 `return` does not belong in a model | help: a model has no result; give its outputs distributions: `y ~ Normal(..)`"#;

    a_function_without_return: r#"fn f(x: real) -> real {
  y = x
}"# => r#"E0232 1:4 `f` has no `return` | help: end it with `return value`"#;

    a_for_in_a_function: r#"fn f(x: real[n]) -> real {
  for i in 0..n {
    s = x[i]
  }
  return sum(x)
}"# => r#"E0231 2:3 `for` does not belong in a function | help: a `for` cannot change outer variables, so it has no effect here: write `[.. for i in a..b]` or `sum(.. for i in a..b)`"#;

    an_assigned_element: r#"fn f(x: real[3]) -> real {
  x[0] = 1
  return sum(x)
}"# => r#"E0234 2:3 expected one new name on the left"#;

    a_misspelt_definition: r#"dist D(loc: real) on real {
  log_denisty(x) = x - loc
}"# => r#"E0235 2:3 a distribution has no definition `log_denisty` | help: did you mean `log_density`?"#;

    a_mean_with_an_argument: r#"dist D(loc: real) on real {
  mean(x) = x + loc
}"# => r#"E0235 2:3 expected `mean = ..`"#;

    a_per_tensor_that_is_no_truth: r#"dist D(loc: real[n]) on real[n] {
  mean       = loc
  per_tensor = false
}"# => r#"E0235 3:3 expected `per_tensor = ..` | help: write `per_tensor = true`, or leave it out"#;

    a_per_tensor_that_says_nothing: r#"dist D(loc: real) on real {
  mean       = loc
  per_tensor = true
}"# => r#"E0235 3:3 `per_tensor` has no effect, because `D` never covers several tensors | help: leave it out: only distributions `on real[n]` need it"#;

    a_state_without_a_next: r#"optimiser O(rate: positive) {
  state m = 0
  step = -rate * m * gradient
}"# => r#"E0237 2:9 the state `m` has no next value | help: add `next m = ..`"#;

    an_array_operation_in_a_scalar_distribution: r#"dist D(loc: real) on real {
  log_density(x) = sum([x, loc])
}"# => r#"E0238 2:20 `D` is elementwise, so it cannot use `sum` | help: use elementwise operations, or make a parameter an array, `real[n]`"#;

    a_weight_that_depends_on_an_input: r#"model M(x: real) -> y: real {
  z = 2 * x
  w ~ Normal(z, 1)
  y ~ Normal(w, 1)
}"# => r#"E0241 3:7 `w` is shared by all examples, but its distribution depends on one example | 2:3 `z` belongs to one example | help: let the distribution depend only on other parameters, and use the input in the distribution of the output"#;

    a_discrete_latent: r#"model M(x: real) -> y: real {
  z ~ Bernoulli(0)
  y ~ Normal(if z { x } else { 0 }, 1)
}"# => r#"E0242 2:7 the latent variable `z` must be continuous, but its distribution is over bool | only outputs can have discrete distributions | help: sum over its values instead: `Mixture(weight, first, second)` sums over two cases"#;

    an_output_without_a_distribution: r#"model M(x: real) -> y: real {
  w ~ Normal(0, 1)
  z = w * x
}"# => r#"E0243 1:21 the output `y` has no distribution | help: add a line `y ~ ..`"#;

    an_output_with_two_distributions: r#"model M(x: real) -> y: real {
  y ~ Normal(x, 1)
  y ~ Normal(0, 1)
}"# => r#"E0244 3:3 the output `y` has two distributions | given again here | 2:3 first given here"#;

    a_whole_output_inside_for: r#"model M() -> y: real[T] {
  for t in 0..T {
    y ~ Normal(t, 1)
  }
}"# => r#"E0244 3:5 a `for` would give the output `y` many distributions | help: give each element its distribution: `y[t] ~ ..`"#;

    a_vector_for_a_scalar_output: r#"model M(x: real[d]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x), 1)
}"# => r#"E0211 3:7 expected a distribution over real, found a distribution over real[1] | this is a distribution over real[1] | 1:24 `y` is real | help: the model is written for one example: take an element, `out(..)[0]`"#;

    a_real_distribution_for_a_class: r#"model M(x: real) -> y: index(3) {
  y ~ Normal(x, 1)
}"# => r#"E0211 2:7 expected a distribution on index(3), found a distribution on real | this is a distribution on real | 1:21 `y` is index(3)"#;

    classes_of_another_number: r#"model M(x: real[d]) -> y: index(10) {
  out = Dense(9)
  y ~ Categorical(out(x))
}"# => r#"E0211 3:7 expected a distribution on index(10), found a distribution on index(9) | this is a distribution on index(9) | 1:24 `y` is index(10)"#;

    a_site_wider_than_its_distribution: r#"model M(x: real) -> y: real {
  s: real ~ HalfNormal(1)
  y ~ Normal(x, s)
}"# => r#"E0245 2:6 `s` is declared real, but its distribution is over positive | 2:13 this distribution is over positive | help: declare it positive, or leave the type out
E0271 3:17 `scale` must be positive, but `s` is a real, which can be negative | not always positive | 2:3 `s` is declared here | help: declare `s: positive`, which truncates its distribution"#;

    a_layer_without_a_name: r#"model M(x: real[d]) -> y: real {
  y ~ Normal(Dense(1)(x)[0], 1)
}"# => r#"E0246 2:14 a layer needs a name, because its weights are named after it | help: write `name = Layer(..)` on a line of its own and call `name`"#;

    a_layer_that_is_never_called: r#"model M(x: real[d]) -> y: real {
  h = Dense(3)
  y ~ Normal(sum(x), 1)
}"# => r#"E0247 2:3 the layer `h` is never called | help: call it, `h(x)`, or remove it"#;

    a_layer_called_with_two_sizes: r#"model M(x: real[3], z: real[4]) -> y: real {
  h = Dense(1)
  y ~ Normal(h(x)[0] + h(z)[0], 1)
}"# => r#"E0248 3:24 `h` needs dims (3), found (4) | called with dims (4) | 3:14 first called with dims (3) | help: declare a second layer for the other dims"#;

    a_list_of_layers_with_too_few: r#"model M(x: real[d]) -> y: real {
  h = [Dense(3) for l in 0..2]
  y ~ Normal(sum(h[2](h[0](x))), 1)
}"# => r#"E0220 3:20 this index lies outside an axis of size 2 | 3:18 this axis has size 2"#;

    a_site_inside_for: r#"model M() -> y: real[T] {
  for t in 0..T {
    z ~ Normal(0, 1)
    y[t] ~ Normal(z, 1)
  }
}"# => r#"E0249 3:5 the parameter `z` cannot be declared inside `for` | help: declare an array before the `for`"#;

    a_parameter_of_layers_that_is_called: r#"layer Block(norm: layer)(x: real[n]) -> real[n] {
  return norm(x)
}
model M(x: real[d]) -> y: real {
  block = Block(LayerNorm())
  y ~ Normal(sum(block(x)), 1)
}"# => r#"E0246 2:10 the parameter `norm` describes new layers, and has no weights of its own | help: write `new = norm` on a line of its own and call `new`"#;

    an_argument_name_of_a_described_layer: r#"layer Block(norm: layer)(x: real[n]) -> real[n] {
  scaled = norm
  return scaled(input = x)
}
model M(x: real[d]) -> y: real {
  block = Block(LayerNorm())
  y ~ Normal(sum(block(x)), 1)
}"# => r#"E0216 3:17 `scaled` takes its input without a name | help: leave `input =` out"#;

    a_described_layer_in_a_function: r#"fn f(norm: layer, x: real[n]) -> real[n] {
  scaled = norm
  return scaled(x)
}"# => r#"E0210 1:12 the type `layer` does not belong here | help: only the first parameters of a layer may have this type: `layer Block(norm: layer)(x: real[n])`"#;

    a_described_layer_among_inputs: r#"layer Block()(x: real[n], norm: layer) -> real[n] {
  scaled = norm
  return scaled(x)
}"# => r#"E0210 1:33 the type `layer` does not belong here | help: only the first parameters of a layer may have this type: `layer Block(norm: layer)(x: real[n])`"#;

    a_described_layer_of_integers: r#"layer Lookup()(i: index(5)[n]) -> real[n] {
  w: real[5] ~ Normal(0, 1)
  return [w[i[j]] for j in 0..n]
}
layer Block(norm: layer)(x: real[n]) -> real[n] {
  scaled = norm
  return scaled(x)
}
model M(x: real[d]) -> y: real {
  block = Block(Lookup())
  y ~ Normal(sum(block(x)), 1)
}"# => r#"E0211 10:17 `norm` needs a layer whose output has the dims of its input, such as `BatchNorm()`, found the layer `Lookup` | this is the layer `Lookup` | help: `Block` takes `norm`, in this order"#;

    a_described_layer_that_is_never_used: r#"layer Block(norm: layer)(x: real[n]) -> real[n] {
  return tanh(x)
}
model M(x: real[d]) -> y: real {
  block = Block(LayerNorm())
  y ~ Normal(sum(block(x)), 1)
}"# => r#"E0207 1:13 `norm` is never used | help: remove it, or rename it to `_norm` to keep it unused"#;

    a_fold_of_described_layers_over_integers: r#"layer Block(norm: layer)(x: int[n]) -> real[n] {
  norms = [norm for l in 0..3]
  return fold(norms, x)
}
model M(x: int[d]) -> y: real {
  block = Block(LayerNorm())
  y ~ Normal(sum(block(x)), 1)
}"# => r#"E0211 3:22 expected an array of reals, found int[n] | this is int[n]"#;

    lists_of_lists_of_too_many_layers: r#"model M(x: real[d]) -> y: real {
  blocks = [[[Linear(4) for i in 0..1000] for j in 0..1000] for k in 0..1000]
  y ~ Normal(sum(fold(blocks, x)), 1)
}"# => r#"E0290 2:13 the list has 1000000 layers, but the limit is 1024"#;

    a_list_of_linear_layers: r#"model M(x: real[20]) -> y: real {
  layers = [Dense(30), Dense(20)]
  y ~ Normal(sum(fold(layers, x)), 1)
}"# => r#"E0275 3:18 a list of linear layers without an activation function between them is equivalent to one layer | applies linear layers one after the other | help: declare a layer that ends with an activation function, and make the list of it | help: or use a single layer: the data determine only the product of the weights"#;

    a_list_of_linear_layers_with_a_bottleneck: r#"model M(x: real[20]) -> y: real {
  layers = [Dense(3), Dense(20)]
  y ~ Normal(sum(fold(layers, x)), 1)
}"# => "";

    a_prior_whose_end_is_a_parameter: r#"model M(x: real) -> y: real {
  top ~ Gamma(4, 1)
  s ~ Uniform(0.1, top)
  y ~ Normal(x, s)
}"# => r#"E0280 3:7 an end of the prior of `s` is not a constant, so `s` can leave its prior | an end depends on parameters or data, or differs between elements | help: transform a parameter with constant ends: with `u ~ Uniform(0, 1)`, `a + u * (b - a)` lies between `a` and `b`"#;

    priors_whose_ends_differ: r#"model M(x: real) -> y: real {
  c: real[2] ~ Uniform([-1, 0], [1, 2])
  y ~ Normal(x, 1 + sum(c) ^ 2)
}"# => r#"E0280 2:16 an end of the prior of `c` is not a constant, so `c` can leave its prior | an end depends on parameters or data, or differs between elements | help: transform a parameter with constant ends: with `u ~ Uniform(0, 1)`, `a + u * (b - a)` lies between `a` and `b`"#;

    an_ordered_vector_in_an_interval: r#"model M(x: real) -> y: real {
  c: ordered(3) ~ Uniform(0, 1)
  y ~ Normal(x, 1 + sum(c) ^ 2)
}"# => r#"E0280 2:6 `c` is declared as ordered(3), but its prior has zero density below 0 and above 1 | includes values below 0 and above 1 | 2:19 zero density below 0 and above 1 | help: use a prior on all reals, such as `Normal(0, 1)`"#;

    weights_with_a_bounded_prior: r#"model M(x: real[d]) -> y: real {
  h = Dense(3, prior = Uniform(-1, 1))
  o = Dense(1)
  y ~ Normal(o(tanh(h(x)))[0], 1)
}"# => r#"E0280 2:24 the weights of `Dense` are real numbers, but this prior has zero density below -1 and above 1 | zero density below -1 and above 1 | help: use a prior on all reals, such as `Normal(0, 0.5)`"#;

    a_type_outside_its_prior: r#"model M(x: real) -> y: real {
  c: unit ~ Uniform(2, 3)
  y ~ Normal(x, c)
}"# => r#"E0214 2:6 `c` has no possible value: none is above 2 and below 1 | no possible value"#;

    a_prior_without_values: r#"model M(x: real) -> y: real {
  c ~ Uniform(1, -1)
  y ~ Normal(x, 1 + c ^ 2)
}"# => r#"E0214 2:7 `c` has no possible value: none is above 1 and below -1 | no possible value"#;

    a_type_that_ends_at_a_rounded_end: r#"model M(x: real) -> y: real {
  c: real(0.3, 0.9) ~ Uniform(0.1 + 0.2, 0.3 * 3)
  y ~ Normal(x, c)
}"# => "";

    a_prior_that_is_a_number: r#"model M(x: real[d]) -> y: real {
  out = Dense(1, prior = 2)
  y ~ Normal(out(x)[0], 1)
}"# => r#"E0211 2:26 `prior` needs a distribution on real, found int | this is int | help: `Dense` takes `out`, `prior`, in this order"#;

    a_layer_with_its_number_of_inputs: r#"model M(x: real[d]) -> y: real {
  out = Dense(d, 1)
  y ~ Normal(out(x)[0], 1)
}"# => r#"E0211 2:18 `prior` needs a distribution on real, found int | this is int | help: `Dense` takes `out`, `prior`, in this order"#;

    a_function_that_does_not_lift: r#"fn pair(x: real) -> real {
  return sum([x, 1])
}
fn f(x: real[3]) -> real[3] {
  return pair(x)
}"# => r#"E0219 5:15 `pair` needs a scalar, found real[3] | this is real[3] | 2:10 `pair` does not work elementwise on arrays because of `sum` | help: apply it to the elements: `[pair(x[i]) for i in 0..length(x)]`"#;

    a_part_that_a_distribution_lacks: r#"fn f(x: real) -> real {
  return Cauchy(x, 1).mean
}"# => r#"E0223 2:23 `Cauchy` has no part `mean`"#;

    one_mistake_said_once: r#"fn f(x: real) -> real {
  y = zz + 1
  z = y * 2
  return z @ x
}"# => r#"E0202 2:7 unknown name `zz` | not declared here"#;

    a_kernel_larger_than_the_image: r#"fn f(x: real[1, 4, 6], kernel: real[2, 1, 3, 7]) -> real[2, 2, 1] {
  return conv(x, kernel)
}"# => r#"E0227 2:18 the windows of `conv` have a side of 7, but the image has a side of 6 | this has a side of 7 | 2:15 this has a side of 6 | help: use windows of 1 to 6, or enlarge the image: `pad(.., width)`, or `padding = width` in `Conv`"#;

    a_kernel_for_other_channels: r#"fn f(x: real[3, 4, 4], kernel: real[2, 1, 3, 3]) -> real[2, 2, 2] {
  return conv(x, kernel)
}"# => r#"E0212 2:10 `conv` needs equal dims, found (3) and (1) | arrays are not broadcast | 2:15 this has dims (3) | 2:18 this has dims (1)"#;

    a_stride_of_zero: r#"fn f(x: real[1, 4, 4], kernel: real[2, 1, 3, 3]) -> real[2, 2, 2] {
  return conv(x, kernel, stride = 0)
}"# => r#"E0214 2:35 the stride must be one or more, but this is 0 | this is 0"#;

    groups_of_zero: r#"fn f(x: real[4, 4, 4], kernel: real[2, 2, 3, 3]) -> real[2, 2, 2] {
  return conv(x, kernel, groups = 0)
}"# => r#"E0214 2:35 the number of groups must be one or more, but this is 0 | this is 0"#;

    groups_that_do_not_divide_the_channels: r#"fn f(x: real[6, 4, 4], kernel: real[8, 1, 3, 3]) -> real[8, 2, 2] {
  return conv(x, kernel, groups = 4)
}"# => r#"E0230 2:35 4 groups of `conv` do not divide 6 channels | divided into 4 groups here | 2:15 this has 6 channels | help: use a number of groups that divides the channels of the image and of the result"#;

    groups_that_do_not_divide_the_kernels: r#"fn f(x: real[6, 4], kernel: real[5, 2, 3]) -> real[5, 2] {
  return conv(x, kernel, groups = 3)
}"# => r#"E0230 2:35 3 groups of `conv` do not divide 5 channels | divided into 3 groups here | 2:18 this has 5 channels | help: use a number of groups that divides the channels of the image and of the result"#;

    a_kernel_for_all_channels_of_groups: r#"fn f(x: real[6, 4, 4], kernel: real[8, 6, 3, 3]) -> real[8, 2, 2] {
  return conv(x, kernel, groups = 2)
}"# => r#"E0230 2:18 the kernel of `conv` has 6 input channels, but a group has 3 | the second dim is 6 | help: give the kernel the dims `[.., channels / groups, ..]`; its second dim is then 3"#;

    a_kernel_with_other_axes: r#"fn f(x: real[6, 4, 4, 4], kernel: real[8, 6, 3, 3]) -> real[8, 2, 2, 2] {
  return conv(x, kernel)
}"# => r#"E0211 2:18 expected an array with five axes, found real[8, 6, 3, 3] | this is real[8, 6, 3, 3]"#;

    an_image_without_axes: r#"fn f(x: real[6], kernel: real[8, 6]) -> real[8] {
  return conv(x, kernel)
}"# => r#"E0211 2:15 `conv` needs an array of channels with one, two or three more axes, found real[6] | this is real[6]"#;

    an_output_padding_of_a_stride: r#"fn f(x: real[2, 4], kernel: real[2, 3, 2]) -> real[3, 10] {
  return conv_transpose(x, kernel, stride = 2, output_padding = 2)
}"# => r#"E0214 2:65 the output padding must be less than the stride 2, but this is 2 | this is 2 | help: use 0 to 1, or a larger stride"#;

    a_padding_of_the_whole_result: r#"fn f(x: real[2, 1], kernel: real[2, 3, 2]) -> real[3, 1] {
  return conv_transpose(x, kernel, padding = 1)
}"# => r#"E0214 2:46 the padding removes all elements of an axis of 2 | removed at both ends | help: use a smaller padding: `2 * padding` must be less than 2"#;

    a_pool_of_nothing: r#"fn f(x: real[1, 4, 4]) -> real[1, 4, 4] {
  return max_pool(x, 0)
}"# => r#"E0214 2:22 the size of a window must be one or more, but this is 0 | this is 0"#;

    a_pool_wider_than_the_image: r#"fn f(x: real[1, 4, n]) -> real[1, 1, n - 4] {
  return mean_pool(x, 5, 1)
}"# => r#"E0227 2:23 the windows of `mean_pool` have a side of 5, but the image has a side of 4 | this has a side of 5 | 2:20 this has a side of 4 | help: use windows of 1 to 4, or enlarge the image: `pad(.., width)`, or `padding = width` in `Conv`"#;

    a_reshape_that_loses_elements: r#"fn f(x: real[n, 4]) -> real[n] {
  return reshape(x, n, 3)[0]
}"# => r#"E0228 2:10 `reshape` cannot change the number of elements, found dims (n, 4) and (n, 3) | 2:18 this has dims (n, 4)"#;

    a_repetition_of_unknown_length: r#"fn f(x: real[3], k: count) -> real[3, 2] {
  return repeat(x, k)
}"# => r#"E0221 2:20 a dimension must be known at compile time | not a compile-time constant | help: use a number, a `const`, the name of a dim, an integer parameter or a loop counter"#;
}
