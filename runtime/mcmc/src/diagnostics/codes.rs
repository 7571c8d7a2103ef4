//! The codes of the warnings about Markov chains.

use bnnc_base::codes;

codes! {
    pub(super) DIVERGENCES = "E0520", "divergent transitions":
        "In some iterations after the warm-up, the energy was far from constant along the simulated trajectory. Where that happens, the step size \
         is too large for the curvature of the log density. The sampler avoids this region, so a part of the posterior is missing from the draws. \
         Means and intervals may be wrong, even if R-hat is close to 1. Even one divergence in a few thousand iterations needs attention. If the \
         chains agree, up to one divergence in 10,000 iterations is not reported.\n\n\
         A typical cause is the funnel of a hierarchical model, where a small group scale confines the parameters of \
         the groups. Another cause is a comparison with a parameter, such as a change point in `if t < tau`: the \
         density jumps there, and the gradient does not show the jump.\n\n\
         If the chains agree and E-BFMI is not low, smaller steps help: `target_acceptance = 0.95`. A funnel needs a \
         non-centred parameterisation instead: smaller steps only make its divergences rarer.\n\n\
         Wrong: `infer fit = nuts(Schools, d)` with `theta ~ Normal(mu, tau)`.\n\n\
         Right: `infer fit = nuts(Schools, d) { non_centered = [theta], target_acceptance = 0.95 }`.";

    pub(super) CHAINS_DISAGREE = "E0521", "R-hat exceeds 1.01":
        "R-hat compares the spread of all draws with the spread within half chains, after the values have been replaced \
         by their ranks. R-hat is 1 if the chains agree. Above 1.01 the chains still depend on where they started, or \
         are in different modes: do not use their estimates.\n\n\
         Longer chains help if the chains drift slowly. If every chain stays in its own mode, for example because the \
         hidden units of a network can be exchanged, the chains never agree on the weights; check the predictions \
         of such a model instead. If neither the prior nor the data determine a parameter (for example, `Flat` \
         weights when a line separates the classes), the posterior is improper, and the longer the chains run, the \
         further they drift away. The components of a mixture may be in a different order in each chain (label \
         switching): the chains then agree only if the elements of each draw are sorted. The type `ordered(2)` \
         keeps the elements in order.\n\n\
         Wrong: `{ warmup = 100, draws = 100 }`.\n\n\
         Right: `{ warmup = 1000, draws = 1000 }`.";

    pub(super) FEW_EFFECTIVE_DRAWS = "E0522", "the effective sample size (ESS) is low":
        "The effective sample size is the number of independent draws that would give equally accurate estimates. If it is below 100 per chain, \
         R-hat and the standard errors are not reliable, and the effective sample size is only a rough estimate. `ess_bulk` applies to means and \
         medians, and `ess_tail` applies to the 5 % and 95 % quantiles.\n\n\
         The effective sample size is proportional to the number of draws. A dense metric helps if parameters are strongly correlated; standardised inputs \
         (`standardise = [inputs]`) help if parameters have very different scales.\n\n\
         Wrong: `{ draws = 100 }`.\n\nRight: `{ draws = 2000, metric = dense }`.";

    pub(super) ENERGY_MOVES_SLOWLY = "E0523", "E-BFMI is below 0.3":
        "E-BFMI, the estimated Bayesian fraction of missing information, compares the change of the energy in one iteration with its variation over all iterations. \
         Below 0.3, each new momentum changes the energy too little, and the chains explore the tails slowly.\n\n\
         The causes are heavy tails and funnels. Longer chains help little; another parameterisation of the model helps more.\n\n\
         Wrong: `w ~ Cauchy(0, tau)`.\n\nRight: `w ~ StudentT(4, 0, tau)`, or `non_centered = [w]`.";

    pub(super) TRAJECTORIES_CUT = "E0524", "trajectories truncated at `max_depth`":
        "A trajectory of the no-U-turn sampler did not make a U-turn within `max_depth` doublings, and was truncated. If the chains \
         agree (R-hat), the draws are right, but cost more than necessary. The step size is then small compared with the posterior's \
         longest axis: the parameters have strong correlations, very different scales, or an improper prior.\n\n\
         Wrong: `{ max_depth = 5 }`.\n\n\
         Right: `{ metric = dense }`, or `{ max_depth = 12 }`.";

    pub(super) ACCEPTANCE_OFF = "E0525", "the acceptance rate is far from its target":
        "The warm-up adapts the step size until the acceptance rate is `target_acceptance`. This warning appears if the odds of acceptance after \
         the warm-up differ from the odds of the target by a factor of more than six. If the program sets the step size, the warning appears if \
         fewer than 5 % of the proposals are accepted. Either the warm-up was too short, \
         or the chain has moved to a region that needs another step size.\n\n\
         Wrong: `{ warmup = 20 }`.\n\n\
         Right: `{ warmup = 1000 }`.";

    pub(super) ROWS_NOT_LEFT_OUT = "E0526", "leave-one-out estimates that are not reliable":
        "PSIS-LOO uses draws of the posterior given all rows to estimate how well each row would be predicted from the \
         other rows. The Pareto shape `k` of the tail of the importance ratios shows whether the estimate is reliable. \
         If `k` is above `min(1 - 1 / log10(S), 0.7)` for `S` draws, the row is so influential that its estimate and \
         the sum over all rows are too optimistic.\n\n\
         If there are as many parameters as rows (an effect per row, a large network), each row determines a parameter \
         of its own. Without the row, the posterior of its parameter changes completely.\n\n\
         The row may be an outlier, or the model may be so flexible that the row alone determines some weights. Use \
         metrics of test rows instead (`test = fraction(0.2)`). For outliers of a real output, use a likelihood with \
         heavier tails. If the inputs separate the classes almost perfectly, the log likelihood of most rows is near \
         zero under most draws, and the remaining rows are influential: narrower priors of the weights help.\n\n\
         Wrong: `y ~ Normal(f(x), sigma)` with outliers.\n\n\
         Right: `y ~ StudentT(4, f(x), sigma)`.";

    pub(super) NOISY_DIFFERENCES = "E0527", "loss differences that are too noisy":
        "The penalty method uses the estimated variance of a loss difference to correct for its noise. That works while the variance is \
         about 1. If the variance is above about 2, its estimate is itself so noisy that the draws are too spread out. The \
         other diagnostics do not show this.\n\n\
         Smaller steps reduce the differences and their noise; more rows per batch and more batches reduce the noise \
         only.\n\n\
         Wrong: `proposal = random_walk(0.05)` with a variance of 9.\n\n\
         Right: `proposal = random_walk(0.005)`.";

    pub(super) CHAINS_WITHOUT_DRAWS = "E0528", "chains without draws":
        "The run was stopped when some chains had draws but others did not. The others were still in their warm-up, or \
         had not begun because there are fewer threads than chains. Only chains with draws are reported, so R-hat \
         compares fewer chains.\n\n\
         Wrong: `bnnc run FILE --out DIR` is stopped early, and its means are reported as those of all chains.\n\n\
         Right: `bnnc run FILE --resume DIR`, which continues the run where it stopped.";

    pub(super) NOT_FINITE = "E0529", "quantities that are not finite":
        "Some draws of a quantity are infinite or not a number, so its mean, R-hat and effective sample size do not exist. If the sampler \
         accepts or rejects proposals, the usual cause is an improper posterior: neither the prior nor the data determine some parameter, and \
         the integral of the density is infinite. With `sgld` and `sghmc`, which accept every step, the steps may be too long. The draws \
         of other quantities may be right, but the diagnostics cannot confirm this.\n\n\
         Wrong: `b: positive ~ Flat` where no observation depends on `b`.\n\n\
         Right: `b ~ HalfNormal(1)`.";
}
