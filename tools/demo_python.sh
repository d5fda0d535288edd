#!/usr/bin/env bash
# Prints the Python that runs the demo, and makes its environment when needed.
#   tools/demo_python.sh 3.6.0
# Where python3 already has torch, a supported Triton and a CUDA device, they are used as they are: a torch that works
# with this machine's driver is better than a new one. Otherwise it is the environment of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
triton=$1 folder=.venv-demo
has_device='
import sys, torch, triton
version = tuple(int(n) for n in triton.__version__.split(".")[:2])
sys.exit(not (torch.cuda.is_available() and (3, 6) <= version < (3, 10)))'

if ! python=$(tools/find_python.sh) || ! "$python" -c "$has_device" >/dev/null 2>&1; then
  make --silent --no-print-directory ".venv-$triton/.ready" >&2
  echo ".venv-$triton/bin/python"
  exit
fi
if [ ! "$folder/.ready" -nt pyproject.toml ]; then
  echo "== $folder: a new environment over the torch and Triton of $python, which see a GPU" >&2
  "$python" -m venv --clear "$folder"
  # A .pth file and not --system-site-packages, which looks past a virtual environment that python3 itself may be in.
  "$python" -c 'import sys; print(*(p for p in sys.path if p.endswith("-packages")), sep="\n")' \
    >"$(echo "$folder"/lib/python*/site-packages)/host.pth"
  echo "== $folder: clang, CUDA headers, MLIR and LLVM as wheels, and this checkout" >&2
  "$folder/bin/python" -m pip install -qq --no-input --disable-pip-version-check -e ".[cuda,cpu]" >&2
  touch "$folder/.ready"
fi
echo "$folder/bin/python"
