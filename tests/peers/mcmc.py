"""NUTS of bnnc, NumPyro, nutpie and Stan on the reference posteriors and on a network: effective samples per second and time to the
first draw, as tables.

Every measurement runs in a process of its own, the sides in turn, several rounds; each is given the same chains, warm-up, draws and
processors, and the effective samples (bulk, the fewest over the quantities) are counted for all sides by ArviZ.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcmc")
sys.path.insert(0, FOLDER)

import numpy
import posteriors

warnings.filterwarnings("ignore", category=FutureWarning)
import arviz

SIDES = {
    "bnnc": ["bnnc_side.py"],
    "numpyro": ["numpyro_side.py"],
    "numpyro-vectorized": ["numpyro_side.py", "--chain-method", "vectorized"],
    "nutpie": ["nutpie_side.py"],
    "stan": ["stan_side.py"],
    "numpyro-dense": ["numpyro_side.py", "--metric", "dense"],
    "nutpie-low-rank": ["nutpie_side.py", "--metric", "dense"],
    "stan-dense": ["stan_side.py", "--metric", "dense"],
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bnnc", help="the command line of bnnc")
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=list(SIDES))
    parser.add_argument("--posteriors", nargs="+", default=posteriors.NAMES, choices=posteriors.NAMES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--network-rounds", type=int, default=1, help="rounds of the network, which takes minutes")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--results", help="a file that every measurement is added to as it is made (JSON lines)")
    parser.add_argument("--limit", type=float, default=3600, help="the most seconds of one measurement")
    return parser.parse_args()


def measured(options, side, posterior, seed, draws, folder):
    """One measurement: the side's report with what its draws are worth; `failed` where it did not end well."""
    out = os.path.join(folder, "draws.npz")
    script, *more = SIDES[side]
    numbers = {"chains": options.chains, "warmup": options.warmup, "draws": draws, "cores": options.cores, "seed": seed}
    command = [sys.executable, os.path.join(FOLDER, script), posterior, *more, "--out", out, "--binaries", folder]
    command += [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
    if options.bnnc:
        command += ["--bnnc", options.bnnc]
    command += ["--began", repr(time.time())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {"failed": "too slow"}
    if done.returncode != 0:
        return {"failed": (done.stderr or done.stdout).strip().splitlines()[-1:]}
    report = json.loads(done.stdout.splitlines()[-1])
    if draws > 1:
        with numpy.load(out) as kept:
            report.update(worth(posterior, dict(kept), report))
    return report


def worth(posterior, draws, report):
    """Effective samples of the quantity that has the fewest, R-hat of the worst, and the distance from the reference."""
    named = posteriors.quantities(posterior, posteriors.load(posterior), draws)
    effective = {name: float(arviz.ess(values, method="bulk")) for name, values in named.items()}
    fewest = min(effective, key=effective.get)
    errors = [0.0]
    for name, (mean, sd, mcse) in posteriors.reference(posterior).items():
        own = sd / math.sqrt(effective[name])
        errors.append(abs(named[name].mean() - mean) / math.hypot(own, mcse))
    return {
        "ess": effective[fewest],
        "fewest": fewest,
        "rhat": max(float(arviz.rhat(values)) for values in named.values()),
        "z": max(errors),
        "ess_per_second": effective[fewest] / report["sample"],
        "ess_per_processor_second": effective[fewest] / report["sample_cpu"],
        "gradients_per_ess": report["gradients"] / effective[fewest],
    }


def rounds(options, posterior):
    return options.network_rounds if posterior == "yacht" else options.rounds


def measure(options, posterior):
    """All measurements of one posterior, by side: those of whole runs, and those that end with the first draw."""
    whole, first = ({side: [] for side in options.sides} for _ in range(2))
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds(options, posterior)):
            for side in options.sides:
                print(f"{posterior}: {side}, round {number + 1}", file=sys.stderr, flush=True)
                for draws, kept in ((options.draws, whole), (1, first)):
                    report = measured(options, side, posterior, number + 1, draws, folder)
                    kept[side].append(report)
                    if options.results:
                        with open(options.results, "a") as file:
                            entry = {"posterior": posterior, "side": side, "draws": draws, "load": os.getloadavg()[0], **report}
                            file.write(json.dumps(entry) + "\n")
    return whole, first


def median(reports, key):
    """The median over rounds, or nothing where a round failed."""
    values = [report.get(key) for report in reports]
    return None if None in values else statistics.median(values)


def number(value, form=".3g"):
    return "–" if value is None else format(value, form)


def details(posterior, whole, first):
    """The lines of the table of all numbers."""
    for side, reports in whole.items():
        columns = [median(reports, key) for key in ("import", "compile", "sample", "sample_cpu", "ess", "gradients_per_ess")]
        marks = [number(value) for value in (median(first[side], "total"), *columns)]
        marks += [number(median(reports, "ess_per_second")), number(median(reports, "divergences"), ".0f")]
        marks += [number(median(reports, "rhat"), ".4f"), number(median(reports, "z"), ".1f")]
        failures = {str(report["failed"]) for report in reports + first[side] if "failed" in report}
        yield f"| {posterior} | {side} | {' | '.join(marks)} | {' '.join(failures)} |"


def ratio(one, other):
    return None if one is None or not other else one / other


def comparisons(posterior, whole, first):
    """The line that says by how much bnnc is ahead of each peer: above 1 it is."""
    own_rate, own_wait = median(whole["bnnc"], "ess_per_second"), median(first["bnnc"], "total")
    cells = [number(own_rate), number(own_wait)]
    for side in whole:
        if side != "bnnc":
            cells.append(number(ratio(own_rate, median(whole[side], "ess_per_second"))))
            cells.append(number(ratio(median(first[side], "total"), own_wait)))
    return f"| {posterior} | {' | '.join(cells)} |"


def headed(columns, aligned):
    return f"| {' | '.join(columns)} |\n|{'|'.join(aligned)}|"


def main():
    options = arguments()
    everything = {posterior: measure(options, posterior) for posterior in options.posteriors}
    columns = ["posterior", "side", "first draw s", "import s", "compile s", "sampling s", "processor s", "ESS"]
    columns += ["gradients / ESS", "ESS / s", "divergences", "R-hat", "z", "failed"]
    print(headed(columns, ["---", "---", *["---:"] * 11, "---"]))
    for posterior, (whole, first) in everything.items():
        print("\n".join(details(posterior, whole, first)))
    if "bnnc" in options.sides:
        peers = [side for side in options.sides if side != "bnnc"]
        columns = ["posterior", "bnnc ESS / s", "bnnc first draw s"]
        columns += [column for side in peers for column in (f"x {side} ESS / s", f"x {side} first draw")]
        print("\n" + headed(columns, ["---", *["---:"] * (len(columns) - 1)]))
        for posterior, (whole, first) in everything.items():
            print(comparisons(posterior, whole, first))


if __name__ == "__main__":
    main()
