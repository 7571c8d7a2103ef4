//! Reports that a posterior lacks a quantity that a later step of the run needs.

use bnnc_base::diagnostics::NO_SUBNETWORK;
use bnnc_base::{codes, reports};

codes! {
    pub(super) NO_JOINT = "E0548", "no joint covariance and no slopes":
        "`bnnc predict RUN --joint FILE` writes the covariance of the outputs of all rows together, `J P^-1 J'`, with \
         the Jacobian `J` of the outputs and the precision `P` of the weights. `--slopes FILE` writes derivatives of \
         the diagonal of this covariance. For an ensemble, both files describe the mixture over its members. Both \
         options linearise the outputs around a maximum, and need a Gaussian over the weights. Inferences by other \
         methods have draws or point values of the weights instead of this Gaussian.\n\n\
         Right: `--infer NAME` with the name of an inference by `laplace`.";
}

reports! {
    /// An error: this inference block needs variances of the weights from an earlier inference block,
    /// but the earlier block does not provide them.
    fn no_variances(infer: &str, by: &str)
        = of_program(NO_SUBNETWORK, "`{infer}` ranks weights by their variances under `{by}`, but `{by}` has no variances for them");

    /// An error: an inference block does not have the Gaussian that `--joint` and `--slopes` need.
    fn no_joint(infer: &str)
        = usage(NO_JOINT, "`{infer}` is not a Laplace approximation: it has neither a joint covariance of outputs nor slopes")
        .help("name an inference by `laplace`: `--infer NAME`");
}
