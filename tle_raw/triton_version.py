"""Which Triton is installed: code that differs between versions asks here, and says there what differs."""

from __future__ import annotations

import triton

_MAJOR, _MINOR = (int(part) for part in triton.__version__.split(".")[:2])
VERSION = (_MAJOR, _MINOR)
