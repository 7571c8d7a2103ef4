//! Tests that all affine and piecewise affine functions are recognised, and that other
//! functions are not.

use crate::diagnostics::NoExactIntegral;
use crate::methods::collapse::pieces::{KinkedFunction, pieces};
use crate::pass::PassContext;
use crate::tests::inputs::evaluate;
use bnnc_abi::ports::PortName;
use bnnc_base::shape::Shape;
use bnnc_graph::builder::{Builder, Window};
use bnnc_graph::function::{Function, Value};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;

/// Returns a function of `w` with four elements and `x` with two elements.
fn function(body: impl Fn(&mut Builder, Value, Value) -> Value) -> Function {
    let mut builder = Builder::new("f");
    let w = builder.param("w", Type::real(Shape::fixed(&[4])));
    let x = builder.param("x", Type::real(Shape::fixed(&[2])));
    let value = body(&mut builder, w, x);
    builder.finish(vec![(PortName::Outputs.into(), value)])
}

fn found(body: impl Fn(&mut Builder, Value, Value) -> Value) -> Result<KinkedFunction, NoExactIntegral> {
    match pieces(&function(body), &["w".to_owned()], &mut PassContext::default()) {
        Ok(found) => found,
        Err(fault) => panic!("{fault:?}"),
    }
}

fn part(b: &mut Builder, value: Value, from: usize) -> Value {
    b.slice(value, Window::full(1).with(0, from, from + 2))
}

fn relu(b: &mut Builder, value: Value) -> Value {
    let zero = b.zeros_like(value);
    b.max(value, zero)
}

#[test]
fn affine_functions_have_no_kinks() {
    let found = found(|b, w, x| {
        let (first, second) = (part(b, w, 0), part(b, w, 2));
        let bent = b.tanh(x);
        let product = b.mul(first, bent);
        let sum = b.add(product, second);
        b.scale(sum, 3.0)
    });
    assert_eq!(found.map(|found| (found.kinks, found.direct)), Ok((0, 0)));
}

#[test]
fn kinks_are_differences_of_compared_values() {
    let found = found(|b, w, x| {
        let (first, second) = (part(b, w, 0), part(b, w, 2));
        let product = b.mul(first, x);
        let sum = b.add(product, second);
        relu(b, sum)
    })
    .unwrap_or_else(|reason| panic!("{reason}"));
    assert_eq!((found.kinks, found.direct), (2, 2));
    let w = Tensor::new(vec![4], vec![0.5, -2.0, 0.25, 1.0]);
    let x = Tensor::new(vec![2], vec![3.0, 2.0]);
    let all = &evaluate(&found.all, &[w, x])[0];
    assert_eq!(all.data[..2], [1.75, 0.0]);
    // The sign of a kink depends on the order of the two compared values, so only absolute values
    // are tested.
    let kinks: Vec<f64> = all.data[2..].iter().map(|kink| kink.abs()).collect();
    assert_eq!(kinks, [1.75, 3.0]);
}

#[test]
fn absolute_values_and_extremes_have_kinks() {
    let bent = found(|b, w, _| b.abs(w));
    assert_eq!(bent.map(|found| (found.kinks, found.direct)), Ok((4, 4)));
    let smaller = found(|b, w, _| {
        let (first, second) = (part(b, w, 0), part(b, w, 2));
        b.min(first, second)
    });
    assert_eq!(smaller.map(|found| (found.kinks, found.direct)), Ok((2, 2)));
}

#[test]
fn kinks_of_kinks_are_found() {
    let deep = found(|b, w, x| {
        let (first, second) = (part(b, w, 0), part(b, w, 2));
        let product = b.mul(first, x);
        let unit = relu(b, product);
        let shifted = b.add(unit, second);
        relu(b, shifted)
    });
    assert_eq!(deep.map(|found| (found.kinks, found.direct)), Ok((4, 2)));
}

#[test]
fn curved_and_jumping_functions_are_rejected() {
    let reason = |body: fn(&mut Builder, Value, Value) -> Value| {
        found(body)
            .err()
            .map_or_else(String::new, |reason| reason.to_string())
    };
    assert_eq!(reason(|b, w, _| b.tanh(w)), "the weights pass through `tanh`");
    let jumps = |name: &str| format!("the weights pass through `{name}`, where outputs may jump");
    assert_eq!(reason(|b, w, _| b.floor(w)), jumps("floor"));
    assert_eq!(reason(|b, w, _| b.sign(w)), jumps("sign"));
    assert_eq!(reason(|b, w, _| b.stop_gradient(w)), jumps("stop_gradient"));
    assert_eq!(
        reason(|b, w, x| {
            let (first, second) = (part(b, w, 0), part(b, w, 2));
            let is_less = b.lt(first, x);
            b.select(is_less, second, first)
        }),
        "the weights pass through a comparison, where outputs may jump"
    );
    let multiplied = "the weights multiply or divide each other";
    assert_eq!(
        reason(|b, w, _| {
            let (first, second) = (part(b, w, 0), part(b, w, 2));
            b.mul(first, second)
        }),
        multiplied
    );
    // This kink is not affine in the parameters.
    assert_eq!(
        reason(|b, w, x| {
            let (first, second) = (part(b, w, 0), part(b, w, 2));
            let square = b.square(first);
            let larger = b.max(square, x);
            b.add(larger, second)
        }),
        multiplied
    );
}
