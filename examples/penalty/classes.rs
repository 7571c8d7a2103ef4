//! Reliability of classification: the accuracy of the predicted class as a function of its probability.

use crate::runs::{Done, Wish};
use bnnc_data::write::ResultColumn;
use bnnc_report::svg::{Plot, PlotAxis, Swatch};

/// The number of bins, which have equal widths.
const BINS: usize = 10;

/// Bins with a smaller fraction of the rows are too noisy to be plotted.
const LEAST: f64 = 0.01;

/// The CSS classes of the curves, in order.
const CLASSES: [&str; 4] = ["mean", "other", "third", "exact"];

/// For each bin that is not empty, returns the mean confidence, the accuracy, and the fraction of all rows that the bin contains.
fn bins(done: &Done, name: &str) -> Result<Vec<(f64, f64, f64)>, String> {
    let (infer, outcome) = done.infer(name)?;
    let target = infer.only_output().map_or("", |output| infer.column(output));
    let right = outcome.dataset.test.ints(target).map_err(|found| found.message)?;
    let columns = outcome.predictions.iter().filter_map(|(_, column)| match column {
        ResultColumn::Real(values) => Some(values),
        ResultColumn::Int(_) | ResultColumn::Text(_) => None,
    });
    let columns: Vec<&Vec<f64>> = columns.collect();
    let mut bins = [(0.0, 0.0, 0.0); BINS];
    for (row, right) in right.iter().enumerate() {
        let each = columns
            .iter()
            .enumerate()
            .map(|(class, column)| (class, column[row]));
        let best = each.max_by(|one, other| one.1.total_cmp(&other.1));
        let (class, confidence) = best.ok_or("no classes")?;
        let bin = &mut bins[((confidence * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += confidence;
        bin.1 += f64::from(u8::from(i64::from(*right) == class as i64));
        bin.2 += 1.0;
    }
    let filled = bins.into_iter().filter(|bin| bin.2 > 0.0);
    let rows = right.len() as f64;
    Ok(filled
        .map(|(confidence, hits, count)| (confidence / count, hits / count, count / rows))
        .collect())
}

/// Plots the reliability of these inference runs of `digits.bnn`, with one curve for each run.
///
/// # Errors
/// Returns the diagnostics as text.
pub fn reliability(infers: &[&str], wish: Wish) -> Result<String, String> {
    let done = Wish {
        program: "penalty/digits.bnn",
        only: infers.iter().map(|infer| (*infer).to_owned()).collect(),
        ..wish
    };
    let done = done.run()?;
    let axis = |label: &str| PlotAxis::between(label, -0.02, 1.02);
    let mut plot = Plot::new(
        "Reliability of ten classes, test images",
        (520.0, 480.0),
        axis("probability of the predicted class"),
        axis("share that is right"),
    );
    plot.line("guide", [(0.0, 0.0), (1.0, 1.0)].into_iter());
    println!(
        "{:>10} {:>12} {:>9} {:>9}",
        "infer", "confidence", "accuracy", "ece"
    );
    for (name, class) in infers.iter().zip(CLASSES.iter().cycle()) {
        let bins = bins(&done, name)?;
        let drawn = bins.iter().filter(|(.., rows)| *rows >= LEAST);
        plot.line(class, drawn.map(|(confidence, share, _)| (*confidence, *share)));
        plot.legend(Swatch::Line, class, name);
        let mean = |of: fn(f64, f64) -> f64| -> f64 {
            bins.iter()
                .map(|(confidence, share, rows)| rows * of(*confidence, *share))
                .sum()
        };
        let (confidence, accuracy) = (mean(|confidence, _| confidence), mean(|_, share| share));
        let error = mean(|confidence, share| (confidence - share).abs());
        println!("{name:>10} {confidence:>12.4} {accuracy:>9.4} {error:>9.4}");
    }
    Ok(plot.render())
}
