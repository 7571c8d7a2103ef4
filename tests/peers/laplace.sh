#!/usr/bin/env bash
# Seconds and peak memory of Laplace approximations in bnnc and laplace-torch, at the same weights: a table in Markdown.
#
#   laplace.sh --mnist FOLDER [--python PYTHON] [options of laplace.py]
#
# FOLDER holds the files of MNIST. BNNC is the command line of bnnc; without it the release build is made and used. PYTHON is an
# interpreter that has laplace-torch and safetensors; without it they are installed into target/peers/laplace.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
name=laplace
packages() {
  "$python" -m pip install -q 'laplace-torch==0.3' 'safetensors==0.8.0'
}
. "$here/start.sh"
exec "$python" "$here/laplace.py" --bnnc "$BNNC" "${arguments[@]}"
