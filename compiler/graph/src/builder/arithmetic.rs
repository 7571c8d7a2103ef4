//! Builder methods for elementwise ops and constants.

use super::Builder;
use crate::attr::Attr;
use crate::function::Value;
use crate::op::OpDef;
use crate::ops;
use crate::types::Type;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;

macro_rules! unary {
    ($($(#[$meta:meta])* $name:ident $def:path;)*) => {
        impl Builder { $($(#[$meta])* pub fn $name(&mut self, x: Value) -> Value { self.unary(&$def, x) })* }
    };
}

macro_rules! binary {
    ($($(#[$meta:meta])* $name:ident $def:path;)*) => {
        impl Builder { $($(#[$meta])* pub fn $name(&mut self, x: Value, y: Value) -> Value { self.binary(&$def, x, y) })* }
    };
}

unary! {
    /// `|x|`.
    abs ops::abs::ABS;
    /// `cos x`.
    cos ops::cos::COS;
    /// The derivative of `lgamma`.
    digamma ops::digamma::DIGAMMA;
    /// The error function.
    erf ops::erf::ERF;
    /// `1 - erf x`.
    erfc ops::erfc::ERFC;
    /// The natural exponential.
    exp ops::exp::EXP;
    /// `exp x - 1`.
    expm1 ops::expm1::EXPM1;
    /// The largest integer not above `x`.
    floor ops::floor::FLOOR;
    /// The logarithm of the gamma function.
    lgamma ops::lgamma::LGAMMA;
    /// The natural logarithm.
    log ops::log::LOG;
    /// `log (1 + x)`.
    log1p ops::log1p::LOG1P;
    /// `log (sigmoid x)`.
    log_sigmoid ops::log_sigmoid::LOG_SIGMOID;
    /// `-x`.
    neg ops::neg::NEG;
    /// The negation of a Boolean.
    not ops::not::NOT;
    /// The logistic function.
    sigmoid ops::sigmoid::SIGMOID;
    /// -1, 0 or 1.
    sign ops::sign::SIGN;
    /// `sin x`.
    sin ops::sin::SIN;
    /// `log (1 + exp x)`.
    softplus ops::softplus::SOFTPLUS;
    /// The square root.
    sqrt ops::sqrt::SQRT;
    /// The operand itself, but with derivative zero.
    stop_gradient ops::stop_gradient::STOP_GRADIENT;
    /// The hyperbolic tangent.
    tanh ops::tanh::TANH;
    /// A real converted to an integer, rounded towards zero.
    to_int ops::to_int::TO_INT;
    /// An integer or Boolean converted to a real.
    to_real ops::to_real::TO_REAL;
    /// The second derivative of `lgamma`.
    trigamma ops::trigamma::TRIGAMMA;
}

binary! {
    /// `x + y`.
    add ops::add::ADD;
    /// The conjunction of the Booleans `x` and `y`.
    and ops::and::AND;
    /// `x / y`.
    div ops::div::DIV;
    /// `x == y`.
    eq ops::eq::EQ;
    /// The derivative of a gamma variate `y` with respect to its shape `x`.
    gamma_gradient ops::gamma_gradient::GAMMA_GRADIENT;
    /// `x <= y`.
    le ops::le::LE;
    /// `x < y`.
    lt ops::lt::LT;
    /// The larger of two numbers.
    max ops::max::MAX;
    /// The smaller of two numbers.
    min ops::min::MIN;
    /// `x * y`.
    mul ops::mul::MUL;
    /// The disjunction of the Booleans `x` and `y`.
    or ops::or::OR;
    /// `x ^ y`.
    pow ops::pow::POW;
    /// `x - y`.
    sub ops::sub::SUB;
}

impl Builder {
    /// Applies an op of one operand without attributes.
    pub fn unary(&mut self, op: &'static OpDef, x: Value) -> Value {
        self.apply(op, &[x], Vec::new())
    }

    /// Applies an op of two operands without attributes.
    pub fn binary(&mut self, op: &'static OpDef, x: Value, y: Value) -> Value {
        self.apply(op, &[x, y], Vec::new())
    }

    /// Returns `x` where `condition` is true, otherwise `y`.
    pub fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        self.apply(&ops::select::SELECT, &[condition, x, y], Vec::new())
    }

    /// Returns a tensor of this type with `value` in all elements.
    pub fn constant(&mut self, ty: &Type, value: f64) -> Value {
        let attrs = vec![
            Attr::Shape(ty.shape.clone()),
            Attr::DType(ty.dtype),
            Attr::Real(value),
        ];
        self.apply(&ops::constant::CONSTANT, &[], attrs)
    }

    /// Returns a real scalar.
    pub fn real(&mut self, value: f64) -> Value {
        self.constant(&Type::scalar(), value)
    }

    /// Returns an integer scalar.
    pub fn int(&mut self, value: i64) -> Value {
        self.constant(&Type::int(Shape::scalar()), value as f64)
    }

    /// Returns a real tensor with `value` in all elements.
    pub fn splat(&mut self, value: f64, shape: &Shape) -> Value {
        self.constant(&Type::real(shape.clone()), value)
    }

    /// Returns a tensor of the same type as `model`, with `value` in all elements.
    pub fn like(&mut self, value: f64, model: Value) -> Value {
        let ty = self.ty(model).clone();
        self.constant(&ty, value)
    }

    /// Returns a tensor of zeros of the same type as `model`.
    pub fn zeros_like(&mut self, model: Value) -> Value {
        self.like(0.0, model)
    }

    /// Returns a small static tensor of reals. `values` are in row-major order.
    pub fn literal(&mut self, sizes: &[usize], values: &[f64]) -> Value {
        let attrs = vec![
            Attr::Shape(Shape::fixed(sizes)),
            Attr::DType(DType::Real),
            Attr::Reals(values.to_vec()),
        ];
        self.apply(&ops::literal::LITERAL, &[], attrs)
    }

    /// Returns `x` times a number.
    pub fn scale(&mut self, x: Value, factor: f64) -> Value {
        let factor = self.like(factor, x);
        self.mul(x, factor)
    }

    /// Returns `x` plus a number.
    pub fn shift(&mut self, x: Value, offset: f64) -> Value {
        let offset = self.like(offset, x);
        self.add(x, offset)
    }

    /// Returns `x * x`.
    pub fn square(&mut self, x: Value) -> Value {
        self.mul(x, x)
    }

    /// Returns `1 / x`.
    pub fn reciprocal(&mut self, x: Value) -> Value {
        let one = self.like(1.0, x);
        self.div(one, x)
    }
}
