"""What differs between versions of Triton, for the passes."""

from __future__ import annotations

import triton
from triton._C.libtriton import gluon_ir

from tle_raw.flir.nvidia.replace_ports import spelling_of

MAJOR, MINOR = (int(v) for v in triton.__version__.split(".")[:2])
SPELLING = spelling_of((MAJOR, MINOR))
IS_NEWEST = (MAJOR, MINOR) >= (3, 9)
# Whether its waits for copies out of buffers say that the buffers' reading is enough; before it always is.
WAITS_FOR_READING = "bool" in (gluon_ir.GluonOpBuilder.create_async_tma_store_wait.__doc__ or "")
