//! Elaborates expressions.

use super::datum::{Callee, Datum, DistDatum, LayerDatum};
use super::frame::{Elaborated, Elaborator, Frame};
use super::linear::AffineExpr;
use crate::constant::floored;
use crate::diagnostics::elaborate::limit;
use crate::tree::{ConstId, ConstValue, TypedExpr, TypedExprKind};
use crate::types::{Elem, Ty};
use crate::walk;
use bnnc_abi::data::LARGEST_INTEGER;
use bnnc_base::dtype::DType;
use bnnc_base::shape::Shape;
use bnnc_base::source::Span;
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use bnnc_graph::attr::Attr;
use bnnc_graph::builder::Operation;
use bnnc_graph::function::{NodeKind, Value};
use bnnc_graph::op::OpDef;
use bnnc_graph::ops;
use std::rc::Rc;

/// The smallest and the largest value of an integer.
pub type Integers = (i64, i64);

/// The length of the longest list of numbers for which each number becomes a node. A longer list
/// becomes a single constant.
const MOST_STACKED: usize = 32;

impl<'a> Elaborator<'a> {
    /// Elaborates an expression.
    pub fn expr(&mut self, expr: &TypedExpr, frame: &mut Frame<'a>) -> Elaborated<Datum> {
        let span = expr.span;
        match &expr.kind {
            TypedExprKind::Real(value) => Ok(Datum::Tensor(self.constant(*value, DType::Real))),
            TypedExprKind::Int(value) => Ok(Datum::Static(*value)),
            TypedExprKind::Bool(value) => Ok(Datum::Tensor(
                self.constant(f64::from(u8::from(*value)), DType::Bool),
            )),
            TypedExprKind::Local(local) => match frame.values.get(local) {
                Some(datum) => Ok(datum.clone()),
                None => {
                    let name = &frame.locals[*local].name;
                    Err(limit(span, format!("`{name}` has no value here")))
                }
            },
            TypedExprKind::Const(id) => self.named_constant(*id, span),
            TypedExprKind::Row | TypedExprKind::Error => Err(limit(span, "this is not a value")),
            TypedExprKind::Builtin(builtin, args) => self.call_builtin(builtin, args, frame, span),
            TypedExprKind::CallFn(id, args) => {
                let args = self.exprs(args, frame)?;
                self.call_fn(*id, args, span)
            }
            TypedExprKind::FnValue(id) => Ok(Datum::Function(Callee::Fn(*id))),
            TypedExprKind::BuiltinValue(builtin) => Ok(Datum::Function(Callee::Builtin(builtin))),
            TypedExprKind::CallLocal(local, args) => {
                let args = self.exprs(args, frame)?;
                match frame.values.get(local) {
                    Some(Datum::Function(callee)) => self.call(*callee, args, span),
                    _ => Err(limit(span, "this is not a function")),
                }
            }
            TypedExprKind::MakeLayer(layer, args) => {
                let args = self.exprs(args, frame)?;
                Ok(Datum::Layer(Rc::new(LayerDatum {
                    layer: *layer,
                    args,
                    made: span,
                    path: String::new(),
                })))
            }
            TypedExprKind::Compose(composition, parts) => {
                let parts = self.exprs(parts, frame)?;
                Ok(Datum::Composed(*composition, Rc::new(parts)))
            }
            TypedExprKind::CallLayer(callee, _, args) => {
                let layer = self.expr(callee, frame)?;
                let args = self.exprs(args, frame)?;
                self.call_layer(&layer, args, span)
            }
            TypedExprKind::MakeDist(dist, args) => {
                let args = self.exprs(args, frame)?;
                Ok(Datum::Dist(Rc::new(DistDatum { dist: *dist, args })))
            }
            TypedExprKind::DistPart(dist, part, arg) => {
                let dist = self.expr(dist, frame)?;
                let arg = arg.as_ref().map(|arg| self.expr(arg, frame)).transpose()?;
                self.dist_part(&dist, *part, arg, span)
            }
            TypedExprKind::List(items) => {
                let items = self.exprs(items, frame)?;
                self.list(items, span)
            }
            TypedExprKind::Comprehension(comprehension) => {
                self.comprehension(comprehension, &expr.ty, frame, span)
            }
            TypedExprKind::Reduce(builtin, comprehension) => self.reduce(builtin, comprehension, frame, span),
            TypedExprKind::Index(base, indices) => {
                let base = self.expr(base, frame)?;
                self.index(base, (indices, &expr.ty), frame, span)
            }
            TypedExprKind::Unary(op, operand) => {
                let operand = self.expr(operand, frame)?;
                self.unary(*op, operand, span)
            }
            TypedExprKind::Binary(op, left, right) => self.operation(*op, [left, right], expr, frame),
            TypedExprKind::If(condition, yes, no) => self.choice([condition, yes, no], frame, span),
        }
    }

    /// Elaborates `left op right`.
    fn operation(
        &mut self,
        op: BinaryOp,
        [left, right]: [&TypedExpr; 2],
        whole: &TypedExpr,
        frame: &mut Frame<'a>,
    ) -> Elaborated<Datum> {
        let left = self.expr(left, frame)?;
        let right = self.expr(right, frame)?;
        // The type of a quotient is `int` where an `int` is expected.
        match (op, &whole.ty) {
            (BinaryOp::Div, Ty::Tensor(Elem::Int, _)) => self.integer_quotient(left, right, whole.span),
            _ => self.binary(op, left, right, whole.span),
        }
    }

    /// Divides integers, and rounds the quotient down.
    fn integer_quotient(&mut self, left: Datum, right: Datum, span: Span) -> Elaborated<Datum> {
        match (&left, &right) {
            (_, Datum::Static(0)) => return Err(limit(span, "an integer is divided by 0")),
            (Datum::Static(a), Datum::Static(b)) => {
                let too_large = || {
                    limit(
                        span,
                        format!("the quotient of {a} and {b} does not fit into 64 bits"),
                    )
                };
                return floored(*a, *b).map(Datum::Static).ok_or_else(too_large);
            }
            _ => {}
        }
        let range = self.range_of(BinaryOp::Div, &left, &right);
        // A divisor other than zero does not increase the absolute value.
        let (low, high) = self.extent_of(&left);
        let largest = low.saturating_neg().max(high);
        let (a, b) = (self.tensor(&left, span)?, self.tensor(&right, span)?);
        let (a, b) = (self.to_real(a, span)?, self.to_real(b, span)?);
        let (a, b) = self.align(a, b, span)?;
        let quotient = self.apply(Operation::new(&ops::div::DIV, [a, b]), span)?;
        let whole = self.apply(Operation::new(&ops::floor::FLOOR, [quotient]), span)?;
        let value = self.to_int(whole, span)?;
        Ok(self.integer_result(value, range, Some((-largest, largest)), None))
    }

    fn named_constant(&mut self, id: ConstId, span: Span) -> Elaborated<Datum> {
        let item = &self.module.consts[id];
        match (item.number, &item.value.ty) {
            (Some(ConstValue::Integer(number)), _) => Ok(Datum::Static(number)),
            (Some(ConstValue::Real(number)), Ty::Tensor(elem, _)) => {
                Ok(Datum::Tensor(self.constant(number, elem.dtype())))
            }
            _ => Err(limit(span, format!("`{}` has no value", item.name))),
        }
    }

    /// Elaborates several expressions in order.
    pub fn exprs(&mut self, exprs: &[TypedExpr], frame: &mut Frame<'a>) -> Elaborated<Vec<Datum>> {
        exprs.iter().map(|expr| self.expr(expr, frame)).collect()
    }

    /// Elaborates `[a, b]`: a stack of tensors, or a list of layers.
    fn list(&mut self, items: Vec<Datum>, span: Span) -> Elaborated<Datum> {
        let is_list = |item: &Datum| matches!(item, Datum::Layer(_) | Datum::List(_) | Datum::Composed(..));
        if items.iter().any(is_list) {
            return Ok(Datum::List(Rc::new(items)));
        }
        let values: Vec<Value> = items
            .iter()
            .map(|item| self.real(item, span))
            .collect::<Result<_, _>>()?;
        // A long list of numbers becomes one constant. With one node per number, elaborating the
        // list would take quadratic time.
        let numbers: Option<Vec<f64>> = match values.len() > MOST_STACKED {
            true => values.iter().map(|value| self.number(*value)).collect(),
            false => None,
        };
        if let Some(numbers) = numbers {
            return Ok(Datum::Tensor(self.builder.literal(&[numbers.len()], &numbers)));
        }
        self.stack(&values, span).map(Datum::Tensor)
    }

    /// Returns the value as a number if the value is a scalar constant.
    fn number(&self, value: Value) -> Option<f64> {
        let NodeKind::Apply { op, attrs, .. } = &self.builder.node(value).kind else {
            return None;
        };
        let is_constant = op.is(&ops::constant::CONSTANT) && self.ty(value).rank() == 0;
        attrs.iter().find_map(|attr| match attr {
            Attr::Real(number) if is_constant => Some(*number),
            _ => None,
        })
    }

    /// Joins tensors of one shape along a new first axis.
    pub fn stack(&mut self, values: &[Value], span: Span) -> Elaborated<Value> {
        let mut rows = Vec::new();
        for value in values {
            let shape = self.ty(*value).shape.prepend(bnnc_base::shape::Dim::Fixed(1));
            rows.push(self.apply(Operation::reshape(*value, &shape), span)?);
        }
        self.apply(Operation::concat(&rows, 0), span)
    }

    fn unary(&mut self, op: UnaryOp, operand: Datum, span: Span) -> Elaborated<Datum> {
        if let (UnaryOp::Neg, Datum::Static(number)) = (op, &operand) {
            return Ok(Datum::Static(number.saturating_neg()));
        }
        let value = self.tensor(&operand, span)?;
        if op == UnaryOp::Not {
            let negated = self.apply(Operation::new(&ops::not::NOT, [value]), span)?;
            return Ok(Datum::Tensor(negated));
        }
        let range = self.range_of_integer(&operand);
        let extent = self.extent_of(&operand);
        let form = self.forms.linear_of(BinaryOp::Sub, &Datum::Static(0), &operand);
        let value = self.apply(Operation::new(&ops::neg::NEG, [value]), span)?;
        let negated = |(low, high): Integers| (high.saturating_neg(), low.saturating_neg());
        Ok(self.integer_result(value, range.map(negated), Some(negated(extent)), form))
    }

    fn binary(&mut self, op: BinaryOp, left: Datum, right: Datum, span: Span) -> Elaborated<Datum> {
        if let (Datum::Static(a), Datum::Static(b)) = (&left, &right)
            && let Some(number) = static_arithmetic(op, *a, *b)
        {
            return Ok(Datum::Static(number));
        }
        if op == BinaryOp::MatMul {
            let (a, b) = (self.real(&left, span)?, self.real(&right, span)?);
            return self.matmul(a, b, span).map(Datum::Tensor);
        }
        let (swap, negate) = (matches!(op, BinaryOp::Gt | BinaryOp::Ge), op == BinaryOp::Ne);
        let def: &OpDef = match op {
            BinaryOp::Or => &ops::or::OR,
            BinaryOp::And => &ops::and::AND,
            BinaryOp::Eq | BinaryOp::Ne => &ops::eq::EQ,
            BinaryOp::Lt | BinaryOp::Gt => &ops::lt::LT,
            BinaryOp::Le | BinaryOp::Ge => &ops::le::LE,
            BinaryOp::Add => &ops::add::ADD,
            BinaryOp::Sub => &ops::sub::SUB,
            BinaryOp::Mul => &ops::mul::MUL,
            BinaryOp::Div => &ops::div::DIV,
            BinaryOp::Pow => return self.power(left, right, span),
            BinaryOp::MatMul => unreachable!("handled above"),
        };
        let (mut a, mut b) = (self.tensor(&left, span)?, self.tensor(&right, span)?);
        let form = self.forms.linear_of(op, &left, &right);
        let within = form.as_ref().and_then(|form| self.forms.ends(form));
        let range = match (self.range_of(op, &left, &right), within) {
            (Some((a, b)), Some((c, d))) => Some((a.max(c), b.min(d))),
            (range, within) => range.or(within),
        };
        let logic = matches!(op, BinaryOp::Or | BinaryOp::And);
        let extent = self.extent_of_result(op, &left, &right);
        let overflows =
            extent.is_some_and(|(low, high)| i32::try_from(low).is_err() || i32::try_from(high).is_err());
        let are_integers = self.ty(a).dtype == DType::Int && self.ty(b).dtype == DType::Int;
        if !logic && (op == BinaryOp::Div || overflows || !are_integers) {
            (a, b) = (self.to_real(a, span)?, self.to_real(b, span)?);
        }
        let (a, b) = self.align(a, b, span)?;
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let value = self.apply(Operation::new(def, [a, b]), span)?;
        let value = match negate {
            true => self.apply(Operation::new(&ops::not::NOT, [value]), span)?,
            false => value,
        };
        Ok(self.integer_result(value, range, extent, form))
    }

    /// Stores the known properties of an integer value: its range, its extent and its linear form.
    pub fn integer_result(
        &mut self,
        value: Value,
        range: Option<Integers>,
        extent: Option<Integers>,
        form: Option<AffineExpr>,
    ) -> Datum {
        self.ranges.extend(range.map(|range| (value, range)));
        self.extents.extend(extent.map(|extent| (value, extent)));
        if let Some(form) = form {
            self.forms.insert(value, form);
        }
        Datum::Tensor(value)
    }

    /// Returns the range of a sum, difference, product or quotient of integers with known ranges.
    /// Returns the range of all integers if the divisor may be zero. On overflow, an end of the
    /// range becomes the smallest or largest 64-bit integer, which lies outside every axis.
    fn range_of(&self, op: BinaryOp, left: &Datum, right: &Datum) -> Option<(i64, i64)> {
        combined(op, self.range_of_integer(left)?, self.range_of_integer(right)?)
    }

    /// Returns bounds of an integer. These are its known range, or otherwise bounds derived from
    /// the largest integers that columns may contain.
    pub fn extent_of(&self, datum: &Datum) -> (i64, i64) {
        let known = match datum {
            Datum::Tensor(value) => self.extents.get(value).copied(),
            _ => None,
        };
        let known = self.range_of_integer(datum).or(known);
        known.unwrap_or((-LARGEST_INTEGER, LARGEST_INTEGER))
    }

    /// Returns bounds of an integer that equals either `a` or `b`.
    pub fn extent_of_either(&self, a: &Datum, b: &Datum) -> (i64, i64) {
        let ((a, b), (c, d)) = (self.extent_of(a), self.extent_of(b));
        (a.min(c), b.max(d))
    }

    /// Returns bounds of a sum, difference or product of integers. A result that may exceed 32 bits is computed as a real, because
    /// integers would overflow without an error.
    fn extent_of_result(&self, op: BinaryOp, left: &Datum, right: &Datum) -> Option<(i64, i64)> {
        let is_arithmetic = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul);
        is_arithmetic
            .then(|| combined(op, self.extent_of(left), self.extent_of(right)))
            .flatten()
    }

    /// Expands a power with a small integer exponent into a product. The product is exact, and the
    /// rewriter can treat it as a polynomial.
    fn power(&mut self, base: Datum, exponent: Datum, span: Span) -> Elaborated<Datum> {
        let x = self.real(&base, span)?;
        if let Datum::Static(n @ 1..=4) = exponent {
            let mut product = x;
            for _ in 1..n {
                product = self.apply(Operation::new(&ops::mul::MUL, [product, x]), span)?;
            }
            return Ok(Datum::Tensor(product));
        }
        let y = self.real(&exponent, span)?;
        let (x, y) = self.align(x, y, span)?;
        self.apply(Operation::new(&ops::pow::POW, [x, y]), span)
            .map(Datum::Tensor)
    }

    /// Broadcasts a scalar to the shape of the other operand. If neither operand is a scalar, the shapes must already be equal.
    pub fn align(&mut self, a: Value, b: Value, span: Span) -> Elaborated<(Value, Value)> {
        let (left, right) = (self.ty(a).shape, self.ty(b).shape);
        if left == right {
            Ok((a, b))
        } else if left.rank() == 0 {
            Ok((self.stretch(a, &right, span)?, b))
        } else {
            Ok((a, self.stretch(b, &left, span)?))
        }
    }

    /// Broadcasts a scalar to a shape. A tensor that already has the shape is returned unchanged.
    pub fn stretch(&mut self, value: Value, shape: &Shape, span: Span) -> Elaborated<Value> {
        if self.ty(value).shape == *shape {
            return Ok(value);
        }
        self.apply(Operation::broadcast(value, shape, &[]), span)
    }

    /// Converts two numbers to the same shape and element type. If both numbers are integers, they
    /// remain integers. Otherwise, both become reals.
    pub fn numbers(&mut self, a: &Datum, b: &Datum, span: Span) -> Elaborated<(Value, Value)> {
        let (x, y) = (self.tensor(a, span)?, self.tensor(b, span)?);
        let is_integer = |this: &Self, value: Value| this.ty(value).dtype == DType::Int;
        match is_integer(self, x) && is_integer(self, y) {
            true => self.align(x, y, span),
            false => {
                let (x, y) = (self.real(a, span)?, self.real(b, span)?);
                self.align(x, y, span)
            }
        }
    }

    /// Returns the range of an integer that is computed from two integers, if both of their ranges
    /// are known.
    pub fn joint_range(
        &self,
        a: &Datum,
        b: &Datum,
        join: fn(Integers, Integers) -> Integers,
    ) -> Option<(i64, i64)> {
        Some(join(self.range_of_integer(a)?, self.range_of_integer(b)?))
    }

    /// Returns the smallest and the largest value of an integer, if they are known.
    pub fn range_of_integer(&self, datum: &Datum) -> Option<(i64, i64)> {
        match datum {
            Datum::Static(number) => Some((*number, *number)),
            Datum::Tensor(value) => self.range_here(*value),
            _ => None,
        }
    }

    /// Elaborates `a @ b` for vectors and matrices.
    fn matmul(&mut self, a: Value, b: Value, span: Span) -> Elaborated<Value> {
        let labels = match (self.ty(a).rank(), self.ty(b).rank()) {
            (2, 2) => "ij,jk->ik",
            (2, 1) => "ij,j->i",
            (1, 2) => "i,ij->j",
            (1, 1) => "i,i->",
            (left, right) => {
                let text = format!("`@` takes vectors and matrices, found ranks {left} and {right}");
                return Err(limit(span, text));
            }
        };
        self.apply(Operation::contract(a, b, labels), span)
    }
}

/// Returns the range of a sum, difference, product or quotient of integers in these ranges. Ends saturate on overflow.
fn combined(op: BinaryOp, (a, b): (i64, i64), (c, d): (i64, i64)) -> Option<(i64, i64)> {
    let over = |ends: [i64; 4]| {
        let (low, high) = (ends.iter().min(), ends.iter().max());
        low.zip(high).map(|(low, high)| (*low, *high))
    };
    match op {
        BinaryOp::Add => Some((a.saturating_add(c), b.saturating_add(d))),
        BinaryOp::Sub => Some((a.saturating_sub(d), b.saturating_sub(c))),
        BinaryOp::Mul => over([
            a.saturating_mul(c),
            a.saturating_mul(d),
            b.saturating_mul(c),
            b.saturating_mul(d),
        ]),
        BinaryOp::Div if c <= 0 && d >= 0 => Some(EVERY_INTEGER),
        BinaryOp::Div => {
            let ends = [(a, c), (a, d), (b, c), (b, d)];
            // Division does not round, so the range of a quotient extends to the next integer below
            // its lower and above its upper end.
            let ceiling = |(x, y): (i64, i64)| floor(x.saturating_neg(), y).saturating_neg();
            let (low, _) = over(ends.map(|(x, y)| floor(x, y)))?;
            let (_, high) = over(ends.map(ceiling))?;
            Some((low, high))
        }
        _ => None,
    }
}

/// Returns the quotient rounded down, saturating on overflow. The divisor must not be zero.
fn floor(x: i64, y: i64) -> i64 {
    floored(x, y).unwrap_or(i64::MAX)
}

/// The range of an unknown integer.
pub const EVERY_INTEGER: (i64, i64) = (i64::MIN, i64::MAX);

fn static_arithmetic(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Pow => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
        // Where a real is expected, `1 / 2` is one half, so the result is an integer only if the
        // division is exact. Quotients of the type `int` do not reach this function.
        BinaryOp::Div => (a.checked_rem(b) == Some(0)).then(|| a / b),
        BinaryOp::Or | BinaryOp::And | BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => None,
        BinaryOp::Gt | BinaryOp::Ge | BinaryOp::MatMul => None,
    }
}

/// Returns whether a condition depends on an integer variable, such as a counter.
pub fn compares_integers(condition: &TypedExpr) -> bool {
    let is_integer = |ty: &Ty| matches!(ty, Ty::Tensor(elem, _) if elem.is_integral());
    walk::any(condition, &mut |part| {
        matches!(part.kind, TypedExprKind::Local(_)) && is_integer(&part.ty)
    })
}
