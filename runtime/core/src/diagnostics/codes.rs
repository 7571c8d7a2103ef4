//! The codes of errors that stop a run or keep it from starting.

use bnnc_base::codes;

codes! {
    pub(super) TRAINING_DIVERGED = "E0501", "training diverged":
        "The loss became infinite or not a number. The usual causes are a learning rate that is too large, inputs that \
         are not standardised (`standardise = [inputs, target]`), or a likelihood whose scale can reach zero (add a \
         small constant: `softplus(s) + 1e-3`).";

    /// A run needs more memory than the limit allows.
    pub TOO_LITTLE_MEMORY = "E0502", "the run would not fit in memory":
        "Before a run allocates anything, bnnc predicts its memory from the program's buffers. This run would need more \
         than the limit given by `--max-memory`. Reduce `batch`, `samples` or `predictive_draws`. Alternatively, use `--only`: the results of \
         other inferences are then not kept. The process itself and the compiler take about 20 MiB, which the prediction does not include. For \
         `bnnc predict` with `--joint` or `--slopes` the limit is the free \
         memory: predict fewer rows at once.";

    pub(super) CANNOT_WRITE = "E0503", "cannot write a result":
        "A file of the output folder (`--out`) could not be written. Results are written under a temporary name and \
         renamed, so an earlier result is not damaged.";

    pub(super) NOT_A_RUN = "E0504", "not the folder of a run":
        "`bnnc predict` needs a folder that `bnnc run --out` wrote. It reads `manifest.json`, `posterior.safetensors` \
         and `program.json` there. Early versions of bnnc did not write `manifest.json`: repeat such runs.";

    pub(super) NO_ROWS = "E0505", "no rows to train on":
        "After the test rows and the validation rows are removed, the set of training rows is empty.";

    pub(super) NO_START = "E0506", "no starting point with a finite density":
        "A chain needs a starting point where the log density and its gradient are finite. Random starts lie within `jitter` of zero \
         (or of `start`) on the unconstrained scale. In every attempt, the density was not finite. The usual causes are a likelihood \
         that is zero (data outside its support), a scale that overflows, and inputs that are not standardised.\
         \n\nRight: `infer fit = nuts(Model, data) { start = map, jitter = 0.1 }` after an \
         `infer map = map(Model, \
         data)`.";

    pub(super) TOO_MANY_FILES = "E0508", "a batch with fewer rows than there are files":
        "If the data are in several files, every batch of the penalty method takes rows from each file. The loss differences of each file are computed separately, and \
         only their sums and variances are combined.\n\nWrong: `batch = 2` with three files.\n\nRight: \
         `batch = 30`, which takes ten rows of each file if the files have equally many rows.";

    /// A run cannot resume from its checkpoint, because the checkpoint is damaged.
    pub(super) CHECKPOINT_DAMAGED = "E0510", "a checkpoint is damaged":
        "A file of the folder `checkpoint` in the output folder is truncated, changed or missing, or belongs to another \
         chain or run. A run that is killed, even while it writes, leaves a complete checkpoint, so something else must \
         have changed the file. Run with `--out DIR` instead of `--resume DIR` to start again.";

    /// The folder belongs to a run with other settings or data.
    pub(super) ANOTHER_RUN = "E0511", "the folder belongs to a different run":
        "`--resume DIR` continues a run, with the same results as without the interruption. That requires the same \
         program, options, seed, precision, backend, data files and version of bnnc. The message lists the differences. \
         Only the number of draws may grow (`--set INFER.draws=2000`): the chains then continue from their last state. \
         To start again and replace the earlier run, write `--out DIR --overwrite` instead of `--resume DIR`.";

    /// Two runs would write to the same folder.
    pub(super) FOLDER_IN_USE = "E0512", "another run is writing into this folder":
        "A run locks its output folder until it ends, so that two runs never write the same files. Wait for that run, stop it, or choose another folder.";

    /// The folder does not contain a run that could be resumed.
    pub(super) NOTHING_TO_RESUME = "E0513", "there is nothing to resume":
        "The folder given with `--resume` does not hold a checkpoint: the earlier run ended before its first checkpoint, or the name of \
         the folder is wrong. The run starts from the beginning, so that one command can both start and continue a run.";

    /// An inference block cannot start from a file.
    pub(super) NO_START_FILE = "E0530", "a file that an inference cannot start from":
        "`start = safetensors(\"FILE\")` reads one tensor for each parameter of the model. The tensor has the name of the parameter, \
         such as `hidden.w`, and is in double, single or half precision. It has the shape that the model declares, and its values are \
         on the declared scale: the values of a `positive` parameter are positive. The file needs a tensor for every parameter that the \
         inference estimates, and must not contain others. The `posterior.safetensors` of a run with `map` can be read too: it holds \
         unconstrained values, which are used unchanged.";

    pub(super) NOTHING_FOUND = "E0549", "a start from an inference that was not run on the split":
        "`start = NAME` starts from the result of the inference `NAME` on the same split of the data. An inference on data with fewer \
         splits does not have a result for the later splits.\n\nRight: run both on the same data, or on data with the same number of splits.";

    pub(super) WHOLE_ARRAYS = "E0553", "no predictions for new rows: the model takes whole arrays":
        "`bnnc predict` makes one prediction for each row of a table. That is impossible if the predictions need an \
         array that all examples share. Such an array can be an input `x: real[n]` of a model without inputs per example, or an output that another \
         output depends on. The run does not store such arrays.\n\n\
         Right: use inputs per example (`model M()(x: real) -> y: real`), or start a new run on the new arrays. The new run writes their \
         predictions to `predictions.csv`.";
}
