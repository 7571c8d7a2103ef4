//! The report on collapsed inference: the diagnostics in `result.json`, and the lines of the
//! printed table.

use super::posterior::CollapsedPosterior;
use bnnc_abi::methods::collapsed::{Collapsed, LikelihoodNoise, LocationForm};
use bnnc_abi::methods::laplace::Likelihood;
use bnnc_core::number::{finite, number, table_line};
use bnnc_core::tally::Tally;
use serde_json::{Value, json};

/// Returns the number of integrals of each form. A form is identified by its name.
fn forms(tally: &Tally) -> [(&'static str, u64); 4] {
    [
        ("affine", tally.affine),
        ("units", tally.units),
        ("pieces", tally.pieces),
        ("drawn", tally.drawn),
    ]
}

/// Returns the sum of the unnormalised probabilities of all classes, averaged over the rows.
fn raw(tally: &Tally) -> f64 {
    tally.raw / tally.rows.max(1) as f64
}

/// Adds the integrals, their forms and their errors to the diagnostics of an inference block.
pub fn diagnostics(
    value: &mut Value,
    collapsed: &Collapsed,
    found: &CollapsedPosterior,
    tally: Option<&Tally>,
) {
    let options = &collapsed.options;
    value["collapsed"] = json!(found.choice.columns.len());
    value["weights"] = json!(options.weights);
    value["box"] = json!(options.extent.word());
    match options.noise {
        LikelihoodNoise::Normal => {}
        LikelihoodNoise::Triangular { alpha, floor } => {
            value["noise"] = json!({"alpha": alpha, "floor": floor})
        }
        LikelihoodNoise::Published { alpha, smoothing } => {
            let interval = tally.and_then(|tally| tally.interval);
            value["published"] = json!({
                "alpha": alpha,
                "smoothing": smoothing,
                "interval": interval.map(|(low, high)| [finite(low), finite(high)]),
            });
        }
    }
    value["form"] = match &collapsed.form {
        LocationForm::Affine => json!("affine"),
        LocationForm::Piecewise { kinks, direct } => json!({"kinks": kinks, "nested": direct < kinks}),
        LocationForm::Sampled(reason) => json!({"sampled": reason}),
    };
    value["scale_held"] = json!(collapsed.held);
    let Some(tally) = tally else { return };
    match tally.integrals() {
        0 => value["draws"] = json!(options.draws),
        _ => {
            for (name, count) in forms(tally) {
                value["integrals"][name] = json!(count);
            }
        }
    }
    value["rows"] = json!({"exact": tally.rows - tally.drawn_rows, "sampled": tally.drawn_rows});
    if let Some(why) = &tally.why {
        value["sampled"] = json!({"draws": options.draws, "why": why});
    }
    value["error"] = finite(tally.error);
    value["log_density_error"] = finite(tally.log_density_error);
    if collapsed.likelihood == Likelihood::Categorical && tally.integrals() > 0 {
        value["raw_sum"] = finite(raw(tally));
        value["others_held"] = json!(tally.is_shared);
        value["sigmoid"] = json!(options.sigmoid.word());
    }
}

/// Returns the lines that the printed table has for collapsed inference.
pub fn table(collapsed: &Collapsed, found: &CollapsedPosterior, tally: Option<&Tally>) -> String {
    let mut text = table_line("collapsed weights", found.choice.columns.len());
    if let Some(tally) = tally {
        text.push_str(&how(collapsed, tally));
    }
    if collapsed.options.is_published() {
        text.push_str("  the likelihood is the published one, which uses the targets that it scores\n");
    }
    if collapsed.held {
        text.push_str("  the scale is fixed at its value in the iterate\n");
    }
    text
}

/// Returns the lines on the forms of the integrals and their errors.
fn how(collapsed: &Collapsed, tally: &Tally) -> String {
    let draws = collapsed.options.draws;
    let mut text = String::new();
    for (name, count) in forms(tally).into_iter().filter(|(_, count)| *count > 0) {
        let percent = 100.0 * count as f64 / tally.integrals().max(1) as f64;
        let name = format!("{name} integrals");
        text.push_str(&format!("  {name:<21} {count:>10}  ({percent:.0} %)\n"));
    }
    if tally.integrals() == 0 {
        text.push_str(&table_line("draws per iterate", draws));
    } else if tally.drawn_rows > 0 {
        let count = format!("{} of {}", tally.drawn_rows, tally.rows);
        let line = format!(
            "  {:<21} {count:>10}  ({draws} draws per iterate)\n",
            "sampled rows"
        );
        text.push_str(&line);
    }
    if tally.log_density_error > 0.0 {
        let error = format!("{:.1e}", tally.log_density_error);
        let line = format!(
            "  {:<21} {error:>10}  (of a log density, at most)\n",
            "error of integrals"
        );
        text.push_str(&line);
    }
    if collapsed.likelihood == Likelihood::Categorical && tally.integrals() > 0 {
        text.push_str(&table_line("unnormalised sum", number(raw(tally))));
    }
    text
}
