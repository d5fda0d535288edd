#!/usr/bin/env bash
# Makes, or brings up to date, a virtual environment with one version of Triton, and stamps it.
#   tools/make_environment.sh .venv-3.6.0 3.6.0
set -euo pipefail
folder=$1 triton=$2
here=$(dirname "$0")
say() { printf '== %s: %s\n' "$folder" "$*"; }
# Most modules are never imported: each is compiled when it is.
install() { "$folder/bin/python" -m pip install -qq --no-compile --no-input --disable-pip-version-check "$@"; }
# What the package and these extras of it need.
requirements() {
  "$folder/bin/python" - "$@" <<'END'
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
print(*project["dependencies"], *sum((project["optional-dependencies"][extra] for extra in sys.argv[1:]), []), sep="\n")
END
}

# Prints an environment that is up to date and has the packages that this one will have.
ready_one() {
  for stamp in .venv-[0-9]*/.ready; do
    if [ "$stamp" -nt pyproject.toml ] && [ "$stamp" -nt "$0" ]; then
      dirname "$stamp"
      return
    fi
  done
}
# All but Triton is the same in two environments, and 4 GB need neither be fetched nor lie on the disk twice: files are
# hard links where the file system has them. pip replaces files and never writes into one.
take_packages() {
  local packages
  packages=$(cd "$1" && echo lib/python*/site-packages)
  [ -d "$folder/$packages" ] || return 0 # of another Python
  say "the packages of $1"
  rm -rf "${folder:?}/$packages"
  cp -al "$1/$packages" "$folder/$packages" 2>/dev/null || cp -a "$1/$packages" "$folder/"lib/python*/
  find "$folder/$packages" -name __pycache__ -prune -exec rm -rf {} + # they name the other environment's files
  for program in "$1"/bin/*; do
    [ -e "$folder/bin/${program##*/}" ] && continue
    cp -a "$program" "$folder/bin/"
    if grep -Iq . "$program"; then sed -i "s|$PWD/$1/|$PWD/$folder/|" "$folder/bin/${program##*/}"; fi
  done
}

if ! "$folder/bin/python" -c '' 2>/dev/null; then
  python=$("$here/find_python.sh")
  other=$(ready_one)
  say "a new environment of $("$python" --version)"
  "$python" -m venv --clear "$folder"
  if [ -n "$other" ]; then take_packages "$other"; fi
fi

# First, and by its exact version: as a dependency of something else another build of torch would be chosen.
say "torch 2.13.0 (the largest download)"
install torch==2.13.0
say "Triton $triton, clang, CUDA headers, MLIR, LLVM, TileLang, cuTile, CuPy and Numba as wheels, and the tools of the tests"
needed=$(requirements cuda cpu cupy cutile dev numba tilelang)
install "triton==$triton" -r <(echo "$needed")
say "this checkout"
{
  flock 9 # two environments are made at a time, and to build what is installed writes into the checkout
  install --no-deps -e .
  # Left by builds of before; lying next to the package it would be asked for its entry points first.
  rm -rf tle_raw.egg-info
} 9<"$here"
say "ready: $("$folder/bin/python" -c 'import triton; print("Triton", triton.__version__)')"
touch "$folder/.ready"
