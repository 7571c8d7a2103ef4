//! Tests the inputs of a program, the effects of groups, and columns that are left out.

use crate::support::trial::Trial;
use crate::{assert_has, assert_sound, program_of, results, table, written};
use std::fs;

#[test]
fn useless_columns_are_left_out_with_a_reason() {
    let text = table("id,name,country,unit,day,notes,x,y", 60, |at, random| {
        let notes = if at % 3 == 0 { "seen" } else { "" };
        let day = format!("2024-{:02}-{:02}", 1 + at / 28, 1 + at % 28);
        let (x, y) = (random.normal(), random.normal());
        format!("{},n{at},DE,3,{day},{notes},{x:.3},{y:.3}", at + 1)
    });
    let (program, shown) = program_of(&text, &[]);
    let reasons = [
        ("id", "it numbers the rows"),
        ("name", "every row has a text of its own, as in an identifier"),
        ("country", "every row has the value `DE`"),
        ("unit", "every row has the value 3"),
        ("day", "it holds dates as text"),
        ("notes", "40 of 60 values are missing"),
    ];
    for (name, why) in reasons {
        assert_has(&shown, &[&format!("left out `{name}`: {why}")]);
        assert_has(&program, &[&format!("{name} left out: {why}")]);
    }
    assert_has(
        &program,
        &[
            "csv(\"program-complete.csv\")",
            "the rows are in the order of `day`",
        ],
    );
    assert_has(&shown, &["holds the 60 of 60 rows"]);
    assert!(!program.contains("\n  test ="), "{program}");
}

#[test]
fn groups_have_effects() {
    let text = table("make,doors,shop_id,age,price", 120, |at, random| {
        let make = ["Golf", "Astra", "Corsa"][at % 3];
        format!(
            "{make},{},{},{:.2},{:.2}",
            2 + at % 3,
            100 + at % 30,
            random.uniform(),
            random.normal()
        )
    });
    let (program, shown) = program_of(&text, &[]);
    assert_has(&shown, &["1 numeric input and 3 columns of groups"]);
    assert_has(
        &program,
        &[
            "make groups, 3 different texts: Golf, Astra, Corsa",
            "effect_make: real[n_make] ~ Normal(0, 1)",
            "effect_doors: real[n_doors] ~ Normal(0, 1)",
            "~ Normal(0, sd_shop_id)",
            "b_age * age + effect_make[make] + effect_doors[doors] + effect_shop_id[shop_id]",
            "non_centered = [effect_shop_id]",
            "a value of `shop_id` has fewer than 5 rows",
        ],
    );
    // The only input is a column of groups, and the output is a class.
    let text = table("make,kind", 90, |at, _| {
        format!("{},{}", ["a", "b"][at % 2], ["u", "v", "w"][at / 2 % 3])
    });
    assert_has(
        &program_of(&text, &[]).0,
        &["effect_make: real[n_make, k]", "eta = alpha + effect_make[make]"],
    );
}

#[test]
fn any_column_name_can_be_used() {
    let header = "hours per week,for,x,größe,2nd,sigma,the shop,fit,data";
    let text = table(header, 60, |at, random| {
        let numbers: Vec<String> = (0..6).map(|_| format!("{:.3}", random.normal())).collect();
        format!(
            "{},{},{},{:.3}",
            numbers.join(","),
            ["a", "b"][at % 2],
            ["u", "v"][at / 2 % 2],
            random.normal()
        )
    });
    let (program, _) = program_of(&text, &[]);
    assert_has(
        &program,
        &[
            "hours_per_week = \"hours per week\"",
            "for_ = \"for\"",
            "x_ = x",
            "gr_e = \"größe\"",
            "c_2nd = \"2nd\"",
            "sigma_ = sigma",
            "the_shop = \"the shop\"",
            "-> data_: real",
        ],
    );
    let quoted = "a,\"b \"\"c\"\"\",y\n".to_owned()
        + &table("", 30, |_, r| format!("{:.3},1.5,{:.3}", r.normal(), r.normal()))[1..];
    let (program, shown) = program_of(&quoted, &[]);
    assert_has(&shown, &["its name has a double quote or a line break"]);
    assert_has(&program, &["inputs = [a]"]);
}

#[test]
fn five_hundred_columns_share_a_scale() {
    let names: Vec<String> = (0..500).map(|at| format!("gene{at}")).collect();
    let text = table(&format!("{},y", names.join(",")), 80, |_, random| {
        let numbers: Vec<String> = (0..501).map(|_| format!("{:.2}", random.normal())).collect();
        numbers.join(",")
    });
    let (program, shown) = program_of(&text, &[]);
    assert_has(&shown, &["500 numeric inputs"]);
    assert_has(
        &program,
        &[
            "and 461 more",
            "r2 ~ Beta(2, 2)",
            "tau = sqrt(r2 / d)",
            "beta: real[d] ~ Normal(0, tau)",
            "sigma = sqrt(1 - r2)",
            "non_centered = [beta], draws = 2500",
        ],
    );
    // Every class has separate coefficients, and the logits do not have noise.
    let text = table(&format!("{},y", names[..50].join(",")), 80, |at, random| {
        let numbers: Vec<String> = (0..50).map(|_| format!("{:.2}", random.normal())).collect();
        format!("{},{}", numbers.join(","), ["a", "b", "c"][at % 3])
    });
    let (program, _) = program_of(&text, &[]);
    assert_has(
        &program,
        &[
            "tau: positive ~ HalfNormal(0.14)",
            "beta: real[k, d] ~ Normal(0, tau)",
            "non_centered = [beta] }",
        ],
    );
}

/// With more columns than rows, the chains of the program converge.
#[test]
fn a_wide_table_converges() {
    let names: Vec<String> = (0..60).map(|at| format!("gene{at}")).collect();
    let text = table(&format!("{},y", names.join(",")), 36, |_, random| {
        let numbers: Vec<f64> = (0..60).map(|_| random.normal()).collect();
        let y = numbers[0] + numbers[1] + 0.5 * random.normal();
        let cells: Vec<String> = numbers.iter().map(|x| format!("{x:.3}")).collect();
        format!("{},{y:.3}", cells.join(","))
    });
    let fit = results(&text);
    let ess = fit["diagnostics"]["ess_tail"].as_f64().unwrap();
    assert!(ess > 400.0, "{ess}");
    // Two of the sixty inputs explain 8 / 9 of the variance.
    let of = |name: &str, at: usize| fit["parameters"][name]["mean"][at].as_f64().unwrap();
    let others = (2..60).map(|at| of("beta", at).abs()).fold(0.0, f64::max);
    assert!(of("beta", 0) > others && of("beta", 1) > others, "{fit}");
}

/// Groups without effects have the non-centred parameterisation. Groups with clear effects have the
/// centred parameterisation.
#[test]
fn the_parameterisation_of_effects_follows_the_variance_ratio() {
    let of = |size: f64| {
        table("shop,y", 320, |at, random| {
            let shop = at % 8;
            format!("s{shop},{:.3}", size * shop as f64 + random.normal())
        })
    };
    let (weak, _) = program_of(&of(0.0), &[]);
    assert_has(&weak, &["non_centered = [effect_shop], target_acceptance = 0.95"]);
    let (clear, _) = program_of(&of(1.0), &[]);
    assert!(!clear.contains("non_centered = "), "{clear}");
    let fit = results(&of(0.0));
    assert_eq!(fit["diagnostics"]["divergences"].as_f64(), Some(0.0), "{fit}");
}

/// A column that is left out because of its values in all rows stays left out, even if the complete
/// rows would make it usable. Its gaps were ignored when the complete rows were chosen, so it may
/// have gaps in these rows.
#[test]
fn columns_that_are_left_out_stay_left_out() {
    let text = table("rownum,age,who,y", 80, |at, random| {
        let age = if at % 10 == 5 {
            String::new()
        } else {
            (20 + at % 9).to_string()
        };
        let who = match at {
            11 | 22 => String::new(),
            at if at % 10 == 5 => format!("u{at}"),
            at => format!("g{}", at % 4),
        };
        format!("{},{age},{who},{:.3}", at + 1, random.normal())
    });
    let trial = Trial::new().file("cars.csv", &text);
    let (program, shown) = written(&trial, &["cars.csv"]);
    assert_sound(&trial.path("program.bnn"));
    assert_has(&shown, &["it numbers the rows"]);
    assert!(!program.contains("rownum)"), "{program}");
    let copy = fs::read_to_string(trial.path("program-complete.csv")).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    let last = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    for line in copy.lines().skip(1) {
        let whole = rows.iter().skip(1).find(|row| last(row) == last(line));
        assert!(whole.is_some_and(|row| !row.contains(",,")), "{line}");
    }
}

#[test]
fn integers_that_reals_cannot_tell_apart_are_reported_as_such() {
    let text = table("key,x,y", 40, |at, random| {
        // As reals, both integers equal 10^16.
        let key = 10_000_000_000_000_000i64 + (at as i64 % 2);
        format!("{key},{:.3},{:.3}", random.normal(), random.normal())
    });
    let (_, lines) = program_of(&text, &[]);
    assert_has(
        &lines,
        &["left out `key`: it has integers beyond 2^53, which reals cannot tell apart"],
    );
}
