"""Compiles CUDA kernels of other packages, their files as they are: how many become whole kernels, and why not all.

    python tools/sweep_cuda.py FOLDER [--match vllm] [--target cuda:90] [--jobs 2] [--limit 300] [--json OUT]
        [--nvcc /usr/local/cuda/bin/nvcc] [--kept FOLDER]

The argument is a folder of unpacked source distributions, one ``NAME-VERSION`` each, which the caller brings. The list
(``tools/cuda_sweep/kernels.tsv``) was drawn by lot before any of them was tried: 150 ``__global__`` functions of nine
packages, at most three of a file, without those of other GPUs, tests, and code that the distributions generate by the
thousand. Template arguments are those of the packages' own launches; where only their host code can spell them, the
next kernel was drawn. Kernels in headers that no compiler reads alone are given by the file that includes them, and
overloads by their parameters. A kernel is given its file, its name, the include folders of its build, and a block.

With ``--nvcc`` the same kernels are compiled by nvcc, too, and the machine code of both is counted side by side
(``cuda_sweep/machine_code.py``): registers, local memory, loads and their widths, loops. Both stay in the folder
``--kept``, and nvcc's is not made again. Nearly all of the list compile: nvcc gets the source without its host code.

``tools/cuda_sweep/repositories.tsv`` (``--list``) has 230 kernels of 155 repositories of GitHub, at most three of each,
which were drawn the same way: the folder then holds each repository at the commit of the list under its own name, and
beside them ``glm``, ``eigen``, ``openfst``, ``cub`` (1.14), ``fmt``, ``fast_double_parser``, ``cuda-samples``,
``SlabAlloc``, ``dlpack``, ``dmlc-core``, ``nv-codec-headers``, ``nnabla``, ``stdgpu``, ``cuda-wrapper``,
``tiny-cuda-nn``, ``tinylogger`` and ``opencv`` (4.11), which their builds bring along, in ``RandomX_CUDA/RandomX`` its
submodule, and in ``cutensor/include`` and ``cudss/include`` those libraries' headers; in ``system/include``
are Debian's headers of Boost, glog, gflags, protobuf, LAPACKE, Eigen (``eigen3``), casacore, cfitsio, wcslib, spdlog
and GoogleTest. What a build configures is configured: the headers ``sift_config.h`` of popsift, ``config.h`` of
thundersvm and vmaf, ``ginkgo/config.hpp``, ``built/stdgpu/config.h``, ``built/halmd/config.hpp``,
``built/osqp_configure.h``, ``built/gloo/config.h``, ``built/bifrost/config.h``, ``built/nvbench/config.cuh``,
``built/opencv2/opencv_modules.hpp``, in ``built`` of MegEngine ``megbrain_build_config.h`` and what its generator
writes, and ``caffe.pb.h``, of ``protoc``.
The last 120 kernels, of 101 repositories, were drawn by fixed seeds; the last 80 with ``CUDA_HOME`` at a toolkit that
has the headers of cuBLAS, cuFFT, cuRAND, cuSPARSE, cuSOLVER, NPP, NVTX and NVRTC, too.

Nothing is launched and no GPU is needed. Every kernel is compiled in a process of its own, with the caches that the
environment names: for times of first launches name an empty one (``TLE_RAW_CACHE_DIR``, ``TRITON_CACHE_DIR``).
"""

from __future__ import annotations

import argparse
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from cuda_sweep.against_nvcc import Compared, print_comparison
from cuda_sweep.kernels import LIST, Listed, listed
from cuda_sweep.trial import Tried, print_table, try_apart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument(
        "--match", default="", help="a regular expression: only kernels whose line of the list holds it"
    )
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one kernel")
    parser.add_argument("--jobs", type=int, default=1, help="kernels at the same time")
    parser.add_argument("--list", type=Path, default=LIST, help="another list of the same form")
    parser.add_argument("--nvcc", default="", help="an nvcc, to compile the same kernels by and count beside them")
    parser.add_argument("--kept", default="against_nvcc", help="with --nvcc: a folder for the machine code of both")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chosen = [
        kernel for kernel in listed(options.list) if re.search(options.match, " ".join(map(str, vars(kernel).values())))
    ]
    found: list[Tried] = []

    def one(kernel: Listed) -> None:
        tried = try_apart(kernel, options.sources.resolve(), options.target, options.limit, options.nvcc, options.kept)
        found.append(tried)
        words = f"{tried.outcome:24} {tried.seconds:6.1f} s  {tried.message[:150]}"
        print(f"[{len(found)}/{len(chosen)}] {kernel.package:18} {kernel.name:40} {words}", flush=True)
        if options.json:
            options.json.write_text(json.dumps([asdict(t) for t in found], indent=1))

    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, chosen))
    print_table(found)
    if options.nvcc:
        print_comparison([(t.symbol, Compared.read(t.compared)) for t in found if t.compared])


if __name__ == "__main__":
    main()
