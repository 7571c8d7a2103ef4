#!/usr/bin/env bash
# Seconds and values of weighted model integrals in bnnc, wmpy with LattE and pywmi's PyXADD, on the same instances: a table in Markdown.
#
#   wmi.sh [--python PYTHON] [options of wmi/compare.py]
#
# BNNC is the command line of bnnc; without it the release build is made and used. PYTHON is an interpreter that has wmpy, pywmi, LattE and what
# they need; without it they are installed into target/peers/wmi. wmpy and pywmi come from their repositories (WMPY and PYWMI say from where else),
# without what pywmi asks for, since its list cannot be installed; the others come from PyPI.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
name=wmi
packages() {
  "$python" -m pip install -q 'passagemath-latte-4ti2==10.8.13' passagemath-cddlib 'pysmt>=0.9.7.dev333' 'z3-solver==5.4.0.0' 'sympy==1.14.0' \
    numpy scipy networkx matplotlib graphviz tabulate polytope antlr4-python3-runtime sortedcollections deprecated pysdd
  "$python" -m pip install -q --no-deps "${WMPY:-git+https://github.com/unitn-sml/wmpy@80282a9}" \
    "${PYWMI:-git+https://github.com/weighted-model-integration/pywmi@727ba1b}"
}
. "$here/start.sh"
exec "$python" "$here/wmi/compare.py" --bnnc "$BNNC" ${arguments[@]+"${arguments[@]}"}
