//! Tests the output and the exit statuses of `bnnc wmi`.

mod support;

use std::path::PathBuf;
use support::{Output, run};

const INSTANCES: &str = "runtime/wmi/tests/data/instances.json";

/// Runs `bnnc wmi` on a problem.
fn solve(name: &str, text: &str, options: &[&str]) -> Output {
    let folder = std::env::temp_dir().join(format!("bnnc-wmi-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the folder is made");
    let file = folder.join("problem");
    std::fs::write(&file, text).expect("the file is written");
    let mut arguments = vec![PathBuf::from("wmi"), file];
    arguments.extend(options.iter().map(PathBuf::from));
    let output = run(arguments);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    output
}

fn instance(reals: &str, weight: &str) -> String {
    format!(r#"{{"reals": [{reals}], "formula": true, "weight": {weight}}}"#)
}

const SQUARE: &str = r#"["x", "0", "1"], ["y", "0", "1"]"#;

#[test]
fn one_problem_is_printed_on_one_line() {
    let output = solve("one", &instance(SQUARE, r#"["*", "x", "1/3"]"#), &["--exact"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert!(output.stdout.starts_with("0.16666666666666666 ± "), "{output:?}");
    assert!(output.stdout.contains(" = 1/6, ok, "), "{output:?}");
    assert_eq!(output.stdout.lines().count(), 1, "{output:?}");
}

#[test]
fn json_is_one_object_per_problem() {
    let output = solve("json", &instance(SQUARE, r#"["*", "x", "1/3"]"#), &["--json"]);
    assert_eq!(output.status, 0, "{output:?}");
    let object: serde_json::Value = serde_json::from_str(&output.stdout).expect("an object");
    assert_eq!(object["status"], "ok");
    assert_eq!(object["value"], 1.0 / 6.0);
    assert_eq!(object["exact"], "1/6");
    assert!(
        object["error_bound"].as_f64().is_some_and(|bound| bound < 1e-16),
        "{object}"
    );
    for key in ["regions", "method", "seconds"] {
        assert!(!object[key].is_null(), "{key}");
    }
}

/// For a file of several instances, `bnnc wmi` prints a line for each instance. If an instance is
/// unbounded, it reports an error after the last line.
#[test]
fn several_problems_are_printed_and_the_unbounded_one_is_an_error() {
    let output = run(["wmi", INSTANCES]);
    assert_eq!(output.status, 1, "{output:?}");
    assert_eq!(output.stdout.lines().count(), 38, "{output:?}");
    assert!(output.stdout.contains("warmup_a245_Ey: 0.75 ± "), "{output:?}");
    assert!(
        output
            .stderr
            .starts_with("error[E0705]: the region of `unb_halfline`"),
        "{output:?}"
    );
    assert!(
        output.stderr.contains("the unbounded direction is x by 1"),
        "{output:?}"
    );
}

/// Problems with an empty or degenerate region have the value 0, and do not cause an error.
#[test]
fn empty_and_degenerate_regions_have_the_value_zero() {
    let empty = solve("empty", &instance(r#"["x", "1", "0"]"#, "\"1\""), &[]);
    assert_eq!((empty.status, empty.stderr.as_str()), (0, ""), "{empty:?}");
    assert!(
        empty.stdout.starts_with("0.0 ± 0.0e0, empty, 0 regions"),
        "{empty:?}"
    );
    let degenerate = solve("degenerate", &instance(r#"["x", "1", "1"]"#, "\"1\""), &[]);
    assert_eq!(degenerate.status, 0, "{degenerate:?}");
    assert!(degenerate.stdout.contains("degenerate"), "{degenerate:?}");
}

/// If a value is too large for double precision, `bnnc wmi` reports an error instead of printing
/// infinity. With `--exact`, it prints the value as a fraction.
#[test]
fn values_above_double_precision_are_an_error_without_exact() {
    let text = instance(r#"["x", "0", "1e200"]"#, r#"["^", "x", "2"]"#);
    let output = solve("overflow", &text, &[]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(output.stdout.starts_with("overflow, "), "{output:?}");
    assert!(
        output.stderr.contains("error[E0707]") && output.stderr.contains("--exact"),
        "{output:?}"
    );
    let output = solve("overflow-json", &text, &["--json"]);
    let object: serde_json::Value = serde_json::from_str(&output.stdout).expect("an object");
    assert_eq!(
        (&object["status"], object["value"].is_null()),
        (&"overflow".into(), true)
    );
    let exact = solve("overflow-exact", &text, &["--exact"]);
    assert_eq!((exact.status, exact.stderr.as_str()), (0, ""), "{exact:?}");
    let third = format!("1{}/3, ok, ", "0".repeat(600));
    assert!(exact.stdout.starts_with(&third), "{exact:?}");
}

/// If a value is too small for double precision, `bnnc wmi` prints 0 with an absolute bound, and
/// the logarithm of the value.
#[test]
fn values_below_double_precision_keep_their_logarithm() {
    let text = instance(r#"["x", "0", "1e-200"]"#, r#"["*", "-1", ["^", "x", "2"]]"#);
    let logarithm = -600.0 * 10f64.ln() - 3f64.ln();
    let output = solve("underflow", &text, &[]);
    assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
    let shown = output
        .stdout
        .split(" = -exp(")
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    let shown: f64 = shown.and_then(|number| number.parse().ok()).expect("a logarithm");
    assert!((shown - logarithm).abs() < 1e-12, "{output:?}");
    let output = solve("underflow-json", &text, &["--json"]);
    let object: serde_json::Value = serde_json::from_str(&output.stdout).expect("an object");
    assert_eq!(
        (&object["status"], object["value"].as_f64()),
        (&"ok".into(), Some(0.0))
    );
    assert_eq!(object["log_value"].as_f64(), Some(shown));
    // If a value is in the range of double precision, its logarithm is not printed.
    let plain = solve("held-json", &instance(SQUARE, "\"x\""), &["--json"]);
    let object: serde_json::Value = serde_json::from_str(&plain.stdout).expect("an object");
    assert!(
        object["log_value"].is_null() && object["value"] == 0.5,
        "{object}"
    );
}

/// If one of several problems has an error, the error points at the line where this problem begins.
/// An error in an SMT-LIB script points at the whole file.
#[test]
fn errors_name_the_line_of_their_problem() {
    let wide = instance(r#"["x", "0", "1e200"]"#, r#"["^", "x", "2"]"#);
    let open = instance(r#"["x", "0", null]"#, "\"1\"");
    let text = format!("{{\"instances\": [\n{wide},\n {open}]}}");
    let output = solve("places", &text, &["--json"]);
    assert_eq!(output.status, 1, "{output:?}");
    let objects: Vec<serde_json::Value> = (output.stdout.lines().chain(output.stderr.lines()))
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|object: &serde_json::Value| !object["code"].is_null())
        .collect();
    let places: Vec<_> = objects
        .iter()
        .map(|object| {
            (
                object["code"].as_str(),
                object["line"].as_u64(),
                object["column"].as_u64(),
            )
        })
        .collect();
    let expected = [
        (Some("E0707"), Some(2), Some(1)),
        (Some("E0705"), Some(3), Some(2)),
    ];
    assert_eq!(places, expected, "{output:?}");
    let script = "(declare-fun x () Real)\n(assert (>= x 0.0))";
    let output = solve("script", script, &["--json"]);
    let fault = output
        .stdout
        .lines()
        .chain(output.stderr.lines())
        .find(|line| line.contains("E0705"));
    assert!(fault.is_some_and(|line| !line.contains("\"line\"")), "{output:?}");
}

/// A cycle of 24 variables has a region with hundreds of millions of faces. Without limits within a
/// region, the problem takes 110 seconds and 11.7 GB of memory.
#[test]
fn limits_hold_within_a_region() {
    let names: Vec<String> = (0..24).map(|at| format!("x{at}")).collect();
    let reals: Vec<String> = names
        .iter()
        .map(|name| format!(r#"["{name}", "0", "1"]"#))
        .collect();
    let pair = |at: usize| {
        format!(
            r#"["<=", ["+", "{}", "{}"], "1"]"#,
            names[at],
            names[(at + 1) % 24]
        )
    };
    let pairs: Vec<String> = (0..24).map(pair).collect();
    let cycle = format!(
        r#"{{"reals": [{}], "formula": ["and", {}], "weight": "1"}}"#,
        reals.join(", "),
        pairs.join(", ")
    );
    for (name, limit, reason) in [
        ("memory", ["--max-memory", "30M"], "the memory limit"),
        ("seconds", ["--max-seconds", "0.2"], "the time limit was reached"),
    ] {
        let clock = std::time::Instant::now();
        let output = solve(name, &cycle, &limit);
        assert_eq!(output.status, 1, "{output:?}");
        assert!(output.stderr.contains("error[E0706]"), "{output:?}");
        assert!(output.stderr.contains(reason), "{output:?}");
        assert!(clock.elapsed().as_secs() < 20, "{name}: {:?}", clock.elapsed());
    }
    // The size of the address space is the memory limit plus some space for the program itself.
    #[cfg(target_os = "linux")]
    {
        let file = std::env::temp_dir().join(format!("bnnc-wmi-cycle-{}", std::process::id()));
        std::fs::write(&file, &cycle).expect("the file is written");
        let script = format!(
            "ulimit -v 400000; exec {} wmi {} --max-memory 100M",
            env!("CARGO_BIN_EXE_bnnc"),
            file.display()
        );
        let output = std::process::Command::new("sh").args(["-c", &script]).output();
        std::fs::remove_file(&file).expect("the file goes");
        assert_eq!(output.expect("a shell").status.code(), Some(1));
    }
}

#[test]
fn help_is_readable() {
    let output = run(["wmi", "--help"]);
    assert!(output.stdout.contains("[default: 1e-10]"), "{output:?}");
}

#[test]
fn invalid_problems_are_rejected_with_their_codes() {
    let rejected = |output: Output, code: &str, status: i32| {
        assert!(output.stderr.contains(&format!("error[{code}]")), "{output:?}");
        assert_eq!(output.status, status, "{output:?}");
    };
    rejected(solve("broken", "{\"reals\": [", &[]), "E0701", 1);
    rejected(solve("senseless", "{\"formula\": \"z\"}", &[]), "E0702", 1);
    rejected(
        solve(
            "product",
            "(declare-fun x () Real)\n(assert (<= (* x x) 1.0))",
            &[],
        ),
        "E0703",
        1,
    );
    rejected(
        solve("large", &instance(SQUARE, r#"["^", "x", "9999"]"#), &[]),
        "E0704",
        1,
    );
    rejected(
        solve("unbounded", &instance(r#"["x", "0", null]"#, "\"1\""), &[]),
        "E0705",
        1,
    );
    rejected(
        solve("given-up", &instance(SQUARE, "\"x\""), &["--max-regions", "0"]),
        "E0706",
        1,
    );
    let dense = r#"{"reals": [["x", "0", "1"], ["y", "0", "1"], ["z", "0", "1"]],
        "formula": ["and", ["<=", ["+", "x", "y", "z"], "1"],
                           ["<=", ["+", ["*", "3", "x"], ["*", "-1", "y"], "z"], "1"]], "weight": "x"}"#;
    rejected(solve("few-steps", dense, &["--max-steps", "0"]), "E0706", 1);
    rejected(solve("no-time", dense, &["--max-seconds", "0"]), "E0706", 1);
    assert_eq!(
        solve(
            "some-time",
            &instance(SQUARE, "\"x\""),
            &["--max-seconds", "1e18"]
        )
        .status,
        0
    );
    let usage = solve("never", dense, &["--max-seconds", "-1"]);
    assert_eq!(usage.status, 2, "{usage:?}");
    rejected(run(["wmi", "nowhere.json"]), "E0605", 3);
    let usage = solve("usage", &instance(SQUARE, "\"x\""), &["--tolerance", "-1"]);
    assert_eq!(usage.status, 2, "{usage:?}");
}
