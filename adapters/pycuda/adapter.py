"""The dialect "pycuda": CUDA text under PyCUDA's rules, and what PyCUDA's own objects tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle_raw.adapters.common.translated_dialect import TranslatedDialect
from tle_raw.adapters.pycuda.declare import Recipe
from tle_raw.adapters.pycuda.recorded import declaration_of, is_pycuda_object
from tle_raw.fragments.adapter import Declaration, Source
from tle_raw.fragments.options import known_options


class PycudaAdapter(TranslatedDialect):
    """``dialect("pycuda", source=…, no_extern_c=False, …)``, otherwise as ``dialect("cuda")``."""

    name, base = "pycuda", "cuda"

    def takes(self, source: object, named: bool) -> bool:
        """PyCUDA's own objects, known by their class; text and files go the way of the cuda dialect."""
        return is_pycuda_object(source)

    def complete(self, declaration: Declaration) -> Declaration:
        """With the recorded source, options and signature of the object."""
        return declaration_of(declaration)

    def as_launched_kernel(self, declaration: Declaration, source: Source, options: Mapping[str, Any]) -> Any:
        """Elementwise and reduction kernels are written anew, over memory: in a region they have no loop."""
        if isinstance(declaration.wrapped, Recipe):
            return declaration.wrapped.whole().as_kernel(**options)
        return super().as_launched_kernel(declaration, source, options)

    def translated(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """PyCUDA's options as the cuda dialect's."""
        return _wrapped(options)


def _wrapped(options: Mapping[str, Any]) -> dict[str, Any]:
    """PyCUDA puts the text into ``extern "C"``."""
    plain = known_options("pycuda", {k: v for k, v in options.items() if k == "no_extern_c"}, ("no_extern_c",), {})
    rest = {k: v for k, v in options.items() if k != "no_extern_c"}
    return rest if plain.get("no_extern_c") else {**rest, "extern_c": True}
