//! Diagnostics of outputs and inputs that do not fit the data.

use bnnc_base::diagnostic::Code;

/// An output that is also among the inputs.
pub static OBSERVED_INPUT: Code = Code {
    id: "E0640",
    title: "an output is among the inputs",
    explain: "Without `inputs = [..]`, all columns except the target are inputs of a data item. A model with several outputs \
              observes further columns, so a vector of all inputs would contain columns that are to be predicted. Name the \
              inputs.\n\n\
              ```\n\
              data d = csv(\"d.csv\")                      // x, weight, height\n\
              data d = csv(\"d.csv\") { inputs = [x] }     // right\n\n\
              model M(x: real[d]) -> weight: real, height: real { .. }\n```",
};

/// An entry of `inputs` that no model uses.
pub static UNUSED_TRANSFORM: Code = Code {
    id: "E0264",
    title: "an entry of `inputs` that no model uses",
    explain: "A model with named inputs takes columns by name. An expression of one column in `inputs = [..]` feeds the \
              input with the name of that column; `NAME = expression` feeds the input `NAME`. The marked expression does not \
              feed an input of any model of these data, so the models would use the raw values of the columns instead.\n\n\
              ```\n\
              data d = csv(\"d.csv\") { inputs = [x, log(a / b)] }\n\
              data d = csv(\"d.csv\") { inputs = [x, ratio = log(a / b)] }   // right\n\n\
              model M(x: real, ratio: real) -> y: real { .. }\n\
              ```",
};
