"""A Monte-Carlo KL against its number of draws: graph nodes, memory and time per step of PyTorch and of bnnc, as a table.

Every measurement runs in a process of its own, so that one that needs too much memory says so and the others go on.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time

import mnist

NETWORKS = {"784-400-400-10": [784, 400, 400, 10], "784-(400)x9-10": [784] + [400] * 9 + [10]}
BATCH = 128
SPIKE = math.exp(-6)

# What a user of bnnc writes: the prior, the family, and which estimate of the KL is asked for.
PAIRS = {
    "normal-normal": ("Normal(0, 1)", "Normal(scale = 0.02)", "monte_carlo"),
    "normal-laplace": ("Laplace(0, 1)", "Normal(scale = 0.02)", "monte_carlo"),
    "normal-mixture": ("Mixture(0.5, Normal(0, 1), Normal(0, exp(-6)))", "Normal(scale = 0.02)", "monte_carlo"),
    "radial-normal": ("Normal(0, 1)", "Radial(scale = 0.02)", "monte_carlo"),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True, help="folder with MNIST's training images and labels")
    parser.add_argument("--bnnc", help="the command line of bnnc; without it only PyTorch is measured")
    parser.add_argument("--tools", nargs="+", default=["bnnc", "torch"], choices=["bnnc", "torch"])
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--pairs", nargs="+", default=list(PAIRS), choices=list(PAIRS))
    parser.add_argument("--draws", nargs="+", type=int, default=[1, 10, 100, 1000])
    parser.add_argument("--more-draws", nargs="*", type=int, default=[1_000_000], help="for bnnc alone")
    parser.add_argument("--steps", type=int, default=20, help="the most steps of one measurement")
    parser.add_argument("--seconds", type=float, default=60, help="the most time of one step; longer ones are left out")
    parser.add_argument("--budget", type=float, default=15, help="no further step of a measurement after this time")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--gigabytes", type=float, default=12, help="the memory of one measurement")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


# PyTorch, inside a process of its own.


def log_prior(torch, pair, w):
    """The log density of a weight tensor, summed, without constants."""
    if pair == "normal-laplace":
        return -w.abs().sum()
    if pair == "normal-mixture":
        return torch.logaddexp(-0.5 * w * w, -0.5 * (w / SPIKE) ** 2 - math.log(SPIKE)).sum()
    return -0.5 * (w * w).sum()


def draw(torch, pair, mean, scale):
    noise = torch.randn_like(mean)
    if pair.startswith("radial"):
        noise = noise / noise.norm() * torch.randn(())
    return torch.addcmul(mean, scale, noise)


def graph_nodes(result):
    """The nodes that backward visits."""
    seen, waiting = set(), [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    return len(seen)


class Network:
    def __init__(self, torch, options):
        self.torch, self.pair, self.draws = torch, options["pair"], options["draws"]
        torch.manual_seed(1)
        widths = options["widths"]
        shapes = [shape for pair in zip(widths, widths[1:]) for shape in (pair, pair[1:])]
        self.means = [(0.05 * torch.randn(shape)).requires_grad_() for shape in shapes]
        self.rhos = [torch.full(shape, -4.0).requires_grad_() for shape in shapes]

    def tensors(self):
        scales = [self.torch.nn.functional.softplus(rho) for rho in self.rhos]
        return list(zip(self.means, scales))

    def entropy(self, tensors):
        return sum(scale.log().sum() for _, scale in tensors)

    def one_draw(self, tensors):
        return sum(log_prior(self.torch, self.pair, draw(self.torch, self.pair, *both)) for both in tensors)

    def misfit(self, tensors, images, labels, rows):
        weights = [draw(self.torch, self.pair, *both) for both in tensors]
        hidden = images
        for layer in range(0, len(weights) - 2, 2):
            hidden = self.torch.relu(self.torch.addmm(weights[layer + 1], hidden, weights[layer]))
        logits = self.torch.addmm(weights[-1], hidden, weights[-2])
        loss = self.torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        return loss * (rows / images.shape[0])

    def direct(self, misfit):
        """One graph of all draws, then one backward; its nodes."""
        tensors = self.tensors()
        loss = -self.entropy(tensors)
        for _ in range(self.draws):
            loss = loss - self.one_draw(tensors) / self.draws
        if misfit is not None:
            loss = loss + misfit(tensors)
        nodes = graph_nodes(loss)
        loss.backward()
        return nodes

    def accumulate(self, misfit):
        """One backward per draw, whose gradients add up; the nodes of the largest graph."""
        tensors = self.tensors()
        loss = -self.entropy(tensors)
        if misfit is not None:
            loss = loss + misfit(tensors)
        nodes = graph_nodes(loss)
        loss.backward()
        for _ in range(self.draws):
            loss = -self.one_draw(self.tensors()) / self.draws
            nodes = max(nodes, graph_nodes(loss))
            loss.backward()
        return nodes


def measure_torch(options):
    """Prints nodes, peak bytes above what the process has before its first step, and seconds per step."""
    mnist.pin(options["threads"])
    import torch

    torch.set_num_threads(options["threads"])
    network = Network(torch, options)
    misfit = None
    if options["whole"]:
        images, labels = mnist.read(options["data"])
        rows = len(images)
        images = torch.from_numpy(images[:BATCH].copy())
        labels = torch.from_numpy(labels[:BATCH].copy()).long()

        def misfit(tensors):
            return network.misfit(tensors, images, labels, rows)

    optimiser = torch.optim.Adam(network.means + network.rhos, lr=1e-3, fused=True)
    run = network.direct if options["way"] == "direct" else network.accumulate
    # From here the kernel measures the peak anew: reading the images needed more than a step does.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = memory("VmRSS")
    limit = memory("VmData") + int(options["bytes"])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    times = []
    try:
        while len(times) < options["steps"] + 1 and sum(times) < options["budget"]:
            began = time.perf_counter()
            optimiser.zero_grad(set_to_none=True)
            nodes = run(misfit)
            optimiser.step()
            times.append(time.perf_counter() - began)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        print(json.dumps({"failed": "out of memory"}))
        return
    peak = memory("VmHWM")
    # The first step also fills caches and makes the optimiser's states.
    timed = times[1:] or times
    print(json.dumps({"nodes": nodes, "bytes": peak - before, "seconds": sum(timed) / len(timed)}))


def memory(what):
    """A line of the process's status, in bytes."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(what + ":"))
    return 1024 * int(line.split()[1])


def torch_row(options, way, whole, widths, pair, draws):
    measured = {
        "way": way,
        "whole": whole,
        "widths": widths,
        "pair": pair,
        "draws": draws,
        "data": options.data,
        "threads": options.threads,
        "steps": options.steps,
        "budget": options.budget,
        "bytes": options.gigabytes * 2**30,
    }
    command = [sys.executable, __file__, "--data", options.data, "--measure", json.dumps(measured)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        if done.returncode in (-9, 137) or "memory" in done.stderr:
            return {"failed": "out of memory"}
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


# bnnc, through its command line.


def program(options, widths, pair, draws, steps):
    prior, family, kl = PAIRS[pair]
    images, labels = (found(options.data, f"train-{part}-ubyte") for part in ("images-idx3", "labels-idx1"))
    layers = len(widths) - 1
    made = "\n".join(f"  h{at} = Dense({width}, prior = {prior})" for at, width in enumerate(widths[1:]))
    value = "x"
    for at in range(layers - 1):
        value = f"relu(h{at}({value}))"
    sites = ", ".join(f"h{at}.*" for at in range(layers))
    return f"""data mnist = idx("{images}", "{labels}") {{ scale = 1 / 255, limit = {BATCH * steps} }}
model Net(x: real[d]) -> digit: index(10) {{
{made}
  digit ~ Categorical(logits = h{layers - 1}({value}))
}}
posterior Q of Net {{ {sites} ~ {family} }}
infer fit = vi(Q, mnist) {{
  epochs = 1, batch = {BATCH}, draws = {draws}, kl = {kl}, optimiser = Adam(1e-3), predictive_draws = 1
}}
"""


def found(folder, name):
    plain = os.path.abspath(os.path.join(folder, name))
    return plain if os.path.exists(plain) else plain + ".gz"


def bnnc_row(options, widths, pair, draws, steps):
    """Without steps the program is only checked, which says its nodes and its memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "draws.bnn")
        with open(path, "w") as file:
            file.write(program(options, widths, pair, draws, max(steps, 1)))
        words = options.bnnc.split()
        checked = subprocess.run([*words, "check", path, "--json"], capture_output=True, text=True)
        if checked.returncode != 0:
            raise SystemExit(checked.stdout + checked.stderr)
        cost = json.loads(checked.stdout)["infer"]["fit"]
        row = {
            "nodes": cost["gradient_nodes"],
            "bytes": cost["peak_bytes"],
            "kl": next(iter(cost["kl"].values())).split(":")[0],
        }
        if cost["peak_bytes"] > options.gigabytes * 2**30:
            return {**row, "failed": "out of memory"}
        if steps == 0:
            return {**row, "failed": "too slow"}
        command = [*words, "run", path, "--json", "--threads", str(options.threads)]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds * (steps + 1))
        except subprocess.TimeoutExpired:
            return {**row, "failed": "too slow"}
        if ran.returncode != 0:
            raise SystemExit(ran.stdout + ran.stderr)
        fit = json.loads(ran.stdout)["infer"]["fit"]
        return {**row, "seconds": fit["seconds"]["fit"] / fit["diagnostics"]["steps"]}


# The table.


def cells(row):
    memory = f"{row['bytes'] / 1e6:.0f}" if "bytes" in row else ""
    seconds = f"{row['seconds']:.4f}" if "seconds" in row else row["failed"]
    return f"{row.get('nodes', '')} | {memory} | {seconds}"


def line(network, pair, tool, draws, row):
    family, prior = (name.capitalize() for name in pair.split("-"))
    print(f"| {network} | {family} ‖ {prior} | {tool} | {draws} | {cells(row)} |", flush=True)


def is_hopeless(earlier, draws, options):
    """Whether a time that grows with the draws would pass the limit."""
    if not earlier:
        return False
    fewer, row = earlier[-1]
    return "seconds" not in row or row["seconds"] * draws / fewer > options.seconds


def torch_lines(options, network, pair):
    widths = NETWORKS[network]
    for way in ("direct", "accumulate"):
        for whole in (False, True):
            tool = f"PyTorch, {way}, {'whole step' if whole else 'KL alone'}"
            earlier = []
            for draws in options.draws:
                if draws > 1 and is_hopeless(earlier, draws, options):
                    failed = earlier[-1][1].get("failed", "too slow")
                    row = {"failed": failed}
                else:
                    row = torch_row(options, way, whole, widths, pair, draws)
                earlier.append((draws, row))
                line(network, pair, tool, draws, row)


def bnnc_lines(options, network, pair):
    earlier = []
    for draws in options.draws + options.more_draws:
        timed = [(draws, row["seconds"]) for draws, row in earlier if "seconds" in row]
        # A time that does not grow with the draws says nothing about more of them.
        grows = len(timed) > 1 and timed[-1][1] > 2 * timed[-2][1]
        step = timed[-1][1] * draws / timed[-1][0] if grows else 0.1
        was_slow = bool(earlier) and earlier[-1][1].get("failed") == "too slow"
        is_slow = was_slow or step > options.seconds
        steps = 0 if is_slow else max(2, min(options.steps, int(options.budget / step)))
        row = bnnc_row(options, NETWORKS[network], pair, draws, steps)
        earlier.append((draws, row))
        line(network, pair, f"bnnc ({row['kl']}), whole step", draws, row)


def main():
    options = arguments()
    if options.measure:
        measure_torch(json.loads(options.measure))
        return
    print("| network | pair | tool | draws | graph nodes | peak MB | seconds per step |")
    print("|---|---|---|---:|---:|---:|---:|")
    for network in options.networks:
        for pair in options.pairs:
            if options.bnnc and "bnnc" in options.tools:
                bnnc_lines(options, network, pair)
            if "torch" in options.tools:
                torch_lines(options, network, pair)


if __name__ == "__main__":
    main()
