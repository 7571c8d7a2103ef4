"""One training step of a mean-field Bayesian network in JAX: steady-state milliseconds per step, as JSON."""

import time

import mnist

arguments = mnist.arguments()
mnist.pin(arguments.threads, arguments.device)

import jax  # noqa: E402  (the processors are pinned before its thread pools exist)
import jax.numpy as jnp  # noqa: E402

if arguments.device != "cpu":
    # Products in full single precision, as the others compute them: the default on recent devices is less.
    jax.config.update("jax_default_matmul_precision", "highest")

LEARNING_RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def start(key):
    """Means near zero and scales of softplus(-3), for each tensor of the network."""
    shapes = [shape for layer in mnist.layer_shapes() for shape in layer]
    keys = jax.random.split(key, len(shapes))
    means = [0.1 * jax.random.normal(k, shape, jnp.float32) for k, shape in zip(keys, shapes)]
    return {"mean": means, "rho": [jnp.full(shape, -3.0, jnp.float32) for shape in shapes]}


def kl(mean, scale):
    """The KL from N(mean, scale) to N(0, 1), exact."""
    return jnp.sum(0.5 * (scale**2 + mean**2 - 1.0) - jnp.log(scale))


def loss(parameters, key, images, labels, rows):
    """The negative evidence lower bound of the whole data set, estimated from one batch and one weight sample."""
    scales = [jax.nn.softplus(rho) for rho in parameters["rho"]]
    keys = jax.random.split(key, len(scales))
    weights = [
        mean + scale * jax.random.normal(k, mean.shape, jnp.float32)
        for k, mean, scale in zip(keys, parameters["mean"], scales)
    ]
    hidden = images
    for layer in range(0, len(weights) - 2, 2):
        hidden = jax.nn.relu(hidden @ weights[layer] + weights[layer + 1])
    logits = hidden @ weights[-2] + weights[-1]
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    divergence = sum(kl(mean, scale) for mean, scale in zip(parameters["mean"], scales))
    return -picked.sum() * (rows / images.shape[0]) + divergence


def adam(parameters, gradient, first, second, count):
    """One step of Adam over the whole tree."""
    first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, gradient)
    second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, second, gradient)
    bias1, bias2 = 1 - BETA1**count, 1 - BETA2**count

    def move(p, m, v):
        return p - LEARNING_RATE * (m / bias1) / (jnp.sqrt(v / bias2) + EPSILON)

    return jax.tree.map(move, parameters, first, second), first, second


def main():
    images, labels = mnist.read(arguments.data)
    rows = images.shape[0]
    images, labels = jnp.asarray(images), jnp.asarray(labels)

    def step(state, key, index):
        parameters, first, second, count = state
        noise = jax.random.fold_in(key, count)
        value, gradient = jax.value_and_grad(loss)(parameters, noise, images[index], labels[index], rows)
        count = count + 1
        parameters, first, second = adam(parameters, gradient, first, second, count.astype(jnp.float32))
        return (parameters, first, second, count), value

    key = jax.random.key(arguments.seed)
    parameters = start(key)
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    state = (parameters, zeros, jax.tree.map(jnp.zeros_like, parameters), jnp.int32(0))
    batches = mnist.batches(rows, arguments)

    began = time.perf_counter()
    compiled = jax.jit(step, donate_argnums=0).lower(state, key, next(batches)).compile()
    compile_seconds = time.perf_counter() - began

    times, losses = [], []
    for at in range(arguments.warmup + arguments.steps):
        index = next(batches)
        began = time.perf_counter()
        state, value = compiled(state, key, index)
        value.block_until_ready()
        if at >= arguments.warmup:
            times.append(time.perf_counter() - began)
        losses.append(value)
    mnist.report("jax", jax.__version__, arguments, times, float(losses[0]), float(losses[-1]), compile_seconds)


if __name__ == "__main__":
    main()
