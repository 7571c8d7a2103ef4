//! Binds all inputs of the data as one array.

use super::{Binder, diagnostics};
use crate::dims::DimExpr;
use crate::tree::{LocalId, ParamBinding};
use crate::types::Ty;
use bnnc_abi::manifest::DataSource;
use bnnc_abi::schema::with_rank;

impl Binder<'_> {
    /// Binds all inputs of the data, either as a vector or as an array with the axes of the file. Columns and flat rows fill an
    /// array in row-major order.
    pub(super) fn all_inputs(&mut self, binding: &ParamBinding) {
        let entries = &self.schema.entries;
        if let Some(aside) = entries.iter().find(|entry| entry.elements == 0) {
            let field = aside.columns.first().and_then(|column| self.field_of(column));
            let diagnostic = diagnostics::aside(self.span(binding), aside, field);
            return self.diagnostics.push(diagnostic);
        }
        self.bound.used.extend(0..entries.len());
        let Ty::Tensor(_, dims) = &binding.param.ty else {
            return;
        };
        match self.sizes(dims) {
            Some(sizes) => self.fit_dims(binding, &sizes),
            None => {
                let name = |local: LocalId| self.model.locals[local].name.to_string();
                let sizes: Vec<String> = dims.iter().map(|dim| self.size_text(dim, &name)).collect();
                let found = (&*binding.param.name, sizes.join(", "));
                let diagnostic = diagnostics::other_sizes(self.span(binding), found, self.schema);
                self.diagnostics.push(diagnostic);
            }
        }
        self.port(binding, DataSource::Inputs);
    }

    /// Returns the sizes that the axes of an array of all inputs have for these data. Returns `None` if the inputs do not fit
    /// into the array.
    fn sizes(&self, dims: &[DimExpr]) -> Option<Vec<usize>> {
        let inputs = self.schema.inputs;
        let known: Vec<Option<usize>> = dims.iter().map(|dim| self.evaluate(dim)).collect();
        if dims.len() == 1 {
            return Some(vec![inputs]);
        }
        if self.schema.axes.len() > 1 {
            let sizes = with_rank(&self.schema.axes, dims.len())?;
            let is_alike = |(known, size): (&Option<usize>, &usize)| known.is_none_or(|known| known == *size);
            return known.iter().zip(&sizes).all(is_alike).then_some(sizes);
        }
        let product = known
            .iter()
            .flatten()
            .try_fold(1_usize, |product, size| product.checked_mul(*size))?;
        let unknown = known.iter().filter(|size| size.is_none()).count();
        let rest = match unknown {
            0 => (product == inputs).then_some(1),
            1 => (inputs.checked_rem(product) == Some(0)).then(|| inputs / product),
            _ => None,
        }?;
        Some(known.into_iter().map(|size| size.unwrap_or(rest)).collect())
    }

    fn size_text(&self, dim: &DimExpr, name: &dyn Fn(LocalId) -> String) -> String {
        self.evaluate(dim)
            .map_or_else(|| dim.show(name), |size| size.to_string())
    }
}
