"""The posteriors: their data in the form the peers' models take, and the quantities whose effective samples are counted.

Every regression is the same model with other priors: `y ~ Normal(x @ beta, sigma)`; a column of ones stands for an intercept.
"""

import csv
import json
import os

import numpy

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
EXAMPLES = os.path.join(ROOT, "examples", "posteriors")
YACHT = os.path.join(ROOT, "examples", "yacht", "data")
HIDDEN = 50

# Of a regression: the sd of the prior of `beta` (None is flat), and the prior of `sigma` with its scale.
REGRESSIONS = {
    "ar5": (10.0, "cauchy", 2.5),
    "blr-independent": (10.0, "normal", 10.0),
    "kidscore-momiq": (None, "cauchy", 2.5),
    "log-earnings": (None, "flat", 1.0),
    "log-mesquite": (None, "flat", 1.0),
}
NAMES = [*REGRESSIONS, "eight-schools", "nes-logit", "yacht"]


def published(name):
    with open(os.path.join(EXAMPLES, "data", f"{name}.json")) as file:
        content = json.load(file)
    return {key: numpy.asarray(values, float) if isinstance(values, list) else values for key, values in content.items()}


def regression(name):
    """The inputs with a column of ones where there is an intercept, and the target."""
    data = published(name)
    if name == "ar5":
        y, lags = data["y"], data["K"]
        columns = [y[lags - 1 - lag : len(y) - 1 - lag] for lag in range(lags)]
        return with_intercept(columns), y[lags:]
    if name == "blr-independent":
        return data["X"], data["y"]
    if name == "kidscore-momiq":
        return with_intercept([data["mom_iq"]]), data["kid_score"]
    if name == "log-earnings":
        return with_intercept([data["height"], data["male"], data["height"] * data["male"]]), numpy.log(data["earn"])
    first, second, canopy = data["diam1"], data["diam2"], data["canopy_height"]
    logs = [first * second * canopy, first * second, first / second, data["total_height"], data["density"]]
    return with_intercept([*map(numpy.log, logs), data["group"]]), numpy.log(data["weight"])


def with_intercept(columns):
    return numpy.column_stack([numpy.ones(len(columns[0])), *columns])


def yacht():
    """Split 0, standardised by the means and sds of the training rows (which divide by n)."""
    table = numpy.loadtxt(os.path.join(YACHT, "yacht.csv"), delimiter=",", skiprows=1)
    with open(os.path.join(YACHT, "splits.json")) as file:
        test = numpy.array(json.load(file)["test"][0])
    train = numpy.setdiff1d(numpy.arange(len(table)), test)
    table = (table - table[train].mean(0)) / table[train].std(0)
    return {"x": table[train, :-1], "y": table[train, -1], "x_test": table[test, :-1]}


def load(name):
    """What the model of a posterior is given."""
    if name in REGRESSIONS:
        x, y = regression(name)
        beta_sd, sigma_prior, sigma_scale = REGRESSIONS[name]
        return {"x": x, "y": y, "beta_sd": beta_sd, "sigma_prior": sigma_prior, "sigma_scale": sigma_scale}
    if name == "eight-schools":
        data = published(name)
        return {"y": data["y"], "s": data["sigma"]}
    if name == "nes-logit":
        data = published(name)
        return {"income": data["income"], "vote": data["vote"].astype(int)}
    return yacht()


# What the sides draw, as arrays [chain, draw, ..]: `beta` and `sigma` of a regression, `eta`, `mu`, `tau` of the schools, `alpha`
# and `beta` of the votes, `w1` [hidden, inputs], `b1`, `w2` [hidden], `b2`, `sigma` of the network.


def quantities(name, data, draws):
    """The quantities of the reference by their names there; of the network, its test predictions and the log density."""
    if name == "eight-schools":
        theta = draws["mu"][..., None] + draws["tau"][..., None] * draws["eta"]
        return {**elements("theta", theta), "mu": draws["mu"], "tau": draws["tau"]}
    if name == "nes-logit":
        return {"alpha": draws["alpha"], "beta[1]": draws["beta"]}
    if name == "yacht":
        tests = elements("f", network(data["x_test"], draws))
        return {**tests, "log density": network_log_density(data, draws)}
    if name == "ar5":
        named = {"alpha": draws["beta"][..., 0], **elements("beta", draws["beta"][..., 1:])}
    else:
        named = elements("beta", draws["beta"])
    return {**named, "sigma": draws["sigma"]}


def elements(name, values):
    return {f"{name}[{at + 1}]": values[..., at] for at in range(values.shape[-1])}


def network(x, draws):
    """The network's values `[chain, draw, row]`."""
    w1, b1, w2, b2 = (draws[key] for key in ("w1", "b1", "w2", "b2"))
    values = numpy.empty((*b2.shape, len(x)))
    for chain in range(len(b2)):
        hidden = numpy.maximum(numpy.einsum("dhi,ni->dnh", w1[chain], x, optimize=True) + b1[chain][:, None, :], 0)
        values[chain] = numpy.einsum("dnh,dh->dn", hidden, w2[chain]) + b2[chain][:, None]
    return values


def network_log_density(data, draws):
    """The log joint density of the network's weights, noise and targets, without constants and without a Jacobian."""
    residuals = data["y"] - network(data["x"], draws)
    sigma = draws["sigma"]
    weights = sum((draws[key] ** 2).reshape(*sigma.shape, -1).sum(-1) for key in ("w1", "b1", "w2", "b2"))
    likelihood = -0.5 * (residuals**2).sum(-1) / sigma**2 - len(data["y"]) * numpy.log(sigma)
    return likelihood - 0.5 * weights - 0.5 * sigma**2


def reference(name):
    """Mean, sd and the Monte Carlo error of the mean by quantity; nothing for the network."""
    path = os.path.join(EXAMPLES, "reference", f"{name}.csv")
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return {row["parameter"]: (float(row["mean"]), float(row["sd"]), float(row.get("mcse_mean") or 0)) for row in rows}
