//! Diagnostics about inferences that use the iterates of an earlier inference.

use bnnc_abi::methods::iterates::IterateOptions;
use bnnc_base::{codes, reports};
use bnnc_hir::tree::InferItem;

codes! {
    /// An inference uses the iterates of another inference, but the other inference does not keep its
    /// iterates.
    pub NO_ITERATES = "E0560", "an inference whose iterates cannot be used":
        "With `iterates = NAME`, the method uses the iterates of an earlier inference and does not train itself. The earlier \
         inference must keep its iterates, as chains, ensembles, `collapsed`, and `swag` with `covariance = snapshots` do. Every \
         free parameter must have the same size in both inferences, and the data of both must have the same number of \
         splits.\n\n\
         Wrong: `iterates = fit` after `infer fit = map(Model, data)`.\n\n\
         Right: `iterates = fit` after `infer fit = swag(Model, data) { covariance = snapshots }`, with the same model.";
}

reports! {
    /// Reports an earlier inference that uses the non-centred parameterisation of a site. The state of
    /// this site holds noise, so the iterates are not values of the site.
    fn iterates_of_noise(infer: &InferItem, from: &str, state: &str)
        let site = state.strip_suffix("/loc").unwrap_or(state);
        = error(NO_ITERATES, infer.span_of(&[IterateOptions::iterates()]),
            "`{}` uses the iterates of `{from}`, but these contain the noise of `{site}` instead of its values (`non_centered`)",
            infer.name)
        .help("remove `{site}` from `non_centered` in `{from}`");

    /// Reports iterates from an inference whose data have too few splits. The pair holds the number of
    /// splits that exist and the number that is needed.
    fn fewer_splits(infer: &InferItem, from: &str, has: usize, needs: usize)
        = error(NO_ITERATES, infer.span_of(&[IterateOptions::iterates()]),
            "`{}` runs on {needs} splits and uses the iterates of `{from}`, but the data of `{from}` have {has}", infer.name)
        .help("run both on the same data, or on data with the same number of splits");

    /// Reports an earlier inference that does not keep iterates.
    fn no_iterates(infer: &InferItem, from: &str)
        = error(NO_ITERATES, infer.span_of(&[IterateOptions::iterates()]),
            "`{}` uses the iterates of `{from}`, but `{from}` keeps no iterates", infer.name)
        .help("add `covariance = snapshots` if `{from}` uses `swag`; otherwise use the iterates of chains, an ensemble or \
         `collapsed`");
}

reports! {
    /// Reports iterates that come from another model, because a state is missing or has another size.
    fn other_iterates(infer: &InferItem, from: &str, state: &str)
        = error(NO_ITERATES, infer.span_of(&[IterateOptions::iterates()]),
            "`{}` uses the iterates of `{from}`, which do not include `{state}` or include it in another size",
            infer.name)
        .help("use iterates of the same model on data with the same columns");
}
