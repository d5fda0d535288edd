"""What differs between versions of Triton, for the passes."""

from __future__ import annotations

from triton._C.libtriton import gluon_ir

from tle_raw.flir.nvidia.replace_ports import spelling_of
from tle_raw.triton_version import VERSION

SPELLING = spelling_of(VERSION)
IS_NEWEST = VERSION >= (3, 9)
# Whether its software pipeliner comes to an end where it follows a product's buffer to an argument of another block.
ENDS_AT_ARGUMENTS = VERSION >= (3, 7)
# Whether its waits for copies out of buffers say that the buffers' reading is enough; before it always is.
WAITS_FOR_READING = "bool" in (gluon_ir.GluonOpBuilder.create_async_tma_store_wait.__doc__ or "")
