#!/usr/bin/env bash
# Effective samples per second and time to the first draw of NUTS in bnnc, NumPyro, nutpie and Stan: tables in Markdown.
#
#   mcmc.sh [--python PYTHON] [options of mcmc.py]
#
# BNNC is the command line of bnnc; without it the release build is made and used. PYTHON is an interpreter that has the peers;
# without it they are installed into target/peers/mcmc. Stan needs g++.
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
  python=$target/peers/mcmc/bin/python
  if [ ! -x "$python" ]; then
    python3 -m venv "$target/peers/mcmc"
    "$python" -m pip install -q 'numpyro==0.22.0' 'jax[cpu]==0.10.2' 'nutpie==0.16.8' 'pymc==5.28.5' 'numba==0.65.1' \
      'httpstan==4.13.0' 'arviz==0.23.4' 'safetensors==0.8.0' 'zarr==3.1.6'
  fi
fi
if [ -z "${BNNC:-}" ]; then
  (cd "$here/../.." && cargo build --release -q -p bnnc)
  BNNC=$target/release/bnnc
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/mcmc.py" --bnnc "$BNNC" "${arguments[@]}"
