#!/usr/bin/env bash
# Effective samples per second and time to the first draw of NUTS in bnnc, NumPyro, nutpie and Stan: tables in Markdown.
#
#   mcmc.sh [--python PYTHON] [options of mcmc.py]
#
# BNNC is the command line of bnnc; without it the release build is made and used. PYTHON is an interpreter that has the peers;
# without it they are installed into target/peers/mcmc. Stan needs g++.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
name=mcmc
packages() {
  "$python" -m pip install -q 'numpyro==0.22.0' 'jax[cpu]==0.10.2' 'nutpie==0.16.8' 'pymc==5.28.5' 'numba==0.65.1' \
    'httpstan==4.13.0' 'arviz==0.23.4' 'safetensors==0.8.0' 'zarr==3.1.6'
}
. "$here/start.sh"
exec "$python" "$here/mcmc.py" --bnnc "$BNNC" "${arguments[@]}"
