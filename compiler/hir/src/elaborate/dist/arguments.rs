//! Names the tensors among the arguments of a distribution, and converts arguments to the element
//! types that the parameters declare.

use crate::elaborate::datum::{Datum, DistDatum};
use crate::elaborate::frame::{Elaborated, Elaborator};
use crate::tree::ParamBinding;
use crate::types::{Elem, Ty};
use bnnc_base::dtype::DType;
use bnnc_base::source::Span;
use bnnc_graph::builder::Operation;
use bnnc_graph::function::Value;
use bnnc_graph::ops;
use std::rc::Rc;
use std::sync::Arc;

/// A distribution whose tensor arguments have names, which become the names of the instance's
/// parameters.
pub struct NamedArguments {
    /// The distribution with its tensors replaced by their positions in `values`.
    pub dist: DistDatum,
    /// The names and values of the tensor arguments.
    pub values: Vec<(Arc<str>, Value)>,
}

impl Elaborator<'_> {
    /// Names the tensors among a distribution's arguments, such as `loc`, or `first.loc` for an
    /// argument of a component.
    pub fn arguments(&mut self, dist: &DistDatum, span: Span) -> Elaborated<NamedArguments> {
        let mut values = Vec::new();
        let dist = self.name_arguments(dist, "", &mut values, span)?;
        Ok(NamedArguments { dist, values })
    }

    fn name_arguments(
        &mut self,
        dist: &DistDatum,
        prefix: &str,
        values: &mut Vec<(Arc<str>, Value)>,
        span: Span,
    ) -> Elaborated<DistDatum> {
        let module = self.module;
        let item = &module.dists[dist.dist];
        let mut args = Vec::new();
        for (binding, arg) in item.params.iter().zip(&dist.args) {
            let name = format!("{prefix}{}", binding.param.name);
            let integer = matches!(&binding.param.ty, Ty::Tensor(Elem::Int, _));
            args.push(match arg {
                Datum::Dist(inner) => Datum::Dist(Rc::new(self.name_arguments(
                    inner,
                    &format!("{name}."),
                    values,
                    span,
                )?)),
                Datum::Static(_) if integer => arg.clone(),
                Datum::Tensor(_) | Datum::Static(_) => {
                    let value = self.real(arg, span)?;
                    values.push((name.into(), value));
                    Datum::Tensor(Value(values.len() as u32 - 1))
                }
                other => other.clone(),
            });
        }
        Ok(DistDatum {
            dist: dist.dist,
            args,
        })
    }

    /// Converts arguments to the element types that the parameters declare. The functions of an
    /// instance receive every parameter as a real.
    pub(super) fn typed(
        &mut self,
        params: &[ParamBinding],
        args: Vec<Datum>,
        span: Span,
    ) -> Elaborated<Vec<Datum>> {
        let mut typed = Vec::new();
        for (binding, arg) in params.iter().zip(args) {
            typed.push(match (&binding.param.ty, &arg) {
                (Ty::Tensor(elem, _), Datum::Tensor(value)) => Datum::Tensor(match elem.dtype() {
                    DType::Real => self.to_real(*value, span)?,
                    DType::Int => self.to_int(*value, span)?,
                    DType::Bool => self.condition(*value, span)?,
                }),
                _ => arg,
            });
        }
        Ok(typed)
    }

    fn condition(&mut self, value: Value, span: Span) -> Elaborated<Value> {
        let ty = self.ty(value);
        if ty.dtype == DType::Bool {
            return Ok(value);
        }
        let zero = self.builder.like(0.0, value);
        let is_zero = self.apply(Operation::new(&ops::eq::EQ, [value, zero]), span)?;
        self.apply(Operation::new(&ops::not::NOT, [is_zero]), span)
    }
}
