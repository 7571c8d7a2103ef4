//! Builds the example calls of the conformance tests.

use crate::attr::Attr;
use crate::builder::Builder;
use crate::dist::{Instance, MeasureKind, Support};
use crate::function::Function;
use crate::op::{Example, Interval};
use crate::types::Type;
use bnnc_abi::ports::PortName;
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;
use std::f64::consts::TAU;
use std::sync::Arc;

/// The type of an operand, and the interval of its random elements.
pub type ExampleOperand = (Type, Interval);

/// Returns a real operand whose elements lie between `lo` and `hi`.
pub fn real(sizes: &[usize], lo: f64, hi: f64) -> ExampleOperand {
    (Type::real(Shape::fixed(sizes)), Interval::new(lo, hi))
}

/// Returns an integer operand whose elements are at least `lo` and less than `hi`.
pub fn int(sizes: &[usize], lo: i64, hi: i64) -> ExampleOperand {
    (
        Type::int(Shape::fixed(sizes)),
        Interval::new(lo as f64, hi as f64),
    )
}

/// Returns a Boolean operand.
pub fn truth(sizes: &[usize]) -> ExampleOperand {
    (
        Type::new(DType::Bool, Shape::fixed(sizes)),
        Interval::new(0.0, 2.0),
    )
}

/// Creates an example call.
pub fn call(operands: Vec<ExampleOperand>, attrs: Vec<Attr>) -> Example {
    Example {
        operands,
        attrs,
        diagonal: 0.0,
    }
}

/// Creates calls of an elementwise op with ranks 0 to 3. For each operand, `intervals` has the
/// interval from which its elements are drawn.
pub fn elementwise(intervals: &[(f64, f64)]) -> Vec<Example> {
    let of = |sizes: &[usize]| {
        call(
            intervals.iter().map(|(lo, hi)| real(sizes, *lo, *hi)).collect(),
            Vec::new(),
        )
    };
    vec![of(&[]), of(&[3]), of(&[2, 3]), of(&[2, 1, 3])]
}

/// Creates calls of an elementwise op with two real operands, and with two integer operands.
pub fn two_numbers() -> Vec<Example> {
    both(elementwise(&[(-3.0, 3.0), (-3.0, 3.0)]), elementwise_ints(2))
}

/// Creates calls of an elementwise op on integers.
pub fn elementwise_ints(count: usize) -> Vec<Example> {
    let of = |sizes: &[usize]| call(vec![int(sizes, -3, 4); count], Vec::new());
    vec![of(&[]), of(&[2, 3])]
}

/// Creates calls of an elementwise op on Booleans.
pub fn elementwise_truths(count: usize) -> Vec<Example> {
    let of = |sizes: &[usize]| call(vec![truth(sizes); count], Vec::new());
    vec![of(&[]), of(&[4]), of(&[2, 3])]
}

/// Joins two lists of calls.
pub fn both(mut first: Vec<Example>, second: Vec<Example>) -> Vec<Example> {
    first.extend(second);
    first
}

/// Creates a normal distribution of unit scale for the examples of `sample` and `observe`. The only
/// functions of the distribution are its log density and its sampler.
pub fn unit_normal(sizes: &[usize]) -> Arc<Instance> {
    let ty = Type::real(Shape::fixed(sizes));
    Arc::new(Instance {
        name: "UnitNormal".into(),
        measure: MeasureKind::Density,
        params: vec![(PortName::Location.into(), ty.clone())],
        supports: vec![Support::Real],
        value: ty.clone(),
        support: Support::Real,
        reach: Vec::new(),
        elementwise: true,
        log_density: Arc::new(unit_normal_log_density(&ty)),
        log_density_elements: None,
        draw: Some(Arc::new(unit_normal_draw(&ty))),
        wider_draw: None,
        mean: None,
        variance: None,
        entropy: None,
        moment: None,
        log_mean: None,
        log_variance: None,
        probabilities: None,
    })
}

/// Returns the log density of a normal distribution with standard deviation 1: the sum of
/// `-(x - location)^2 / 2 - log(2 pi) / 2`.
fn unit_normal_log_density(ty: &Type) -> Function {
    let mut b = Builder::new("log_density");
    let (location, x) = (
        b.param(PortName::Location.text(), ty.clone()),
        b.param("x", ty.clone()),
    );
    let residual = b.sub(x, location);
    let square = b.square(residual);
    let quadratic = b.scale(square, -0.5);
    let terms = b.shift(quadratic, -0.5 * TAU.ln());
    let sum = b.reduce_sum_all(terms);
    b.finish(vec![(PortName::LogDensity.into(), sum)])
}

fn unit_normal_draw(ty: &Type) -> Function {
    let mut b = Builder::new("draw");
    let location = b.param(PortName::Location.text(), ty.clone());
    let coordinates = PortName::COORDINATES.map(|port| b.param(port.text(), Type::int(Shape::scalar())));
    let noise = b.noise(NoiseKind::Normal, "x", coordinates, &ty.shape);
    let x = b.add(location, noise);
    b.finish(vec![("x".into(), x)])
}
