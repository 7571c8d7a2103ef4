//! Checks that every op in the registry behaves as its record states.
#![allow(clippy::unwrap_used)]

use bnnc_base::dtype::DType;
use bnnc_base::shape::{Dim, Sizes, Symbol};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Builder;
use bnnc_graph::eval::evaluate;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::{Batch, Example, Interval, Lower, NO_RULE, OpCall, OpDef, Vjp};
use bnnc_graph::ops;
use bnnc_graph::parse::parse_with;
use bnnc_graph::spec::PROBABILISTIC;
use bnnc_graph::tensor::Tensor;
use bnnc_graph::types::Type;
use bnnc_graph::verify::verify;
use bnnc_math::philox;

/// Calls `check` with every example of every op.
fn each_example(check: impl Fn(&'static OpDef, &Example, &str)) {
    for op in ops::ALL {
        for (at, example) in (op.examples)().iter().enumerate() {
            check(op, example, &format!("`{}`, example {at}", op.name));
        }
    }
}

/// Returns operands for an example. Different values of `draw` give different operands.
fn operands(example: &Example, draw: u32) -> Vec<Tensor> {
    let one = |(at, (ty, interval)): (usize, &(Type, Interval))| {
        let key = philox::key(1, &format!("operand {at}"));
        let mut element = 0;
        Tensor::from_fn(ty.shape.static_sizes().expect("examples are static"), |index| {
            let u = philox::uniform(key, [draw, 0, 0], element);
            element += 1;
            let x = interval.lo + (interval.hi - interval.lo) * u;
            let x = if ty.dtype == DType::Real { x } else { x.floor() };
            let rank = index.len();
            let on_diagonal = at == 0 && rank >= 2 && index[rank - 1] == index[rank - 2];
            if on_diagonal { x + example.diagonal } else { x }
        })
    };
    example.operands.iter().enumerate().map(one).collect()
}

fn references(tensors: &[Tensor]) -> Vec<&Tensor> {
    tensors.iter().collect()
}

fn result_type(op: &OpDef, example: &Example) -> Type {
    let types: Vec<&Type> = example.operands.iter().map(|(ty, _)| ty).collect();
    op.check_call(&types, &example.attrs)
        .unwrap_or_else(|why| panic!("`{}`: {why}", op.name))
}

fn params(builder: &mut Builder, types: &[Type]) -> Vec<Value> {
    types
        .iter()
        .enumerate()
        .map(|(at, ty)| builder.param(&format!("x{at}"), ty.clone()))
        .collect()
}

fn operand_types(example: &Example) -> Vec<Type> {
    example.operands.iter().map(|(ty, _)| ty.clone()).collect()
}

fn one_result(builder: Builder, result: Value) -> Function {
    let function = builder.finish(vec![("y".into(), result)]);
    assert_eq!(verify(&function, PROBABILISTIC), Ok(()));
    function
}

fn assert_close(got: &Tensor, want: &Tensor, tolerance: f64, context: &str) {
    assert_eq!(got.shape, want.shape, "{context}");
    for (a, b) in got.data.iter().zip(&want.data) {
        let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * (1.0 + b.abs());
        assert!(same, "{context}: {a} is not {b}\n{:?}\n{:?}", got.data, want.data);
    }
}

#[test]
fn ops_are_sorted_and_documented() {
    assert!(ops::ALL.is_sorted_by(|a, b| a.name < b.name));
    for op in ops::ALL {
        assert!(
            op.doc.ends_with('.') && op.doc.len() > 6,
            "`{}` lacks a sentence",
            op.name
        );
        assert!(!(op.examples)().is_empty(), "`{}` lacks examples", op.name);
        let is_left_out = matches!(op.vjp, Vjp::None(NO_RULE));
        assert!(!is_left_out, "`{}` lacks a derivative", op.name);
        assert_eq!(ops::lookup(op.name).unwrap().name, op.name);
    }
    assert!(ops::lookup("no_such_op").is_none());
}

#[test]
fn every_file_of_the_folder_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ops");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    let mut names: Vec<String> = files
        .map(|name| name.to_string_lossy().replace(".rs", ""))
        .collect();
    names.retain(|name| name != "mod");
    names.sort();
    let listed: Vec<&str> = ops::ALL.iter().map(|op| op.name).collect();
    assert_eq!(names, listed);
}

#[test]
fn types_agree_with_evaluation() {
    each_example(|op, example, context| {
        let inputs = operands(example, 0);
        let result = op.evaluate(&references(&inputs), &example.attrs);
        assert_eq!(
            Some(result.shape),
            result_type(op, example).shape.static_sizes(),
            "{context}"
        );
    });
}

#[test]
fn extra_operands_are_rejected_in_sentences() {
    each_example(|op, example, context| {
        let mut types = operand_types(example);
        types.push(Type::real(bnnc_base::shape::Shape::fixed(&[7, 7, 7, 7])));
        let rejected = op.check_call(&types.iter().collect::<Vec<_>>(), &example.attrs);
        let why = rejected.expect_err(context).to_string();
        assert!(
            why.starts_with("expected") && why.contains("found"),
            "{context}: {why}"
        );
    });
}

#[test]
fn text_round_trips() {
    each_example(|op, example, context| {
        let mut builder = Builder::new("call");
        let args = params(&mut builder, &operand_types(example));
        let result = builder.apply(op, &args, example.attrs.clone());
        builder.label(result, "a label");
        let function = one_result(builder, result);
        let text = function.to_string();
        let table = |name: &str| {
            example.attrs.iter().find_map(|attr| match attr {
                Attr::Dist(dist) if &*dist.name == name => Some(dist.clone()),
                _ => None,
            })
        };
        let read = parse_with(&text, &table).unwrap_or_else(|why| panic!("{context}: {why}\n{text}"));
        assert_eq!(read.to_string(), text, "{context}");
        assert_eq!(read, function, "{context}");
    });
}

/// Returns a derivative of a weighted sum of the result with respect to one element of one operand.
/// The derivative is computed by central differences.
fn numeric_derivative(
    op: &OpDef,
    example: &Example,
    inputs: &[Tensor],
    at: (usize, usize),
    weights: &Tensor,
) -> f64 {
    let step = 1e-5;
    let value = |offset: f64| {
        let mut moved = inputs.to_vec();
        moved[at.0].data[at.1] += offset;
        let result = op.evaluate(&references(&moved), &example.attrs);
        result
            .data
            .iter()
            .zip(&weights.data)
            .map(|(y, w)| y * w)
            .sum::<f64>()
    };
    // A Richardson extrapolation of two central differences has an error of order `step^4`.
    let central = |h: f64| (value(h) - value(-h)) / (2.0 * h);
    (4.0 * central(step) - central(2.0 * step)) / 3.0
}

#[test]
fn derivatives_match_finite_differences() {
    each_example(|op, example, context| {
        let Vjp::Rule(rule) = op.vjp else { return };
        let ty = result_type(op, example);
        if ty.dtype != DType::Real {
            return;
        }
        let mut builder = Builder::new("vjp");
        let args = params(&mut builder, &operand_types(example));
        let weights_param = builder.param("weights", ty.clone());
        let out = builder.apply(op, &args, example.attrs.clone());
        let site = OpCall {
            args: &args,
            attrs: &example.attrs,
            out: Some(out),
        };
        let cotangents = rule(&mut builder, &site, weights_param);
        assert_eq!(cotangents.len(), args.len(), "{context}");
        let present: Vec<usize> = (0..args.len()).filter(|at| cotangents[*at].is_some()).collect();
        for (at, ty) in operand_types(example).iter().enumerate() {
            assert_eq!(
                cotangents[at].is_some(),
                ty.dtype == DType::Real,
                "{context}, operand {at}"
            );
        }
        let results = present
            .iter()
            .filter_map(|at| Some((format!("d{at}").into(), cotangents[*at]?)))
            .collect();
        let function = builder.finish(results);
        verify(&function, PROBABILISTIC).unwrap();
        let mut inputs = operands(example, 0);
        let weights =
            (0..ty.shape.count(&Sizes::default())).map(|i| 0.3 + philox::uniform(9, [0; 3], i as u64));
        let weights = Tensor::new(ty.shape.static_sizes().unwrap(), weights.collect());
        inputs.push(weights.clone());
        let gradients = evaluate(&function, &inputs, &Sizes::default());
        inputs.pop();
        for (at, gradient) in present.into_iter().zip(&gradients) {
            let numeric = (0..inputs[at].data.len())
                .map(|element| numeric_derivative(op, example, &inputs, (at, element), &weights));
            let numeric = Tensor::new(inputs[at].shape.clone(), numeric.collect());
            assert_close(gradient, &numeric, 2e-8, &format!("{context}, operand {at}"));
        }
    });
}

/// Applies the batching rule of `op` to operands. Some of the operands have a new first axis.
fn mapped_call(
    builder: &mut Builder,
    op: &'static OpDef,
    site: &OpCall,
    mapped: &[bool],
    dim: Dim,
) -> Option<Value> {
    match op.batch {
        Batch::Elementwise => {
            let args = site.args.iter().zip(mapped);
            let args: Vec<Value> = args
                .map(|(arg, flag)| {
                    if *flag {
                        *arg
                    } else {
                        builder.broadcast_leading(*arg, dim)
                    }
                })
                .collect();
            Some(builder.apply(op, &args, site.attrs.to_vec()))
        }
        Batch::Rule(rule) => Some(rule(builder, site, mapped, dim)),
        Batch::Expand => None,
    }
}

/// The number of slices along a mapped axis.
const COUNT: usize = 3;

/// Returns the result of the batching rule for a call; `None` if the op does not have a batching
/// rule.
fn batched(op: &'static OpDef, example: &Example, mapped: &[bool], dim: Dim) -> Option<Function> {
    let types = operand_types(example).into_iter().zip(mapped);
    let types = types.map(|(ty, flag)| {
        if *flag {
            ty.with_shape(ty.shape.prepend(dim))
        } else {
            ty
        }
    });
    let mut builder = Builder::new("batch");
    let args = params(&mut builder, &types.collect::<Vec<_>>());
    let site = OpCall {
        args: &args,
        attrs: &example.attrs,
        out: None,
    };
    let result = mapped_call(&mut builder, op, &site, mapped, dim)?;
    assert_eq!(
        builder.ty(result).shape,
        result_type(op, example).shape.prepend(dim),
        "`{}`",
        op.name
    );
    Some(one_result(builder, result))
}

fn check_batch(op: &'static OpDef, example: &Example, mapped: &[bool], dim: Dim, context: &str) {
    let Some(function) = batched(op, example, mapped, dim) else {
        return;
    };
    let draws: Vec<Vec<Tensor>> = (0..COUNT).map(|draw| operands(example, draw as u32)).collect();
    let rows = (0..COUNT).map(|draw| {
        let pick = |at: usize| &draws[if mapped[at] { draw } else { 0 }][at];
        op.evaluate(&(0..mapped.len()).map(pick).collect::<Vec<_>>(), &example.attrs)
    });
    let rows: Vec<Tensor> = rows.collect();
    let want = Tensor::stack(&rows[0].shape, &rows);
    let inputs = (0..mapped.len()).map(|at| {
        let rows: Vec<Tensor> = draws.iter().map(|draw| draw[at].clone()).collect();
        if mapped[at] {
            Tensor::stack(&rows[0].shape, &rows)
        } else {
            rows[0].clone()
        }
    });
    let sizes = Sizes::default().with(Symbol::Draws, COUNT);
    let got = evaluate(&function, &inputs.collect::<Vec<_>>(), &sizes);
    assert_close(
        &got[0],
        &want,
        1e-13,
        &format!("{context}, mapped {mapped:?} along {dim}"),
    );
}

#[test]
fn batch_rules_match_loops() {
    each_example(|op, example, context| {
        let count = example.operands.len();
        for subset in 1..1u32 << count {
            let mapped: Vec<bool> = (0..count).map(|at| subset >> at & 1 == 1).collect();
            for dim in [Dim::Fixed(COUNT), Dim::Symbol(Symbol::Draws)] {
                check_batch(op, example, &mapped, dim, context);
            }
        }
    });
}

#[test]
fn expansions_agree_with_evaluation() {
    each_example(|op, example, context| {
        let Lower::Expand(expand) = op.lower else { return };
        let mut builder = Builder::new("expansion");
        let args = params(&mut builder, &operand_types(example));
        let site = OpCall {
            args: &args,
            attrs: &example.attrs,
            out: None,
        };
        let result = expand(&mut builder, &site);
        assert_eq!(*builder.ty(result), result_type(op, example), "{context}");
        let function = one_result(builder, result);
        let inputs = operands(example, 0);
        let got = evaluate(&function, &inputs, &Sizes::default());
        assert_close(
            &got[0],
            &op.evaluate(&references(&inputs), &example.attrs),
            1e-13,
            context,
        );
    });
}

#[test]
fn ranges_enclose_evaluation() {
    each_example(|op, example, context| {
        if example.diagonal != 0.0 {
            return;
        }
        for draw in 0..5 {
            let inputs = operands(example, draw);
            let result = op.evaluate(&references(&inputs), &example.attrs);
            let bounds: Vec<_> = example.operands.iter().map(|(_, interval)| *interval).collect();
            let range = (op.range)(&bounds, &example.attrs);
            assert!(range.lo <= range.hi, "{context}: {range:?}");
            let slack = |x: f64| 1e-12 * (1.0 + x.abs());
            for x in result.data {
                let inside = range.contains(x) || (range.lo - slack(x) <= x && x <= range.hi + slack(x));
                assert!(inside, "{context}: {x} outside {range:?}");
            }
        }
    });
}

/// Tests elementwise ops on wide intervals. The ends of the intervals are zero, infinity, and
/// numbers outside the domain of the op.
#[test]
fn ranges_of_scalars_enclose_wide_intervals() {
    let infinity = f64::INFINITY;
    let ends = [
        (-infinity, infinity),
        (0.0, infinity),
        (-infinity, 0.0),
        (-1.5, 2.0),
        (0.0, 0.0),
        (0.25, 3.0),
        (1.0, 1.0),
    ];
    let intervals = ends.map(|(lo, hi)| Interval::new(lo, hi));
    let points = |interval: Interval| {
        let inside = [-40.0, -2.5, -1.0, -0.3, 0.0, 0.1, 0.7, 1.0, 1.46, 2.0, 2.9, 30.0];
        let ends = [interval.lo, interval.hi];
        inside
            .into_iter()
            .chain(ends)
            .filter(move |x| interval.contains(*x))
            .collect::<Vec<f64>>()
    };
    for op in ops::ALL {
        let Lower::Scalar(scalar) = op.lower else { continue };
        for first in intervals {
            for second in intervals {
                let bounds = [first, second, Interval::new(-1.0, 1.0)];
                let range = (op.range)(&bounds[..scalar.arity()], &[]);
                for x in points(first) {
                    for y in points(second) {
                        let value = scalar.eval(&[x, y, 0.5]);
                        let slack = f64::MIN_POSITIVE + 1e-12 * value.abs().min(1e300);
                        let inside =
                            range.contains(value) || (range.lo - slack <= value && value <= range.hi + slack);
                        assert!(
                            value.is_nan() || inside,
                            "`{}` of {x}, {y} is {value}, outside {range:?}",
                            op.name
                        );
                    }
                }
            }
        }
    }
}
