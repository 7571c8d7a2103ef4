//! Diagnostics of outputs and inputs that do not fit the data.

use bnnc_base::source::Span;
use bnnc_base::{codes, reports};
use bnnc_hir::diagnostics::bind::WRONG_COLUMN;

codes! {
    /// An entry of `inputs` that no model uses.
    pub UNUSED_TRANSFORM = "E0264", "an entry of `inputs` that no model uses":
        "A model with named inputs takes each input from the column of the same name. In `inputs = [..]`, an expression \
         of a single column feeds the input with the name of that column; `NAME = expression` feeds the input `NAME`. \
         The marked expression does not feed an input of any model that uses these data. These models would \
         therefore use the raw values of the columns.\n\n\
         ```\n\
         data d = csv(\"d.csv\") { inputs = [x, log(a / b)] }\n\
         data d = csv(\"d.csv\") { inputs = [x, ratio = log(a / b)] }   // right\n\n\
         model M(x: real, ratio: real) -> y: real { .. }\n\
         ```";

    /// An output that is also among the inputs.
    pub OBSERVED_INPUT = "E0640", "an output is among the inputs":
        "Without `inputs = [..]`, every column of a data item except the target is an input. A model with several \
         outputs observes more columns than the target, so a vector of all inputs would contain columns that the model \
         should predict. Name the inputs.\n\n\
         ```\n\
         data d = csv(\"d.csv\")                      // x, weight, height\n\
         data d = csv(\"d.csv\") { inputs = [x] }     // right\n\n\
         model M(x: real[d]) -> weight: real, height: real { .. }\n```";
}

reports! {
    /// Reports a standardised target that is not real. `data` is the data item that standardises it.
    fn standardised_target(model: Span, target: &str, data: Span)
        = error(WRONG_COLUMN, model, "the target is standardised, but `{target}` is not real")
        .label("the output of this model")
        .also(data, "standardised here")
        .help("write `standardise = [inputs]`");

    /// Reports an output that is also among the inputs, because `input` takes all inputs of the data item `data` at `at`.
    fn observed_input(model: Span, input: &str, data: &str, output: &str, at: Span)
        = error(OBSERVED_INPUT, model, "`{input}` takes all inputs of `{data}`, but the output `{output}` is one of them")
        .label("observes a column that is also an input")
        .also(at, "without `inputs`, all columns except the target are inputs")
        .help("name the inputs: `inputs = [..]`");
}
