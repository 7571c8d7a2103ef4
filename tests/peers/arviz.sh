#!/usr/bin/env bash
# Runs sampled examples and opens everything that they write with ArviZ 1.x, xarray, cmdstanpy and pandas, and the Zarr stores with
# ArviZ 0.x too.
#
#   arviz.sh [--python PYTHON] [--before-1 PYTHON] [PROGRAM...]
#
# ArviZ 1.x needs Python 3.12 or later. Without --python an environment is made in a temporary folder and filled from PyPI.
# BNNC is the command line of bnnc; without it the release build is made and used. Without programs: those of
# examples/posteriors.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python= before= programs=()
while [ $# -gt 0 ]; do
  case $1 in
    --python) python=$2; shift 2 ;;
    --before-1) before=$2; shift 2 ;;
    -*) echo "usage: $0 [--python PYTHON] [--before-1 PYTHON] [PROGRAM...]" >&2; exit 2 ;;
    *) programs+=("$1"); shift ;;
  esac
done
[ ${#programs[@]} -gt 0 ] || programs=("$root"/examples/posteriors/*.bnn)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "$python" ]; then
  for candidate in python3.14 python3.13 python3.12 python3; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then break; fi
    candidate=
  done
  [ -n "$candidate" ] || { echo "ArviZ 1.x needs Python 3.12 or later: name one with --python" >&2; exit 2; }
  "$candidate" -m venv "$work/venv"
  "$work/venv/bin/pip" install -q 'arviz>=1,<2' zarr cmdstanpy pandas
  python=$work/venv/bin/python
fi
if [ -z "$before" ]; then
  "$python" -m venv "$work/before"
  "$work/before/bin/pip" install -q 'arviz<1' 'zarr>=3'
  before=$work/before/bin/python
fi

if [ -z "${BNNC:-}" ]; then
  (cd "$root" && cargo build --release -q -p bnnc)
  BNNC=${CARGO_TARGET_DIR:-$root/target}/release/bnnc
fi

folders=()
for program in "${programs[@]}"; do
  folder=$work/$(basename "$program" .bnn)
  "$BNNC" run "$program" --out "$folder" > "$folder.txt" 2>&1 || { cat "$folder.txt"; exit 1; }
  folders+=("$folder")
done
export PYTHONDONTWRITEBYTECODE=1
"$python" "$here/arviz_files.py" "${folders[@]}"
"$before" "$here/arviz_before_1.py" "${folders[@]}"
