//! Tests warnings about columns that are not measurements, that repeat each other, or whose values
//! do not have an order.

use crate::tables::{csv, each, line, normal, shuffled};
use crate::{Folder, check, mistakes};

/// Returns a program with a linear regression on all inputs. `item` is the text of the data item.
fn regression(item: &str) -> String {
    format!(
        "{item}
        model M(x: real[d]) -> y: real {{
          a ~ Normal(0, 10)
          w: real[d] ~ Normal(0, 10)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(a + dot(w, x), sigma)
        }}
        infer fit = nuts(M, d) {{ chains = 2, warmup = 200, draws = 300 }}"
    )
}

/// Returns a table with `y = 1 + 2 x + noise` and one additional column.
fn with(name: &str, of: impl Fn(usize, f64) -> f64) -> String {
    let (x, e) = (normal(1, 60), normal(2, 60));
    let y = each(60, |row| 1.0 + 2.0 * x[row] + 0.5 * e[row]);
    let more = each(60, |row| of(row, x[row]));
    csv(&[("x", x), (name, more), ("y", y)])
}

/// Returns an autoregression over 80 months. The rows are in the order `order`, and the first
/// column contains the names of the months.
fn series(order: &[usize], month: impl Fn(usize) -> String) -> String {
    let e = normal(3, 80);
    let mut y = vec![0.0; 80];
    for t in 1..80 {
        y[t] = 0.7 * y[t - 1] + 0.5 * e[t];
    }
    let rows = order.iter().map(|t| format!("{},{}\n", month(*t), y[*t]));
    std::iter::once("month,y\n".to_owned()).chain(rows).collect()
}

const SERIES: &str = "
    model Series() -> y: real[T] {
      b ~ Normal(0, 1)
      sigma: positive ~ HalfNormal(1)
      for t in 1..T {
        y[t] ~ Normal(b * y[t - 1], sigma)
      }
    }
    infer fit = nuts(Series, d) { chains = 4, warmup = 300, draws = 500 }";

fn of_series(item: &str) -> String {
    format!("{item}\n{SERIES}")
}

/// `GroupNorm` subtracts the mean over the units of a group, so only the differences between the weights of these units matter. This remains true
/// if an input is left out.
#[test]
fn units_that_are_normalised_together_are_not_collinear_inputs() {
    let program = "
        data d = csv(\"d.csv\")
        model M(x: real[2]) -> y: real {
          hidden = Dense(4)
          norm = GroupNorm(2)
          out = Dense(1)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(out(tanh(flatten(norm(reshape(hidden(x), 4, 1, 1)))))[0], sigma)
        }
        infer fit = map(M, d) { steps = 200 }";
    for (second, is_collinear) in [
        (with("z", |row, _| normal(7, 60)[row]), false),
        (with("z", |_, x| 2.0 * x), true),
    ] {
        let (status, text) = Folder::of(&[("d.csv", second)], program).bnnc(&["run", "program.bnn"]);
        assert_eq!(status, Some(0), "{text}");
        assert_eq!(text.contains("E0642"), is_collinear, "{text}");
    }
}

mistakes! {
    a_series_in_no_order: ["E0583"], [("d.csv", series(&shuffled(80), |t| t.to_string()))],
        &of_series("data d = csv(\"d.csv\") { target = y }");

    a_series_in_no_order_of_its_dates: ["E0583"],
        [("d.csv", series(&shuffled(80), |t| format!("{}-{:02}-01", 2010 + t / 12, 1 + t % 12)))],
        &of_series("data d = csv(\"d.csv\") { target = y }");

    a_random_split_of_a_series: ["E0267"], [("d.csv", series(&(0..80).collect::<Vec<usize>>(), |t| t.to_string()))],
        &of_series("data d = csv(\"d.csv\") { target = y, test = fraction(0.2) }");

    numbers_of_rows_in_no_order: ["E0643"], [("d.csv", { let order = shuffled(60); with("id", |row, _| order[row] as f64) })],
        &regression("data d = csv(\"d.csv\") { test = fraction(0.2), standardise = [inputs] }");

    dates_as_numbers: ["E0588"], [("d.csv", with("date", |row, _| (20_240_101 + 100 * (row / 28) + row % 28) as f64))],
        &regression("data d = csv(\"d.csv\") { standardise = [inputs] }");

    dates_as_text: ["E0291"],
        [("d.csv", "date,y\n2024-01-01,1\n2024-01-02,2\n2024-01-03,3\n".to_owned())],
        &regression("data d = csv(\"d.csv\")");

    a_column_twice: ["E0642"], [("d.csv", with("copy", |_, x| x))], &regression("data d = csv(\"d.csv\")");

    an_input_in_two_units: ["E0642"], [("d.csv", with("fahrenheit", |_, x| 1.8 * x + 32.0))],
        &regression("data d = csv(\"d.csv\") { standardise = [inputs] }");

    two_inputs_that_are_nearly_the_same: ["E0642"], [("d.csv", {
        let e = normal(4, 60);
        with("again", |row, x| x + 1e-3 * e[row])
    })], &regression("data d = csv(\"d.csv\")");

    a_column_of_ones_beside_an_intercept: ["E0642"], [("d.csv", with("one", |_, _| 1.0))],
        &regression("data d = csv(\"d.csv\")");

    a_constant_by_name_beside_an_intercept: ["E0642"], [("d.csv", with("age", |_, _| 40.0))], "
        data d = csv(\"d.csv\")
        model M(x: real, age: real) -> y: real {
          a ~ Normal(0, 10)
          b ~ Normal(0, 10)
          c ~ Normal(0, 1)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(b * x + c * age - a, sigma)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    a_column_of_ones_into_a_network: ["E0642"], [("d.csv", with("one", |_, _| 1.0))], "
        data d = csv(\"d.csv\")
        model M(x: real[d]) -> y: real {
          h = Dense(4)
          out = Dense(1)
          sigma: positive ~ HalfNormal(5)
          y ~ Normal(out(tanh(h(x)))[0], sigma)
        }
        infer fit = map(M, d) { steps = 200 }";

    a_table_that_was_appended_to_itself: ["E0644"], [("d.csv", {
        let once = line(30, 0.5);
        let rows: String = once.lines().skip(1).map(|row| format!("{row}\n")).collect();
        once + &rows
    })], &regression("data d = csv(\"d.csv\")");

    levels_in_upper_and_lower_case: ["E0589"], [("d.csv", {
        let y = normal(1, 30);
        let rows = (0..30).map(|row| format!("{},{}\n", ["yes", "Yes", "no"][row % 3], y[row]));
        std::iter::once("g,y\n".to_owned()).chain(rows).collect::<String>()
    })], "
        data d = csv(\"d.csv\")
        model M(g: index(J)) -> y: real {
          a: real[J] ~ Normal(0, 5)
          y ~ Normal(a[g], 1)
        }
        infer fit = nuts(M, d) { chains = 2, warmup = 200, draws = 300 }";

    missing_values_as_the_least_short_integer: ["E0559"],
        [("d.csv", with("z", |row, x| if row % 7 == 3 { -32768.0 } else { x }))],
        &regression("data d = csv(\"d.csv\") { standardise = [inputs] }");

    missing_values_as_the_fill_of_a_grid: ["E0559"],
        [("d.csv", with("z", |row, x| if row % 7 == 3 { 1e20 } else { x }))],
        &regression("data d = csv(\"d.csv\") { standardise = [inputs] }");

    postal_codes_with_and_without_leading_zeros: ["E0439"],
        [("d.csv", "g,y\n01001,1\n1001,5\n01001,1.1\n1001,5.1\n".to_owned())], "
        data d = csv(\"d.csv\")
        model M(g: index(J)) -> y: real {
          a: real[J] ~ Normal(0, 10)
          y ~ Normal(a[g], 1)
        }
        infer fit = map(M, d)";

    a_boolean_that_is_standardised: ["E0437"],
        [("d.csv", "x,f,y\n1,0,2\n2,1,3\n4,1,3.5\n6,0,7\n".to_owned())], "
        data d = csv(\"d.csv\") { standardise = inputs, target = y }
        model M(x: real, f: bool) -> y: real {
          b ~ Normal(0, 2)
          c ~ Normal(0, 2)
          y ~ Normal(b * x + (if f { c } else { 0 }), 1)
        }
        infer fit = map(M, d)";

    identifiers_beyond_64_bits: ["E0292"], [("d.csv", {
        let rows = (0..40).map(|row| format!("{},{}\n", 18_446_744_073_709_551_000_u64 + row % 4, row % 7));
        format!("g,y\n{}", rows.collect::<String>())
    })], "
        data d = csv(\"d.csv\") { target = y }
        model M(g: index(J)) -> y: real {
          a: real[J] ~ Normal(0, 2)
          y ~ Normal(a[g], 1)
        }
        infer fit = map(M, d)";

    missing_values_as_a_mark_below_the_first_row: ["E0408"], [("d.csv", "x,y\n1,2\nNA,3\n3,4\n".to_owned())],
        &regression("data d = csv(\"d.csv\")");

    an_input_in_millionths: ["E0536"], [("d.csv", with("metres", |_, x| 1e-6 * x))],
        &regression("data d = csv(\"d.csv\") { inputs = [metres] }");

    an_input_in_thousands: ["E0536"], [("d.csv", with("income", |_, x| 30_000.0 + 8_000.0 * x))],
        &regression("data d = csv(\"d.csv\") { inputs = [income] }");

    inputs_of_very_different_scale: ["E0536"], [("d.csv", with("income", |row, _| (row * 37 % 60) as f64 * 100.0))],
        &regression("data d = csv(\"d.csv\")");

    a_continuous_column_as_groups: ["E0292"], [("d.csv", csv(&[("g", normal(1, 30)), ("y", normal(2, 30))]))], "
        data d = csv(\"d.csv\")
        model M(g: index(J)) -> y: real {
          a: real[J] ~ Normal(0, 5)
          y ~ Normal(a[g], 1)
        }
        infer fit = nuts(M, d)";
}

#[test]
fn predictions_far_outside_the_training_rows() {
    let program = regression("data d = csv(\"d.csv\") { standardise = [inputs, target] }");
    let files = [
        ("d.csv", line(60, 0.5)),
        ("near.csv", "x\n0.5\n-0.5\n1.3\n".to_owned()),
        ("far.csv", "x\n0.5\n50\n".to_owned()),
    ];
    let folder = Folder::of(&files, &program);
    let (status, text) = folder.bnnc(&["run", "program.bnn", "--out", "out"]);
    assert_eq!(status, Some(0), "{text}");
    // Training inputs lie between -1 and 1. A new value is reported as far away only if its distance from this range exceeds half of the range's
    // length.
    let (status, text) = folder.bnnc(&["predict", "out", "--data", "near.csv"]);
    assert!(status == Some(0) && !text.contains("warning"), "{text}");
    let (status, text) = folder.bnnc(&["predict", "out", "--data", "far.csv"]);
    check(&["E0557"], status, &text);
    assert!(
        text.contains("`x` is far outside its training range in 1 of 2 new rows"),
        "{text}"
    );
}

#[test]
fn a_posterior_at_another_temperature_says_so() {
    let files = [("d.csv", line(60, 0.5))];
    let program =
        regression("data d = csv(\"d.csv\")").replace("chains = 2", "chains = 2, temperature = 0.01");
    let (status, text) = Folder::of(&files, &program).bnnc(&["run", "program.bnn"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("temperature               0.0100"), "{text}");
}
