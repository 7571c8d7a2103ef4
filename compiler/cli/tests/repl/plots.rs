//! Tests plots.

use crate::{LINE, answers};
use std::fs;
use std::path::Path;

/// Finds the topmost line of a plot that contains marks, and returns the horizontal positions of these marks as values on the horizontal axis.
fn peak(plot: &str, mark: char) -> Vec<f64> {
    let lines: Vec<&str> = plot.lines().collect();
    let axis = lines
        .iter()
        .position(|line| line.contains("+--"))
        .expect("an axis");
    let start = lines[axis].find('+').expect("a corner") + 1;
    let ticks: Vec<usize> = lines[axis][start..]
        .match_indices('+')
        .map(|(at, _)| at)
        .collect();
    let labels: Vec<f64> = lines[axis + 1]
        .split_whitespace()
        .map(|label| label.parse().expect("a number"))
        .collect();
    assert_eq!(ticks.len(), labels.len(), "{plot}");
    let step = (labels[1] - labels[0]) / (ticks[1] as f64 - ticks[0] as f64);
    let of = |column: usize| labels[0] + step * (column as f64 + 0.5 - ticks[0] as f64);
    let marks =
        |line: &&&str| line.get(start..).is_some_and(|line| line.contains(mark)) && line.contains('|');
    let top = lines[..axis].iter().find(marks).expect("marks");
    top[start..].match_indices(mark).map(|(at, _)| of(at)).collect()
}

#[test]
fn a_plot_of_a_posterior_peaks_at_its_mode() {
    let (status, output) = answers(":run\n:plot fit.w\n", &[LINE]);
    assert_eq!(status, Some(0));
    let plot = output.split("\nfit.w\n").nth(1).expect("a plot");
    assert!(
        plot.is_ascii() && plot.lines().all(|line| line.len() <= 80),
        "{plot}"
    );
    // The highest bin of the histogram lies within one standard deviation of the mode.
    let mode = 30.35 / 22.0;
    let peak = peak(plot, '#');
    assert!(
        peak.iter().all(|x| (x - mode).abs() < 1.0 / 22f64.sqrt()),
        "{peak:?} {mode}\n{plot}"
    );
}

#[test]
fn plots_and_predictions_are_written_to_files() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("repl-files");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("new.csv"), "x\n2\n").unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let typed = format!(
        ":run\n:plot fit.w, prior fit.w {0}\n:plot trace fit.w {1}\n:predict fit {2} {3}\n:predict fit {2} {2}\n:plot fit.w {4}/no/x.svg\n",
        at("density.svg"),
        at("trace.svg"),
        at("new.csv"),
        at("out.csv"),
        at("new.csv"),
    );
    let (status, output) = answers(&typed, &[LINE]);
    assert_eq!(status, Some(0));
    let svg = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let density = svg("density.svg");
    assert!(density.starts_with("<svg") && density.trim_end().ends_with("</svg>"));
    for part in [
        "<style>",
        "class=\"ranks0\" d=\"M",
        "class=\"ranks1\" d=\"M",
        "prior fit.w",
    ] {
        assert!(density.contains(part), "{part}");
    }
    let chains = svg("trace.svg").matches("<path class=\"chain").count();
    assert_eq!(
        chains, 8,
        "a line and an entry of the legend for each of four chains"
    );
    let predictions = fs::read_to_string(folder.join("out.csv")).unwrap();
    let mut lines = predictions.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row: Vec<f64> = lines
        .next()
        .unwrap()
        .split(',')
        .map(|cell| cell.parse().unwrap())
        .collect();
    let of = |name: &str| row[names.iter().position(|known| *known == name).unwrap()];
    // The exact predictive distribution is `Normal(2 * 30.35 / 22, sqrt(1 + 4 / 22))`. The
    // predictions come from at least 1000 draws.
    assert!((of("mean") - 2.759).abs() < 0.05, "{predictions}");
    assert!((of("sd") - 1.0871).abs() < 0.1, "{predictions}");
    assert_eq!(fs::read_to_string(folder.join("new.csv")).unwrap(), "x\n2\n");
    assert!(
        output.contains("error[E0515]"),
        "the rows are not replaced: {output}"
    );
    assert!(output.contains("no/x.svg"), "{output}");
}

/// The plot of a long trace also has marks between the extremes of the trace.
#[test]
fn long_traces_are_drawn_between_their_extremes() {
    let (_, output) = answers(":run fit\n:plot trace fit.w\n", &[LINE]);
    let plot = output.split("\ntrace fit.w\n").nth(1).expect("a plot");
    let rows: Vec<&str> = plot
        .lines()
        .filter_map(|line| line.split_once('|'))
        .map(|(_, row)| row)
        .collect();
    let middle = rows[rows.len() / 2];
    let marks = middle.chars().filter(char::is_ascii_digit).count();
    assert!(marks > 40, "{plot}");
}
