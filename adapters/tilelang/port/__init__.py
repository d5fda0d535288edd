"""``tle-raw port`` for TileLang: what a script holds, which routes it takes, and a Triton file that calls it.

``load_script``, ``load_kernels``, ``kernel_uncompiled`` and ``check_region`` are what such files use themselves.
"""

from tle_raw.adapters.tilelang.port.check_region import check_region
from tle_raw.adapters.tilelang.port.load_script import kernel_uncompiled, load_kernels, load_script
from tle_raw.adapters.tilelang.port.run_alone import run_alone

__all__ = ["check_region", "kernel_uncompiled", "load_kernels", "load_script", "run_alone"]
