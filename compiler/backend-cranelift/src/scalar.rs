//! Emits a scalar operation, either on one element or on a vector. Both forms round in the same
//! way.

use crate::isa::Lanes;
use bnnc_abi::plan::Combine;
use bnnc_base::dtype::{DType, Precision};
use bnnc_math::scalar::Scalar;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

/// An emitter of single operations.
pub(crate) struct Scalars<'a, 'f> {
    /// The builder that receives the instructions.
    pub builder: &'a mut FunctionBuilder<'f>,
    /// The number of elements in each operand, and the width of reals.
    pub lanes: Lanes,
}

impl Scalars<'_, '_> {
    /// Emits the operation `scalar` on the operands `x`. `dtype` is the type of the last operand.
    /// `never_nan` is true if the first operand cannot be NaN.
    pub fn apply(&mut self, scalar: Scalar, dtype: DType, x: &[Value], never_nan: bool) -> Value {
        match scalar {
            Scalar::Add | Scalar::Sub | Scalar::Mul | Scalar::Abs | Scalar::Neg => {
                self.arithmetic(scalar, dtype, x)
            }
            Scalar::Div => self.builder.ins().fdiv(x[0], x[1]),
            Scalar::Sqrt => self.builder.ins().sqrt(x[0]),
            Scalar::Floor => self.builder.ins().floor(x[0]),
            Scalar::Max => self.extremum(dtype, x[0], x[1], (Extremum::Max, never_nan)),
            Scalar::Min => self.extremum(dtype, x[0], x[1], (Extremum::Min, never_nan)),
            Scalar::Sign => self.sign(dtype, x[0]),
            Scalar::Eq => self.compare(dtype, (FloatCC::Equal, IntCC::Equal), x),
            Scalar::Lt => self.compare(dtype, (FloatCC::LessThan, IntCC::SignedLessThan), x),
            Scalar::Le => self.compare(dtype, (FloatCC::LessThanOrEqual, IntCC::SignedLessThanOrEqual), x),
            Scalar::And => self.builder.ins().band(x[0], x[1]),
            Scalar::Or => self.builder.ins().bor(x[0], x[1]),
            Scalar::Not if self.lanes.is_vector() => self.builder.ins().bnot(x[0]),
            Scalar::Not => self.builder.ins().bxor_imm_u(x[0], 1),
            Scalar::Select => self.select(x[0], x[1], x[2]),
            Scalar::ToInt => self.int_of(dtype, x[0]),
            Scalar::ToReal => self.real_of(dtype, x[0]),
            Scalar::Cos
            | Scalar::Digamma
            | Scalar::Erf
            | Scalar::Erfc
            | Scalar::Exp
            | Scalar::Expm1
            | Scalar::GammaGradient
            | Scalar::Lgamma
            | Scalar::Log
            | Scalar::Log1p
            | Scalar::LogSigmoid
            | Scalar::Pow
            | Scalar::Sigmoid
            | Scalar::Sin
            | Scalar::Softplus
            | Scalar::Tanh
            | Scalar::Trigamma => unreachable!("the schedule makes these calls of array primitives"),
        }
    }

    /// Combines the accumulated value of a reduction with a new element.
    pub fn combine(&mut self, combine: Combine, dtype: DType, held: Value, new: Value) -> Value {
        let scalar = match combine {
            Combine::Sum => Scalar::Add,
            Combine::Max => Scalar::Max,
        };
        self.apply(scalar, dtype, &[held, new], false)
    }

    /// Emits a constant in every lane.
    pub fn literal(&mut self, dtype: DType, value: f64) -> Value {
        let one = match (dtype, self.lanes.precision()) {
            (DType::Real, Precision::F32) => self.builder.ins().f32const(value as f32),
            (DType::Real, Precision::F64) => self.builder.ins().f64const(value),
            (DType::Int, _) => self.builder.ins().iconst(types::I32, i64::from(value as i32)),
            (DType::Bool, _) => self.builder.ins().iconst(types::I8, i64::from(value != 0.0)),
        };
        if self.lanes.is_vector() {
            self.splat(dtype, one)
        } else {
            one
        }
    }

    /// Broadcasts one element to every lane.
    pub fn splat(&mut self, dtype: DType, one: Value) -> Value {
        let ty = self.lanes.of(dtype);
        let one = match dtype {
            DType::Real | DType::Int => one,
            DType::Bool => self.builder.ins().bmask(ty.lane_type(), one),
        };
        self.builder.ins().splat(ty, one)
    }

    /// Emits `if condition { x } else { y }` in each lane.
    pub fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        if !self.lanes.is_vector() {
            return self.builder.ins().select(condition, x, y);
        }
        let ty = self.builder.func.dfg.value_type(x);
        let condition = self.cast(ty, condition);
        self.builder.ins().bitselect(condition, x, y)
    }

    /// Converts an element read from memory to a Boolean.
    pub fn truth(&mut self, stored: Value) -> Value {
        let zero = self.literal(DType::Real, 0.0);
        self.builder.ins().fcmp(FloatCC::NotEqual, stored, zero)
    }

    /// Converts an integer or a Boolean to a real.
    pub fn real_of(&mut self, dtype: DType, x: Value) -> Value {
        let real = self.lanes.of(DType::Real);
        match dtype {
            DType::Real => x,
            DType::Int => self.builder.ins().fcvt_from_sint(real, x),
            DType::Bool => {
                let (one, zero) = (self.literal(DType::Real, 1.0), self.literal(DType::Real, 0.0));
                self.select(x, one, zero)
            }
        }
    }

    fn int_of(&mut self, dtype: DType, x: Value) -> Value {
        match dtype {
            DType::Real => {
                let ty = self.lanes.of(DType::Int);
                self.builder.ins().fcvt_to_sint_sat(ty, x)
            }
            DType::Int => x,
            DType::Bool => {
                let (one, zero) = (self.literal(DType::Int, 1.0), self.literal(DType::Int, 0.0));
                self.select(x, one, zero)
            }
        }
    }

    fn arithmetic(&mut self, scalar: Scalar, dtype: DType, x: &[Value]) -> Value {
        let real = dtype == DType::Real;
        let ins = self.builder.ins();
        match scalar {
            Scalar::Add if real => ins.fadd(x[0], x[1]),
            Scalar::Add => ins.iadd(x[0], x[1]),
            Scalar::Sub if real => ins.fsub(x[0], x[1]),
            Scalar::Sub => ins.isub(x[0], x[1]),
            Scalar::Mul if real => ins.fmul(x[0], x[1]),
            Scalar::Mul => ins.imul(x[0], x[1]),
            Scalar::Abs if real => ins.fabs(x[0]),
            Scalar::Abs => ins.iabs(x[0]),
            _ if real => ins.fneg(x[0]),
            _ => ins.ineg(x[0]),
        }
    }

    fn compare(&mut self, dtype: DType, (real, int): (FloatCC, IntCC), x: &[Value]) -> Value {
        match dtype {
            DType::Real => self.builder.ins().fcmp(real, x[0], x[1]),
            DType::Int | DType::Bool => self.builder.ins().icmp(int, x[0], x[1]),
        }
    }

    /// Emits the larger or the smaller of two operands; see Note \[Extrema\].
    fn extremum(&mut self, dtype: DType, x: Value, y: Value, (which, never_nan): (Extremum, bool)) -> Value {
        if dtype != DType::Real {
            return match which {
                Extremum::Max => self.builder.ins().smax(x, y),
                Extremum::Min => self.builder.ins().smin(x, y),
            };
        }
        let (low, high) = match which {
            Extremum::Max => (y, x),
            Extremum::Min => (x, y),
        };
        let x_wins = self.builder.ins().fcmp(FloatCC::LessThan, low, high);
        let winner = self.select(x_wins, x, y);
        if never_nan {
            return winner;
        }
        let x_is_nan = self.builder.ins().fcmp(FloatCC::Unordered, x, x);
        self.select(x_is_nan, x, winner)
    }

    /// Emits the sign of `x`: -1 if `x` is negative, and 1 if it is positive. If `x` is zero or
    /// NaN, the result is `x` itself.
    fn sign(&mut self, dtype: DType, x: Value) -> Value {
        let (one, minus_one, zero) = (
            self.literal(dtype, 1.0),
            self.literal(dtype, -1.0),
            self.literal(dtype, 0.0),
        );
        let less = (FloatCC::LessThan, IntCC::SignedLessThan);
        let negative = self.compare(dtype, less, &[x, zero]);
        let positive = self.compare(dtype, less, &[zero, x]);
        let signed = self.select(negative, minus_one, x);
        self.select(positive, one, signed)
    }

    fn cast(&mut self, ty: cranelift_codegen::ir::Type, x: Value) -> Value {
        if self.builder.func.dfg.value_type(x) == ty {
            return x;
        }
        self.builder.ins().bitcast(ty, MemFlagsData::new(), x)
    }
}

#[derive(Clone, Copy)]
enum Extremum {
    Max,
    Min,
}

// Note [Extrema]. The operation `select (lt y x) x y` is one machine instruction, whose result is
// `y` if either operand is NaN. More instructions are needed only if `x` can be NaN, which is never
// the case for a constant.
