//! Tests the text of modules. These tests do not require LLVM.

use bnnc_backend_mlir::{Mlir, PREFIX, module};
use bnnc_loops::backend::{Backend, BackendOptions};
use bnnc_loops::parse::parse;

const ROWS: &str = r#"plan "p" f32 1 {
  b0 = real "x" [40, 300] input
  b1 = real "relu" [40, 300] output
  b2 = real "sums" [40] output
  launch 0 (b0, b1, b2) ints (300, 7) outer 40 work 900 reduces (2 sum)
}
kernel "rows" [40, $0] (real, real, real) {
  v0: real = load 0 at 0 [$0, 1]
  v1: real = const 0.0
  v2: real = max v0 v1
  v3: int = index 0
  v4: real = noise gamma $1 (v3, v3, v3) shape v2 at 0 [0, 1]
  v5: real = mul v2 v4
  store v5 -> 1 at 0 [$0, 1]
  sum v2 -> 2 at 0 [1, 0]
}
"#;

/// Splits the text of a module into parts. Each part starts at the first line that contains the
/// mark of the part.
#[test]
fn a_module_is_written_so() {
    let text = module(&parse(ROWS).unwrap(), PREFIX).text;
    let parts = [
        ("module_scopes", "#memory"),
        ("module_arguments", "module {"),
        ("module_block", "scf.if"),
        ("module_noise", "llvm.call @bnnc_noise_gamma_f32"),
        ("module_sum", "arith.truncf"),
    ];
    let lines: Vec<&str> = text.lines().collect();
    let starts = parts.map(|(_, mark)| lines.iter().position(|line| line.contains(mark)).unwrap());
    assert!(starts[0] == 0 && starts.is_sorted(), "{starts:?}");
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    for (((name, _), start), end) in parts.iter().zip(starts).zip(ends) {
        insta::assert_snapshot!(*name, lines[start..end].join("\n"));
    }
}

#[test]
fn elementary_functions_are_inlined_without_runtime_symbols() {
    let text = ROWS.replace("mul v2 v4", "exp v4");
    let module = module(&parse(&text).unwrap(), PREFIX);
    assert!(module.text.contains("llvm.call @exp_f32("), "{}", module.text);
    assert!(
        module
            .text
            .contains("llvm.func internal @exp_f32(%0: f32) -> f32"),
        "{}",
        module.text
    );
    let symbols: Vec<&str> = module.symbols.keys().map(String::as_str).collect();
    assert_eq!(symbols, ["bnnc_noise_gamma_f32"]);
}

/// A launch binds two slots to the same buffer, so the two must not be declared as different
/// memory.
#[test]
fn buffers_that_may_alias_are_not_declared_different() {
    let program = parse(ROWS).unwrap();
    assert!(
        module(&program, PREFIX)
            .text
            .contains("noalias_scopes = #not_slot0")
    );
    let program = parse(&ROWS.replace("(b0, b1, b2)", "(b0, b0, b2)")).unwrap();
    assert!(!module(&program, PREFIX).text.contains("noalias_scopes ="));
}

#[test]
fn a_symbol_without_an_address_is_reported_as_a_bug() {
    let program = parse(ROWS).unwrap();
    let fault = Mlir::new()
        .compile(&program, &BackendOptions::default())
        .err()
        .unwrap();
    assert_eq!(
        fault.to_string(),
        "bug in bnnc: kernel `rows` needs `bnnc_noise_gamma_f32`, which has no address"
    );
}
