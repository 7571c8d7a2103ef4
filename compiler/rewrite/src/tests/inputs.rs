//! Deterministic numbers for tests, spread over intervals.

use bnnc_abi::ports::PortName;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Sizes;
use bnnc_graph::builder::Builder;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::{Example, Interval, OpDef};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;

/// A sequence of numbers in (0, 1) without short patterns. The numbers are computed from the Weyl
/// sequence of the golden ratio, shuffled by squaring.
pub struct Numbers(f64);

impl Numbers {
    pub fn new(seed: usize) -> Numbers {
        Numbers(seed as f64)
    }

    pub fn unit(&mut self) -> f64 {
        self.0 += 1.0;
        let x = (self.0 * 0.618_033_988_749_894_9).fract();
        (x * x * 7.31 + x * 3.77 + self.0 * 0.414_213_562).fract()
    }

    pub fn within(&mut self, interval: Interval, dtype: DType) -> f64 {
        let x = interval.lo + (interval.hi - interval.lo) * (0.01 + 0.98 * self.unit());
        if dtype == DType::Real { x } else { x.floor() }
    }

    pub fn tensor(&mut self, ty: &Type, interval: Interval) -> Tensor {
        let sizes = ty.shape.resolve(&Sizes::default());
        Tensor::from_fn(sizes, |_| self.within(interval, ty.dtype))
    }
}

/// Returns a call of `op` as a function of its operands.
pub fn function_of(op: &'static OpDef, example: &Example) -> Function {
    let mut builder = Builder::new(op.name);
    let operand = |(at, (ty, _)): (usize, &(Type, Interval))| builder.param(&format!("x{at}"), ty.clone());
    let args: Vec<Value> = example.operands.iter().enumerate().map(operand).collect();
    let value = builder.apply(op, &args, example.attrs.clone());
    builder.finish(vec![("value".into(), value)])
}

/// Returns the operands of an example call. Different seeds give different operands.
pub fn operands_of(example: &Example, seed: usize) -> Vec<Tensor> {
    let mut numbers = Numbers::new(seed);
    (0..example.operands.len())
        .map(|at| operand_of(example, at, &mut numbers))
        .collect()
}

/// Returns one operand of an example call.
pub fn operand_of(example: &Example, at: usize, numbers: &mut Numbers) -> Tensor {
    let (ty, interval) = &example.operands[at];
    let mut tensor = numbers.tensor(ty, *interval);
    if at == 0 && example.diagonal != 0.0 {
        let last = tensor.shape[tensor.shape.len() - 1];
        for (index, element) in tensor.data.iter_mut().enumerate() {
            let (row, column) = (index / last % last, index % last);
            *element += if row == column { example.diagonal } else { 0.0 };
        }
    }
    tensor
}

/// Returns `function` with an additional result, the scalar `loss`. The loss is a weighted sum of
/// the elements of the first result.
pub fn with_loss(function: &Function) -> Function {
    let mut builder = Builder::new("loss");
    let params = crate::nodes::params_of(&mut builder, function);
    let value = builder.inline(function, &params)[0];
    let ty = builder.ty(value).clone();
    let sizes = ty.shape.resolve(&Sizes::default());
    let weights = Numbers::new(11).tensor(&ty, Interval::new(0.2, 1.5));
    let weights = builder.literal(&sizes, &weights.data);
    let weighted = builder.mul(value, weights);
    let loss = builder.reduce_sum_all(weighted);
    builder.finish(vec![(PortName::Loss.into(), loss)])
}

/// Returns the names of the real parameters.
pub fn real_params(function: &Function) -> Vec<&str> {
    let real = function
        .params
        .iter()
        .filter(|param| function.ty(**param).dtype == DType::Real);
    real.map(|param| crate::nodes::param_name(function, *param))
        .collect()
}

pub fn evaluate(function: &Function, inputs: &[Tensor]) -> Vec<Tensor> {
    bnnc_graph::eval::evaluate(function, inputs, &Sizes::default())
}

/// Fails if a difference is above `tolerance` times 1 plus the absolute value of the element.
pub fn assert_close(got: &Tensor, want: &Tensor, tolerance: f64, context: &str) {
    assert_eq!(got.shape, want.shape, "{context}");
    for (at, (g, w)) in got.data.iter().zip(&want.data).enumerate() {
        let same = g == w || (g - w).abs() <= tolerance * (1.0 + w.abs()) || (g.is_nan() && w.is_nan());
        assert!(same, "{context}: element {at} is {g}, expected {w}");
    }
}

/// Returns central differences of the scalar function `f`, one for each element of the operand
/// `which`.
pub fn differences(mut f: impl FnMut(&[Tensor]) -> f64, operands: &[Tensor], which: usize) -> Tensor {
    let mut slopes = Tensor::zeros(operands[which].shape.clone());
    let mut moved = operands.to_vec();
    for at in 0..slopes.data.len() {
        let here = operands[which].data[at];
        let step = 1e-5 * (1.0 + here.abs());
        let mut at_offset = |offset: f64| {
            moved[which].data[at] = here + offset;
            f(&moved)
        };
        let coarse = (at_offset(step) - at_offset(-step)) / (2.0 * step);
        let fine = (at_offset(step / 2.0) - at_offset(-step / 2.0)) / step;
        moved[which].data[at] = here;
        slopes.data[at] = (4.0 * fine - coarse) / 3.0;
    }
    slopes
}
