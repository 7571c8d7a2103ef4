//! Checks invariants of a module after the checker has found no errors in it. A violation is a bug in the
//! checker.

use crate::check::solve::has_meta;
use crate::dims::DimExpr;
use crate::tree::{Locals, Module, ParamBinding, TypedExpr, TypedExprKind, TypedStmt};
use crate::types::{Elem, Ty};
use crate::walk;

/// Returns a sentence for every type that is an error and for every dimension that is not solved.
pub fn verify(module: &Module) -> Vec<String> {
    let mut faults = Faults {
        owner: String::new(),
        found: Vec::new(),
    };
    for item in module.consts.iter() {
        faults.owner = item.name.to_string();
        faults.expr(&item.value);
    }
    for item in module.fns.iter() {
        faults.owner = item.name.to_string();
        faults.bindings(&item.params, &item.locals);
        faults.ty(&item.result);
        faults.block(&item.body);
    }
    for item in module.layers.iter() {
        faults.owner = item.name.to_string();
        faults.bindings(&item.params, &item.locals);
        faults.bindings(&item.inputs, &item.locals);
        faults.ty(&item.result);
        faults.block(&item.body);
    }
    for item in module.dists.iter() {
        faults.owner = item.name.to_string();
        faults.bindings(&item.params, &item.locals);
        faults.ty(&item.on);
        item.functions.iter().for_each(|(.., value)| faults.expr(value));
        item.values.iter().for_each(|(_, value)| faults.expr(value));
        for end in &item.ends {
            let numbers = end.tail.iter().flat_map(|(_, numbers)| numbers);
            end.at.iter().chain(numbers).for_each(|value| faults.expr(value));
        }
    }
    for item in module.optimisers.iter() {
        faults.owner = item.name.to_string();
        faults.bindings(&item.params, &item.locals);
        for (_, start, next) in &item.states {
            faults.expr(start);
            faults.expr(next);
        }
        item.step.iter().for_each(|step| faults.expr(step));
    }
    for item in module.models.iter() {
        faults.owner = item.name.to_string();
        [&item.shared, &item.inputs, &item.outputs]
            .into_iter()
            .for_each(|list| faults.bindings(list, &item.locals));
        faults.block(&item.body);
    }
    faults.found
}

struct Faults {
    owner: String,
    found: Vec<String>,
}

impl Faults {
    fn bindings(&mut self, bindings: &[ParamBinding], locals: &Locals) {
        locals.iter().for_each(|local| self.ty(&local.ty));
        for binding in bindings {
            self.ty(&binding.param.ty);
            binding.default.iter().for_each(|default| self.expr(default));
        }
    }

    fn block(&mut self, body: &[TypedStmt]) {
        for stmt in body {
            if let TypedStmt::Sample(sample) = stmt {
                self.ty(&sample.ty);
            }
            if let TypedStmt::For { body, .. } = stmt {
                self.block(body);
            }
            walk::expressions(stmt)
                .into_iter()
                .for_each(|expr| self.expr(expr));
        }
    }

    fn expr(&mut self, expr: &TypedExpr) {
        self.ty(&expr.ty);
        if matches!(expr.kind, TypedExprKind::Error) {
            self.found.push(format!(
                "`{}` has an expression that was already reported",
                self.owner
            ));
        }
        walk::children(expr).into_iter().for_each(|part| self.expr(part));
    }

    fn ty(&mut self, ty: &Ty) {
        match ty {
            Ty::Tensor(elem, dims) => {
                dims.iter().for_each(|dim| self.dim(dim));
                self.elem(elem);
            }
            Ty::Dist(elem) => self.elem(elem),
            Ty::List(element, length) => {
                self.ty(element);
                self.dim(length);
            }
            Ty::Error => self
                .found
                .push(format!("`{}` has a type that was already reported", self.owner)),
            Ty::Layer(_) | Ty::ShapedLayer | Ty::ComposedLayer | Ty::Function(_) => {}
        }
    }

    fn elem(&mut self, elem: &Elem) {
        match elem {
            Elem::Index(size) => self.dim(size),
            Elem::Real(_) | Elem::Int | Elem::Bool | Elem::Count => {}
        }
    }

    fn dim(&mut self, dim: &DimExpr) {
        if has_meta(dim) {
            self.found
                .push(format!("`{}` has a dimension that was never found", self.owner));
        }
    }
}
