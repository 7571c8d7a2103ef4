//! Codes of comparisons.

use bnnc_abi::metrics::Measure;
use bnnc_base::diagnostic::{Code, Diagnostic};

/// A metric of a comparison that was not computed.
pub static NOT_COMPUTED: Code = Code {
    id: "E0567",
    title: "a metric that was not computed",
    explain: "The predictions of the inference had no quantity for a metric of the comparison: for example predictions of a series \
              whose first elements are given exist for the others only, and `elpd_loo` needs two rows and draws that differ.\n\n\
              Wrong: `compare fit by elpd_loo` where a posterior of `Point` families moves nothing.\n\nRight: `compare fit by log_likelihood` on test rows.",
};

/// Inferences that did not observe the same values.
pub static OTHER_OBSERVATIONS: Code = Code {
    id: "E0568",
    title: "inferences of different observations",
    explain: "`elpd_loo` is a sum over observations: a difference has a meaning only where both inferences observed the same values \
              in the same rows. A target that is transformed (`target = log(y)`) is another observation, and so are other training rows.\n\n\
              Wrong: `compare a, b by elpd_loo` with `target = y` in the data of one and `target = log(y)` in those of the other.\n\n\
              Right: one data item for both.",
};

/// A metric of a comparison that was not computed.
pub fn not_computed(measure: &Measure, infer: &str) -> Diagnostic {
    let text = format!("`{}` of `{infer}` was not computed", measure.label());
    Diagnostic::warning(&NOT_COMPUTED, measure.span, text)
        .help("compare by another metric, see `bnnc explain E0567`")
}

/// Inferences whose `elpd_loo` cannot be compared.
pub fn other_observations(infer: &str, best: &str) -> Diagnostic {
    let text =
        format!("`{infer}` and `{best}` observed different values: their `elpd_loo` has no difference");
    super::warning(&OTHER_OBSERVATIONS, text).help("compare inferences on the same rows with the same target")
}
