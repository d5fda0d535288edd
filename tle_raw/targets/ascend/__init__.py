"""Huawei's Ascend NPUs, compile-only: a Triton backend up to what Huawei's closed ``hivmc`` takes.

Triton imports ``compiler`` and ``driver`` whenever it is imported itself.
"""

# See tle_raw/targets/cpu/__init__.py.
import triton as triton
