//! Resolves names and integers in the analysis of output reads.

use super::reads::ElementReader;
use crate::dims::DimExpr;
use crate::elaborate::linear::AffineExpr;
use crate::tree::{FnId, LocalId, TypedExpr, TypedExprKind, TypedStmt};
use crate::types::{Elem, Ty};
use bnnc_grammar::ast::{BinaryOp, UnaryOp};
use std::collections::HashMap;

/// The depth to which the analysis follows nested function calls.
pub const DEEPEST: usize = 32;

/// A scope: its names, and a reference to the enclosing scope.
pub struct ReadScope<'s, 'm> {
    names: Names<'s, 'm>,
    around: Option<&'s ReadScope<'s, 'm>>,
    /// The number of enclosing scopes, including the scopes of callers.
    level: usize,
}

/// The names of a scope.
enum Names<'s, 'm> {
    /// The variables of the model.
    Model,
    /// A counter with its value.
    Counter(LocalId, AffineExpr),
    /// The definitions inside a `for`.
    Block(HashMap<LocalId, &'m TypedExpr>),
    /// The arguments and the definitions of a function. The arguments are evaluated in the scope of the call.
    Call {
        args: HashMap<LocalId, &'m TypedExpr>,
        caller: &'s ReadScope<'s, 'm>,
        lets: HashMap<LocalId, &'m TypedExpr>,
    },
}

/// The meaning of a name.
pub enum Meaning<'s, 'm> {
    /// An output of the model.
    Output,
    /// An integer that is determined by counters and sizes.
    Integer(AffineExpr),
    /// An expression, and the scope in which it is evaluated: the scope of the call for an
    /// argument, and the current scope (`None`) for a definition.
    Expression(&'m TypedExpr, Option<&'s ReadScope<'s, 'm>>),
    /// Data or a parameter.
    Other,
}

impl<'s, 'm> ReadScope<'s, 'm> {
    /// Creates the scope of a model.
    pub fn model() -> ReadScope<'s, 'm> {
        ReadScope {
            names: Names::Model,
            around: None,
            level: 0,
        }
    }

    /// Creates an inner scope with the counter of a range.
    pub fn counter(&'s self, counter: LocalId, value: AffineExpr) -> ReadScope<'s, 'm> {
        ReadScope {
            names: Names::Counter(counter, value),
            around: Some(self),
            level: self.level + 1,
        }
    }

    /// Creates an inner scope with the definitions of a block.
    pub fn block(&'s self, body: &'m [TypedStmt]) -> ReadScope<'s, 'm> {
        ReadScope {
            names: Names::Block(lets(body)),
            around: Some(self),
            level: self.level + 1,
        }
    }

    /// Returns the number of enclosing scopes, including the scopes of callers.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Returns the number of enclosing calls.
    pub fn depth(&self) -> usize {
        match (&self.names, self.around) {
            (Names::Call { caller, .. }, _) => 1 + caller.depth(),
            (_, Some(around)) => around.depth(),
            (_, None) => 0,
        }
    }
}

/// Returns the variables that statements define, with the expressions assigned to them.
pub fn lets(body: &[TypedStmt]) -> HashMap<LocalId, &TypedExpr> {
    body.iter()
        .filter_map(|stmt| match stmt {
            TypedStmt::Let(local, value) => Some((*local, value)),
            TypedStmt::Sample(_) | TypedStmt::For { .. } | TypedStmt::Return(_) => None,
        })
        .collect()
}

impl<'m> ElementReader<'m> {
    /// Evaluates a dimension, or returns `None` if it is not known.
    pub fn size(&self, dim: &DimExpr) -> Option<i64> {
        dim.value(|local| self.sizes.get(&local).copied())
    }

    /// Returns the meaning of a name in a scope.
    pub fn meaning<'s>(&self, local: LocalId, scope: &'s ReadScope<'s, 'm>) -> Meaning<'s, 'm> {
        let mut at = scope;
        loop {
            match &at.names {
                Names::Counter(counter, value) if *counter == local => {
                    return Meaning::Integer(value.clone());
                }
                Names::Block(lets) if lets.contains_key(&local) => {
                    return Meaning::Expression(lets[&local], None);
                }
                Names::Call { args, caller, lets } => {
                    let arg = args
                        .get(&local)
                        .map(|arg| Meaning::Expression(arg, Some(*caller)));
                    let own = || lets.get(&local).map(|own| Meaning::Expression(own, None));
                    return arg.or_else(own).unwrap_or(Meaning::Other);
                }
                Names::Model if self.outputs.contains_key(&local) => return Meaning::Output,
                Names::Model => {
                    let size = self.sizes.get(&local).copied();
                    let size = size.map(|size| Meaning::Integer(AffineExpr::number(size)));
                    let own = self.lets.get(&local).map(|own| Meaning::Expression(own, None));
                    return size.or(own).unwrap_or(Meaning::Other);
                }
                Names::Counter(..) | Names::Block(_) => {}
            }
            match at.around {
                Some(around) => at = around,
                None => return Meaning::Other,
            }
        }
    }

    /// Returns the value of an integer expression if counters and sizes determine it.
    pub fn integer(&mut self, expr: &'m TypedExpr, scope: &ReadScope<'_, 'm>) -> Option<AffineExpr> {
        self.steps += 1;
        if self.is_exhausted() {
            return None;
        }
        match &expr.kind {
            TypedExprKind::Int(value) => Some(AffineExpr::number(*value)),
            TypedExprKind::Const(id) => {
                let value = self.module.consts.get(*id)?.number?;
                value.as_integer().map(AffineExpr::number)
            }
            TypedExprKind::Local(local) => match self.meaning(*local, scope) {
                Meaning::Integer(value) => Some(value),
                Meaning::Expression(own, around) if is_integer(&own.ty) => {
                    self.integer(own, around.unwrap_or(scope))
                }
                _ => None,
            },
            TypedExprKind::Unary(UnaryOp::Neg, operand) => {
                let operand = self.integer(operand, scope)?;
                AffineExpr::number(0).plus(&operand, -1)
            }
            TypedExprKind::Binary(op, left, right) => {
                let (left, right) = (self.integer(left, scope)?, self.integer(right, scope)?);
                left.combined(*op, &right)
            }
            TypedExprKind::If(condition, yes, no) => match self.decided(condition, scope)? {
                true => self.integer(yes, scope),
                false => self.integer(no, scope),
            },
            TypedExprKind::Builtin(builtin, args) => {
                let numbers = args.iter().map(|arg| self.integer(arg, scope)?.as_number());
                let numbers: Option<Vec<f64>> = numbers.map(|number| Some(number? as f64)).collect();
                let value = builtin.number(&numbers?)?;
                (value.fract() == 0.0 && value.abs() < 2f64.powi(53))
                    .then(|| AffineExpr::number(value as i64))
            }
            TypedExprKind::CallFn(id, args) if scope.depth() < DEEPEST => {
                let call = self.call(*id, args, scope)?;
                let result = result(&self.module.fns[*id].body)?;
                self.integer(result, &call)
            }
            _ => None,
        }
    }

    /// Creates the scope of a function call.
    pub fn call<'s>(
        &self,
        id: FnId,
        args: &'m [TypedExpr],
        scope: &'s ReadScope<'s, 'm>,
    ) -> Option<ReadScope<'s, 'm>> {
        let item = &self.module.fns[id];
        let params = item.params.iter().map(|param| param.local);
        Some(ReadScope {
            names: Names::Call {
                args: params.zip(args).collect(),
                caller: scope,
                lets: lets(&item.body),
            },
            around: None,
            level: scope.level + 1,
        })
    }

    /// Evaluates a condition if counters and sizes determine it.
    pub fn decided(&mut self, condition: &'m TypedExpr, scope: &ReadScope<'_, 'm>) -> Option<bool> {
        match &condition.kind {
            TypedExprKind::Bool(value) => Some(*value),
            TypedExprKind::Unary(UnaryOp::Not, operand) => self.decided(operand, scope).map(|value| !value),
            TypedExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
                let ends = [self.decided(left, scope), self.decided(right, scope)];
                let deciding = *op == BinaryOp::Or;
                match ends {
                    [Some(a), _] | [_, Some(a)] if a == deciding => Some(deciding),
                    [Some(_), Some(_)] => Some(!deciding),
                    _ => None,
                }
            }
            TypedExprKind::Binary(op, left, right) => {
                let (left, right) = (self.integer(left, scope)?, self.integer(right, scope)?);
                let (low, high) = self.forms.ends(&left.plus(&right, -1)?)?;
                let known = |holds: bool, fails: bool| (holds || fails).then_some(holds);
                let negative = known(high < 0, low >= 0);
                let at_most = known(high <= 0, low > 0);
                let zero = known(low == 0 && high == 0, low > 0 || high < 0);
                match op {
                    BinaryOp::Lt => negative,
                    BinaryOp::Le => at_most,
                    BinaryOp::Gt => at_most.map(|value| !value),
                    BinaryOp::Ge => negative.map(|value| !value),
                    BinaryOp::Eq => zero,
                    BinaryOp::Ne => zero.map(|value| !value),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Returns the result expression of a function.
pub fn result(body: &[TypedStmt]) -> Option<&TypedExpr> {
    match body.last()? {
        TypedStmt::Return(value) => Some(value),
        TypedStmt::Let(..) | TypedStmt::Sample(_) | TypedStmt::For { .. } => None,
    }
}

/// Returns whether a type is that of an integer.
pub fn is_integer(ty: &Ty) -> bool {
    matches!(ty, Ty::Tensor(Elem::Int, dims) if dims.is_empty())
}
