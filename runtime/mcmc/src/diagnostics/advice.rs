//! Warnings about chains that should not be trusted yet, with advice.

mod divergences;

use super::QuantitySummary;
use super::codes::{
    ACCEPTANCE_OFF, CHAINS_DISAGREE, CHAINS_WITHOUT_DRAWS, ENERGY_MOVES_SLOWLY, FEW_EFFECTIVE_DRAWS,
    NOISY_DIFFERENCES, NOT_FINITE, ROWS_NOT_LEFT_OUT, TRAJECTORIES_CUT,
};
use crate::loo::Shapes;
use bnnc_abi::manifest::OutputKind;
use bnnc_abi::methods::sampling::Transition;
use bnnc_base::diagnostic::{Code, Diagnostic};
use bnnc_base::number::rounded;
use divergences::{as_noise, divergences, smooth};
use std::collections::BTreeSet;

/// If a chain has fewer draws than this, its two halves cannot be compared.
const LEAST_DRAWS: usize = 4;

/// If the estimated variances of the loss differences are above this value on average, the penalty does not reliably correct for the noise.
const NOISY: f64 = 2.0;

/// The results of the chains of an inference run. Warnings are derived from these results. Only iterations after the
/// warm-up count.
#[derive(Clone, Copy, Debug)]
pub struct ChainFacts<'a> {
    /// The name of the inference block.
    pub infer: &'a str,
    /// The transition and its options.
    pub transition: &'a Transition,
    /// The number of chains that have at least one draw.
    pub chains: usize,
    /// The indices of the chains that were stopped before their first draw.
    pub without_draws: &'a [usize],
    /// The number of iterations of all chains together.
    pub iterations: usize,
    /// The number of iterations that diverged.
    pub divergences: usize,
    /// The number of iterations with a trajectory that stopped at the maximum depth.
    pub cut: usize,
    /// The mean acceptance rate of each chain; empty for samplers without rejections.
    pub acceptance: &'a [f64],
    /// The E-BFMI of each chain, from [`super::energy::fraction_of_missing_information`]; empty for samplers without an energy.
    pub missing_information: &'a [f64],
    /// The summaries of quantities, by name.
    pub quantities: &'a [(String, QuantitySummary)],
    /// The Pareto shapes of PSIS-LOO, if it was computed.
    pub shapes: Option<Shapes>,
    /// The mean of the estimated variances of the loss differences. `None` for every sampler except the penalty method.
    pub loss_variance: Option<f64>,
    /// The parameters in the non-centred parameterisation.
    pub noncentred: &'a [String],
    /// The parameters that may make the likelihood discontinuous.
    pub jumps: &'a [String],
    /// The parameters in the centred parameterisation whose prior scale is itself unknown.
    pub centred: &'a [String],
    /// The label switching between chains; `None` if none was found.
    pub swapped: Option<&'a Swapped>,
    /// The number of parameters.
    pub parameters: usize,
    /// True if the model has layers.
    pub has_layers: bool,
    /// The kinds of the outputs.
    pub outputs: &'a [OutputKind],
    /// The options of the data item that would standardise those data that are not standardised yet.
    pub raw: Option<&'a str>,
}

impl ChainFacts<'_> {
    /// Returns the advice to standardise the data, or `None` if nothing is left to standardise.
    fn standardise(&self) -> Option<String> {
        self.raw
            .map(|options| format!("standardise the data: `{options}`"))
    }
}

/// A case of label switching: a vector, or several scalars, whose values are ordered differently in different chains. The chains agree only after
/// the values of each draw are sorted.
#[derive(Clone, Debug, PartialEq)]
pub struct Swapped {
    /// The name of the vector, or the names of the scalars.
    pub names: Vec<String>,
    /// The number of values per draw.
    pub count: usize,
}

/// Returns the warnings that apply to these chains, the most serious first.
pub fn advice(facts: &ChainFacts<'_>) -> Vec<Diagnostic> {
    let all = [
        chains_without_draws(facts),
        not_finite(facts),
        divergences(facts),
        chains_disagree(facts),
        few_effective_draws(facts),
        energy_moves_slowly(facts),
        trajectories_cut(facts),
        noisy_differences(facts),
        acceptance_off(facts),
        facts
            .shapes
            .and_then(|shapes| rows_not_left_out(facts.infer, shapes, (facts.parameters, facts.outputs))),
    ];
    all.into_iter().flatten().collect()
}

fn warning(code: &'static Code, facts: &ChainFacts<'_>, text: String) -> Diagnostic {
    about(code, facts.infer, &text)
}

fn about(code: &'static Code, infer: &str, text: &str) -> Diagnostic {
    Diagnostic::of_program(code, format!("`{infer}`: {text}")).as_warning()
}

fn chains_without_draws(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    if facts.without_draws.is_empty() {
        return None;
    }
    let missing = facts.without_draws.len();
    let numbers: Vec<String> = facts.without_draws.iter().map(usize::to_string).collect();
    let text = format!(
        "{missing} of {} chains were stopped before their first draw and are left out (chains {}, counted from 0)",
        facts.chains + missing,
        numbers.join(", ")
    );
    let found = warning(&CHAINS_WITHOUT_DRAWS, facts, text);
    Some(found.help("continue the run with `--resume`, or use the results of the other chains only"))
}

fn not_finite(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let wild = facts
        .quantities
        .iter()
        .filter(|(_, summary)| !summary.mean.is_finite());
    let names: Vec<String> = wild.map(|(name, _)| format!("`{name}`")).collect();
    if names.is_empty() {
        return None;
    }
    let more = names.len().saturating_sub(NAMED);
    let list = names[..names.len() - more].join(", ");
    let and_more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let text = format!("some draws of {list}{and_more} are not finite");
    let found = warning(&NOT_FINITE, facts, text);
    Some(found.help(match facts.transition.part().has_acceptance_step() {
        false => "use shorter steps (a tenth of `step_size`), and give every parameter a proper prior",
        true => "the posterior is probably improper: give every parameter a proper prior",
    }))
}

/// A warning lists at most this number of quantities by name.
const NAMED: usize = 5;

/// Returns the target acceptance rate of the adaptation; `None` if the step size is fixed.
fn target(transition: &Transition) -> Option<f64> {
    let adaptation = transition.part().adaptation()?;
    adaptation
        .step_size
        .is_none()
        .then_some(adaptation.target_acceptance)
}

/// The R-hat above which chains disagree.
const LIMIT: f64 = 1.01;

/// Returns whether R-hat is at most 1.01 or undefined for every quantity.
fn agree(facts: &ChainFacts<'_>) -> bool {
    facts
        .quantities
        .iter()
        .all(|(_, summary)| summary.rhat <= LIMIT || summary.rhat.is_nan())
}

/// Formats the first names, in backquotes and separated by commas.
fn named(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

fn chains_disagree(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let rhat = |(_, summary): &(String, QuantitySummary)| summary.rhat;
    let high: Vec<_> = facts
        .quantities
        .iter()
        .filter(|entry| rhat(entry) > LIMIT)
        .collect();
    let worst = high
        .iter()
        .max_by(|one, other| rhat(one).total_cmp(&rhat(other)))?;
    let (above, all, name) = (high.len(), facts.quantities.len(), &worst.0);
    let worst = match worst.1.rhat.is_finite() {
        true => format!("`{name}`, {}", above_limit(worst.1.rhat)),
        false => format!("`{name}`, whose chains never moved"),
    };
    let text = format!("R-hat exceeds 1.01 for {above} of {all} quantities (worst: {worst})");
    if let Some(Swapped { names, count }) = facts.swapped {
        let help = match names.as_slice() {
            [vector] => format!("keep its elements in order: `{vector}: ordered({count})`"),
            _ => format!(
                "declare one vector in ascending order instead, such as `loc: ordered({count})`, and use its elements `loc[0]` and `loc[1]`"
            ),
        };
        return Some(
            warning(&CHAINS_DISAGREE, facts, text)
                .note(format!(
                    "the chains agree on the values of {} once each draw is sorted, but not on their order (label switching)",
                    named(names)
                ))
                .help(help),
        );
    }
    let diagnostic = warning(&CHAINS_DISAGREE, facts, text)
        .note("the chains have not mixed: do not use any of these estimates yet")
        .help("run longer: more `warmup` and more `draws`");
    let diagnostic = match facts.has_layers {
        true => {
            diagnostic.help("check the predictions instead of the weights: hidden units can be exchanged")
        }
        false => diagnostic,
    };
    // If a chain moves away without bound, its long straight trajectories reach the maximum depth.
    let diagnostic = match facts.cut > 0 {
        true => diagnostic.help("give a proper prior to every parameter that the data may not determine"),
        false => diagnostic,
    };
    // The warning about divergences already includes this advice.
    Some(match divergences(facts) {
        Some(_) => diagnostic,
        None => smooth(diagnostic, facts),
    })
}

/// Formats an R-hat above 1.01 with at least three decimals. If three decimals do not show that it is above 1.01, uses more decimals.
fn above_limit(rhat: f64) -> String {
    let decimals = (3..=17).find(|decimals| rhat - LIMIT > 0.5 * 10f64.powi(-decimals));
    format!("{rhat:.*}", decimals.unwrap_or(17) as usize)
}

fn few_effective_draws(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let each = facts.iterations / facts.chains.max(1);
    if each < LEAST_DRAWS && !facts.quantities.is_empty() {
        let text = format!(
            "chains with {each} {} are too short to judge convergence",
            if each == 1 { "draw" } else { "draws" }
        );
        let diagnostic = warning(&FEW_EFFECTIVE_DRAWS, facts, text);
        return Some(diagnostic.help(format!(
            "use at least {LEAST_DRAWS} `draws`; estimates need hundreds of draws"
        )));
    }
    if nothing_moved(facts) {
        let text = format!(
            "the chains did not move in {} iterations: all draws are the same",
            facts.iterations
        );
        let diagnostic = warning(&FEW_EFFECTIVE_DRAWS, facts, text)
            .note("use neither the estimates nor the leave-one-out scores")
            .help("take smaller steps, or leave `step_size` out: the warm-up finds one");
        return Some(diagnostic);
    }
    let need = 100.0 * facts.chains as f64;
    let size = |(_, summary): &(String, QuantitySummary)| summary.ess_bulk.min(summary.ess_tail);
    let low: Vec<_> = facts
        .quantities
        .iter()
        .filter(|entry| size(entry) < need)
        .collect();
    let worst = low
        .iter()
        .min_by(|one, other| size(one).total_cmp(&size(other)))?;
    let kind = if worst.1.ess_tail < worst.1.ess_bulk {
        "tail"
    } else {
        "bulk"
    };
    let text = format!(
        "ESS is below {need} (100 per chain) for {} of {} quantities; the lowest is {kind} ESS {:.0} for `{}`",
        low.len(),
        facts.quantities.len(),
        size(worst),
        worst.0
    );
    let factor = (need / size(worst)).ceil();
    let mut diagnostic = warning(&FEW_EFFECTIVE_DRAWS, facts, text);
    if factor <= 20.0 {
        diagnostic = diagnostic.help(format!("use about {factor} times as many `draws`"));
    }
    if facts
        .transition
        .part()
        .adaptation()
        .is_some_and(|adaptation| !adaptation.metric.is_dense())
    {
        diagnostic = diagnostic.help("for strongly correlated parameters set `metric = dense`");
    }
    let diagnostic = facts.standardise().into_iter().fold(diagnostic, Diagnostic::help);
    Some(diagnostic.help("reparameterise the model so that its parameters are less correlated"))
}

/// Returns whether every quantity is constant in every chain. A single constant quantity does not indicate an error, because it may be constant by
/// definition.
fn nothing_moved(facts: &ChainFacts<'_>) -> bool {
    let still = |summary: &QuantitySummary| summary.rhat.is_nan() && summary.mean.is_finite();
    !facts.quantities.is_empty() && facts.quantities.iter().all(|(_, summary)| still(summary))
}

/// If the E-BFMI is below this value, the energy changes too slowly from iteration to iteration.
const SLOW: f64 = 0.3;

fn energy_moves_slowly(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let (chain, lowest, count) = extreme(facts.missing_information, |value| SLOW - value)?;
    let text = format!(
        "E-BFMI is below 0.3 in {count} of {} chains; the lowest is {lowest:.2} in chain {chain}",
        facts.missing_information.len()
    );
    let diagnostic = warning(&ENERGY_MOVES_SLOWLY, facts, text)
        .note("the chains explore the tails slowly: quantiles and standard deviations are less accurate than they look")
        .help("replace priors with very heavy tails, or run longer (`warmup`, `draws`)");
    Some(as_noise(diagnostic, facts))
}

fn noisy_differences(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let variance = facts.loss_variance.filter(|variance| *variance > NOISY)?;
    let size = rounded(variance, 2);
    let text = format!("the variance of the loss differences is {size} on average, but should be about 1");
    let diagnostic = warning(&NOISY_DIFFERENCES, facts, text)
        .note("the draws are more spread out than the posterior")
        .help("propose smaller steps: a tenth of the `step` makes the variance about ten times smaller")
        .help("use more rows per `batch`, or more `batches`");
    Some(diagnostic)
}

fn trajectories_cut(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let part = facts.transition.part();
    let max_depth = part.max_depth().filter(|_| facts.cut > 0)?;
    let text = format!(
        "{} of {} trajectories were truncated at `max_depth = {max_depth}`",
        facts.cut, facts.iterations
    );
    let mut diagnostic = warning(&TRAJECTORIES_CUT, facts, text)
        .note(match agree(facts) && divergences(facts).is_none() {
            true => "the draws are right, but cost more gradients than necessary",
            false => "the chains move too slowly to reach all of the posterior",
        })
        .help(format!(
            "allow longer trajectories: `max_depth = {}`",
            max_depth + 2
        ));
    if !part
        .adaptation()
        .is_some_and(|adaptation| adaptation.metric.is_dense())
    {
        diagnostic = diagnostic.help("for strongly correlated parameters set `metric = dense`");
    }
    let diagnostic = facts.standardise().into_iter().fold(diagnostic, Diagnostic::help);
    Some(diagnostic.help("give every parameter a proper prior"))
}

/// The warning compares odds: it is given if the odds of the acceptance rate and the odds of the target rate differ by more than this factor.
const ODDS: f64 = 6.0;

fn acceptance_off(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let target = target(facts.transition);
    let (low, high) = target.map_or((0.05, 1.0), |target| {
        let odds = target / (1.0 - target);
        (
            odds / ODDS / (1.0 + odds / ODDS),
            odds * ODDS / (1.0 + odds * ODDS),
        )
    });
    let (chain, rate, count) = extreme(facts.acceptance, |rate| f64::max(low - rate, rate - high))?;
    let chains = facts.acceptance.len();
    let text = match target {
        Some(target) => format!(
            "the acceptance rate is far from its target of {target} in {count} of {chains} chains: {rate:.3} in chain {chain}"
        ),
        None => format!(
            "fewer than 5 % of the proposals are accepted in {count} of {chains} chains: a fraction of {rate:.3} in chain \
             {chain}"
        ),
    };
    let diagnostic = warning(&ACCEPTANCE_OFF, facts, text);
    let diagnostic = match (target, facts.transition.part().penalty()) {
        (Some(_), _) => diagnostic
            .help("give the adaptation more iterations: a longer `warmup`")
            .help("check for a scale that can come close to zero, or a parameter without a proper prior"),
        (None, Some(_)) => diagnostic
            .help("make the step of `proposal` smaller")
            .help("lower the variance of the loss difference: a larger `batch` or more `batches`"),
        (None, None) => diagnostic.help("make `step_size` smaller, or leave it out: the warm-up finds one"),
    };
    Some(diagnostic)
}

/// If there are fewer rows per parameter than this, a single row may determine some parameters.
const ROWS_EACH: usize = 3;

/// Returns the advice about influential rows for a kind of output.
fn about_influential_rows(kind: &OutputKind) -> &'static str {
    match kind {
        OutputKind::Real => {
            "if these rows are outliers of a real output, use a likelihood with heavier tails: `StudentT`"
        }
        OutputKind::Count => {
            "if these rows are outliers of a count, use a likelihood with a larger variance: `NegativeBinomial`"
        }
        OutputKind::Classes(_) | OutputKind::Bool => {
            "if the inputs separate the classes almost perfectly, use narrower priors of the weights; otherwise check the labels of these rows"
        }
    }
}

/// Returns a warning if the Pareto shape of some rows is too large for a reliable estimate. `parameters` is the number of the model's parameters,
/// and `outputs` lists the kinds of its outputs.
pub fn rows_not_left_out(
    infer: &str,
    shapes: Shapes,
    (parameters, outputs): (usize, &[OutputKind]),
) -> Option<Diagnostic> {
    let Shapes { good, bad, very_bad } = shapes;
    if bad + very_bad == 0 {
        return None;
    }
    let text = format!(
        "the leave-one-out estimate is not reliable for {} of {} rows, {very_bad} of them with a Pareto k above 1",
        bad + very_bad,
        good + bad + very_bad
    );
    let diagnostic = about(&ROWS_NOT_LEFT_OUT, infer, &text)
        .note("`elpd_loo` is too optimistic")
        .help("use metrics of test rows instead: `test = fraction(0.2)` in the data item");
    let rows = good + bad + very_bad;
    Some(match parameters.saturating_mul(ROWS_EACH) < rows {
        true => {
            let advice: BTreeSet<&str> = outputs.iter().map(about_influential_rows).collect();
            advice.into_iter().fold(diagnostic, Diagnostic::help)
        }
        false => diagnostic
            .note(format!(
                "there are {parameters} parameters for {rows} rows: some parameters are determined by a single row, and their posterior changes completely without this row"
            ))
            .help("use fewer parameters: one for each group of rows, or a smaller network"),
    })
}

/// Applies `excess` to each value, and finds the value with the largest positive result. Returns three numbers: the chain that this value belongs to
/// (counted from 1), the value itself, and how many values have a positive result.
fn extreme(values: &[f64], excess: impl Fn(f64) -> f64) -> Option<(usize, f64, usize)> {
    let beyond = || values.iter().zip(1..).filter(|(value, _)| excess(**value) > 0.0);
    let (value, chain) = beyond().max_by(|one, other| excess(*one.0).total_cmp(&excess(*other.0)))?;
    Some((chain, *value, beyond().count()))
}
