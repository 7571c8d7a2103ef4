//! Tests the programs that `bnnc new` writes for tables of every kind, and its errors.

#![allow(clippy::unwrap_used, reason = "a failed test is a panic")]

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use support::trial::Trial;
use support::{root, run};

/// The first line of the commented network in a program.
const NETWORK: &str = "// model Network(";

/// Runs `bnnc new`, and returns the program and the lines on the terminal.
#[track_caller]
fn written(trial: &Trial, arguments: &[&str]) -> (String, String) {
    let program = trial.path("program.bnn");
    let file = trial.path(arguments[0]);
    let mut all = vec![
        "new".into(),
        file.into_os_string(),
        program.clone().into_os_string(),
    ];
    all.extend(arguments[1..].iter().map(Into::into));
    let output = run(all);
    output.assert_silent();
    (fs::read_to_string(program).unwrap(), output.stdout)
}

/// Checks that a program does not have errors, and that `bnnc fmt` does not change it.
#[track_caller]
fn assert_clean(program: &Path) {
    let text = fs::read_to_string(program).unwrap();
    let checked = run([Path::new("check"), program]);
    assert_eq!(checked.status, 0, "{}\n{text}", checked.stderr);
    let formatted = run([Path::new("fmt"), Path::new("--check"), program]);
    assert_eq!(formatted.status, 0, "{}\n{text}", formatted.stdout);
}

/// Checks a program as it is, and then the same program after uncommenting its network.
#[track_caller]
fn assert_sound(program: &Path) {
    assert_clean(program);
    let text = fs::read_to_string(program).unwrap();
    let Some(at) = text.find(NETWORK) else { return };
    let network = text[at..].lines().map(|line| {
        let code = line.strip_prefix("//").unwrap();
        code.strip_prefix(' ').unwrap_or(code)
    });
    let network: Vec<&str> = network.collect();
    let both = program.with_file_name("both.bnn");
    fs::write(&both, text[..at].to_owned() + &network.join("\n") + "\n").unwrap();
    assert_clean(&both);
}

/// Writes a table, runs `bnnc new` on it, and checks the program. Returns the program and the lines
/// on the terminal.
#[track_caller]
fn program_of(table: &str, arguments: &[&str]) -> (String, String) {
    let trial = Trial::new().file("cars.csv", table);
    let mut all = vec!["cars.csv"];
    all.extend(arguments);
    let found = written(&trial, &all);
    assert_sound(&trial.path("program.bnn"));
    found
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    // A comment may break the line at any word, so line breaks are removed before the comparison.
    let flat = |text: &str| {
        text.replace("//", " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    for part in parts {
        assert!(flat(text).contains(&flat(part)), "`{part}` is not in\n{text}");
    }
}

/// Generates uniform numbers by a linear congruential generator with the constants of Knuth's MMIX.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Returns a standard normal number, by the method of Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns a Poisson number with the mean `mean`, by Knuth's product of uniform numbers.
    fn poisson(&mut self, mean: f64) -> i64 {
        let (mut product, mut count) = (self.uniform(), 0);
        while product > (-mean).exp() {
            product *= self.uniform();
            count += 1;
        }
        count
    }
}

/// Returns a table with the header `header` and `rows` rows. The function `row` creates each row.
fn table(header: &str, rows: usize, mut row: impl FnMut(usize, &mut Random) -> String) -> String {
    let mut random = Random(7);
    let mut text = format!("{header}\n");
    for at in 0..rows {
        text += &row(at, &mut random);
        text.push('\n');
    }
    text
}

/// Returns the data files in a folder of the checkout and in all folders named `data` below this
/// folder.
fn data_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(data_files(&path));
        } else if [".csv", ".csv.gz", ".parquet"]
            .iter()
            .any(|ending| name.ends_with(ending))
        {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn every_table_of_the_book_and_of_the_examples_gets_a_program() {
    let mut files = data_files(&root().join("docs/data"));
    files.extend(data_files(&root().join("examples")));
    assert!(files.len() > 30, "{files:?}");
    for file in files {
        let trial = Trial::new();
        let program = trial.path("program.bnn");
        let output = run([Path::new("new"), &file, &program]);
        assert_eq!(output.status, 0, "{}: {}", file.display(), output.stderr);
        assert_sound(&program);
    }
}

/// Returns the program for a table with a standard normal input. `value` computes the output of
/// each row.
#[track_caller]
fn of(value: &dyn Fn(usize, &mut Random) -> String) -> String {
    let text = table("x,y", 120, |at, random| {
        format!("{:.3},{}", random.normal(), value(at, random))
    });
    program_of(&text, &[]).0
}

#[test]
fn real_outputs_are_normal_heavy_tailed_or_positive() {
    assert_has(
        &of(&|_, r| format!("{:.3}", r.normal())),
        &[
            "-> y: real",
            "y ~ Normal(eta, sigma)",
            "standardise = [inputs, target]",
        ],
    );
    let outlier = of(&|at, r| format!("{:.3}", if at == 60 { 40.0 } else { r.normal() }));
    assert_has(
        &outlier,
        &["one row lies far from all others", "y ~ StudentT(df, eta, sigma)"],
    );
    let positive = of(&|_, r| format!("{:.4}", (1.5 + r.normal()).exp()));
    assert_has(
        &positive,
        &[
            "-> y: positive",
            "y ~ LogNormal(eta, sigma)",
            "standardise = inputs",
        ],
    );
    let waiting = of(&|_, r| format!("{:.6}", -3.0 * r.uniform().ln()));
    assert_has(
        &waiting,
        &[
            "many values are close to zero",
            "y ~ Gamma(shape, exp(eta) / shape)",
        ],
    );
}

#[test]
fn outputs_of_integers_and_text_are_classes_or_counts() {
    assert_has(
        &of(&|at, _| (at % 2).to_string()),
        &["-> y: bool", "y ~ Bernoulli(logit = eta)"],
    );
    assert_has(
        &of(&|at, _| (at % 3 == 0).to_string()),
        &["y ~ Bernoulli(logit = eta)"],
    );
    assert_has(
        &of(&|at, _| (1 + at % 2).to_string()),
        &["target = y == 2", "y ~ Bernoulli(logit = eta)"],
    );
    let words = of(&|at, _| if at % 3 == 0 { "no" } else { "yes" }.to_owned());
    assert_has(
        &words,
        &[
            "-> y: index(2)",
            "the probability of `yes`",
            "Categorical(logits = [0, eta])",
        ],
    );
    let classes = of(&|at, _| ["a", "b", "c"][at % 3].to_owned());
    assert_has(
        &classes,
        &[
            "one of 3 classes",
            "beta: real[k, d]",
            "Categorical(logits = eta)",
        ],
    );
    assert_has(
        &of(&|at, _| (at % 3).to_string()),
        &["one of the classes 0 to 2", "Categorical(logits = eta)"],
    );
    assert_has(
        &of(&|_, r| r.poisson(3.0).to_string()),
        &["-> y: count", "y ~ Poisson(log_rate = eta)"],
    );
    let varied = of(&|_, r| {
        let mean = 4.0 * (1.2 * r.normal()).exp();
        r.poisson(mean).to_string()
    });
    assert_has(
        &varied,
        &["y ~ NegativeBinomial(log_mean = eta, dispersion = dispersion)"],
    );
    assert!(!varied.contains("counts are 0"), "{varied}");
    let zeros = of(&|at, r| if at % 3 == 0 { 0 } else { r.poisson(6.0) }.to_string());
    assert_has(
        &zeros,
        &[
            "of 120 counts are 0",
            "recipe on counts with too many zeros in the book",
        ],
    );
    assert_has(
        &of(&|at, _| (3 + at % 4).to_string()),
        &["less than half its mean", "y ~ Normal(eta, sigma)"],
    );
    assert_has(
        &of(&|at, _| (1000 + 37 * (at % 90)).to_string()),
        &["y ~ Normal(eta, sigma)"],
    );
}

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
fn columns_without_an_input_give_a_distribution() {
    let text = table("level", 50, |_, random| format!("{:.3}", random.normal()));
    let (program, shown) = program_of(&text, &[]);
    assert_has(&shown, &["with no inputs"]);
    assert_has(
        &program,
        &["model Linear(_i: index(n) = row) -> level: real", "eta = alpha"],
    );
    assert!(!program.contains(NETWORK));
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

/// The negative binomial counts are Poisson counts whose mean is multiplied by a gamma variable with
/// shape 40.
#[test]
fn a_large_dispersion_is_recovered() {
    let text = table("x,y", 400, |_, random| {
        let x = random.normal();
        let factor = (0..40).map(|_| -random.uniform().ln()).sum::<f64>() / 40.0;
        format!("{x:.4},{}", random.poisson(60.0 * (0.3 * x).exp() * factor))
    });
    let fit = results(&text);
    assert_near(&fit, "dispersion", 40.0, 8.0);
    assert_near(&fit, "beta", 0.3, 0.05);
}

#[test]
fn rows_in_the_order_of_time_are_not_split_at_random() {
    let text = table("year,price", 60, |at, random| {
        format!("{},{:.2}", 1960 + at, random.normal())
    });
    let (program, shown) = program_of(&text, &[]);
    assert!(!shown.contains("left out"), "{shown}");
    assert_has(
        &program,
        &["in the order of the rows", "test = csv(\"last.csv\")"],
    );
    assert!(!program.contains("\n  test ="), "{program}");
}

#[test]
fn incomplete_rows_are_left_out_of_a_copy() {
    let text = table("city,age,y", 80, |at, random| {
        let city = if at == 3 { "" } else { ["Oslo, N", "Kiel"][at % 2] };
        let age = if at % 20 == 5 {
            "NA".to_owned()
        } else {
            (20 + at % 9).to_string()
        };
        let y = if at == 7 {
            "nan".to_owned()
        } else {
            format!("{:.3}", random.normal())
        };
        format!("\"{city}\",{age},{y}")
    });
    let trial = Trial::new().file("cars.csv", &text);
    let (program, shown) = written(&trial, &["cars.csv"]);
    assert_sound(&trial.path("program.bnn"));
    assert_has(
        &shown,
        &["the 74 of 80 rows with a value in every column that is used"],
    );
    assert_has(&program, &["csv(\"program-complete.csv\")", "In 6 of 80 rows"]);
    let copy = fs::read_to_string(trial.path("program-complete.csv")).unwrap();
    let whole = text
        .lines()
        .skip(1)
        .filter(|line| !line.starts_with("\"\"") && !line.contains("NA") && !line.contains("nan"));
    let ages = |line: &str| line.rsplit(',').nth(1).unwrap().to_owned();
    let expected: Vec<String> = whole.map(ages).collect();
    let found: Vec<String> = copy.lines().skip(1).map(ages).collect();
    assert_eq!(found, expected);
    assert_eq!(copy.lines().nth(1).unwrap().split(',').next(), Some("\"Oslo"));
}

#[test]
fn the_output_is_the_last_column_that_can_be_one() {
    let text = table("age,price,plate", 50, |at, r| {
        format!("{:.2},{:.2},P{at}", r.normal(), r.normal())
    });
    let (_, shown) = program_of(&text, &[]);
    assert_has(
        &shown,
        &["the output is `price`, because the last column `plate` cannot be one"],
    );
    let (program, shown) = program_of(&text, &["--output", "age"]);
    assert_has(&program, &["target = age", "inputs = [price]"]);
    assert!(!shown.contains("the output is"), "{shown}");
}

#[test]
fn compressed_tables_and_json_are_read() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let text = table("x,y", 50, |_, r| format!("{:.3},{:.3}", r.normal(), r.normal()));
    std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
    let trial = Trial::new().file("cars.csv.gz", encoder.finish().unwrap());
    let folder = trial.path("project");
    let output = run([Path::new("new"), &trial.path("cars.csv.gz"), &folder]);
    output.assert_silent();
    assert_sound(&folder.join("cars.bnn"));
    assert_has(
        &fs::read_to_string(folder.join("cars.bnn")).unwrap(),
        &["csv(\"../cars.csv.gz\")"],
    );

    let json =
        r#"{"N": 4, "x": [1.5, 2.5, 3, 4.5], "y": [2, 3.5, 5, 5.5], "w": [[1, 2], [3, 4], [5, 6], [7, 8]]}"#;
    let trial = Trial::new().file("cars.json", json);
    let (program, shown) = written(&trial, &["cars.json", "--output", "y"]);
    assert_sound(&trial.path("program.bnn"));
    assert_has(&program, &["json(\"cars.json\")", "inputs = [x]", "target = y"]);
    assert_has(
        &shown,
        &[
            "left out `N`: it does not have a value for each row",
            "left out `w`: it has several numbers",
        ],
    );
}

/// The prior of the intercept covers the data, even if the spread of the data is small compared
/// with their size.
#[test]
fn the_prior_of_the_intercept_covers_the_data() {
    // The outputs are far from one, and the largest output is about twice the smallest output.
    let text = table("x,y", 80, |at, _| {
        let share = (at as f64 + 0.5) / 80.0;
        format!("{share:.3},{:.4}", 1e6 * (-(1.0 - share).ln()).exp().powf(0.3))
    });
    let (program, _) = program_of(&text, &[]);
    let prior = program
        .lines()
        .find(|line| line.trim().starts_with("alpha ~ Normal("))
        .unwrap();
    let numbers: Vec<f64> = prior
        .split(['(', ',', ')'])
        .filter_map(|part| part.trim().parse().ok())
        .collect();
    let logs = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().parse::<f64>().unwrap().ln());
    let mean = logs.sum::<f64>() / 80.0;
    assert!(
        (numbers[0] - mean).abs() <= 0.1 * numbers[1],
        "{prior}, mean {mean}"
    );
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

/// The text `NA` in a column of texts is a missing value, not a class.
#[test]
fn marks_of_missing_texts_are_gaps() {
    let text = table("x,y", 60, |at, random| {
        let y = ["no", "yes", "no", "yes", "NA"][at % 5];
        format!("{:.3},{y}", random.normal())
    });
    let trial = Trial::new().file("cars.csv", &text);
    let (program, shown) = written(&trial, &["cars.csv"]);
    assert_has(&shown, &["the 48 of 60 rows"]);
    assert_has(&program, &["2 different texts: no, yes"]);
}

/// In a column of numbers, a mark of a missing value is a gap, even before the first number. In a
/// column of texts, `none` and `-` are texts.
#[test]
fn marks_of_missing_numbers_are_gaps() {
    let marks = ["n/a", "#N/A", "-", ".", "none", "null", "?", "None", "NA"];
    let text = table("a,b,kind,y", 90, |at, random| {
        let number = format!("{:.3}", random.normal());
        let a = if at < 9 { marks[at] } else { &number };
        let b = if (20..29).contains(&at) {
            marks[at - 20]
        } else {
            &number
        };
        let kind = ["none", "-", "garage"][at % 3];
        format!("{a},{b},{kind},{:.3}", random.normal())
    });
    let trial = Trial::new().file("cars.csv", &text);
    let (program, shown) = written(&trial, &["cars.csv"]);
    assert_sound(&trial.path("program.bnn"));
    assert_has(
        &shown,
        &["2 numeric inputs and 1 column of groups", "the 72 of 90 rows"],
    );
    assert_has(&program, &["3 different texts: none, -, garage"]);
    let copy = fs::read_to_string(trial.path("program-complete.csv")).unwrap();
    let rows = text.lines().skip(1).enumerate();
    let kept = rows.filter(|(at, _)| !(*at < 9 || (20..29).contains(at)));
    let last = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    let expected: Vec<f64> = kept.map(|(_, line)| last(line)).collect();
    let found: Vec<f64> = copy.lines().skip(1).map(last).collect();
    assert_eq!(found, expected);
    // A program that reads the original table reports an error at the first mark.
    let program = program.replace("program-complete.csv", "cars.csv");
    fs::write(trial.path("whole.bnn"), program).unwrap();
    let checked = run([Path::new("check"), &trial.path("whole.bnn")]);
    checked.assert_error(
        "E0408",
        3,
        &["found none in 9 of 90 rows: 2, 3, 4, ..", "column `a`"],
    );
}

#[test]
fn errors_have_codes_and_places() {
    let trial = Trial::new()
        .file("cars.csv", "age,price\n3,9.5\n7,4.2\n")
        .file("one.csv", "age,price\n3,9.5\n")
        .file("empty.csv", "")
        .file("same.csv", "age,price\n3,9.5\n7,9.5\n")
        .file("cars.bnn", "// mine\n");
    let new = |arguments: &[&str]| {
        let mut all = vec![
            Path::new("new").as_os_str().to_owned(),
            trial.path(arguments[0]).into_os_string(),
        ];
        all.push(trial.path(arguments[1]).into_os_string());
        all.extend(arguments[2..].iter().map(Into::into));
        run(all)
    };
    new(&["car.csv", "p.bnn"]).assert_error("E0401", 3, &["did you mean", "cars.csv"]);
    new(&["empty.csv", "p.bnn"]).assert_error("E0405", 3, &["is empty"]);
    new(&["cars.xlsx", "p.bnn"]).assert_error("E0660", 3, &["ends in `.xlsx`"]);
    new(&["cars.csv", "p.bnn", "--output", "prise"]).assert_error(
        "E0661",
        3,
        &["cars.csv", "did you mean `price`?"],
    );
    new(&["cars.csv", "p.bnn", "--output", "weight"]).assert_error(
        "E0661",
        3,
        &["its columns are `age`, `price`"],
    );
    new(&["one.csv", "p.bnn"]).assert_error("E0662", 3, &["only one row"]);
    new(&["same.csv", "p.bnn", "--output", "price"]).assert_error("E0664", 3, &["same value in every row"]);
    let existing = new(&["cars.csv", "cars.bnn"]);
    existing.assert_error("E0663", 3, &["cars.bnn", "--overwrite"]);
    assert_eq!(fs::read_to_string(trial.path("cars.bnn")).unwrap(), "// mine\n");
    let into_folder = new(&["cars.csv", "."]);
    into_folder.assert_error("E0663", 3, &["cars.bnn"]);
    assert!(!trial.path("p.bnn").exists());
    new(&["cars.csv", "cars.bnn", "--overwrite"]).assert_silent();
    assert_sound(&trial.path("cars.bnn"));
}

/// Writes the program of a table, runs it, and returns the results of its inference.
#[track_caller]
fn results(text: &str) -> Value {
    let trial = Trial::new().file("cars.csv", text);
    written(&trial, &["cars.csv"]);
    let result = trial.result(&[]);
    let fit = result["infer"]["fit"].clone();
    let rhat = fit["diagnostics"]["rhat"].as_f64().unwrap();
    assert!(rhat < 1.02, "{fit}");
    fit
}

/// Checks that the posterior mean of a parameter is within four posterior standard deviations of
/// `truth`, and that the posterior standard deviation is below `most`.
#[track_caller]
fn assert_near(fit: &Value, name: &str, truth: f64, most: f64) {
    let number = |part: &Value| part.as_f64().or_else(|| part[0].as_f64()).unwrap();
    let parameter = &fit["parameters"][name];
    let (mean, sd) = (number(&parameter["mean"]), number(&parameter["sd"]));
    assert!(
        (mean - truth).abs() < 4.0 * sd && sd < most,
        "{name}: {mean} ± {sd}, not {truth}"
    );
}

#[test]
fn a_line_has_the_coefficient_of_least_squares() {
    // If a table has fewer than 40 rows, all of them are training rows. For standardised data, the
    // least-squares slope is the correlation.
    let mut points = Vec::new();
    let text = table("x,y", 36, |_, random| {
        let x = random.normal();
        let y = 3.0 + 2.0 * x + random.normal();
        points.push((x, y));
        format!("{x},{y}")
    });
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(&|p| p.0), mean(&|p| p.1));
    let cross = mean(&|p| (p.0 - mx) * (p.1 - my));
    let correlation = cross / (mean(&|p| (p.0 - mx).powi(2)) * mean(&|p| (p.1 - my).powi(2))).sqrt();
    let fit = results(&text);
    let slope = fit["parameters"]["beta"]["mean"][0].as_f64().unwrap();
    // In this test, the prior `Normal(0, 1)` shrinks the slope by less than 2 %.
    assert!((slope - correlation).abs() < 0.02, "{slope}, not {correlation}");
}

#[test]
fn generalised_linear_models_recover_the_simulated_coefficients() {
    // `x` is standard normal, so its coefficient hardly changes when it is standardised.
    let logistic = table("x,y", 400, |_, random| {
        let x = random.normal();
        let p = 1.0 / (1.0 + (-0.5 - 1.5 * x).exp());
        format!("{x:.4},{}", i64::from(random.uniform() < p))
    });
    assert_near(&results(&logistic), "beta", 1.5, 0.3);
    let counts = table("x,y", 400, |_, random| {
        let x = random.normal();
        format!("{x:.4},{}", random.poisson((0.7 + 0.3 * x).exp()))
    });
    assert_near(&results(&counts), "beta", 0.3, 0.1);
    let prices = table("x,y", 400, |_, random| {
        let x = random.normal();
        format!("{x:.4},{:.5}", (1.0 + 0.6 * x + 0.7 * random.normal()).exp())
    });
    let fit = results(&prices);
    assert_near(&fit, "beta", 0.6, 0.1);
    assert_near(&fit, "sigma", 0.7, 0.1);
}

#[test]
fn effects_of_groups_are_differences_of_their_means() {
    let text = table("make,price", 39, |at, random| {
        let (make, mean) = [("a", 0.0), ("b", 4.0), ("c", 8.0)][at % 3];
        format!("{make},{}", mean + random.normal())
    });
    let values: Vec<f64> = text
        .lines()
        .skip(1)
        .map(|line| line[2..].parse().unwrap())
        .collect();
    let mean = |from: usize| values.iter().skip(from).step_by(3).sum::<f64>() / 13.0;
    let all = values.iter().sum::<f64>() / 39.0;
    let sd = (values.iter().map(|y| (y - all).powi(2)).sum::<f64>() / 39.0).sqrt();
    let fit = results(&text);
    let effects = &fit["parameters"]["effect_make"]["mean"];
    let difference = effects[2].as_f64().unwrap() - effects[0].as_f64().unwrap();
    let expected = (mean(2) - mean(0)) / sd;
    assert!(
        (difference - expected).abs() < 0.05,
        "{difference}, not {expected}"
    );
}

#[test]
fn classes_far_apart_are_told_apart() {
    let text = table("u,v,kind", 120, |at, random| {
        let (name, u, v) = [("a", 0.0, 0.0), ("b", 6.0, 0.0), ("c", 0.0, 6.0)][at % 3];
        format!("{:.3},{:.3},{name}", u + random.normal(), v + random.normal())
    });
    let accuracy = results(&text)["metrics"]["accuracy"].as_f64();
    assert!(accuracy.unwrap() > 0.95, "{accuracy:?}");
}

/// Returns a table of forty rows with the columns a, b, y and z. Every tenth row has a gap in b.
fn with_gaps() -> String {
    table("a,b,y,z", 40, |at, random| {
        let gap = at % 10 == 3;
        let b = if gap {
            String::new()
        } else {
            format!("{:.3}", random.normal())
        };
        format!("{at}.5,{b},{:.3},{:.3}", 50.0 + random.normal(), random.normal())
    })
}

/// The table of complete rows of a second program must not replace the table of the first program.
#[test]
fn each_program_has_its_own_table_of_complete_rows() {
    let trial = Trial::new().file("t.csv", with_gaps());
    let new = |program: &str, arguments: &[&str]| {
        let mut all = vec!["new".into(), trial.path("t.csv"), trial.path(program)];
        all.extend(arguments.iter().map(PathBuf::from));
        run(all)
    };
    new("a.bnn", &["--output", "y"]).assert_silent();
    let complete = fs::read_to_string(trial.path("a-complete.csv")).unwrap();
    new("b.bnn", &["--output", "a", "--overwrite"]).assert_silent();
    assert_eq!(
        fs::read_to_string(trial.path("a-complete.csv")).unwrap(),
        complete
    );
    let program = fs::read_to_string(trial.path("a.bnn")).unwrap();
    assert_has(&program, &["csv(\"a-complete.csv\")", "target = y"]);
    let checked = run([Path::new("check"), &trial.path("a.bnn")]);
    let words: Vec<&str> = checked.stdout.split_whitespace().collect();
    assert_has(&words.join(" "), &["output y column y"]);
    // A program may be written again together with its table.
    new("b.bnn", &["--output", "z", "--overwrite"]).assert_silent();
    let header = fs::read_to_string(trial.path("b-complete.csv")).unwrap();
    assert!(header.lines().next().unwrap().ends_with(",z"), "{header}");
}

#[test]
fn overwrite_spares_tables_that_no_program_reads_and_targets_of_links() {
    let trial = Trial::new()
        .file("t.csv", with_gaps())
        .file("t-complete.csv", "mine\n")
        .file("target.txt", "mine too\n");
    let new = |program: &str| {
        run([
            Path::new("new"),
            &trial.path("t.csv"),
            &trial.path(program),
            Path::new("--overwrite"),
        ])
    };
    new("t.bnn").assert_error(
        "E0663",
        3,
        &[
            "t-complete.csv",
            "replaces a table only if it also replaces a program that reads this table",
        ],
    );
    assert_eq!(
        fs::read_to_string(trial.path("t-complete.csv")).unwrap(),
        "mine\n"
    );
    assert!(!trial.path("t.bnn").exists());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("target.txt", trial.path("l.bnn")).unwrap();
        new("l.bnn").assert_silent();
        assert_eq!(
            fs::read_to_string(trial.path("target.txt")).unwrap(),
            "mine too\n"
        );
        assert!(
            fs::read_to_string(trial.path("l.bnn"))
                .unwrap()
                .contains("infer fit")
        );
    }
}

/// If the last column has gaps, or contains numbers as text, it is most likely the output that the
/// user wants. Another column must then not be chosen as the output.
#[test]
fn a_probable_output_is_not_replaced_by_an_input() {
    let halves = table("a,y", 60, |at, random| {
        let y = if at % 2 == 0 {
            String::new()
        } else {
            format!("{:.3}", random.normal())
        };
        format!("{:.3},{y}", random.normal())
    });
    let error = |table: &str, arguments: &[&str]| {
        let trial = Trial::new().file("t.csv", table);
        let mut all = vec!["new".into(), trial.path("t.csv"), trial.path("t.bnn")];
        all.extend(arguments.iter().map(PathBuf::from));
        run(all)
    };
    error(&halves, &[]).assert_error(
        "E0664",
        3,
        &[
            "`y` cannot be the output: 30 of 60 values are missing",
            "write `--output y`",
        ],
    );
    error(&halves, &["--output", "y"]).assert_silent();
    for cell in ["%", "$"] {
        let texts = table("a,y", 60, |at, random| match cell {
            "%" => format!("{:.3},{}.{}%", random.normal(), at, at % 7),
            _ => format!("{:.3},${}.{}", random.normal(), at, at % 7),
        });
        error(&texts, &[]).assert_error("E0664", 3, &["its numbers are written as text", "without units"]);
    }
    let pipes = table("a|y", 60, |at, _| format!("{at}.1|{at}"));
    error(&pipes, &[]).assert_error("E0664", 3, &["separated by `|`"]);
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

#[test]
fn ratings_are_not_counts() {
    let ratings = of(&|_, r| (1 + (4.999 * (r.uniform() + r.uniform()) / 2.0) as i64).to_string());
    assert_has(
        &ratings,
        &["y ~ Normal(eta, sigma)", "recipe on ordinal regression"],
    );
    let even = of(&|at, _| (at % 5).to_string());
    assert_has(&even, &["one of the classes 0 to 4", "Categorical(logits = eta)"]);
    let shares = of(&|_, r| format!("{:.4}", r.uniform()));
    assert_has(&shares, &["for a proportion, `Beta`"]);
}
