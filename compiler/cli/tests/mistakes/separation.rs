//! Tests warnings about wide priors on separable classes, and on groups with only one class or without counts.

use crate::tables::{csv, each, normal};
use crate::{Folder, mistakes};

/// Returns a table of twelve rows. The class of a row is the sign of its input.
fn separable() -> String {
    let x = each(12, |row| row as f64 - 5.5);
    let y = each(12, |row| f64::from(u8::from(row > 5)));
    csv(&[("x", x), ("y", y)])
}

/// Returns a table of three groups. All rows of `a` are true, all rows of `b` are false, and the rows of `c` are mixed.
fn groups_of_one_class() -> String {
    let row = |row: usize| match row % 3 {
        0 => "a,1\n".to_owned(),
        1 => "b,0\n".to_owned(),
        _ => format!("c,{}\n", row % 2),
    };
    std::iter::once("g,y\n".to_owned())
        .chain((0..36).map(row))
        .collect()
}

/// Returns a table of counts in two groups. All counts of the group 1 are zero.
fn zeros_of_a_group() -> String {
    let row = |row: usize| format!("{},{}\n", row % 2, if row % 2 == 1 { 0 } else { row / 2 % 5 });
    std::iter::once("g,y\n".to_owned())
        .chain((0..40).map(row))
        .collect()
}

/// Returns a model with one probability per group, whose logits have the prior `prior`.
fn logits(prior: &str, method: &str) -> String {
    format!(
        "data d = csv(\"d.csv\") {{ target = y }}
        model M(g: index(J)) -> y: bool {{
          al: real[J] ~ {prior}
          y ~ Bernoulli(al[g])
        }}
        infer fit = {method}(M, d)"
    )
}

/// Returns a model of counts with the priors `prior`.
fn rates(prior: &str, method: &str) -> String {
    format!(
        "data d = csv(\"d.csv\") {{ target = y }}
        model M(g: real) -> y: count {{
          a ~ {prior}
          b ~ {prior}
          y ~ Poisson(a + b * g)
        }}
        infer fit = {method}(M, d)"
    )
}

/// Narrow priors bound the coefficients of separated classes. For classes that overlap, wide priors do no harm.
#[test]
fn proper_priors_with_a_maximum_are_not_reported() {
    for (table, prior) in [
        (separable(), "Normal(0, 2.5)"),
        (crate::tables::votes(40), "Normal(0, 1000)"),
    ] {
        for method in ["map", "laplace"] {
            let program = format!(
                "data d = csv(\"d.csv\")
                model M(x: real) -> y: bool {{
                  a ~ {prior}
                  b ~ {prior}
                  y ~ Bernoulli(a + b * x)
                }}
                infer fit = {method}(M, d)"
            );
            let (status, text) =
                crate::Folder::of(&[("d.csv", table.clone())], &program).bnnc(&["run", "program.bnn"]);
            assert_eq!(status, Some(0), "{text}");
            assert!(!text.contains("E0646"), "{text}");
        }
    }
}

/// Narrow priors bound the logits of groups with only one class. Wide and flat priors do not matter if every group has both classes, or positive
/// counts.
#[test]
fn groups_with_a_maximum_are_not_reported() {
    let mixed = (0..36).map(|row| format!("{},{}\n", ["a", "b", "c"][row % 3], row / 3 % 2));
    let mixed: String = std::iter::once("g,y\n".to_owned()).chain(mixed).collect();
    let counts = (0..40).map(|row| format!("{},{}\n", row % 2, row / 2 % 5));
    let counts: String = std::iter::once("g,y\n".to_owned()).chain(counts).collect();
    for (table, program) in [
        (groups_of_one_class(), logits("Normal(0, 2.5)", "map")),
        (groups_of_one_class(), logits("StudentT(3, 0, 2.5)", "laplace")),
        (mixed.clone(), logits("Normal(0, 1000)", "map")),
        (mixed, logits("StudentT(3, 0, 1000)", "map")),
        (zeros_of_a_group(), rates("Normal(0, 2.5)", "map")),
        (counts.clone(), rates("Flat", "map")),
        (counts, rates("Flat", "laplace")),
    ] {
        let (status, text) = Folder::of(&[("d.csv", table)], &program).bnnc(&["run", "program.bnn"]);
        assert_eq!(status, Some(0), "{program}\n{text}");
        assert!(!text.contains("E0646"), "{program}\n{text}");
    }
}

mistakes! {
    wide_priors_on_groups_of_one_class_under_laplace: ["E0646"], [("d.csv", groups_of_one_class())],
        &logits("Normal(0, 1000)", "laplace");

    wide_priors_on_groups_of_one_class_under_map: ["E0646"], [("d.csv", groups_of_one_class())],
        &logits("Normal(0, 1000)", "map");

    wide_heavy_tailed_priors_on_groups_of_one_class: ["E0646"], [("d.csv", groups_of_one_class())],
        &logits("StudentT(3, 0, 1000)", "map");

    flat_priors_on_groups_of_one_class: ["E0646"], [("d.csv", groups_of_one_class())],
        &logits("Flat", "map");

    flat_priors_on_a_group_without_counts: ["E0646"], [("d.csv", zeros_of_a_group())],
        &rates("Flat", "map");

    wide_priors_on_a_group_without_counts: ["E0646"], [("d.csv", zeros_of_a_group())],
        &rates("Normal(0, 1000)", "map");

    flat_priors_on_separable_classes: ["E0521", "E0520"], [("d.csv", separable())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Flat
          b ~ Flat
          y ~ Bernoulli(a + b * x)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    a_flat_prior_on_the_only_class: ["E0521", "E0554"],
        [("d.csv", csv(&[("x", normal(1, 20)), ("y", vec![1.0; 20])]))], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Flat
          y ~ Bernoulli(a + 0 * x)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";

    flat_priors_on_separable_classes_under_laplace: ["E0646"], [("d.csv", separable())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Flat
          b ~ Flat
          y ~ Bernoulli(a + b * x)
        }
        infer fit = laplace(M, d)";

    flat_priors_on_separable_classes_under_map: ["E0646"], [("d.csv", separable())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Flat
          b ~ Flat
          y ~ Bernoulli(a + b * x)
        }
        infer fit = map(M, d)";

    very_wide_priors_on_separable_classes_under_laplace: ["E0646"], [("d.csv", separable())], "
        data d = csv(\"d.csv\")
        model M(x: real) -> y: bool {
          a ~ Normal(0, 1000)
          b ~ Normal(0, 1000)
          y ~ Bernoulli(a + b * x)
        }
        infer fit = laplace(M, d)";

    a_wide_prior_of_a_level_with_only_one_class: ["E0646"], [("d.csv", {
        let rows = (0..40).map(|row| format!("{},{}\n", row % 2, u8::from(row % 2 == 1 || row % 3 == 0)));
        std::iter::once("treated,y\n".to_owned()).chain(rows).collect::<String>()
    })], "
        data d = csv(\"d.csv\")
        model M(treated: real) -> y: bool {
          a ~ Normal(0, 100)
          b ~ Normal(0, 1000)
          y ~ Bernoulli(a + b * treated)
        }
        infer fit = map(M, d)";
}
