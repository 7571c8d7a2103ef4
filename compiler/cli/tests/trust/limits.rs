//! Files without an end, sizes and lengths that no machine has.

use super::support::{run, trial::Trial};
use flate2::{Compression, write::GzEncoder};
use std::io::Write as _;

const LINE: &str = "data d = csv(\"d.csv\") { target = y }
model M(x: real) -> y: real {
  a ~ Normal(0, 1)
  y ~ Normal(a * x, 1)
}
";

fn line(infer: &str) -> Trial {
    let rows = (0..20).map(|row| format!("{row},{row}\n"));
    let table: String = std::iter::once("x,y\n".to_owned()).chain(rows).collect();
    Trial::new()
        .file("d.csv", table)
        .program(&format!("{LINE}{infer}\n"))
}

/// Every command that reads a program used to read a device until memory ended.
#[test]
#[cfg(unix)]
fn a_program_without_an_end_is_rejected() {
    for words in [&["run"][..], &["check"], &["fmt"], &["emit", "hir"], &["wmi"]] {
        let output = run(words.iter().chain(&["/dev/zero"]));
        output.assert_error("E0605", 3, &["/dev/zero", "16 MiB"]);
    }
}

/// A pipe that no program writes into used to be waited for without an end.
#[test]
#[cfg(unix)]
fn a_pipe_without_a_writer_is_rejected() {
    let trial = line("infer fit = map(M, d)");
    let pipe = trial.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let output = trial.bnnc("check", &["--data", &format!("d={}", pipe.display())]);
    output.assert_error("E0402", 3, &["pipe", "no program writes into it"]);
    let program = pipe.to_str().expect("the path is text");
    run(["check", program]).assert_error("E0605", 3, &["pipe", "no program writes into it"]);
}

/// A pipe with a writer is a program like any other.
#[test]
#[cfg(unix)]
fn a_program_is_read_from_a_pipe() {
    let trial = line("infer fit = map(M, d)");
    let pipe = trial.path("pipe.bnn");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    let text = "fn f(x: real) -> real = x +\n";
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || std::fs::write(pipe, text))
    };
    run(["check", pipe.to_str().expect("the path is text")]).assert_error("E0108", 1, &["pipe.bnn"]);
    writer.join().expect("the writer ends").expect("it is written");
}

/// Values of these used to overflow products of theirs, or to run for ever.
#[test]
fn absurd_options_are_rejected_with_their_limit() {
    let cases = [
        ("nuts", "thin", "1000000000000", "1000000"),
        ("nuts", "chains", "4000000000", "10000"),
        ("nuts", "draws", "1000000000000", "1000000000"),
        ("nuts", "warmup", "1000000000000", "1000000000"),
        ("nuts", "max_depth", "64", "30"),
        ("nuts", "predictive_draws", "1000000000000", "1000000000"),
        ("map", "restarts", "4000000000", "10000"),
        ("ensemble", "members", "4000000000", "10000"),
        ("map", "epochs", "9000000000000", "1000000000000"),
    ];
    for (method, option, value, most) in cases {
        let trial = line(&format!("infer fit = {method}(M, d) {{ {option} = {value} }}"));
        let texts = [
            &*format!("`{option}` must be an integer"),
            &*format!("to {most}, found {value}"),
        ];
        trial.bnnc("run", &[]).assert_error("E0258", 1, &texts);
    }
}

/// What reading takes was counted without the text of a packed file and without the split that is cut from the table.
#[test]
fn a_packed_table_is_read_within_the_memory_that_is_allowed() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(b"y\n").expect("it is packed");
    for _ in 0..1000 {
        packed
            .write_all(&b"1\n2\n3\n".repeat(1000))
            .expect("it is packed");
    }
    let trial = Trial::new()
        .file("d.csv.gz", packed.finish().expect("it is packed"))
        .program(
            "data d = csv(\"d.csv.gz\") { target = y }
model M() -> y: real {
  a ~ Normal(0, 1)
  y ~ Normal(a, 1)
}
infer fit = map(M, d) { steps = 10 }
",
        );
    // A table of three million rows is 24 MB, and as much again as a split.
    let output = trial.bnnc("run", &["--max-memory", "40M"]);
    output.assert_error("E0435", 3, &["d.csv.gz", "bytes of memory"]);
}
