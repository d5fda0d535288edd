"""Kernels of other packages: the list of them, what ``tools/sweep_cuda.py`` counts, and how each is launched.

``tools/pack_cuda.py`` compiles those whose launch is known (``launches.txt``) by tle_raw and by nvcc,
``tools/launch_cuda.py`` compares their numbers and times on a GPU, ``tools/run_cuda_on_cpu.py`` their numbers on a CPU,
with those of a GPU and with references in float64 (``references``).
"""

import sys
from pathlib import Path

# What the benchmarks measure and launch by is used here, too.
sys.path.append(str(Path(__file__).parents[2] / "samples" / "benchmarks"))
