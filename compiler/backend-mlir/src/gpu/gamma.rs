//! Gamma variates and their derivative as device functions. The loops in these functions have a
//! number of iterations that depends on the data. The functions compute in 64 bits for both
//! precisions.

use crate::approximation::{Approximation, inline, with_number};
use crate::scalar::resized;
use crate::text::{Text, Type, Value, commas};
use bnnc_abi::symbols::NoiseKind;
use bnnc_base::dtype::Precision;
use bnnc_math::approx::recorded;
use bnnc_math::gamma::ATTEMPTS;
use bnnc_math::scalar::Scalar;

const WIDE: Type = Type::Real(Precision::F64);

fn end(text: &mut Text, value: Value, smallest: Option<f64>, to: Type) {
    let mut value = resized(text, value, to);
    if let Some(smallest) = smallest {
        let smallest = text.literal(to, smallest);
        let below = text.compare("olt", value, smallest);
        value = text.select(below, smallest, value);
    }
    text.line(format_args!("llvm.return {value} : {to}"));
    text.close("}");
}

/// Emits `while condition(state) { state = body(state) }`.
fn repeat_while(
    text: &mut Text,
    state: &[Value],
    condition: &dyn Fn(&mut Text, &[Value]) -> Value,
    body: &dyn Fn(&mut Text, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let types: Vec<Type> = state.iter().map(|value| value.ty).collect();
    let (results, name) = text.several(&types);
    let [before, after]: [Vec<Value>; 2] = [(); 2].map(|()| types.iter().map(|ty| text.fresh(*ty)).collect());
    let types = commas(&types);
    let pairs = before.iter().zip(state);
    let pairs = commas(pairs.map(|(inside, outside)| format!("{inside} = {outside}")));
    text.open(format_args!(
        "{name} = scf.while ({pairs}) : ({types}) -> ({types}) {{"
    ));
    let more = condition(text, &before);
    text.line(format_args!(
        "scf.condition({more}) {} : {types}",
        commas(&before)
    ));
    text.close("} do {");
    let arguments = after.iter().map(|value| format!("{value}: {}", value.ty));
    text.open(format_args!("^bb0({}):", commas(arguments)));
    let next = body(text, &after);
    text.line(format_args!("scf.yield {} : {types}", commas(&next)));
    text.close("}");
    results
}

/// Writes the function of [`Approximation::Noise`] for gamma noise. The parameters are the two halves of the key, the element, the draw,
/// the example, the step, and the shape.
pub(crate) fn variate(text: &mut Text, precision: Precision) {
    let real = Type::Real(precision);
    let types = [Type::Int; 6].into_iter().chain([real]);
    let name = Approximation::Noise(NoiseKind::Gamma).symbol(precision);
    let inputs = text.open_inlined(&name, types, real);
    let shape = resized(text, inputs[6], WIDE);
    let [low, high] = [inputs[0], inputs[1]].map(|half| text.convert("arith.extui", half, Type::Long));
    let high = with_number(text, "arith.shli", high, 32);
    let key = text.alike("arith.ori", &[high, low]);
    let fallback = inline(text, &recorded::gamma_fallback(), &[shape]);
    let state = [text.long(0), text.literal(Type::Truth, 1.0), fallback];
    let results = repeat_while(
        text,
        &state,
        &|text, state| {
            let limit = text.long(ATTEMPTS as i64);
            let left = text.compare("slt", state[0], limit);
            text.alike("arith.andi", &[left, state[1]])
        },
        &|text, state| {
            let key = attempt_key(text, key, state[0]);
            let low = text.convert("arith.trunci", key, Type::Int);
            let high = with_number(text, "arith.shrui", key, 32);
            let high = text.convert("arith.trunci", high, Type::Int);
            let operands = [[low, high].as_slice(), &inputs[2..6], &[shape]].concat();
            let [accepted, variate] = recorded::gamma_attempt().map(|each| inline(text, &each, &operands));
            let yes = text.literal(Type::Truth, 1.0);
            let more = text.alike("arith.xori", &[accepted, yes]);
            let variate = text.select(accepted, variate, state[2]);
            vec![with_number(text, "arith.addi", state[0], 1), more, variate]
        },
    );
    let smallest = match precision {
        Precision::F32 => f64::from(f32::MIN_POSITIVE),
        Precision::F64 => f64::MIN_POSITIVE,
    };
    end(text, results[2], Some(smallest), real);
}

/// Computes the key for the random numbers in one attempt of the rejection sampler; see `bnnc_math::philox::attempt`.
fn attempt_key(text: &mut Text, key: Value, number: Value) -> Value {
    let step = with_number(text, "arith.muli", number, 0x9E37_79B9_7F4A_7C15_u64 as i64);
    let mut mixed = text.alike("arith.addi", &[key, step]);
    for (shift, factor) in [(30, 0xBF58_476D_1CE4_E5B9_u64), (27, 0x94D0_49BB_1331_11EB)] {
        let shifted = with_number(text, "arith.shrui", mixed, shift);
        mixed = text.alike("arith.xori", &[mixed, shifted]);
        mixed = with_number(text, "arith.muli", mixed, factor as i64);
    }
    let shifted = with_number(text, "arith.shrui", mixed, 31);
    let mixed = text.alike("arith.xori", &[mixed, shifted]);
    let zero = text.long(0);
    let first = text.compare("eq", number, zero);
    text.select(first, key, mixed)
}

/// Writes the function of [`Approximation::Function`] for the derivative. The parameters are the shape and the variate.
pub(crate) fn gradient(text: &mut Text, precision: Precision) {
    let real = Type::Real(precision);
    let name = Approximation::Function(Scalar::GammaGradient).symbol(precision);
    let inputs = text.open_inlined(&name, [real; 2].into_iter(), real);
    let (shape, g) = (resized(text, inputs[0], WIDE), resized(text, inputs[1], WIDE));
    let [is_series, start] = recorded::gamma_series().map(|each| inline(text, &each, &[shape, g]));
    let (one, zero) = (text.literal(WIDE, 1.0), text.literal(WIDE, 0.0));
    let results = repeat_while(
        text,
        &[shape, one, zero, start],
        &|text, state| {
            let (small, two) = (text.literal(WIDE, 1e-18), text.literal(WIDE, 2.0));
            let matters = text.compare("ole", small, state[1]);
            let end = text.alike("arith.mulf", &[two, g]);
            let grows = text.compare("ole", state[0], end);
            let more = text.alike("arith.ori", &[matters, grows]);
            text.alike("arith.andi", &[more, is_series])
        },
        &|text, state| {
            let one = text.literal(WIDE, 1.0);
            let n = text.alike("arith.addf", &[state[0], one]);
            let ratio = text.alike("arith.divf", &[g, n]);
            let power = text.alike("arith.mulf", &[state[1], ratio]);
            let part = text.alike("arith.divf", &[one, n]);
            let harmonic = text.alike("arith.addf", &[state[2], part]);
            let factor = text.alike("arith.addf", &[start, harmonic]);
            let term = text.alike("arith.mulf", &[power, factor]);
            vec![n, power, harmonic, text.alike("arith.addf", &[state[3], term])]
        },
    );
    let value = inline(text, &recorded::gamma_gradient(), &[shape, g, results[3]]);
    end(text, value, None, real);
}
