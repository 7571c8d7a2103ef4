//! The registry of tensor ops. Each op has its own file and is listed here by name.
//!
//! To add an op, add its file, its `pub mod` line and its entry in [`ALL`]. The conformance tests
//! then test this op too.

pub mod abs;
pub mod add;
pub mod and;
pub mod broadcast;
pub mod cholesky;
pub mod concat;
pub mod constant;
pub mod contract;
pub mod cos;
pub mod cumsum;
pub mod digamma;
pub mod div;
pub mod eq;
pub mod erf;
pub mod erfc;
pub mod exp;
pub mod expect;
pub mod expm1;
pub mod floor;
pub mod gamma_gradient;
pub mod gamma_noise;
pub mod gather;
pub mod iota;
pub mod le;
pub mod lgamma;
pub mod literal;
pub mod log;
pub mod log1p;
pub mod log_sigmoid;
pub mod log_softmax;
pub mod logsumexp;
pub mod lt;
pub mod map;
pub mod max;
pub mod min;
pub mod mul;
pub mod neg;
pub mod noise;
pub mod not;
pub mod observe;
pub mod one_hot;
pub mod or;
pub mod overlap_add;
pub mod pad;
pub mod patches;
pub mod pow;
pub mod reduce_max;
pub mod reduce_sum;
pub mod reshape;
pub mod running_mean;
pub mod sample;
pub mod scan;
pub mod scatter_add;
pub mod select;
pub mod sigmoid;
pub mod sign;
pub mod sin;
pub mod slice;
pub mod softmax;
pub mod softplus;
pub mod sqrt;
pub mod stop_gradient;
pub mod sub;
pub mod tanh;
pub mod to_int;
pub mod to_real;
pub mod transpose;
pub mod triangular_solve;
pub mod trigamma;

use crate::op::{Op, OpDef};

/// Every op, sorted by name.
pub static ALL: &[&OpDef] = &[
    &abs::ABS,
    &add::ADD,
    &and::AND,
    &broadcast::BROADCAST,
    &cholesky::CHOLESKY,
    &concat::CONCAT,
    &constant::CONSTANT,
    &contract::CONTRACT,
    &cos::COS,
    &cumsum::CUMSUM,
    &digamma::DIGAMMA,
    &div::DIV,
    &eq::EQ,
    &erf::ERF,
    &erfc::ERFC,
    &exp::EXP,
    &expect::EXPECT,
    &expm1::EXPM1,
    &floor::FLOOR,
    &gamma_gradient::GAMMA_GRADIENT,
    &gamma_noise::GAMMA_NOISE,
    &gather::GATHER,
    &iota::IOTA,
    &le::LE,
    &lgamma::LGAMMA,
    &literal::LITERAL,
    &log::LOG,
    &log1p::LOG1P,
    &log_sigmoid::LOG_SIGMOID,
    &log_softmax::LOG_SOFTMAX,
    &logsumexp::LOGSUMEXP,
    &lt::LT,
    &map::MAP,
    &max::MAX,
    &min::MIN,
    &mul::MUL,
    &neg::NEG,
    &noise::NOISE,
    &not::NOT,
    &observe::OBSERVE,
    &one_hot::ONE_HOT,
    &or::OR,
    &overlap_add::OVERLAP_ADD,
    &pad::PAD,
    &patches::PATCHES,
    &pow::POW,
    &reduce_max::REDUCE_MAX,
    &reduce_sum::REDUCE_SUM,
    &reshape::RESHAPE,
    &running_mean::RUNNING_MEAN,
    &sample::SAMPLE,
    &scan::SCAN,
    &scatter_add::SCATTER_ADD,
    &select::SELECT,
    &sigmoid::SIGMOID,
    &sign::SIGN,
    &sin::SIN,
    &slice::SLICE,
    &softmax::SOFTMAX,
    &softplus::SOFTPLUS,
    &sqrt::SQRT,
    &stop_gradient::STOP_GRADIENT,
    &sub::SUB,
    &tanh::TANH,
    &to_int::TO_INT,
    &to_real::TO_REAL,
    &transpose::TRANSPOSE,
    &triangular_solve::TRIANGULAR_SOLVE,
    &trigamma::TRIGAMMA,
];

/// Returns the op with this name.
pub fn lookup(name: &str) -> Option<Op> {
    let at = ALL.binary_search_by_key(&name, |def| def.name).ok()?;
    Some(Op(ALL[at]))
}
