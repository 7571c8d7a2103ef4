//! Finds values that can have either sign, whatever the data are: parameters on the reals, and sums and products that contain such
//! parameters. If a scale is computed from such a value, it is negative for some values of the parameters.

use crate::builtin::Rule;
use crate::range::is_square;
use crate::tree::{Expr, ExprKind, LocalId, LocalKind, Locals, Module, Stmt};
use crate::types::{Elem, Ty};
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use bnnc_graph::dist::Support;
use std::collections::HashSet;

/// Returns whether a value can have either sign. `signed` contains the variables that can have either sign.
pub fn is_signed(module: &Module, locals: &Locals, signed: &HashSet<LocalId>, expr: &Expr) -> bool {
    let recur = |part: &Expr| is_signed(module, locals, signed, part);
    match &expr.kind {
        ExprKind::Local(local) => signed.contains(local) || is_free(locals, *local),
        ExprKind::Unary(UnaryOp::Neg, operand) => recur(operand),
        ExprKind::Binary(BinaryOp::Mul, left, right) if is_square(left, right) => false,
        ExprKind::Binary(op, left, right) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::MatMul => recur(left) || recur(right),
            BinaryOp::Div => recur(left),
            _ => false,
        },
        ExprKind::Index(base, _) => recur(base),
        ExprKind::If(_, yes, no) => recur(yes) || recur(no),
        ExprKind::List(elements) => elements.iter().any(recur),
        ExprKind::Comprehension(inner) => recur(&inner.element),
        ExprKind::Reduce(builtin, inner) => matches!(builtin.rule, Rule::Reduce(_)) && recur(&inner.element),
        ExprKind::Builtin(builtin, args) => match builtin.rule {
            Rule::Reduce(_) | Rule::Dot | Rule::Outer | Rule::Transpose => args.iter().any(recur),
            Rule::Concat | Rule::Same(_) => args.iter().any(recur),
            Rule::Repeat | Rule::Reshape => args.first().is_some_and(recur),
            _ => false,
        },
        ExprKind::CallFn(id, args) => {
            let item = &module.fns[*id];
            let given = item.params.iter().zip(args);
            let given = given.filter(|(_, arg)| recur(arg)).map(|(param, _)| param.local);
            body(module, &item.locals, given.collect(), &item.body)
        }
        ExprKind::CallLayer(_, id, args) => {
            let item = &module.layers[*id];
            let given = item.inputs.iter().zip(args);
            let given = given.filter(|(_, arg)| recur(arg)).map(|(input, _)| input.local);
            body(module, &item.locals, given.collect(), &item.body)
        }
        _ => false,
    }
}

/// Returns whether a variable is a parameter of the model whose support has both signs.
fn is_free(locals: &Locals, local: LocalId) -> bool {
    let local = &locals[local];
    let is_signed = match &local.ty {
        Ty::Tensor(Elem::Real(Support::Real), _) => true,
        Ty::Tensor(Elem::Real(Support::Interval(low, high)), _) => *low < 0.0 && *high > 0.0,
        _ => false,
    };
    local.kind == LocalKind::Site && is_signed
}

fn body(module: &Module, locals: &Locals, mut signed: HashSet<LocalId>, body: &[Stmt]) -> bool {
    for stmt in body {
        match stmt {
            Stmt::Let(local, value) if is_signed(module, locals, &signed, value) => {
                signed.insert(*local);
            }
            Stmt::Return(value) => return is_signed(module, locals, &signed, value),
            Stmt::Let(..) | Stmt::Sample(_) | Stmt::For { .. } => {}
        }
    }
    false
}
