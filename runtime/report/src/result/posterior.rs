//! The part of the printed table about the posterior. The parameters that the program declares come first, and the parameters of layers follow.

use bnnc_abi::manifest::{InferenceBlock, SiteReport};
use bnnc_abi::methods::sampling::DiagnosedQuantities;
use bnnc_base::shape::Sizes;
use bnnc_core::number::number;
use bnnc_data::metrics::{DrawSummary, extent};
use bnnc_inference::outcome::InferenceOutcome;
use bnnc_inference::summary::SiteSummary;

/// If a declared parameter has at most this number of elements, each element has its own line. Larger parameters, and the parameters of
/// layers, have a single line with ranges.
const LINES: usize = 16;

/// If `report` names a parameter, and the parameter has at most this number of elements, each
/// element has its own line.
const NAMED_LINES: usize = 100;

/// Returns whether `report` names a parameter.
fn is_named(infer: &InferenceBlock, site: &str) -> bool {
    match infer.sampling().map(|sampling| &sampling.options.report) {
        Some(DiagnosedQuantities::Sites(names)) => names.iter().any(|name| name == site),
        Some(DiagnosedQuantities::Automatic) | None => false,
    }
}

/// Returns whether the table shows a parameter. If `report` does not name any parameters, all are shown.
fn is_wanted(infer: &InferenceBlock, site: &str) -> bool {
    let names_some = matches!(
        infer.sampling().map(|sampling| &sampling.options.report),
        Some(DiagnosedQuantities::Sites(_))
    );
    !names_some || is_named(infer, site)
}

/// Returns the part of the table about the posterior. The result is empty if the model does not have
/// parameters.
pub fn table(infer: &InferenceBlock, outcome: &InferenceOutcome) -> String {
    let sites = outcome.sites.iter();
    let mut sites: Vec<&SiteSummary> = sites.filter(|site| is_wanted(infer, &site.name)).collect();
    sites.sort_by_key(|site| !site.own);
    let is_range = |site: &SiteSummary| {
        let most = match (is_named(infer, &site.name), site.own) {
            (true, _) => NAMED_LINES,
            (false, true) => LINES,
            (false, false) => 1,
        };
        site.elements.len() > most
    };
    let (ranges, single): (Vec<&SiteSummary>, Vec<&SiteSummary>) =
        sites.into_iter().partition(|site| is_range(site));
    let names = single
        .iter()
        .flat_map(|site| &site.names)
        .chain(ranges.iter().map(|site| &site.name));
    let width = names
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0)
        .clamp(24, 48);
    let mut text = String::new();
    if !single.is_empty() {
        // The integrated weights of a prediction depend on the row. These summaries therefore describe the iterates and not the box.
        let title = match (infer.integrates(), infer.finds_point()) {
            (true, _) => "of the iterates, not of the box",
            (false, true) => "estimate",
            (false, false) => "posterior",
        };
        let heads = match infer.finds_point() {
            true => ["value", "", "", ""],
            false => ["mean", "sd", "5 %", "95 %"],
        };
        text.push_str(&line((title, width), heads.map(str::to_owned)));
    }
    for site in &single {
        for (name, s) in site.names.iter().zip(&site.elements) {
            let cells = match infer.finds_point() || site.held {
                true => [number(s.mean), String::new(), String::new(), String::new()],
                false => [s.mean, s.sd, s.q05, s.q95].map(number),
            };
            text.push_str(&line((name, width), cells));
        }
    }
    for site in &ranges {
        text.push_str(&format!("  {:<width$} {}\n", site.name, ranged(infer, site)));
    }
    text.push_str(&left_out(infer, outcome, width));
    text
}

/// Returns one line of the table, without blanks at the end.
fn line((name, width): (&str, usize), cells: [String; 4]) -> String {
    let cells = cells.map(|cell| format!(" {cell:>10}")).concat();
    format!("  {}\n", format!("{name:<width$}{cells}").trim_end())
}

/// Formats the ranges of a large parameter as `16 values: mean -0.5 to 1.2, sd 0.1 to 0.3`. For a point estimate, the format is
/// `16 values: -0.5 to 1.2`.
fn ranged(infer: &InferenceBlock, site: &SiteSummary) -> String {
    let range = |of: fn(&DrawSummary) -> f64| {
        let (low, high) = extent(site.elements.iter().map(of));
        format!("{} to {}", number(low), number(high))
    };
    let means = range(|s| s.mean);
    match infer.finds_point() || site.held {
        true => format!("{} values: {means}", site.elements.len()),
        false => format!(
            "{} values: mean {means}, sd {}",
            site.elements.len(),
            range(|s| s.sd)
        ),
    }
}

/// Returns lines that name the parameters without a summary, and the file with their values.
fn left_out(infer: &InferenceBlock, outcome: &InferenceOutcome, width: usize) -> String {
    let is_shown = |site: &&SiteReport| outcome.sites.iter().any(|shown| shown.name == site.name);
    let wanted = infer.reports.iter().filter(|site| is_wanted(infer, &site.name));
    let missing: Vec<&SiteReport> = wanted.filter(|site| !is_shown(site)).collect();
    let line = |site: &&SiteReport| {
        let sizes = site.shape.resolve(&Sizes::default());
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        format!(
            "  {:<width$} {} values, not summarised\n",
            site.name,
            sizes.join(" x ")
        )
    };
    let mut text: String = missing.iter().map(line).collect();
    if !missing.is_empty() {
        text.push_str("  `--out DIR` writes the values of every parameter, see `posterior.zarr` and `posterior.safetensors` there\n");
    }
    text
}
