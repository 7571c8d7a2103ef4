//! Warnings about chains that should not be trusted yet, with what to do.

use super::Summary;
use crate::loo::Shapes;
use bnnc_abi::sampling::Transition;
use bnnc_base::diagnostic::{Code, Diagnostic, Fault, Place, Severity};

/// Every code of this crate, sorted.
pub static CODES: &[&Code] = &[
    &DIVERGENCES,
    &CHAINS_DISAGREE,
    &FEW_EFFECTIVE_DRAWS,
    &ENERGY_MOVES_SLOWLY,
    &TRAJECTORIES_CUT,
    &ACCEPTANCE_OFF,
    &ROWS_NOT_LEFT_OUT,
    &NOISY_DIFFERENCES,
    &CHAINS_WITHOUT_DRAWS,
    &NOT_FINITE,
];

static DIVERGENCES: Code = Code {
    id: "E0520",
    title: "divergent transitions",
    explain: "In some iterations after the warm-up the simulated trajectory left the level set of the energy: the step size is too \
              large for the curvature somewhere. The sampler turns away there, so that part of the posterior is missing \
              from the draws and means and intervals may be wrong, whatever R-hat says. One divergence is a reason to look.\n\n\
              Typical is the neck of a hierarchical model, where a small scale squeezes the sites below it.\n\n\
              Wrong: `infer fit = nuts(Schools, d)` with `theta ~ Normal(mu, tau)`.\n\n\
              Right: `infer fit = nuts(Schools, d) { noncentre = [theta], target_acceptance = 0.95 }`.",
};

static CHAINS_DISAGREE: Code = Code {
    id: "E0521",
    title: "the chains disagree",
    explain: "R-hat compares the spread of all draws with the spread within half chains, after ranks have replaced the values; at \
              1 they agree. Above 1.01 the chains have not forgotten where they started, or are in different modes, and no \
              estimate from them is to be used.\n\n\
              Longer chains help where they drift slowly. Where every chain stays in a mode of its own, for example because \
              the hidden units of a network can be exchanged, weights will never agree; predictions may, and are what to look at. Where \
              neither the prior nor the data hold a site back (`Flat` weights of classes that a line separates), the posterior is \
              improper and chains wander further off the longer they run.\n\n\
              Wrong: `{ warmup = 100, draws = 100 }`.\n\nRight: `{ warmup = 1000, draws = 1000 }`.",
};

static FEW_EFFECTIVE_DRAWS: Code = Code {
    id: "E0522",
    title: "few effective draws",
    explain: "The effective sample size is the number of independent draws that would estimate as exactly as these. Below 100 \
              per chain the estimates of R-hat, of standard errors and of the size itself are not reliable. `ess_bulk` is for means \
              and medians, `ess_tail` for the 5 % and 95 % quantiles.\n\n\
              More draws help in proportion. A dense metric helps where sites are strongly correlated, standardised inputs \
              (`standardise = [inputs]`) where they have very different scales.\n\n\
              Wrong: `{ draws = 100 }`.\n\nRight: `{ draws = 2000, metric = dense }`.",
};

static ENERGY_MOVES_SLOWLY: Code = Code {
    id: "E0523",
    title: "the energy moves slowly",
    explain: "The fraction of missing information (E-BFMI) compares how far the energy moves in one iteration with how far it spreads \
              over all. Below 0.3 new momenta change it too little to reach the tails: chains walk where they should jump.\n\n\
              The causes are heavy tails and funnels, which longer chains cure slowly and another form of the model at once.\n\n\
              Wrong: `w ~ Cauchy(0, tau)`.\n\nRight: `w ~ StudentT(4, 0, tau)`, or `noncentre = [w]`.",
};

static TRAJECTORIES_CUT: Code = Code {
    id: "E0524",
    title: "trajectories cut short",
    explain: "A trajectory of the no-U-turn sampler was still going straight on after `max_depth` doublings and was cut. The draws \
              are right, if the posterior is proper, but dearer than they should be. It happens where the step size is small beside the posterior's longest axis: \
              strong correlations, very different scales, or no proper prior.\n\n\
              Wrong: `{ max_depth = 5 }`.\n\nRight: `{ metric = dense }`, or `{ max_depth = 12 }`.",
};

static ACCEPTANCE_OFF: Code = Code {
    id: "E0525",
    title: "acceptance far from its target",
    explain: "The warm-up chooses the step size so that a chosen part of the proposals is accepted. After it the odds of acceptance \
              of a chain are more than six times above or below their target (or, with a given step size, fewer than 5 % are \
              accepted): either the warm-up was too short, or the chain has moved to a place where another step size would be \
              right.\n\nWrong: `{ warmup = 20 }`.\n\nRight: `{ warmup = 1000 }`.",
};

static ROWS_NOT_LEFT_OUT: Code = Code {
    id: "E0526",
    title: "rows that cannot be left out",
    explain: "PSIS-LOO estimates from draws given all rows how each row would be predicted from the others. The shape `k` of the \
              importance ratios' tail says whether that can be done: above `min(1 - 1 / log10(S), 0.7)` for `S` draws a row is so \
              influential that its estimate, and the sum, are too optimistic.\n\n\
              The row may be an outlier, or the model so flexible that the row alone decides some weights. Rows held out for \
              testing (`test = fraction(0.2)`) help, and for outliers of a number a likelihood with heavier tails. Classes that the \
              inputs separate almost perfectly give such rows too: their log likelihoods are near zero under most draws, and \
              priors that hold the weights back help.\n\n\
              Wrong: `y ~ Normal(f(x), sigma)` with outliers.\n\nRight: `y ~ StudentT(4, f(x), sigma)`.",
};

static NOISY_DIFFERENCES: Code = Code {
    id: "E0527",
    title: "loss differences that are too noisy",
    explain: "The penalty method makes up for the noise of an estimated loss difference with its estimated variance. That works while the \
              variance is about 1; from about 2 on the estimate of the variance is itself so noisy that the draws spread too far, and \
              no other diagnostic shows it.\n\n\
              Smaller steps make the differences and their noise smaller, more rows per batch and more batches make the noise smaller.\n\n\
              Wrong: `proposal = random_walk(0.05)` with a variance of 9.\n\nRight: `proposal = random_walk(0.005)`.",
};

static NOT_FINITE: Code = Code {
    id: "E0529",
    title: "quantities that are not finite",
    explain: "Some draws of a quantity are infinite or no numbers, so that it has no mean, no R-hat and no effective size. Where proposals \
              are accepted or refused the posterior is mostly improper there: neither a prior nor the data keep a site from wandering off, \
              and its density has no finite integral. Where they are not (`sgld`, `sghmc`), steps that are too long throw it off. The draws \
              of the other quantities need not be wrong, but nothing shows that they are right.\n\n\
              Wrong: `b: positive ~ Flat` where no observation depends on `b`.\n\nRight: `b ~ HalfNormal(1)`.",
};

static CHAINS_WITHOUT_DRAWS: Code = Code {
    id: "E0528",
    title: "chains without draws",
    explain: "The run was stopped when some chains had draws and others were still in their warm-up, or had not begun because there are \
              fewer threads than chains. Only chains with draws are reported, and with fewer of them R-hat has less to compare.\n\n\
              Wrong: `bnnc run FILE --out DIR`, stopped, and its means taken for those of all chains.\n\n\
              Right: `bnnc run FILE --resume DIR`, which goes on where it stopped.",
};

/// Draws of a chain whose halves can be compared.
const LEAST_DRAWS: usize = 4;

/// A larger mean variance of the loss difference is too noisy to be corrected for.
const NOISY: f64 = 2.0;

/// What is known of the chains of an infer. Iterations are those after the warm-up.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The name of the infer.
    pub infer: &'a str,
    /// The transition and its options.
    pub transition: &'a Transition,
    /// Chains that have draws.
    pub chains: usize,
    /// The numbers of the others, which were stopped before.
    pub without_draws: &'a [usize],
    /// Iterations of all chains.
    pub iterations: usize,
    /// How many of them diverged.
    pub divergences: usize,
    /// How many of them were cut at the largest depth.
    pub cut: usize,
    /// The mean acceptance rate of each chain; empty where nothing is rejected.
    pub acceptance: &'a [f64],
    /// [`super::energy::fraction_of_missing_information`] of each chain; empty where there is no energy.
    pub missing_information: &'a [f64],
    /// Quantities by name.
    pub quantities: &'a [(String, Summary)],
    /// The shapes of PSIS-LOO where it was computed.
    pub shapes: Option<Shapes>,
    /// The mean variance of the loss differences that the penalty method corrects for.
    pub loss_variance: Option<f64>,
}

/// The warnings that are due, most serious first.
pub fn advice(facts: &Facts<'_>) -> Vec<Diagnostic> {
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
            .and_then(|shapes| rows_not_left_out(facts.infer, shapes)),
    ];
    all.into_iter().flatten().collect()
}

fn warning(code: &'static Code, facts: &Facts<'_>, text: String) -> Diagnostic {
    about(code, facts.infer, &text)
}

fn about(code: &'static Code, infer: &str, text: &str) -> Diagnostic {
    Diagnostic {
        code,
        severity: Severity::Warning,
        fault: Fault::Program,
        message: format!("`{infer}`: {text}"),
        at: Place::Nowhere,
        label: String::new(),
        labels: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
    }
}

fn chains_without_draws(facts: &Facts<'_>) -> Option<Diagnostic> {
    if facts.without_draws.is_empty() {
        return None;
    }
    let missing = facts.without_draws.len();
    let numbers: Vec<String> = facts.without_draws.iter().map(usize::to_string).collect();
    let text = format!(
        "{missing} of {} chains were stopped before their first draw and are left out (counted from 0: {})",
        facts.chains + missing,
        numbers.join(", ")
    );
    let found = warning(&CHAINS_WITHOUT_DRAWS, facts, text);
    Some(found.help("go on with `--resume`, or judge by the chains that are left"))
}

fn not_finite(facts: &Facts<'_>) -> Option<Diagnostic> {
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
    let text = format!("every draw must be finite, they are not for {list}{and_more}");
    let found = warning(&NOT_FINITE, facts, text);
    Some(found.help(match facts.transition {
        Transition::Sgld { .. } | Transition::Sghmc { .. } => {
            "steps that are too long do this (try a tenth of `step_size`), or a site without a proper prior"
        }
        Transition::Nuts { .. }
        | Transition::Hmc { .. }
        | Transition::Mala { .. }
        | Transition::RandomWalk { .. }
        | Transition::Penalty(_) => "the posterior is improper there: give every site a proper prior",
    }))
}

/// Quantities that are named one by one.
const NAMED: usize = 5;

/// The target that the step size is adapted to, if it is adapted.
fn target(transition: &Transition) -> Option<f64> {
    let adaptation = transition.adaptation()?;
    adaptation
        .step_size
        .is_none()
        .then_some(adaptation.target_acceptance)
}

fn divergences(facts: &Facts<'_>) -> Option<Diagnostic> {
    // Where one point is proposed, one without a density is rejected like any other: nothing is missing.
    let follows = match facts.transition {
        Transition::Nuts { .. }
        | Transition::Hmc { .. }
        | Transition::Sgld { .. }
        | Transition::Sghmc { .. } => true,
        Transition::Mala { .. } | Transition::RandomWalk { .. } | Transition::Penalty(_) => false,
    };
    if facts.divergences == 0 || !follows {
        return None;
    }
    let percent = 100.0 * facts.divergences as f64 / facts.iterations as f64;
    let text = format!(
        "no iteration may diverge, {} of {} did ({percent:.2} %)",
        facts.divergences, facts.iterations
    );
    let smaller = match target(facts.transition) {
        Some(target) if target < 0.99 => {
            format!("raise `target_acceptance` from {target} towards 0.99: it makes the steps smaller")
        }
        Some(_) | None => "make `step_size` smaller".to_string(),
    };
    let diagnostic = warning(&DIVERGENCES, facts, text)
        .note("where they happen part of the posterior is missing from the draws: estimates may be wrong")
        .help(smaller)
        .help("sample sites below a scale that is itself unknown as their noise: `noncentre = [SITE]`")
        .help("give scales a prior that keeps them away from zero");
    Some(diagnostic)
}

fn chains_disagree(facts: &Facts<'_>) -> Option<Diagnostic> {
    let rhat = |(_, summary): &(String, Summary)| summary.rhat;
    let high: Vec<_> = facts
        .quantities
        .iter()
        .filter(|entry| rhat(entry) > 1.01)
        .collect();
    let worst = high
        .iter()
        .max_by(|one, other| rhat(one).total_cmp(&rhat(other)))?;
    let (above, all, name) = (high.len(), facts.quantities.len(), &worst.0);
    let worst = match worst.1.rhat.is_finite() {
        true => format!("{} for `{name}`", above_limit(worst.1.rhat)),
        false => format!("the chains of `{name}` never moved"),
    };
    let text = format!("R-hat must be at most 1.01, it is above for {above} of {all} quantities: {worst}");
    let diagnostic = warning(&CHAINS_DISAGREE, facts, text)
        .note("the chains have not mixed: no estimate is to be used yet")
        .help("run longer: more `warmup` and more `draws`")
        .help("where hidden units can be exchanged judge a network by its predictions, not by its weights");
    // What wanders off for ever does so in straight lines.
    let diagnostic = match facts.cut > 0 {
        true => diagnostic.help("give a proper prior to every site that the data may not hold back"),
        false => diagnostic,
    };
    Some(diagnostic)
}

/// An R-hat above 1.01 with at least three decimals, and as many as show that it is.
fn above_limit(rhat: f64) -> String {
    let decimals = (3..=17).find(|decimals| rhat - 1.01 > 0.5 * 10f64.powi(-decimals));
    format!("{rhat:.*}", decimals.unwrap_or(17) as usize)
}

fn few_effective_draws(facts: &Facts<'_>) -> Option<Diagnostic> {
    let each = facts.iterations / facts.chains.max(1);
    if each < LEAST_DRAWS && !facts.quantities.is_empty() {
        let text = format!(
            "nothing can be said of chains with {each} {}",
            if each == 1 { "draw" } else { "draws" }
        );
        let diagnostic = warning(&FEW_EFFECTIVE_DRAWS, facts, text);
        return Some(diagnostic.help(format!(
            "keep at least {LEAST_DRAWS} `draws`, and hundreds for estimates"
        )));
    }
    if nothing_moved(facts) {
        let text = format!(
            "nothing moved in {} iterations: all draws are the same",
            facts.iterations
        );
        let diagnostic = warning(&FEW_EFFECTIVE_DRAWS, facts, text)
            .note("no estimate is to be used, nor what is said of left out rows")
            .help("take smaller steps, or leave the step size to the warm-up");
        return Some(diagnostic);
    }
    let need = 100.0 * facts.chains as f64;
    let size = |(_, summary): &(String, Summary)| summary.ess_bulk.min(summary.ess_tail);
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
        "{need} effective draws are needed (100 per chain), {} of {} quantities have fewer and `{}` has {:.0} ({kind})",
        low.len(),
        facts.quantities.len(),
        worst.0,
        size(worst)
    );
    let factor = (need / size(worst)).ceil();
    let mut diagnostic = warning(&FEW_EFFECTIVE_DRAWS, facts, text);
    if factor <= 20.0 {
        diagnostic = diagnostic.help(format!("about {factor} times as many `draws` would be enough"));
    }
    if facts
        .transition
        .adaptation()
        .is_some_and(|adaptation| !adaptation.metric.is_dense())
    {
        diagnostic = diagnostic.help("where sites are strongly correlated, `metric = dense`");
    }
    Some(diagnostic.help("standardise inputs and target, or write the model with less dependent sites"))
}

/// Whether no quantity ever changed, in any chain. One that is constant by its nature is no sign of anything.
fn nothing_moved(facts: &Facts<'_>) -> bool {
    let still = |summary: &Summary| summary.rhat.is_nan() && summary.mean.is_finite();
    !facts.quantities.is_empty() && facts.quantities.iter().all(|(_, summary)| still(summary))
}

fn energy_moves_slowly(facts: &Facts<'_>) -> Option<Diagnostic> {
    let (chain, lowest, count) = extreme(facts.missing_information, |value| 0.3 - value)?;
    let text = format!(
        "the fraction of missing information must be at least 0.3, it is lower in {count} of {} chains and {lowest:.2} in chain {chain}",
        facts.missing_information.len()
    );
    let diagnostic = warning(&ENERGY_MOVES_SLOWLY, facts, text)
        .note("the chains explore the tails slowly: quantiles and standard deviations are less exact than they look")
        .help("sample sites below an unknown scale as their noise: `noncentre = [SITE]`")
        .help("replace priors with very heavy tails, or run longer (`warmup`, `draws`)");
    Some(diagnostic)
}

fn noisy_differences(facts: &Facts<'_>) -> Option<Diagnostic> {
    let variance = facts.loss_variance.filter(|variance| *variance > NOISY)?;
    let size = match variance < 1e6 {
        true => format!("{variance:.1}"),
        false => format!("{variance:.1e}"),
    };
    let text = format!("the variance of the loss difference must be about 1, it is {size} on average");
    let diagnostic = warning(&NOISY_DIFFERENCES, facts, text)
        .note("the draws spread further than the posterior that they are meant to have")
        .help("propose smaller steps: a tenth of the `step` makes the variance about ten times smaller")
        .help("take more rows per `batch`, or more `batches`");
    Some(diagnostic)
}

fn trajectories_cut(facts: &Facts<'_>) -> Option<Diagnostic> {
    let Transition::Nuts {
        max_depth,
        adaptation,
    } = facts.transition
    else {
        return None;
    };
    if facts.cut == 0 {
        return None;
    }
    let text = format!(
        "{} of {} trajectories were cut at `max_depth = {max_depth}`",
        facts.cut, facts.iterations
    );
    let mut diagnostic = warning(&TRAJECTORIES_CUT, facts, text)
        .note("the draws are right, but take more gradients than they should")
        .help(format!("allow longer ones: `max_depth = {}`", max_depth + 2));
    if !adaptation.metric.is_dense() {
        diagnostic = diagnostic.help("where sites are strongly correlated, `metric = dense`");
    }
    Some(diagnostic.help("standardise inputs and target, and give every site a proper prior"))
}

/// The odds of acceptance may be this many times above or below those of the target.
const ODDS: f64 = 6.0;

fn acceptance_off(facts: &Facts<'_>) -> Option<Diagnostic> {
    let target = target(facts.transition);
    let (low, high) = target.map_or((0.05, 1.0), |target| {
        let odds = target / (1.0 - target);
        (
            odds / ODDS / (1.0 + odds / ODDS),
            odds * ODDS / (1.0 + odds * ODDS),
        )
    });
    let (chain, rate, count) = extreme(facts.acceptance, |rate| f64::max(low - rate, rate - high))?;
    let wanted = target.map_or("at least 0.05".to_string(), |target| format!("about {target}"));
    let text = format!(
        "the acceptance rate should be {wanted}, it is not in {count} of {} chains and {rate:.3} in chain {chain}",
        facts.acceptance.len()
    );
    let diagnostic = warning(&ACCEPTANCE_OFF, facts, text);
    let diagnostic = match (target, facts.transition) {
        (Some(_), _) => diagnostic
            .help("give the adaptation more iterations: a longer `warmup`")
            .help("look for a scale that can come close to zero, or a site without a proper prior"),
        (None, Transition::Penalty(_)) => diagnostic
            .help("make the step of `proposal` smaller")
            .help("lower the variance of the loss difference: a larger `batch` or more `batches`"),
        (None, _) => diagnostic.help("make `step_size` smaller, or leave it out: the warm-up finds one"),
    };
    Some(diagnostic)
}

/// A warning where rows have a Pareto shape that is too large.
pub fn rows_not_left_out(infer: &str, shapes: Shapes) -> Option<Diagnostic> {
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
        .help("judge by test rows: `test = fraction(0.2)` in the data")
        .help("where rows are outliers of a number, take a likelihood with heavier tails: `StudentT`");
    Some(diagnostic)
}

/// The value with the largest positive excess: its chain, counted from 1, the value, and how many have an excess.
fn extreme(values: &[f64], excess: impl Fn(f64) -> f64) -> Option<(usize, f64, usize)> {
    let beyond = || values.iter().zip(1..).filter(|(value, _)| excess(**value) > 0.0);
    let (value, chain) = beyond().max_by(|one, other| excess(*one.0).total_cmp(&excess(*other.0)))?;
    Some((chain, *value, beyond().count()))
}
