//! Diagnostic codes for predictions for levels without training rows.

use bnnc_base::{codes, reports};
use bnnc_hir::tree::InferItem;

codes! {
    /// A new level that does not have its own prior.
    pub NO_NEW_LEVELS = "E0574", "new levels cannot be predicted from the prior":
        "`bnnc predict RUN --data FILE --new-levels prior` predicts rows whose level did not occur in training. For each draw of the \
         posterior, the parameters of the new level are drawn from their prior, given the other parameters of that draw. The inference \
         must have draws of the posterior (chains, `vi`, `swag`, `ensemble`). The elements of the priors must be independent given \
         other parameters. The model must treat all levels alike: it may select the element that belongs to the level of a row, but \
         it must not sum over levels or compute with the positions of levels. The size of the axis must be the number of levels, \
         not a constant.\n\n\
         Wrong: `alpha: real[J] ~ MultivariateNormal(m, l)`, or `y ~ Normal(alpha[g] - mean(alpha), 1)`.\n\n\
         Right: `alpha: real[J] ~ Normal(mu, tau)` and `y ~ Normal(alpha[g], 1)`.";
}

reports! {
    /// Reports an inference that cannot predict for new levels, with the reason.
    fn no_new_levels(item: &InferItem, why: &str)
        = error(NO_NEW_LEVELS, item.span, "`{}` cannot predict new levels: {why}", item.name)
        .label("a new level needs its own prior")
        .help("leave rows of new levels out, or fit again with rows of these levels");
}
