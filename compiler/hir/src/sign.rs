//! Finds values that can be positive or negative whatever the data are: parameters on the reals,
//! and sums and products that contain such parameters. If a scale is computed from
//! such a value, the scale is negative for some values of the parameters.

use crate::builtin::BuiltinRule;
use crate::range::is_square;
use crate::tree::{LocalId, LocalKind, Locals, Module, TypedExpr, TypedExprKind, TypedStmt};
use crate::types::{Elem, Ty};
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use bnnc_graph::dist::Support;
use std::collections::HashSet;

/// Returns whether a value can have either sign. `signed` contains the variables that can have either sign.
pub fn is_signed(module: &Module, locals: &Locals, signed: &HashSet<LocalId>, expr: &TypedExpr) -> bool {
    let recur = |part: &TypedExpr| is_signed(module, locals, signed, part);
    match &expr.kind {
        TypedExprKind::Local(local) => signed.contains(local) || is_free(locals, *local),
        TypedExprKind::Unary(UnaryOp::Neg, operand) => recur(operand),
        TypedExprKind::Binary(BinaryOp::Mul, left, right) if is_square(left, right) => false,
        TypedExprKind::Binary(op, left, right) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::MatMul => recur(left) || recur(right),
            BinaryOp::Div => recur(left),
            _ => false,
        },
        TypedExprKind::Index(base, _) => recur(base),
        TypedExprKind::If(_, yes, no) => recur(yes) || recur(no),
        TypedExprKind::List(elements) => elements.iter().any(recur),
        TypedExprKind::Comprehension(inner) => recur(&inner.element),
        TypedExprKind::Reduce(builtin, inner) => {
            matches!(builtin.rule, BuiltinRule::Reduce(_)) && recur(&inner.element)
        }
        TypedExprKind::Builtin(builtin, args) => match builtin.rule {
            BuiltinRule::Reduce(_) | BuiltinRule::Dot | BuiltinRule::Outer | BuiltinRule::Transpose => {
                args.iter().any(recur)
            }
            BuiltinRule::Concat | BuiltinRule::Same(_) => args.iter().any(recur),
            BuiltinRule::Repeat | BuiltinRule::Reshape => args.first().is_some_and(recur),
            _ => false,
        },
        TypedExprKind::CallFn(id, args) => {
            let item = &module.fns[*id];
            let given = item.params.iter().zip(args);
            let given = given.filter(|(_, arg)| recur(arg)).map(|(param, _)| param.local);
            body(module, &item.locals, given.collect(), &item.body)
        }
        TypedExprKind::CallLayer(_, Some(id), args) => {
            let item = &module.layers[*id];
            let given = item.inputs.iter().zip(args);
            let given = given.filter(|(_, arg)| recur(arg)).map(|(input, _)| input.local);
            body(module, &item.locals, given.collect(), &item.body)
        }
        _ => false,
    }
}

/// Returns whether a variable is a parameter of the model that can be positive and negative.
fn is_free(locals: &Locals, local: LocalId) -> bool {
    let local = &locals[local];
    let is_signed = match &local.ty {
        Ty::Tensor(Elem::Real(Support::Real), _) => true,
        Ty::Tensor(Elem::Real(Support::Interval(low, high)), _) => *low < 0.0 && *high > 0.0,
        _ => false,
    };
    local.kind == LocalKind::Site && is_signed
}

fn body(module: &Module, locals: &Locals, mut signed: HashSet<LocalId>, body: &[TypedStmt]) -> bool {
    for stmt in body {
        match stmt {
            TypedStmt::Let(local, value) if is_signed(module, locals, &signed, value) => {
                signed.insert(*local);
            }
            TypedStmt::Return(value) => return is_signed(module, locals, &signed, value),
            TypedStmt::Let(..) | TypedStmt::Sample(_) | TypedStmt::For { .. } => {}
        }
    }
    false
}
