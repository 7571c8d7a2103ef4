//! The codes of warnings about chains.

use bnnc_base::diagnostic::Code;

/// All codes of this crate, sorted.
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

pub(super) static DIVERGENCES: Code = Code {
    id: "E0520",
    title: "divergent transitions",
    explain: "In some iterations after the warm-up the simulated trajectory left the level set of the energy: the step size is too \
              large for the curvature somewhere. The sampler turns away there, so that part of the posterior is missing \
              from the draws and means and intervals may be wrong, whatever R-hat says. One divergence in a few thousand is a reason to look; up to one in \
              10,000 of chains that agree is not reported.\n\n\
              Typical is the neck of a hierarchical model, where a small scale squeezes the parameters below it. A parameter that is compared in the model, such as \
              a change point in `if t < tau`, is another cause: the density jumps there, and the gradient does not show it.\n\n\
              Where the chains agree and their energy moves well, smaller steps are the cure: `target_acceptance = 0.95`. A hierarchy whose scale squeezes the parameters below it needs another form instead: \
              there smaller steps only make the divergences rarer.\n\n\
              Wrong: `infer fit = nuts(Schools, d)` with `theta ~ Normal(mu, tau)`.\n\n\
              Right: `infer fit = nuts(Schools, d) { non_centered = [theta], target_acceptance = 0.95 }`.",
};

pub(super) static CHAINS_DISAGREE: Code = Code {
    id: "E0521",
    title: "R-hat exceeds 1.01",
    explain: "R-hat compares the spread of all draws with the spread within half chains, after ranks have replaced the values. It is 1 \
              where the chains agree. Above 1.01 the chains still depend on where they started, or are in different modes: do not use \
              their estimates.\n\n\
              Longer chains help where they drift slowly. Where every chain stays in a mode of its own, for example because \
              the hidden units of a network can be exchanged, weights never agree; judge such a model by its predictions. Where \
              neither the prior nor the data determine a parameter (`Flat` weights of classes that a line separates), the posterior is \
              improper and chains wander further off the longer they run. Components of a mixture that can be exchanged swap places between chains (label switching): the chains \
              agree about the values in ascending order, and `ordered(2)` as the type of the vector keeps them in order.\n\n\
              Wrong: `{ warmup = 100, draws = 100 }`.\n\nRight: `{ warmup = 1000, draws = 1000 }`.",
};

pub(super) static FEW_EFFECTIVE_DRAWS: Code = Code {
    id: "E0522",
    title: "the effective sample size (ESS) is low",
    explain: "The effective sample size is the number of independent draws that would estimate as exactly as these. Below 100 \
              per chain the estimates of R-hat, of standard errors and of the size itself are not reliable. `ess_bulk` is for means \
              and medians, `ess_tail` for the 5 % and 95 % quantiles.\n\n\
              The size grows in proportion to the draws. A dense metric helps where parameters are strongly correlated, standardised inputs \
              (`standardise = [inputs]`) where they have very different scales.\n\n\
              Wrong: `{ draws = 100 }`.\n\nRight: `{ draws = 2000, metric = dense }`.",
};

pub(super) static ENERGY_MOVES_SLOWLY: Code = Code {
    id: "E0523",
    title: "E-BFMI is below 0.3",
    explain: "E-BFMI, the estimated Bayesian fraction of missing information, compares how much the energy changes in one iteration with how much it \
              varies over all. Below 0.3 a new momentum changes it too little: the chains explore the tails slowly.\n\n\
              The causes are heavy tails and funnels. Longer chains help little, another parameterisation of the model helps at once.\n\n\
              Wrong: `w ~ Cauchy(0, tau)`.\n\nRight: `w ~ StudentT(4, 0, tau)`, or `non_centered = [w]`.",
};

pub(super) static TRAJECTORIES_CUT: Code = Code {
    id: "E0524",
    title: "trajectories cut short",
    explain: "A trajectory of the no-U-turn sampler was still going straight on after `max_depth` doublings and was cut. Where the chains agree (R-hat) \
              the draws are right, but dearer than they should be. It happens where the step size is small beside the posterior's longest axis: \
              strong correlations, very different scales, or no proper prior.\n\n\
              Wrong: `{ max_depth = 5 }`.\n\nRight: `{ metric = dense }`, or `{ max_depth = 12 }`.",
};

pub(super) static ACCEPTANCE_OFF: Code = Code {
    id: "E0525",
    title: "the acceptance rate is far from its target",
    explain: "The warm-up adapts the step size until the acceptance rate is `target_acceptance`. In the iterations after it the odds of acceptance \
              of a chain are more than six times above or below their target (or, with a given step size, fewer than 5 % of the proposals are \
              accepted). Either the warm-up was too short, or the chain has moved to a region that needs another step size.\n\nWrong: `{ warmup = 20 }`.\n\nRight: `{ warmup = 1000 }`.",
};

pub(super) static ROWS_NOT_LEFT_OUT: Code = Code {
    id: "E0526",
    title: "rows that cannot be left out",
    explain: "PSIS-LOO estimates from draws given all rows how each row would be predicted from the others. The shape `k` of the \
              importance ratios' tail says whether that can be done: above `min(1 - 1 / log10(S), 0.7)` for `S` draws a row is so \
              influential that its estimate, and the sum, are too optimistic.\n\n\
              Where there are as many parameters as rows, each row decides one of its own (an effect per row, a large network): without it the posterior is another one.\n\n\
              The row may be an outlier, or the model so flexible that the row alone decides some weights. Rows held out for \
              testing (`test = fraction(0.2)`) help, and for outliers of a number a likelihood with heavier tails. Classes that the \
              inputs separate almost perfectly give such rows too: their log likelihoods are near zero under most draws, and \
              priors that hold the weights back help.\n\n\
              Wrong: `y ~ Normal(f(x), sigma)` with outliers.\n\nRight: `y ~ StudentT(4, f(x), sigma)`.",
};

pub(super) static NOISY_DIFFERENCES: Code = Code {
    id: "E0527",
    title: "loss differences that are too noisy",
    explain: "The penalty method makes up for the noise of an estimated loss difference with its estimated variance. That works while the \
              variance is about 1; from about 2 on the estimate of the variance is itself so noisy that the draws spread too far, and \
              no other diagnostic shows it.\n\n\
              Smaller steps make the differences and their noise smaller, more rows per batch and more batches make the noise smaller.\n\n\
              Wrong: `proposal = random_walk(0.05)` with a variance of 9.\n\nRight: `proposal = random_walk(0.005)`.",
};

pub(super) static NOT_FINITE: Code = Code {
    id: "E0529",
    title: "quantities that are not finite",
    explain: "Some draws of a quantity are infinite or no numbers, so that it has no mean, no R-hat and no effective size. Where proposals \
              are accepted or rejected the posterior is mostly improper there: neither the prior nor the data determine a parameter, \
              and its density has no finite integral. Where they are not (`sgld`, `sghmc`), steps that are too long throw it off. The draws \
              of the other quantities need not be wrong, but nothing shows that they are right.\n\n\
              Wrong: `b: positive ~ Flat` where no observation depends on `b`.\n\nRight: `b ~ HalfNormal(1)`.",
};

pub(super) static CHAINS_WITHOUT_DRAWS: Code = Code {
    id: "E0528",
    title: "chains without draws",
    explain: "The run was stopped when some chains had draws and others were still in their warm-up, or had not begun because there are \
              fewer threads than chains. Only chains with draws are reported, and with fewer of them R-hat has less to compare.\n\n\
              Wrong: `bnnc run FILE --out DIR`, stopped, and its means taken for those of all chains.\n\n\
              Right: `bnnc run FILE --resume DIR`, which goes on where it stopped.",
};
