//! Reports inputs and outputs without a column.

use super::Binder;
use crate::diagnostics::bind as diagnostics;
use crate::tree::ParamBinding;
use crate::types::{Elem, Ty};
use bnnc_abi::schema::InputEntry;

/// The largest number of entries of `inputs` that a suggestion lists one by one.
const LISTED: usize = 6;

impl Binder<'_> {
    pub(super) fn missing(&mut self, binding: &ParamBinding, names: &[String]) {
        let name = &binding.param.name;
        let columns = self.columns_of_vector(binding);
        let diagnostic = match columns.is_empty() {
            true if self.lacks_targets(binding) => {
                diagnostics::no_targets(self.span(binding), name, self.schema)
            }
            true => diagnostics::missing(self.span(binding), name, names, self.schema),
            false => diagnostics::vector_among_others(self.span(binding), name, &columns, self.schema),
        };
        let is_shared = self.schema.shared.iter().any(|field| *field.name == **name);
        self.diagnostics
            .push(match is_shared && !names.iter().any(|known| **known == **name) {
                true => diagnostics::in_shared_table(diagnostic, name, &self.model.name),
                false => diagnostic,
            });
    }

    /// Returns whether this is an output, and the data consist of inputs only. The only field of such data is the array of the inputs.
    fn lacks_targets(&self, binding: &ParamBinding) -> bool {
        let is_output = self
            .model
            .outputs
            .iter()
            .any(|output| output.local == binding.local);
        let has_inputs = self.schema.inputs > 0 && self.schema.fields.len() == 1;
        is_output && has_inputs && self.schema.target.is_none()
    }

    /// Returns the columns that a vector was probably intended to contain if the model also has other inputs. These columns are the numeric
    /// entries of `inputs` that are not bound to another input.
    fn columns_of_vector(&self, binding: &ParamBinding) -> Vec<diagnostics::ForVector> {
        let inputs = &self.model.inputs;
        let is_vector = matches!(&binding.param.ty, Ty::Tensor(Elem::Real(_), dims) if dims.len() == 1);
        let is_input = inputs.iter().any(|input| input.local == binding.local);
        if !is_vector || !is_input || inputs.len() < 2 || self.schema.entries.len() > LISTED {
            return Vec::new();
        }
        let is_fed = |name: &str| inputs.iter().any(|input| *input.param.name == *name);
        let of_entry = |entry: &InputEntry| {
            let column = entry.columns.first().filter(|_| entry.columns.len() == 1);
            let name = entry.name.as_ref().or(column)?;
            (entry.elements == 1 && !is_fed(name)).then(|| diagnostics::ForVector::new(name, entry))
        };
        self.schema.entries.iter().filter_map(of_entry).collect()
    }
}
