"""nutpie's side of one measurement, with a model of PyMC compiled by Numba."""

import os
import tempfile
import time

import side

options, began = side.start()
# A folder of its own, so that nothing compiled earlier is found.
compiled = tempfile.TemporaryDirectory()
os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={compiled.name}"
os.environ["NUMBA_CACHE_DIR"] = compiled.name
os.environ["OMP_NUM_THREADS"] = "1"

import numpy
import nutpie
import pymc
import pytensor.tensor as tensor

import posteriors

imported = time.time()


def regression(x, y, beta_sd, sigma_prior, sigma_scale):
    size = x.shape[1]
    beta = pymc.Flat("beta", shape=size) if beta_sd is None else pymc.Normal("beta", 0, beta_sd, shape=size)
    if sigma_prior == "flat":
        sigma = pymc.HalfFlat("sigma")
    else:
        sigma = {"cauchy": pymc.HalfCauchy, "normal": pymc.HalfNormal}[sigma_prior]("sigma", sigma_scale)
    pymc.Normal("y", x @ beta, sigma, observed=y)


def schools(y, s):
    eta = pymc.Normal("eta", 0, 1, shape=len(y))
    mu = pymc.Normal("mu", 0, 5)
    tau = pymc.HalfCauchy("tau", 5)
    pymc.Normal("y", mu + tau * eta, s, observed=y)


def votes(income, vote):
    alpha, beta = pymc.Flat("alpha"), pymc.Flat("beta")
    pymc.Bernoulli("vote", logit_p=alpha + beta * income, observed=vote)


def network(x, y, x_test):
    hidden, inputs = posteriors.HIDDEN, x.shape[1]
    w1 = pymc.Normal("w1", 0, 1, shape=(hidden, inputs))
    b1 = pymc.Normal("b1", 0, 1, shape=hidden)
    w2 = pymc.Normal("w2", 0, 1, shape=hidden)
    b2 = pymc.Normal("b2", 0, 1)
    sigma = pymc.HalfNormal("sigma", 1)
    pymc.Normal("y", tensor.maximum(x @ w1.T + b1, 0) @ w2 + b2, sigma, observed=y)


MODELS = {"eight-schools": schools, "nes-logit": votes, "yacht": network}

data = posteriors.load(options.posterior)
with pymc.Model() as model:
    MODELS.get(options.posterior, regression)(**data)
program = nutpie.compile_pymc_model(model)
ready, busy = time.time(), time.process_time()
trace = nutpie.sample(
    program,
    draws=options.draws,
    tune=options.warmup,
    chains=options.chains,
    cores=options.cores,
    seed=options.seed,
    progress_bar=False,
    save_warmup=True,
    # It has no dense metric; this one is the nearest to it.
    low_rank_modified_mass_matrix=options.metric == "dense",
)
ended, busy = time.time(), time.process_time() - busy
posterior = trace.posterior
side.finish(
    options,
    {str(name): numpy.asarray(posterior[name]) for name in posterior.data_vars},
    {
        "import": imported - began,
        "compile": ready - imported,
        "sample": ended - ready,
        "sample_cpu": busy,
        "total": ended - began,
        "gradients": int(trace.sample_stats["n_steps"].sum()),
        "warmup_gradients": int(trace.warmup_sample_stats["n_steps"].sum()),
        "divergences": int(trace.sample_stats["diverging"].sum()),
    },
)
