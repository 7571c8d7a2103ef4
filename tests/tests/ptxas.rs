//! Every program of every example for graphics processors is assembled by `ptxas`, which `BNNC_PTXAS` names, and some also from the
//! text that `--gpu` asks for:
//! `BNNC_MLIR_WORKER=WORKER BNNC_PTXAS=PTXAS cargo test -p bnnc-tests --features mlir --test ptxas -- --ignored`.
#![cfg(feature = "mlir")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use bnnc_abi::code::Code;
use bnnc_base::dtype::Precision;
use bnnc_base::fault::Fault;
use bnnc_driver::options::{Chip, Options, chip};
use bnnc_tests::compile::{self, examples, options};
use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

/// The processors that the text without `--gpu` is assembled for.
const CHIPS: [&str; 2] = ["sm_80", "sm_90"];
/// The processor that has a text of its own. It is the other text in a later version of PTX, which differs in its head and in how the
/// half of a register that nobody wants is written; so the largest program of each example stands for all.
const OWN: &str = "sm_90";

thread_local! {
    /// The PTX of the programs that this thread compiled since they were last taken.
    static COMPILED: RefCell<Vec<Arc<str>>> = const { RefCell::new(Vec::new()) };
}

/// Notes the images of a program, in the place of a device that would load them.
fn note(code: Arc<dyn Code>) -> Result<Arc<dyn Code>, Fault> {
    let images = code.device().into_iter().flat_map(|program| &program.images);
    COMPILED.with_borrow_mut(|compiled| compiled.extend(images.map(|image| image.ptx.clone())));
    Ok(code)
}

fn images(path: &Path, precision: Precision, gpu: Chip) -> Vec<Arc<str>> {
    let options = Options {
        attach: Some(note),
        gpu,
        ..options("cuda", Some(precision))
    };
    compile::file(path, &options);
    COMPILED.take()
}

/// What `ptxas` says of an image for a processor; nothing where all is well.
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
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    (!output.status.success() || !said.is_empty()).then_some(said)
}

/// What is wrong with an image: calls of what is not there, since the driver links nothing, and what `ptxas` says.
fn faults(ptxas: &Path, ptx: &str, chips: &[&str]) -> Vec<String> {
    let unresolved = ptx
        .contains(".extern .func")
        .then(|| "calls what is not there".to_owned());
    let said = chips
        .iter()
        .filter_map(|chip| assembled(ptxas, ptx, chip).map(|said| format!("{chip}: {said}")));
    unresolved.into_iter().chain(said).collect()
}

/// How many programs the examples have in a precision, and their faults.
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
