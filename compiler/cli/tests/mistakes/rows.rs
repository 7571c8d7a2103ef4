//! Tests warnings about mistakes in the data: rows or columns that leak the target, repeated rows,
//! rows out of order, and rows far away from all others.

use crate::tables::{csv, each, line, normal, uniform};
use crate::{Folder, mistakes};

/// A linear regression on all inputs. Most tests in this file use this model.
const REGRESSION: &str = "
    model M(x: real[d]) -> y: real {
      a ~ Normal(0, 10)
      w: real[d] ~ Normal(0, 10)
      sigma: positive ~ HalfNormal(5)
      y ~ Normal(a + dot(w, x), sigma)
    }
    infer fit = nuts(M, d) { chains = 2, warmup = 300, draws = 500 }";

/// Returns a program with the regression. `item` is the text of the data item.
fn regression(item: &str) -> String {
    format!("{item}\n{REGRESSION}")
}

/// Returns a table of rows around a line, with an additional column that is computed from the
/// target.
fn leaking(name: &str, of: impl Fn(f64) -> f64) -> String {
    let (x, e) = (normal(1, 60), normal(2, 60));
    let y = each(60, |row| 1.0 + 2.0 * x[row] + e[row]);
    let leak = each(60, |row| of(y[row]));
    csv(&[("x", x), (name, leak), ("y", y)])
}

/// Returns a table of sixty rows of three species. Each row has the code of its species, except
/// that the first `wrong` rows have the code of another species.
fn coded(codes: &[&str], wrong: usize) -> String {
    let species = ["adelie", "gentoo", "chinstrap"];
    let x = normal(1, 60);
    let rows = (0..60).map(|row| {
        let code = codes[(row + usize::from(row < wrong)) % 3];
        format!("{:.3},{code},{}\n", x[row] + (row % 3) as f64, species[row % 3])
    });
    format!("x,code,species\n{}", rows.collect::<String>())
}

/// Returns a program that predicts the class from a number and a code.
fn classified(item: &str) -> String {
    format!(
        "{item}
        model M(x: real, code: index(J)) -> species: index(K) {{
          a: real[J, K] ~ Normal(0, 1)
          b: real[K] ~ Normal(0, 1)
          species ~ Categorical(logits = a[code] + b * x)
        }}
        infer fit = map(M, d)"
    )
}

/// If a column of groups predicts the class of all rows except one, it is not a code of the class.
#[test]
fn a_group_that_merely_predicts_well_is_not_a_leak() {
    let program = classified("data d = csv(\"d.csv\") { target = species, inputs = [x, code] }");
    let folder = Folder::of(&[("d.csv", coded(&["B", "C", "A"], 1))], &program);
    let (status, text) = folder.bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains("E0555"), "{text}");
}

/// Returns a table with a trend over 60 months. The rows are in chronological order.
fn months() -> String {
    let e = normal(1, 60);
    let y = each(60, |row| 10.0 + 0.2 * row as f64 + e[row]);
    csv(&[
        ("x", normal(2, 60)),
        ("month", each(60, |row| row as f64)),
        ("y", y),
    ])
}

/// Returns the bytes of images as text. Every byte is below 128, so that the file is the same in UTF-8.
fn bytes(values: impl IntoIterator<Item = u8>) -> String {
    values.into_iter().map(char::from).collect()
}

/// Returns the pixels of the image with this number.
fn image(number: usize, pixels: usize) -> Vec<u8> {
    let values = uniform(number as u64, pixels).into_iter();
    values.map(|value| (128.0 * value) as u8).collect()
}

/// Returns the label of the image with this number.
fn label(number: usize) -> u8 {
    (number * number % 7 > 2).into()
}

/// Returns IDX files of images with 6 by 6 pixels, and of their labels.
fn idx(names: [&'static str; 2], images: &[usize]) -> [crate::File; 2] {
    let count = images.len() as u8;
    let pixels = images.iter().flat_map(|number| image(*number, 36));
    let labels = images.iter().map(|number| label(*number));
    let [images, targets] = names;
    let head = [0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 6, 0, 0, 0, 6];
    [
        (images, bytes(head.into_iter().chain(pixels))),
        (
            targets,
            bytes([0, 0, 8, 1, 0, 0, 0, count].into_iter().chain(labels)),
        ),
    ]
}

/// Returns a file of CIFAR-10.
fn cifar(name: &'static str, images: &[usize]) -> crate::File {
    let record = |number: &usize| std::iter::once(label(*number)).chain(image(*number, 3072));
    (name, bytes(images.iter().flat_map(record)))
}

/// Returns a program that classifies images with this number of pixels.
fn images(item: &str, input: &str, pixels: usize) -> String {
    format!(
        "{item}
        model M(x: {input}) -> y: index(2) {{
          w: real[2, {pixels}] ~ Normal(0, 0.1)
          y ~ Categorical(logits = w @ flatten(x))
        }}
        infer fit = map(M, d) {{ epochs = 20 }}"
    )
}

/// Images that differ in one pixel are not copies.
#[test]
fn different_images_are_not_copies() {
    let mut files: Vec<crate::File> = Vec::new();
    files.extend(idx(["x.idx", "y.idx"], &(0..30).collect::<Vec<_>>()));
    files.extend(idx(["v.idx", "z.idx"], &(0..10).collect::<Vec<_>>()));
    let test = &mut files[2].1;
    *test = test
        .char_indices()
        .map(|(at, pixel)| match at > 15 && (at - 16) % 36 == 35 {
            true => char::from(127 - pixel as u8),
            false => pixel,
        })
        .collect();
    let item = "data d = idx(\"x.idx\", \"y.idx\") { test = idx(\"v.idx\", \"z.idx\"), scale = 1 / 128 }";
    let folder = Folder::of(&files, &images(item, "real[1, 6, 6]", 36));
    let (status, text) = folder.bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(!text.contains("E0556") && !text.contains("E0644"), "{text}");
}

/// A constant column that is standardised is zero in the model, so it does not duplicate the intercept. It causes a single warning.
#[test]
fn a_standardised_constant_is_not_also_collinear() {
    let table = csv(&[("x", normal(1, 40)), ("one", vec![7.0; 40]), ("y", normal(2, 40))]);
    let program = regression("data d = csv(\"d.csv\") { standardise = [inputs] }");
    let (status, text) = Folder::of(&[("d.csv", table)], &program).bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("E0430") && !text.contains("E0642"), "{text}");
}

mistakes! {
    the_same_images_in_training_and_test: ["E0556"], {
        let [x, y] = idx(["x.idx", "y.idx"], &(0..30).collect::<Vec<_>>());
        let [v, z] = idx(["v.idx", "z.idx"], &(25..35).collect::<Vec<_>>());
        [x, y, v, z]
    }, &images("data d = idx(\"x.idx\", \"y.idx\") { test = idx(\"v.idx\", \"z.idx\"), scale = 1 / 128 }",
        "real[1, 6, 6]", 36);

    the_same_images_in_two_shards: ["E0644"], [cifar("a.bin", &(0..12).collect::<Vec<_>>()),
        cifar("b.bin", &(6..18).collect::<Vec<_>>())],
        &images("data d = cifar(\"*.bin\") { scale = 1 / 128 }", "real[3, 32, 32]", 3072);

    a_batch_of_cifar_as_test_rows: ["E0556"], [cifar("a.bin", &(0..12).collect::<Vec<_>>()),
        cifar("b.bin", &(8..16).collect::<Vec<_>>())],
        &images("data d = cifar(\"a.bin\") { test = cifar(\"b.bin\"), scale = 1 / 128 }", "real[3, 32, 32]", 3072);

    shards_of_cifar_10_and_cifar_100: ["E0417"], [cifar("a.bin", &[0, 1, 2, 3]), ("b.bin", {
        let record = |number: usize| [label(number), label(number)].into_iter().chain(image(number, 3072));
        bytes((4..8).flat_map(record))
    })], &images("data d = cifar(\"*.bin\") { scale = 1 / 128 }", "real[3, 32, 32]", 3072);

    the_target_among_the_inputs: ["E0555", "E0419"], [("d.csv", line(60, 0.5))],
        &regression("data d = csv(\"d.csv\") { inputs = [x, y], target = y }");

    the_target_in_other_units_among_the_inputs: ["E0555"], [("d.csv", leaking("fahrenheit", |y| 1.8 * y + 32.0))],
        &regression("data d = csv(\"d.csv\")");

    a_copy_of_the_target_among_the_inputs: ["E0555"], [("d.csv", leaking("copy", |y| y))],
        &regression("data d = csv(\"d.csv\") { test = fraction(0.2) }");

    a_column_that_the_target_is_the_logarithm_of: ["E0555"], [("d.csv", leaking("exponential", f64::exp))],
        &regression("data d = csv(\"d.csv\") { standardise = [inputs] }");

    a_code_of_the_class_among_the_inputs: ["E0555"], [("d.csv", coded(&["B", "C", "A"], 0))],
        &classified("data d = csv(\"d.csv\") { target = species, inputs = [x, code] }");

    numbers_of_the_class_among_the_inputs: ["E0555"], [("d.csv", coded(&["7", "3", "5"], 0))],
        &classified("data d = csv(\"d.csv\") { target = species, inputs = [x, code] }");

    rows_that_are_in_training_and_test: ["E0556"], [("d.csv", {
        let once = line(40, 0.5);
        let rows: Vec<&str> = once.lines().skip(1).collect();
        once.clone() + &rows.join("\n") + "\n"
    })], &regression("data d = csv(\"d.csv\") { test = fraction(0.3) }");

    the_training_file_as_the_test_file: ["E0556"], [("d.csv", line(40, 0.5)), ("t.csv", line(40, 0.5))],
        &regression("data d = csv(\"d.csv\") { test = csv(\"t.csv\") }");

    test_rows_far_from_the_training_rows: ["E0557"], [("d.csv", line(40, 0.5)), ("t.csv", {
        csv(&[("x", each(10, |row| 20.0 + row as f64)), ("y", normal(1, 10))])
    })], &regression("data d = csv(\"d.csv\") { test = csv(\"t.csv\") }");

    test_rows_in_other_units: ["E0557"], [("d.csv", {
        let x = each(60, |row| 170.0 + 10.0 * normal(1, 60)[row]);
        csv(&[("height", x), ("y", normal(2, 60))])
    }), ("t.csv", {
        let x = each(20, |row| 1.7 + 0.1 * normal(3, 20)[row]);
        csv(&[("height", x), ("y", normal(4, 20))])
    })], &regression("data d = csv(\"d.csv\") { test = csv(\"t.csv\"), standardise = [inputs] }");

    rows_in_the_order_of_time_and_a_random_split: ["E0558"], [("d.csv", months())],
        &regression("data d = csv(\"d.csv\") { test = fraction(0.2), standardise = [inputs, target] }");

    the_number_of_the_row_as_an_input: ["E0558"], [("d.csv", {
        csv(&[("id", each(60, |row| row as f64)), ("x", normal(1, 60)), ("y", normal(2, 60))])
    })], &regression("data d = csv(\"d.csv\") { test = fraction(0.2), standardise = [inputs] }");

    missing_values_as_minus_999: ["E0559"], [("d.csv", {
        let x = each(60, |row| if row % 7 == 3 { -999.0 } else { normal(1, 60)[row] });
        csv(&[("x", x), ("y", normal(2, 60))])
    })], &regression("data d = csv(\"d.csv\")");

    missing_targets_as_minus_99: ["E0559"], [("d.csv", {
        let y = each(60, |row| if row % 9 == 3 { -99.0 } else { normal(1, 60)[row] });
        csv(&[("x", normal(2, 60)), ("y", y)])
    })], &regression("data d = csv(\"d.csv\")");

    an_input_that_is_constant: ["E0430"], [("d.csv", {
        csv(&[("x", normal(1, 40)), ("one", vec![1.0; 40]), ("y", normal(2, 40))])
    })], &regression("data d = csv(\"d.csv\") { standardise = [inputs] }");

    a_zscore_of_an_input_that_is_constant: ["E0430"], [("d.csv", {
        csv(&[("x", normal(1, 40)), ("one", vec![7.5; 40]), ("y", normal(2, 40))])
    })], &regression("data d = csv(\"d.csv\") { inputs = [x, zscore(one)] }");

    missing_cells: ["E0408"], [("d.csv", "x,y\n1,2\n,3\n3,4\n".to_owned())],
        &regression("data d = csv(\"d.csv\")");

    cells_that_are_not_numbers: ["E0409"], [("d.csv", "x,y\n1,2\nnan,3\n3,4\n".to_owned())],
        &regression("data d = csv(\"d.csv\")");

    text_where_a_number_is_expected: ["E0420", "E0410"], [("d.csv", "x,y\n1,2\ntwo,3\n3,4\n".to_owned())],
        &regression("data d = csv(\"d.csv\")");

    the_logarithm_of_zero: ["E0423"], [("d.csv", {
        csv(&[("x", each(30, |row| row as f64)), ("y", normal(1, 30))])
    })], &regression("data d = csv(\"d.csv\") { inputs = [log(x)] }");

    a_level_that_only_test_rows_have: ["E0428"], [
        ("d.csv", "g,y\na,1\nb,2\na,1.5\nb,2.5\n".to_owned()), ("t.csv", "g,y\na,1\nc,2\n".to_owned())], "
        data d = csv(\"d.csv\") { test = csv(\"t.csv\") }
        model M(g: index(J)) -> y: real {
          a: real[J] ~ Normal(0, 5)
          y ~ Normal(a[g], 1)
        }
        infer fit = nuts(M, d)";

    all_rows_as_test_rows: ["E0258"], [("d.csv", line(40, 0.5))],
        &regression("data d = csv(\"d.csv\") { test = fraction(1.0) }");

    more_parameters_than_rows_under_flat_priors: ["E0521", "E0520"], [("d.csv", {
        let columns: Vec<Vec<f64>> = (0..6).map(|seed| normal(seed, 4)).collect();
        let names = ["a", "b", "c", "e", "f", "y"];
        let table: Vec<(&str, Vec<f64>)> = names.into_iter().zip(columns).collect();
        csv(&table)
    })], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          w: real[d] ~ Flat
          y ~ Normal(dot(w, x), 1)
        }
        infer fit = nuts(M, d) { chains = 4, warmup = 300, draws = 300 }";
}
