//! The assembler `ptxas` accepts every GPU program of every example. The variable `BNNC_PTXAS`
//! names the assembler. Some programs are also assembled in the version of `--gpu`. Run the tests
//! with
//! `BNNC_MLIR_WORKER=WORKER BNNC_PTXAS=PTXAS cargo test -p bnnc-tests --features mlir --test ptxas -- --ignored`.
#![cfg(feature = "mlir")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use bnnc_abi::code::KernelCode;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_driver::options::{Chip, CompileOptions, chip};
use bnnc_tests::compile::{self, examples, options};
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

/// The GPUs that the default PTX text is assembled for.
const CHIPS: [&str; 2] = ["sm_80", "sm_90"];
/// A GPU that gets a separate PTX text from the compiler. The PTX text of this GPU differs from the
/// default text only in the PTX version, in the header, and in the notation for the unused half of
/// a register. For this GPU, it is therefore enough to assemble the largest program of each
/// example.
const OWN: &str = "sm_90";

thread_local! {
    /// The PTX of the programs that this thread has compiled since the last call of `take`.
    static COMPILED: RefCell<Vec<Arc<str>>> = const { RefCell::new(Vec::new()) };
}

/// Records the images of a program instead of loading them on a device.
fn note(code: Arc<dyn KernelCode>) -> Result<Arc<dyn KernelCode>, Fault> {
    let images = code.device().into_iter().flat_map(|program| &program.images);
    COMPILED.with_borrow_mut(|compiled| compiled.extend(images.map(|image| image.ptx.clone())));
    Ok(code)
}

fn images(path: &Path, precision: Precision, gpu: Chip) -> Vec<Arc<str>> {
    let options = CompileOptions {
        attach: Some(note),
        gpu,
        ..options("cuda", Some(precision))
    };
    compile::file(path, &options);
    COMPILED.take()
}

/// Returns the output of `ptxas` for a PTX text and a GPU; `None` if `ptxas` succeeds without
/// output.
fn assembled(ptxas: &Path, ptx: &str, chip: &str) -> Option<String> {
    let mut command = Command::new(ptxas);
    command.args(["--gpu-name", chip, "--output-file", "/dev/null", "/dev/stdin"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(ptx.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let reported = [output.stdout, output.stderr].concat();
    let reported = String::from_utf8_lossy(&reported).into_owned();
    (!output.status.success() || !reported.is_empty()).then_some(reported)
}

/// Returns the errors of a PTX text. The errors are the output of `ptxas` and the calls of
/// functions that are not defined. The driver could not link such calls.
fn faults(ptxas: &Path, ptx: &str, chips: &[&str]) -> Vec<String> {
    let unresolved = ptx
        .contains(".extern .func")
        .then(|| "calls what is not there".to_owned());
    let reported = chips
        .iter()
        .filter_map(|chip| assembled(ptxas, ptx, chip).map(|reported| format!("{chip}: {reported}")));
    unresolved.into_iter().chain(reported).collect()
}

/// Compiles all examples in one precision. Returns the number of their GPU programs, and the
/// errors.
fn check(ptxas: &Path, precision: Precision) -> (usize, Vec<String>) {
    let own = chip::lookup(OWN).expect("a processor with this name");
    let (mut count, mut all) = (0, Vec::new());
    for path in examples() {
        let early = images(&path, precision, chip::DEFAULT);
        let late = images(&path, precision, own);
        let Some(largest) = late.iter().max_by_key(|ptx| ptx.len()) else {
            panic!("{} has no programs", path.display());
        };
        count += early.len() + 1;
        let found = early.iter().flat_map(|ptx| faults(ptxas, ptx, &CHIPS));
        let found = found.chain(faults(ptxas, largest, &[OWN]));
        all.extend(found.map(|fault| format!("{} {precision} {fault}", path.display())));
    }
    (count, all)
}

#[test]
#[ignore = "needs ptxas, which BNNC_PTXAS names"]
fn every_program_is_assembled_without_warnings() {
    let ptxas = PathBuf::from(std::env::var_os("BNNC_PTXAS").expect("BNNC_PTXAS names ptxas"));
    let ptxas = ptxas.as_path();
    let found = thread::scope(|scope| {
        let running =
            [Precision::F32, Precision::F64].map(|precision| scope.spawn(move || check(ptxas, precision)));
        running.map(|one| one.join().unwrap())
    });
    for (count, faults) in found {
        println!("{count} programs");
        assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    }
}
