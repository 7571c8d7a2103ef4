//! The diagnostic of running means in methods that do not update them.

use bnnc_abi::method::declare::OptionName;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_hir::tree::InferItem;

/// A running mean that the method cannot use.
pub static NO_RUNNING_MEANS: Code = Code {
    id: "E0324",
    title: "running means are not supported here",
    explain: "A running mean, as in `BatchNorm`, makes the loss of a row depend on the other rows of its training step. `map` and `vi` \
              update the stored means in their steps and predict with them. Markov chains and Laplace approximations need a log likelihood \
              that is a sum over independent rows. `swag`, `ensemble`, `dropout` and `collapsed` would need separate means for each vector \
              of weights. The gradient estimators `local`, `flipout` and `integrate` treat rows as independent given the weights.\n\n\
              Wrong: `infer f = nuts(M, d)` for a model with `norm = BatchNorm()`.\n\n\
              Right: use `map` or `vi`, or a layer that normalises each example by itself: `norm = GroupNorm(4)`, `FilterResponseNorm()` or \
              `LayerNorm()`.",
};

/// Reports a running mean in a method that does not update it. `supported` are the names of the methods that update running means.
pub fn no_running_means(infer: &InferItem, mean: &str, supported: &[&str]) -> Diagnostic {
    let text = format!(
        "`{}` does not support running means, but the model has `{mean}`",
        infer.method.name
    );
    let supported: Vec<String> = supported.iter().map(|name| format!("`{name}`")).collect();
    Diagnostic::error(&NO_RUNNING_MEANS, infer.span, text)
        .label("the log likelihood of a row would depend on other rows")
        .help("normalise each example by itself: `GroupNorm`, `FilterResponseNorm` or `LayerNorm`")
        .help(format!("or use {}", supported.join(" or ")))
}

/// Reports a gradient estimator with separate weights for each row, in a model whose rows share means.
pub fn rows_apart(infer: &InferItem, options: &[OptionName], mean: &str) -> Diagnostic {
    let text = format!(
        "the gradient estimators of layers draw separate weights for each row, but the rows share the running mean `{mean}`"
    );
    Diagnostic::error(&NO_RUNNING_MEANS, infer.span_of(options), text)
        .help("leave `local`, `flipout` and `integrate` out")
}
