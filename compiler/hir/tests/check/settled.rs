//! Tests the results of a check: data specifications, options, sites, and the order of inference
//! blocks.
#![allow(clippy::unwrap_used)]

use super::{check, check_with, context};
use bnnc_abi::data::{ColumnExpr, Format, Outliers, Test};
use bnnc_base::source::SourceMap;
use bnnc_grammar::parse::parse_expr;
use bnnc_hir::check::Override;
use bnnc_hir::sites;
use bnnc_hir::tree::{ModelId, SettingValue};

const MODEL: &str = "data d = csv(\"d.csv\")\nmodel M(x: real[k]) -> y: real {\n  h = Dense(2)\n  y ~ Normal(sum(h(x)), 1)\n}\n";

fn overridden(text: &str, item: &str, key: &str, value: &str) -> super::Checked {
    let mut sources = SourceMap::default();
    // This source may have the same id as a source of the library or of the program. Equal ids
    // affect only messages.
    let (value, _) = parse_expr(&sources.add("--set", value));
    let mut context = context();
    context.overrides.push(Override {
        item: item.into(),
        key: key.into(),
        value,
    });
    check_with(text, &context)
}

#[test]
fn a_data_item_becomes_a_specification() {
    let checked = check(
        "data d = csv(\"a.csv\", \"b.csv\") {\n  target = strength\n  inputs = [age, zscore(age), log(earn) * male]\n  test = splits(\"s.json\")\n  split = all\n  standardise = [inputs]\n  validation = 0.1\n  scale = 1 / 4\n  limit = 100\n  shared = csv(\"t.csv\")\n}",
    );
    assert_eq!(checked.text(), "");
    let spec = &checked.module.datas.iter().next().unwrap().spec;
    assert_eq!(spec.format, Format::Csv);
    assert_eq!(
        spec.files,
        ["/data/a.csv", "/data/b.csv"].map(std::path::PathBuf::from)
    );
    assert!(matches!(&spec.target, Some(ColumnExpr::Name(name, _)) if name == "strength"));
    assert!(matches!(&spec.inputs[2], ColumnExpr::Apply(name, args, _) if name == "mul" && args.len() == 2));
    assert_eq!(
        spec.test,
        Test::Splits {
            file: "/data/s.json".into(),
            split: None
        }
    );
    assert_eq!((spec.standardise_inputs, spec.standardise_target), (true, false));
    assert_eq!((spec.validation, spec.scale, spec.limit), (0.1, 0.25, Some(100)));
    assert_eq!(spec.shared, Some((Format::Csv, "/data/t.csv".into())));
}

#[test]
fn a_corruption_without_a_severity_stands_for_all_five() {
    let shifts = |written: &str| {
        let text = format!("data d = idx(\"x\", \"y\") {{ test = idx(\"tx\", \"ty\"), shifts = {written} }}");
        let checked = check(&text);
        assert_eq!(checked.text(), "");
        let spec = &checked.module.datas.iter().next().unwrap().spec;
        spec.shifts
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        shifts("[fog(3), jpeg, snow(1)]"),
        "fog(3) jpeg(1) jpeg(2) jpeg(3) jpeg(4) jpeg(5) snow(1)"
    );
    assert_eq!(shifts("contrast(2)"), "contrast(2)");
    assert_eq!(shifts("all").split(' ').count(), 75);
}

#[test]
fn images_can_be_rotated_and_have_outliers() {
    let text = "data d = idx(\"x\", \"y\") {\n  test = idx(\"tx\", \"ty\")\n  rotate = [0, -45]\n  outliers = idx(\"other\")\n}";
    let checked = check(text);
    assert_eq!(checked.text(), "");
    let spec = &checked.module.datas.iter().next().unwrap().spec;
    assert_eq!(
        (&spec.rotate, &spec.outliers),
        (&vec![0.0, -45.0], &Some(Outliers::File("/data/other".into())))
    );
    let shuffled = overridden(text, "d", "outliers", "shuffled(7)");
    let spec = &shuffled.module.datas.iter().next().unwrap().spec;
    assert_eq!(spec.outliers, Some(Outliers::Shuffled(7)));
}

#[test]
fn test_files_and_outliers_can_be_given_on_the_command_line() {
    let text = "data d = idx(\"x\", \"y\") { rotate = 90, outliers = shuffled(7) }";
    let mut context = context();
    context
        .data_overrides
        .push(("d.test".into(), vec!["tx".into(), "ty".into()]));
    context
        .data_overrides
        .push(("d.outliers".into(), vec!["other".into()]));
    let checked = check_with(text, &context);
    assert_eq!(checked.text(), "");
    let spec = &checked.module.datas.iter().next().unwrap().spec;
    assert_eq!(spec.test, Test::Files(vec!["tx".into(), "ty".into()]));
    assert_eq!(spec.outliers, Some(Outliers::File("other".into())));
    context.data_overrides[1].1.push("another".into());
    assert_eq!(
        check_with(text, &context).text(),
        "E0258 1:1 `outliers` must be one file of inputs, found 2"
    );
}

#[test]
fn options_on_the_command_line_take_precedence() {
    let text = format!("{MODEL}infer a = map(M, d) {{ epochs = 10 }}");
    let checked = overridden(&text, "a", "epochs", "20");
    assert_eq!(checked.text(), "");
    let infer = checked.module.infers.iter().next().unwrap();
    assert!(matches!(&infer.options[..], [one] if matches!(one.value, SettingValue::Int(20))));
}

/// An inference block cannot start from itself, neither by an option in the program nor by an
/// option on the command line. A block that starts from a later block runs after that block.
#[test]
fn inference_blocks_run_after_their_starts() {
    let text = format!("{MODEL}infer a = map(M, d)\ninfer b = map(M, d)");
    let own = overridden(&text, "a", "start", "a");
    assert!(
        own.text().contains("circular definition: `a` refers to itself"),
        "{}",
        own.text()
    );
    assert!(
        own.text().contains("an inference cannot start from itself"),
        "{}",
        own.text()
    );
    let written = check(&format!("{MODEL}infer a = map(M, d) {{ start = a }}"));
    assert!(
        written.text().contains("an inference cannot start from itself"),
        "{}",
        written.text()
    );
    let later = overridden(&text, "a", "start", "b");
    assert_eq!(later.text(), "");
    let order: Vec<&str> = later
        .module
        .infer_order
        .iter()
        .map(|id| &*later.module.infers[*id].name)
        .collect();
    assert_eq!(order, ["b", "a"]);
}

#[test]
fn options_on_the_command_line_are_checked() {
    let text = format!("{MODEL}infer a = map(M, d)");
    let codes = |checked: super::Checked| {
        checked
            .diagnostics
            .iter()
            .map(|one| one.code.id)
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(overridden(&text, "b", "epochs", "20")), ["E0260"]);
    assert_eq!(codes(overridden(&text, "a", "epoch", "20")), ["E0257"]);
    assert_eq!(codes(overridden(&text, "a", "epochs", "few")), ["E0258"]);
    assert_eq!(codes(overridden(&text, "d", "split", "3")), ["E0258"]);
    // The parser has already reported the number that is too large.
    assert_eq!(
        codes(overridden(&text, "a", "epochs", "99999999999999999999")),
        [] as [&str; 0]
    );
    let mut context = context();
    context.data_overrides.push(("e".into(), vec!["e.csv".into()]));
    assert_eq!(codes(check_with(&text, &context)), ["E0260"]);
}

#[test]
fn site_paths_include_layers_and_lists() {
    let checked = check(
        "layer Two(n_out: int)(x: real[n]) -> real[n_out] {\n  inner = Dense(n_out)\n  return inner(x)\n}\nmodel M(x: real[k]) -> y: real {\n  hidden = [Two(3) for l in 1..3]\n  mixed = [Dense(3), Dense(1)]\n  tau ~ HalfNormal(1)\n  y ~ Normal(mixed[1](tanh(mixed[0](tanh(hidden[1](tanh(hidden[0](x)))))))[0], tau)\n}",
    );
    assert_eq!(checked.text(), "");
    let paths = sites::paths(&checked.module, ModelId(0));
    assert_eq!(
        paths,
        [
            "hidden[0].inner.w",
            "hidden[0].inner.b",
            "hidden[1].inner.w",
            "hidden[1].inner.b",
            "mixed[0].w",
            "mixed[0].b",
            "mixed[1].w",
            "mixed[1].b",
            "tau"
        ]
    );
    assert_eq!(sites::matching("hidden.*", &paths).len(), 4);
    assert_eq!(sites::matching("hidden[1].*", &paths).len(), 2);
    assert_eq!(sites::matching("tau", &paths), ["tau"]);
    assert!(sites::matching("hidden", &paths).is_empty());
}

#[test]
fn inference_blocks_are_ordered_by_dependency() {
    let checked = check(&format!(
        "{MODEL}infer b = map(M, d) {{ start = a }}\nposterior Q of M {{\n  h.* = b.h.*\n}}\ninfer c = map(Q, d)\ninfer a = map(M, d)"
    ));
    assert_eq!(checked.text(), "");
    let order: Vec<&str> = checked
        .module
        .infer_order
        .iter()
        .map(|id| &*checked.module.infers[*id].name)
        .collect();
    assert_eq!(order, ["a", "b", "c"]);
}

#[test]
fn only_rounded_division_is_checked_when_the_data_are_known() {
    let pad = |width: &str| {
        format!("fn f(x: real[1, n, n], k: int) -> real[1, n, n] {{\n  return pad(x, {width}) * 1\n}}")
    };
    assert_eq!(check(&pad("(k - k) / 2")).text(), "");
    assert_eq!(check(&pad("k")).errors().len(), 1);
}

#[test]
fn names_of_the_program_hide_the_library() {
    let text =
        "fn relu(x: real[2]) -> real {\n  return x[0]\n}\nfn f(x: real[2]) -> real {\n  return relu(x)\n}";
    assert_eq!(check(text).text(), "");
}

#[test]
fn an_inference_block_does_not_hide_a_function() {
    let text = "data d = csv(\"d.csv\")\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(softplus(w) * relu(x), 1)\n}\ninfer relu = map(M, d)\ninfer full = laplace(M, d) { start = relu, structure = full }";
    assert_eq!(check(text).errors().len(), 0, "{}", check(text).text());
}

#[test]
fn a_score_takes_precedence_over_an_inference_block_of_the_same_name() {
    let text = "data d = csv(\"d.csv\")\nmodel M(x: real) -> y: real {\n  w ~ Normal(0, 1)\n  y ~ Normal(w * x, 1)\n}\ninfer marginal = laplace(M, d) { over = subnetwork(1, by = marginal) }\ninfer other = laplace(M, d) { over = subnetwork(1, by = later) }\ninfer later = swag(M, d)";
    assert_eq!(check(text).errors().len(), 0, "{}", check(text).text());
}

#[test]
fn constants_from_exact_division_are_dims() {
    let text = "const SIZE = 50\nconst HALF = SIZE / 2\nfn f(x: real[HALF]) -> real[25] {\n  return x\n}";
    assert_eq!(check(text).text(), "");
    let text = "const THIRD = 50 / 3\nfn f(x: real[THIRD]) -> real {\n  return sum(x)\n}";
    assert_eq!(
        check(text).text(),
        "E0211 2:14 expected int, found real | this is real"
    );
}

#[test]
fn a_real_parameter_cannot_be_a_dim() {
    let text = "fn f(x: real[s], s: real) -> real {\n  return s * sum(x)\n}";
    let codes: Vec<&str> = check(text).diagnostics.iter().map(|one| one.code.id).collect();
    assert_eq!(codes, ["E0221"]);
}

#[test]
fn constants_may_be_declared_after_options_that_use_them() {
    let text = format!(
        "{MODEL}infer a = map(M, d) {{ schedule = step(HALF, 0.1), epochs = N }}\nconst HALF = 0.5\nconst N = 7"
    );
    assert_eq!(check(&text).text(), "");
}

#[test]
fn a_site_marked_local_may_depend_on_an_example() {
    let text = "model M(x: real) -> y: real {\n  s ~ HalfNormal(1)\n  local z: real ~ Normal(x, s)\n  y ~ Normal(z, 1)\n}";
    assert_eq!(check(text).text(), "");
}

#[test]
fn the_first_element_and_the_rest_of_a_series_may_have_separate_statements() {
    let text = "model M() -> y: real[T] {\n  a ~ Normal(0, 1)\n  y[0] ~ Normal(0, 1)\n  for t in 1..T {\n    y[t] ~ Normal(a * y[t - 1], 1)\n  }\n}";
    assert_eq!(check(text).text(), "");
}
