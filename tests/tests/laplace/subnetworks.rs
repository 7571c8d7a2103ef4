//! The choice of the weights of subnetworks, and approximations that use earlier inferences.

use crate::setup::{
    LINE, POINTS, TANH, approximated, close, column, compiled, folder, network, outcome, rejected,
    safetensors, stopped,
};
use bnnc_core::context::Context;
use bnnc_driver::program;
use bnnc_kernels::pool::Pool;
use bnnc_methods::laplace::gaussian::part;
use bnnc_methods::laplace::{spread, weights};
use bnnc_tests::compile;
use bnnc_tests::compile::options;
use bnnc_training::iterates::Collected;
use std::sync::Arc;

/// If a unit is never active, its incoming and outgoing weights are not chosen for a subnetwork.
#[test]
fn dead_weights_are_not_chosen() {
    let folder = folder("dead", &[("rows.csv", "x,y\n1,1\n2,2\n".to_owned())]);
    let weights: [(&str, &[usize], &[f64]); 4] = [
        ("w1", &[2], &[1.0, -1.0]),
        ("b1", &[2], &[0.0, 0.0]),
        ("w2", &[2], &[1.0, 1.0]),
        ("b2", &[], &[0.0]),
    ];
    safetensors(&folder.join("w.safetensors"), &weights);
    let of = |size: usize| {
        format!(
            "
data rows = csv(\"rows.csv\") {{ target = y }}
model Net(x: real) -> y: real {{
  w1: real[2] ~ Normal(0, 1)
  b1: real[2] ~ Normal(0, 1)
  w2: real[2] ~ Normal(0, 1)
  b2 ~ Normal(0, 1)
  y ~ Normal(dot(w2, relu(x * w1 + b1)) + b2, 0.5)
}}
infer l = laplace(Net, rows) {{ over = subnetwork({size}), start = safetensors(\"w.safetensors\") }}
"
        )
    };
    let result = compile::run(&compiled(&folder, &of(4)).manifest, 1);
    assert_eq!(
        approximated(&result, "l").members[0].index.as_deref().unwrap(),
        [0, 2, 4, 6]
    );
    let rejection = stopped(&compiled(&folder, &of(5)), None);
    assert_eq!(rejection.code.id, "E0625");
    assert_eq!(rejection.help, ["use at most 4 weights"]);
    let rejection = bnnc_methods::laplace::diagnostics::too_few_weights("l", 1, 0, 7);
    assert!(rejection.help[0].contains("no subnetwork is possible"));
}

/// Subnetworks can be chosen by the variances of other posteriors. A mixture can have one Gaussian
/// for each member of an ensemble.
#[test]
fn subnetworks_and_mixtures_use_earlier_inferences() {
    let folder = network("others");
    let text = format!(
        "{TANH}
posterior Field of Net {{
  w1 ~ Normal(0, 0.1)
  b1 ~ Normal(0, 0.1)
  w2 ~ Normal(0, 0.1)
  b2 ~ Normal(0, 0.1)
}}
infer field = vi(Field, rows) {{ epochs = 50 }}
infer iterates = swag(Net, rows) {{ epochs = 50, warmup = 0, optimiser = SGD(1e-2) }}
infer several = ensemble(Net, rows) {{ epochs = 50, members = 3 }}
infer first = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3, by = field) }}
infer second = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3, by = iterates) }}
infer mixture = laplace(Net, rows) {{ start = several }}
infer one = laplace(Net, rows) {{ start = mixture, epochs = 20 }}
infer few = laplace(Net, rows) {{ start = several, link = weights, predictive_draws = 1 }}
"
    );
    let compiled = compiled(&folder, &text);
    let result = compile::run(&compiled.manifest, 2);
    let highest = |variances: &[f64]| {
        let mut order: Vec<usize> = (0..7).collect();
        order.sort_by(|a, b| variances[*b].total_cmp(&variances[*a]));
        let mut chosen = order[..3].to_vec();
        chosen.sort_unstable();
        chosen
    };
    let values = outcome(&result, "field").splits[0].found.values();
    let scales = ["w1", "b1", "w2", "b2"].map(|site| values[&format!("{site}/scale")].clone());
    let index = |name: &str| approximated(&result, name).members[0].index.clone().unwrap();
    assert_eq!(index("first"), highest(&scales.concat()));
    let iterates: &Collected = outcome(&result, "iterates").splits[0].found.of().unwrap();
    let spread = ["w1", "b1", "w2", "b2"].map(|site| iterates.variances[&format!("{site}/loc")].clone());
    assert_eq!(index("second"), highest(&spread.concat()));
    let mixture = approximated(&result, "mixture");
    assert_eq!(mixture.members.len(), 3);
    let mean = |weights: &dyn Fn(&str) -> Vec<f64>, x: f64| {
        let (w1, b1, w2, b2) = (weights("w1"), weights("b1"), weights("w2"), weights("b2"));
        (0..2)
            .map(|at| w2[at] * (x * w1[at] + b1[at]).tanh())
            .sum::<f64>()
            + b2[0]
    };
    for (at, x) in [0.0, 1.0, 3.0].into_iter().enumerate() {
        let each = mixture.members.iter();
        let each: Vec<f64> = each
            .map(|member| mean(&|site| member.values[&format!("{site}/loc")].clone(), x))
            .collect();
        let average = each.iter().sum::<f64>() / 3.0;
        let found = column(outcome(&result, "mixture"), "mean")[at];
        assert!((found - average).abs() < 1e-12, "{found} {average}");
        let spread = each.iter().map(|mean| (mean - average).powi(2)).sum::<f64>() / 3.0;
        assert!(column(outcome(&result, "mixture"), "sd_epistemic")[at] >= spread.sqrt());
    }
    // If an inference block needs a single point, a mixture provides its first member. The report
    // describes the search of this member.
    let one = approximated(&result, "one");
    assert_eq!(one.members.len(), 3);
    assert_eq!(one.fitted.values, one.members[0].values);
    assert_eq!(
        outcome(&result, "one").splits[0].found.point(),
        &one.members[0].values
    );
    // Each member contributes at least one draw, even if the options request fewer draws than there
    // are members.
    let infer = compiled
        .manifest
        .infers
        .iter()
        .find(|infer| infer.name == "one")
        .unwrap();
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let drawn = weights::drawn(&one.members, infer, part(infer).unwrap(), 1, &context);
    assert_eq!(drawn["w1/loc"].len(), 3 * 2);
    assert_eq!(column(outcome(&result, "few"), "mean").len(), 3);
}

/// A start must contain every weight, and must do so for every split. A warning for an early split
/// is still reported after later splits.
#[test]
fn a_start_must_give_every_weight_on_every_split() {
    let splits = "{\"n_rows\": 8, \"index_base\": 0, \"test\": [[0, 1], [6, 7]]}";
    let folder = folder(
        "splits",
        &[
            ("rows.csv", POINTS.to_owned()),
            ("splits.json", splits.to_owned()),
        ],
    );
    let head = format!(
        "{LINE}
data several = csv(\"rows.csv\") {{ target = y, test = splits(\"splits.json\") }}
model Constant(x: real) -> y: real {{
  a ~ Normal(0, 1)
  y ~ Normal(a, 0.3)
}}
"
    );
    let one = "infer m = map(Line, rows) { epochs = 1 }\ninfer l = laplace(Line, several) { start = m }\n";
    let found = stopped(&compiled(&folder, &format!("{head}{one}")), None);
    assert_eq!(found.code.id, "E0549");
    assert!(found.message.ends_with("split 2"), "{}", found.message);
    let other = "infer m = map(Constant, rows) { epochs = 1 }\ninfer l = laplace(Line, rows) { start = m }\n";
    let found = rejected(&folder, &format!("{head}{other}"));
    assert_eq!(found.code.id, "E0540");
    assert!(found.message.contains("`b`"), "{}", found.message);
    let far = "infer l = laplace(Line, several) { epochs = 1, optimiser = SGD(1e-9) }\n";
    let result = compile::run(&compiled(&folder, &format!("{head}{far}")).manifest, 1);
    let warned = result
        .warnings
        .iter()
        .filter(|warning| warning.code.id == "E0546");
    assert_eq!(warned.count(), 2);
}

/// Subnetworks are chosen by variances, not by scales: the scale of a family is its standard
/// deviation only for the Normal family.
#[test]
fn subnetworks_rank_by_variances_not_by_scales() {
    let folder = network("families");
    let text = format!(
        "{TANH}
posterior Field of Net {{
  w1 ~ Laplace(0, 0.1)
  b1 ~ Normal(0, 0.2)
  w2 ~ Normal(0, 0.1)
  b2 ~ Normal(0, 0.1)
}}
infer field = vi(Field, rows) {{ epochs = 5 }}
infer l = laplace(Net, rows) {{ start = safetensors(\"w.safetensors\"), over = subnetwork(3, by = field) }}
"
    );
    let compiled = compiled(&folder, &text);
    let result = compile::run(&compiled.manifest, 1);
    let of = |name: &str| {
        compiled
            .manifest
            .infers
            .iter()
            .find(|infer| infer.name == name)
            .unwrap()
    };
    let found = &outcome(&result, "field").splits[0].found;
    let context = Context::new(Arc::new(Pool::new(1)), 1);
    let variances = spread::variances(of("l"), (of("field"), &**found), &context).unwrap();
    let scale = |site: &str| -> Vec<f64> {
        let position = found.values()[&format!("{site}/scale")].iter();
        position.map(|position| position.exp().ln_1p()).collect()
    };
    for (variance, scale) in variances[..2].iter().zip(scale("w1")) {
        // The variance of a Laplace distribution is twice its squared scale. The variance is
        // estimated from 1000 draws, and the kurtosis is 6. The relative standard error of this
        // variance is therefore the square root of 5 / 1000.
        let ratio = variance / (2.0 * scale * scale);
        assert!((ratio - 1.0).abs() < 4.5 * 0.0708, "{ratio}");
    }
    let squares: Vec<f64> = scale("b1").iter().map(|scale| scale * scale).collect();
    close(&variances[2..4], &squares, 1e-12);
}

/// If `over` contains the name of a list of layers, all layers in the list are selected.
#[test]
fn the_name_of_a_list_selects_all_of_its_layers() {
    let folder = network("list");
    let program = |over: &str| {
        format!(
            "use layers::Dense
data rows = csv(\"rows.csv\") {{ target = y }}
model Deep(x: real[k]) -> y: real {{
  hidden = [Dense(3) for l in 1..3]
  out    = Dense(1)
  y ~ Normal(out(tanh(hidden[1](tanh(hidden[0](x)))))[0], 0.5)
}}
infer l = laplace(Deep, rows) {{ epochs = 1, over = [{over}] }}
"
        )
    };
    let sites = |over: &str| -> Vec<String> {
        let compiled = compiled(&folder, &program(over));
        let weights = &part(&compiled.manifest.infers[0]).unwrap().weights;
        weights.iter().map(|weights| weights.site.clone()).collect()
    };
    let all = sites("hidden");
    assert_eq!(all.len(), 4, "{all:?}");
    assert!(all.iter().all(|site| site.starts_with("hidden[")), "{all:?}");
    assert_eq!(sites("hidden.*"), all);
    // The saved result contains the names of the layers.
    let compiled = compiled(&folder, &program("out"));
    let result = compile::run(&compiled.manifest, 1);
    let saved = bnnc_report::result::json(&compiled.manifest, &result).to_string();
    assert!(
        saved.contains("\"over\":\"[out.b, out.w]\"") || saved.contains("\"over\":\"[out.w, out.b]\""),
        "{saved}"
    );
    let found = rejected(&folder, &program("hiden"));
    assert_eq!(found.code.id, "E0313");
    assert!(found.help.concat().contains("did you mean `"), "{found:?}");
}

/// A size below one is a fraction of the weights, and a size of one means one weight. The fraction
/// 1.0 is therefore rejected.
#[test]
fn a_fraction_of_one_is_rejected() {
    let folder = network("fraction");
    let load = |size: &str| {
        let text = format!("{TANH}infer l = laplace(Net, rows) {{ over = subnetwork({size}) }}\n");
        let path = folder.join("p.bnn").display().to_string();
        program::load(&path, &text, &options("cranelift", None))
    };
    assert!(!load("1").has_errors());
    assert!(!load("0.5").has_errors());
    let rejected = load("1.0");
    assert!(rejected.has_errors());
    let text = format!("{:?}", rejected.diagnostics);
    assert!(text.contains("one weight"), "{text}");
}
