#!/usr/bin/env bash
# Installs Java 17, which Spark needs, if it is missing (on Debian as root). Elsewhere it says how to install it.
set -euo pipefail
major() { java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1; }

found=$(command -v java >/dev/null 2>&1 && major || true)
if [ "${found:-0}" -lt 17 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing Java 17, which Spark needs."
  { apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1 || true
  found=$(command -v java >/dev/null 2>&1 && major || true)
fi
if [ "${found:-0}" -ge 17 ]; then
  echo "Java $found is here."
else
  echo "JAVA 17 OR NEWER IS MISSING: nothing can run on Spark. Install a JDK 17 and set JAVA_HOME or PATH." >&2
  [ "${CI:-}" != true ] || exit 1
fi
