//! Tests the kernels of training steps, of draws and of updates.

use crate::{BATCH, DRAWS, batched, check, executor, gradients, real, relu};
use bnnc_abi::plan::PlanStep;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use bnnc_loops::ir::LoopProgram;
use std::sync::Arc;

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

/// A layer of ten units with twenty inputs, and its activation.
fn dense_layer() -> Function {
    let mut b = Builder::new("dense");
    let (x, w, bias) = (
        b.param("x", batched(&[20])),
        b.param("w", real(&[10, 20])),
        b.param("b", real(&[10])),
    );
    let sum = dense(&mut b, x, w, bias);
    let y = relu(&mut b, sum);
    b.finish(vec![("y".into(), y)])
}

#[test]
fn a_dense_layer_is_one_product_and_one_kernel() {
    let program = check(&dense_layer(), &[]);
    assert_eq!(executor::counts(&program), (1, 1), "{program}");
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
fn costs_agree_with_the_formulas() {
    let program = executor::lowered(&dense_layer(), &[]);
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
