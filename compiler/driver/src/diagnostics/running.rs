//! The diagnostics of running means: methods that do not support them, and fixed networks that lack the means from their
//! training.

use bnnc_abi::method::declare::OptionName;
use bnnc_base::quoted::quoted;
use bnnc_base::{codes, reports};
use bnnc_hir::tree::InferItem;

codes! {
    /// A running mean that the method cannot use.
    pub NO_RUNNING_MEANS = "E0324", "running means are not supported here":
        "A running mean, as in `BatchNorm`, makes the loss of a row depend on the other rows of its training step. Methods \
         that train a network update the stored means in every step, and use the stored means for predictions. A Markov \
         chain needs a density in which the rows are independent given the parameters. With running means, the \
         density of a row would depend on the other rows. The gradient estimators `local`, `flipout` and \
         `integrate` of `vi` treat rows as independent given the weights.\n\n\
         Wrong: `infer f = nuts(M, d)` for a model with `norm = BatchNorm()`.\n\n\
         Right: use one of the methods that the message lists, or a layer that normalises each example by itself: `norm = \
         GroupNorm(4)`, `FilterResponseNorm()` or `LayerNorm()`.";

    /// A running mean in a fixed network that does not start from the value in the training of this network.
    pub UNTAKEN_MEAN = "E0325", "a fixed network without the running means from its training":
        "A posterior that takes all parameters of a network from an earlier inference block also takes the running means of \
         the network, because the parameters were trained with them. bnnc takes a running mean from that block if the \
         block has one of the same shape at the same place. Otherwise, the mean starts at the value that the model \
         declares. Until training steps have moved the mean, the network then predicts differently from the \
         trained network.\n\n\
         Wrong: `posterior Q of M { net.* = f.net.* }` where the `net` of `f` and the `net` of `M` have different layers \
         with running means.\n\n\
         Right: declare the network with one layer, and use this layer in both models.";
}

reports! {
    /// Reports the running mean `mean` in a method that does not support it, for the reason `why`. `others` are the methods that support running means.
    fn no_running_means(infer: &InferItem, mean: &str, why: &str, others: &[&str])
        = error(NO_RUNNING_MEANS, infer.span,
            "`{}` does not support running means, but the model has `{mean}`", infer.method.name)
        .label(why)
        .help("normalise each example by itself: `GroupNorm`, `FilterResponseNorm` or `LayerNorm`")
        .help("or use a method that supports running means: {}", quoted(others));

    /// Warns that a running mean starts at its declared value although the parameters around it are fixed.
    fn untaken_mean(infer: &InferItem, mean: &str, why: String)
        = warning(UNTAKEN_MEAN, infer.span,
            "`{mean}` starts from its declared value, but the parameters of its network come from an earlier training run")
        .label(why)
        .help("take all parameters of the network from one inference block whose network has the same running means");

    /// Reports a gradient estimator that draws separate weights for each row, in a model whose rows share running
    /// means.
    fn rows_apart(infer: &InferItem, options: &[OptionName], mean: &str)
        = error(NO_RUNNING_MEANS, infer.span_of(options),
            "the gradient estimators of layers draw separate weights for each row, but the rows share the running mean `{mean}`")
        .help("leave `local`, `flipout` and `integrate` out");
}
