//! Evaluates constant expressions, which occur in options, start values, bounds and dims.

use crate::tree::{ConstValue, FnItem, LocalId, Module, TypedExpr, TypedExprKind, TypedStmt};
use crate::types::{Elem, Ty};
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use std::collections::HashMap;

/// Evaluates an expression without variables. Booleans evaluate to 0 and 1. Returns `None` if the expression is not a scalar constant.
pub fn constant(module: &Module, expr: &TypedExpr) -> Option<f64> {
    evaluate(module, expr, &HashMap::new())
}

/// Evaluates an expression. `known` holds the values of variables.
pub fn evaluate(module: &Module, expr: &TypedExpr, known: &HashMap<LocalId, f64>) -> Option<f64> {
    let recur = |part: &TypedExpr| evaluate(module, part, known);
    match &expr.kind {
        TypedExprKind::Real(value) => Some(*value),
        TypedExprKind::Int(value) => Some(*value as f64),
        TypedExprKind::Bool(value) => Some(f64::from(u8::from(*value))),
        TypedExprKind::Local(local) => known.get(local).copied(),
        TypedExprKind::Const(id) => recur_const(module, *id),
        TypedExprKind::Builtin(builtin, args) => {
            let values: Option<Vec<f64>> = args.iter().map(recur).collect();
            builtin.number(&values?)
        }
        TypedExprKind::CallFn(id, args) => {
            let values: Option<Vec<f64>> = args.iter().map(recur).collect();
            call_fn(module, module.fns.get(*id)?, &values?)
        }
        TypedExprKind::Unary(UnaryOp::Neg, operand) => Some(-recur(operand)?),
        TypedExprKind::Unary(UnaryOp::Not, operand) => Some(1.0 - recur(operand)?),
        TypedExprKind::Binary(op, left, right) => {
            let integral = matches!(expr.ty, Ty::Tensor(Elem::Int, _));
            binary(*op, recur(left)?, recur(right)?, integral)
        }
        TypedExprKind::If(condition, yes, no) => recur(if recur(condition)? != 0.0 { yes } else { no }),
        TypedExprKind::Row
        | TypedExprKind::FnValue(_)
        | TypedExprKind::BuiltinValue(_)
        | TypedExprKind::CallLocal(..)
        | TypedExprKind::MakeLayer(..)
        | TypedExprKind::Compose(..)
        | TypedExprKind::CallLayer(..)
        | TypedExprKind::MakeDist(..)
        | TypedExprKind::DistPart(..)
        | TypedExprKind::List(_)
        | TypedExprKind::Comprehension(_)
        | TypedExprKind::Reduce(..)
        | TypedExprKind::Index(..)
        | TypedExprKind::Error => None,
    }
}

fn recur_const(module: &Module, id: crate::tree::ConstId) -> Option<f64> {
    module.consts.get(id)?.number.map(ConstValue::to_f64)
}

/// Evaluates an integer expression without variables. Returns `None` if the expression or one of its parts overflows 64 bits.
pub fn integer(module: &Module, expr: &TypedExpr) -> Option<i64> {
    let recur = |part: &TypedExpr| integer(module, part);
    match &expr.kind {
        TypedExprKind::Int(value) => Some(*value),
        TypedExprKind::Const(id) => module.consts.get(*id)?.number?.as_integer(),
        TypedExprKind::Unary(UnaryOp::Neg, operand) => recur(operand)?.checked_neg(),
        TypedExprKind::Binary(op, left, right) if expr.ty == Ty::int() => {
            let (a, b) = (recur(left)?, recur(right)?);
            match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Div => floored(a, b),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the quotient of two integers, rounded down. Returns `None` if the divisor is zero, or if the quotient does not fit into 64 bits.
pub fn floored(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(quotient - i64::from(a % b != 0 && (a < 0) != (b < 0)))
}

fn call_fn(module: &Module, function: &FnItem, args: &[f64]) -> Option<f64> {
    let mut known: HashMap<LocalId, f64> = function
        .params
        .iter()
        .map(|param| param.local)
        .zip(args.iter().copied())
        .collect();
    for stmt in &function.body {
        match stmt {
            TypedStmt::Let(local, value) => {
                let value = evaluate(module, value, &known)?;
                known.insert(*local, value);
            }
            TypedStmt::Return(value) => return evaluate(module, value, &known),
            TypedStmt::Sample(_) | TypedStmt::For { .. } => return None,
        }
    }
    None
}

fn binary(op: BinaryOp, a: f64, b: f64, integral: bool) -> Option<f64> {
    let truth = |value: bool| f64::from(u8::from(value));
    Some(match op {
        BinaryOp::Or => truth(a != 0.0 || b != 0.0),
        BinaryOp::And => truth(a != 0.0 && b != 0.0),
        BinaryOp::Eq => truth(a == b),
        BinaryOp::Ne => truth(a != b),
        BinaryOp::Lt => truth(a < b),
        BinaryOp::Le => truth(a <= b),
        BinaryOp::Gt => truth(a > b),
        BinaryOp::Ge => truth(a >= b),
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div if integral => (a / b).floor(),
        BinaryOp::Div => a / b,
        BinaryOp::Pow => a.powf(b),
        BinaryOp::MatMul => return None,
    })
}
