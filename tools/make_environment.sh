#!/usr/bin/env bash
# Makes, or brings up to date, a virtual environment with one version of Triton, and stamps it.
#   tools/make_environment.sh .venv-3.6.0 3.6.0
set -euo pipefail
folder=$1 triton=$2
here=$(dirname "$0")
say() { printf '== %s: %s\n' "$folder" "$*"; }
# Most modules are never imported: each is compiled when it is.
install() { "$folder/bin/python" -m pip install -qq --no-compile --no-input --disable-pip-version-check "$@"; }

if ! "$folder/bin/python" -c '' 2>/dev/null; then
  python=$("$here/find_python.sh")
  say "a new environment of $("$python" --version)"
  "$python" -m venv --clear "$folder"
fi

# First, and by its exact version: as a dependency of something else another build of torch would be chosen.
say "torch 2.13.0 (the largest download)"
install torch==2.13.0
say "Triton $triton, clang, CUDA headers, MLIR, LLVM, TileLang, cuTile, CuPy and Numba as wheels, this checkout, and the tools of the tests"
install "triton==$triton" -e ".[cuda,cpu,cupy,cutile,dev,numba,tilelang]"
say "ready: $("$folder/bin/python" -c 'import triton; print("Triton", triton.__version__)')"
# Left by builds of before; lying next to the package it would be asked for its entry points first.
rm -rf tle_raw.egg-info
touch "$folder/.ready"
