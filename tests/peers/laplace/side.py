"""What the sides share: arguments and the report."""

import argparse
import json

import numpy


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("task")
    parser.add_argument("structure")
    parser.add_argument("--folder", required=True, help="where the weights are")
    parser.add_argument("--out", required=True, help="where predictions go")
    parser.add_argument("--bnnc")
    parser.add_argument("--mnist")
    parser.add_argument("--precision", default="f64")
    parser.add_argument("--cores", type=int, default=2)
    return parser.parse_args()


def report(options, predictions, **numbers):
    numpy.save(options.out, numpy.asarray(predictions, numpy.float64))
    print(json.dumps(numbers))
