//! The diagnostics of `bnnc build`.

use bnnc_abi::artefact;
use bnnc_base::quoted::quoted_with;
use bnnc_base::{codes, reports};
use std::path::{Path, PathBuf};

codes! {
    /// The C compiler was not found, but it is needed to link executables.
    NO_LINKER = "E0634", "no C linker":
        "`bnnc build` generates the machine code itself, and calls a C compiler only to link this code with the \
         runtime library. It calls the compiler that the environment variable `CC` names, or `cc` if `CC` is not set. \
         If you do not have a C compiler, use `--no-linker`, which appends the program to a copy of the prebuilt \
         executable `bnnc-runner`.\n\n\
         ```\n\
         bnnc build model.bnn -o model --no-linker\n\
         ```";

    /// The runtime was not found.
    NO_RUNTIME = "E0635", "the runtime library of executables does not exist":
        "`bnnc build` links the static library `libbnnc_runner.a`. With `--no-linker`, it copies the executable \
         `bnnc-runner` instead. The command below builds both files from the sources of bnnc. `bnnc build` looks \
         for them beside `bnnc`, then in `../lib/bnnc`. To use another folder or file, set `--runtime PATH` or \
         the environment variable `BNNC_RUNTIME`. The runtime must come from the same sources as `bnnc`, because \
         both share the layout of compiled programs.\n\n\
         ```\n\
         cargo build --release -p bnnc-runner\n\
         ```";

    /// The linker failed.
    LINK_FAILED = "E0636", "the linker failed":
        "The C compiler started, but did not make an executable; the notes show its output. The usual reasons are a runtime library \
         from another build, a C compiler for another architecture (`CC` may name a cross compiler), or a missing C library. \
         `--no-linker` does not need a linker.";

    /// The executable cannot be written.
    CANNOT_BUILD = "E0637", "cannot write the executable":
        "The executable is written under a temporary name in the same folder, made executable and renamed. A failed \
         build therefore does not change an earlier file. The path must lie in an existing, writable folder, and must not \
         be the path of a folder.\n\n\
         Wrong: `bnnc build model.bnn -o no-such-folder/model`.\n\n\
         Right: `bnnc build model.bnn -o model`.";

    /// The backend does not generate object files, but an executable needs them.
    NO_OBJECTS = "E0638", "no code for executables":
        "`bnnc build` needs a backend whose code can be stored in a file: `cranelift`, `mlir` or `cuda`. The backend `reference` \
         interprets programs, so its code cannot be linked.\
         \n\nWrong: `bnnc build model.bnn --backend reference -o model`.\n\nRight: `bnnc build model.bnn -o model`.";

    /// `--gpu` is given, but the backend does not generate GPU code.
    NO_GPU = "E0639", "no code for a GPU":
        "`--gpu` names the oldest GPU that must be able to run the executable. Only the backend `cuda` makes code for GPUs.\n\n\
         Wrong: `bnnc build model.bnn --gpu sm_90 -o model`.\n\n\
         Right: `bnnc build model.bnn --backend cuda --gpu sm_90 -o model`.";
}

reports! {
    /// Reports that the file `name` of the runtime was not found. `places` are the paths that were
    /// searched.
    fn no_runtime(name: &str, places: &[PathBuf])
        = usage(NO_RUNTIME, "`{name}` was not found")
        .note("`bnnc build` looked for {}", quoted_with(" and ", places.iter().map(|place| place.display())))
        .help("build it with `cargo build --release -p bnnc-runner` in the sources of bnnc, or give its path: `--runtime \
               PATH`");

    /// Reports the failure of the linker with the last lines of its output.
    fn link_failed(command: &str, message: &str)
        let lines = message.lines().collect::<Vec<_>>();
        = usage(LINK_FAILED, "`{command}` did not make an executable")
        .notes(lines.iter().skip(lines.len().saturating_sub(8)).copied())
        .help("use `--no-linker`, which does not need a linker");

    /// Reports that the executable cannot be written to `path`.
    fn cannot_build(path: &Path, why: &str)
        = of_data(CANNOT_BUILD, "cannot write `{}`: {why}", path.display())
        .help("name a file in a folder that you may write to: `-o PATH`");

    /// Reports that the C compiler `name` does not start.
    fn no_linker(name: &str, error: &std::io::Error)
        = usage(NO_LINKER, "the C compiler `{name}` does not start: {error}")
        .help("install a C compiler, or name another one: `CC=NAME`")
        .help("or make the executable without one: `--no-linker`");

    /// Reports a file that is not the runtime of this version.
    fn no_runner(path: &Path)
        = usage(NO_RUNTIME, "`{}` is not the runtime of bnnc {}", path.display(), env!("CARGO_PKG_VERSION"))
        .help("build it with `cargo build --release -p bnnc-runner` in the sources of bnnc, or give its path: `--runtime PATH`");

    /// Reports a runtime that expects programs in another layout than the one that this compiler writes.
    fn other_runner(path: &Path, layout: u64)
        = usage(NO_RUNTIME, "`{}` belongs to another build of bnnc", path.display())
        .note("it reads compiled programs of layout {layout}, but this bnnc writes layout {}", artefact::LAYOUT)
        .help("build both from the same sources: `cargo build --release -p bnnc -p bnnc-runner`");

    /// Reports a `bnnc-runner` that is shorter than its header states.
    fn half_a_runner(path: &Path)
        = usage(NO_RUNTIME, "`{}` is truncated: it has fewer bytes than its header states", path.display())
        .help("copy it again, or build it: `cargo build --release -p bnnc-runner`");

    /// Reports that the backend does not generate objects.
    fn no_objects(backend: &str)
        = usage(NO_OBJECTS, "the backend `{backend}` cannot make executables")
        .help("leave `--backend` out, or use `cranelift`, `mlir` or `cuda`");

    /// Reports `--gpu` with a backend that does not generate GPU code.
    fn no_gpu(backend: &str)
        = usage(NO_GPU, "`--gpu` needs the backend `cuda`, but the backend is `{backend}`")
        .help("add `--backend cuda`, or leave `--gpu` out");
}
