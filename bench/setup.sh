#!/usr/bin/env bash
# Prepares what the benchmark runs in: .venv-bench (lakebed, deltalake, pyiceberg, pyspark) and a venv for pypaimon. Both are
# git-ignored. Idempotent: a venv is rebuilt only when its requirements file changed. The interop tests' pypaimon venv
# serves as well, so it is used when it is there.
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
