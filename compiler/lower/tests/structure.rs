//! Tests the kernels that fusion builds from typical training programs.

mod executor;

use bnnc_abi::plan::PlanStep;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::function::{Function, NodeKind, Value};
use bnnc_graph::op::{OpCall, Vjp};
use bnnc_graph::types::Type;
use bnnc_loops::ir::LoopProgram;
use std::collections::HashMap;
use std::sync::Arc;

const BATCH: Dim = Dim::Symbol(Symbol::Batch);
const DRAWS: Dim = Dim::Symbol(Symbol::Draws);

fn real(sizes: &[usize]) -> Type {
    Type::real(Shape::fixed(sizes))
}

fn batched(sizes: &[usize]) -> Type {
    let shape = Shape::fixed(sizes);
    Type::real(shape.prepend(BATCH))
}

/// Compares a function with the reference on random inputs. Returns the program of the function.
fn check(function: &Function, states: &[&str]) -> LoopProgram {
    let sizes = Sizes::default().with(Symbol::Batch, 3).with(Symbol::Draws, 2);
    let input = |(at, param): (usize, &Value)| {
        let ty = function.ty(*param);
        executor::numbers(ty, (0.1, 0.9), at as u32, &sizes)
    };
    let inputs: Vec<_> = function.params.iter().enumerate().map(input).collect();
    executor::check(function, states, &sizes, &inputs, 1e-11)
}

/// Returns the cotangents of the values in `wanted`, computed by the reverse rules of the ops.
fn gradients(b: &mut Builder, loss: Value, wanted: &[Value]) -> Vec<Value> {
    let nodes: Vec<_> = b
        .function()
        .nodes
        .ids()
        .map(|id| (id, b.node(id).kind.clone()))
        .collect();
    let mut cotangents: HashMap<Value, Value> = HashMap::new();
    let one = b.real(1.0);
    cotangents.insert(loss, one);
    for (id, kind) in nodes.into_iter().rev() {
        let (NodeKind::Apply { op, args, attrs }, Some(dy)) = (kind, cotangents.get(&id).copied()) else {
            continue;
        };
        let Vjp::Rule(rule) = &op.vjp else { continue };
        let site = OpCall {
            args: &args,
            attrs: &attrs,
            out: Some(id),
        };
        let parts = rule(b, &site, dy);
        for (arg, part) in args.iter().zip(parts) {
            let Some(part) = part else { continue };
            let sum = cotangents
                .get(arg)
                .copied()
                .map_or(part, |known| b.add(known, part));
            cotangents.insert(*arg, sum);
        }
    }
    wanted.iter().map(|value| cotangents[value]).collect()
}

/// A dense layer. Both the weights and `x` may have a leading axis of draws.
fn dense(b: &mut Builder, x: Value, w: Value, bias: Value) -> Value {
    let labels = match (b.rank(x), b.rank(w)) {
        (2, 2) => "bi,oi->bo",
        (2, _) => "bi,soi->sbo",
        _ => "sbi,soi->sbo",
    };
    let product = b.contract(x, w, labels);
    let shape = b.shape(product);
    let bias = b.broadcast(bias, &shape, if shape.rank() == 2 { &[1] } else { &[0, 2] });
    b.add(product, bias)
}

fn relu(b: &mut Builder, x: Value) -> Value {
    let zero = b.like(0.0, x);
    b.max(x, zero)
}

/// Returns the draw `mu + softplus(rho) eps`, with an axis of draws if needed. Also returns the KL
/// divergence of the distribution of this draw from a standard normal.
fn sampled(
    b: &mut Builder,
    name: &str,
    [mu, rho]: [Value; 2],
    step: Value,
    draws: Option<Dim>,
) -> (Value, Value) {
    let shape = b.shape(mu);
    let zero = b.int(0);
    let mut coordinates = [zero, zero, step];
    if let Some(dim) = draws {
        coordinates = coordinates.map(|x| b.broadcast_leading(x, dim));
        coordinates[0] = b.iota(dim);
    }
    let noise = b.noise(NoiseKind::Normal, name, coordinates, &shape);
    let scale = b.softplus(rho);
    let wide = |b: &mut Builder, x: Value| draws.map_or(x, |dim| b.broadcast_leading(x, dim));
    let (wide_mu, wide_scale) = (wide(b, mu), wide(b, scale));
    let spread = b.mul(wide_scale, noise);
    let sample = b.add(wide_mu, spread);
    let (squared_mu, variance) = (b.square(mu), b.square(scale));
    let log = b.log(scale);
    let twice = b.scale(log, 2.0);
    let sum = b.add(squared_mu, variance);
    let terms = b.sub(sum, twice);
    let total = b.reduce_sum_all(terms);
    (sample, b.scale(total, 0.5))
}

/// Returns Adam's next value, first moment and second moment.
fn adam(b: &mut Builder, [x, m, v]: [Value; 3], gradient: Value, [rate, step]: [Value; 2]) -> [Value; 3] {
    let shape = b.shape(x);
    let decayed = |b: &mut Builder, old: Value, new: Value, decay: f64| {
        let (old, new) = (b.scale(old, decay), b.scale(new, 1.0 - decay));
        b.add(old, new)
    };
    let m = decayed(b, m, gradient, 0.9);
    let square = b.square(gradient);
    let v = decayed(b, v, square, 0.999);
    let corrected = |b: &mut Builder, moment: Value, decay: f64| {
        let time = b.to_real(step);
        let decay = b.real(decay);
        let power = b.pow(decay, time);
        let one = b.real(1.0);
        let rest = b.sub(one, power);
        let rest = b.broadcast(rest, &shape, &[]);
        b.div(moment, rest)
    };
    let (mean, variance) = (corrected(b, m, 0.9), corrected(b, v, 0.999));
    let root = b.sqrt(variance);
    let root = b.shift(root, 1e-8);
    let direction = b.div(mean, root);
    let rate = b.broadcast(rate, &shape, &[]);
    let move_by = b.mul(rate, direction);
    [b.sub(x, move_by), m, v]
}

#[test]
fn a_dense_layer_is_one_product_and_one_kernel() {
    let mut b = Builder::new("dense");
    let (x, w, bias) = (
        b.param("x", batched(&[20])),
        b.param("w", real(&[10, 20])),
        b.param("b", real(&[10])),
    );
    let sum = dense(&mut b, x, w, bias);
    let y = relu(&mut b, sum);
    let program = check(&b.finish(vec![("y".into(), y)]), &[]);
    assert_eq!(executor::counts(&program), (1, 1), "{program}");
}

/// A convolution of images with padding, and its derivatives.
fn convolution(size: usize, stride: usize, padding: usize) -> Function {
    let mut b = Builder::new("convolution");
    let (x, w) = (
        b.param("x", batched(&[3, 8, 7])),
        b.param("w", real(&[5, 3, size, size])),
    );
    let around = [0, 0, padding, padding];
    let padded = b.pad(x, &around, &around, &[0; 4]);
    let windows = b.patches(padded, &[size, size], &[stride, stride]);
    let product = b.contract(w, windows, "ocab,ncabpq->nopq");
    let y = relu(&mut b, product);
    let loss = b.contract(y, y, "nopq,nopq->");
    let results = gradients(&mut b, loss, &[x, w]);
    b.finish(vec![
        ("y".into(), y),
        ("dx".into(), results[0]),
        ("dw".into(), results[1]),
    ])
}

/// Returns the calls of a program by name, in order.
fn calls(program: &LoopProgram) -> Vec<&'static str> {
    let name = |step: &PlanStep| match step {
        PlanStep::Call(call) => Some(call.primitive.name),
        _ => None,
    };
    program.plan.steps.iter().filter_map(name).collect()
}

/// Returns the largest rank of a buffer.
fn largest_rank(program: &LoopProgram) -> usize {
    program
        .plan
        .buffers
        .iter()
        .map(|buffer| buffer.shape.rank())
        .max()
        .unwrap_or(0)
}

#[test]
fn a_convolution_is_one_product_that_reads_windows_in_place() {
    let mut b = Builder::new("convolution");
    let (x, w) = (
        b.param("x", batched(&[3, 8, 7])),
        b.param("w", real(&[5, 3, 3, 2])),
    );
    let windows = b.patches(x, &[3, 2], &[1, 1]);
    let product = b.contract(w, windows, "ocab,ncabpq->nopq");
    let y = relu(&mut b, product);
    let program = check(&b.finish(vec![("y".into(), y)]), &[]);
    assert_eq!(executor::counts(&program), (1, 1), "{program}");
    assert_eq!(calls(&program), ["contraction"], "{program}");
}

/// Without a product that reads windows, the windows of all images are copied once, and a matrix product with the kernel follows.
#[test]
fn backends_without_views_get_copies_of_windows() {
    for (size, stride, padding) in [(3, 1, 1), (3, 2, 0)] {
        let program = executor::without_views(&convolution(size, stride, padding));
        assert_eq!(calls(&program), ["matmul"; 3], "{program}");
        assert_eq!(largest_rank(&program), 6, "{program}");
    }
}

#[test]
fn derivatives_of_convolutions_with_stride_one_have_no_windows_in_memory() {
    for (size, padding) in [(3, 1), (3, 0), (2, 1), (1, 0)] {
        let program = check(&convolution(size, 1, padding), &[]);
        assert_eq!(calls(&program), ["contraction"; 3], "{program}");
        // Images and kernels have four axes, and windows have six.
        assert_eq!(largest_rank(&program), 4, "{program}");
    }
}

/// Reversing the kernel would multiply the number of operations if the kernel is about as large as the image.
#[test]
fn derivatives_of_large_kernels_and_strides_are_sums_of_windows() {
    for (size, stride, padding) in [(6, 1, 0), (3, 2, 1), (2, 3, 1)] {
        let program = check(&convolution(size, stride, padding), &[]);
        assert_eq!(calls(&program).len(), 3, "{program}");
        assert_eq!(largest_rank(&program), 6, "{program}");
    }
}

#[test]
fn a_sample_of_weights_is_one_kernel_over_one_axis() {
    let mut b = Builder::new("sample");
    let (mu, rho, step) = (
        b.param("mu", real(&[10, 20])),
        b.param("rho", real(&[10, 20])),
        b.param("step", Type::int(Shape::scalar())),
    );
    let (w, kl) = sampled(&mut b, "w", [mu, rho], step, None);
    let program = check(&b.finish(vec![("w".into(), w), ("kl".into(), kl)]), &[]);
    let (launches, calls) = executor::counts(&program);
    assert!(launches <= 2 && calls == 0, "{program}");
    assert_eq!(program.kernels[0].dims.len(), 1, "{program}");
    assert_eq!(program.kernels[0].outputs.len(), 2, "{program}");
}

#[test]
fn an_update_of_one_tensor_is_one_kernel() {
    let mut b = Builder::new("adam");
    let names = ["mu", "m", "v", "gradient"];
    let [x, m, v, gradient] = names.map(|name| b.param(name, real(&[10, 20])));
    let rate = b.param("rate", Type::scalar());
    let step = b.param("step", Type::int(Shape::scalar()));
    let [x, m, v] = adam(&mut b, [x, m, v], gradient, [rate, step]);
    let results = vec![("mu".into(), x), ("m".into(), m), ("v".into(), v)];
    let program = check(&b.finish(results), &["mu", "m", "v"]);
    // One kernel with a single point computes the powers of the decays.
    assert_eq!(executor::counts(&program), (2, 0), "{program}");
    let update = program.kernels.iter().find(|kernel| kernel.outputs.len() == 3);
    assert!(
        update.is_some_and(|kernel| kernel.dims.len() == 1 && kernel.slots.len() <= 8),
        "{program}"
    );
}

#[test]
fn softmax_cross_entropy_with_gradient_is_few_kernels() {
    let mut b = Builder::new("cross_entropy");
    let logits = b.param("logits", batched(&[10]));
    let labels = b.param("labels", Type::int(Shape(vec![BATCH])));
    let log_probabilities = b.log_softmax(logits, 1);
    let wanted = b.one_hot(labels, Dim::Fixed(10));
    let loss = b.contract(wanted, log_probabilities, "bc,bc->");
    let gradient = gradients(&mut b, loss, &[logits])[0];
    let program = check(
        &b.finish(vec![("loss".into(), loss), ("gradient".into(), gradient)]),
        &[],
    );
    let (launches, calls) = executor::counts(&program);
    assert!(launches <= 5 && calls == 0, "{launches} launches\n{program}");
}

#[test]
fn old_values_are_read_before_they_are_overwritten() {
    let mut b = Builder::new("swap");
    let [x, y] = ["x", "y"].map(|name| b.param(name, real(&[4, 4])));
    let flipped = b.transpose(y, &[1, 0]);
    let sum = b.add(x, flipped);
    let product = b.contract(x, y, "ij,jk->ik");
    let total = b.reduce_sum_all(x);
    let results = vec![
        ("x".into(), sum),
        ("y".into(), x),
        ("product".into(), product),
        ("total".into(), total),
    ];
    check(&b.finish(results), &["x", "y"]);

    let mut b = Builder::new("in_place");
    let [x, y] = ["x", "y"].map(|name| b.param(name, real(&[4, 4])));
    let (next_x, next_y) = (b.add(x, y), b.mul(x, y));
    let program = check(
        &b.finish(vec![("x".into(), next_x), ("y".into(), next_y)]),
        &["x", "y"],
    );
    assert_eq!(
        executor::counts(&program),
        (1, 0),
        "each reads what the other overwrites\n{program}"
    );

    let mut b = Builder::new("transposed_state");
    let x = b.param("x", real(&[4, 4]));
    let flipped = b.transpose(x, &[1, 0]);
    check(&b.finish(vec![("x".into(), flipped)]), &["x"]);
}

#[test]
fn results_that_are_parameters_or_each_other_are_copied() {
    let mut b = Builder::new("copies");
    let x = b.param("x", batched(&[3]));
    let y = b.exp(x);
    let results = vec![("a".into(), x), ("b".into(), y), ("c".into(), y), ("d".into(), x)];
    let program = check(&b.finish(results), &[]);
    assert_eq!(executor::counts(&program), (1, 0), "{program}");
}

/// Returns one step of Bayes by backprop with Adam, for a network with these layer sizes.
fn training_step(sizes: &[usize], draws: Option<Dim>) -> (Function, Vec<String>) {
    let mut b = Builder::new("train");
    let x = b.param("x", batched(&[sizes[0]]));
    let labels = b.param("y", Type::int(Shape(vec![BATCH])));
    let step = b.param("step", Type::int(Shape::scalar()));
    let [rate, scale] = ["rate", "scale"].map(|name| b.param(name, Type::scalar()));
    let (mut states, mut losses, mut h) = (Vec::new(), Vec::new(), x);
    for (layer, pair) in sizes.windows(2).enumerate() {
        let mut draw = |b: &mut Builder, name: &str, shape: &[usize]| {
            let mut state = |kind: &str| {
                let name = format!("l{layer}.{name}/{kind}");
                let value = b.param(&name, real(shape));
                states.push((name, value));
                value
            };
            let params = [state("mu"), state("rho")];
            let (sample, kl) = sampled(b, &format!("l{layer}.{name}"), params, step, draws);
            losses.push(kl);
            sample
        };
        let w = draw(&mut b, "w", &[pair[1], pair[0]]);
        let bias = draw(&mut b, "b", &[pair[1]]);
        h = dense(&mut b, h, w, bias);
        if layer + 2 < sizes.len() {
            h = relu(&mut b, h);
        }
    }
    let log_probabilities = b.log_softmax(h, if draws.is_some() { 2 } else { 1 });
    let wanted = b.one_hot(labels, Dim::Fixed(sizes[sizes.len() - 1]));
    let fit = b.contract(
        wanted,
        log_probabilities,
        if draws.is_some() { "bc,sbc->" } else { "bc,bc->" },
    );
    let fit = b.mul(scale, fit);
    let misfit = b.neg(fit);
    let loss = losses.into_iter().fold(misfit, |sum, kl| b.add(sum, kl));
    let values: Vec<Value> = states.iter().map(|(_, value)| *value).collect();
    let gradients = gradients(&mut b, loss, &values);
    let mut results: Vec<(Arc<str>, Value)> = vec![("loss".into(), loss)];
    let mut names = Vec::new();
    for ((name, value), gradient) in states.iter().zip(gradients) {
        let ty = b.ty(*value).clone();
        let moments = ["m", "v"].map(|kind| {
            (
                format!("{name}/{kind}"),
                b.param(&format!("{name}/{kind}"), ty.clone()),
            )
        });
        let next = adam(
            &mut b,
            [*value, moments[0].1, moments[1].1],
            gradient,
            [rate, step],
        );
        let all = [name.clone(), moments[0].0.clone(), moments[1].0.clone()];
        for (name, next) in all.into_iter().zip(next) {
            results.push((name.as_str().into(), next));
            names.push(name);
        }
    }
    (b.finish(results), names)
}

fn check_training(draws: Option<Dim>, most: (usize, usize)) -> LoopProgram {
    let (function, names) = training_step(&[13, 17, 19, 10], draws);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let program = check(&function, &names);
    let (launches, calls) = executor::counts(&program);
    assert!(
        launches <= most.0 && calls <= most.1,
        "{launches} launches, {calls} calls\n{program}"
    );
    program
}

/// Returns the number of launches that use a buffer with this name.
fn touching(program: &LoopProgram, name: &str) -> usize {
    let touches = |step: &&PlanStep| match step {
        PlanStep::Launch(launch) => launch
            .buffers
            .iter()
            .any(|id| &*program.plan.buffers[*id].name == name),
        PlanStep::Call(_) | PlanStep::Repeat { .. } => false,
    };
    program.plan.steps.iter().filter(touches).count()
}

#[test]
fn a_training_step_has_few_kernels() {
    let program = check_training(None, (22, 8));
    assert_eq!(
        touching(&program, "l0.w/rho"),
        2,
        "one kernel samples, one updates\n{program}"
    );
    // A single draw does not have an extra cost, because its axis has size 1.
    let program = check_training(Some(Dim::Fixed(1)), (22, 8));
    assert_eq!(touching(&program, "l0.w/rho"), 2, "{program}");
}

#[test]
fn a_training_step_over_draws_has_few_kernels() {
    let program = check_training(Some(DRAWS), (36, 8));
    assert!(touching(&program, "l0.w/rho") <= 3, "{program}");
}

#[test]
fn the_carry_of_a_recurrence_is_updated_after_it_is_read() {
    let mut b = Builder::new("cell");
    let carry = b.param("carry", batched(&[4]));
    let x = b.param("x", batched(&[3]));
    let (w, u) = (b.param("w", real(&[40, 4])), b.param("u", real(&[40, 3])));
    let (from_carry, from_x) = (b.contract(carry, w, "bi,oi->bo"), b.contract(x, u, "bi,oi->bo"));
    let sum = b.add(from_carry, from_x);
    let wide = b.tanh(sum);
    let next = b.contract(wide, w, "bo,oi->bi");
    let next = b.scale(next, 0.1);
    let cell = Arc::new(b.finish(vec![("next".into(), next)]));

    let mut b = Builder::new("recurrent");
    let init = b.param("init", batched(&[4]));
    let xs = b.param("xs", Type::real(Shape(vec![Dim::Fixed(5), BATCH, Dim::Fixed(3)])));
    let (w, u) = (b.param("w", real(&[40, 4])), b.param("u", real(&[40, 3])));
    let (start, rows) = (b.exp(init), b.tanh(xs));
    let carries = b.apply(
        &bnnc_graph::ops::scan::SCAN,
        &[start, rows, w, u],
        vec![Attr::Function(cell), Attr::Int(1)],
    );
    let squares = b.square(carries);
    let total = b.reduce_sum_all(squares);
    let program = check(
        &b.finish(vec![("carries".into(), carries), ("total".into(), total)]),
        &[],
    );
    let bodies: Vec<usize> = program
        .plan
        .steps
        .iter()
        .filter_map(|step| match step {
            PlanStep::Repeat { body, .. } => Some(body.len()),
            PlanStep::Launch(_) | PlanStep::Call(_) => None,
        })
        .collect();
    // The body consists of six steps: a copy of the row, three products, the activation, and the
    // next carry. The last step also stores the carry in its row of the result.
    assert_eq!(bodies, [6], "{program}");
}

#[test]
fn costs_agree_with_the_formulas() {
    let mut b = Builder::new("dense");
    let (x, w, bias) = (
        b.param("x", batched(&[20])),
        b.param("w", real(&[10, 20])),
        b.param("b", real(&[10])),
    );
    let sum = dense(&mut b, x, w, bias);
    let y = relu(&mut b, sum);
    let program = executor::lowered(&b.finish(vec![("y".into(), y)]), &[]);
    let sizes = Sizes::default().with(Symbol::Batch, 7);
    let estimate = bnnc_lower::cost::estimate(&program);
    let cost = estimate.at(&sizes);
    // The product needs 2 m n k operations. In addition, each element needs a sum and a maximum.
    assert_eq!(cost.flops, 2 * 7 * 20 * 10 + 2 * 7 * 10);
    // The product reads x and w, and writes its result. The kernel reads the result of the product
    // and the bias, and writes y.
    assert_eq!(
        cost.bytes,
        8 * (7 * 20 + 10 * 20 + 7 * 10) + 8 * (7 * 10 + 10 + 7 * 10)
    );
    // Everything except the bias and the weights has an axis of rows.
    let twice = estimate.at(&sizes.with(Symbol::Batch, 14));
    assert_eq!(twice.flops, 2 * cost.flops);
    assert_eq!(twice.bytes, 2 * cost.bytes - 8 * (10 * 20 + 10));
}

#[test]
fn long_chains_of_tensors_are_cut() {
    let mut b = Builder::new("chain");
    let x = b.param("x", real(&[4]));
    let y = (0..3000).fold(x, |y, _| {
        let shifted = b.shift(y, 0.5);
        b.tanh(shifted)
    });
    let program = check(&b.finish(vec![("y".into(), y)]), &[]);
    assert!(executor::counts(&program).0 <= 25, "{program}");
}

/// Every update needs the sum over all parameters. If one kernel contained all updates, the time that Cranelift takes would be
/// quadratic in their number.
#[test]
fn updates_of_many_numbers_are_several_kernels() {
    let mut b = Builder::new("updates");
    let names: Vec<String> = (0..1000).map(|at| format!("x{at}")).collect();
    let params: Vec<Value> = names.iter().map(|name| b.param(name, real(&[]))).collect();
    let sum = params[1..].iter().fold(params[0], |sum, x| b.add(sum, *x));
    let results = names.iter().zip(&params).map(|(name, x)| {
        let step = b.mul(*x, sum);
        (name.as_str().into(), b.add(*x, step))
    });
    let results = results.collect();
    let states: Vec<&str> = names.iter().map(String::as_str).collect();
    let program = check(&b.finish(results), &states);
    let outputs = program.kernels.iter().map(|kernel| kernel.outputs.len());
    assert!(outputs.max() <= Some(256), "{:?}", executor::counts(&program));
    assert!(
        executor::counts(&program).0 <= 25,
        "{:?}",
        executor::counts(&program)
    );
}

/// A window that starts at the first element maps every axis to itself, but has fewer points than
/// its operand. A sum over the window must not include the other points. For example, if a `concat`
/// extends a vector, the gradient of the vector is such a sum.
#[test]
fn sums_of_windows_do_not_include_points_outside() {
    let mut b = Builder::new("windows");
    let x = b.param("x", Type::real(Shape::fixed(&[4]).prepend(DRAWS)));
    let window = b.slice(x, Window::full(2).with(1, 0, 3));
    let sum = b.reduce_sum(window, &[0]);
    let function = b.finish(vec![("sum".into(), sum)]);
    check(&function, &[]);
}
