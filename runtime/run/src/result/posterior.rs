//! The posterior in the table for people: the parameters that the program declares, then those of its layers.

use super::number;
use crate::collapsed;
use crate::run::Outcome;
use crate::summary::SiteSummary;
use bnnc_abi::manifest::{Infer, SiteReport};
use bnnc_base::shape::Sizes;
use bnnc_data::metrics::Summary;

/// Elements of a parameter of the program that have a line each; more, and those of layers, are one line with ranges.
const LINES: usize = 16;

/// The table; empty where nothing is inferred.
pub fn table(infer: &Infer, outcome: &Outcome) -> String {
    let mut sites: Vec<&SiteSummary> = outcome.sites.iter().collect();
    sites.sort_by_key(|site| !site.own);
    let is_range = |site: &SiteSummary| site.elements.len() > if site.own { LINES } else { 1 };
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
        // Which weights are integrated over depends on the row: these are of the iterates, not of the box.
        let title = match collapsed::part(infer) {
            Some(_) => "iterates, not the box",
            None => "posterior",
        };
        text.push_str(&format!(
            "  {title:<width$} {:>10} {:>10} {:>10} {:>10}\n",
            "mean", "sd", "5 %", "95 %"
        ));
    }
    for site in &single {
        for (name, s) in site.names.iter().zip(&site.elements) {
            text.push_str(&format!(
                "  {name:<width$} {:>10} {:>10} {:>10} {:>10}\n",
                number(s.mean),
                number(s.sd),
                number(s.q05),
                number(s.q95)
            ));
        }
    }
    for site in &ranges {
        text.push_str(&format!("  {:<width$} {}\n", site.name, ranged(site)));
    }
    text.push_str(&left_out(infer, outcome, width));
    text
}

/// `16 values: mean -0.5 to 1.2, sd 0.1 to 0.3`.
fn ranged(site: &SiteSummary) -> String {
    let range = |of: fn(&Summary) -> f64| {
        let values = || site.elements.iter().map(of).filter(|value| !value.is_nan());
        let (low, high) = (
            values().fold(f64::INFINITY, f64::min),
            values().fold(f64::NEG_INFINITY, f64::max),
        );
        format!("{} to {}", number(low), number(high))
    };
    format!(
        "{} values: mean {}, sd {}",
        site.elements.len(),
        range(|s| s.mean),
        range(|s| s.sd)
    )
}

/// The parameters without a summary, and where their values are.
fn left_out(infer: &Infer, outcome: &Outcome, width: usize) -> String {
    let is_shown = |site: &&SiteReport| outcome.sites.iter().any(|shown| shown.name == site.name);
    let missing: Vec<&SiteReport> = infer.reports.iter().filter(|site| !is_shown(site)).collect();
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
