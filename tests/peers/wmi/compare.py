"""Weighted model integrals in bnnc, wmpy (z3 and LattE) and pywmi (PyXADD): medians of interleaved rounds, as a table.

Each measurement of a peer is a process of its own and reports the seconds of its solver alone, without start and imports; bnnc reports the
same of itself. The seconds of a whole bnnc process are shown beside.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "..", "runtime", "wmi", "tests", "data")
PEERS = ["wmpy", "pyxadd"]
# Relative errors above it are shown.
ROUNDING = 1e-12
# What took a peer longer, or failed, is not measured again.
REPEATED_BELOW = 10


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bnnc", required=True, help="the command line of bnnc")
    parser.add_argument("--instances", nargs="+", help="all that have a value, unless given")
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60, help="the most seconds of one measurement")
    return parser.parse_args()


def bnnc(options, file):
    started = time.perf_counter()
    done = subprocess.run([options.bnnc, "wmi", file, "--json"], capture_output=True, text=True, timeout=options.limit)
    whole = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    report = json.loads(done.stdout)
    return {"value": report["value"], "seconds": report["seconds"], "whole": whole}


def peer(options, name, file):
    command = [sys.executable, os.path.join(HERE, "peer.py"), name, file]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, cwd=os.path.dirname(file))
    except subprocess.TimeoutExpired:
        return {"failed": f"> {options.limit:g}", "seconds": options.limit}
    if done.returncode != 0:
        print(name, file, done.stderr, file=sys.stderr)
        return {"failed": "fails"}
    return json.loads(done.stdout.splitlines()[-1])


def measured(options, instance):
    """The reports of each side, in turn."""
    sides = {"bnnc": bnnc} | {name: lambda options, path, name=name: peer(options, name, path) for name in options.peers}
    reports = {name: [] for name in sides}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "instance.json")
        with open(path, "w") as file:
            json.dump(instance, file)
        for _ in range(options.rounds):
            for name, side in sides.items():
                last = reports[name][-1] if reports[name] else {}
                if "failed" not in last and last.get("seconds", 0) < REPEATED_BELOW:
                    reports[name].append(side(options, path))
    return reports


def median(reports, key):
    return statistics.median(report[key] for report in reports)


def cells(reports, truth, own):
    """Seconds, with the relative error where it is more than rounding, and how many times bnnc's."""
    last = reports[-1]
    if "failed" in last:
        return last["failed"], f"> {last['seconds'] / own:,.0f}" if "seconds" in last else ""
    seconds = median(reports, "seconds")
    error = max(abs(report["value"] / truth - 1) for report in reports)
    wrong = f" [{error:.0e}]" if error > ROUNDING else ""
    return f"{seconds:.2g}{wrong}", f"{seconds / own:,.0f}"


def dimension(instance):
    reals = sum(name not in instance["given"] for name, *_ in instance["reals"])
    bools = len(instance["bools"])
    return f"{reals}+{bools}b" if bools else str(reals)


def main():
    options = arguments()
    with open(os.path.join(DATA, "instances.json")) as file:
        known = {instance["id"]: instance for instance in json.load(file)["instances"]}
    chosen = options.instances or [name for name, instance in known.items() if instance["expected"]["status"] == "ok"]
    columns = ["instance", "dimension", *[f"{name} s" for name in options.peers], "bnnc s", "process s"]
    columns += [f"{name} / bnnc" for name in options.peers]
    print("| " + " | ".join(columns) + " |")
    print("|---" + "|---:" * (len(columns) - 1) + "|")
    for name in chosen:
        instance = known[name]
        truth = float(instance["expected"]["value"])
        reports = measured(options, instance)
        own = median(reports["bnnc"], "seconds")
        peers = [cells(reports[side], truth, own) for side in options.peers]
        row = [f"`{name}`", dimension(instance), *[seconds for seconds, _ in peers], cells(reports["bnnc"], truth, own)[0]]
        row += [f"{median(reports['bnnc'], 'whole'):.2g}", *[ratio for _, ratio in peers]]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
