#!/usr/bin/env bash
# Seconds and peak memory of Laplace approximations in bnnc and laplace-torch, at the same weights: a table in Markdown.
#
#   laplace.sh --mnist FOLDER [--python PYTHON] [options of laplace.py]
#
# FOLDER holds the files of MNIST. BNNC is the command line of bnnc; without it the release build is made and used. PYTHON is an
# interpreter that has laplace-torch and safetensors; without it they are installed into target/peers/laplace.
set -euo pipefail

python=
arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --python) python=$2; shift 2 ;;
    *) arguments+=("$1"); shift ;;
  esac
done

here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}
if [ -z "$python" ]; then
  python=$target/peers/laplace/bin/python
  if [ ! -x "$python" ]; then
    python3 -m venv "$target/peers/laplace"
    "$python" -m pip install -q 'laplace-torch==0.3' 'safetensors==0.8.0'
  fi
fi
if [ -z "${BNNC:-}" ]; then
  (cd "$here/../.." && cargo build --release -q -p bnnc)
  BNNC=$target/release/bnnc
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/laplace.py" --bnnc "$BNNC" "${arguments[@]}"
