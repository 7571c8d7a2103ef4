"""NumPyro's side of one measurement: compiles, samples, writes the draws, and prints what it took."""

import os
import time

import side

options, began = side.start()
if options.chain_method == "parallel":
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options.chains}"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

import posteriors

numpyro.enable_x64()
imported = time.time()


def flat(constraint, shape=()):
    return dist.ImproperUniform(constraint, shape, ())


def regression(x, y, beta_sd, sigma_prior, sigma_scale):
    size = x.shape[1]
    wide = flat(dist.constraints.real, (size,)) if beta_sd is None else dist.Normal(0, beta_sd).expand([size])
    beta = numpyro.sample("beta", wide)
    scale = {
        "cauchy": dist.HalfCauchy(sigma_scale),
        "normal": dist.HalfNormal(sigma_scale),
        "flat": flat(dist.constraints.positive),
    }
    sigma = numpyro.sample("sigma", scale[sigma_prior])
    numpyro.sample("y", dist.Normal(x @ beta, sigma), obs=y)


def schools(y, s):
    eta = numpyro.sample("eta", dist.Normal(0, 1).expand([len(y)]))
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    numpyro.sample("y", dist.Normal(mu + tau * eta, s), obs=y)


def votes(income, vote):
    alpha = numpyro.sample("alpha", flat(dist.constraints.real))
    beta = numpyro.sample("beta", flat(dist.constraints.real))
    numpyro.sample("vote", dist.Bernoulli(logits=alpha + beta * income), obs=vote)


def network(x, y, x_test):
    hidden, inputs = posteriors.HIDDEN, x.shape[1]
    w1 = numpyro.sample("w1", dist.Normal(0, 1).expand([hidden, inputs]))
    b1 = numpyro.sample("b1", dist.Normal(0, 1).expand([hidden]))
    w2 = numpyro.sample("w2", dist.Normal(0, 1).expand([hidden]))
    b2 = numpyro.sample("b2", dist.Normal(0, 1))
    sigma = numpyro.sample("sigma", dist.HalfNormal(1))
    numpyro.sample("y", dist.Normal(jax.nn.relu(x @ w1.T + b1) @ w2 + b2, sigma), obs=y)


MODELS = {"eight-schools": schools, "nes-logit": votes, "yacht": network}

data = posteriors.load(options.posterior)
data = {key: jnp.asarray(value) if isinstance(value, numpy.ndarray) else value for key, value in data.items()}


def sampled(key, chains):
    """The draws and statistics of some chains, vectorised where there are several."""
    sampler = MCMC(
        NUTS(MODELS.get(options.posterior, regression), dense_mass=options.metric == "dense"),
        num_warmup=options.warmup,
        num_samples=options.draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(key, **data, extra_fields=("num_steps", "diverging"))
    return sampler.get_samples(group_by_chain=chains > 1), sampler.get_extra_fields(group_by_chain=chains > 1)


# Compiled as a whole before it runs, so that compiling and sampling are told apart: a device per chain, or all on one.
keys = jax.random.split(jax.random.PRNGKey(options.seed), options.chains)
if options.chain_method == "parallel":
    program = jax.pmap(lambda key: sampled(key, 1)).lower(keys).compile()
else:
    keys = keys[0]
    program = jax.jit(lambda key: sampled(key, options.chains)).lower(keys).compile()
ready, busy = time.time(), time.process_time()
draws, fields = jax.block_until_ready(program(keys))
ended, busy = time.time(), time.process_time() - busy
side.finish(
    options,
    {name: numpy.asarray(values) for name, values in draws.items()},
    {
        "import": imported - began,
        "compile": ready - imported,
        "sample": ended - ready,
        "sample_cpu": busy,
        "total": ended - began,
        "gradients": int(fields["num_steps"].sum()),
        "divergences": int(fields["diverging"].sum()),
    },
)
