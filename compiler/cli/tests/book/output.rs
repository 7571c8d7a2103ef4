//! Compares the output on a page with the output of a run.
//!
//! Numbers may differ a little. Processors round differently, and chains then follow different
//! paths.

/// Two numbers may differ by `RELATIVE` times the number, plus `ABSOLUTE` for numbers near zero.
const RELATIVE: f64 = 0.1;
const ABSOLUTE: f64 = 0.05;

/// Returns the lines of a page that are missing from the output. A line of dots stands for lines
/// that the page leaves out. Lines that contain times are not compared.
pub fn missing<'p>(page: &'p str, output: &str) -> Vec<&'p str> {
    let lines: Vec<Vec<&str>> = output.lines().map(words).collect();
    let is_shown = |line: &&str| {
        let wanted = words(line);
        let is_free = wanted.is_empty() || wanted == [".."] || line.contains("compiled in");
        is_free || lines.iter().any(|found| is_alike(found, &wanted))
    };
    page.lines().filter(|line| !is_shown(line)).collect()
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn is_alike(found: &[&str], wanted: &[&str]) -> bool {
    found.len() == wanted.len() && found.iter().zip(wanted).all(|(one, other)| is_near(one, other))
}

fn is_near(one: &str, other: &str) -> bool {
    match (number(one), number(other)) {
        (Some(one), Some(other)) => (one - other).abs() <= RELATIVE * one.abs().max(other.abs()) + ABSOLUTE,
        _ => one == other,
    }
}

fn number(word: &str) -> Option<f64> {
    word.trim_matches(['(', ')', ',', ';', '%']).parse().ok()
}

#[test]
fn numbers_may_differ_a_little_and_words_may_not() {
    let output = "fit = nuts  (96 rows; compiled in 3 ms)\n  test rmse   0.500\n  beta[age]  1.0  2.0\n";
    assert!(missing("  test rmse  0.501\n..\n", output).is_empty());
    assert_eq!(missing("  test rmse  0.9\n", output), ["  test rmse  0.9"]);
    assert_eq!(missing("  beta[sex]  1.0  2.0\n", output).len(), 1);
}
