//! Tests of means over draws. Memory must not depend on the number of draws, and functions of the
//! same noise must share a kernel.

mod executor;

use bnnc_abi::symbols::NoiseKind;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::types::Type;
use bnnc_loops::ir::{InstOp, LoopProgram, LoopSize};

const KL_DRAWS: Dim = Dim::Symbol(Symbol::KlDraws);
const DRAWS: Dim = Dim::Symbol(Symbol::Draws);

/// Compares a function with the reference on random inputs. Returns the program of the function.
fn check(function: &Function) -> LoopProgram {
    let sizes = Sizes::default().with(Symbol::Draws, 3).with(Symbol::KlDraws, 5);
    let input =
        |(at, param): (usize, &Value)| executor::numbers(function.ty(*param), (0.1, 0.9), at as u32, &sizes);
    let inputs: Vec<_> = function.params.iter().enumerate().map(input).collect();
    executor::check(function, &[], &sizes, &inputs, 1e-11)
}

/// Returns the buffers that have more than one element for every draw.
fn per_draw(program: &LoopProgram) -> Vec<String> {
    let is_draws = |dim: &Dim| *dim == KL_DRAWS || *dim == DRAWS;
    let buffers = program.plan.buffers.iter();
    let per_draw = buffers.filter(|buffer| {
        let dims = buffer.shape.dims();
        dims.iter().any(is_draws) && dims.iter().any(|dim| !is_draws(dim) && *dim != Dim::Fixed(1))
    });
    per_draw.map(|buffer| buffer.name.to_string()).collect()
}

/// Returns the number of kernels that generate noise.
fn noisy(program: &LoopProgram) -> usize {
    let is_noise = |op: &InstOp| matches!(op, InstOp::Noise(_));
    let kernels = program.kernels.iter();
    kernels
        .filter(|kernel| kernel.body.iter().any(|inst| is_noise(&inst.op)))
        .count()
}

/// Returns standard normal variates, one for every draw and element.
fn noise(b: &mut Builder, draws: Dim, shape: &Shape) -> Value {
    let zero = b.int(0);
    let zeros = b.broadcast_leading(zero, draws);
    let numbers = b.iota(draws);
    b.noise(NoiseKind::Normal, "w", [numbers, zeros, zeros], shape)
}

/// Returns the parameters of a location-scale family, broadcast over all draws.
fn parameters(b: &mut Builder, draws: Dim, shape: &Shape) -> [Value; 2] {
    ["loc", "scale"].map(|name| {
        let value = b.param(name, Type::real(shape.clone()));
        b.broadcast_leading(value, draws)
    })
}

#[test]
fn statistics_of_one_noise_share_one_kernel() {
    let shape = Shape::fixed(&[128, 100]);
    let mut b = Builder::new("statistics");
    let [loc, scale] = parameters(&mut b, KL_DRAWS, &shape);
    let xi = noise(&mut b, KL_DRAWS, &shape);
    let (square, magnitude) = (b.square(xi), b.abs(xi));
    let spread = b.mul(scale, xi);
    let sample = b.add(loc, spread);
    let sign = b.sign(sample);
    let log = b.log(magnitude);
    let log_square = b.square(log);
    let signed = b.mul(sign, xi);
    let sums = [xi, square, magnitude, sign, signed, log, log_square].map(|x| b.reduce_sum(x, &[0]));
    let results = sums
        .iter()
        .enumerate()
        .map(|(at, sum)| (format!("t{at}").into(), *sum));
    let program = check(&b.finish(results.collect()));
    assert_eq!(executor::counts(&program), (1, 0), "{program}");
    let kernel = &program.kernels[0];
    assert_eq!(
        kernel.dims,
        [LoopSize::Fixed(12_800), LoopSize::Slot(0)],
        "elements are divided among threads, and draws innermost\n{program}"
    );
    let bnnc_abi::plan::PlanStep::Launch(launch) = &program.plan.steps[0] else {
        panic!("{program}")
    };
    assert!(launch.reduces.iter().all(|reduce| !reduce.partial), "{program}");
}

/// Returns `log (p N(w; 0, 1) + (1 - p) N(w; 0, s))` up to a constant, and the derivative of this
/// value with respect to `w`, summed over draws.
fn mixture(b: &mut Builder, w: Value) -> [Value; 2] {
    let square = b.square(w);
    let halves = [-0.5, -5.0].map(|factor| b.scale(square, factor));
    let densities = halves.map(|half| b.exp(half));
    let density = b.add(densities[0], densities[1]);
    let log = b.log(density);
    let slopes = [0, 1].map(|at| {
        let scaled = b.scale(densities[at], [-1.0, -10.0][at]);
        b.mul(scaled, w)
    });
    let slope = b.add(slopes[0], slopes[1]);
    [log, b.div(slope, density)]
}

#[test]
fn functions_of_noise_are_recomputed_rather_than_stored() {
    let shape = Shape::fixed(&[30, 7]);
    let mut b = Builder::new("direct");
    let [loc, scale] = parameters(&mut b, KL_DRAWS, &shape);
    let xi = noise(&mut b, KL_DRAWS, &shape);
    let spread = b.mul(scale, xi);
    let w = b.add(loc, spread);
    let [log, slope] = mixture(&mut b, w);
    let total = b.reduce_sum_all(log);
    // The second kernel can start only after the first has ended, so it computes the whole chain of
    // tensors again.
    let wide = b.broadcast_to(total, &b.shape(slope));
    let weighted = b.mul(slope, wide);
    let by_loc = b.reduce_sum(weighted, &[0]);
    let along = b.mul(weighted, xi);
    let by_scale = b.reduce_sum(along, &[0]);
    let results = vec![
        ("total".into(), total),
        ("loc'".into(), by_loc),
        ("scale'".into(), by_scale),
    ];
    let program = check(&b.finish(results));
    assert!(
        per_draw(&program).is_empty(),
        "{:?}\n{program}",
        per_draw(&program)
    );
    assert_eq!(noisy(&program), 2, "{program}");
}

/// A radial draw first needs the norm of all its noise. Only the norm is stored for every draw.
#[test]
fn a_norm_is_stored_as_one_number_per_draw() {
    let shape = Shape::fixed(&[40, 5]);
    let mut b = Builder::new("radial");
    let [loc, scale] = parameters(&mut b, KL_DRAWS, &shape);
    let xi = noise(&mut b, KL_DRAWS, &shape);
    let square = b.square(xi);
    let norm = b.reduce_sum(square, &[1, 2]);
    let norm = b.sqrt(norm);
    let wide = b.broadcast(norm, &b.shape(xi), &[0]);
    let direction = b.div(xi, wide);
    let spread = b.mul(scale, direction);
    let w = b.add(loc, spread);
    let [log, slope] = mixture(&mut b, w);
    let total = b.reduce_sum_all(log);
    let along = b.mul(slope, direction);
    let (by_loc, by_scale) = (b.reduce_sum(slope, &[0]), b.reduce_sum(along, &[0]));
    let results = vec![
        ("total".into(), total),
        ("loc'".into(), by_loc),
        ("scale'".into(), by_scale),
    ];
    let program = check(&b.finish(results));
    assert!(
        per_draw(&program).is_empty(),
        "{:?}\n{program}",
        per_draw(&program)
    );
    assert_eq!(noisy(&program), 2, "{program}");
}

/// Draws of weights are stored, because they are operands of matrix products. If only the mean of a
/// value is needed, the value is not stored.
#[test]
fn draws_of_weights_are_stored_but_their_densities_are_not() {
    let shape = Shape::fixed(&[6, 9]);
    let mut b = Builder::new("weights");
    let x = b.param(
        "x",
        Type::real(Shape(vec![Dim::Symbol(Symbol::Batch), Dim::Fixed(9)])),
    );
    let [loc, scale] = parameters(&mut b, DRAWS, &shape);
    let xi = noise(&mut b, DRAWS, &shape);
    let spread = b.mul(scale, xi);
    let w = b.add(loc, spread);
    let [log, slope] = mixture(&mut b, w);
    let total = b.reduce_sum_all(log);
    let wide = b.broadcast_to(total, &b.shape(slope));
    let weighted = b.mul(slope, wide);
    let by_loc = b.reduce_sum(weighted, &[0]);
    let y = b.contract(x, w, "bi,soi->sbo");
    let y = b.reduce_sum_all(y);
    let results = vec![("total".into(), total), ("loc'".into(), by_loc), ("y".into(), y)];
    let program = check(&b.finish(results));
    // The stored tensors are the weights and their product with the inputs.
    assert!(
        per_draw(&program).len() <= 2,
        "{:?}\n{program}",
        per_draw(&program)
    );
}

/// In a family over vectors, the parameters lie along one axis, even if the site has several axes.
#[test]
fn merged_axes_are_not_stored() {
    let (shape, vector) = (Shape::fixed(&[40, 1, 5]), Shape::fixed(&[200]));
    let mut b = Builder::new("vector");
    let [loc, scale] = parameters(&mut b, KL_DRAWS, &shape);
    let xi = noise(&mut b, KL_DRAWS, &vector);
    let split = b.reshape(xi, &shape.prepend(KL_DRAWS));
    let spread = b.mul(scale, split);
    let w = b.add(loc, spread);
    let [log, slope] = mixture(&mut b, w);
    let total = b.reduce_sum_all(log);
    let flat = b.reshape(slope, &vector.prepend(KL_DRAWS));
    let along = b.mul(flat, xi);
    let by_scale = b.reduce_sum(along, &[0]);
    let results = vec![("total".into(), total), ("scale'".into(), by_scale)];
    let program = check(&b.finish(results));
    assert!(
        per_draw(&program).is_empty(),
        "{:?}\n{program}",
        per_draw(&program)
    );
}
