"""What the sides of a measurement share: their arguments, and how they report."""

import argparse
import json
import time

import numpy


def start():
    """The command line, and when the process was asked for (seconds since 1970, told by whoever started it)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("posterior")
    parser.add_argument("--out", required=True, help="the file for the draws (.npz)")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--began", type=float, default=time.time())
    parser.add_argument("--chain-method", default="parallel", help="NumPyro's")
    parser.add_argument("--metric", default="diagonal", choices=("diagonal", "dense"), help="the peers'")
    parser.add_argument("--binaries", help="where Stan's programs are kept")
    parser.add_argument("--bnnc", help="the command line of bnnc")
    options = parser.parse_args()
    return options, options.began


def finish(options, draws, report):
    """Writes the draws and prints the report.

    Seconds: `import` of what Python imports, `compile`, `sample` (warm-up and draws; `sample_cpu` on the processors), and `total`
    from the start of the process to the draws. `gradients` are those of the draws that are kept.
    """
    numpy.savez(options.out, **draws)
    print(json.dumps(report))
