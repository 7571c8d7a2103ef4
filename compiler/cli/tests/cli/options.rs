//! Tests options in programs and options of the command line.

use crate::{accepted, bnnc, network, rejected, support};

/// A value of `--set` may be a keyword of the language, just as a value in an option block may be.
#[test]
fn values_of_set_are_parsed_as_in_an_option_block() {
    let sampled = network("epochs = 1").replace(
        "vi(P, d) { epochs = 1 }",
        "penalty(M, d) { batch = 2, warmup = 2, draws = 2 }",
    );
    let by_data = bnnc("set_word", "run", &sampled, &["--set", "f.loss=data"]);
    accepted(&by_data);
    assert!(
        by_data.stdout.contains("the ordinary posterior"),
        "{}",
        by_data.stdout
    );
}

#[test]
fn invalid_options_are_rejected_with_their_codes() {
    let run = |name: &str, options: &[&str]| bnnc(name, "run", &network("epochs = 1"), options);
    rejected(
        &run("set", &["--set", "f.nope=1"]),
        2,
        "E0257",
        "`vi` has no option `nope`",
    );
    rejected(
        &run("set_item", &["--set", "g.epochs=1"]),
        2,
        "E0260",
        "no inference or data item `g`",
    );
    rejected(
        &run("set_form", &["--set", "f.epochs"]),
        2,
        "E0601",
        "is not `ITEM.KEY=VALUE`",
    );
    rejected(
        &run("set_value", &["--set", "f.epochs=(("]),
        2,
        "E0106",
        "never closed",
    );
    rejected(
        &run("data", &["--data", "q=d.csv"]),
        2,
        "E0260",
        "no data item `q`",
    );
    rejected(
        &run("data_form", &["--data", "q"]),
        2,
        "E0601",
        "is not `NAME=PATH`",
    );
    rejected(
        &run("data_file", &["--data", "d=nope.csv"]),
        3,
        "E0401",
        "does not exist",
    );
    rejected(
        &run("only", &["--only", "fitt"]),
        2,
        "E0603",
        "`fitt` is not an inference",
    );
    rejected(
        &run("backend", &["--backend", "abacus"]),
        2,
        "E0602",
        "unknown backend `abacus`",
    );
    rejected(
        &run("without", &["--without", "nope"]),
        2,
        "E0608",
        "unknown rewrite `nope`",
    );
    rejected(
        &run("memory", &["--max-memory", "4K"]),
        1,
        "E0502",
        "the limit is 4.0 KiB",
    );
    rejected(
        &run("size", &["--max-memory", "lots"]),
        2,
        "E0601",
        "is not a size",
    );
    rejected(&run("out", &["--out", "/dev/null/x"]), 3, "E0503", "cannot write");
    assert_eq!(run("precision", &["--precision", "f16"]).status, 2);
    assert_eq!(run("seed", &["--seed", "-1"]).status, 2);
    assert_eq!(support::run(["frobnicate"]).status, 2);
    assert_eq!(support::run(["check", "/"]).status, 3);
    assert_eq!(support::run(["explain", "E9999"]).status, 2);
}

#[test]
fn too_many_draws_for_the_memory_are_rejected_before_the_run() {
    let output = bnnc(
        "draws",
        "run",
        &network("epochs = 1, samples = 100000000000"),
        &[],
    );
    rejected(&output, 1, "E0502", "of memory");
}
