"""Milliseconds per training step on a GPU: bnnc, JAX and PyTorch in turn, several rounds; the table in Markdown."""

import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bnnc", required=True, help="the command line of bnnc")
    parser.add_argument("--root", required=True, help="the root of the repository")
    parser.add_argument("--data", required=True, help="folder with MNIST's IDX files, plain or gzipped")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--widths", default="400 4096")
    return parser.parse_args()


def output(command):
    """What a command prints, or None, with its last words on standard error, where it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    print(f"{command[0]} {command[1]}: {done.stderr.strip()[-500:]}", file=sys.stderr)
    return None


def bnnc(options, width, folder):
    """The mean over a fit of two epochs, and the device as bnnc names it."""
    path = os.path.join(options.root, "examples/digits/mnist.bnn")
    program = os.path.join(folder, f"mnist-{width}.bnn")
    with open(path) as source, open(program, "w") as target:
        target.write(source.read().replace("Dense(400)", f"Dense({width})"))
    images, labels = [
        sorted(glob.glob(os.path.join(options.data, f"train-{kind}-ubyte*")))[0] for kind in ["images-idx3", "labels-idx1"]
    ]
    settings = ["fit.epochs=2", "fit.optimiser=Adam(1e-3)", "fit.schedule=constant", "mnist.test=fraction(0.01)"]
    command = [options.bnnc, "run", program, "--json", "--backend", "cuda", "--only", "fit"]
    command += [f"--data=mnist={images}", f"--data=mnist={labels}"] + [f"--set={setting}" for setting in settings]
    printed = output(command)
    if printed is None:
        return None
    result = json.loads(printed)
    infer = result["infer"]["fit"]
    milliseconds = 1000 * infer["seconds"]["fit"] / infer["diagnostics"]["steps"]
    return {"peer": "bnnc", "version": result.get("device", ""), "mean_ms": milliseconds, "median_ms": milliseconds}


def peer(options, script, width, more):
    """The report of one of the scripts beside."""
    command = [sys.executable, os.path.join(HERE, script), "--data", options.data, "--steps", str(options.steps)]
    printed = output(command + ["--device", "cuda", "--width", str(width)] + more)
    return None if printed is None else json.loads(printed.strip().splitlines()[-1])


def main():
    options = arguments()
    print("| width | | mean ms/step | median ms/step | beside bnnc | version |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for width in map(int, options.widths.split()):
            runs = [
                lambda: bnnc(options, width, folder),
                lambda: peer(options, "jax_step.py", width, []),
                lambda: peer(options, "torch_step.py", width, ["--compile"]),
            ]
            found = {}
            for _ in range(options.rounds):
                for report in filter(None, (run() for run in runs)):
                    found.setdefault(report["peer"], []).append(report)
            over = lambda reports, key: statistics.median(report[key] for report in reports)
            base = over(found["bnnc"], "mean_ms") if "bnnc" in found else float("nan")
            for name, reports in found.items():
                mean, median = over(reports, "mean_ms"), over(reports, "median_ms")
                print(f"| {width} | {name} | {mean:.3f} | {median:.3f} | {mean / base:.2f} | {reports[0]['version']} |")


if __name__ == "__main__":
    main()
