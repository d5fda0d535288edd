"""The host's part of packed libraries of NVSHMEM's device code: its host library fills each loaded module's variables.

A manifest names these functions (``samples/libraries/nvshmem.toml``). The process starts NVSHMEM itself, by
a context, by nvshmem4py, by torch or in C, before it launches such a kernel.
"""

from tle_raw.distributed.nvshmem_host import set_up, tear_down

__all__ = ["set_up", "tear_down"]
