//! Writes the tables about Markov chains: one for the chains, one for the diagnosed quantities, and
//! one for the leave-one-out estimates.

use crate::page::table;
use crate::svg::escape;
use bnnc_inference::chains::{Diagnosis, SamplingResult};
use bnnc_inference::leave_one_out::LeftOut;
use bnnc_mcmc::diagnostics::QuantitySummary;
use bnnc_mcmc::loo::LooEstimate;

/// The table shows at most this number of quantities. All quantities are in `result.json`.
const SHOWN: usize = 200;

/// A column of the table of quantities: its header, and a function that formats a cell. The
/// function takes the summary of a quantity.
type Column = (&'static str, fn(&QuantitySummary) -> String);

/// The columns of the table of quantities.
const COLUMNS: [Column; 8] = [
    ("mean", |summary| number(summary.mean)),
    ("sd", |summary| number(summary.sd)),
    ("MCSE of the mean", |summary| number(summary.mcse_mean)),
    ("5 %", |summary| number(summary.q05)),
    ("95 %", |summary| number(summary.q95)),
    ("ESS bulk", |summary| whole(summary.ess_bulk)),
    ("ESS tail", |summary| whole(summary.ess_tail)),
    ("R-hat", |summary| fixed(summary.rhat, 4)),
];

/// Writes the table of the chains and the table of the quantities.
pub fn tables(body: &mut String, sampled: &SamplingResult, diagnosis: &Diagnosis) {
    chains(body, sampled, diagnosis);
    quantities(body, diagnosis);
}

/// Writes one line per chain. The line contains the number of draws and the means of the sampler
/// statistics.
fn chains(body: &mut String, sampled: &SamplingResult, diagnosis: &Diagnosis) {
    let means = [
        ("acceptance_rate", "acceptance rate"),
        ("step_size", "step size"),
        ("n_steps", "steps per draw"),
        ("gradient_norm", "norm of the gradient"),
        ("delta_variance", "variance of loss difference"),
        ("diverging", "diverged"),
    ];
    let known: Vec<_> = means
        .into_iter()
        .filter(|(name, _)| !diagnosis.mean(name).is_empty())
        .collect();
    let mut heads = vec!["chain", "draws"];
    heads.extend(known.iter().map(|(_, head)| *head));
    if !diagnosis.missing_information.is_empty() {
        heads.push("E-BFMI");
    }
    let rows = sampled.chains.iter().enumerate().map(|(at, chain)| {
        let draws = chain.store.len();
        let mut cells = vec![(at + 1).to_string(), draws.to_string()];
        cells.extend(known.iter().map(|(name, _)| {
            let mean = diagnosis.mean(name).get(at).copied().unwrap_or(f64::NAN);
            match *name {
                "diverging" => whole(mean * draws as f64),
                _ => number(mean),
            }
        }));
        cells.extend(
            diagnosis
                .missing_information
                .get(at)
                .map(|fraction| fixed(*fraction, 3)),
        );
        cells
    });
    table(body, "Chains", &heads, rows);
}

fn quantities(body: &mut String, diagnosis: &Diagnosis) {
    let mut heads = vec!["quantity"];
    heads.extend(COLUMNS.map(|(head, _)| head));
    let rows = diagnosis.quantities.iter().take(SHOWN).map(|(name, summary)| {
        let mut cells = vec![format!("<code>{}</code>", escape(name))];
        cells.extend(COLUMNS.map(|(_, of)| of(summary)));
        cells
    });
    let all = diagnosis.quantities.len();
    let title = match all > SHOWN {
        true => format!("Posterior: {SHOWN} of {all} quantities"),
        false => "Posterior".to_owned(),
    };
    table(body, &title, &heads, rows);
}

/// Writes the table of the leave-one-out estimates.
pub fn leave_one_out(body: &mut String, LeftOut { total, draws, .. }: &LeftOut) {
    let shapes = total.shapes();
    let pair = |estimate: LooEstimate| format!("{:.2} \u{b1} {:.2}", estimate.sum, estimate.error);
    let rows = [
        (
            "expected log predictive density, elpd_loo (PSIS-LOO)",
            pair(total.elpd()),
        ),
        ("effective number of parameters, p_loo", pair(total.p())),
        (
            "expected log predictive density, elpd_waic",
            pair(total.elpd_waic()),
        ),
        (
            "rows whose Pareto k is good, bad, very bad",
            format!("{}, {}, {}", shapes.good, shapes.bad, shapes.very_bad),
        ),
        ("draws", draws.to_string()),
    ];
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    table(body, "Leave-one-out", &["", ""], rows);
}

/// Formats a number with four significant digits.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "\u{2013}".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    if value != 0.0 && !(-4.0..6.0).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let decimals = if value == 0.0 { 0.0 } else { 3.0 - magnitude };
    fixed(value, decimals.clamp(0.0, 7.0) as usize)
}

fn fixed(value: f64, decimals: usize) -> String {
    match value.is_finite() {
        true => format!("{value:.decimals$}"),
        false => "\u{2013}".to_owned(),
    }
}

fn whole(value: f64) -> String {
    fixed(value, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits() {
        let shown = [0.0, 1.0, -12.3456, 123456.7, 1.5e7, 1.23456e-3, 2e-9, f64::NAN].map(number);
        let expected = [
            "0", "1.000", "-12.35", "123457", "1.500e7", "0.001235", "2.000e-9", "\u{2013}",
        ];
        assert_eq!(shown, expected);
    }
}
