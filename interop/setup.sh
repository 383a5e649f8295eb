#!/usr/bin/env bash
# Prepares the interop oracles under .interop/ (git-ignored). Idempotent; does nothing when all is in place.
# What it leaves: .interop/pypaimon-venv, .interop/java-venv, .interop/jars, and a stamp per part.
# Without Java or Maven it prints one loud line and leaves out the Java part. In CI (CI=true) it fails.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"
home=.interop
mkdir -p "$home/jars"

# build_venv NAME REQUIREMENTS: a venv that matches its requirements file, rebuilt only when the file changed.
build_venv() {
  local venv="$home/$1-venv" requirements="interop/$1-requirements.txt"
  if [ -x "$venv/bin/python" ] && cmp -s "$requirements" "$venv/requirements.stamp"; then return; fi
  echo "interop: building $venv"
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
  cp "$requirements" "$venv/requirements.stamp"
}

no_java() {
  echo "INTEROP: !!!!! THE JAVA PART WILL NOT RUN: $1 !!!!!"
  rm -f "$home/java-ready"
  [ "${CI:-}" != true ] || exit 1
  exit 0
}

have() { command -v "$1" >/dev/null 2>&1; }

build_venv pypaimon

if ! have java || ! have mvn; then
  if [ "$(id -u)" = 0 ] && have apt-get; then
    echo "interop: installing Java 17 and Maven"
    { apt-get update && apt-get install -y --no-install-recommends openjdk-17-jdk-headless maven; } \
      >"$home/apt.log" 2>&1 || true
  fi
fi
have java || no_java "no java (17 or newer) on this machine"
major=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1)
[ "${major:-0}" -ge 17 ] || no_java "java ${major:-unknown} is too old, 17 or newer is needed"

artifacts=$(grep -v '^#' interop/java-artifacts.txt)
for artifact in $artifacts; do
  IFS=: read -r _ name version <<<"$artifact"
  [ -s "$home/jars/$name-$version.jar" ] && continue
  have mvn || no_java "no mvn to fetch $name with"
  echo "interop: fetching $name $version"
  mvn -B -q dependency:copy -Dartifact="$artifact" -DoutputDirectory="$PWD/$home/jars" >"$home/mvn.log" 2>&1 \
    || no_java "mvn could not fetch $artifact (see $home/mvn.log)"
done
build_venv java
touch "$home/java-ready"
