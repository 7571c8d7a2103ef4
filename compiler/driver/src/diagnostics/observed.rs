//! Diagnostics of outputs and inputs that do not fit the data.

use bnnc_base::codes;

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
