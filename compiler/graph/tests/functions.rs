//! Tests of whole functions: their text form, checks, symbolic sizes and analyses.
#![allow(clippy::unwrap_used)]

use bnnc_base::fault::Fault;
use bnnc_base::shape::{Dim, Shape, Sizes, Symbol};
use bnnc_graph::analysis::dataflow::{dependents, reachable, users};
use bnnc_graph::analysis::dot::dot;
use bnnc_graph::analysis::ranges::ranges;
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::Interval;
use bnnc_graph::parse::parse;
use bnnc_graph::spec::{DENSITY, LOWERED, PROBABILISTIC};
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_graph::verify::verify;

const MEAN_SQUARE: &str = r#"fn mean_square(%0 x: real[batch, 2], %3 "odd name": real[]) -> (loss: %6, rows: %2) {
  %1 = mul %0, %0 : real[batch, 2]
  %2 = reduce_sum %1, axes = [1] : real[batch] @ "net.rows"
  %4 = reduce_sum %2, axes = [0] : real[]
  %5 = constant shape = [], dtype = real, value = 0.5 : real[]
  %6 = mul %4, %3 : real[]
}"#;

fn read(text: &str) -> Function {
    parse(text).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn text_with_late_parameters_round_trips() {
    let function = read(MEAN_SQUARE);
    assert_eq!(function.to_string(), MEAN_SQUARE);
    verify(&function, LOWERED).unwrap();
    assert_eq!(read(&format!("# a comment\n{MEAN_SQUARE}")), function);
}

#[test]
fn symbolic_sizes_are_set_at_evaluation() {
    let function = read(MEAN_SQUARE);
    let x = Tensor::new(vec![3, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let results = evaluate(
        &function,
        &[x, Tensor::scalar(2.0)],
        &Sizes::default().with(Symbol::Batch, 3),
    );
    assert_eq!(results[0].data, [182.0]);
    assert_eq!(results[1].data, [5.0, 25.0, 61.0]);
}

fn rejection(text: &str) -> String {
    parse(text).expect_err("it is wrong").to_string()
}

#[test]
fn wrong_text_is_rejected_with_its_line() {
    let with = |line: &str| format!("fn f(%0 x: real[4]) -> (y: %1) {{\n  {line}\n}}");
    assert_eq!(
        rejection(&with("%1 = sofplus %0 : real[4]")),
        "line 2: expected an op (`softplus` is one), found `sofplus`"
    );
    assert!(rejection(&with("%1 = exp %0 : real[3]")).contains("expected the type real[4] for %1"));
    assert!(rejection(&with("%1 = exp %1 : real[4]")).contains("expected an operand before %1"));
    assert!(rejection(&with("%2 = exp %0 : real[4]")).contains("expected `%1`"));
    assert!(rejection(&with("%1 = add %0 : real[4]")).contains("expected 2 operands, found 1"));
    assert!(rejection(&with("%1 = reduce_sum %0, axis = [0] : real[]")).contains("expected `axes`"));
    assert!(rejection(&with("")).contains("expected a node %1"));
    assert!(rejection("fn f(%2 x: real[]) -> () {\n}").contains("expected nodes up to parameter %2"));
    let site = "fn f() -> (y: %0) {\n  %0 = sample dist = \"Nobody\", site = \"w\" : real[]\n}";
    assert!(rejection(site).contains("expected a distribution that is defined here"));
}

#[test]
fn wrong_shapes_are_rejected_in_sentences() {
    let mut b = Builder::new("f");
    let column = b.param("column", Type::real(Shape::fixed(&[4, 1])));
    let row = b.param("row", Type::real(Shape::fixed(&[4])));
    let rejected = |b: &mut Builder, op, args: &[Value], attrs| {
        b.try_apply(op, args, attrs).expect_err("it is wrong").to_string()
    };
    let why = rejected(&mut b, &bnnc_graph::ops::add::ADD, &[row, column], Vec::new());
    assert_eq!(why, "expected operands of equal shape, found [4] and [4, 1]");
    let labels = vec![bnnc_graph::attr::Attr::name("ij,kj->ik")];
    let why = rejected(
        &mut b,
        &bnnc_graph::ops::contract::CONTRACT,
        &[row, column],
        labels,
    );
    assert_eq!(why, "expected one letter of `ij,kj->ik` for each axis of real[4]");
    let symbolic = b.param(
        "rows",
        Type::real(Shape(vec![Dim::Symbol(Symbol::Batch), Dim::Fixed(3)])),
    );
    let flat = vec![bnnc_graph::attr::Attr::Shape(Shape(vec![
        Dim::Fixed(3),
        Dim::Symbol(Symbol::Batch),
    ]))];
    let why = rejected(&mut b, &bnnc_graph::ops::reshape::RESHAPE, &[symbolic], flat);
    assert_eq!(
        why,
        "expected a shape with the elements of real[batch, 3], found [3, batch]"
    );
}

#[test]
fn the_verifier_names_the_node() {
    let mut function = read(MEAN_SQUARE);
    function.nodes[Value(4)].ty = Type::real(Shape::fixed(&[1]));
    let fault = verify(&function, PROBABILISTIC).expect_err("the type is wrong");
    let Fault::Bug(text) = fault else {
        panic!("a wrong type is a bug")
    };
    assert!(text.contains("%4: expected type real[], found real[1]"), "{text}");
}

#[test]
fn stages_reject_ops_that_they_do_not_admit() {
    let examples = (bnnc_graph::ops::sample::SAMPLE.examples)();
    let mut b = Builder::new("model");
    let location = b.param("location", examples[0].operands[0].0.clone());
    let w = b.apply(
        &bnnc_graph::ops::sample::SAMPLE,
        &[location],
        examples[0].attrs.clone(),
    );
    let model = b.finish(vec![("w".into(), w)]);
    assert!(verify(&model, PROBABILISTIC).is_ok());
    assert!(verify(&model, DENSITY).is_err());
    let softmax = read("fn f(%0 x: real[4]) -> (y: %1) {\n  %1 = softmax %0, axis = 0 : real[4]\n}");
    assert!(verify(&softmax, DENSITY).is_ok());
    assert!(verify(&softmax, LOWERED).is_err());
}

#[test]
fn users_and_dependences_are_found() {
    let function = read(MEAN_SQUARE);
    let of = |ids: &[u32]| ids.iter().map(|id| Value(*id)).collect::<Vec<_>>();
    assert_eq!(users(&function)[0], of(&[1]));
    assert!(!reachable(&function).contains(&Value(5)));
    assert_eq!(reachable(&function).len(), 6);
    assert_eq!(
        dependents(&function, &of(&[3])),
        of(&[3, 6]).into_iter().collect()
    );
    let drawing = dot(&function);
    assert!(
        drawing.starts_with("digraph") && drawing.contains("net.rows"),
        "{drawing}"
    );
}

#[test]
fn bounds_propagate_through_a_function() {
    let function = read(
        "fn f(%0 x: real[4]) -> (y: %3) {\n  %1 = exp %0 : real[4]\n  %2 = reduce_sum %1, axes = [0] : real[]\n  \
         %3 = log %2 : real[]\n}",
    );
    let bounds = ranges(&function, &[Interval::new(0.0, 1.0)]);
    assert_eq!(bounds[2], Interval::new(1.0, f64::INFINITY));
    assert_eq!(bounds[3], Interval::new(0.0, f64::INFINITY));
}

/// The range analysis proves that a scale is positive if it is computed by positive functions.
#[test]
fn positive_transforms_are_above_zero() {
    let function = read(
        "fn f(%0 x: real[]) -> (y: %6) {\n  %1 = exp %0 : real[]\n  %2 = softplus %0 : real[]\n  %3 = mul %1, %2 : real[]\n  \
         %4 = sigmoid %0 : real[]\n  %5 = div %3, %4 : real[]\n  %6 = sqrt %5 : real[]\n}",
    );
    let bounds = ranges(&function, &[Interval::REALS]);
    assert!(
        bounds[1..].iter().all(|range| range.is_above_zero()),
        "{bounds:?}"
    );
    assert!(bounds[4].hi < 1.0);
}
