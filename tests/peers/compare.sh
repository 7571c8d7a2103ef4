#!/usr/bin/env bash
# One training step of a Bayesian network in bnnc, JAX and PyTorch, interleaved: ms/step and their ratios, medians over rounds.
#
#   compare.sh --data FOLDER [--rounds N] [--python PYTHON] [--steps N] [--compile]
#
# BNNC_STEP is the command of bnnc's side, run in the root of the repository. It prints bnnc's result object on standard
# output; ms/step is `seconds.fit / diagnostics.steps` of the first infer. Set it to an empty string to leave bnnc out.
# Its default trains examples/digits/mnist.bnn on the files of FOLDER for two epochs.
set -euo pipefail

data= rounds=5 python=python3 steps=300 compile=
while [ $# -gt 0 ]; do
  case $1 in
    --data) data=$(realpath "$2"); shift 2 ;;
    --rounds) rounds=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    --steps) steps=$2; shift 2 ;;
    --compile) compile=--compile; shift ;;
    *) echo "unknown argument: $1" >&2; exit 2 ;;
  esac
done
[ -n "$data" ] || { echo "usage: $0 --data FOLDER [--rounds N] [--python PYTHON] [--steps N] [--compile]" >&2; exit 2; }

here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
images=$(ls "$data"/train-images-idx3-ubyte* | head -n 1)
labels=$(ls "$data"/train-labels-idx1-ubyte* | head -n 1)
settings="--set fit.epochs=2 --set fit.optimiser='Adam(1e-3)' --set fit.schedule=constant --set 'mnist.test=fraction(0.01)'"
BNNC_STEP=${BNNC_STEP-"cargo run --release -q -p bnnc -- run examples/digits/mnist.bnn --json --threads 2 --only fit \
  --data mnist='$images' --data mnist='$labels' $settings"}
export PYTHONDONTWRITEBYTECODE=1

results=$(mktemp)
trap 'rm -f "$results"' EXIT

bnnc_step() {
  bash -c "$BNNC_STEP" | "$python" -c '
import json, sys
infer = next(iter(json.load(sys.stdin)["infer"].values()))
ms = 1000 * infer["seconds"]["fit"] / infer["diagnostics"]["steps"]
print(json.dumps({"peer": "bnnc", "mean_ms": ms, "steps": infer["diagnostics"]["steps"]}))'
}

for round in $(seq "$rounds"); do
  echo "round $round of $rounds" >&2
  if [ -n "$BNNC_STEP" ]; then bnnc_step | tee -a "$results" >&2; fi
  "$python" "$here/jax_step.py" --data "$data" --steps "$steps" | tee -a "$results" >&2
  "$python" "$here/torch_step.py" --data "$data" --steps "$steps" $compile | tee -a "$results" >&2
done

"$python" - "$results" <<'PYTHON'
import json, statistics, sys

results = [json.loads(line) for line in open(sys.argv[1])]


def over_rounds(key):
    """The median over the rounds, per peer. bnnc states its mean only."""
    values = {}
    for result in results:
        values.setdefault(result["peer"], []).append(result.get(key, result["mean_ms"]))
    return {peer: statistics.median(of) for peer, of in values.items()}


medians, means = over_rounds("median_ms"), over_rounds("mean_ms")
base = medians.get("bnnc")
for peer, median in medians.items():
    ratios = f"  {median / base:6.2f} x and {means[peer] / base:6.2f} x bnnc's mean" if base else ""
    print(f"{peer:15} median {median:8.2f}  mean {means[peer]:8.2f} ms/step{ratios}")
PYTHON
