#!/usr/bin/env bash
# Nodes, memory and seconds per step of a Monte-Carlo KL against its number of draws, in bnnc and in PyTorch: a table in Markdown.
#
#   kl_draws.sh --data FOLDER [--python PYTHON] [options of kl_draws.py]
#
# BNNC is the command line of bnnc; without it the release build is made and used.
set -euo pipefail

python=python3
arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --python) python=$2; shift 2 ;;
    *) arguments+=("$1"); shift ;;
  esac
done

here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${BNNC:-}" ]; then
  (cd "$here/../.." && cargo build --release -q -p bnnc)
  BNNC=${CARGO_TARGET_DIR:-$here/../../target}/release/bnnc
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/kl_draws.py" --bnnc "$BNNC" "${arguments[@]}"
