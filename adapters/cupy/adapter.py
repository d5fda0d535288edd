"""The dialect "cupy": CUDA text under CuPy's rules, and the text that CuPy's own objects keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tle_raw.adapter import Declaration, Source
from tle_raw.adapters.cuda import CudaAdapter
from tle_raw.adapters.cupy.flags import clang_flags
from tle_raw.adapters.cupy.installed import headers
from tle_raw.adapters.cupy.objects import declaration_of, is_cupy_object


class CupyAdapter(CudaAdapter):
    """``dialect("cupy", source=…, options=(…))``, otherwise as ``dialect("cuda")``; and CuPy's objects."""

    name = "cupy"

    def takes(self, source: object, named: bool) -> bool:
        """CuPy's own objects, known by their class; text and files go the way of the cuda dialect."""
        return is_cupy_object(source)

    def complete(self, declaration: Declaration) -> Declaration:
        """With the object's text, options and signature."""
        return declaration_of(declaration)

    def read(self, declaration: Declaration) -> Source:
        return super().read(replace(declaration, options=_as_cupy_compiles(declaration.options)))


def _as_cupy_compiles(options: Mapping[str, Any]) -> dict[str, Any]:
    """CuPy's ``options`` as clang's flags, and the folder of CuPy's headers."""
    rest = {name: value for name, value in options.items() if name != "options"}
    flags, dirs = rest.get("flags", ()), rest.get("include_dirs", ())
    return {
        **rest,
        "flags": [*([flags] if isinstance(flags, str) else flags), *clang_flags(options.get("options", ()))],
        "include_dirs": [*(dirs if isinstance(dirs, (list, tuple)) else [dirs]), *headers()],
    }
