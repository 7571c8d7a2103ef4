"""One approximation by bnnc: a process of `bnnc run` with one infer."""

import csv
import json
import os
import resource
import shutil
import subprocess
import tempfile

import numpy
import side
import tasks

options = side.arguments()
with tempfile.TemporaryDirectory() as folder:
    # Files are named relative to the program.
    program = os.path.join(folder, f"{options.task}.bnn")
    shutil.copy(tasks.program(options.task), program)
    shutil.copy(tasks.weights(options.folder), folder)
    out = os.path.join(folder, "out")
    command = [options.bnnc, "run", program, "--only", options.structure, "--out", out, "--threads", str(options.cores)]
    command += ["--set", f"{options.structure}.precision={options.precision}", *tasks.data(options.task, options.mnist)]
    subprocess.run(command, check=True, capture_output=True)
    # In kibibytes; of children that have ended.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with open(os.path.join(out, "result.json")) as file:
        seconds = json.load(file)["infer"][options.structure]["seconds"]
    files = [name for name in os.listdir(out) if name.startswith("predictions") and name.endswith(".csv")]
    with open(os.path.join(out, files[0])) as file:
        rows = list(csv.DictReader(file))

if options.task == "arm":
    # The program states them in the units of the target.
    deviations = numpy.array([float(row["sd_epistemic"]) for row in rows])
    predictions = deviations / tasks.unit()
else:
    predictions = numpy.array([[float(row[f"p{digit}"]) for digit in range(10)] for row in rows])
side.report(options, predictions, megabytes=peak / 1024, **seconds)
