"""``kernel.metadata.cluster_dims`` as FlagTree's programs compare it: a tuple, which JSON has made a list of."""

from __future__ import annotations

import functools
from typing import Any

from triton.compiler.compiler import CompiledKernel

from tle_raw.regions.clusters import DIMS

_TOLD = "tells_tuples"


def tell_dims_as_tuples() -> None:
    """Of every kernel that is compiled, or found in Triton's cache, in this process from now on. Idempotent."""
    made = CompiledKernel.__init__
    if getattr(made, _TOLD, False):
        return

    @functools.wraps(made)
    def make(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        dims = getattr(self.metadata, DIMS, None)
        if isinstance(dims, list):
            self.metadata = self.metadata._replace(**{DIMS: tuple(dims)})

    setattr(make, _TOLD, True)
    CompiledKernel.__init__ = make
