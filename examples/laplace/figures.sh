#!/usr/bin/env bash
# All pictures and tables of Laplace approximations in examples/README.md: some ten minutes on two cores, the digits of MNIST as many again.
#
#   figures.sh [OUT] [MNIST]
#
# OUT is where they go (this folder, unless it is given); MNIST is the folder with the files of MNIST, without which the digits in this
# repository are turned. SEEDS and SPLITS say how much is run: `SEEDS=20 SPLITS=20 GAPS=11 figures.sh`.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
mkdir -p "$out"
cd "$here/../.."
cargo build --release -q -p bnnc --example laplace
laplace=${CARGO_TARGET_DIR:-target}/release/examples/laplace

"$laplace" toy "${SEEDS:-20}" --svg "$out/toy.svg" | tee "$out/toy.md"
for table in wine kin8nm; do
  "$laplace" sizes $table standard "${SPLITS:-3}" --svg "$out/$table-standard.svg" | tee "$out/$table-standard.md"
  "$laplace" sizes $table gap "${GAPS:-3}" --svg "$out/$table-gap.svg" | tee "$out/$table-gap.md"
done
files=()
if [ -n "${2:-}" ]; then
  for pair in digits=train-images-idx3 digits=train-labels-idx1 digits.test=t10k-images-idx3 digits.test=t10k-labels-idx1; do
    files+=(--data "${pair%%=*}=$2/${pair#*=}-ubyte.gz")
  done
  # A step is on the sum over all rows: this one is 0.01 on their mean.
  files+=(--set 'swag.optimiser=SGD(1.7e-7, momentum = 0.9)')
fi
"$laplace" turned "${files[@]}" --svg "$out/turned.svg" | tee "$out/turned.md"
