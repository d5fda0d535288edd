"""The dialect "cupy": CUDA text under CuPy's rules, and the text that CuPy's own objects keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import tle_raw
from tle_raw.adapters.common.translated_dialect import TranslatedDialect
from tle_raw.adapters.cupy.flags import clang_flags
from tle_raw.adapters.cupy.installed import headers, version
from tle_raw.adapters.cupy.objects import declaration_of, is_cupy_object
from tle_raw.fragments.adapter import Declaration, Source

# NVRTC knows assert() by itself, and CuPy's headers tell by this macro of nvcc's that no older compiler reads them.
_BEFORE = Path(tle_raw.__file__).parent / "include" / "tle_raw" / "cupy_text.h"
_COMPILER = "-D__CUDACC_VER_MAJOR__=12"


class CupyAdapter(TranslatedDialect):
    """``dialect("cupy", source=…, options=(…))``, otherwise as ``dialect("cuda")``; and CuPy's objects."""

    name, base = "cupy", "cuda"

    def takes(self, source: object, named: bool) -> bool:
        """CuPy's own objects, known by their class; text and files go the way of the cuda dialect."""
        return is_cupy_object(source)

    def complete(self, declaration: Declaration) -> Declaration:
        """With the object's text, options and signature."""
        return declaration_of(declaration)

    def read(self, declaration: Declaration) -> Source:
        """The source as CUDA reads it; CuPy's version is one of its settings, for its headers are compiled in."""
        source = super().read(declaration)
        return replace(source, settings=(*source.settings, ("cupy", version())))

    def translated(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """CuPy's options as the cuda dialect's."""
        return _as_cupy_compiles(options)


def _as_cupy_compiles(options: Mapping[str, Any]) -> dict[str, Any]:
    """CuPy's ``options`` as clang's flags, and the folder of CuPy's headers."""
    rest = {name: value for name, value in options.items() if name != "options"}
    flags, dirs = rest.get("flags", ()), rest.get("include_dirs", ())
    own = [f"-include{_BEFORE}", *([_COMPILER] if "cupy/" in str(rest.get("source", "")) else [])]
    return {
        **rest,
        "flags": [*([flags] if isinstance(flags, str) else flags), *own, *clang_flags(options.get("options", ()))],
        "include_dirs": [*(dirs if isinstance(dirs, (list, tuple)) else [dirs]), *headers()],
    }
