//! Checks, for each comparison, whether its metrics apply to its inferences.

use crate::diagnostics::compare::metric_does_not_apply;
use crate::methods::{self, Kept};
use crate::program::CheckedProgram;
use bnnc_abi::data::Outliers;
use bnnc_abi::manifest::{CompareBlock, InferenceBlock, Manifest, Output};
use bnnc_abi::metrics::{self, Basis, ComparedMetric};
use bnnc_base::diagnostic::Diagnostic;
use bnnc_hir::tree::{CompareItem, InferId, InferItem, Module};

/// Returns the comparisons of the program. Each comparison is restricted to the chosen inferences.
pub fn compares(program: &CheckedProgram, chosen: &[InferId]) -> Vec<CompareBlock> {
    let all = program.module.compares.iter();
    let restricted = all.map(|item| block(&program.module, item, |id| chosen.contains(&id)));
    restricted.filter(|compare| !compare.infers.is_empty()).collect()
}

/// Returns a comparison of the inferences for which `is_chosen` returns true.
pub fn block(module: &Module, item: &CompareItem, is_chosen: impl Fn(InferId) -> bool) -> CompareBlock {
    let infers = item.infers.iter().filter(|id| is_chosen(**id));
    CompareBlock {
        infers: infers.map(|id| module.infers[*id].name.to_string()).collect(),
        metrics: item.metrics.clone(),
    }
}

/// Returns, in the order of the program, the metrics that do not apply to an inference. Each metric
/// is reported at most once, for the first inference to which it does not apply.
pub fn inapplicable(program: &CheckedProgram, manifest: &Manifest) -> Vec<Diagnostic> {
    let find = |name: &str| {
        let infer = manifest.infers.iter().find(|infer| infer.name == *name)?;
        Some((infer, manifest))
    };
    let compares = manifest.compares.iter();
    compares
        .flat_map(|compare| inapplicable_of(program, compare, &find))
        .collect()
}

/// Returns the metrics of one comparison that do not apply to an inference. `find` takes the name
/// of an inference, and returns the inference and the manifest of its run.
pub fn inapplicable_of<'m>(
    program: &CheckedProgram,
    compare: &CompareBlock,
    find: &dyn Fn(&str) -> Option<(&'m InferenceBlock, &'m Manifest)>,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for measure in &compare.metrics {
        let mut of_infers = compare.infers.iter().filter_map(|name| {
            let (infer, manifest) = find(name)?;
            let item = program.infer(name)?;
            let outliers = outliers(manifest, infer);
            let (why, help) = Applied {
                infer,
                item,
                outliers,
            }
            .rejection(measure)?;
            Some(metric_does_not_apply(measure, item, why, help))
        });
        found.extend(of_infers.next());
    }
    found
}

fn outliers<'m>(manifest: &'m Manifest, infer: &InferenceBlock) -> Option<&'m Outliers> {
    let mut data = manifest.data.iter();
    data.find(|spec| spec.name == infer.data)?.outliers.as_ref()
}

/// The reason why a metric does not apply, and a help text with a correction.
pub type Why = (String, String);

/// An inference in a comparison, with everything that determines which metrics apply to it.
struct Applied<'a> {
    infer: &'a InferenceBlock,
    item: &'a InferItem,
    outliers: Option<&'a Outliers>,
}

impl Applied<'_> {
    fn rejection(&self, measure: &ComparedMetric) -> Option<Why> {
        let basis = measure.basis()?;
        match basis {
            Basis::Time => None,
            Basis::LeftOut => self.left_out(),
            _ => match self.output(measure) {
                Ok(Some(output)) => self.lacks(basis, output),
                // Without an output name, the metric is the joint log-likelihood of all outputs.
                Ok(None) if basis == Basis::LogLikelihood => None,
                Ok(None) => Some(self.several(measure)),
                Err(why) => Some(why),
            },
        }
    }

    /// Returns the output that a metric measures, or `None` if the metric measures all outputs
    /// together.
    fn output(&self, measure: &ComparedMetric) -> Result<Option<&Output>, Why> {
        let Some(name) = &measure.output else {
            return Ok(self.infer.only_output());
        };
        let mut outputs = self.infer.outputs.iter();
        match outputs.find(|output| output.name == *name) {
            Some(output) => Ok(Some(output)),
            None => {
                let outputs = self.infer.outputs.iter();
                let names: Vec<String> = outputs.map(|output| ticked(&output.name)).collect();
                let text = format!("its model has no output `{name}`");
                Err((text, format!("the outputs of the model are {}", names.join(", "))))
            }
        }
    }

    fn several(&self, measure: &ComparedMetric) -> Why {
        let outputs = self.infer.outputs.iter();
        let named: Vec<String> = outputs
            .map(|output| ticked(&format!("{}.{}", output.name, measure.name)))
            .collect();
        let text = format!(
            "`{}` is a metric of one output, but the model has several",
            measure.name
        );
        (text, format!("name the output: {}", named.join(", ")))
    }

    /// If the predictions of an output do not have the quantity that a metric needs, returns the
    /// reason.
    fn lacks(&self, basis: Basis, output: &Output) -> Option<Why> {
        let port = |basis: Basis| {
            let port = self.infer.port_of(output, basis.port(output)?);
            self.infer.predict.plan.port(&port)
        };
        let name = &output.name;
        if basis == Basis::Outliers && self.outliers.is_none() {
            let help =
                "write `outliers = csv(\"FILE\")`, with the format of the data, or `outliers = shuffled(n)` in the data item"
                    .to_owned();
            return Some((format!("the data `{}` have no outliers", self.infer.data), help));
        }
        if port(basis).is_some() {
            return None;
        }
        let why = match (basis.port(output), basis) {
            (None, Basis::Mean | Basis::Draws) => format!("`{name}` is a class, not a number"),
            (None, _) => format!("`{name}` is a number, not a class"),
            (Some(_), Basis::Mean) => format!("the distribution of `{name}` has no `mean`"),
            (Some(_), Basis::Draws) => format!("the distribution of `{name}` has no `draw`"),
            (Some(_), Basis::Probabilities | Basis::Outliers) => {
                format!("the distribution of `{name}` has no `probabilities`")
            }
            (Some(_), _) => format!("`{name}` has no log likelihood of its own"),
        };
        let others = metrics::ALL.iter().filter(|metric| match metric.basis {
            Basis::Outliers => self.outliers.is_some() && port(metric.basis).is_some(),
            Basis::LeftOut => self.left_out().is_none(),
            basis => port(basis).is_some(),
        });
        let written = |metric: &metrics::MetricDef| match metric.basis.is_joint() {
            true => ticked(metric.written),
            false => ticked(&self.infer.quantity_name(output, metric.written)),
        };
        let others: Vec<String> = others.map(written).collect();
        Some((why, format!("its metrics are {}", others.join(", "))))
    }

    /// If leave-one-out estimates cannot be computed for this inference, returns the reason.
    /// Leave-one-out estimates require draws from the
    /// posterior given all rows.
    fn left_out(&self) -> Option<Why> {
        let help =
            "compare by `log_likelihood` on test rows: `test = fraction(0.2)` in the data item".to_owned();
        let method = self.item.method;
        match methods::of(method.finds).keeps_rows(method, self.infer)? {
            Kept::Always(why) => Some((why, help)),
            Kept::TurnedOff(why, help) => Some((why, help)),
        }
    }
}

fn ticked(name: &str) -> String {
    format!("`{name}`")
}
