"""The networks, their data, and the approximations that both sides build."""

import gzip
import json
import os
import struct
import subprocess

import numpy
from safetensors.numpy import load_file, save_file

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "..", "examples")

# Of `subnetwork`, how many weights of the largest magnitude; none is the whole network or its last layer.
STRUCTURES = {
    "arm": {"full": None, "diagonal": None, "kronecker": None, "last": None, "subnetwork": 500},
    "digits": {"diagonal": None, "kronecker": None, "last": None, "subnetwork": 500},
}

# The layers in the order of the network, by the names of the programs.
LAYERS = {"arm": ["first", "second", "out"], "digits": ["hidden", "out"]}


def program(task):
    return os.path.join(HERE, f"{task}.bnn")


def data(task, mnist):
    """What `bnnc run` is told about the files."""
    if task == "arm":
        table = os.path.join(EXAMPLES, "kin8nm", "data", "kin8nm.csv.gz")
        splits = os.path.abspath(os.path.join(EXAMPLES, "kin8nm", "data", "splits.json"))
        return ["--data", f"arm={table}", "--set", f'arm.test=splits("{splits}")', "--set", "arm.split=0"]
    names = ["digits", "digits", "digits.test", "digits.test"]
    files = ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
    return [word for name, file in zip(names, files) for word in ("--data", f"{name}={os.path.join(mnist, file)}")]


def train(bnnc, task, mnist, folder):
    """Trains the network and keeps its weights under the names of the sites, the noise on its own scale."""
    out = os.path.join(folder, "trained")
    command = [bnnc, "run", program(task), "--only", "mode", "--out", out, *data(task, mnist)]
    subprocess.run(command, check=True, capture_output=True)
    sites = load_file(os.path.join(out, "posterior.safetensors"))
    sites = {name.removeprefix("mode/").removesuffix("/loc"): values for name, values in sites.items()}
    with open(os.path.join(out, "result.json")) as file:
        found = json.load(file)["infer"]["mode"]["parameters"]
    if "sigma" in sites:
        sites["sigma"] = numpy.array(found["sigma"]["mean"])
    save_file(sites, weights(folder))


def weights(folder):
    return os.path.join(folder, "weights.safetensors")


def idx(path):
    with gzip.open(path, "rb") as file:
        _, _, _, rank = struct.unpack(">BBBB", file.read(4))
        shape = struct.unpack(f">{rank}I", file.read(4 * rank))
        return numpy.frombuffer(file.read(), numpy.uint8).reshape(shape)


def arm():
    """The table of the robot arm, and the rows of the first split."""
    folder = os.path.join(EXAMPLES, "kin8nm", "data")
    with gzip.open(os.path.join(folder, "kin8nm.csv.gz"), "rt") as file:
        table = numpy.loadtxt(file, delimiter=",", skiprows=1)
    with open(os.path.join(folder, "splits.json")) as file:
        test = json.load(file)["test"][0]
    return table, numpy.setdiff1d(numpy.arange(len(table)), test), test


def unit():
    """What a standardised target of the arm is multiplied by."""
    table, train, _ = arm()
    return table[train, -1].std()


def arrays(task, mnist):
    """Inputs and targets to train on, and inputs to test on, as the programs prepare them."""
    if task == "arm":
        table, train, test = arm()
        table = (table - table[train].mean(0)) / table[train].std(0)
        return table[train, :-1], table[train, -1:], table[test, :-1]
    files = ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz"]
    x, y, test = (idx(os.path.join(mnist, file)) for file in files)
    rows = 10000
    return x[:rows].reshape(rows, -1) / 126, y[:rows].astype(numpy.int64), test.reshape(len(test), -1) / 126
