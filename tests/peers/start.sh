# What the scripts beside begin with; they set `name` and `packages`, and say what PYTHON needs.
#
# Takes `--python PYTHON` out of the arguments; without it the packages are installed into target/peers/NAME. BNNC is the command line of bnnc;
# without it the release build is made. Leaves `python`, `arguments` and BNNC.
python=
arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --python) python=$2; shift 2 ;;
    *) arguments+=("$1"); shift ;;
  esac
done

target=${CARGO_TARGET_DIR:-$here/../../target}
if [ -z "$python" ]; then
  python=$target/peers/$name/bin/python
  if [ ! -x "$python" ]; then
    python3 -m venv "$target/peers/$name"
    packages
  fi
fi
if [ -z "${BNNC:-}" ]; then
  (cd "$here/../.." && cargo build --release -q -p bnnc)
  BNNC=$target/release/bnnc
fi
export PYTHONDONTWRITEBYTECODE=1
