//! The report on Markov chains: the numbers in `result.json`, and a printed table.

use bnnc_core::number::{finite, number, table_line};
use bnnc_inference::chains::{Diagnosis, SamplingResult, Worst};
use bnnc_inference::leave_one_out::LeftOut;
use bnnc_mcmc::diagnostics::QuantitySummary;
use serde_json::{Map, Value, json};

/// Adds the results of the chains to the diagnostics of an inference block. The chains come from
/// the last split.
pub fn diagnostics(value: &mut Value, sampled: &SamplingResult, diagnosis: &Diagnosis) {
    value["chains"] = json!(sampled.chains.len());
    value["draws"] = json!(sampled.chains.iter().map(|chain| chain.store.len()).min());
    value["interrupted"] = json!(sampled.interrupted);
    value["divergences"] = json!(diagnosis.divergences);
    value["max_depth_reached"] = json!(diagnosis.cut);
    if let Some(worst) = diagnosis.worst() {
        value["worst"] = json!(worst.rhat.0);
        value["rhat"] = finite(worst.rhat.1);
        value["ess_bulk"] = finite(worst.bulk.1);
        value["ess_bulk_of"] = json!(worst.bulk.0);
        value["ess_tail"] = finite(worst.tail.1);
        value["ess_tail_of"] = json!(worst.tail.0);
    }
    for (name, means) in &diagnosis.means {
        if !matches!(*name, "lp" | "energy" | "diverging") {
            value[*name] = means.iter().map(|mean| finite(*mean)).collect();
        }
    }
    if !diagnosis.missing_information.is_empty() {
        value["e_bfmi"] = diagnosis
            .missing_information
            .iter()
            .map(|of| finite(*of))
            .collect();
    }
    if let Some(target) = &diagnosis.target {
        value["target"] = json!(target);
    }
    let quantities = diagnosis.quantities.iter();
    let quantities: Map<String, Value> = quantities
        .map(|(name, summary)| (name.clone(), of_summary(summary)))
        .collect();
    value["quantities"] = Value::Object(quantities);
}

fn of_summary(summary: &QuantitySummary) -> Value {
    json!({
        "mean": finite(summary.mean),
        "sd": finite(summary.sd),
        "median": finite(summary.median),
        "q05": finite(summary.q05),
        "q95": finite(summary.q95),
        "mcse_mean": finite(summary.mcse_mean),
        "mcse_sd": finite(summary.mcse_sd),
        "ess_bulk": finite(summary.ess_bulk),
        "ess_tail": finite(summary.ess_tail),
        "rhat": finite(summary.rhat),
    })
}

/// Returns the lines on the convergence of the chains, for the table of an inference block.
pub fn table(sampled: &SamplingResult, diagnosis: &Diagnosis, left_out: Option<&LeftOut>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| text.push_str(&table_line(name, value));
    if let Some(LeftOut { total, .. }) = left_out {
        let (elpd, p) = (total.elpd(), total.p());
        line(
            "elpd by PSIS-LOO",
            format!("{:.4}  ± {:.4}", elpd.sum, elpd.error),
        );
        line("effective parameters", format!("{:.4}", p.sum));
    }
    line("draws", draws(sampled));
    if let Some(Worst { rhat, bulk, tail }) = diagnosis.worst() {
        line("largest R-hat", format!("{:>10.4}  {}", rhat.1, rhat.0));
        line("smallest bulk ESS", format!("{:>10.0}  {}", bulk.1, bulk.0));
        line("smallest tail ESS", format!("{:>10.0}  {}", tail.1, tail.0));
    }
    line("divergences", diagnosis.divergences.to_string());
    let mean = |name: &str| {
        let means = diagnosis.mean(name);
        (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
    };
    let shown = [
        ("acceptance_rate", "acceptance rate"),
        ("step_size", "step size"),
        ("n_steps", "steps per draw"),
        ("delta_variance", "variance of loss diff."),
    ];
    for (name, label) in shown {
        if let Some(mean) = mean(name) {
            line(label, number(mean));
        }
    }
    if let Some(target) = &diagnosis.target {
        line("samples", target.clone());
    }
    if sampled.interrupted {
        line("stopped by the user", "yes".to_owned());
    }
    text.push('\n');
    text
}

/// Formats the numbers of draws, such as `4 x 1000`. After an interruption, the chains may have different
/// numbers of draws. The text then states the sum and the range of these numbers.
fn draws(sampled: &SamplingResult) -> String {
    let lengths = || sampled.chains.iter().map(|chain| chain.store.len());
    let (least, most) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let chains = sampled.chains.len();
    match least == most {
        true => format!("{chains} x {least}"),
        false => format!(
            "{:>10}  {least} to {most} in each of {chains} chains",
            lengths().sum::<usize>()
        ),
    }
}
