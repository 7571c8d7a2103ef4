//! Programs and runs that cannot be approximated.

use crate::setup::{
    LINE, POINTS, compiled, design, folder, inverse, rejected, safetensors, shown_so, stopped,
};
use bnnc_abi::manifest::Work;
use bnnc_abi::methods::laplace::{Link, Over, Score};
use bnnc_base::diagnostic::Place;
use bnnc_kernels::pool::Pool;
use bnnc_methods::laplace::Approximated;
use bnnc_run::{RunOptions, RunResult, run};
use bnnc_tests::compile;

#[test]
fn runs_that_cannot_be_approximated_are_rejected() {
    let one = folder("refused", &[("rows.csv", "x,y\n1,1\n".to_owned())]);
    let data = "data rows = csv(\"rows.csv\") { target = y }\n";
    let dense = "use layers::Dense
model Net(x: real[1]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 1)
}
";
    let stop = |text: &str| stopped(&compiled(&one, &format!("{data}{text}")), None);
    // The compiler rejects a program without a start. A manifest could still lack the start.
    let text = format!(
        "{data}{dense}infer m = map(Net, rows) {{ epochs = 1 }}\ninfer l = laplace(Net, rows) {{ start = m }}\n"
    );
    let mut other = compiled(&one, &text);
    other.manifest.infers[1].start = None;
    shown_so("E0540", &stopped(&other, None));
    // The compiler rejects links that do not fit the likelihood. A manifest could still contain
    // such a link.
    let text = format!("{data}{dense}infer l = laplace(Net, rows) {{ epochs = 1 }}\n");
    let mut other = compiled(&one, &text);
    if let Work::Laplace(laplace) = &mut other.manifest.infers[0].work {
        laplace.options.link = Link::Bridge;
    }
    shown_so("E0545", &stopped(&other, None));
    // The compiler rejects a program that uses the variances of a point estimate. A manifest could
    // still request them.
    let text = format!(
        "{data}{dense}infer m = map(Net, rows) {{ epochs = 1 }}\ninfer l = laplace(Net, rows) {{ start = m, over = subnetwork(1) }}\n"
    );
    let mut other = compiled(&one, &text);
    if let Work::Laplace(laplace) = &mut other.manifest.infers[1].work {
        laplace.options.over = Over::Subnetwork {
            size: 1.0,
            by: Score::Infer("m".to_owned()),
        };
    }
    shown_so("E0625", &stopped(&other, None));
    // The data have one row, and the prior does not have a second derivative.
    let flat = "
model Flat(x: real) -> y: real {
  a ~ Laplace(0.5, 1)
  b ~ Laplace(0.5, 1)
  y ~ Normal(a + b * x, 1)
}
infer l = laplace(Flat, rows) { epochs = 1 }
";
    assert_eq!(stop(flat).code.id, "E0542");
    safetensors(&one.join("w.safetensors"), &[("a", &[], &[1e3])]);
    let steep = "
model Steep(x: real) -> y: count {
  a ~ Normal(0, 1)
  y ~ Poisson(exp(a * x))
}
infer l = laplace(Steep, rows) { start = safetensors(\"w.safetensors\") }
";
    assert_eq!(stop(steep).code.id, "E0541");
    // The input of the second test row is so large that the variance of the output overflows.
    std::fs::write(one.join("far.csv"), "x,y\n1,1\n1e120,1\n").unwrap();
    let overflow = "
data far = csv(\"rows.csv\") { target = y, test = csv(\"far.csv\") }
model Tail(x: real) -> y: real {
  a ~ Normal(0, 1)
  y ~ StudentT(4, a * x * x, 1)
}
infer l = laplace(Tail, far) { epochs = 1 }
";
    let found = stop(overflow);
    assert_eq!(found.code.id, "E0541");
    assert!(
        found.message.contains("covariance") && found.message.contains("row 2"),
        "{}",
        found.message
    );
}

/// A program with three models and their inference blocks. Two models have different layers. In the
/// third model, the weights depend on each other under the prior.
const EARLIER: &str = "use layers::Dense
data rows = csv(\"rows.csv\") { target = y }
model Net(x: real[1]) -> y: real {
  out = Dense(1)
  y ~ Normal(out(x)[0], 1)
}
model Other(x: real[1]) -> y: real {
  away = Dense(1)
  y ~ Normal(away(x)[0], 1)
}
model Shared(x: real) -> y: real {
  m ~ Normal(0, 1)
  w: real[2] ~ Normal(m, 1)
  y ~ Normal(w[0] * x + w[1] + m, 1)
}
posterior Q of Other { away.* ~ Normal(0, 0.1) }
infer m = map(Net, rows) { epochs = 1 }
infer o = map(Other, rows) { epochs = 1 }
infer v = vi(Q, rows) { epochs = 1 }
infer a = laplace(Net, rows) { start = m }
infer p = swag(Net, rows) { epochs = 2, warmup = 0, covariance = point }
";

/// If an error is known before training, it is reported before training, at its place in the
/// program.
#[test]
fn known_errors_are_reported_before_training() {
    let one = folder("beforehand", &[("rows.csv", "x,y\n1,1\n2,3\n".to_owned())]);
    for (infer, code, reported) in [
        (
            "laplace(Net, rows) { epochs = 0 }",
            "E0540",
            "has no `start` that gives a value of `out.w`",
        ),
        ("laplace(Net, rows) { start = o }", "E0540", "`o` has no `out.w`"),
        (
            "laplace(Net, rows) { over = subnetwork(3) }",
            "E0625",
            "needs 3 weights for its subnetwork, but there are only 2",
        ),
        (
            "laplace(Net, rows) { over = subnetwork(1, by = m) }",
            "E0625",
            "under `m`, which has no variances",
        ),
        (
            "laplace(Net, rows) { over = subnetwork(1, by = a) }",
            "E0625",
            "under `a`, which has no variances",
        ),
        (
            "laplace(Net, rows) { over = subnetwork(1, by = p) }",
            "E0625",
            "under `p`, which has no variances",
        ),
        (
            "laplace(Net, rows) { over = subnetwork(1, by = v) }",
            "E0625",
            "which has no `out.w`",
        ),
        (
            "laplace(Net, rows) { start = m, batch = 5 }",
            "E0614",
            "`batch` applies to the search",
        ),
        (
            "laplace(Net, rows) { start = m, epochs = 0, schedule = cosine }",
            "E0614",
            "`schedule` applies to the search",
        ),
        (
            "laplace(Net, rows) { prior_structure = layer }",
            "E0614",
            "no factor is tuned",
        ),
        (
            "laplace(Shared, rows) { online = true, prior_structure = layer }",
            "E0614",
            "one factor for all weights",
        ),
        (
            "laplace(Shared, rows) { structure = diagonal }",
            "E0614",
            "correlates weights",
        ),
    ] {
        let found = rejected(&one, &format!("{EARLIER}infer l = {infer}\n"));
        assert_eq!(found.code.id, code, "{infer}: {found:?}");
        assert!(found.message.contains(reported), "{infer}: {}", found.message);
        assert!(
            !found.help.is_empty() && matches!(found.at, Place::Span(_)),
            "{infer}"
        );
    }
    // A user who follows the advice on conflicting options does not get the same error again.
    let layers = "laplace(Net, rows) { prior_precision = marginal_likelihood, prior_structure = layer }";
    let text = format!("{EARLIER}infer l = {layers}\n");
    let infers = compiled(&one, &text).manifest.infers.len();
    assert_eq!(infers, text.matches("\ninfer ").count());
}

/// The square of the slope may overflow when the possible increase of the log density is computed.
/// The increase is still reported.
#[test]
fn an_overflowing_rise_is_reported() {
    let folder = folder("steep", &[("rows.csv", POINTS.to_owned())]);
    safetensors(
        &folder.join("far.safetensors"),
        &[("a", &[], &[1e160]), ("b", &[], &[0.0])],
    );
    let text =
        format!("{LINE}\ninfer l = laplace(Line, rows) {{ start = safetensors(\"far.safetensors\") }}\n");
    let result = compile::run(&compiled(&folder, &text).manifest, 1);
    let warned = result
        .warnings
        .iter()
        .find(|warning| warning.code.id == "E0546")
        .unwrap();
    assert!(
        warned.message.contains("without bound over 2 weights"),
        "{}",
        warned.message
    );
}

/// If the second derivative with respect to the outputs is zero wherever it exists, the data would
/// not affect the precision. The program is then rejected, except if it uses `fisher`.
#[test]
fn likelihoods_without_a_second_derivative_need_fisher() {
    let folder = folder("straight", &[("rows.csv", POINTS.to_owned())]);
    let of = |likelihood: &str, options: &str| {
        format!(
            "data rows = csv(\"rows.csv\") {{ target = y }}
dist Peak(loc: real) on real {{
  log_density(x) = if x < loc {{ x - loc }} else {{ loc - x }}
  draw = loc + standard_normal()
}}
model Line(x: real) -> y: real {{
  a ~ Normal(0, 1)
  b ~ Normal(0, 1)
  y ~ {likelihood}
}}
infer l = laplace(Line, rows) {{ epochs = 300, batch = 0, optimiser = Adam(1e-2), {options} }}
"
        )
    };
    for (likelihood, argument) in [
        ("Laplace(a + b * x, 0.5)", "`loc` of `Laplace`"),
        ("Peak(a + b * x)", "`loc` of `Peak`"),
    ] {
        for options in ["curvature = ggn", "curvature = hessian", "structure = diagonal"] {
            let found = rejected(&folder, &of(likelihood, options));
            assert_eq!(found.code.id, "E0624", "{likelihood}, {options}");
            assert!(
                found.message.contains("second") && found.message.contains(argument),
                "{}",
                found.message
            );
            assert!(found.help[0].contains("curvature = fisher"));
        }
        // The derivative of the log likelihood of each row has the absolute value 1 / scale. The
        // precision is therefore a sum of two terms: the precision of the prior, and a multiple of
        // the sum over the outer products of `(1, x)`.
        let scale = if likelihood.starts_with("Laplace") {
            0.5
        } else {
            1.0
        };
        let found = compiled(&folder, &of(likelihood, "curvature = fisher"));
        let outcome = run(&found.manifest, &RunOptions::new(1))
            .and_then(RunResult::whole)
            .unwrap();
        let found: &Approximated = outcome.outcomes[0].splits[0].found.of().expect("a Gaussian");
        let covariance = found.members[0].posterior.inverse(&Pool::new(1));
        let weight = 1.0 / (scale * scale);
        let of = |term: &dyn Fn(f64) -> f64| design().iter().map(|(x, _)| weight * term(*x)).sum::<f64>();
        let expected = inverse([1.0 + of(&|_| 1.0), of(&|x| x), 1.0 + of(&|x| x * x)]);
        for (found, expected) in [covariance[(0, 0)], covariance[(0, 1)], covariance[(1, 1)]]
            .iter()
            .zip(expected)
        {
            assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        }
    }
    // If a density is constant in an output of the network, its first derivative is zero too.
    for options in ["curvature = ggn", "curvature = fisher"] {
        let text = of("Peak(0 * a)", options)
            .replace("{ x - loc }", "{ -1 }")
            .replace("{ loc - x }", "{ -2 }");
        let found = rejected(&folder, &text);
        assert_eq!(found.code.id, "E0624", "{options}");
        assert!(found.message.contains("first"), "{}", found.message);
    }
    // With respect to the bounds of an interval, the second derivatives of the loss are not zero,
    // but they are never positive.
    let ends = of("Uniform(a * x - 100, a * x + 100 + b)", "");
    let found = stopped(&compiled(&folder, &ends), None);
    assert_eq!(found.code.id, "E0541");
    assert!(
        found.message.contains("concave") && found.help[0].contains("fisher"),
        "{found:?}"
    );
}
