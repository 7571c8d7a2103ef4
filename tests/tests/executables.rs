//! Tests of executables that contain code from MLIR. On a processor, an executable gives the same
//! numbers as `bnnc run`. For a GPU, an executable contains the same images as a run, and finds the
//! driver at run time.
//!
//! The environment variable `BNNC_MLIR_WORKER` names a worker. Therefore, these tests do not need
//! LLVM, and the `bnnc` that they build does not need LLVM either.
#![cfg(all(feature = "mlir", target_os = "linux"))]
#![allow(clippy::unwrap_used)]

mod mlir {
    use bnnc_abi::artefact::{self, Built};
    use bnnc_abi::code::{Detached, Object};
    use bnnc_driver::options::CompileOptions;
    use bnnc_tests::compile::{self, options};
    use serde_json::Value;
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};
    use std::sync::{Arc, OnceLock};

    const PROGRAM: &str = "\
use layers::Dense

data rows = csv(\"rows.csv\") { test = fraction(0.25) }

model Curve(x: real[D]) -> y: real {
  hidden = Dense(4)
  last   = Dense(1)
  s: positive ~ HalfNormal(1)
  y ~ Normal(last(tanh(hidden(x)))[0], s)
}

posterior Q of Curve {
  hidden.*, last.* ~ Normal(scale = 0.1)
  s ~ LogNormal(loc = -1, scale = 0.1)
}
infer varied  = vi(Q, rows) { epochs = 10, batch = 10 }
infer turning = nuts(Curve, rows) { chains = 2, warmup = 20, draws = 10 }
";

    /// Creates a folder that contains the program and its rows.
    fn workshop(name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let row = |i: i32| {
            let (x, z) = (f64::from(i) / 20.0 - 1.0, f64::from(i * 7 % 11) / 5.0 - 1.0);
            format!("{x},{z},{}\n", (2.0 * x).sin() - 0.7 * z)
        };
        let rows: String = (0..40).map(row).collect();
        fs::write(folder.join("rows.csv"), format!("x,z,y\n{rows}")).unwrap();
        fs::write(folder.join("curve.bnn"), PROGRAM).unwrap();
        folder
    }

    /// Returns the path of `bnnc`. The tests build it once, with the runtime in the same folder.
    fn bnnc() -> &'static Path {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        BUILT.get_or_init(|| {
            let own = std::env::current_exe().unwrap();
            let folder = own.parent().unwrap().parent().unwrap();
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args([
                "build",
                "--offline",
                "-p",
                "bnnc",
                "-p",
                "bnnc-runner",
                "--features",
                "cuda",
            ]);
            cargo.arg("--target-dir").arg(folder.parent().unwrap());
            if folder.ends_with("release") {
                cargo.arg("--release");
            }
            assert!(cargo.current_dir(bnnc_tests::root()).status().unwrap().success());
            folder.join("bnnc")
        })
    }

    fn reported(output: &Output) -> String {
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn build(folder: &Path, words: &[&str]) -> PathBuf {
        let executable = folder.join("curve");
        let mut command = Command::new(bnnc());
        command.arg("build").arg(folder.join("curve.bnn"));
        let output = command.arg("-o").arg(&executable).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", reported(&output));
        executable
    }

    /// Returns whether a C compiler is installed. If no C compiler is installed, prints a note that
    /// the test is skipped.
    fn compiles() -> bool {
        let compiles = Command::new("cc").arg("--version").output().is_ok();
        if !compiles {
            println!("not tested: what takes a C compiler");
        }
        compiles
    }

    /// Returns the options for each way of building an executable that this machine supports.
    fn ways() -> Vec<Vec<&'static str>> {
        match compiles() {
            true => vec![vec!["--no-linker"], vec![]],
            false => vec![vec!["--no-linker"]],
        }
    }

    /// Returns the `result.json` of a run without its durations.
    fn result(output: &Output) -> Value {
        assert!(output.status.success(), "{}", reported(output));
        let mut result: Value = serde_json::from_slice(&output.stdout).unwrap();
        bnnc_tests::compile::without_seconds(&mut result);
        result
    }

    #[test]
    fn an_executable_gives_the_numbers_of_a_run() {
        let folder = workshop("executable-numbers");
        for way in ways() {
            let executable = build(&folder, &[&["--backend", "mlir"], &way[..]].concat());
            for seed in ["0", "77"] {
                let words = ["--json", "--seed", seed];
                let found = Command::new(&executable).args(words).output().unwrap();
                let mut run = Command::new(bnnc());
                run.arg("run").arg(folder.join("curve.bnn")).args(words);
                let expected = run.args(["--backend", "mlir"]).output().unwrap();
                assert_eq!(result(&found), result(&expected), "{way:?} seed {seed}");
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }

    fn embedded(executable: &Path) -> (Vec<u8>, Vec<String>, Built) {
        let mut file = File::open(executable).unwrap();
        let artefact = artefact::embedded(&mut file).unwrap().unwrap();
        let (head, built) = artefact::decode(&artefact).unwrap();
        let mut runner = fs::read(executable).unwrap();
        runner.truncate(runner.len() - artefact::appended(&artefact).len());
        (runner, head.features, built)
    }

    /// The numbers of a run on a device depend on the plans, the images, the states and the data.
    /// States and data are the same for every backend, so the test compares only plans and images.
    #[test]
    fn an_executable_has_the_images_of_a_run() {
        let folder = workshop("executable-images");
        let executable = build(&folder, &["--backend", "cuda", "--no-linker"]);
        let (_, features, mut built) = embedded(&executable);
        assert_eq!(features, [""; 0]);
        assert_eq!(built.manifest.backend, "cuda");
        for seed in [0, 5] {
            built.manifest.reseed(seed);
            let options = CompileOptions {
                seed,
                ..options("cuda", None)
            };
            let mut compiled = compile::file(&folder.join("curve.bnn"), &options);
            let (found, expected) = (built.manifest.artifacts(), compiled.manifest.artifacts());
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(expected) {
                assert_eq!(found.plan, expected.plan);
                let images = found.code.device().unwrap();
                images.verify(&found.plan).unwrap();
                assert_eq!(images, expected.code.device().unwrap(), "{}", found.plan.name);
                assert_eq!(images.images[0].capability, 80);
            }
        }
        let executable = build(&folder, &["--backend", "cuda", "--no-linker", "--gpu", "sm_90"]);
        let (_, _, mut built) = embedded(&executable);
        for artifact in built.manifest.artifacts() {
            let image = &artifact.code.device().unwrap().images[0];
            assert!(image.capability == 90 && image.ptx.contains(".target sm_90"));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    /// Creates a folder with a stub of the GPU driver, named `libcuda.so.1`.
    fn driver(folder: &Path, name: &str, macros: &[&str]) -> PathBuf {
        let place = folder.join(name);
        fs::create_dir_all(&place).unwrap();
        let mut command = Command::new("cc");
        command
            .args(["-std=gnu11", "-O1", "-shared", "-fPIC"])
            .args(macros)
            .arg(bnnc_tests::root().join("runtime/cuda/tests/stub/driver.c"))
            .arg("-o")
            .arg(place.join("libcuda.so.1"))
            .arg("-lm");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", reported(&output));
        place
    }

    /// Runs the executable with the stub driver in a folder.
    fn with(driver: &Path, executable: &Path) -> Output {
        let mut command = Command::new(executable);
        command.env("LD_LIBRARY_PATH", driver).env("NO_COLOR", "1");
        command.env("STUB_CALLS", driver.join("calls")).arg("--json");
        command.output().unwrap()
    }

    fn rejected(output: &Output, status: i32, why: &str) {
        let text = reported(output);
        assert_eq!(output.status.code(), Some(status), "{text}");
        assert!(text.contains(why), "{why}: {text}");
    }

    /// Checks that the output is a JSON error with this code. The error must state that the machine
    /// lacks something.
    fn lacks(output: &Output, code: &str, why: &str) {
        rejected(output, 1, why);
        let line: Value = serde_json::from_str(reported(output).trim()).unwrap();
        assert_eq!(line["code"], code, "{line}");
    }

    /// The kernels of the stub driver do nothing. The run succeeds, but its results are
    /// meaningless.
    #[test]
    fn an_executable_runs_on_the_driver_that_it_finds() {
        if !compiles() {
            return;
        }
        let folder = workshop("executable-driver");
        let words = [
            "--backend",
            "cuda",
            "--only",
            "varied",
            "--set",
            "varied.epochs=4",
        ];
        let stub = driver(&folder, "stub", &["-DANY_KERNEL"]);
        let none = folder.join("none");
        fs::create_dir_all(&none).unwrap();
        for name in ["libcuda.so.1", "libcuda.so"] {
            // The system searches this folder first, so it finds a file that is not a library
            // before the library of the system.
            fs::write(none.join(name), "").unwrap();
        }
        let bare = driver(&folder, "bare", &["-DDEVICES=0"]);
        let hidden = driver(&folder, "hidden", &["-DINIT=100"]);
        let old = driver(&folder, "old", &["-DCAPABILITY=75"]);
        for way in ways() {
            let executable = build(&folder, &[&words[..], &way].concat());
            let output = with(&stub, &executable);
            assert!(output.status.success(), "{}", reported(&output));
            let result: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(
                result.to_string().contains("Stub (compute capability 9.0"),
                "{result}"
            );
            let calls = fs::read_to_string(stub.join("calls")).unwrap();
            for name in [
                "cuModuleLoadDataEx",
                "cuMemcpyHtoDAsync_v2",
                "cuLaunchKernel",
                "cuGraphLaunch",
            ] {
                assert!(calls.contains(name), "{name}: {calls}");
            }
            let output = with(&none, &executable);
            lacks(&output, "E0801", "no CUDA driver: ");
            let mut run = Command::new(bnnc());
            run.args(["run", "--json"])
                .arg(folder.join("curve.bnn"))
                .args(&words[..2]);
            let of_run = run.env("LD_LIBRARY_PATH", &none).output().unwrap();
            assert_eq!(
                (reported(&of_run), of_run.status.code()),
                (reported(&output), Some(1))
            );
            for driver in [&bare, &hidden] {
                lacks(
                    &with(driver, &executable),
                    "E0802",
                    "the CUDA driver shows no device",
                );
            }
            let why = "the code is for sm_80 and later, but Stub is sm_75";
            lacks(&with(&old, &executable), "E0803", why);
        }
        let newer = build(
            &folder,
            &[&words[..], &["--gpu", "sm_100", "--no-linker"]].concat(),
        );
        lacks(
            &with(&stub, &newer),
            "E0803",
            "the code is for sm_100 and later, but Stub is sm_90",
        );
        fs::remove_dir_all(folder).unwrap();
    }

    /// With the stub driver, the density is flat. Every tree of the sampler therefore grows to its
    /// full depth and takes thousands of steps. Each step makes one launch and one wait. All other
    /// calls are made at the start and at the end of a chain.
    #[test]
    fn a_leapfrog_step_launches_one_graph() {
        if !compiles() {
            return;
        }
        let folder = workshop("executable-leapfrog");
        let stub = driver(&folder, "stub", &["-DANY_KERNEL"]);
        let settings = [
            "--only",
            "turning",
            "--set",
            "turning.warmup=2",
            "--set",
            "turning.draws=4",
        ];
        let words = ["--backend", "cuda", "--no-linker"];
        let executable = build(&folder, &[&words[..], &settings].concat());
        let output = with(&stub, &executable);
        assert!(output.status.success(), "{}", reported(&output));
        let calls = fs::read_to_string(stub.join("calls")).unwrap();
        let count = |name: &str| -> usize {
            let of = |line: &str| line.strip_prefix(name)?.trim().parse().ok();
            calls.lines().find_map(of).unwrap_or(0)
        };
        let steps = count("cuGraphLaunch");
        assert!(steps > 4000, "{calls}");
        let others = ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuLaunchKernel"];
        assert!(
            others.into_iter().map(count).sum::<usize>() < steps / 10,
            "{calls}"
        );
        assert!(count("cuStreamSynchronize").abs_diff(steps) < 100, "{calls}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn damaged_images_are_reported() {
        if !compiles() {
            return;
        }
        let folder = workshop("executable-damaged");
        let stub = driver(&folder, "stub", &["-DANY_KERNEL"]);
        let words = ["--backend", "cuda", "--only", "varied", "--no-linker"];
        let executable = build(&folder, &words);
        let (runner, features, mut built) = embedded(&executable);
        let bytes = fs::read(&executable).unwrap();
        let at = bytes
            .windows(12)
            .rposition(|bytes| bytes == b".address_siz")
            .unwrap();
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        let run = |bytes: &[u8]| {
            let other = folder.join("other");
            let _ = fs::remove_file(&other);
            // The file is copied by another process. If this process had the file open for writing,
            // a child process of another test could inherit the open file. The system does not
            // execute a file that is open for writing.
            let staged = folder.join("staged");
            fs::copy(&executable, &staged).unwrap();
            fs::write(&staged, bytes).unwrap();
            let copied = Command::new("cp").args([&staged, &other]).status().unwrap();
            assert!(copied.success());
            with(&stub, &other)
        };
        rejected(&run(&flipped), 2, "damaged: its checksum differs");
        // The bundle is complete, but the driver cannot compile its PTX.
        for artifact in built.manifest.artifacts() {
            let mut object: Object = artifact.code.object().unwrap().clone();
            let program = object.device.as_mut().unwrap();
            program.images[0].ptx = "broken".into();
            artifact.code = Arc::new(Detached(object));
        }
        let artefact = artefact::encode(&built, features).unwrap();
        let output = run(&[runner, artefact::appended(&artefact)].concat());
        rejected(&output, 101, "CUDA_ERROR_INVALID_PTX");
        assert!(reported(&output).contains("Unknown symbol 'broken'"));
        fs::remove_dir_all(folder).unwrap();
    }
}
