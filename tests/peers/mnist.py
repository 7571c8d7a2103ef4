"""What the peers share: arguments, MNIST from its IDX files, the order of batches, and the JSON report."""

import argparse
import gzip
import json
import os
import statistics

import numpy

WIDTHS = [784, 400, 400, 10]


def arguments():
    """The command line, the same for every peer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True, help="folder with MNIST's IDX files, plain or gzipped")
    parser.add_argument("--steps", type=int, default=300, help="timed steps")
    parser.add_argument("--warmup", type=int, default=30, help="steps before the timed ones")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile", action="store_true", help="torch only: through torch.compile")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--width", type=int, default=400, help="of both hidden layers")
    options = parser.parse_args()
    WIDTHS[1:3] = [options.width, options.width]
    return options


def pin(threads, device="cpu"):
    """Leaves the process as many processors as it may use threads, so that every thread pool has that size."""
    if device != "cpu":
        os.environ.setdefault("JAX_PLATFORMS", device)
        return
    processors = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, processors)
    for name in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"]:
        os.environ[name] = str(threads)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


def layer_shapes():
    """The weight and the bias of each layer."""
    return [((rows, columns), (columns,)) for rows, columns in zip(WIDTHS, WIDTHS[1:])]


def idx(folder, name):
    """One IDX file of unsigned bytes as an array."""
    path = os.path.join(folder, name)
    opened = open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz", "rb")
    with opened as file:
        content = file.read()
    rank = content[3]
    shape = numpy.frombuffer(content, ">i4", rank, 4)
    return numpy.frombuffer(content, numpy.uint8, offset=4 + 4 * rank).reshape(shape)


def read(folder):
    """The training images as rows of numbers in [0, 1], and their labels."""
    images = idx(folder, "train-images-idx3-ubyte")
    labels = idx(folder, "train-labels-idx1-ubyte")
    flat = images.reshape(len(images), -1).astype(numpy.float32) / numpy.float32(255)
    return flat, labels.astype(numpy.int32)


def batches(rows, options):
    """Row numbers of one full batch after another, in a new order each epoch."""
    generator = numpy.random.default_rng(options.seed)
    while True:
        order = generator.permutation(rows)
        for at in range(0, rows - options.batch + 1, options.batch):
            yield order[at : at + options.batch]


def report(peer, version, options, times, first_loss, last_loss, compile_seconds):
    """Prints the measurement as one JSON object."""
    milliseconds = [1000 * seconds for seconds in times]
    print(
        json.dumps(
            {
                "peer": peer,
                "version": version,
                "threads": options.threads,
                "batch": options.batch,
                "device": options.device,
                "width": options.width,
                "steps": len(times),
                "median_ms": statistics.median(milliseconds),
                "mean_ms": statistics.fmean(milliseconds),
                "compile_seconds": compile_seconds,
                "first_loss": first_loss,
                "last_loss": last_loss,
            }
        )
    )
