#!/usr/bin/env bash
# Creates the environments of the benchmarks: .venv-bench (lakebed, deltalake, pyiceberg, pyspark) and one for pypaimon.
# Both are git-ignored. A venv is rebuilt only if its requirements file changed. The pypaimon venv of the interop tests
# is used if it exists.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"

# build_venv FOLDER REQUIREMENTS [MORE PIP ARGUMENTS]
build_venv() {
  local venv="$1" requirements="$2"
  shift 2
  if [ -x "$venv/bin/python" ] && cmp -s "$requirements" "$venv/requirements.stamp"; then return; fi
  echo "bench: building $venv"
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
  if [ "$#" -gt 0 ]; then "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; fi
  cp "$requirements" "$venv/requirements.stamp"
}

build_venv .venv-bench bench/requirements.txt --no-deps --editable .
if ! .interop/pypaimon-venv/bin/python -c "import pypaimon" 2>/dev/null; then
  build_venv .venv-bench-pypaimon bench/pypaimon-requirements.txt
fi
