//! Tests warnings about NumPy arrays: rows that repeat, and elements with different units.

use super::support::trial::Trial;

/// Returns a number of an equidistributed sequence in `[0, 1)`.
fn uniform(at: usize) -> f64 {
    ((at as f64 + 1.0) * 0.618_033_988_749_894_9).fract()
}

/// Returns the fractional part of a large multiple of a sine, which looks random.
fn random(at: usize) -> f64 {
    ((at as f64 + 1.0) * 12.9898).sin().abs() * 43_758.545_3 % 1.0
}

/// Returns an NPY file.
fn npy(kind: &str, shape: &[usize], elements: Vec<u8>) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [
        b"\x93NUMPY\x01\x00".to_vec(),
        length.to_vec(),
        header.into_bytes(),
        elements,
    ]
    .concat()
}

fn reals(shape: &[usize], values: impl Iterator<Item = f64>) -> Vec<u8> {
    npy("<f8", shape, values.flat_map(f64::to_le_bytes).collect())
}

fn bytes(shape: &[usize], values: impl Iterator<Item = u8>) -> Vec<u8> {
    npy("|u1", shape, values.collect())
}

/// Returns the warnings of a program that reads the inputs and the targets of the training rows and of the test rows from four files.
fn warnings(program: &str, arrays: [Vec<u8>; 4]) -> String {
    let files = ["x.npy", "y.npy", "tx.npy", "ty.npy"].into_iter().zip(arrays);
    let trial = files.fold(Trial::new(), |trial, (name, array)| trial.file(name, array));
    trial.program(program).bnnc("run", &[]).stderr
}

/// Returns the warnings of a run. `rows` lists the numbers of the examples that are training rows, and `tested` the numbers of those that are test
/// rows. An example consists of 18 real columns and a real target.
fn of_columns(rows: &[usize], tested: &[usize]) -> String {
    let inputs = |rows: &[usize]| {
        let values = rows
            .iter()
            .flat_map(|row| (0..18).map(move |at| random(18 * row + at)));
        reals(&[rows.len(), 18], values)
    };
    let targets = |rows: &[usize]| reals(&[rows.len()], rows.iter().map(|row| uniform(*row)));
    let program = "data d = npy(\"x.npy\", \"y.npy\") { test = npy(\"tx.npy\", \"ty.npy\") }
        model M(x: real[18]) -> y: real {
          w: real[18] ~ Normal(0, 1)
          s: positive ~ HalfNormal(1)
          y ~ Normal(sum(w * x), s)
        }
        infer fit = map(M, d) { epochs = 2 }";
    warnings(
        program,
        [inputs(rows), targets(rows), inputs(tested), targets(tested)],
    )
}

/// Returns the warnings of a run. An example is an image of 6 by 6 bytes with one of two classes.
fn of_images(rows: &[usize], tested: &[usize]) -> String {
    let pixel = |row: usize, at: usize| (256.0 * random(36 * row + at)) as u8;
    let inputs = |rows: &[usize]| {
        let values = rows.iter().flat_map(|row| (0..36).map(move |at| pixel(*row, at)));
        bytes(&[rows.len(), 1, 6, 6], values)
    };
    let targets = |rows: &[usize]| bytes(&[rows.len()], rows.iter().map(|row| u8::from(row * row % 7 > 2)));
    let program = "data d = npy(\"x.npy\", \"y.npy\") { test = npy(\"tx.npy\", \"ty.npy\"), scale = 1 / 128 }
        model M(x: real[1, 6, 6]) -> y: index(2) {
          w: real[2, 36] ~ Normal(0, 0.1)
          y ~ Categorical(logits = w @ flatten(x))
        }
        infer fit = map(M, d) { epochs = 2 }";
    warnings(
        program,
        [inputs(rows), targets(rows), inputs(tested), targets(tested)],
    )
}

/// Copies are reported however many copies of a row there are.
#[test]
fn copies_are_reported_if_every_row_occurs_three_times_or_more() {
    let tested: Vec<usize> = (10..34).collect();
    let new: Vec<usize> = (1000..1024).collect();
    for times in [3, 5] {
        let rows: Vec<usize> = (0..60 * times).map(|row| row % 60).collect();
        let repeats = format!("{} of {} training rows repeat", rows.len() - 60, rows.len());
        for of in [of_columns, of_images] {
            let text = of(&rows, &tested);
            assert!(text.contains("E0644") && text.contains(&repeats), "{text}");
            assert!(
                text.contains("E0556") && text.contains("24 of 24 test rows"),
                "{text}"
            );
            let text = of(&rows, &new);
            assert!(text.contains("E0644") && !text.contains("E0556"), "{text}");
        }
    }
    let rows: Vec<usize> = (0..180).collect();
    for of in [of_columns, of_images] {
        let text = of(&rows, &tested);
        assert!(!text.contains("E0644") && text.contains("E0556"), "{text}");
        let text = of(&rows, &new);
        assert!(!text.contains("E0644") && !text.contains("E0556"), "{text}");
    }
}

/// A one-hot code of 26 letters with a Boolean target has at most 52 different rows.
#[test]
fn repeated_codes_of_levels_are_not_copies() {
    let letter = |row: usize| (26.0 * random(row)) as usize;
    let inputs = |from: usize, rows: usize| {
        let values =
            (from..from + rows).flat_map(|row| (0..26).map(move |at| f64::from(u8::from(at == letter(row)))));
        reals(&[rows, 26], values)
    };
    let targets = |from: usize, rows: usize| {
        let of = |row: usize| f64::from(u8::from(random(7 * row + 5000) < 0.5));
        reals(&[rows], (from..from + rows).map(of))
    };
    for rows in [40, 90, 400] {
        let trial = Trial::new()
            .file("x.npy", inputs(0, rows))
            .file("y.npy", targets(0, rows))
            .file("tx.npy", inputs(1000, 40))
            .file("ty.npy", targets(1000, 40));
        let program = "data d = npy(\"x.npy\", \"y.npy\") { test = npy(\"tx.npy\", \"ty.npy\") }
            model M(x: real[26]) -> y: index(2) {
              w: real[2, 26] ~ Normal(0, 1)
              y ~ Categorical(logits = w @ x)
            }
            infer fit = map(M, d) { epochs = 2 }";
        let text = trial.program(program).bnnc("run", &[]).stderr;
        assert!(
            !text.contains("E0644") && !text.contains("E0556"),
            "{rows}: {text}"
        );
    }
}

/// If an input has ten different values and the target is a function of it, test rows equal training rows by chance.
#[test]
fn test_rows_on_a_grid_are_not_copies() {
    let table = |from: usize, rows: usize| {
        let row = |at: usize| {
            let day = (10.0 * random(from + at)).floor();
            format!("{day},{}\n", 1.5 * day - 0.1 * day * day)
        };
        format!("day,y\n{}", (0..rows).map(row).collect::<String>())
    };
    let program = "data d = csv(\"d.csv\") { test = csv(\"t.csv\") }
        model M(day: real) -> y: real {
          a ~ Normal(0, 1)
          s: positive ~ HalfNormal(1)
          y ~ Normal(a * day, s)
        }
        infer fit = map(M, d) { epochs = 2 }";
    let trial = Trial::new()
        .file("d.csv", table(0, 200))
        .file("t.csv", table(500, 30));
    let text = trial.program(program).bnnc("run", &[]).stderr;
    assert!(!text.contains("E0556"), "{text}");
}

/// Each row is a table of two columns that may have different units, so they are not pixels.
#[test]
fn scales_of_an_array_with_two_axes_are_compared() {
    let element = |row: usize, at: usize| match at % 2 {
        0 => 0.003 * (random(10 * row + at) - 0.5),
        _ => 200.0 * (random(10 * row + at) - 0.5),
    };
    let values = (0..100).flat_map(|row| (0..10).map(move |at| element(row, at)));
    let program = "data d = npy(\"x.npy\", \"y.npy\")
        model M(x: real[5, 2]) -> y: real {
          w: real[10] ~ Normal(0, 1)
          s: positive ~ HalfNormal(1)
          y ~ Normal(sum(w * reshape(x, 10)), s)
        }
        infer fit = map(M, d) { epochs = 2 }";
    let trial = Trial::new()
        .file("x.npy", reals(&[100, 5, 2], values))
        .file("y.npy", reals(&[100], (0..100).map(uniform)));
    let output = trial.program(program).bnnc("run", &[]);
    output.assert_warning("E0536", &["standard deviations from", "standardise = [inputs"]);
    assert!(
        !output.stderr.contains("normalise = channels"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("pixels"), "{}", output.stderr);
}
