//! Checks the output of a model if the data item does not name a target.

use crate::diagnostics::bind as diagnostics;
use crate::tree::ModelItem;
use bnnc_abi::data::DataSpec;
use bnnc_abi::schema::Schema;
use bnnc_base::diagnostic::Diagnostic;

/// Reports a wrong column for the single output of a model. If the data item does not name a
/// target, the output is bound to the last column, even if another column has the same name as the
/// output.
pub fn displaced(model: &ModelItem, spec: &DataSpec, schema: &Schema) -> Option<Diagnostic> {
    let ([output], None, Some(target)) = (model.outputs.as_slice(), &spec.target, &schema.target) else {
        return None;
    };
    let name = &*output.param.name;
    let is_meant = |column: &str| column == name && column != target;
    schema.fields.iter().find(|field| is_meant(&field.name))?;
    let span = model.locals[output.local].span;
    Some(diagnostics::displaced(span, name, target, spec.span))
}
