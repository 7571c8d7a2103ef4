//! Tests which tables are read and written, incomplete rows, and errors.

use crate::support::trial::Trial;
use crate::support::{root, run};
use crate::{assert_has, assert_sound, program_of, table, written};
use std::fs;
use std::path::{Path, PathBuf};

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
