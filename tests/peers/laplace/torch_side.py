"""One approximation by laplace-torch."""

import resource
import time
import warnings

warnings.filterwarnings("ignore")

import side
import tasks
import torch
from laplace import Laplace
from laplace.utils import LargestMagnitudeSubnetMask
from safetensors.numpy import load_file
from torch.utils.data import DataLoader, TensorDataset

BATCH = 256
STRUCTURES = {"full": "full", "diagonal": "diag", "kronecker": "kron", "last": "full", "subnetwork": "full"}
SUBSETS = {"last": "last_layer", "subnetwork": "subnetwork"}


def network(layers, weights):
    parts = []
    for layer in layers:
        w, b = (torch.tensor(weights[f"{layer}.{part}"]).to(torch.get_default_dtype()) for part in "wb")
        linear = torch.nn.Linear(w.shape[1], w.shape[0])
        linear.weight.data, linear.bias.data = w, b
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


options = side.arguments()
torch.set_num_threads(options.cores)
torch.set_default_dtype({"f32": torch.float32, "f64": torch.float64}[options.precision])
weights = load_file(tasks.weights(options.folder))
model = network(tasks.LAYERS[options.task], weights)
inputs, targets, test = tasks.arrays(options.task, options.mnist)
real = lambda values: torch.tensor(values).to(torch.get_default_dtype())
regression = options.task == "arm"
rows = TensorDataset(real(inputs), real(targets) if regression else torch.tensor(targets))
settings = {"prior_precision": 1.0, "hessian_structure": STRUCTURES[options.structure]}
settings["subset_of_weights"] = SUBSETS.get(options.structure, "all")
if regression:
    settings["sigma_noise"] = float(weights["sigma"].reshape(()))

start = time.perf_counter()
if options.structure == "subnetwork":
    size = tasks.STRUCTURES[options.task]["subnetwork"]
    settings["subnetwork_indices"] = LargestMagnitudeSubnetMask(model, n_params_subnet=size).select()
approximation = Laplace(model, "regression" if regression else "classification", **settings)
approximation.fit(DataLoader(rows, batch_size=BATCH))
if STRUCTURES[options.structure] == "full":
    # Made at the first use, and part of the fit.
    approximation.posterior_covariance
fit = time.perf_counter() - start

start = time.perf_counter()
predictions = []
for chunk in real(test).split(BATCH):
    if regression:
        _, variance = approximation(chunk)
        predictions.append(variance.reshape(len(chunk)).sqrt())
    else:
        predictions.append(approximation(chunk, link_approx="probit"))
predictions = torch.cat([part.detach() for part in predictions])
predict = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
side.report(options, predictions.numpy(), compile=0.0, fit=fit, predict=predict, megabytes=peak / 1024)
