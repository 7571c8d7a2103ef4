//! The codes of limits: what the machine or bnnc does not provide, although the program is valid.

use crate::diagnostic::Code;

/// All codes of this crate's limits, sorted.
pub static CODES: &[&Code] = &[&NO_MEMORY, &NO_CODE, &NO_WORKER, &OTHER_BACKEND];

/// The system does not give the memory.
pub static NO_MEMORY: Code = Code {
    id: "E0901",
    title: "the system has too little memory",
    explain: "An allocation of memory failed. The limit of a container, of a batch job or of \
              `ulimit -v` may be below the memory of the machine.\n\n\
              Reduce `batch`, `samples` or `predictive_draws`, or predict fewer rows at once. `--max-memory` reports a run that \
              would not fit before it starts (`E0502`).",
};

/// Machine code cannot be generated or loaded.
pub static NO_CODE: Code = Code {
    id: "E0902",
    title: "machine code cannot be generated or loaded",
    explain: "bnnc compiles a program to machine code and loads the code into its process. This fails if bnnc does not support \
              the processor, if the code of a program is too large for an object file, or if the system does not allow a \
              process to execute memory that it has written.\n\n\
              The message names the reason. `--backend reference` does not need machine code, but is slow.",
};

/// The worker process of the backend `mlir` did not return code.
pub static NO_WORKER: Code = Code {
    id: "E0903",
    title: "the MLIR worker did not compile a program",
    explain: "The backends `mlir` and `cuda` compile in a separate process with limits on its memory and time. The process could \
              not be started, was stopped, or reached one of the limits; the message names which.\n\n\
              Compile a smaller model, or use `--backend cranelift`, which does not need this process.",
};

/// Another backend can compile the program.
pub static OTHER_BACKEND: Code = Code {
    id: "E0904",
    title: "the backend cannot compile this program",
    explain: "A backend does not have everything that a program needs: `reference` computes in `f64` only, and `cuda` does not have \
              every array operation.\n\n\
              Wrong: `bnnc run model.bnn --backend reference --precision f32`.\n\n\
              Right: `bnnc run model.bnn --backend cranelift --precision f32`.",
};
