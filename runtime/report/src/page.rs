//! The HTML page of the report, a self-contained file with tables and plots.

use crate::result::{rounded, shown, what};
use crate::svg::{STYLE, escape};
use crate::{chain_tables, overview, shifted};
use bnnc_abi::manifest::{InferenceBlock, Manifest};
use bnnc_base::shape::{Shape, Sizes};
use bnnc_core::number::number;
use bnnc_data::metrics::over_splits;
use bnnc_inference::comparison::{Comparison, comparisons};
use bnnc_inference::outcome::{InferenceOutcome, RunResult, SplitOutcome};
use bnnc_inference::posterior::Parts;
use bnnc_inference::summary::SiteSummary;
use std::fmt::Write;

/// The plots of an inference block.
#[derive(Clone, Debug, Default)]
pub struct Plots {
    /// The plots of predictions and of sites.
    pub figures: Vec<String>,
    /// The reasons why some plots are missing.
    pub notes: Vec<String>,
    /// The plots of Markov chains.
    pub chains: Vec<String>,
}

/// Returns the whole HTML page. `plots` holds the plots of each inference block.
pub fn page(manifest: &Manifest, result: &RunResult, text: &str, plots: &[Plots]) -> String {
    let program = escape(&manifest.program);
    let name = manifest.program.rsplit('/').next().unwrap_or_default();
    let name = escape(name.strip_suffix(".bnn").unwrap_or(name));
    let last = result.outcomes.last();
    let finished = last.map_or_else(String::new, |last| {
        format!("<p class=\"facts\">finished {}</p>\n", last.finished)
    });
    let mut body = String::new();
    overview::contents(&mut body, result);
    overview::warnings(&mut body, result);
    for comparison in comparisons(manifest, result) {
        compared(&mut body, &comparison);
    }
    for (outcome, plots) in result.outcomes.iter().zip(plots) {
        if let Some(infer) = manifest.infers.iter().find(|infer| infer.name == outcome.name) {
            section(&mut body, infer, outcome, plots);
        }
    }
    overview::failure(&mut body, result);
    overview::data(&mut body, manifest, result);
    overview::program(&mut body, text);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{name} \u{2013} bnnc</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n\
         <h1>{name}</h1>\n<p class=\"facts\"><code>{program}</code>, seed {}, backend {}, bnnc {}</p>\n{finished}{body}</body>\n</html>\n",
        include_str!("page.css"),
        manifest.seed,
        escape(&manifest.backend),
        env!("CARGO_PKG_VERSION"),
    )
}

fn section(body: &mut String, infer: &InferenceBlock, outcome: &InferenceOutcome, plots: &Plots) {
    let Some(last) = outcome.splits.last() else {
        return;
    };
    let splits = match outcome.splits.len() {
        1 => String::new(),
        count => format!(", {count} splits (plots and posterior of the last)"),
    };
    let _ = writeln!(
        body,
        "<h2 id=\"{0}\">{0} <small>{1} on {2}</small></h2>\n<p class=\"facts\">{3} training rows, {4} test rows{splits}; {5}, {6}</p>",
        escape(&infer.name),
        infer.method,
        escape(&infer.data),
        last.train,
        last.test,
        last.found.work(infer),
        infer.precision,
    );
    metrics(body, outcome);
    figures(body, &plots.figures);
    for note in &plots.notes {
        let _ = writeln!(body, "<p class=\"facts\">{}</p>", ticked(note));
    }
    pruning(body, infer, outcome);
    rotated(body, outcome);
    shifted::write(body, outcome);
    rejection(body, outcome);
    by_confidence(body, outcome);
    match (last.found.sampled(), &outcome.diagnosis) {
        (Some(sampled), Some(diagnosis)) => {
            chain_tables::tables(body, sampled, diagnosis);
            figures(body, &plots.chains);
            sampled_sites(body, infer);
        }
        _ => {
            posterior(body, infer, outcome);
            match last.found.parts(infer, &outcome.sites) {
                Parts::Divergences => kl(body, infer),
                Parts::Values => sampled_sites(body, infer),
                Parts::Lines(lines) => approximation(body, infer, lines),
            }
        }
    }
    if let Some(left_out) = &outcome.left_out {
        chain_tables::leave_one_out(body, left_out);
    }
    cost(body, infer, outcome);
}

/// Writes the table for a `compare` item.
fn compared(body: &mut String, comparison: &Comparison) {
    let heads = comparison.heads();
    let heads: Vec<&str> = std::iter::once("inference")
        .chain(heads.iter().map(String::as_str))
        .collect();
    let rows = comparison.lines.iter().map(|line| {
        let name = format!("<code>{}</code>", escape(&line.infer));
        std::iter::once(name).chain(comparison.cells(line)).collect()
    });
    table(body, "Comparison", &heads, rows);
    for note in &comparison.notes {
        let _ = writeln!(body, "<p class=\"facts\">{}</p>", ticked(note));
    }
}

fn figures(body: &mut String, figures: &[String]) {
    let _ = writeln!(body, "<div class=\"figures\">");
    for figure in figures {
        let _ = writeln!(body, "<figure>\n{figure}</figure>");
    }
    let _ = writeln!(body, "</div>");
}

fn metrics(body: &mut String, outcome: &InferenceOutcome) {
    let (_, on) = outcome.scored();
    let sets: Vec<_> = outcome.splits.iter().map(|split| split.metrics.clone()).collect();
    let rows = over_splits(&sets).into_iter().map(|(name, mean, error)| {
        let meaning = bnnc_abi::metrics::find(what(&name));
        let error = error
            .map(|error| format!("\u{b1} {error:.4}"))
            .unwrap_or_default();
        vec![
            format!("<code>{name}</code>"),
            format!("{mean:.4}"),
            error,
            meaning
                .map(|metric| metric.meaning.to_owned())
                .unwrap_or_default(),
        ]
    });
    let error = if outcome.splits.len() > 1 {
        "standard error"
    } else {
        ""
    };
    let title = format!("Metrics on {on} rows");
    table(body, &title, &["metric", "value", error, ""], rows);
}

fn pruning(body: &mut String, infer: &InferenceBlock, outcome: &InferenceOutcome) {
    let lines = outcome.pruning();
    let pruning = infer.training().and_then(|train| train.pruning.as_ref());
    let (Some(first), Some(pruning)) = (lines.first(), pruning) else {
        return;
    };
    let mut heads = vec!["removed", "weights left", "lowest remaining ratio", "dB"];
    heads.extend(shown(first).map(|(name, ..)| name.as_str()));
    let rows = lines.iter().map(|line| {
        let mut cells = vec![
            format!("{} %", rounded(100.0 * line.fraction)),
            line.weights.to_string(),
            format!("{:.4}", line.threshold),
            format!("{:.2}", line.decibels()),
        ];
        cells.extend(shown(line).map(|(_, mean, error)| {
            let error = error
                .map(|error| format!(" \u{b1} {error:.4}"))
                .unwrap_or_default();
            format!("{mean:.4}{error}")
        }));
        cells
    });
    table(body, "Pruning by signal to noise", &heads, rows);
    for (site, why) in &pruning.untouched {
        let _ = writeln!(
            body,
            "<p class=\"facts\"><code>{}</code> is not pruned: {}</p>",
            escape(site),
            ticked(why)
        );
    }
}

fn rotated(body: &mut String, outcome: &InferenceOutcome) {
    let lines = outcome.rotated();
    let mut heads = vec!["degrees"];
    if let Some((_, first)) = lines.first() {
        heads.extend(first.iter().map(|(name, ..)| name.as_str()));
    }
    let rows = lines.iter().map(|(degrees, metrics)| {
        let values = metrics.iter().map(|(_, mean, _)| format!("{mean:.4}"));
        std::iter::once(degrees.to_string()).chain(values).collect()
    });
    table(body, "Test rows rotated by other angles", &heads, rows);
}

fn rejection(body: &mut String, outcome: &InferenceOutcome) {
    let lines = outcome.rejection();
    let mut heads = vec!["rejected".to_owned()];
    if let Some((_, first)) = lines.first() {
        heads.extend(
            first
                .iter()
                .flat_map(|(name, ..)| [format!("{name} of the remaining rows"), String::new()]),
        );
    }
    let rows = lines.iter().map(|(fraction, accuracies)| {
        let cells = accuracies.iter().flat_map(|(_, accuracy, error)| {
            let error = error.map(|error| format!("\u{b1} {error:.4}"));
            [format!("{accuracy:.4}"), error.unwrap_or_default()]
        });
        std::iter::once(format!("{} %", rounded(100.0 * fraction)))
            .chain(cells)
            .collect()
    });
    let title = "Test rows and outliers after rejecting the most uncertain ones; every prediction for an outlier counts as wrong";
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table(body, title, &heads, rows);
}

/// Writes the accuracy of the rows whose confidence is at least a threshold.
fn by_confidence(body: &mut String, outcome: &InferenceOutcome) {
    let lines = outcome.by_confidence();
    let mut heads = vec!["confidence at least"];
    if let Some((_, first)) = lines.first() {
        heads.extend(first.iter().map(|(name, ..)| name.as_str()));
    }
    let rows = lines.iter().map(|(threshold, metrics)| {
        let value = |(_, mean, error): &(String, f64, Option<f64>)| {
            let error = error
                .map(|error| format!(" \u{b1} {error:.4}"))
                .unwrap_or_default();
            match mean.is_nan() {
                true => "-".to_owned(),
                false => format!("{mean:.4}{error}"),
            }
        };
        std::iter::once(threshold.to_string())
            .chain(metrics.iter().map(value))
            .collect()
    });
    let (_, on) = outcome.scored();
    let title = format!("Share and accuracy of {on} rows by confidence");
    table(body, &title, &heads, rows);
}

fn posterior(body: &mut String, infer: &InferenceBlock, outcome: &InferenceOutcome) {
    let mut sites: Vec<&SiteSummary> = outcome.sites.iter().collect();
    sites.sort_by_key(|site| !site.own);
    let (title, heads): (&str, &[&str]) = match infer.finds_point() {
        true => ("Estimates", &["parameter", "value"]),
        false => ("Posterior", &["parameter", "mean", "sd", "5 %", "95 %"]),
    };
    let rows = sites.into_iter().flat_map(|site| {
        site.elements.iter().zip(&site.names).map(|(s, name)| {
            let spread = |value: f64| if site.held { String::new() } else { number(value) };
            let cells = [number(s.mean), spread(s.sd), spread(s.q05), spread(s.q95)];
            let cells = cells.into_iter().take(heads.len() - 1);
            std::iter::once(format!("<code>{}</code>", escape(name)))
                .chain(cells)
                .collect()
        })
    });
    table(body, title, heads, rows);
}

/// Writes the table of the sampled sites. For each site, the table shows the scale on which it is sampled.
fn sampled_sites(body: &mut String, infer: &InferenceBlock) {
    let rows = infer.reports.iter().map(|site| {
        let name = format!("<code>{}</code>", escape(&site.name));
        vec![name, sizes(&site.shape), escape(&site.family), ticked(&site.kl)]
    });
    table(body, "Parameters", &["parameter", "shape", "kind", "how"], rows);
}

/// Writes the facts about an approximation, and the table of its sites.
fn approximation(body: &mut String, infer: &InferenceBlock, lines: Vec<(String, String)>) {
    let rows = lines
        .into_iter()
        .map(|(name, text)| vec![escape(&name), escape(&text)]);
    table(body, "Approximation", &["", ""], rows);
    sampled_sites(body, infer);
}

/// Formats the sizes of a shape, for example as `3 × 4`.
fn sizes(shape: &Shape) -> String {
    let sizes = shape.resolve(&Sizes::default());
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    sizes.join("\u{a0}\u{d7}\u{a0}")
}

fn kl(body: &mut String, infer: &InferenceBlock) {
    if !infer.maximises_bound() {
        let rows = infer.reports.iter().map(|site| {
            let name = format!("<code>{}</code>", escape(&site.name));
            vec![name, sizes(&site.shape), ticked(&site.kl)]
        });
        return table(
            body,
            "Objective",
            &["parameter", "shape", "its term of the loss"],
            rows,
        );
    }
    let rows = infer.reports.iter().map(|site| {
        vec![
            format!("<code>{}</code>", escape(&site.name)),
            sizes(&site.shape),
            escape(&site.family),
            ticked(&site.kl),
            ticked(&site.likelihood),
        ]
    });
    let title = "Kullback\u{2013}Leibler terms and likelihood";
    table(
        body,
        title,
        &["parameter", "shape", "posterior", "KL divergence", "likelihood"],
        rows,
    );
}

fn cost(body: &mut String, infer: &InferenceBlock, outcome: &InferenceOutcome) {
    let cost = &infer.cost;
    let sum = |of: fn(&SplitOutcome) -> f64| outcome.splits.iter().map(of).sum::<f64>();
    let (flops, bytes, seconds) = match infer.sampling() {
        None => (
            "floating-point operations of a step",
            "memory a step reads and writes",
            "seconds of fitting",
        ),
        Some(_) => (
            "floating-point operations of a gradient",
            "memory a gradient reads and writes",
            "seconds of sampling",
        ),
    };
    let rows = [
        ("parameters", cost.parameters.to_string()),
        ("variational parameters", cost.variational_parameters.to_string()),
        (flops, scaled(cost.effort.flops, 1000.0, ["", "k", "M", "G"])),
        (
            bytes,
            scaled(cost.effort.bytes, 1024.0, ["B", "KiB", "MiB", "GiB"]),
        ),
        (
            "predicted peak of memory",
            scaled(cost.peak_bytes, 1024.0, ["B", "KiB", "MiB", "GiB"]),
        ),
        ("seconds of compiling", format!("{:.3}", infer.compile_seconds)),
        (seconds, format!("{:.2}", sum(|split| split.fit_seconds))),
        (
            "seconds of predicting",
            format!("{:.2}", sum(|split| split.predict_seconds)),
        ),
    ];
    let own = |row: &(&str, String)| row.0 != "variational parameters" || infer.maximises_bound();
    let rows = rows.into_iter().filter(own);
    let rows = rows.map(|(name, value)| vec![name.to_owned(), value]);
    table(body, "Cost", &["", ""], rows);
}

/// Converts text to HTML. Words between backticks are formatted as code.
pub(super) fn ticked(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(at, part): (usize, &str)| match at % 2 {
        0 => escape(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    parts.map(part).collect()
}

/// Formats a number with a unit, for example as `1.5 MiB`.
fn scaled(value: u64, base: f64, units: [&str; 4]) -> String {
    let mut value = value as f64;
    let mut unit = 0;
    while value >= base && unit < 3 {
        value /= base;
        unit += 1;
    }
    let decimals = usize::from(unit > 0);
    format!("{value:.decimals$} {}", units[unit])
        .trim_end()
        .to_owned()
}

/// Writes a table whose cells are already HTML. If the table does not have rows, nothing is
/// written.
pub(super) fn table(body: &mut String, title: &str, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let _ = write!(body, "<h3>{title}</h3>\n<div class=\"wide\"><table>\n");
    if heads.iter().any(|head| !head.is_empty()) {
        body.push_str("<tr>");
        heads.iter().for_each(|head| {
            let _ = write!(body, "<th>{head}</th>");
        });
        body.push_str("</tr>\n");
    }
    for row in rows {
        body.push_str("<tr>");
        row.iter().for_each(|cell| {
            let _ = write!(body, "<td>{cell}</td>");
        });
        body.push_str("</tr>\n");
    }
    body.push_str("</table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let bytes = |value| scaled(value, 1024.0, ["B", "KiB", "MiB", "GiB"]);
        assert_eq!(bytes(12), "12 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 << 40), "5120.0 GiB");
    }

    #[test]
    fn backticks_are_code() {
        assert_eq!(ticked("a `b<c` d"), "a <code>b&lt;c</code> d");
    }

    #[test]
    fn a_table_without_rows_is_not_written() {
        let mut body = String::new();
        table(&mut body, "t", &["a"], std::iter::empty());
        assert!(body.is_empty());
    }
}
