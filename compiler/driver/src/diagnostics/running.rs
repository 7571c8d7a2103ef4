//! The diagnostic of running means in methods that do not support them.

use bnnc_abi::method::declare::OptionName;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_hir::tree::InferItem;

/// A running mean that the method cannot use.
pub static NO_RUNNING_MEANS: Code = Code {
    id: "E0324",
    title: "running means are not supported here",
    explain: "A running mean, as in `BatchNorm`, makes the loss of a row depend on the other rows of its training step. Methods \
              that train update the stored means in their steps and predict with them. A Markov chain needs a density in \
              which the rows are independent given the parameters. With running means, the density of a row would depend on \
              the other rows. The gradient estimators `local`, `flipout` and \
              `integrate` of `vi` treat rows as independent given the weights.\n\n\
              Wrong: `infer f = nuts(M, d)` for a model with `norm = BatchNorm()`.\n\n\
              Right: use one of the methods that the message lists, or a layer that normalises each example by itself: `norm = \
              GroupNorm(4)`, `FilterResponseNorm()` or `LayerNorm()`.",
};

/// Reports the running mean `mean` in a method that does not support it, for the reason `why`. `others` are the methods that support running means.
pub fn no_running_means(infer: &InferItem, mean: &str, why: &str, others: &[&str]) -> Diagnostic {
    let others: Vec<String> = others.iter().map(|method| format!("`{method}`")).collect();
    let text = format!(
        "`{}` does not support running means, but the model has `{mean}`",
        infer.method.name
    );
    Diagnostic::error(&NO_RUNNING_MEANS, infer.span, text)
        .label(why)
        .help("normalise each example by itself: `GroupNorm`, `FilterResponseNorm` or `LayerNorm`")
        .help(format!(
            "or use a method that supports running means: {}",
            others.join(", ")
        ))
}

/// Reports a gradient estimator with separate weights for each row, in a model whose rows share means.
pub fn rows_apart(infer: &InferItem, options: &[OptionName], mean: &str) -> Diagnostic {
    let text = format!(
        "the gradient estimators of layers draw separate weights for each row, but the rows share the running mean `{mean}`"
    );
    Diagnostic::error(&NO_RUNNING_MEANS, infer.span_of(options), text)
        .help("leave `local`, `flipout` and `integrate` out")
}
