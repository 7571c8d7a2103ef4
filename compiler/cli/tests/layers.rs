//! Tests the gradient estimators of layers: `bnnc check` reports the estimator that a program
//! selects.

mod support;

use std::path::PathBuf;
use support::Output;

/// Runs `bnnc check` on a network of two layers over a small table. The arguments are the output,
/// the likelihood, the posterior and the options.
fn check(name: &str, output: &str, likelihood: &str, posterior: &str, options: &str) -> Output {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join("layers")
        .join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    std::fs::write(folder.join("d.csv"), "a,b,y\n1,2,1\n2,1,0\n0,1,1\n1,1,0\n").expect("a file of the test");
    let program = format!(
        "data d = csv(\"d.csv\")\n\
         model M(x: real[k]) -> y: {output} {{\n  h = Dense(3)\n  o = Dense(2)\n  y ~ {likelihood}\n}}\n\
         posterior P of M {{\n{posterior}\n}}\n\
         infer f = vi(P, d) {{ {options} }}\n"
    );
    let file = folder.join("m.bnn");
    std::fs::write(&file, program).expect("a file of the test");
    support::run([PathBuf::from("check"), file])
}

const NORMAL: &str = "Normal(o(tanh(h(x)))[0], 0.5)";
const WEIGHTS: &str = "  h.*, o.* ~ Normal(scale = 0.1)";

#[track_caller]
fn announced(output: &Output, sentences: &[(&str, &str)]) {
    assert_eq!(output.status, 0, "{}", output.stderr);
    for (site, sentence) in sentences {
        let line = output.stdout.lines().find(|line| line.trim().starts_with(site));
        assert!(
            line.is_some_and(|line| line.contains(&format!("likelihood: {sentence}"))),
            "no `{sentence}` for `{site}` in:\n{}",
            output.stdout
        );
    }
}

#[track_caller]
fn rejected(output: &Output, code: &str, fragment: &str) {
    assert_eq!(output.status, 1, "{}", output.stdout);
    assert!(output.stderr.contains(&format!("[{code}]")), "{}", output.stderr);
    assert!(output.stderr.contains(fragment), "{}", output.stderr);
}

#[test]
fn estimators_are_chosen_by_names_of_layers_and_sites() {
    let plain = check("plain", "real", NORMAL, WEIGHTS, "epochs = 1");
    announced(&plain, &[("h.w", "shared draw"), ("o.b", "shared draw")]);
    let local = check("local", "real", NORMAL, WEIGHTS, "local = [h.w, o]");
    let with = "local reparameterisation, in one draw with `o.w`";
    announced(
        &local,
        &[
            ("h.w", "local reparameterisation"),
            ("h.b", "shared draw"),
            ("o.b", with),
        ],
    );
    let mixed = check(
        "mixed",
        "real",
        NORMAL,
        WEIGHTS,
        "flipout = [h.*], integrate = [o]",
    );
    let exact = "integrated exactly (polynomial of degree 2)";
    announced(&mixed, &[("h.w", "flipout"), ("o.w", exact), ("o.b", exact)]);
    let radial = check(
        "radial",
        "real",
        NORMAL,
        "  h.*, o.* ~ Radial(scale = 0.1)",
        "flipout = [h]",
    );
    announced(&radial, &[("h.w", "flipout"), ("o.w", "shared draw")]);
    let truth = check(
        "truth",
        "bool",
        "Bernoulli(o(tanh(h(x)))[0])",
        WEIGHTS,
        "integrate = [o]",
    );
    announced(&truth, &[("o.w", "integrated by the series of order 4")]);
}

#[test]
fn unknown_layers_and_unsupported_likelihoods_are_rejected() {
    let unknown = check("unknown", "real", NORMAL, WEIGHTS, "local = [hh]");
    rejected(&unknown, "E0320", "did you mean `h`?");
    let student = check(
        "student",
        "real",
        "StudentT(4, o(tanh(h(x)))[0], 0.5)",
        WEIGHTS,
        "integrate = [o]",
    );
    rejected(
        &student,
        "E0321",
        "not a polynomial in the outputs, because it applies `log1p`",
    );
    let classes = check(
        "classes",
        "index(2)",
        "Categorical(o(tanh(h(x))))",
        WEIGHTS,
        "integrate = [o]",
    );
    rejected(&classes, "E0321", "because it applies `log_softmax`");
    let laplace = check(
        "laplace",
        "real",
        NORMAL,
        "  h.*, o.* ~ Laplace(scale = 0.1)",
        "local = [h]",
    );
    rejected(
        &laplace,
        "E0321",
        "a draw of `Laplace` are not independent normal variates",
    );
    let joint = "  h.* ~ LowRankNormal(rank = 1)\n  o.* ~ Normal()";
    rejected(
        &check("joint", "real", NORMAL, joint, "flipout = [h]"),
        "E0321",
        "is not possible for",
    );
    let bare = check("bare", "real", NORMAL, WEIGHTS, "local = h");
    rejected(
        &bare,
        "E0258",
        "`local` must be names in brackets, such as `[theta, hidden.w]`",
    );
}
