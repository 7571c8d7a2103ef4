//! Tests warnings about mistakes in the data: rows or columns that leak the target, repeated rows,
//! rows out of order, and rows far away from all others.

use crate::tables::{csv, each, line, normal};
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

mistakes! {
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
