//! Tests models whose output elements depend on each other, and models in which a condition keeps
//! positions inside their axis.

use crate::tables::{csv, each, normal};
use crate::{Folder, mistakes};

const LENGTH: usize = 41;

fn values() -> Vec<f64> {
    let e = normal(3, LENGTH);
    let mut y = e.clone();
    for t in 1..LENGTH {
        y[t] = 0.6 * y[t - 1] + 0.5 * e[t];
    }
    y
}

/// Returns three files: a series of odd length, the first 40 elements of this series, and two
/// series with positions.
fn files() -> [(&'static str, String); 3] {
    let y = values();
    let numbers = |values: &[f64]| format!("{values:?}");
    let parents = |of: &dyn Fn(usize) -> usize| format!("{:?}", (0..40).map(of).collect::<Vec<usize>>());
    let json = format!(
        "{{\"x\": {}, \"y\": {}, \"parent\": {}}}",
        numbers(&normal(4, 40)),
        numbers(&y[..40]),
        parents(&|t| t.saturating_sub(1) / 2)
    );
    [
        ("odd.csv", csv(&[("y", y.clone())])),
        ("even.csv", csv(&[("y", y[..40].to_vec())])),
        ("two.json", json),
    ]
}

/// Returns a program with a model of one series.
fn series(file: &str, body: &str) -> String {
    format!(
        "fn around(s: real[n], t: int) -> real {{
          return s[t - 1] + s[t + 1]
        }}
        fn before(s: real[n], t: int) -> real {{
          return s[t - 1] - s[t - 2]
        }}
        data d = csv(\"{file}.csv\") {{ target = y }}
        model M() -> y: real[T] {{
          a ~ Normal(0, 1)
          {body}
        }}
        infer fit = map(M, d) {{ steps = 300, optimiser = Adam(0.05) }}"
    )
}

/// Returns a program with a model of two series.
fn two(body: &str) -> String {
    let parents = if body.contains("parent") {
        "parent: index(T)[T])("
    } else {
        ""
    };
    format!(
        "data d = json(\"two.json\")
        model M({parents}) -> x: real[T], y: real[T] {{
          a ~ Normal(0, 1)
          {body}
        }}
        infer fit = map(M, d) {{ steps = 300, optimiser = Adam(0.05) }}"
    )
}

mistakes! {
    a_series_given_by_its_mirror_image: ["E0276"], files(),
        &series("even", "for t in 0..T { y[t] ~ Normal(a * y[T - 1 - t], 1) }");

    a_mirror_image_with_a_middle: ["E0273"], files(),
        &series("odd", "for t in 0..T { y[t] ~ Normal(a * y[T - 1 - t], 1) }");

    elements_in_a_circle: ["E0276"], files(),
        &series("even", "for t in 0..T { y[t] ~ Normal(a * y[if t > 0 { t - 1 } else { T - 1 }], 1) }");

    neighbours_through_a_function: ["E0276"], files(),
        &series("even", "for t in 1..T - 1 { y[t] ~ Normal(a * around(y, t), 1) }");

    neighbours_through_a_list: ["E0276"], files(), &series("even", "
          z = [0.5 * (y[t] + y[t + 2]) for t in 0..T - 2]
          for t in 1..T - 1 { y[t] ~ Normal(a * z[t - 1], 1) }");

    even_elements_and_odd_ones_given_by_each_other: ["E0276"], files(), &series("even", "
          for t in 0..20 { y[2 * t] ~ Normal(a * y[2 * t + 1], 1) }
          for t in 0..19 { y[2 * t + 1] ~ Normal(a * y[2 * t], 1) }");

    a_whole_series_given_by_itself: ["E0273"], files(), &series("even", "y ~ Normal(a * y, 1)");

    two_series_given_by_each_other: ["E0273"], files(), &two("
          for t in 0..T { x[t] ~ Normal(a * y[t], 1) }
          for t in 0..T { y[t] ~ Normal(a * x[t], 1) }");

    two_series_through_later_elements: ["E0273"], files(), &two("
          for t in 0..T - 1 { x[t] ~ Normal(a * y[t + 1], 1) }
          for t in 1..T { y[t] ~ Normal(a * x[t - 1], 1) }");

    elements_that_data_select: ["E0276"], files(), &two("
          for t in 0..T { x[t] ~ Normal(0, 1) }
          for t in 1..T { y[t] ~ Normal(a * y[parent[t]], 1) }");

    a_position_that_is_not_linear: ["E0290"], files(),
        &series("even", "for t in 0..5 { y[t * t] ~ Normal(a, 1) }");

    elements_that_steps_meet: ["E0244"], files(), &series("even", "
          for t in 0..10 { y[2 * t] ~ Normal(a, 1) }
          for t in 0..10 { y[3 * t] ~ Normal(a, 1) }");

    a_condition_that_leaves_the_axis: ["E0290"], files(), &series("even", "
          b: real[40] ~ Normal(0, 1)
          for t in 0..T { y[t] ~ Normal(a * b[if t >= 0 { t - 1 } else { 0 }], 1) }");
}

/// Returns the posterior mode of `a` under the prior `Normal(0, 1)`. Each pair consists of the
/// outcome and the coefficient of `a` in the mean of the outcome. The standard deviation of the
/// noise is 1.
fn mode(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (xy, xx) = pairs.fold((0.0, 0.0), |(xy, xx), (y, x)| (xy + x * y, xx + x * x));
    xy / (xx + 1.0)
}

/// Panics if the run of a program warns about dependences, or does not estimate `a` as `expected`.
#[track_caller]
fn finds(program: &str, expected: f64) {
    let (status, text) = Folder::of(&files(), program).bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    for code in ["E0273", "E0276", "E0290"] {
        assert!(!text.contains(code), "{text}");
    }
    let line = text.lines().find(|line| line.trim_start().starts_with("a "));
    let value = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    let value = value.unwrap_or_else(|| panic!("no value of `a`: {text}"));
    assert!(
        (value - expected).abs() < 2e-3,
        "{value} where {expected} is right: {text}"
    );
}

#[test]
fn elements_in_any_order_have_a_joint_density() {
    let y = values();
    let odd = (0..19).map(|t| (y[2 * t + 1], y[2 * t] + y[2 * t + 2]));
    let given = "
          for t in 0..20 { y[2 * t] ~ Normal(0, 1) }
          for t in 0..19 { y[2 * t + 1] ~ Normal(a * (y[2 * t] + y[2 * t + 2]), 1) }";
    finds(&series("even", given), mode(odd));
    let lag = mode((1..40).map(|t| (y[t], y[t - 1])));
    let backwards = "for t in 0..T - 1 { y[T - 1 - t] ~ Normal(a * y[T - 2 - t], 1) }";
    finds(&series("even", backwards), lag);
    let choice = "for t in 0..T { y[t] ~ Normal(if t > 0 { a * y[t - 1] } else { 0 }, 1) }";
    finds(&series("even", choice), lag);
    let inside = "for t in 0..T { y[t] ~ Normal(if t == 0 { 0 } else { a * y[t - 1] }, 1) }";
    finds(&series("even", inside), lag);
    let whole = "y ~ Normal(a * concat([0.0], y[0..T - 1]), 1)";
    finds(&series("even", whole), lag);
    let doubled: String = (1..60)
        .map(|at| format!("z{at} = 0.5 * z{} + 0.5 * z{}\n", at - 1, at - 1))
        .collect();
    let chain = format!("for t in 1..T {{ z0 = y[t - 1]\n {doubled} y[t] ~ Normal(a * z59, 1) }}");
    finds(&series("even", &chain), lag);
    let later = mode((0..39).map(|t| (y[t], y[t + 1])));
    finds(
        &series("even", "for t in 0..T - 1 { y[t] ~ Normal(a * y[t + 1], 1) }"),
        later,
    );
    let change = mode((2..40).map(|t| (y[t], y[t - 1] - y[t - 2])));
    finds(
        &series("even", "for t in 2..T { y[t] ~ Normal(a * before(y, t), 1) }"),
        change,
    );
}

#[test]
fn inferences_of_one_model_warn_once() {
    let program = series("even", "for t in 0..T { y[t] ~ Normal(a * y[T - 1 - t], 1) }");
    let program = format!("{program}\ninfer again = map(M, d) {{ steps = 50 }}");
    let (_, text) = Folder::of(&files(), &program).bnnc(&["run", "program.bnn"]);
    assert_eq!(text.matches("warning[E0276]").count(), 1, "{text}");
}

/// If an output has a joint distribution, every element depends on all arguments of the distribution.
#[test]
fn a_cycle_through_a_joint_distribution_is_found_at_each_element() {
    for position in [0, 5] {
        let program = two(&format!(
            "for t in 0..2 {{ y[t] ~ Normal(a * x[{position}], 1) }}
            x ~ MultivariateNormal(a * y[0] + zeros(T), eye(T))"
        ));
        let (_, text) = Folder::of(&files(), &program).bnnc(&["check", "program.bnn"]);
        assert_eq!(text.matches("error[E0273]").count(), 1, "{text}");
    }
}

#[test]
fn two_series_in_an_order_have_a_joint_density() {
    let (x, y) = (normal(4, 40), values());
    let of_x = (1..40).map(|t| (x[t], y[t - 1]));
    let of_y = (1..40).map(|t| (y[t], x[t] + x[t - 1]));
    let expected = mode(of_x.chain(of_y));
    let body = "
          for t in 1..T { x[t] ~ Normal(a * y[t - 1], 1) }
          for t in 1..T { y[t] ~ Normal(a * (x[t] + x[t - 1]), 1) }";
    finds(&two(body), expected);
    // The first half of `x` depends on `y`, and the second half of `y` depends on `x`. The elements
    // therefore do not form a cycle.
    let of_x = (0..20).map(|t| (x[t], y[t]));
    let of_y = (20..40).map(|t| (y[t], x[t]));
    let expected = mode(of_x.chain(of_y));
    let body = "
          for t in 0..20 { x[t] ~ Normal(a * y[t], 1) }
          for t in 20..T { y[t] ~ Normal(a * x[t], 1) }";
    finds(&two(body), expected);
}

#[test]
fn positions_that_a_condition_keeps_inside_an_axis_compile() {
    let y = values();
    let sum = |of: &dyn Fn(usize, usize) -> bool| {
        let terms = |t: usize| (0..40).filter(|s| of(*s, t)).map(|s| (s - t) as f64).sum::<f64>();
        mode((0..40).map(|t| (y[t], 0.01 * terms(t))))
    };
    let with = |position: &str| {
        let body = format!(
            "b = [0.01 * s for s in 0..T]
            for t in 0..T {{ y[t] ~ Normal(a * sum(b[{position}] for s in 0..T), 1) }}"
        );
        series("even", &body)
    };
    let later = sum(&|s, t| s > t);
    for position in [
        "if s > t { s - t } else { 0 }",
        "if s <= t { 0 } else { s - t }",
        "if !(s > t) { 0 } else { s - t }",
        "if s - t >= 1 && t >= 0 { s - t } else { 0 }",
        "if s <= t || s < 0 { 0 } else { s - t }",
    ] {
        finds(&with(position), later);
    }
    let near = sum(&|s, t| s > t && s < t + 5);
    finds(&with("if s > t && s < t + 5 { s - t } else { 0 }"), near);
    finds(
        &with("if s > t { if s < t + 5 { s - t } else { 0 } } else { 0 }"),
        near,
    );
    let apart = "b = [0.01 * s for s in 0..T]
        for t in 0..T {
          u = T - 1 - t
          y[t] ~ Normal(a * (if u >= 10 { b[u - 10] } else { b[u] }), 1)
        }";
    let value = |t: usize| 0.01 * (if 39 - t >= 10 { 29 - t } else { 39 - t }) as f64;
    finds(&series("even", apart), mode((0..40).map(|t| (y[t], value(t)))));
}

#[test]
fn positions_that_depend_on_data_are_checked_where_the_condition_holds() {
    let table = |last: usize| {
        let level = each(40, |row| if row == 39 { last as f64 } else { (row % 4) as f64 });
        csv(&[("g", level), ("y", normal(5, 40))])
    };
    let program = |mean: &str| {
        format!(
            "data d = csv(\"d.csv\")
            model M(g: count) -> y: real {{
              a: real[3] ~ Normal(0, 1)
              b ~ Normal(0, 1)
              y ~ Normal({mean}, 1)
            }}
            infer fit = map(M, d) {{ steps = 50 }}"
        )
    };
    for mean in [
        "if g > 0 { a[g - 1] } else { b }",
        "b + a[if g > 0 { g - 1 } else { 0 }]",
    ] {
        let run =
            |last: usize| Folder::of(&[("d.csv", table(last))], &program(mean)).bnnc(&["run", "program.bnn"]);
        let (status, text) = run(2);
        assert_eq!(status, Some(0), "{text}");
        let (status, text) = run(4);
        assert_eq!(status, Some(3), "{text}");
        assert!(
            text.contains("error[E0436]") && text.contains("d.csv:41"),
            "{text}"
        );
    }
}
