"""One training step of a mean-field Bayesian network in PyTorch: steady-state milliseconds per step, as JSON."""

import time

import mnist

arguments = mnist.arguments()
mnist.pin(arguments.threads, arguments.device)

import torch  # noqa: E402  (the processors are pinned before its thread pools exist)
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(arguments.threads)


def loss(means, rhos, noises, images, labels, rows):
    """The negative evidence lower bound of the whole data set, estimated from one batch and one weight sample."""
    scales = [F.softplus(rho) for rho in rhos]
    weights = [torch.addcmul(mean, scale, noise) for mean, scale, noise in zip(means, scales, noises)]
    hidden = images
    for layer in range(0, len(weights) - 2, 2):
        hidden = torch.relu(torch.addmm(weights[layer + 1], hidden, weights[layer]))
    logits = torch.addmm(weights[-1], hidden, weights[-2])
    misfit = F.cross_entropy(logits, labels, reduction="sum") * (rows / images.shape[0])
    divergence = sum(
        (0.5 * (scale * scale + mean * mean - 1.0) - scale.log()).sum() for mean, scale in zip(means, scales)
    )
    return misfit + divergence


def main():
    images, labels = mnist.read(arguments.data)
    rows = images.shape[0]
    device = torch.device(arguments.device)
    images, labels = torch.from_numpy(images).to(device), torch.from_numpy(labels).long().to(device)
    torch.manual_seed(arguments.seed)
    shapes = [shape for layer in mnist.layer_shapes() for shape in layer]
    means = [(0.1 * torch.randn(shape, device=device)).requires_grad_() for shape in shapes]
    rhos = [torch.full(shape, -3.0, device=device).requires_grad_() for shape in shapes]
    optimiser = torch.optim.Adam(means + rhos, lr=1e-3, fused=True)
    objective = torch.compile(loss) if arguments.compile else loss

    def step(index):
        optimiser.zero_grad(set_to_none=True)
        noises = [torch.randn_like(mean) for mean in means]
        value = objective(means, rhos, noises, images[index], labels[index], rows)
        value.backward()
        optimiser.step()
        return value.item()

    batches = mnist.batches(rows, arguments)
    began = time.perf_counter()
    first = step(torch.from_numpy(next(batches)).to(device))
    first_seconds = time.perf_counter() - began

    times, value = [], first
    for at in range(arguments.warmup + arguments.steps):
        index = torch.from_numpy(next(batches))
        began = time.perf_counter()
        value = step(index.to(device))
        if at >= arguments.warmup:
            times.append(time.perf_counter() - began)
    name = "torch-compiled" if arguments.compile else "torch"
    mnist.report(name, torch.__version__, arguments, times, first, value, first_seconds)


if __name__ == "__main__":
    main()
