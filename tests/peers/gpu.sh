#!/usr/bin/env bash
# One training step of a Bayesian network on the GPU of this machine in bnnc, JAX and PyTorch (compiled), interleaved.
#
#   gpu.sh --data FOLDER [--rounds N] [--steps N] [--widths "400 4096"] [--python PYTHON]
#
# FOLDER holds MNIST's IDX files. The networks are 784-WIDTH-WIDTH-10. PYTHON needs numpy, torch and jax[cuda12]; BNNC is a build with the
# backend `cuda`. Prints a table in Markdown, from gpu.py; then, where BNNC_MLIR_WORKER names a worker, another of Cholesky factors and
# triangular systems, from which the sizes can be read from which on cuBLAS pays.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
name=gpu
packages() { "$python" -m pip install -q numpy torch 'jax[cuda12]'; }
if [ -z "${BNNC:-}" ]; then
  (cd "$here/../.." && cargo build --release -q -p bnnc --features mlir,cuda)
  BNNC=${CARGO_TARGET_DIR:-$here/../../target}/release/bnnc
fi
. "$here/start.sh"
"$python" "$here/gpu.py" --bnnc "$BNNC" --root "$here/../.." "${arguments[@]}"
[ -z "${BNNC_MLIR_WORKER:-}" ] ||
  (BNNC_MLIR_WORKER=$(realpath "$BNNC_MLIR_WORKER") && export BNNC_MLIR_WORKER && cd "$here/../.." &&
    cargo bench -q -p bnnc-tests --features cuda-tests --bench systems)
