"""Laplace approximations in bnnc and laplace-torch: seconds of fitting and predicting and peak memory, as a table.

bnnc trains each network once. Both sides then build the same approximations around the same weights from the same rows, every
measurement in a process of its own, the sides in turn, several rounds. What they predict must agree: standard deviations of the
function in regression, probabilities by the probit approximation for classes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "laplace")
sys.path.insert(0, FOLDER)

import numpy
import tasks

SIDES = {"bnnc": "bnnc_side.py", "laplace-torch": "torch_side.py"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bnnc", required=True, help="the command line of bnnc")
    parser.add_argument("--mnist", help="the folder with the files of MNIST; without it only `arm` is run")
    parser.add_argument("--tasks", nargs="+", default=list(tasks.STRUCTURES), choices=list(tasks.STRUCTURES))
    parser.add_argument("--structures", nargs="+", help="only these")
    parser.add_argument("--sides", nargs="+", default=list(SIDES), choices=list(SIDES))
    parser.add_argument("--precision", default="f64", choices=["f32", "f64"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1800, help="the most seconds of one measurement")
    parser.add_argument("--results", help="a file that every measurement is added to as it is made (JSON lines)")
    return parser.parse_args()


def measured(options, task, structure, side, folder):
    """One measurement: the side's report; `failed` where it did not end well."""
    out = os.path.join(folder, f"{side}.npy")
    command = [sys.executable, os.path.join(FOLDER, SIDES[side]), task, structure, "--folder", folder, "--out", out]
    command += ["--bnnc", options.bnnc, "--precision", options.precision, "--cores", str(options.cores)]
    if options.mnist:
        command += ["--mnist", os.path.abspath(options.mnist)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit)
    except subprocess.TimeoutExpired:
        return {"failed": "too slow"}
    if done.returncode != 0:
        return {"failed": (done.stderr or done.stdout).strip().splitlines()[-1:]}
    report = json.loads(done.stdout.splitlines()[-1])
    return report | {"predictions": numpy.load(out)}


def distance(reports):
    """The largest difference between the sides' predictions, relative to the larger of two of them."""
    known = [side[-1]["predictions"] for side in reports.values() if side and "predictions" in side[-1]]
    if len(known) < 2:
        return None
    one, other = known
    return float(numpy.max(numpy.abs(one - other) / numpy.maximum(numpy.abs(one), numpy.abs(other)).clip(1e-3)))


def median(reports, key):
    values = [report.get(key) for report in reports]
    return None if None in values else statistics.median(values)


def number(value, form=".3g"):
    return "–" if value is None else format(value, form)


def ratio(one, other):
    return None if one is None or not other else one / other


def lines(task, structure, reports):
    """A line of the table per side, and what bnnc gains."""
    own = reports.get("bnnc", [])
    for side, of_side in reports.items():
        columns = [median(of_side, key) for key in ("compile", "fit", "predict", "megabytes")]
        gains = [None if side == "bnnc" else ratio(median(of_side, key), median(own, key)) for key in ("fit", "predict", "megabytes")]
        failures = {str(report["failed"]) for report in of_side if "failed" in report}
        cells = [task, structure, side, *map(number, columns), *map(number, gains), number(distance(reports), ".1e"), " ".join(failures)]
        yield f"| {' | '.join(cells)} |"


def main():
    options = arguments()
    heads = ["task", "structure", "side", "compile s", "fit s", "predict s", "peak MB", "x fit", "x predict", "x memory", "distance", ""]
    print(f"| {' | '.join(heads)} |\n|---|---|---|{'---:|' * 8}---|", flush=True)
    for task in options.tasks:
        if task == "digits" and not options.mnist:
            continue
        with tempfile.TemporaryDirectory() as folder:
            tasks.train(options.bnnc, task, options.mnist, folder)
            for structure in tasks.STRUCTURES[task]:
                if options.structures and structure not in options.structures:
                    continue
                reports = {side: [] for side in options.sides}
                for _ in range(options.rounds):
                    for side in options.sides:
                        report = measured(options, task, structure, side, folder)
                        reports[side].append(report)
                        if options.results:
                            kept = {key: value for key, value in report.items() if key != "predictions"}
                            with open(options.results, "a") as file:
                                place = {"task": task, "structure": structure, "side": side, "load": os.getloadavg()[0]}
                                file.write(json.dumps(place | kept) + "\n")
                print("\n".join(lines(task, structure, reports)), flush=True)


if __name__ == "__main__":
    main()
