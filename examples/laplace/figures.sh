#!/usr/bin/env bash
# Makes the figures and tables of docs/src/results/subnetwork.md: ten minutes on two cores; all of MNIST takes another 40.
#
#   figures.sh [OUT] [MNIST]
#
# OUT is the folder for the results (default: this folder). MNIST is the folder with the files of MNIST; without it, the digits in this
# repository are rotated. The page has SEEDS=20 SPLITS=20 GAPS=11; the defaults run less.
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
  # A step applies to the sum over all rows: this one is 0.01 on their mean.
  files+=(--set 'swag.optimiser=SGD(1.7e-7, momentum = 0.9)')
fi
"$laplace" turned "${files[@]}" --svg "$out/turned.svg" | tee "$out/turned.md"
