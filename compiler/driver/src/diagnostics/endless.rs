//! The diagnostic for optimisers whose steps never end or are not numbers.

use bnnc_abi::manifest::Training;
use bnnc_base::{codes, reports};
use bnnc_hir::tree::InferItem;

codes! {
    /// The steps of an optimiser never end, or are not numbers.
    pub ENDLESS_STEPS = "E0722", "an optimiser that cannot converge":
        "All arguments of the optimiser are inside their ranges, but one of them is at the end of its range, where the \
         optimiser no longer works. With a momentum of 1, gradients add up forever: where the gradient is zero, \
         the parameters move on as fast as before. With `beta1 = 1` or `beta2 = 1`, Adam divides zero by zero. An \
         optimiser that divides by the size of the last gradient divides by zero where the gradient is zero. bnnc \
         tests the steps of the optimiser on a gradient that is 1 in the first iteration and 0 in the following \
         ones.\n\n\
         Wrong: `optimiser = Nesterov(1e-3, momentum = 1)`.\n\n\
         Right: `optimiser = Nesterov(1e-3, momentum = 0.9)`.";
}

reports! {
    /// Reports an optimiser whose step in an iteration is NaN or infinite. `ordinal` names the iteration, such as "first", and `gradient` is the
    /// gradient in it.
    fn undefined_steps(infer: &InferItem, ordinal: &str, gradient: f64, step: f64)
        = error(ENDLESS_STEPS, infer.span_of(&[Training::optimiser()]),
            "the {ordinal} step of the optimiser is {step} for a gradient of {gradient}")
        .help(match gradient == 0.0 {
            true => "add a small positive number to a divisor that can be zero, as `RMSProp` adds its `epsilon`",
            false => "use values inside the ranges of the arguments, not at the ends of these ranges, such as `beta1 = 0.9`",
        });

    /// Reports an optimiser whose steps remain the same once the gradient is zero.
    fn endless_steps(infer: &InferItem)
        = error(ENDLESS_STEPS, infer.span_of(&[Training::optimiser()]),
            "the optimiser never stops: its steps stay the same where the gradient is zero")
        .help("use a momentum below 1, such as `momentum = 0.9`");
}
