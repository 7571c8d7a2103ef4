//! Tests the codes and exit statuses of the errors that the command line reports. The exit status
//! distinguishes wrong usage from errors in the program and from errors in the data.

mod support;

use std::path::{Path, PathBuf};
use support::rendered::hold;
use support::{Output, run};

const YACHT: &str = "examples/yacht/yacht.bnn";

fn assert_rejected(output: &Output, code: &str, status: i32) {
    let expected = format!("error[{code}]");
    assert!(output.stderr.starts_with(&expected), "{output:?}");
    assert_eq!(output.status, status, "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    // Numbers in diagnostics of these codes are masked, because the memory of a run and the results
    // of chains depend on the machine.
    hold(code, &output.stderr, code.starts_with("E05"));
}

/// Whoever deletes or renames a test must also delete or rename the file with its rendered diagnostic.
#[test]
fn every_rendered_diagnostic_has_its_test() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut sources = String::new();
    read_sources(&tests, &mut sources);
    for entry in std::fs::read_dir(tests.join("rendered")).expect("the folder is read") {
        let path = entry.expect("an entry").path();
        // Snapshots that were not accepted yet are in the same folder, but have another extension.
        if path.extension().is_none_or(|extension| extension != "snap") {
            continue;
        }
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let test = stem.rsplit('.').next().unwrap_or_default();
        assert!(
            sources.contains(&format!(" {test}:")) || sources.contains(&format!("fn {test}()")),
            "{stem}"
        );
    }
}

/// The exit status is 2 for wrong usage, and 3 for a missing file.
#[test]
fn options() {
    assert_rejected(&run(["check", YACHT, "--data", "x"]), "E0601", 2);
    assert_rejected(&run(["run", YACHT, "--max-memory", "lots"]), "E0601", 2);
    assert_rejected(&run(["run", YACHT, "--backend", "nope"]), "E0602", 2);
    assert_rejected(&run(["run", YACHT, "--only", "nope"]), "E0603", 2);
    assert_rejected(&run(["emit", "nope", YACHT]), "E0604", 2);
    assert_rejected(&run(["run", "examples/nope.bnn"]), "E0605", 3);
    assert_rejected(&run(["run", YACHT, "--without", "nope"]), "E0608", 2);
    // Each of the two settings is valid alone, but they cannot be used together.
    let apart = run([
        "run",
        "examples/penalty/penalty.bnn",
        "--only",
        "penalised",
        "--set",
        "penalised.batches=1",
    ]);
    assert_rejected(&apart, "E0614", 2);
}

/// The backend `mlir` needs a worker process, but a build without LLVM does not contain one.
/// Printing the MLIR text of a program does not need the worker.
#[test]
#[cfg(not(feature = "mlir"))]
fn a_backend_that_is_not_inside() {
    let output = run(["run", YACHT, "--backend", "mlir"]);
    assert_rejected(&output, "E0602", 2);
    for words in ["--features mlir", "BNNC_MLIR_WORKER"] {
        assert!(output.stderr.contains(words), "{}", output.stderr);
    }
    assert_eq!(run(["__mlir-worker", "object", "1"]).status, 2);
}

/// Every build knows the names of all methods, so the error must differ from the error about an
/// unknown name.
#[test]
#[cfg(not(feature = "collapsed"))]
fn a_method_that_is_not_inside() {
    let infer = "model M(a: real) -> y: real {\n w ~ Normal(0, 1)\n y ~ Normal(w * a, 1)\n}\ninfer f = collapsed(M, d) { over = [w] }\n";
    let output = run_program("absent-method", &format!("{DATA}{infer}"));
    assert_eq!(output.status, 2, "{output:?}");
    for words in ["error[E0618]", "`collapsed`", "--features collapsed"] {
        assert!(output.stderr.contains(words), "{}", output.stderr);
    }
}

#[test]
#[cfg(not(feature = "images"))]
fn readers_of_images_that_are_not_inside() {
    let text = "data d = images(\".\")\nmodel M(x: real[1, 1, 1]) -> y: real {\n w ~ Normal(0, 1)\n y ~ Normal(w, 1)\n}\ninfer f = map(M, d)\n";
    let output = run_program("absent-images", text);
    assert_eq!(output.status, 2, "{output:?}");
    for words in ["error[E0618]", "PNG and JPEG", "--features images"] {
        assert!(output.stderr.contains(words), "{}", output.stderr);
    }
}

/// The default build does not include the backend `cuda`.
#[test]
#[cfg(not(feature = "cuda"))]
fn a_backend_for_devices_that_is_not_inside() {
    let output = run(["run", YACHT, "--backend", "cuda"]);
    assert_rejected(&output, "E0602", 2);
    assert!(
        output.stderr.contains("--features mlir,cuda"),
        "{}",
        output.stderr
    );
}

/// If a run would not fit into memory, this is reported as an error of the program before the run
/// starts.
#[test]
fn memory() {
    assert_rejected(&run(["run", YACHT, "--max-memory", "1M"]), "E0502", 1);
}

/// Runs a program on a table with the columns `a`, `b` and `y`.
fn run_program(name: &str, items: &str) -> Output {
    let folder = std::env::temp_dir().join(format!("bnnc-rejections-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder is made");
    std::fs::write(folder.join("d.csv"), "a,b,y\n1,2,0\n2,3,1\n3,1,0\n4,4,1\n").expect("the file is written");
    let file: PathBuf = folder.join("program.bnn");
    std::fs::write(&file, items).expect("the file is written");
    let output = run([PathBuf::from("run"), file]);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    output
}

const DATA: &str = "data d = csv(\"d.csv\") { target = y }\n";
const INFER: &str = "\ninfer f = map(M, d) { epochs = 1 }\n";

/// Some of these errors depend on the sizes and columns of the data. The others concern programs
/// that this version cannot compile.
#[test]
fn programs() {
    let model = |text: &str| format!("{DATA}model M{text}{INFER}");
    let far = model("(x: real[d]) -> y: real { w ~ Normal(0, 1)\n y ~ Normal(w * x[9], 1) }");
    assert_rejected(&run_program("far", &far), "E0290", 1);
    let missing = model("(age: real) -> y: real { w ~ Normal(0, 1)\n y ~ Normal(w * age, 1) }");
    assert_rejected(&run_program("missing", &missing), "E0291", 1);
    let truth = model("(a: real) -> y: bool { w ~ Normal(0, 1)\n y ~ Bernoulli(logit = w * a) }");
    let standardised = truth.replace("target = y", "target = y, standardise = [target]");
    assert_rejected(&run_program("standardised", &standardised), "E0292", 1);
    let heavy = "Mixture(0.5, Cauchy(0, 1), Normal(0, 1)).mean";
    let heavy = model(&format!(
        "(a: real) -> y: real {{ w ~ Normal(0, 1)\n y ~ Normal(w * a + {heavy}, 1) }}"
    ));
    assert_rejected(&run_program("heavy", &heavy), "E0293", 1);
    let nothing = format!("{DATA}model M(a: real) -> y: real {{ y ~ Normal(a, 1) }}\n");
    assert_rejected(&run_program("nothing", &nothing), "E0606", 1);
}

/// A pruning table covers only sites on the reals whose family declares a mean and a variance.
#[test]
fn nothing_to_prune() {
    let program = format!(
        "{DATA}model M(a: real) -> y: real {{ w ~ Normal(0, 1)\n s ~ HalfNormal(1)\n y ~ Normal(w * a, s) }}\n\
         posterior Q of M {{ w ~ Normal(scale = 0.1)\n s ~ LogNormal(0, 0.1) }}\n\
         infer f = vi(Q, d) {{ epochs = 1, prune = [0.5] }}\n"
    );
    let fine = run_program("prunable", &program);
    assert_eq!(fine.status, 0, "{fine:?}");
    let only = program
        .replace("w ~ Normal(0, 1)\n", "")
        .replace("w ~ Normal(scale = 0.1)\n", "");
    let only = run_program("unprunable", &only.replace("w * a", "a"));
    assert_rejected(&only, "E0610", 1);
    assert!(
        only.stderr
            .contains("`s` cannot be pruned: a constrained parameter cannot be zero"),
        "{only:?}"
    );
}

/// Tests programs with samplers: errors that are reported before a sampler starts, and the
/// diagnostic for chains with too few draws.
#[test]
fn samplers() {
    let model = "model M(a: real) -> y: real {\n w ~ Normal(0, 1)\n m = exp(w)\n y ~ Normal(w * a, m)\n}\n";
    let program = |items: &str| format!("{DATA}{model}{items}\n");
    let family = program("posterior Q of M { w ~ Normal(scale = 0.1) }\ninfer f = nuts(Q, d)");
    let family = run_program("family", &family);
    assert_rejected(&family, "E0256", 1);
    assert!(
        family.stderr.contains("`nuts` samples `w` directly"),
        "{family:?}"
    );
    let fixed = "infer p = map(M, d) { epochs = 1 }\nposterior Q of M { w = p.w }\ninfer f = nuts(Q, d)";
    assert_rejected(&run_program("fixed", &program(fixed)), "E0612", 1);
    let unknown = run_program("unknown", &program("infer f = nuts(M, d) { report = [w, n] }"));
    assert_rejected(&unknown, "E0613", 1);
    assert!(unknown.stderr.contains("the model has `w`, `m`"), "{unknown:?}");
    let option = run_program("option", &program("infer f = nuts(M, d) { epochs = 3 }"));
    assert_rejected(&option, "E0257", 1);
    let few = "infer f = penalty(M, d) { batch = 2, batches = 1 }";
    assert_rejected(&run_program("few", &program(few)), "E0614", 1);
    // If a batch consists of all four rows, the losses of all batches are equal, so their variance
    // is zero.
    let all = "infer f = penalty(M, d) { batch = 4, batches = 1, warmup = 5, draws = 5 }";
    let all = run_program("all", &program(all));
    assert_eq!(all.status, 0, "{all:?}");
    assert!(all.stdout.contains("the ordinary posterior"), "{all:?}");
    for (schedule, why) in [
        ("2, 1.5", "a fraction from 0 to below 1"),
        ("4.5, 0.5", "a whole number, found 4.5"),
        ("0, 0.5", "at least one cycle"),
        ("100000, 0.5", "no draw would be kept"),
        ("200, 0.99", "no draw would be kept"),
    ] {
        let cycles = format!(
            "infer f = sgld(M, d) {{ warmup = 1000, draws = 1000, schedule = cyclical({schedule}) }}"
        );
        let cycles = run_program("cycles", &program(&cycles));
        assert_rejected(&cycles, "E0614", 1);
        assert!(cycles.stderr.contains(why), "{cycles:?}");
    }
    let files = program("infer f = penalty(M, d) { batch = 1, batches = 2 }")
        .replace("csv(\"d.csv\")", "csv(\"d.csv\", \"d.csv\")");
    assert_rejected(&run_program("files", &files), "E0508", 1);
    let nowhere = program("infer f = nuts(M, d) { warmup = 10, draws = 10 }")
        .replace("w * a, m", "w * a, m * exp(-2000 - w * w)");
    assert_rejected(&run_program("nowhere", &nowhere), "E0506", 1);
    let explores = "infer f = sgld(M, d) { warmup = 0, draws = 5, schedule = cyclical(1, 0.999) }";
    assert_rejected(&run_program("explores", &program(explores)), "E0614", 1);
    let collapsed = cfg!(feature = "collapsed").then_some("collapsed");
    for method in ["nuts", "laplace", "swag"].into_iter().chain(collapsed) {
        let text =
            format!("{DATA}model M(a: real) -> y: real {{ y ~ Normal(a, 1) }}\ninfer f = {method}(M, d)\n");
        let nothing = run_program("no-sites", &text);
        assert_rejected(&nothing, "E0612", 1);
        assert!(
            nothing.stderr.contains("the model has no parameters"),
            "{method}: {nothing:?}"
        );
    }
    let huge = run_program(
        "huge",
        &program("infer f = nuts(M, d) { draws = 99999999999999999999 }"),
    );
    assert_rejected(&huge, "E0104", 1);
    let infinite = run_program(
        "infinite",
        &program("infer f = nuts(M, d) { temperature = 1e400 }"),
    );
    assert_rejected(&infinite, "E0104", 1);
    for one in [huge, infinite] {
        assert_eq!(one.stderr.matches("error[").count(), 1, "{one:?}");
    }
    let own = run_program("own", &program("infer f = nuts(M, d) { start = f }"));
    assert_eq!(own.status, 1, "{own:?}");
    assert!(
        own.stderr.contains("an inference cannot start from itself"),
        "{own:?}"
    );
}

/// The warning about an improper posterior names the site. A run with a single draw prints a warning
/// that the chain is too short, rather than NaN.
#[test]
fn improper_sites() {
    let program = format!(
        "{DATA}model M(a: real) -> y: real {{\n w ~ Normal(0, 1)\n b: positive ~ Flat\n y ~ Normal(w * a, 1)\n}}\n\
         infer f = nuts(M, d) {{ warmup = 300, draws = 300 }}\n"
    );
    let improper = run_program("improper", &program);
    assert_eq!(improper.status, 0, "{improper:?}");
    assert!(
        improper.stderr.contains("E0529") && improper.stderr.contains("draws of `b`"),
        "{improper:?}"
    );
    assert!(!improper.stdout.contains("NaN"), "{improper:?}");
    let single = program
        .replace(" b: positive ~ Flat\n", "")
        .replace("draws = 300", "draws = 1, chains = 1");
    let single = run_program("single", &single);
    assert!(!single.stdout.contains("NaN"), "{single:?}");
    assert!(
        single.stderr.contains("chains with 1 draw are too short"),
        "{single:?}"
    );
}

/// The errors of `collapsed`, and the warning that it draws weights instead of integrating over them.
#[test]
#[cfg_attr(not(feature = "collapsed"), ignore = "needs the feature `collapsed`")]
fn collapsed() {
    let program = |mean: &str, options: &str| {
        format!(
            "use layers::Dense\n{DATA}model M(a: real) -> y: real {{\n out = Dense(1)\n y ~ Normal({mean}, 1)\n}}\n\
             infer f = collapsed(M, d) {{ epochs = 3{options} }}\n"
        )
    };
    let bent = run_program("bent", &program("tanh(out([a])[0])", ""));
    assert!(bent.stderr.starts_with("warning[E0622]"), "{bent:?}");
    assert!(
        bent.stderr.contains("the weights pass through `tanh`"),
        "{bent:?}"
    );
    assert_eq!(bent.status, 0, "{bent:?}");
    let jump = run_program("jump", &program("if out([a])[0] > 0 { 1.0 } else { 0.0 }", ""));
    assert!(jump.stderr.contains("where outputs may jump"), "{jump:?}");
    let straight = |options: &str| run_program("straight", &program("out([a])[0]", options));
    assert_eq!(straight("").stderr, "");
    for options in [", units = 1", ", floor = 2", ", over = subnetwork(3)"] {
        assert_rejected(&straight(options), "E0614", 1);
    }
}

/// Appends all Rust sources in a folder and in the folders below it.
fn read_sources(folder: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(folder).expect("the folder is read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *sources += &std::fs::read_to_string(&path).expect("the file is read");
        }
    }
}
