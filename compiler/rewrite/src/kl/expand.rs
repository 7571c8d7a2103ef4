//! Evaluates samplers and densities on separated forms.

use super::algebra::{Algebra, SeparatedForm};
use crate::nodes;
use bnnc_graph::attr::Attr;
use bnnc_graph::function::{Function, Value};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;

/// An op that is applied to separated forms.
struct Call<'a> {
    op: &'static OpDef,
    args: &'a [SeparatedForm],
    attrs: &'a [Attr],
    /// The node of the operation's result.
    value: Value,
}

type Expansion = fn(&mut Algebra<'_>, &Call<'_>) -> SeparatedForm;

/// The rules of the ops that keep a form separated. The result of any other op becomes an atom.
static EXPANSIONS: &[(&OpDef, Expansion)] = &[
    (&ops::abs::ABS, |a, call| a.abs(call.value, &call.args[0])),
    (&ops::add::ADD, |a, call| {
        a.add(call.value, &call.args[0], &call.args[1])
    }),
    (&ops::broadcast::BROADCAST, moved),
    (&ops::contract::CONTRACT, dot),
    (&ops::div::DIV, |a, call| {
        let reciprocal = a.power_of(call.args[1].value, -1.0);
        let reciprocal = a.pow(reciprocal, &call.args[1], -1.0);
        a.mul(call.value, &call.args[0], &reciprocal)
    }),
    (&ops::exp::EXP, |a, call| a.exp(call.value, &call.args[0])),
    (&ops::log::LOG, |a, call| a.log(call.value, &call.args[0])),
    (&ops::max::MAX, |a, call| {
        let condition = a.builder.lt(call.args[0].value, call.args[1].value);
        a.select(call.value, condition, &call.args[1], &call.args[0])
    }),
    (&ops::min::MIN, |a, call| {
        let condition = a.builder.lt(call.args[0].value, call.args[1].value);
        a.select(call.value, condition, &call.args[0], &call.args[1])
    }),
    (&ops::mul::MUL, |a, call| {
        a.mul(call.value, &call.args[0], &call.args[1])
    }),
    (&ops::neg::NEG, |a, call| a.neg(call.value, &call.args[0])),
    (&ops::pow::POW, |a, call| {
        match nodes::constant_of(a.builder, call.args[1].value) {
            Some(exponent) => a.pow(call.value, &call.args[0], exponent),
            None => a.whole(call.value),
        }
    }),
    (&ops::reduce_sum::REDUCE_SUM, total),
    (&ops::reshape::RESHAPE, moved),
    (&ops::select::SELECT, |a, call| {
        a.select(call.value, call.args[0].value, &call.args[1], &call.args[2])
    }),
    (&ops::sign::SIGN, |a, call| match a.moves(call.args[0].value) {
        true => a.sign(call.args[0].value),
        false => a.whole(call.value),
    }),
    (&ops::slice::SLICE, moved),
    (&ops::sqrt::SQRT, |a, call| a.pow(call.value, &call.args[0], 0.5)),
    (&ops::sub::SUB, |a, call| {
        let minus = a.builder.neg(call.args[1].value);
        let minus = a.neg(minus, &call.args[1]);
        a.add(call.value, &call.args[0], &minus)
    }),
    (&ops::transpose::TRANSPOSE, moved),
];

fn moved(algebra: &mut Algebra<'_>, call: &Call<'_>) -> SeparatedForm {
    algebra.moved(call.value, &call.args[0], call.op, call.attrs)
}

/// Returns the sum over all axes. A sum over only some of the axes becomes an atom.
fn total(algebra: &mut Algebra<'_>, call: &Call<'_>) -> SeparatedForm {
    if algebra.builder.rank(call.value) > 0 {
        return algebra.whole(call.value);
    }
    algebra.total(call.value, &call.args[0])
}

/// Returns the sum of the products of elements at equal positions. Any other contraction becomes an atom.
fn dot(algebra: &mut Algebra<'_>, call: &Call<'_>) -> SeparatedForm {
    let [x, y] = call.args else {
        return algebra.whole(call.value);
    };
    let labels: &str = ops::contract::labels(call.attrs);
    let is_dot = labels
        .strip_suffix("->")
        .and_then(|operands| operands.split_once(','))
        .is_some_and(|(left, right)| left == right);
    if !is_dot || x.summed || y.summed {
        return algebra.whole(call.value);
    }
    let product = algebra.builder.mul(x.value, y.value);
    let product = algebra.mul(product, x, y);
    algebra.total(call.value, &product)
}

/// Returns the results of `function` as forms.
pub fn interpret(
    algebra: &mut Algebra<'_>,
    function: &Function,
    args: &[SeparatedForm],
) -> Vec<SeparatedForm> {
    let forms = function.map_nodes(args.iter().cloned(), |call, forms| {
        let args = forms.of(call.args);
        let values: Vec<Value> = args.iter().map(|arg| arg.value).collect();
        let value = algebra.builder.apply(call.op.0, &values, call.attrs.to_vec());
        let expansion = EXPANSIONS.iter().find(|(known, _)| call.op.is(known));
        match expansion {
            Some((_, expand)) if algebra.varies(value) => expand(
                algebra,
                &Call {
                    op: call.op.0,
                    args: &args,
                    attrs: call.attrs,
                    value,
                },
            ),
            _ => algebra.whole(value),
        }
    });
    function
        .results
        .iter()
        .map(|(_, value)| forms[*value].clone())
        .collect()
}
