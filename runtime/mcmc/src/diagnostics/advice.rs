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
use bnnc_base::diagnostic::Diagnostic;
use bnnc_base::number::rounded;
use bnnc_base::quoted::{first_quoted, quoted};
use bnnc_base::reports;
use divergences::{as_noise, divergences, jumps};
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
    /// Returns whether the metric is dense, or `None` if the sampler does not adapt a metric.
    fn is_dense(&self) -> Option<bool> {
        let adaptation = self.transition.part().adaptation();
        adaptation.map(|adaptation| adaptation.metric.is_dense())
    }

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

reports! {
    /// The warning about chains that were stopped before their first draw.
    fn stopped_chains(facts: &ChainFacts<'_>)
        let ChainFacts { infer, chains, without_draws, .. } = facts;
        let numbers = without_draws.iter().map(usize::to_string).collect::<Vec<_>>();
        = program_warning(CHAINS_WITHOUT_DRAWS, "`{infer}`: {} of {} chains were stopped before their first draw and are left out (chains {}, counted from 0)",
            without_draws.len(), chains + without_draws.len(), numbers.join(", "))
        .help("continue the run with `--resume`, or use the results of the other chains only");

    /// The warning about quantities whose draws are not finite.
    fn infinite_draws(facts: &ChainFacts<'_>, quantities: &str)
        = program_warning(NOT_FINITE, "`{}`: some draws of {quantities} are not finite", facts.infer)
        .help(match facts.transition.part().has_acceptance_step() {
            false => "use shorter steps (a tenth of `step_size`), and give every parameter a proper prior",
            true => "the posterior is probably improper: give every parameter a proper prior",
        });
}

fn chains_without_draws(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    (!facts.without_draws.is_empty()).then(|| stopped_chains(facts))
}

fn not_finite(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let is_wild = |(_, summary): &&(String, QuantitySummary)| !summary.mean.is_finite();
    let wild = facts.quantities.iter().filter(is_wild).map(|(name, _)| name);
    let list = first_quoted(wild, NAMED);
    (!list.is_empty()).then(|| infinite_draws(facts, &list))
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
    quoted(names.iter().take(NAMED))
}

reports! {
    /// The warning about label switching. `rhat` describes the R-hat of the quantities.
    fn switched_labels(infer: &str, rhat: &str, swapped: &Swapped)
        let Swapped { names, count } = swapped;
        = program_warning(CHAINS_DISAGREE, "`{infer}`: {rhat}")
        .note("the chains agree on the values of {} once each draw is sorted, but not on their order (label switching)", named(names))
        .help(match names.as_slice() {
            [vector] => format!("keep its elements in order: `{vector}: ordered({count})`"),
            _ => format!("declare one vector in ascending order instead, such as `loc: ordered({count})`, and use its elements `loc[0]` and `loc[1]`"),
        });

    /// The warning about chains that have not mixed. `rhat` describes the R-hat of the quantities.
    fn unmixed_chains(facts: &ChainFacts<'_>, rhat: &str)
        // The warning about divergences already includes the advice about jumps.
        let jumps = jumps(facts).filter(|_| divergences(facts).is_none());
        // If a chain moves away without bound, its long straight trajectories reach the maximum depth.
        let is_cut = facts.cut > 0;
        = program_warning(CHAINS_DISAGREE, "`{}`: {rhat}", facts.infer)
        .note("the chains have not mixed: do not use any of these estimates yet")
        .help("run longer: more `warmup` and more `draws`")
        .help_if(facts.has_layers.then_some("check the predictions instead of the weights: hidden units can be exchanged"))
        .help_if(is_cut.then_some("give a proper prior to every parameter that the data may not determine"))
        .notes(jumps.as_ref().map(|[cause, _]| cause))
        .help_if(jumps.as_ref().map(|[_, help]| help));
}

fn chains_disagree(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let high = || {
        facts
            .quantities
            .iter()
            .filter(|(_, summary)| summary.rhat > LIMIT)
    };
    let (name, worst) = high().max_by(|(_, one), (_, other)| one.rhat.total_cmp(&other.rhat))?;
    let worst = match worst.rhat.is_finite() {
        true => above_limit(worst.rhat),
        false => "whose chains never moved".to_owned(),
    };
    let (above, all) = (high().count(), facts.quantities.len());
    let rhat = format!("R-hat exceeds 1.01 for {above} of {all} quantities (worst: `{name}`, {worst})");
    Some(match facts.swapped {
        Some(swapped) => switched_labels(facts.infer, &rhat, swapped),
        None => unmixed_chains(facts, &rhat),
    })
}

/// Formats an R-hat above 1.01 with at least three decimals. If three decimals do not show that it is above 1.01, uses more decimals.
fn above_limit(rhat: f64) -> String {
    let decimals = (3..=17).find(|decimals| rhat - LIMIT > 0.5 * 10f64.powi(-decimals));
    format!("{rhat:.*}", decimals.unwrap_or(17) as usize)
}

reports! {
    /// The warning about chains with so few draws that their halves cannot be compared.
    fn short_chains(infer: &str, draws: usize)
        let unit = if draws == 1 { "draw" } else { "draws" };
        = program_warning(FEW_EFFECTIVE_DRAWS, "`{infer}`: chains with {draws} {unit} are too short to judge convergence")
        .help("use at least {LEAST_DRAWS} `draws`; estimates need hundreds of draws");

    /// The warning about chains whose draws are all the same.
    fn still_chains(infer: &str, iterations: usize)
        = program_warning(FEW_EFFECTIVE_DRAWS, "`{infer}`: the chains did not move in {iterations} iterations: all draws are the same")
        .note("use neither the estimates nor the leave-one-out scores")
        .help("take smaller steps, or leave `step_size` out: the warm-up finds one");

    /// The warning about quantities whose effective sample size is below `need`. `lowest` is the smallest effective sample size.
    fn small_sample(facts: &ChainFacts<'_>, need: f64, lowest: f64, text: &str)
        let factor = (need / lowest).ceil();
        = program_warning(FEW_EFFECTIVE_DRAWS, "`{}`: ESS is below {need} (100 per chain) for {text}", facts.infer)
        .help_if((factor <= 20.0).then(|| format!("use about {factor} times as many `draws`")))
        .help_if((facts.is_dense() == Some(false)).then_some(DENSE))
        .help_if(facts.standardise())
        .help("reparameterise the model so that its parameters are less correlated");
}

const DENSE: &str = "for strongly correlated parameters set `metric = dense`";

fn few_effective_draws(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let each = facts.iterations / facts.chains.max(1);
    if each < LEAST_DRAWS && !facts.quantities.is_empty() {
        return Some(short_chains(facts.infer, each));
    }
    if nothing_moved(facts) {
        return Some(still_chains(facts.infer, facts.iterations));
    }
    let need = 100.0 * facts.chains as f64;
    let size = |summary: &QuantitySummary| summary.ess_bulk.min(summary.ess_tail);
    let low = || {
        facts
            .quantities
            .iter()
            .filter(|(_, summary)| size(summary) < need)
    };
    let (name, worst) = low().min_by(|(_, one), (_, other)| size(one).total_cmp(&size(other)))?;
    let kind = if worst.ess_tail < worst.ess_bulk {
        "tail"
    } else {
        "bulk"
    };
    let (count, all, lowest) = (low().count(), facts.quantities.len(), size(worst));
    let text = format!("{count} of {all} quantities; the lowest is {kind} ESS {lowest:.0} for `{name}`");
    Some(small_sample(facts, need, lowest, &text))
}

/// Returns whether every quantity is constant in every chain. A single constant quantity does not indicate an error, because it may be constant by
/// definition.
fn nothing_moved(facts: &ChainFacts<'_>) -> bool {
    let still = |summary: &QuantitySummary| summary.rhat.is_nan() && summary.mean.is_finite();
    !facts.quantities.is_empty() && facts.quantities.iter().all(|(_, summary)| still(summary))
}

/// If the E-BFMI is below this value, the energy changes too slowly from iteration to iteration.
const SLOW: f64 = 0.3;

reports! {
    /// The warning about an energy that changes slowly in `count` chains. The energy fraction `lowest` is the smallest, in `chain`.
    fn slow_energy(facts: &ChainFacts<'_>, chain: usize, lowest: f64, count: usize)
        = program_warning(ENERGY_MOVES_SLOWLY, "`{}`: E-BFMI is below 0.3 in {count} of {} chains; the lowest is {lowest:.2} in chain {chain}",
            facts.infer, facts.missing_information.len())
        .note("the chains explore the tails slowly: quantiles and standard deviations are less accurate than they look")
        .help("replace priors with very heavy tails, or run longer (`warmup`, `draws`)")
        .help_if(as_noise(facts));

    /// The warning about noisy estimates of the loss differences.
    fn large_variance(infer: &str, variance: f64)
        = program_warning(NOISY_DIFFERENCES, "`{infer}`: the variance of the loss differences is {} on average, but should be about 1", rounded(variance, 2))
        .note("the draws are more spread out than the posterior")
        .help("propose smaller steps: a tenth of the `step` makes the variance about ten times smaller")
        .help("use more rows per `batch`, or more `batches`");

    /// The warning about trajectories that reached the maximum depth.
    fn short_trajectories(facts: &ChainFacts<'_>, max_depth: usize)
        let ChainFacts { infer, cut, iterations, .. } = facts;
        = program_warning(TRAJECTORIES_CUT, "`{infer}`: {cut} of {iterations} trajectories were truncated at `max_depth = {max_depth}`")
        .note(match agree(facts) && divergences(facts).is_none() {
            true => "the draws are right, but cost more gradients than necessary",
            false => "the chains move too slowly to reach all of the posterior",
        })
        .help("allow longer trajectories: `max_depth = {}`", max_depth + 2)
        .help_if((facts.is_dense() != Some(true)).then_some(DENSE))
        .help_if(facts.standardise())
        .help("give every parameter a proper prior");
}

fn energy_moves_slowly(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let (chain, lowest, count) = extreme(facts.missing_information, |value| SLOW - value)?;
    Some(slow_energy(facts, chain, lowest, count))
}

fn noisy_differences(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let variance = facts.loss_variance.filter(|variance| *variance > NOISY)?;
    Some(large_variance(facts.infer, variance))
}

fn trajectories_cut(facts: &ChainFacts<'_>) -> Option<Diagnostic> {
    let max_depth = facts.transition.part().max_depth().filter(|_| facts.cut > 0)?;
    Some(short_trajectories(facts, max_depth))
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
    Some(wrong_acceptance(facts, chain, rate, count))
}

reports! {
    /// The warning about an acceptance rate that is far from its target, or very low without one, in `count` chains. The rate of
    /// `chain` is `rate`.
    fn wrong_acceptance(facts: &ChainFacts<'_>, chain: usize, rate: f64, count: usize)
        let chains = facts.acceptance.len();
        let target = target(facts.transition);
        let text = match target {
            Some(target) => format!("the acceptance rate is far from its target of {target} in {count} of {chains} chains:"),
            None => format!("fewer than 5 % of the proposals are accepted in {count} of {chains} chains: a fraction of"),
        };
        = program_warning(ACCEPTANCE_OFF, "`{}`: {text} {rate:.3} in chain {chain}", facts.infer)
        .helps(match (target, facts.transition.part().penalty()) {
            (Some(_), _) => &[
                "give the adaptation more iterations: a longer `warmup`",
                "check for a scale that can come close to zero, or a parameter without a proper prior",
            ][..],
            (None, Some(_)) => &[
                "make the step of `proposal` smaller",
                "lower the variance of the loss difference: a larger `batch` or more `batches`",
            ],
            (None, None) => &["make `step_size` smaller, or leave it out: the warm-up finds one"],
        }.iter().copied());
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
    let rows = good + bad + very_bad;
    let is_robust = parameters.saturating_mul(ROWS_EACH) < rows;
    Some(match is_robust {
        true => influential_rows(infer, shapes, outputs),
        false => few_rows(infer, shapes, parameters),
    })
}

reports! {
    /// The warning about influential rows, if there are enough rows per parameter.
    fn influential_rows(infer: &str, shapes: Shapes, outputs: &[OutputKind])
        let advice = outputs.iter().map(about_influential_rows).collect::<BTreeSet<_>>();
        = program_warning(ROWS_NOT_LEFT_OUT, "`{infer}`: {}", unreliable(shapes))
        .note("`elpd_loo` is too optimistic")
        .help(TEST_ROWS)
        .helps(advice);

    /// The warning about influential rows, if there are few rows per parameter.
    fn few_rows(infer: &str, shapes: Shapes, parameters: usize)
        let rows = shapes.good + shapes.bad + shapes.very_bad;
        = program_warning(ROWS_NOT_LEFT_OUT, "`{infer}`: {}", unreliable(shapes))
        .note("`elpd_loo` is too optimistic")
        .note("there are {parameters} parameters for {rows} rows: some parameters are determined by a single row, and their posterior changes completely without this row")
        .help(TEST_ROWS)
        .help("use fewer parameters: one for each group of rows, or a smaller network");
}

const TEST_ROWS: &str = "use metrics of test rows instead: `test = fraction(0.2)` in the data item";

fn unreliable(Shapes { good, bad, very_bad }: Shapes) -> String {
    let (influential, rows) = (bad + very_bad, good + bad + very_bad);
    format!(
        "the leave-one-out estimate is not reliable for {influential} of {rows} rows, {very_bad} of them with a Pareto k above 1"
    )
}

/// Applies `excess` to each value, and finds the value with the largest positive result. Returns three numbers: the chain that this value belongs to
/// (counted from 1), the value itself, and how many values have a positive result.
fn extreme(values: &[f64], excess: impl Fn(f64) -> f64) -> Option<(usize, f64, usize)> {
    let beyond = || values.iter().zip(1..).filter(|(value, _)| excess(**value) > 0.0);
    let (value, chain) = beyond().max_by(|one, other| excess(*one.0).total_cmp(&excess(*other.0)))?;
    Some((chain, *value, beyond().count()))
}
