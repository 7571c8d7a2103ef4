"""Diagnostics of draws and leave-one-out predictions beside ArviZ's and beside published numbers.

    cargo build --release -p bnnc-mcmc --example diagnose --example leave_one_out
    python tests/peers/diagnostics.py --tools target/release/examples [--posteriors FOLDER] [--write runtime/mcmc/tests/data]

`--tools` compares bnnc with ArviZ on random series. `--posteriors` compares it with the published R-hat and effective sample
sizes of all quantities: FOLDER holds a folder per posterior with `draws.csv.gz` and `summary.csv`. `--write` makes the
reference numbers that the tests of bnnc-mcmc read. Needs `pip install arviz-stats scipy`.
"""

import argparse
import csv
import gzip
import io
import pathlib
import subprocess
import sys
import warnings

import numpy as np
from arviz_stats.base.array import array_stats
from scipy import special, stats

warnings.simplefilter("ignore")
AXES = {"chain_axis": 0, "draw_axis": 1}


def autoregressive(random, phi, chains, draws):
    """Stationary draws with variance 1."""
    noise = random.standard_normal((chains, draws)) * np.sqrt(1 - phi**2)
    noise[:, 0] /= np.sqrt(1 - phi**2)
    out = noise.copy()
    for at in range(1, draws):
        out[:, at] += phi * out[:, at - 1]
    return out


def series():
    """Series of every kind that is hard: name to chains x draws."""
    random = np.random.default_rng(20210601)
    normal = random.standard_normal
    stuck = normal((4, 100))
    stuck[2] = 0.25
    return {
        "autoregressive": autoregressive(random, 0.9, 4, 500),
        "slow": autoregressive(random, 0.99, 4, 200),
        "antithetic": autoregressive(random, -0.8, 4, 200),
        "alternating": np.tile([1.0, -1.0], (2, 20)) + 1e-3 * normal((2, 40)),
        "short": normal((4, 6)),
        "shortest": normal((2, 4)),
        "odd": autoregressive(random, 0.5, 3, 101),
        "ties": random.poisson(2.0, (4, 150)).astype(float),
        "binary": (normal((4, 100)) > 1.0).astype(float),
        "stuck": stuck,
        "shifted": normal((4, 100)) + np.arange(4.0)[:, None],
        "scaled": normal((4, 100)) * np.array([1.0, 1.0, 1.0, 5.0])[:, None],
        "heavy": random.standard_cauchy((4, 200)),
        "far": 1e6 + normal((4, 100)),
        "drift": normal((4, 100)) + np.linspace(0, 3, 100),
        "single": autoregressive(random, 0.3, 1, 120),
    }


def scores(halves, ranks=None):
    """Normal scores of ranks."""
    ranks = stats.rankdata(halves).reshape(halves.shape) if ranks is None else ranks
    return stats.norm.ppf((ranks - 3 / 8) / (ranks.size + 1 / 4))


def halve(draws):
    half = draws.shape[1] // 2
    return np.vstack((draws[:, :half], draws[:, -half:]))


def rhat(halves):
    """R-hat of halves as they are; also for a single chain, which ArviZ leaves out."""
    length = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    return np.sqrt((length - 1) / length + halves.mean(axis=1).var(ddof=1) / within)


def expected(draws):
    """The numbers of the Rust example `diagnose`, by ArviZ as far as it has them."""
    ess = lambda method, **more: float(array_stats.ess(draws, method=method, **AXES, **more))
    mcse = lambda method, **more: float(array_stats.mcse(draws, method=method, **AXES, **more))
    distance = np.abs(draws - np.median(draws))
    bulk = rhat(scores(halve(draws)))
    if draws.shape[0] > 1:
        assert np.isclose(bulk, array_stats.rhat(draws, method="z_scale", **AXES), rtol=1e-12)
    centred = draws - draws.mean()
    square = (centred**2).mean()
    return {
        "mean": draws.mean(),
        "sd": draws.std(ddof=1),
        "median": np.median(draws),
        "mad": stats.median_abs_deviation(draws, axis=None) / stats.norm.ppf(0.75),
        "q05": np.quantile(draws, 0.05),
        "q95": np.quantile(draws, 0.95),
        "mcse_mean": mcse("mean"),
        "mcse_sd": np.sqrt(((centred**4).mean() - square**2) / ess("sd") / square / 4),
        "ess_bulk": ess("bulk"),
        "ess_tail": ess("tail", prob=(0.05, 0.95)),
        "rhat": max(bulk, rhat(scores(halve(distance)))),
        "rhat_split": rhat(halve(draws)),
        "rhat_bulk": bulk,
        "ess_mean": ess("mean"),
        "ess_sd": ess("sd"),
        "ess_median": ess("median"),
        "ess_q10": ess("quantile", prob=0.1),
        "bfmi": float(np.mean(np.diff(draws[0]) ** 2) / np.var(draws[0], ddof=1)),
    }


def as_csv(columns):
    """The input of `diagnose`: columns of one shape, by name."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["chain", "draw", *columns])
    chains, draws = next(iter(columns.values())).shape
    for chain in range(chains):
        for draw in range(draws):
            writer.writerow([chain, draw, *(repr(float(of[chain, draw])) for of in columns.values())])
    return out.getvalue().replace("\r\n", "\n")


def run(tool, text):
    done = subprocess.run([tool], input=text, capture_output=True, text=True, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def apart(found, want):
    """The relative difference; 0 where both are the same or undefined."""
    if found == want or (np.isnan(found) and np.isnan(want)):
        return 0.0
    return abs(found - want) / max(abs(want), 1e-300)


def compare_series(tools):
    worst = 0.0
    for name, draws in series().items():
        [found] = run(tools / "diagnose", as_csv({name: draws}))
        for key, want in expected(draws).items():
            difference = apart(float(found[key]), want)
            if difference > 1e-8:
                print(f"  {name}.{key}: {found[key]} instead of {want!r}")
            worst = max(worst, difference)
    print(f"random series: largest relative difference to ArviZ {worst:.1e}")
    return worst <= 1e-8


def compare_posteriors(tools, folder):
    """Against the published numbers.

    The two draws in the middle lie equally far from the median, so their ranks after folding hang on rounding; the
    published draws have 15 digits, those that the published numbers were computed from had 17. The published R-hat must be
    that of one of the three orders of these two draws.
    """
    worst = dict.fromkeys(["ess_bulk", "ess_tail", "rhat", "rhat, order of the middle free"], 0.0)
    quantities = 0
    for path in sorted(folder.glob("*/draws.csv.gz")):
        text = gzip.open(path, "rt").read()
        table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
        published = {row["parameter"]: row for row in csv.DictReader(open(path.parent / "summary.csv"))}
        for at, row in enumerate(run(tools / "diagnose", text)):
            want = {key: float(value) for key, value in published[row["name"]].items() if key != "parameter"}
            for key in ["ess_bulk", "ess_tail", "rhat"]:
                worst[key] = max(worst[key], apart(float(row[key]), want[key]))
            draws = table[:, at + 2].reshape(int(table[-1, 0]), -1)
            free = list(orders(draws))
            assert min(apart(value, float(row["rhat"])) for value in free) < 1e-12
            nearest = min(apart(value, want["rhat"]) for value in free)
            worst["rhat, order of the middle free"] = max(worst["rhat, order of the middle free"], nearest)
            quantities += 1
    for key, value in worst.items():
        print(f"{quantities} published quantities, {key}: largest relative difference {value:.1e}")
    return max(worst["ess_bulk"], worst["ess_tail"], worst["rhat, order of the middle free"]) < 5.5e-10


def orders(draws):
    """R-hat for each order of the two draws next to the median."""
    distance = halve(np.abs(draws - np.median(draws)))
    middle = np.argsort(distance, axis=None)[:2]
    bulk = rhat(scores(halve(draws)))
    ranks = stats.rankdata(distance).reshape(distance.shape)
    for order in [(1.5, 1.5), (1, 2), (2, 1)]:
        ranks.flat[middle] = order
        yield max(bulk, rhat(scores(distance, ranks)))


def log_likelihoods():
    """400 draws in 4 chains of the log likelihoods of rows, from harmless to hopeless: rows x chains x draws."""
    random = np.random.default_rng(20240301)
    theta = 0.4 * autoregressive(random, 0.3, 4, 100)
    rows = [stats.norm.logpdf(observed, theta, 1.0) for observed in [0.0, -1.0, 2.0, 4.0, 8.0]]
    rows.append(stats.t.logpdf(6.0, 3, theta))
    rows.append(stats.norm.logpdf(2.0, 0.0, np.exp(theta)))
    rows.append(stats.expon.logpdf(2.0, 0.0, np.exp(theta)))
    return np.array(rows)


# For these the lengths of tails are whole numbers, which ArviZ rounds down and the R package loo rounds up.
EFFICIENCIES = [1.0, 0.36, 1.44]


def expected_row(values, efficiency):
    elpd, k, p = array_stats.loo(values, r_eff=efficiency, **AXES)
    weights, _ = array_stats.psislw(values, r_eff=efficiency, axis=[0, 1])
    lppd = special.logsumexp(values) - np.log(values.size)
    spread = np.sum((np.exp(weights) * np.expm1(values - elpd)) ** 2) / efficiency
    variance = values.var(ddof=1)
    return {
        "elpd": float(elpd),
        "p": float(p),
        "k": float(k),
        "mcse": np.sqrt(np.log1p(spread)),
        "elpd_waic": lppd - variance,
        "p_waic": variance,
    }


def compare_loo(tools):
    worst = 0.0
    table = log_likelihoods()
    columns = {f"row{at}": values for at, values in enumerate(table)}
    for efficiency in EFFICIENCIES:
        text = f"{efficiency}\n{as_csv(columns)}"
        for values, found in zip(table, run(tools / "leave_one_out", text)):
            for key, want in expected_row(values, efficiency).items():
                difference = apart(float(found[key]), want)
                if difference > 1e-8:
                    print(f"  {found['name']}.{key} at {efficiency}: {found[key]} instead of {want!r}")
                worst = max(worst, difference)
    print(f"leave-one-out: largest relative difference to ArviZ {worst:.1e}")
    return worst <= 1e-8


def write_table(path, rows):
    with open(path, "w", newline="\n") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", *next(iter(rows.values()))])
        for name, row in rows.items():
            writer.writerow([name, *(repr(float(value)) for value in row.values())])


def write(folder):
    """Short series and their numbers, and the log likelihoods of rows and theirs."""
    folder.mkdir(parents=True, exist_ok=True)
    found = series()
    for name, draws in found.items():
        found[name] = draws[:, :100] if draws.shape[1] % 2 == 0 else draws
    write_table(folder / "series_expected.csv", {name: expected(draws) for name, draws in found.items()})
    with open(folder / "series.csv", "w", newline="\n") as file:
        for name, draws in found.items():
            for chain in draws:
                file.write(",".join([name, *map(repr, map(float, chain))]) + "\n")
    table = log_likelihoods()
    with open(folder / "log_likelihood.csv", "w", newline="\n") as file:
        for values in table:
            file.write(",".join(map(repr, map(float, values.ravel()))) + "\n")
    rows = {
        f"{at} {efficiency}": expected_row(values, efficiency)
        for efficiency in EFFICIENCIES
        for at, values in enumerate(table)
    }
    write_table(folder / "log_likelihood_expected.csv", rows)


def write_published(posteriors, folder):
    """Two quantities of two posteriors: little-endian doubles, quantity by quantity, chain by chain."""
    lines = []
    for name, quantities in [("eight-schools", ["mu", "tau"]), ("kidscore-momiq", ["beta[1]", "sigma"])]:
        source = posteriors / name
        text = gzip.open(source / "draws.csv.gz", "rt").read()
        header = text.splitlines()[0].split(",")
        table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
        columns = [table[:, header.index(quantity)] for quantity in quantities]
        np.concatenate(columns).astype("<f8").tofile(folder / f"{name}.f64")
        for row in csv.DictReader(open(source / "summary.csv")):
            if row["parameter"] in quantities:
                keys = ["mean", "sd", "q05", "q50", "q95", "ess_bulk", "ess_tail", "rhat"]
                lines.append(",".join([name, row["parameter"], *(row[key] for key in keys)]))
    head = "posterior,quantity,mean,sd,q05,q50,q95,ess_bulk,ess_tail,rhat"
    (folder / "published.csv").write_text("\n".join([head, *lines]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=pathlib.Path, help="the folder of the examples of bnnc-mcmc")
    parser.add_argument("--posteriors", type=pathlib.Path, help="the folder of the published draws")
    parser.add_argument("--write", type=pathlib.Path, help="the folder to write reference numbers to")
    options = parser.parse_args()
    if options.write:
        write(options.write)
        if options.posteriors:
            write_published(options.posteriors, options.write)
    good = True
    if options.tools:
        good = compare_series(options.tools)
        good = compare_loo(options.tools) and good
        if options.posteriors:
            good = compare_posteriors(options.tools, options.posteriors) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
