//! Tests the options that are fixed at the build, and those that can be set when an executable starts.

use crate::support::rendered::hold;
use crate::support::{self, run};
use crate::{QUICK, adjustable, both, built, execute, ways, with_program};
use serde_json::Value;
use std::fs;

#[test]
fn options_of_the_compiler_are_fixed_at_the_build() {
    let folder = with_program("decided", QUICK);
    let executable = built(&folder, "curve", &["--no-linker"]);
    for words in [
        &["--precision", "f64"][..],
        &["--backend", "reference"],
        &["--without", "exact-kl"],
    ] {
        let output = execute(&executable, words);
        assert_eq!(output.status, 2, "{words:?}: {}", output.stderr);
        assert!(output.stderr.contains("E0633") && output.stderr.contains(words[0]));
        hold("E0633", &output.stderr, false);
    }
    let output = execute(&executable, &["--sead", "1"]);
    assert_eq!(output.status, 2);
    assert!(output.stderr.contains("--seed"), "{}", output.stderr);
    let output = execute(&executable, &["--epochs", "3"]);
    assert_eq!(output.status, 2);
    assert!(!output.stderr.contains("as a value"), "{}", output.stderr);
    let help = execute(&executable, &["--help"]);
    assert_eq!(help.status, 0);
    for word in ["curve.bnn", "mode", "map", "rows.csv", "--resume"] {
        assert!(help.stdout.contains(word), "{word} in\n{}", help.stdout);
    }
    // The limit already applies while data are read, before the memory of the run is predicted.
    let narrow = execute(&executable, &["--max-memory", "1K"]);
    assert_eq!(narrow.status, 3, "{}", narrow.stderr);
    assert!(narrow.stderr.contains("E0435"), "{}", narrow.stderr);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn runtime_options_are_set_when_an_executable_starts() {
    let folder = adjustable("adjustable");
    let settings = [
        "varied.epochs=7",
        "varied.batch=16",
        "varied.patience=2",
        "varied.predictive_draws=30",
        "around.epochs=3",
        "around.temperature=2",
        "turning.chains=3",
        "turning.warmup=15",
        "turning.draws=8",
        "turning.thin=2",
        "turning.temperature=1.5",
        "turning.jitter=0.5",
        "turning.target_acceptance=0.7",
        "turning.max_depth=4",
        "leaping.steps=5",
        "leaping.step_size=1e-2",
        "sliding.batch=12",
        "sliding.step_size=2e-5",
        "sliding.friction=0.2",
        "penal.batch=20",
        "penal.batches=4",
        "iterate.epochs=12",
        "iterate.warmup=2",
        "iterate.every=3",
        "iterate.keep=3",
        "iterate.scale=0.5",
        "several.members=2",
        "several.epochs=4",
        "boxes.predictive_draws=7",
    ];
    let words: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    for way in ways() {
        let executable = built(&folder, "curve", way);
        let [found, expected] = both(&folder, &executable, &words);
        assert_eq!(found, expected, "{way:?}");
        let [plain, _] = both(&folder, &executable, &[]);
        // The predicted memory is not compared, because it depends on the results that earlier
        // inferences keep.
        let without_cost = |result: &Value, name: &str| {
            let mut infer = result["infer"][name].clone();
            infer.as_object_mut().unwrap().remove("cost").unwrap();
            infer
        };
        for name in found["infer"].as_object().unwrap().keys() {
            let is_same = without_cost(&plain, name) == without_cost(&found, name);
            assert_eq!(is_same, ["mode", "apart"].contains(&&**name), "{name}");
        }
    }
    // The run folder records the settings, and is the same as the run folder of `bnnc run`.
    let executable = folder.join("curve");
    let words = ["--only", "mode", "--set", "mode.epochs=4"];
    let outs = ["one", "other"].map(|name| folder.join(name));
    let [one, other] = outs.each_ref().map(|out| out.to_str().unwrap());
    let found = execute(&executable, &[&words[..], &["--out", one]].concat());
    assert_eq!(found.status, 0, "{}", found.stderr);
    let program = folder.join("curve.bnn");
    let expected = run([&["run", program.to_str().unwrap(), "--out", other], &words[..]].concat());
    assert_eq!(expected.status, 0, "{}", expected.stderr);
    let [one, other] = outs.each_ref().map(|out| support::numbers(out));
    assert!(one.contains_key("posterior.safetensors") && one == other);
    fs::remove_dir_all(folder).unwrap();
}

/// Settings that are errors. Each entry holds the setting, the code of the error, a part of the message, and
/// whether `bnnc run` reports the same error.
const UNSETTABLE: &[(&str, &str, &str, bool)] = &[
    (
        "mode.epochs=0",
        "E0258",
        "`epochs` must be an integer from 1 to 1000000000000, found 0",
        true,
    ),
    (
        "mode.epochs=2.5",
        "E0258",
        "integer from 1 to 1000000000000, found 2.5",
        true,
    ),
    (
        "mode.epochs=ten",
        "E0258",
        "`epochs` must be an integer from 1 to 1000000000000",
        true,
    ),
    (
        "sliding.friction=1",
        "E0258",
        "`friction` must be a number between 0 and 1, found 1",
        true,
    ),
    (
        "turning.jitter=-1",
        "E0258",
        "`jitter` must be a number of at least 0, found -1",
        true,
    ),
    ("mode.epoch=4", "E0257", "did you mean `epochs`?", true),
    ("made.epochs=4", "E0260", "did you mean `mode`?", true),
    ("epochs=4", "E0601", "is not `ITEM.KEY=VALUE`", true),
    (
        "iterate.epochs=6",
        "E0614",
        "one iterate every 2 give 0 iterates",
        true,
    ),
    (
        "boxes.epochs=6",
        "E0614",
        "the iterates of an earlier inference",
        true,
    ),
    (
        "penal.batches=1",
        "E0614",
        "needs `batches` of at least 2, not 1",
        true,
    ),
    (
        "mode.optimiser=Adam(1e-2)",
        "E0633",
        "it changes the compiled code",
        false,
    ),
    ("varied.samples=2", "E0633", "it changes the compiled code", false),
    (
        "mode.schedule=cosine",
        "E0633",
        "only the compiler reads its values",
        false,
    ),
    (
        "boxes.draws=3",
        "E0633",
        "only the compiler reads its values",
        false,
    ),
    ("rows.split=2", "E0633", "only the compiler reads", false),
];

#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn options_that_cannot_be_set_are_rejected_with_the_reason() {
    let folder = adjustable("unset");
    let executable = built(&folder, "curve", &["--no-linker"]);
    let program = folder.join("curve.bnn");
    for &(setting, code, reason, is_shared) in UNSETTABLE {
        let output = execute(&executable, &["--set", setting]);
        assert_eq!(output.status, 2, "{setting}: {}", output.stderr);
        assert!(
            output.stderr.contains(code) && output.stderr.contains(reason),
            "{setting}: {}",
            output.stderr
        );
        if is_shared {
            let reported = run(["run", program.to_str().unwrap(), "--set", setting]).stderr;
            assert!(
                reported.contains(code) && reported.contains(reason),
                "{setting}: {reported}"
            );
        }
    }
    let output = execute(&executable, &["--set", "mode.epochs=0", "--set", "mode.batch=-1"]);
    assert!(output.stderr.contains("2 errors"), "{}", output.stderr);
    // The option `patience` needs validation rows, but the data item does not hold out any rows.
    let output = execute(&executable, &["--set", "apart.patience=3"]);
    assert!(
        output.stderr.contains("`others` does not hold out any"),
        "{}",
        output.stderr
    );
    fs::remove_dir_all(folder).unwrap();
}
