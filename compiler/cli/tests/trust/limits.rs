//! Tests that limits stop infinite files, and sizes and lengths that are too large for any machine.

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

/// If the program file is an endless device, a command must not read until memory runs out.
#[test]
#[cfg(unix)]
fn a_program_without_an_end_is_rejected() {
    for words in [&["run"][..], &["check"], &["fmt"], &["emit", "hir"], &["wmi"]] {
        let output = run(words.iter().chain(&["/dev/zero"]));
        output.assert_error("E0605", 3, &["/dev/zero", "16 MiB"]);
    }
}

/// A command must not wait forever for a pipe that does not have a writer.
#[test]
#[cfg(unix)]
fn a_pipe_without_a_writer_is_rejected() {
    let trial = line("infer fit = map(M, d)");
    let pipe = trial.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo runs").success());
    // Each command waits some seconds for a writer, so they run at the same time.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let output = trial.bnnc("check", &["--data", &format!("d={}", pipe.display())]);
            output.assert_error("E0402", 3, &["pipe", "no program writes into it"]);
        });
        let program = pipe.to_str().expect("the path is text");
        run(["check", program]).assert_error("E0605", 3, &["pipe", "no program writes into it"]);
    });
}

/// A command reads a pipe that has a writer in the same way as a file.
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

/// Without limits on these options, products of their values would overflow, or the run would not
/// end.
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

/// The predicted memory for reading includes the decompressed text of a file, and a copy of the
/// rows for a split.
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
    // A table of three million rows takes 24 MB, and the split takes another 24 MB.
    let output = trial.bnnc("run", &["--max-memory", "40M"]);
    output.assert_error("E0435", 3, &["d.csv.gz", "more memory"]);
}

/// Without a limit, `bnnc repl < /dev/zero` would collect an infinite line.
#[test]
#[cfg(unix)]
fn the_repl_ends_after_an_entry_without_an_end() {
    let zeros = std::fs::File::open("/dev/zero").expect("the device opens");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("repl")
        .stdin(zeros)
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("longer than 16777216 bytes"));
}

/// The limit applies to whole entries, not only to single lines. The test also detects quadratic
/// time: if the session parsed the whole entry again after each line, 4200 lines of 4096 bytes
/// would take 33 s.
#[test]
fn the_repl_ends_after_an_entry_of_very_many_lines() {
    let lines = format!("{{{}\n", " ".repeat(4094)).repeat(4200);
    let trial = Trial::new().file("entry", lines);
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_bnnc"))
        .arg("repl")
        .stdin(std::fs::File::open(trial.path("entry")).expect("the file opens"))
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("an entry is longer than 16777216 bytes"));
}

/// `bnnc predict` must not wait forever if its output is a pipe without a reader.
#[test]
#[cfg(unix)]
fn a_pipe_without_a_reader_is_rejected() {
    let trial = line("infer fit = map(M, d) { steps = 10 }");
    let path = |name: &str| trial.path(name).display().to_string();
    assert_eq!(trial.bnnc("run", &["--out", &path("out")]).status, 0);
    let made = std::process::Command::new("mkfifo").arg(path("pipe")).status();
    assert!(made.expect("mkfifo runs").success());
    let output = run([
        "predict",
        &path("out"),
        "--data",
        &path("d.csv"),
        "-o",
        &path("pipe"),
    ]);
    output.assert_error("E0432", 3, &["no program reads from it"]);
}

/// Each assignment uses the previous assignment twice, so the number of paths to the first
/// assignment grows to 2^59.
#[test]
fn assignments_that_double_are_compiled_in_linear_time() {
    let doubles: String = (1..60)
        .map(|at| format!("  b{at} = b{} + b{}\n", at - 1, at - 1))
        .collect();
    let trial = Trial::new().file("d.csv", "x,y\n1,1\n2,3\n").program(&format!(
        "data d = csv(\"d.csv\") {{ target = y }}
model M(x: real) -> y: real {{
  a ~ Normal(0, 1)
  b0 = 1e-18 * a * x
{doubles}  y ~ Normal(b59, 1)
}}
infer fit = map(M, d) {{ steps = 2 }}"
    ));
    assert_eq!(trial.bnnc("run", &[]).status, 0);
}

/// The smallest 64-bit integer divided by -1 does not fit into 64 bits.
#[test]
fn a_quotient_of_integers_that_overflows_is_rejected() {
    let size = "(-9223372036854775807 - 1) / (-1)";
    let trial = line("infer fit = map(M, d)");
    let text = format!("{LINE}infer fit = map(M, d)\n")
        .replace("a * x, 1", &format!("a * x + sum(zeros({size})), 1"));
    let trial = trial.program(&text);
    let texts = ["does not fit into 64 bits"];
    trial.bnnc("check", &[]).assert_error("E0290", 1, &texts);
}

/// The memory for column names is limited. The time to find duplicate names does not grow with the
/// square of their number.
#[test]
fn very_many_columns_are_bounded() {
    let commas = ",".repeat(1 << 22);
    let trial = Trial::new()
        .file("d.csv", format!("x,y{commas}\n"))
        .program(&format!("{LINE}infer fit = map(M, d)\n"));
    trial
        .bnnc("run", &["--max-memory", "100M"])
        .assert_error("E0435", 3, &["d.csv"]);
}

/// libFuzzer found this file. It makes an assertion in the Parquet library fail.
#[test]
fn an_assertion_on_a_damaged_file_is_a_data_error() {
    let trial = Trial::new()
        .file("d.parquet", include_bytes!("damaged.parquet"))
        .program("data d = parquet(\"d.parquet\") { target = y }\nmodel M(x: real) -> y: real {\n  y ~ Normal(x, 1)\n}\ninfer f = map(M, d)\n");
    let output = trial.bnnc("check", &[]);
    output.assert_error("E0411", 3, &["its pages contradict each other"]);
    assert!(!output.stderr.contains("bug in bnnc"), "{}", output.stderr);
}

/// Memory for the rows is checked against the limit before it is reserved. Otherwise, under a limit
/// on the address space, a failed allocation would abort the process.
#[test]
#[cfg(target_os = "linux")]
fn a_small_file_of_many_rows_is_rejected_below_the_address_space() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"x,y\n").expect("it is packed");
    let block = "1,2\n".repeat(100_000);
    for _ in 0..400 {
        packed.write_all(block.as_bytes()).expect("it is packed");
    }
    let trial = Trial::new()
        .file("d.csv.gz", packed.finish().expect("it is packed"))
        .program(
            "data d = csv(\"d.csv.gz\")
model M(x: real) -> y: real {
  b ~ Normal(0, 1)
  y ~ Normal(b * x, 1)
}
infer fit = map(M, d)
",
        );
    // The text takes 160 MB, and the two columns take 640 MB.
    for kilobytes in ["300000", "600000", "900000"] {
        let output = std::process::Command::new("sh")
            .args(["-c", "ulimit -v $0 && exec \"$1\" run \"$2\""])
            .arg(kilobytes)
            .arg(env!("CARGO_BIN_EXE_bnnc"))
            .arg(trial.path("program.bnn"))
            .output()
            .expect("the shell runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{kilobytes}: {stderr}");
        assert!(stderr.contains("error[E0435]"), "{kilobytes}: {stderr}");
    }
}
