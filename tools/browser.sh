#!/usr/bin/env bash
# Sees to it that Chromium is here, which the dashboard's tests drive: installs it where it may (Debian, as root), else says how.
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
  echo "NO CHROMIUM HERE: the dashboard's tests will not run. Install Chromium, or set LAKEBED_BROWSER to a browser of its kind." >&2
  [ "${CI:-}" != true ] || exit 1
fi
