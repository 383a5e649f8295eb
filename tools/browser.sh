#!/usr/bin/env bash
# Installs Chromium, which the tests of the dashboard need, if it is missing (on Debian as root). Elsewhere it says how.
set -euo pipefail
find_browser() {
  local name
  for name in chromium chromium-browser google-chrome-stable google-chrome; do
    command -v "$name" 2>/dev/null && return
  done
}

found=${LAKEBED_BROWSER:-$(find_browser || true)}
if [ -z "$found" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing Chromium, which the dashboard's tests need."
  { apt-get update && apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 || true
  found=$(find_browser || true)
fi
if [ -n "$found" ] && version=$("$found" --version 2>/dev/null); then
  echo "$version is here."
else
  echo "CHROMIUM IS MISSING: the tests of the dashboard cannot run. Install it, or set LAKEBED_BROWSER to its path." >&2
  [ "${CI:-}" != true ] || exit 1
fi
