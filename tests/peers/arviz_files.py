"""The files of sampled infers, opened by the tools they are made for: ArviZ and xarray, cmdstanpy, pandas.

    python tests/peers/arviz_files.py FOLDER...

Each FOLDER is one that `bnnc run PROGRAM --out FOLDER` wrote. For every infer in it that sampled: the Zarr store opens with its
groups, dimensions, coordinates and types; the Stan CSV files open with cmdstanpy and with pandas and hold the same numbers to 1e-6;
R-hat, effective sample sizes and errors in `result.json` are those that ArviZ computes from the store, to 1e-6; PSIS-LOO within its own
Monte Carlo error.
"""

import argparse
import json
import logging
import math
import pathlib
import sys
import warnings

import arviz as az
import cmdstanpy
import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.base.array import array_stats

AXES = {"chain_axis": 0, "draw_axis": 1}
CLOSE = 1e-6

# Names in `quantities` of result.json, and what ArviZ computes for chains x draws.
NUMBERS = {
    "mean": np.mean,
    "sd": lambda draws: np.std(draws, ddof=1),
    "median": np.median,
    "rhat": lambda draws: array_stats.rhat(draws, **AXES),
    "ess_bulk": lambda draws: array_stats.ess(draws, method="bulk", **AXES),
    "ess_tail": lambda draws: array_stats.ess(draws, method="tail", prob=(0.05, 0.95), **AXES),
    "mcse_mean": lambda draws: array_stats.mcse(draws, method="mean", **AXES),
    "mcse_sd": lambda draws: array_stats.mcse(draws, method="sd", **AXES),
}


class Checks:
    """Counts what was compared and tells what differs."""

    def __init__(self):
        self.done = 0
        self.failed = []

    def true(self, holds, what):
        self.done += 1
        if not holds:
            self.failed.append(what)

    def close(self, found, expected, what):
        found, expected = np.asarray(found, float), np.asarray(expected, float)
        self.true(
            found.shape == expected.shape and np.allclose(found, expected, rtol=CLOSE, atol=1e-12, equal_nan=True),
            f"{what}: {found} is not {expected}" if found.size < 9 else what,
        )


def stan_name(path):
    """The name that a site has in Stan CSV."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in path).rstrip("_")
    return plain if plain[:1].isalpha() else "v" + plain


def store_of(folder, infer, single):
    return folder / ("posterior.zarr" if single else f"posterior.{infer}.zarr")


def check_store(checks, store, result):
    """Opens the store and returns it: groups, dims, coordinates, types, that nothing warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = az.from_zarr(store)
        again = xr.open_datatree(store, engine="zarr")
    checks.true(set(tree.children) >= {"posterior", "sample_stats", "observed_data"}, f"groups: {list(tree.children)}")
    checks.true(tree.attrs["inference_library"] == "bnnc" and "created_at" not in tree.attrs, "attributes")
    diagnostics = result["diagnostics"]
    for name, group in tree.children.items():
        checks.true(group.to_dataset().identical(again[name].to_dataset()), f"{name} opens in both ways alike")
        if name == "observed_data":
            continue
        sizes = (group.sizes["chain"], group.sizes["draw"])
        checks.true(sizes == (diagnostics["chains"], diagnostics["draws"]), f"{name}: {sizes}")
        checks.true(np.array_equal(group["draw"], np.arange(sizes[1])), f"{name}: coordinate draw")
        for variable, array in group.data_vars.items():
            checks.true(array.dims[:2] == ("chain", "draw"), f"{name}/{variable}: {array.dims}")
            checks.true(all(dim in array.coords for dim in array.dims), f"{name}/{variable} has coordinates")
    for variable, array in tree["posterior"].data_vars.items():
        checks.true(array.dtype == np.float64 and np.isfinite(array).all(), f"posterior/{variable} is finite")
    if "diverging" in tree["sample_stats"]:
        diverging = tree["sample_stats"]["diverging"]
        checks.true(diverging.dtype == bool, "diverging is true or false")
        checks.true(int(diverging.sum()) == diagnostics["divergences"], "the number of divergences")
    return tree


def elements(tree):
    """Elements of sites by the names that bnnc gives them, as chains x draws."""
    for name, array in tree["posterior"].data_vars.items():
        shape = array.shape[2:]
        for index in np.ndindex(*shape):
            label = name if not shape else f"{name}[{','.join(map(str, index))}]"
            yield label, array.values[(slice(None), slice(None), *index)]
    if "lp" in tree["sample_stats"]:
        yield "lp", tree["sample_stats"]["lp"].values


def check_diagnostics(checks, tree, result):
    """Compares every number of `quantities` that is an element of a site."""
    quantities = result["diagnostics"]["quantities"]
    compared = 0
    for name, draws in elements(tree):
        if name not in quantities:
            continue
        compared += 1
        for number, compute in NUMBERS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = float(compute(draws))
            found = quantities[name].get(number)
            if found is None:
                checks.true(not math.isfinite(expected) or np.ptp(draws) == 0, f"{name}: {number} is {expected}")
            else:
                checks.close(found, expected, f"{name}: {number}")
    return compared


def check_loo(checks, tree, result):
    """Compares PSIS-LOO of all draws, up to its Monte Carlo error (a hundredth of the standard error where that is not known): ArviZ takes
    one efficiency for all rows and rounds the length of tails down."""
    loo = result["diagnostics"].get("loo")
    if loo is None or "log_likelihood" not in tree.children:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = az.loo(tree)
    checks.true(loo["draws"] == expected.n_samples, f"{loo['draws']} draws, not {expected.n_samples}")
    near = 0.01 * expected.se if loo["mcse"] is None else loo["mcse"]
    for name, value in {"elpd_loo": expected.elpd, "elpd_loo_se": expected.se, "p_loo": expected.p}.items():
        checks.true(abs(loo[name] - value) < near, f"{name}: {loo[name]} is not {value} within {near}")
    return True


def check_stan(checks, folder, infer, tree):
    """Opens the CSV files with pandas and cmdstanpy and compares them with the store."""
    files = sorted((folder / "stan").glob(f"{infer}_[0-9]*.csv"), key=lambda path: int(path.stem.split("_")[-1]))
    checks.true(len(files) == tree["posterior"].sizes["chain"], f"{len(files)} files of Stan CSV")
    fit = cmdstanpy.from_csv([str(file) for file in files])
    checks.true(fit.num_draws_sampling == tree["posterior"].sizes["draw"], "cmdstanpy: draws")
    variables = fit.stan_variables()
    tables = [pd.read_csv(file, comment="#") for file in files]
    for name, array in tree["posterior"].data_vars.items():
        values = array.values
        if values.size == 0:
            continue
        found = variables[stan_name(name)].reshape(values.shape)
        checks.close(found, values, f"cmdstanpy: {name}")
        column = stan_name(name) + ".1" * (values.ndim - 2)
        first = values[(slice(None), slice(None)) + (0,) * (values.ndim - 2)]
        checks.close(np.stack([table[column] for table in tables]), first, f"pandas: {column}")
    stats = {"lp": "lp__", "acceptance_rate": "accept_stat__", "n_steps": "n_leapfrog__", "tree_depth": "treedepth__",
             "diverging": "divergent__", "energy": "energy__", "step_size": "stepsize__"}
    for name, column in stats.items():
        if name in tree["sample_stats"]:
            found = np.stack([table[column] for table in tables])
            checks.close(found, tree["sample_stats"][name].values, f"pandas: {column}")
    if fit.metadata.cmdstan_config.get("metric") == "diag_e":
        checks.true(fit.inv_metric.shape[0] == len(files) and (fit.inv_metric > 0).all(), "the inverse metric")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    logging.getLogger("cmdstanpy").setLevel(logging.ERROR)
    failed = False
    for folder in parser.parse_args().folders:
        result = json.loads((folder / "result.json").read_text())["infer"]
        for infer, of in result.items():
            store = store_of(folder, infer, len(result) == 1)
            if not store.exists():
                continue
            checks = Checks()
            tree = check_store(checks, store, of)
            compared = check_diagnostics(checks, tree, of)
            with_loo = check_loo(checks, tree, of)
            if (folder / "stan" / f"{infer}_1.csv").exists():
                check_stan(checks, folder, infer, tree)
            loo = ", PSIS-LOO" if with_loo else ""
            print(f"{folder.name}/{infer}: {checks.done} checks, {compared} quantities{loo}, {len(checks.failed)} failed")
            for what in checks.failed[:20]:
                print(f"  {what}")
            failed |= bool(checks.failed) or compared == 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
