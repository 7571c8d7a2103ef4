//! Tests the exit statuses and messages of the binary, as users see them. No program and no file may
//! cause a panic.

#[path = "../support/mod.rs"]
mod support;

mod data;
mod options;
mod programs;
mod texts;

use std::path::PathBuf;
use support::Output;

const TABLE: &str = "a,b,y\n1,2,3\n2,1,4\n0,1,0.5\n1,1,2\n";
const TRUTHS: &str = "a,b,v\n1,2,1\n2,1,0\n0,1,1\n1,1,0\n";

/// Creates a folder with these files and returns its path.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli").join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    for (file, text) in [("d.csv", TABLE), ("t.csv", TRUTHS)].iter().chain(files) {
        std::fs::write(folder.join(file), text).expect("a file of the test");
    }
    folder
}

/// Writes a program to `m.bnn` and runs `bnnc COMMAND m.bnn OPTIONS..`.
fn bnnc(name: &str, command: &str, program: &str, options: &[&str]) -> Output {
    let folder = folder(name, &[("m.bnn", program)]);
    let file = folder.join("m.bnn");
    let mut arguments = vec![command, file.to_str().expect("a readable path")];
    arguments.extend(options);
    support::run(&arguments)
}

/// Returns a program for the table `d.csv`. `body` contains the statements of the model, `lines`
/// the lines of the posterior, and `options` the options of the inference block.
fn program(body: &str, lines: &str, options: &str) -> String {
    format!(
        "use layers::Dense\n\
         data d = csv(\"d.csv\")\n\
         model M(x: real[k]) -> y: real {{\n{body}\n}}\n\
         posterior P of M {{\n{lines}\n}}\n\
         infer f = vi(P, d) {{ {options} }}\n"
    )
}

/// Returns the program of a valid network.
fn network(options: &str) -> String {
    program(
        "  h = Dense(1)\n  s: positive ~ HalfNormal(1)\n  y ~ Normal(h(x)[0], s)",
        "  h.* ~ Normal(scale = 0.1)\n  s ~ LogNormal(loc = -1, scale = 0.1)",
        options,
    )
}

/// Returns a program whose model does not have layers. `expression` is the mean of the output.
fn mean(expression: &str) -> String {
    program(
        &format!("  s: positive ~ HalfNormal(1)\n  y ~ Normal({expression}, s)"),
        "  s ~ LogNormal()",
        "epochs = 1",
    )
}

#[track_caller]
fn rejected(output: &Output, status: i32, code: &str, fragment: &str) {
    assert_eq!(output.status, status, "{}", output.stderr);
    assert!(
        output.stderr.contains(&format!("[{code}]")),
        "no {code} in:\n{}",
        output.stderr
    );
    assert!(
        output.stderr.contains(fragment),
        "no `{fragment}` in:\n{}",
        output.stderr
    );
}

#[track_caller]
fn accepted(output: &Output) {
    assert_eq!(output.status, 0, "{}", output.stderr);
}
