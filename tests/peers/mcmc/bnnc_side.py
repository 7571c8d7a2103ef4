"""bnnc's side of one measurement, through its command line: what a user runs, from the program's text to the draws on disk."""

import json
import os
import resource
import shutil
import subprocess
import time

import numpy
import zarr

import posteriors
import side

NETWORK = {"w1": "hidden.w", "b1": "hidden.b", "w2": "out.w", "b2": "out.b", "sigma": "sigma"}


def program(name):
    if name == "yacht":
        return os.path.join(os.path.dirname(os.path.abspath(__file__)), "yacht.bnn")
    return os.path.join(posteriors.EXAMPLES, f"{name}.bnn")


def settings(options):
    """The infer's options. Predictions and their scores are no part of what is compared: one draw is all they take."""
    numbers = {"chains": options.chains, "warmup": options.warmup, "draws": options.draws, "predictive_draws": 1}
    return [word for name, number in numbers.items() for word in ("--set", f"gold.{name}={number}")]


def named(posterior, draws):
    """The draws under the names that all sides use."""
    if posterior == "yacht":
        draws = {name: draws[site] for name, site in NETWORK.items()}
        chains, kept = draws["sigma"].shape
        return {**draws, "w2": draws["w2"].reshape(chains, kept, -1), "b2": draws["b2"].reshape(chains, kept)}
    if posterior == "nes-logit":
        return {"alpha": draws["alpha"], "beta": draws["beta"].reshape(draws["alpha"].shape)}
    if posterior == "ar5":
        return {"beta": numpy.concatenate([draws["alpha"][..., None], draws["beta"]], -1), "sigma": draws["sigma"]}
    return draws


def main():
    options, _ = side.start()
    folder = f"{options.out}.bnnc"
    shutil.rmtree(folder, ignore_errors=True)
    command = [*options.bnnc.split(), "run", program(options.posterior), "--json", "--out", folder]
    command += ["--threads", str(options.cores), "--seed", str(options.seed), *settings(options)]
    started = time.time()
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    ended = time.time()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(done.stdout)["infer"]["gold"]
    groups = zarr.open(os.path.join(folder, "posterior.zarr"), mode="r")
    sites = groups["posterior"].arrays()
    draws = {name: numpy.asarray(values) for name, values in sites if name not in ("chain", "draw") and "_dim_" not in name}
    statistics = groups["sample_stats"]
    seconds = result["seconds"]
    side.finish(
        options,
        named(options.posterior, draws),
        {
            # What Python does here is no part of bnnc: its executable starts by itself.
            "import": 0.0,
            "compile": seconds["compile"],
            "sample": seconds["fit"],
            "sample_cpu": usage.ru_utime + usage.ru_stime,
            "total": ended - started,
            "gradients": int(numpy.asarray(statistics["n_steps"]).sum()),
            "divergences": int(numpy.asarray(statistics["diverging"]).sum()),
        },
    )


if __name__ == "__main__":
    main()
