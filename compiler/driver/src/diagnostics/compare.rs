//! Diagnostic codes of comparisons.

use bnnc_abi::metrics::ComparedMetric;
use bnnc_base::{codes, reports};
use bnnc_hir::tree::InferItem;

codes! {
    /// A metric that does not apply to an inference.
    pub METRIC_DOES_NOT_APPLY = "E0566", "a metric that does not apply":
        "Every metric in `compare .. by ..` must exist for every inference of the comparison. Some metrics apply to numbers, such as `rmse`, and \
         others to classes, such as `accuracy`. Metrics of outliers, such as `ood_auroc`, need the data option `outliers`. If the model has \
         several outputs, write the name of the output before the metric: `y.rmse`. \
         `elpd_loo` needs draws of a posterior. `map` does not have such draws.\n\nWrong: `compare fit by \
         accuracy` where `fit` predicts a number.\n\nRight: `compare fit by rmse`.";
}

reports! {
    /// Reports a metric that does not apply to an inference. `why` contains the reason and the help.
    fn metric_does_not_apply(measure: &ComparedMetric, item: &InferItem, why: String, help: String)
        = error(METRIC_DOES_NOT_APPLY, measure.span, "`{}` does not apply to `{}`", measure.label(), item.name)
        .label(why)
        .also(item.span, "`{}` is declared here", item.name)
        .help(help);
}
