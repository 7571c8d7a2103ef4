//! What a model observes, held against how its data are prepared.

use crate::infer::{Compilation, Failure};
use bnnc_abi::data::{DataSpec, Schema};
use bnnc_abi::manifest::{DataSource, Output, OutputKind};
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_hir::elaborate::bind::{Bound, WRONG_COLUMN};

/// An output among the inputs.
pub static OBSERVED_INPUT: Code = Code {
    id: "E0640",
    title: "an output is among the inputs",
    explain: "Without `inputs = [..]` the inputs of a data item are all columns but the target. A model of several outputs observes \
              other columns too, and a vector of all inputs would hold what is to be predicted. Name the inputs.\n\n```\n\
              data d = csv(\"d.csv\")                      // x, weight, height\n\
              data d = csv(\"d.csv\") { inputs = [x] }     // right\n\n\
              model M(x: real[d]) -> weight: real, height: real { .. }\n```",
};

impl Compilation<'_> {
    /// Sees that the outputs of the model are what its data take for targets.
    ///
    /// # Errors
    /// A standardised target that is not real, an output among the inputs.
    pub(crate) fn observes(&self, bound: &Bound, schema: &Schema) -> Result<(), Failure> {
        let spec = &self.program.module.datas[self.item.data].spec;
        let found = self.standardised(bound, (spec, schema));
        match found.or_else(|| self.observed_input(bound, (spec, schema))) {
            Some(diagnostic) => Err(Failure::Program(vec![diagnostic])),
            None => Ok(()),
        }
    }

    /// Only targets on the reals can be standardised.
    fn standardised(&self, bound: &Bound, (spec, schema): (&DataSpec, &Schema)) -> Option<Diagnostic> {
        let is_target = |output: &&Output| bound.column(output) == schema.target.as_deref();
        let target = bound.outputs.iter().find(is_target)?;
        if !spec.standardise_target || target.kind == OutputKind::Real {
            return None;
        }
        let text = format!("the target is standardised, but `{}` is not real", target.name);
        let diagnostic = Diagnostic::error(&WRONG_COLUMN, self.model().span, text)
            .label("the output of this model")
            .also(spec.span, "standardised here");
        Some(diagnostic.help("write `standardise = [inputs]`"))
    }

    /// A vector of all columns but the target may hold what a model of several outputs observes.
    fn observed_input(&self, bound: &Bound, (spec, schema): (&DataSpec, &Schema)) -> Option<Diagnostic> {
        let takes_all = |source: &DataSource| *source == DataSource::Inputs;
        let vector = bound.ports.iter().find(|port| takes_all(&port.from))?;
        let is_input = |output: &&Output| bound.column(output) != schema.target.as_deref();
        let output = bound.outputs.iter().find(is_input)?;
        if !spec.inputs.is_empty() {
            return None;
        }
        let (data, column) = (&schema.name, bound.column(output)?);
        let text = format!(
            "`{}` takes all inputs of `{data}`, and the output `{column}` is one of them",
            vector.port
        );
        let diagnostic = Diagnostic::error(&OBSERVED_INPUT, self.model().span, text)
            .label("observes what it is given")
            .also(spec.span, "without `inputs`, all columns but the target");
        Some(diagnostic.help("name the inputs: `inputs = [..]`"))
    }
}
