#!/usr/bin/env bash
# Prints a Python of a supported version that can make virtual environments; PYTHON names one.
set -euo pipefail
supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))'

for python in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
  "$python" -c "$supported" 2>/dev/null || continue
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "$python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2
    exit 1
  fi
  echo "$python"
  exit
done
echo "No Python 3.11 to 3.13 found${PYTHON:+ under the name $PYTHON}. On Debian 12 and later: apt install python3 python3-venv" >&2
exit 1
