//! Codes that several crates raise, and the codes of limits. A limit stops a valid program from running, because the program needs
//! something that bnnc or the machine does not provide.

use crate::{codes, reports};

codes! {
    /// A Laplace approximation whose start is used as the maximum but lacks a weight.
    pub NO_MAXIMUM = "E0540", "no maximum to approximate around":
        "With `epochs = 0` a Laplace approximation uses its start as the maximum of the posterior, so the start must give values of the right size for all \
         weights. Either `start` is missing here, or it names an inference or a file in which this parameter is missing or has another size.\n\n\
         Wrong: `infer l = laplace(Model, data) { epochs = 0 }`, or `start = other` after an inference on a model with other layers.\n\nRight: `infer l = \
         laplace(Model, data) { start = map }` after an `infer map = map(Model, data)`, `start = safetensors(\"weights.safetensors\")`, or a positive number of \
         `epochs`.";

    /// A part of bnnc that this build does not include.
    pub NOT_IN_BUILD = "E0618", "not in this build":
        "Some parts of bnnc are cargo features, so that a build can leave them out: the method `collapsed`, and the \
         code that runs programs on an NVIDIA GPU (`cuda`). The message names the feature that is missing. Build bnnc \
         and its runtime with this feature, then build your executables (`bnnc build`) again.\n\n\
         Wrong: `infer f = collapsed(M, d)`, with a `bnnc` built by `cargo build --release --no-default-features`.\n\n\
         Right: the same program, with a `bnnc` built by `cargo build --release -p bnnc -p bnnc-runner --no-default-features --features collapsed`.";

    /// A subnetwork that cannot be chosen.
    pub NO_SUBNETWORK = "E0625", "a subnetwork that cannot be chosen":
        "`over = subnetwork(size, by = score)` chooses the `size` weights with the highest scores. At least `size` weights must affect the outputs \
         on the training rows, and each weight needs a score. For example, the weights into and out of a unit that is never active do not affect \
         the outputs. `by = NAME` uses the variances under an earlier inference of a model with the same parameters. The method of that inference \
         must give variances: `vi`, `swag`, an ensemble or a sampler.\n\n Wrong: `over = subnetwork(1000)` of a network with 800 weights, or `by = \
         map`, whose result is a single point.\n\n\
         Right: `over = subnetwork(400)`, `over = subnetwork(0.5)`; `by = swag` after an `infer swag = swag(Model, \
         data)`.";

    /// The system does not provide the memory that a program needs.
    pub NO_MEMORY = "E0901", "the system has too little memory":
        "An allocation of memory failed. The limit of a container, of a batch job or of `ulimit -v` may be below the \
         memory of the machine.\n\n\
         Reduce `batch`, `samples` or `predictive_draws`, or predict fewer rows at once. With `--max-memory`, bnnc \
         rejects a run that would not fit before the run starts (`E0502`).";

    /// Machine code cannot be generated or loaded.
    pub NO_CODE = "E0902", "machine code cannot be generated or loaded":
        "bnnc compiles a program to machine code and loads the code into its process. Compiling or loading fails if \
         bnnc does not support the processor, if the code of a program is too large for an object file, or if the \
         system does not allow a process to execute memory that it has written.\n\n\
         The message names the reason. `--backend reference` does not need machine code, but is slow.";

    /// The worker process of the backend `mlir` failed to return code.
    pub NO_WORKER = "E0903", "the MLIR worker did not compile a program":
        "The backends `mlir` and `cuda` compile in a separate process with limits on its memory and time. The process \
         could not be started, was stopped, or reached one of the limits; the message gives the reason.\n\n\
         Compile a smaller model, or use `--backend cranelift`, which does not need this process.";

    /// A backend cannot compile the program, but another backend can.
    pub OTHER_BACKEND = "E0904", "the backend cannot compile this program":
        "A backend does not have everything that a program needs: `reference` computes in `f64` only, and `cuda` does not have \
         every array operation.\n\n\
         Wrong: `bnnc run model.bnn --backend reference --precision f32`.\n\n\
         Right: `bnnc run model.bnn --backend cranelift --precision f32`.";
}

reports! {
    /// Returns the error that `part` is missing because the cargo feature `feature` is off.
    fn not_in_build(part: &str, feature: &str)
        = usage(NOT_IN_BUILD, "this build of bnnc does not include {part}")
        .label("needs the cargo feature `{feature}`")
        .help("build it with `cargo build --release -p bnnc -p bnnc-runner --features {feature}`");
}
